"""Replies of a run are read again, and its results are those of the new reading."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from observers.chat.server import FakeServer, completion
from photographs import write_album
from suites.test_verbal import person

from fechner import evaluate
from fechner.observers.chat import endpoint, reply_parser
from fechner.observers.torchvision_fix import import_torchvision
from fechner.runs import Run, reread
from fechner.runs.trials import Trials

import_torchvision()

STYLES = {
    "Yes.": ("Yes.", "There is a pattern.", "Final answer: Yes", "**Sí**"),
    "No.": ("No.", "There is no pattern.", "Final answer: No", "**No**"),
}


def in_styles(picture: np.ndarray, prompt: str, request: dict) -> str:
    word = person(10.0)(picture, prompt, request)
    if request.get("seed") == 7 and int(picture.astype(int).sum()) % 7 == 0:
        return completion("", refusal="No, there is no pattern I would talk about.")
    return STYLES[word][int(picture.astype(int).sum()) % 4]


def poor(reply: str, options, question: str = "") -> int | None:
    """An earlier reader."""
    words = {"Yes.": 0, "No.": 1, "**No**": 1, "There is no pattern.": 1}
    return words.get(reply)


def asked(address: str, out: Path, model: str = "person", **more) -> Run:
    return evaluate(
        f"{address}#{model}",
        suite="verbal",
        out=out,
        threads=1,
        progress=False,
        **{"prompts": ["Is there a pattern?"], "tests": "detection", "trials": 8, **more},
    )


def files(run: Run) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(run.folder.glob("results/**/*.nc"))}


@pytest.mark.parametrize("adaptive", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_results_become_those_of_the_new_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adaptive: bool
) -> None:
    more = {"adaptive": adaptive} if adaptive else {"adaptive": False, "trials": 1}
    with FakeServer(in_styles) as server:
        with monkeypatch.context() as patch:
            patch.setattr(endpoint, "parse", poor)
            run = asked(server.address, tmp_path / "run", **more)
        asked_so_far = len(server.requests)
        (name,) = run.observers
        before, invalid = run.data(name, "detection"), run.spent().invalid
        assert invalid > 0.2 * run.spent().trials

        was = files(run)
        would = reread(run.folder, dry_run=True)
        assert files(run) == was
        assert run.spent().invalid == invalid

        found = reread(run.folder)
        assert found.changes == would.changes
        assert found.problems == []
        assert 0 < found.updated <= 10
        assert {(c.before, c.now) for c in found.changes} == {("", "yes"), ("", "no")}
        assert sum(c.replies for c in found.changes) == invalid
        run = Run(run.folder)
        assert run.spent().invalid == 0
        after = run.data(name, "detection")
        for each in ("level", "contrast"):  # what was shown stays
            assert np.array_equal(before[each], after[each], equal_nan=True)
        known = ~np.isnan(before["yes"].values)
        assert np.array_equal(before["yes"].values[known], after["yes"].values[known])
        assert not np.isnan(after["yes"].values[after["level"].values >= 0]).any()
        scores = {r.score.name: r.score.value for r in run.scores()}
        assert scores["invalid-replies"] == 0
        assert "read otherwise by reader" in run.manifest.notes[-1]

        if not adaptive:  # nothing depends on earlier answers, so it is as if read so at once
            fresh = asked(server.address, tmp_path / "fresh", **more)
            assert fresh.data(name, "detection").equals(after)
            asked_so_far = len(server.requests)

        # Again: nothing changes, not a byte. And with yet another reader, the contrasts are found.
        was = files(run)
        again = reread(run.folder)
        assert (again.changes, again.updated, files(run)) == ([], 0, was)
        monkeypatch.setattr("fechner.runs.replay.parse", lambda *_: 0)
        assert reread(run.folder).problems == []
        third = Run(run.folder).data(name, "detection")
        assert (third["yes"].values[third["level"].values >= 0] == 1).all()
        assert np.array_equal(before["level"], third["level"])
        assert len(server.requests) == asked_so_far


@pytest.mark.slow
def test_two_pictures_and_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    album = write_album(tmp_path / "album")

    def decide(picture: np.ndarray, prompt: str, request: dict) -> str:
        bright = int(picture.astype(int).sum()) % 3
        if prompt.startswith("Which of these"):
            names = prompt.partition(": ")[2].partition("?")[0].split(", ")
            return (names[0], f"Final answer: {names[1]}", "none of them")[bright]
        return ("First", "Final answer: second", "The second image is uniform.")[bright]

    tests = ["detection-2afc", "bands-noise"]
    with FakeServer(decide) as server:
        with monkeypatch.context() as patch:
            patch.setattr(
                endpoint,
                "parse",
                lambda reply, *rest: (
                    None if ":" in reply or "is" in reply else reply_parser.parse(reply, *rest)
                ),
            )
            run = asked(
                server.address,
                tmp_path / "run",
                tests=tests,
                trials=1,
                adaptive=False,
                images=album,
            )
        found = reread(run.folder)
        assert found.problems == []
        assert found.updated > 1
        fresh = asked(
            server.address, tmp_path / "fresh", tests=tests, trials=1, adaptive=False, images=album
        )
    (name,) = run.observers
    for test in tests:
        assert Run(run.folder).data(name, test).equals(fresh.data(name, test))


def test_what_cannot_be_replayed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(in_styles) as server, monkeypatch.context() as patch:
        patch.setattr(endpoint, "parse", poor)
        run = asked(server.address, tmp_path / "run", trials=6)
    with closing(sqlite3.connect(run.folder / "trials.sqlite")) as connection, connection:
        connection.execute("DELETE FROM trials WHERE rowid = 1")
    found = reread(run.folder)
    assert found.problems
    assert all("is left as it is" in problem for problem in found.problems)


def test_refusals_stay_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(in_styles) as server, monkeypatch.context() as patch:
        patch.setattr(endpoint, "parse", poor)
        run = asked(server.address, tmp_path / "run", model="person@seed=7", trials=8)
    refused = sum(row["reader"] is None for row in Trials(run.folder / "trials.sqlite").rows())
    assert refused > 0
    assert reread(run.folder).problems == []
    assert run.spent().invalid == refused


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from fechner.cli.app import app

    with FakeServer(in_styles) as server:
        monkeypatch.setattr(endpoint, "parse", poor)
        run = asked(server.address, tmp_path / "run", trials=6)
    shown = CliRunner().invoke(app, ["reread", str(run.folder), "--dry-run"])
    assert shown.exit_code == 0
    assert "invalid" in shown.stdout
    assert "nothing was written" in shown.stdout
    done = CliRunner().invoke(app, ["reread", str(run.folder)])
    assert "result files were updated" in done.stdout
    assert "0 of" in CliRunner().invoke(app, ["reread", str(run.folder)]).stdout

"""Replies can be traced: from the log to an export and to the page, by stimulus."""

from pathlib import Path

import pandas as pd
import pytest
from observers.chat.server import FakeServer, completion

from fechner import FechnerError, Run, evaluate
from fechner.report.contenders import groups
from fechner.report.export import export
from fechner.report.page import make_page
from fechner.report.page.chapter import replies_to


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    def decide(picture, prompt, request):
        spread = picture.std()
        if spread > 40:
            return completion("<think>stripes, or", finish="length")
        return "Yes, a pattern." if spread > 3 else "No."

    with FakeServer(decide) as server:
        return evaluate(
            f"{server.address}#seen",
            suite="verbal",
            tests="detection",
            adaptive=False,
            trials=1,
            prompts=["Is there a pattern?", "Anything?"],
            out=tmp_path_factory.mktemp("replies") / "run",
            threads=1,
            progress=False,
        )


def test_every_trial_says_what_it_was_about(run: Run) -> None:
    rows = run.trials()
    assert {row["test"] for row in rows} == {"detection"}
    assert {row["prompt_number"] for row in rows} == {0, 1}
    assert {row["draw"] for row in rows} == {0}
    data = run.data(run.observers[0], "detection")
    shown = {(row["abscissa"], row["contrast"], row["prompt_number"]): row for row in rows}
    for point, x in enumerate(data["abscissa"].values):
        for trial in range(1, data.sizes["trial"]):
            cell = data.isel(point=point, prompt=1, trial=trial, layer=0, readout=0)
            row = shown[float(x), float(cell["contrast"]), 1]
            yes = {0: 1.0, 1: 0.0}.get(row["choice"])
            assert yes == cell["yes"] if yes is not None else bool(cell["yes"].isnull())
    cut = [row for row in rows if row["finish_reason"] == "length"]
    assert cut
    assert all(row["choice"] is None for row in cut)


def test_trials_are_exported(run: Run, tmp_path: Path) -> None:
    written = export([run], str(tmp_path / "t.csv"), "trials")
    found = pd.read_csv(tmp_path / "t.csv")
    assert f"{len(found)} answers" in written
    assert len(found) == run.spent().trials == len(run.to_dataframe("trials"))
    assert set(found["choice"]) == {"yes", "no", "invalid"}
    strongest = found.sort_values("contrast").iloc[-1]
    assert strongest["reply"] == "<think>stripes, or"
    assert strongest["finish_reason"] == "length"
    assert strongest["abscissa"] > 0
    assert strongest["completion_tokens"] == 2
    with pytest.raises(FechnerError, match=r"\.nc files hold responses and surfaces, not trials"):
        export([run], str(tmp_path / "t.nc"), "trials")


def test_the_page_shows_invalid_replies_first(run: Run) -> None:
    (group,) = groups([run])
    rows, left_out = replies_to(group.contenders, "detection")
    assert len(rows) <= 36
    assert left_out > 0
    invalid = [row.choices.get("invalid", 0) for row in rows]
    assert invalid == sorted(invalid, reverse=True)
    assert rows[0].examples[0][0] == "<think>stripes, or"
    assert "length" in rows[0].finish
    page = make_page([run])
    assert '<details class="replies">' in page
    assert "&lt;think&gt;stripes, or" in page

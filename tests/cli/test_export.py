"""``fechner export`` as a person meets it."""

import io
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from measured import HOSTILE, TESTS, measured
from processes import FECHNER, running

from fechner import Run
from fechner.cli import app
from fechner.cli.options import split_observers


@pytest.fixture(scope="module")
def run() -> Run:
    return measured()


@pytest.fixture
def fechner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return a function that calls the command line and returns code, stdout and stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fechner", *arguments])
        with pytest.raises(SystemExit) as end:
            app.main()
        return (end.value.code or 0, *capsys.readouterr())

    return call


def test_a_file_for_every_suffix(fechner, run: Run, tmp_path: Path) -> None:
    for suffix in ("csv", "json", "parquet", "md", "tex", "nc"):
        file = tmp_path / f"it.{suffix}"
        code, out, err = fechner(
            "export", str(run.folder), "--out", str(file), "--tests", TESTS[1],
            "--observers", "pixels",
        )  # fmt: skip
        assert (code, err) == (0, "")
        assert out.startswith(f"{file}: ")
        assert len(out.splitlines()) == 1
        assert file.stat().st_size > 100


def test_csv_on_stdout_is_all_there_is(fechner, run: Run) -> None:
    code, out, err = fechner(
        "export", str(run.folder), "--out", "-", "--what", "responses", "--tests", TESTS[1]
    )
    assert (code, err) == (0, "")
    found = pd.read_csv(io.StringIO(out, newline=""))
    assert set(found["observer"]) == {HOSTILE, "pixels"}
    whole = run.to_dataframe("responses")
    np.testing.assert_allclose(found["value"], whole[whole["test"] == TESTS[1]]["value"], 1e-14)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a@x=1,y=2", ["a@x=1,y=2"]),
        ("b, a@x=1,y=2 ,a", ["b", "a@x=1,y=2", "a"]),
        ("a,c,b", ["a", "c", "b"]),  # c is unknown, and is said to be
        ("y=2,a@x=1,y=2,", ["y=2", "a@x=1,y=2"]),
    ],
)
def test_lists_of_observers(text: str, names: list[str]) -> None:
    assert split_observers(text) == names


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--out", "it.xlsx"], "ends in none of"),
        (["--out", "no/it.csv"], "cannot be written"),
        (["--out", "it.csv", "--observers", "pixles"], "did you mean 'pixels'?"),
        (["--out", "it.csv", "--tests", "matching"], "there is no test named 'matching'"),
        (["--out", "it.csv", "--what", "all"], "'scores', 'responses', 'surfaces'"),
        (["--out", "it.csv", "--tests", ","], "name at least one"),
        ([], "--out"),
    ],
)
def test_mistakes_get_one_sentence(
    fechner, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = fechner("export", str(run.folder), *arguments)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_folders_that_are_no_runs(fechner, tmp_path: Path) -> None:
    code, _, err = fechner("export", str(tmp_path), "--out", str(tmp_path / "it.csv"))
    assert code == 2
    assert "is not a run folder" in err


def test_the_bar_is_no_part_of_what_is_piped(run: Run, tmp_path: Path) -> None:
    """On a terminal the bar takes over stdout; what was asked for goes past it."""
    import pty

    terminal, end = pty.openpty()
    options = ["export", str(run.folder), "--out", "-", "--what", "responses", "--tests", TESTS[1]]
    with (
        (tmp_path / "it.csv").open("wb") as file,
        running([*FECHNER, *options], stdout=file, stderr=end) as process,
    ):
        os.close(end)
        shown = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the terminal is closed at the other end
                break
            shown += part
        assert process.wait() == 0
    os.close(terminal)
    assert b"writing" in shown
    assert b"matching-frequency" not in shown
    found = pd.read_csv(tmp_path / "it.csv")
    whole = run.to_dataframe("responses")
    assert len(found) == (whole["test"] == TESTS[1]).sum()

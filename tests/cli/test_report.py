from pathlib import Path

import pytest
from typer.testing import CliRunner

from fechner import Run
from fechner.cli.app import app
from fechner.errors import FechnerError


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["report", *arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_page_is_written_into_the_first_run_unless_told_otherwise(
    shown_run: Run, tmp_path: Path
) -> None:
    there = shown_run.folder / "report.html"
    assert invoke(str(shown_run.folder)).startswith(f"{there}: ")
    assert invoke(str(shown_run.folder), "--out", str(tmp_path / "a.htm")).endswith("offline\n")
    assert (tmp_path / "a.htm").read_bytes() == there.read_bytes()
    there.unlink()


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("page.pdf", "'page.pdf' should end in .html"),
        ("", "is a folder; name a file with --out"),
        ("no.file/page.html", r"cannot be written: "),
    ],
)
def test_places_that_cannot_be_are_a_sentence(
    shown_run: Run, tmp_path: Path, out: str, told: str
) -> None:
    (tmp_path / "no.file").write_text("not a folder")
    with pytest.raises(FechnerError, match=told):
        invoke(str(shown_run.folder), "--out", str(tmp_path / out))


def test_a_folder_of_runs_names_them(shown_run: Run) -> None:
    with pytest.raises(FechnerError, match=f"the runs in it: .*{shown_run.folder.name}"):
        invoke(str(shown_run.folder.parent))


def test_no_folder_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match=r"does not exist; `fechner run OBSERVER --out "):
        invoke(str(tmp_path / "nowhere"))

"""Killing a run anywhere loses at most the piece under way, and changes nothing."""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from processes import running

from fechner import evaluate
from fechner.errors import RunFolderError
from fechner.runs.store import only_writer

TESTS = ["area", "masking-coherent", "matching-frequency"]

PROGRAM = """
import sys
from fechner import evaluate
from fechner.errors import RunFolderError
from fechner.runs.store import only_writer
evaluate("pixels", "standard-observer", tests={tests!r}, out=sys.argv[1], threads=1,
         progress=False)
"""


def start(folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    program = PROGRAM.format(tests=TESTS)
    return running([sys.executable, "-c", program, str(folder)])


def run(folder: Path) -> None:
    with start(folder) as process:
        assert process.wait(timeout=300) == 0


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*.nc")) + [folder / "manifest.json"]
    }


def ledger_rows(folder: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(pieces)")]
        kept = ", ".join(column for column in columns if column != "seconds")
        return connection.execute(f"SELECT {kept} FROM pieces ORDER BY key").fetchall()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(folder)
    return folder


def test_killed_run_ends_bit_identical(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    total = len(list(whole.rglob("*.nc")))
    kills = 0
    # Kill at a different state of the folder each time, from "nothing yet" on.
    for goal in (0, 1, 3, 6, 10):
        with start(folder) as process:
            deadline = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < deadline:
                done = len(list(folder.rglob("*.nc"))) if folder.exists() else 0
                if done >= goal and (goal > 0 or folder.exists()):
                    break
                time.sleep(0.002)
            kills += process.poll() is None
    assert kills >= 4
    assert len(list(folder.rglob("*.nc"))) < total
    run(folder)
    assert contents(folder) == contents(whole)
    assert ledger_rows(folder) == ledger_rows(whole)
    assert not list(folder.rglob("*.tmp"))


def test_two_processes_do_not_write_into_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with only_writer(folder), pytest.raises(RunFolderError, match="another process is writing"):
        evaluate("pixels", tests=["area"], out=folder, progress=False)
    evaluate("pixels", tests=["masking-coherent"], scores_only=True, out=folder, progress=False)


def test_finished_run_measures_nothing_again(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*.nc")}
    evaluate("pixels", "standard-observer", tests=TESTS, out=whole, progress=False)
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*.nc")} == before


def test_result_files_say_nothing_of_time_or_place(whole: Path) -> None:
    for name, content in contents(whole).items():
        if name.endswith(".nc"):
            assert str(whole).encode() not in content
            assert os.uname().nodename.encode() not in content or len(os.uname().nodename) < 4

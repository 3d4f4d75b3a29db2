"""How far a run is, whatever is in its folder, and without leaving a trace there."""

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from measured import HOSTILE, TESTS

from fechner.report.serving.runs import find_runs
from fechner.report.serving.state import read_state
from fechner.runs import Run
from fechner.runs.store import LOCK, Plan, only_writer


def state_of(folder: Path) -> dict[str, Any]:
    (found,) = find_runs([folder])
    return read_state(found)


def change_ledger(folder: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        connection.execute(statement, values)
    connection.close()


def change_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def states(state: dict[str, Any]) -> dict[tuple[str, str], tuple[str, int, int]]:
    return {
        (row["observer"], test): (cell["state"], cell["done"], cell["of"])
        for row in state["observers"]
        for test, cell in row["cells"].items()
    }


def test_finished_run(small: Path) -> None:
    state = state_of(small)
    assert states(state) == {
        (observer, test): ("done", pieces, pieces)
        for observer in (HOSTILE, "pixels")
        for test, pieces in zip(TESTS, (5, 6), strict=True)
    }
    assert (state["pieces"]["done"], state["pieces"]["of"], state["complete"], state["live"]) == (
        22,
        22,
        True,
        False,
    )
    assert (state["status"], state["kind"], state["seconds_left"]) == ("finished", "good", 0)
    with sqlite3.connect(small / "ledger.sqlite") as connection:
        ((images, seconds),) = connection.execute("SELECT sum(images), sum(seconds) FROM pieces")
    connection.close()
    assert state["images"] == images
    assert sum(row["seconds"] for row in state["observers"]) == pytest.approx(seconds)


def test_looking_leaves_no_trace(small: Path) -> None:
    def everything() -> dict[str, tuple[int, int, bytes]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes())
            for path in small.rglob("*")
            if path.is_file()
        }

    before = everything()
    state_of(small)
    assert len(Run(small).entries()) == 22
    assert everything() == before


def test_run_for_scores_only_is_complete_without_surfaces(small: Path) -> None:
    change_ledger(small, "DELETE FROM pieces WHERE piece LIKE 'surface%' OR piece LIKE 'curves%'")
    state = state_of(small)
    assert (state["pieces"]["done"], state["pieces"]["of"], state["complete"]) == (4, 4, True)


def test_part_of_a_surface_is_not_complete(small: Path) -> None:
    change_ledger(small, "DELETE FROM pieces WHERE piece = 'surface-02' AND observer = 'pixels'")
    state = state_of(small)
    assert states(state)["pixels", TESTS[0]] == ("part", 4, 5)
    assert states(state)[HOSTILE, TESTS[0]] == ("done", 5, 5)
    assert (state["complete"], state["status"]) == (False, "not finished")


def test_test_that_nobody_asked_for_is_not_missing(small: Path) -> None:
    change_ledger(small, "DELETE FROM pieces WHERE observer = 'pixels' AND test = ?", TESTS[1])
    state = state_of(small)
    assert states(state)["pixels", TESTS[1]] == ("unasked", 0, 0)
    assert state["complete"]


def test_failure_is_told_once_with_its_tests(small: Path) -> None:
    change_ledger(
        small,
        "UPDATE pieces SET status = 'failed', message = '<b>lamp</b>' "
        "WHERE observer = 'pixels' AND piece IN ('score-00', 'match')",
    )
    state = state_of(small)
    assert states(state)["pixels", TESTS[0]] == ("failed", 4, 5)
    assert state["failures"] == {"pixels": {"<b>lamp</b>": list(TESTS)}}
    assert (state["status"], state["kind"]) == ("finished, 2 failed", "bad")


def test_answers_of_an_observer_that_changed_do_not_count(small: Path) -> None:
    observers = json.loads((small / "manifest.json").read_text())["observers"]
    observers["pixels"]["fingerprints"]["compares"] = "pixels/2"
    change_manifest(small, observers=observers)
    state = state_of(small)
    assert {states(state)["pixels", test][0] for test in TESTS} == {"unasked"}
    assert states(state)[HOSTILE, TESTS[0]][0] == "done"


def test_plan_of_a_living_process_says_what_is_to_come(small: Path) -> None:
    change_ledger(
        small,
        "DELETE FROM pieces WHERE observer = 'pixels' AND (test = ? OR piece LIKE 'surface%')",
        TESTS[1],
    )
    plan = Plan([HOSTILE, "pixels", "cvvdp", "late"], list(TESTS), scores_only=False)
    with only_writer(small, plan):
        state = state_of(small)
        assert (state["writing"], state["status"]) == ("now", "being written now")
        assert states(state)["pixels", TESTS[0]] == ("part", 1, 5)
        assert states(state)["pixels", TESTS[1]] == ("waiting", 0, 6)
        assert states(state)["cvvdp", TESTS[0]] == ("waiting", 0, 5)
        assert (state["pieces"]["done"], state["pieces"]["of"]) == (12, 44)
        # What scores need comes first.
        assert state["now"] is not None
        assert state["now"]["observer"] == "pixels"
        assert [cell["now"] for cell in state["now"]["cells"].values()] == [False, True]
        # 90 pictures were shown, 4 x 100, 305 and 5 x 165 are left.
        (row,) = (row for row in state["observers"] if row["observer"] == "pixels")
        assert row["seconds_left"] == pytest.approx(row["seconds"] / 90 * 1530)
        assert state["seconds_left"] == row["seconds_left"]
        assert state["observers_of_unknown_speed"] == 2
    assert state_of(small)["pieces"]["of"] == 12


def test_observer_that_is_being_loaded_and_one_that_was_left_out(small: Path) -> None:
    change_manifest(small, left_out={"out": "it <i>could not</i> be made"})
    plan = Plan(["out", HOSTILE, "pixels", "next", "last"], list(TESTS), scores_only=True)
    with only_writer(small, plan):
        state = state_of(small)
    assert state["now"] is not None
    assert (state["now"]["observer"], state["now"]["loading"]) == ("next", True)
    assert state["left_out"] == {"out": "it <i>could not</i> be made"}
    assert (state["pieces"]["done"], state["pieces"]["of"]) == (22, 26)
    after = state_of(small)
    assert (after["pieces"]["done"], after["pieces"]["of"]) == (22, 22)
    assert (after["status"], after["kind"]) == ("finished, 1 left out", "bad")


def test_process_that_was_stopped_leaves_its_plan(small: Path) -> None:
    plan = Plan(["pixels", "never"], list(TESTS), scores_only=True)
    with pytest.raises(KeyboardInterrupt), only_writer(small, plan):
        raise KeyboardInterrupt
    state = state_of(small)
    assert (state["writing"], state["status"], state["live"]) == ("stopped", "stopped", False)
    assert state["now"] is None
    assert (state["pieces"]["done"], state["pieces"]["of"]) == (22, 24)


def test_process_of_another_machine_may_go_on(small: Path) -> None:
    with only_writer(small, Plan(["pixels"], list(TESTS), scores_only=True)):
        content = json.loads((small / LOCK).read_text()) | {"machine": "another"}
    (small / LOCK).write_text(json.dumps(content))
    state = state_of(small)
    assert (state["writing"], state["status"], state["live"]) == (
        "elsewhere",
        "on another machine",
        True,
    )


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def manifest(**changes: object) -> Callable[[Path], None]:
    return lambda folder: change_manifest(folder, **changes)


def ledger(statement: str) -> Callable[[Path], None]:
    return lambda folder: change_ledger(folder, statement)


def fifo(folder: Path) -> None:
    (folder / "ledger.sqlite").unlink()
    os.mkfifo(folder / "ledger.sqlite")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (remove("manifest.json"), "if it was stopped, run it again"),
        (write("manifest.json", b'{"suite": '), "small/manifest.json cannot be read (Expecting"),
        (write("manifest.json", b"\xff\xfe"), "cannot be read ('utf-8' codec"),
        (write("manifest.json", b"[1, 2]"), "cannot be read ("),
        (write("manifest.json", b"[" * 100_000), "cannot be understood (RecursionError"),
        (manifest(later_field=1), "unexpected keyword argument 'later_field'"),
        (manifest(format=1), "small was written by fechner 0.2.0, in format 1; this version"),
        (manifest(suite="unheard-of"), "there is no suite named 'unheard-of'"),
        (manifest(observers=None), "small/manifest.json cannot be read ("),
        (manifest(observers={"pixels": {}}), "small/manifest.json cannot be read ("),
        (manifest(options=None), "it cannot be understood (AttributeError"),
        (
            write("ledger.sqlite", b"x" * 5000),
            "ledger.sqlite cannot be used (file is not a database)",
        ),
        (ledger("DROP TABLE pieces"), "ledger.sqlite cannot be used (no such table: pieces)"),
        (ledger("ALTER TABLE pieces DROP COLUMN seconds"), "ledger.sqlite cannot be used (no such"),
        (ledger("UPDATE pieces SET images = 'many'"), "it cannot be understood (TypeError"),
    ],
)
def test_damage_is_one_sentence(small: Path, damage: Callable[[Path], None], sentence: str) -> None:
    damage(small)
    state = state_of(small)
    assert sentence in state["problem"]
    assert str(small) not in state["problem"]
    assert "\n" not in state["problem"]
    assert (state["status"], state["kind"]) == ("cannot be read", "bad")
    assert json.dumps(state)


def test_begun_and_not_yet_anything(tmp_path: Path) -> None:
    with only_writer(tmp_path / "run", Plan(["a"], ["area"], scores_only=True)):
        state = state_of(tmp_path / "run")
    assert state["problem"].startswith("nothing is written yet")
    assert (state["status"], state["kind"]) == ("being written now", "live")


@pytest.mark.parametrize("make", [remove("ledger.sqlite"), write("ledger.sqlite", b""), fifo])
def test_no_ledger_yet_is_no_damage(small: Path, make: Callable[[Path], None]) -> None:
    make(small)
    with only_writer(small, Plan(["pixels"], list(TESTS), scores_only=True)):
        state = state_of(small)
    assert (state["problem"], state["pieces"]["done"], state["pieces"]["of"]) == ("", 0, 2)


def test_ledger_that_another_process_holds(small: Path) -> None:
    connection = sqlite3.connect(small / "ledger.sqlite", isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    state = state_of(small)
    connection.rollback()
    connection.close()
    assert "(database is locked); try again in a moment" in state["problem"]
    assert state_of(small)["problem"] == ""


def test_ledger_of_a_writer_killed_while_it_wrote(small: Path) -> None:
    """Its journal is left: only a writer may undo what was half-written."""
    connection = sqlite3.connect(small / "ledger.sqlite", isolation_level=None)
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE pieces SET message = ?", ("x" * 100_000,))
    left = {path.name: path.read_bytes() for path in small.glob("ledger.sqlite*")}
    connection.rollback()
    connection.close()
    assert "ledger.sqlite-journal" in left
    for name, content in left.items():
        (small / name).write_bytes(content)
    state = state_of(small)
    assert "cannot be used (attempt to write a readonly database)" in state["problem"]
    assert {path.name: path.read_bytes() for path in small.glob("ledger.sqlite*")} == left

"""How far a run is: read from its folder without writing, locking or trusting anything in it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fechner.errors import FechnerError, RunFolderError
from fechner.report.serving.grid import Cell, Row, grid
from fechner.report.serving.runs import LEDGER, Found
from fechner.runs import Run
from fechner.runs.ledger import Entry
from fechner.runs.lock import Writer, last_writer
from fechner.runs.manifest import FILE, Manifest
from fechner.suites.base import not_asked

#: ``elsewhere``: on another machine, as far as anyone here can tell.
Writing = Literal["now", "elsewhere", "stopped", "ended"]

#: A writer holds its ledger for milliseconds; who waits longer waits for something else.
_LEDGER_TIMEOUT_S = 0.3

_LARGEST_MANIFEST_BYTES = 64 << 20


@dataclass(frozen=True)
class State:
    """A run as it is now; ``problem`` says why there is nothing else to say."""

    found: Found
    writing: Writing
    manifest: Manifest | None = None
    tests: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    problem: str = ""

    @property
    def cells(self) -> Iterable[Cell]:
        """Every cell of the grid."""
        return (cell for row in self.rows for cell in row.cells)

    @property
    def done(self) -> int:
        """Pieces that are done."""
        return sum(cell.done for cell in self.cells)

    @property
    def of(self) -> int:
        """Pieces that were asked for."""
        return sum(cell.of for cell in self.cells)

    @property
    def failed(self) -> list[tuple[str, str, str]]:
        """Observer, test and message of every failure."""
        return [
            (row.observer, test, cell.message)
            for row in self.rows
            for test, cell in zip(self.tests, row.cells, strict=True)
            if cell.state == "failed"
        ]

    @property
    def not_asked(self) -> list[str]:
        """Lines about tests that need what an observer lacks."""
        manifest = self.manifest
        if manifest is None:
            return []
        own = manifest.find_suite()
        every = own.build(manifest.suite_options(own))
        tests = [test for test in every if test.id in self.tests]
        return [
            line
            for observer, known in manifest.observers.items()
            for line in not_asked(observer, tests, known.lacks)
        ]

    @property
    def left_out(self) -> dict[str, str]:
        """Observers that could not be measured, and why."""
        return {row.observer: row.left_out for row in self.rows if row.left_out}

    @property
    def failures(self) -> dict[tuple[str, str], list[str]]:
        """The tests that failed, by observer and message."""
        together: dict[tuple[str, str], list[str]] = {}
        for observer, test, message in self.failed:
            together.setdefault((observer, message), []).append(test)
        return together

    @property
    def images(self) -> int:
        """Pictures that were shown."""
        return sum(row.images for row in self.rows)

    @property
    def now(self) -> Row | None:
        """The observer that is looking, as far as can be told from outside."""
        return next(
            (row for row in self.rows if row.loading or any(cell.now for cell in row.cells)), None
        )

    @property
    def left_s(self) -> float:
        """Seconds left for observers whose speed is known."""
        return sum(row.left_s or 0.0 for row in self.rows)

    @property
    def unknown_speed(self) -> int:
        """How many observers have work left and no speed yet."""
        return sum(row.left_s is None for row in self.rows)

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for is there."""
        return not self.problem and self.of > 0 and self.done == self.of

    @property
    def live(self) -> bool:
        """Whether it may change while somebody looks."""
        return self.writing in ("now", "elsewhere")


def read_state(found: Found) -> State:
    """Return how far a run is; whatever is wrong with its folder becomes a sentence."""
    writer = last_writer(found.folder)
    writing = _writing(writer)
    try:
        manifest = _manifest(found, writing)
        entries = read_entries(found, writing)
        plan = writer.plan if writer is not None else None
        tests, rows = grid(manifest, entries, plan, writing in ("now", "elsewhere"))
        return State(found, writing, manifest, tests, rows)
    except FechnerError as error:
        return State(found, writing, problem=without_path(str(error), found))
    # A manifest may hold anything, and one damaged folder must not hide the others.
    except Exception as error:
        why = f"it cannot be understood ({type(error).__name__}: {error})."
        return State(found, writing, problem=without_path(why, found))


def without_path(sentence: str, found: Found) -> str:
    """Name a run in a sentence as it was given on the command line."""
    for path in (os.path.realpath(found.folder), str(found.folder)):
        sentence = sentence.replace(path, found.label)
    return sentence


class Snapshot(Run):
    """A run with the ledger as it was at one moment, read without writing."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.folder)
        self._entries = read_entries(found, _writing(last_writer(found.folder)))

    def entries(self) -> list[Entry]:
        """Return what the ledger said."""
        return self._entries


def _writing(writer: Writer | None) -> Writing:
    if writer is None:
        return "ended"
    lives = writer.lives
    return "elsewhere" if lives is None else "now" if lives else "stopped"


def _manifest(found: Found, writing: Writing) -> Manifest:
    path = found.folder / FILE
    if not path.is_file():
        raise RunFolderError(
            "it is just beginning: nothing is written yet."
            if writing == "now"
            else f"it has no {FILE}: it was stopped before it began; run the same command again."
        )
    if path.stat().st_size > _LARGEST_MANIFEST_BYTES:
        raise RunFolderError(f"its {FILE} is too large to be one.")
    try:
        return Manifest.read(found.folder)
    except OSError as error:
        raise RunFolderError(f"its {FILE} cannot be read: {error.strerror}.") from error


def read_entries(found: Found, writing: Writing) -> list[Entry]:
    """Return what a ledger says; the file is neither created nor changed."""
    path = found.folder / LEDGER
    if not path.is_file():
        # It is made with the first piece, just after that piece's file.
        if writing in ("now", "elsewhere") or not (found.folder / "results").is_dir():
            return []
        raise RunFolderError(
            f"its {LEDGER} is missing; run the same command again: pieces are measured anew."
        )
    if path.stat().st_size == 0:  # SQLite writes nothing before the first piece is recorded
        return []
    columns = ", ".join(Entry.__dataclass_fields__)
    address = f"{Path(os.path.realpath(path)).as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_LEDGER_TIMEOUT_S)) as connection:
            rows = connection.execute(
                f"SELECT {columns} FROM pieces ORDER BY observer, test, piece"
            ).fetchall()
    except sqlite3.Error as error:
        raise RunFolderError(_why_unreadable(error)) from error
    return [Entry(*row) for row in rows]


def _why_unreadable(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"its {LEDGER} is held by another process just now; look again in a moment."
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        # A writer that was killed while it wrote leaves a journal that only a writer can undo.
        return f"its {LEDGER} was left half-written; run the same command again to go on."
    return (
        f"its {LEDGER} is damaged ({error}); delete that file and run the same command again: "
        "pieces are measured anew."
    )

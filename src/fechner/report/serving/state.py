"""How far a run is: which pieces were asked for, which are done, how long the rest will take.

What was asked for is known from the plan of the last process, as long as that has not got to its
end. Of the rest, a test of an observer counts as asked for once the ledger has an entry of it, and
its surface (what only figures need) once it has an entry of that: a run made for scores only is
complete without surfaces.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from fechner.errors import FechnerError
from fechner.report.serving.runs import Found, last_lines
from fechner.runs import Run
from fechner.runs.ledger import Ledger
from fechner.runs.manifest import FILE, Manifest
from fechner.runs.plan import digest, jobs, piece_keys
from fechner.runs.store import Plan, last_writer
from fechner.suites.base import not_asked

#: Who writes a run; ``elsewhere``: another machine, as far as anyone here can tell.
Writing = Literal["now", "elsewhere", "stopped", "ended"]

#: ``unasked``: nobody asked for it; ``not asked``: the test needs what the observer lacks.
Progress = Literal["done", "part", "waiting", "failed", "unasked", "not asked"]


@dataclass
class Cell:
    """One observer in one test; ``now`` if it seems to be looking at that test."""

    state: Progress
    done: int = 0
    of: int = 0
    message: str = ""
    now: bool = False


@dataclass
class Row:
    """One observer in all tests.

    Parameters
    ----------
    images, seconds
        Pictures shown, and the time they took.
    left_s
        Seconds left; None if its speed is not known yet.
    loading
        Whether it seems to be on its way.
    left_out
        Why it could not be measured, if so.
    """

    observer: str
    cells: dict[str, Cell] = field(default_factory=dict)
    images: int = 0
    seconds: float = 0.0
    left_s: float | None = 0.0
    loading: bool = False
    left_out: str = ""

    @property
    def rate(self) -> float | None:
        """Pictures per second, None if nothing was measured yet."""
        return self.images / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True)
class State:
    """A run as it is now.

    Parameters
    ----------
    not_asked
        Lines about tests that need what an observer lacks.
    problem
        Why there is nothing else to say.
    """

    found: Found
    writing: Writing
    log: Sequence[str] = ()
    manifest: Manifest | None = None
    rows: Sequence[Row] = ()
    not_asked: Sequence[str] = ()
    problem: str = ""

    @property
    def tests(self) -> list[str]:
        """Names of the tests."""
        return list(self.rows[0].cells) if self.rows else []

    @property
    def cells(self) -> list[Cell]:
        """Every cell of the grid."""
        return [cell for row in self.rows for cell in row.cells.values()]

    @property
    def done(self) -> int:
        """Pieces that are done."""
        return sum(cell.done for cell in self.cells)

    @property
    def of(self) -> int:
        """Pieces that were asked for."""
        return sum(cell.of for cell in self.cells)

    @property
    def images(self) -> int:
        """Pictures that were shown."""
        return sum(row.images for row in self.rows)

    @property
    def failed(self) -> int:
        """Tests of observers that failed."""
        return sum(cell.state == "failed" for cell in self.cells)

    @property
    def failures(self) -> dict[tuple[str, str], list[str]]:
        """The tests that failed, by observer and message."""
        together: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            for test, cell in row.cells.items():
                if cell.state == "failed":
                    together.setdefault((row.observer, cell.message), []).append(test)
        return together

    @property
    def left_out(self) -> dict[str, str]:
        """Observers that could not be measured, and why."""
        return {row.observer: row.left_out for row in self.rows if row.left_out}

    @property
    def now(self) -> Row | None:
        """The observer that is looking, as far as can be told from outside."""
        every = (r for r in self.rows if r.loading or any(c.now for c in r.cells.values()))
        return next(every, None)

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

    @property
    def status(self) -> str:
        """Where it stands, in words."""
        if self.live:
            return "being written now" if self.writing == "now" else "on another machine"
        if self.problem:
            return "cannot be read"
        if self.writing == "stopped":
            return "stopped"
        if any(cell.state in ("part", "waiting") for cell in self.cells):
            return "not finished"
        counts = {"failed": self.failed, "left out": len(self.left_out)}
        bad = [f"{number} {what}" for what, number in counts.items() if number]
        return ", ".join(["finished", *bad]) if self.of or bad else "nothing measured yet"

    @property
    def kind(self) -> str:
        """The word that style sheets have for where it stands."""
        if self.live:
            return "live"
        if self.problem or self.failed or self.left_out:
            return "bad"
        return "good" if self.complete else "open"

    @property
    def version(self) -> str:
        """A mark that changes with anything a page shows."""
        return digest(json.dumps(self.as_json()))[:16]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "id": self.found.id,
            "run": self.found.label,
            "status": self.status,
            "live": self.live,
            "problem": self.problem,
            "suite": self.manifest.suite if self.manifest else None,
            "mode": self.manifest.mode if self.manifest else None,
            "pieces": {"done": self.done, "of": self.of},
            "images": self.images,
            "seconds_left": self.left_s,
            "observers_of_unknown_speed": self.unknown_speed,
            "tests": self.tests,
            "observers": [
                {
                    "observer": row.observer,
                    "images": row.images,
                    "seconds": row.seconds,
                    "left_out": row.left_out,
                    "cells": [vars(cell) for cell in row.cells.values()],
                }
                for row in self.rows
            ],
            "log": self.log,
        }


def read_state(found: Found) -> State:
    """Return how far a run is; whatever is wrong with its folder becomes a sentence."""
    writer = last_writer(found.folder)
    writing: Writing = "ended"
    if writer is not None:
        writing = {None: "elsewhere", True: "now", False: "stopped"}[writer.lives]  # type: ignore[assignment]
    log = last_lines(found.folder)
    try:
        if not (found.folder / FILE).is_file():
            raise FechnerError("nothing is written yet; if it was stopped, run it again.")
        run = Run(found.folder)
        plan = (writer.plan if writer else None) or Plan([], [], scores_only=True)
        rows = _rows(run, plan, live=writing in ("now", "elsewhere"))
        return State(found, writing, log, run.manifest, rows, run.not_asked)
    # A manifest may hold anything, and one damaged folder must not hide the others.
    except Exception as error:
        why = str(error)
        if not isinstance(error, FechnerError):
            why = f"it cannot be understood ({type(error).__name__}: {error})."
        return State(found, writing, log, problem=found.without_path(why))


def _rows(run: Run, plan: Plan, live: bool) -> list[Row]:
    """Return a row for each observer that was measured, left out or planned."""
    manifest, every = run.manifest, run.all_tests
    tests = {k: test for k, test in every.items() if k in manifest.tests or k in plan.tests}
    to_do = [test for name, test in tests.items() if name in plan.tests]
    planned = dict.fromkeys(  # in the order in which they are measured
        (observer, job.test.id, job.piece.name)
        for observer in plan.observers
        if observer not in manifest.left_out
        for job in jobs(observer, to_do, plan.scores_only)
    )
    recorded = {(e.observer, e.key): e for e in Ledger(run.folder).entries(read_only=True)}
    rows: dict[str, Row] = {}
    waiting = set()
    for observer in dict.fromkeys([*manifest.observers, *manifest.left_out, *plan.observers]):
        row = rows[observer] = Row(observer, left_out=manifest.left_out.get(observer, ""))
        record = manifest.observers.get(observer)
        shown = left = 0
        for name, test in tests.items():
            # Entries of an observer or a test that has changed since do not count.
            keys = piece_keys(test, every, record) if record else {}
            known = {piece: recorded.get((observer, key)) for piece, key in keys.items()}
            entries = {piece: entry for piece, entry in known.items() if entry}
            pieces = test.experiment.pieces()
            kinds = {piece.for_scores for piece in pieces if piece.name in entries}
            asked = [
                piece
                for piece in pieces
                if piece.for_scores in kinds
                or (kinds and piece.for_scores)
                or (observer, name, piece.name) in planned
            ]
            lacking = next(not_asked(observer, [test], record.lacks if record else []), "")
            if lacking:
                asked = []
            failures = [each.message for each in entries.values() if each.status == "failed"]
            done = [
                each
                for each in asked
                if each.name in entries and entries[each.name].status == "done"
            ]
            row.images += sum(entries[each.name].images for each in done)
            row.seconds += sum(entries[each.name].seconds for each in done)
            shown += sum(each.work for each in done)
            if not failures:  # the rest of a test that failed is not tried
                open_pieces = [each for each in asked if each not in done]
                left += sum(each.work for each in open_pieces)
                waiting |= {(observer, name, each.name) for each in open_pieces}
            state: Progress = "part" if done else "waiting" if asked else "unasked"
            if lacking:
                state = "not asked"
            elif failures:
                state = "failed"
            elif asked and len(done) == len(asked):
                state = "done"
            message = lacking or (failures[-1] if failures else "")
            row.cells[name] = Cell(state, len(done), len(asked), message)
        row.left_s = left * row.seconds / shown if shown else None if left else 0.0
    if live:
        for observer, name, piece in planned:
            if (observer, name, piece) in waiting and observer in manifest.observers:
                rows[observer].cells[name].now = True
                return list(rows.values())
        for observer in plan.observers:
            if observer not in (*manifest.observers, *manifest.left_out):
                rows[observer].loading = True
                break
    return list(rows.values())


def duration(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> duration(8), duration(200), duration(8000)
    ('8 s', '3 min 20 s', '2 h 13 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def moment(seconds: float) -> str:
    """Return a time of this machine's clock."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def number(value: float) -> str:
    """Return a number with three digits that count.

    Examples
    --------
    >>> number(0.0082435), number(123.4), number(14892)
    ('0.00824', '123', '14,892')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


FILTERS = {"duration": duration, "moment": moment, "number": number}

"""How far a run is: which pieces were asked for, which are done, how long the rest will take.

What was asked for is known from the plan of the last process, as long as that has not got to its
end. Of the rest, a test of an observer counts as asked for once the ledger has an entry of it, and
its surface (what only figures need) once it has an entry of that: a run made for scores only is
complete without surfaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from fechner.errors import FechnerError
from fechner.experiments import Piece
from fechner.report.serving.runs import (
    Found,
    Writing,
    read_entries,
    read_manifest,
    without_path,
    writing_of,
)
from fechner.runs.ledger import Entry
from fechner.runs.manifest import Manifest
from fechner.runs.plan import digest, piece_keys
from fechner.runs.store import Plan, last_writer
from fechner.suites.base import not_asked

#: ``unasked``: nobody asked for it; ``not asked``: the test needs what the observer lacks.
Progress = Literal["done", "part", "waiting", "failed", "unasked", "not asked"]


@dataclass(frozen=True)
class Cell:
    """One observer in one test; ``now`` if it seems to be looking at that test."""

    state: Progress
    done: int = 0
    of: int = 0
    message: str = ""
    now: bool = False


@dataclass(frozen=True)
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
    cells: list[Cell]
    images: int
    seconds: float
    left_s: float | None
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
    manifest: Manifest | None = None
    tests: Sequence[str] = ()
    rows: Sequence[Row] = ()
    not_asked: Sequence[str] = ()
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
    writing = writing_of(writer)
    try:
        manifest = read_manifest(found, writing)
        entries = read_entries(found, writing)
        plan = (writer.plan if writer else None) or Plan([], [], scores_only=True)
        return State(found, writing, manifest, *_grid(manifest, entries, plan, writing))
    except FechnerError as error:
        return State(found, writing, problem=without_path(str(error), found))
    # A manifest may hold anything, and one damaged folder must not hide the others.
    except Exception as error:
        why = f"it cannot be understood ({type(error).__name__}: {error})."
        return State(found, writing, problem=without_path(why, found))


@dataclass(frozen=True)
class _Part:
    """What was asked of an observer in a test, and what the ledger has of it.

    Parameters
    ----------
    lacking
        Why it cannot be asked, if so.
    """

    pieces: Sequence[Piece]
    entries: Mapping[str, Entry]
    lacking: str

    @property
    def failure(self) -> str | None:
        """The message of what failed last."""
        failed = [each.message for each in self.entries.values() if each.status == "failed"]
        return failed[-1] if failed else None

    @property
    def done(self) -> list[tuple[Piece, Entry]]:
        """Pieces that are done."""
        found = [(each, self.entries.get(each.name)) for each in self.pieces]
        return [(piece, entry) for piece, entry in found if entry and entry.status == "done"]

    def waits(self, for_scores: bool) -> bool:
        """Whether pieces of a kind are still to be measured."""
        return self.failure is None and any(
            each.for_scores == for_scores and each.name not in self.entries for each in self.pieces
        )

    def cell(self, now: bool) -> Cell:
        """Return how far it is."""
        done, of, failure = len(self.done), len(self.pieces), self.failure
        state: Progress = "done" if done == of else "part" if done else "waiting"
        if self.lacking:
            state = "not asked"
        elif failure is not None:
            state = "failed"
        elif not of:
            state = "unasked"
        return Cell(state, done, of, self.lacking or failure or "", now)


def _grid(
    manifest: Manifest, entries: Sequence[Entry], plan: Plan, writing: Writing
) -> tuple[list[str], list[Row], list[str]]:
    """Return the names of the tests, a row for each observer, and which tests nobody was asked."""
    own = manifest.find_suite()
    every = {test.id: test for test in own.build(manifest.suite_options(own))}
    tests = {k: test for k, test in every.items() if k in manifest.tests or k in plan.tests}
    # Entries of an observer or a test that has changed since do not count.
    keys = {
        (name, test.id, piece): key
        for name, record in manifest.observers.items()
        for test in tests.values()
        for piece, key in piece_keys(test, every, record).items()
    }
    recorded: dict[tuple[str, str], dict[str, Entry]] = {}
    for entry in entries:
        if keys.get((entry.observer, entry.test, entry.piece)) == entry.key:
            recorded.setdefault((entry.observer, entry.test), {})[entry.piece] = entry

    def part(observer: str, name: str) -> _Part:
        test, has = tests[name], recorded.get((observer, name), {})
        known = manifest.observers.get(observer)
        lacking = next(iter(not_asked(observer, [test], known.lacks if known else [])), "")
        pieces = test.experiment.pieces()
        planned = observer in plan.observers and observer not in manifest.left_out
        kinds = {piece.for_scores for piece in pieces if piece.name in has}
        if planned and name in plan.tests:
            kinds |= {True} if plan.scores_only else {True, False}
        kinds |= {True} if kinds else set()
        asked = [] if lacking else [piece for piece in pieces if piece.for_scores in kinds]
        return _Part(asked, has, lacking)

    observers = dict.fromkeys([*manifest.observers, *manifest.left_out, *plan.observers])
    parts = {(each, name): part(each, name) for each in observers for name in tests}
    now = loading = None
    if writing in ("now", "elsewhere"):
        # Observers take turns, what scores need comes first, then tests in the suite's order.
        order = [
            (each, name, for_scores)
            for each in plan.observers
            if each in manifest.observers
            for for_scores in (True, False)
            for name in tests
        ]
        now = next((key for *key, kind in order if parts[key[0], key[1]].waits(kind)), None)
        known = (*manifest.observers, *manifest.left_out)
        if now is None:
            loading = next((name for name in plan.observers if name not in known), None)
    rows = []
    for observer in observers:
        of_tests = {name: parts[observer, name] for name in tests}
        done = [each for part in of_tests.values() for each in part.done]
        rows.append(
            Row(
                observer,
                [part.cell([observer, name] == now) for name, part in of_tests.items()],
                images=sum(entry.images for _, entry in done),
                seconds=sum(entry.seconds for _, entry in done),
                left_s=_left(list(of_tests.values())),
                loading=observer == loading,
                left_out=manifest.left_out.get(observer, ""),
            )
        )
    lines = [
        line
        for observer, record in manifest.observers.items()
        for line in not_asked(observer, list(tests.values()), record.lacks)
    ]
    return list(tests), rows, lines


def _left(parts: Sequence[_Part]) -> float | None:
    """Return the seconds left, from the time that the pictures of finished pieces took."""
    done = [each for part in parts for each in part.done]
    shown = sum(piece.work for piece, _ in done)
    # The rest of a test that failed is not tried.
    waiting = [part for part in parts if part.failure is None]
    left = sum(
        sum(piece.work for piece in part.pieces) - sum(piece.work for piece, _ in part.done)
        for part in waiting
    )
    if not left:
        return 0.0
    return left * sum(entry.seconds for _, entry in done) / shown if shown else None


# How numbers and states are said on pages, and to programs


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


def status(state: State) -> str:
    """Say where a run stands."""
    if state.writing == "now":
        return "being written now"
    if state.writing == "elsewhere":
        return "on another machine"
    if state.problem:
        return "cannot be read"
    if state.writing == "stopped":
        return "stopped"
    if any(cell.state in ("part", "waiting") for cell in state.cells):
        return "not finished"
    counts = {"failed": len(state.failed), "left out": len(state.left_out)}
    bad = [f"{number} {what}" for what, number in counts.items() if number]
    if state.of or bad:
        return ", ".join(["finished", *bad])
    return "nothing measured yet"


def advice(state: State) -> str:
    """Say what to do about where a run stands."""
    if state.writing == "elsewhere":
        return "It is being written on another machine, or was stopped there: nobody here can tell."
    if state.writing == "stopped":
        return "It was stopped before its end; run the same command again to go on."
    return ""


def kind(state: State) -> str:
    """Return the word that style sheets have for where a run stands."""
    if state.live:
        return "live"
    if state.problem or state.failed or state.left_out:
        return "bad"
    return "good" if state.complete else "open"


def left(state: State) -> str:
    """Say how long a run will take."""
    parts = [f"about {duration(state.left_s)}"] if state.left_s else []
    if state.unknown_speed:
        several = "observers" if state.unknown_speed > 1 else "observer"
        parts.append(f"{state.unknown_speed} {several} whose speed is not known yet")
    return ", and ".join(parts)


def as_json(state: State) -> dict[str, Any]:
    """Return where a run stands as plain values."""
    return {
        "id": state.found.id,
        "run": state.found.label,
        "status": status(state),
        "live": state.live,
        "problem": state.problem,
        "suite": state.manifest.suite if state.manifest else None,
        "mode": state.manifest.mode if state.manifest else None,
        "pieces": {"done": state.done, "of": state.of},
        "images": state.images,
        "seconds_left": state.left_s,
        "observers_of_unknown_speed": state.unknown_speed,
        "tests": state.tests,
        "observers": [
            {
                "observer": row.observer,
                "images": row.images,
                "seconds": row.seconds,
                "left_out": row.left_out,
                "cells": [vars(cell) for cell in row.cells],
            }
            for row in state.rows
        ],
    }


def state_version(state: State, log: list[str]) -> str:
    """Return a mark that changes with anything a page shows."""
    return digest(json.dumps([as_json(state), log]))[:16]


FILTERS = {
    "advice": advice,
    "duration": duration,
    "kind": kind,
    "left": left,
    "moment": moment,
    "number": number,
    "status": status,
}

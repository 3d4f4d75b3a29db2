"""What there is to do: pieces of tests for an observer, in order, each with the key of its answer.

A key is the hash of everything that an answer depends on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fechner.arrays import xr
from fechner.experiments import Experiment, Piece
from fechner.runs.manifest import ObserverRecord, parameters
from fechner.runs.store import Entry, read_dataset, slug
from fechner.suites.base import Test, may_ask


@dataclass(frozen=True)
class Job:
    """One piece of one experiment for one observer."""

    observer: str
    test: Test
    piece: Piece

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.test.experiment

    @property
    def file(self) -> str:
        """Path of its result inside the run folder."""
        return f"results/{slug(self.observer)}/{self.test.id}/{self.piece.name}.nc"


def jobs(observer: str, tests: Sequence[Test], scores_only: bool) -> list[Job]:
    """List the work for one observer: what scores need first, then what figures need.

    A test comes after all of those that it depends on, which are measured whole.
    """
    ordered = _in_order(tests)
    needed = {name for test in tests for name in test.after}
    return [
        Job(observer, test, piece)
        for first in ((True,) if scores_only else (True, False))
        for test in ordered
        for piece in test.experiment.pieces()
        if (piece.for_scores or test.id in needed) == first
    ]


def _in_order(tests: Sequence[Test]) -> list[Test]:
    """Return tests in their own order, but for those that must come before another."""
    known = {test.id: test for test in tests}
    ordered: dict[str, Test] = {}

    def put(test: Test, waiting: tuple[str, ...]) -> None:
        if test.id in waiting:
            raise ValueError(f"tests come after each other: {' > '.join((*waiting, test.id))}.")
        for name in test.after:
            if name in known:
                put(known[name], (*waiting, test.id))
        ordered[test.id] = test

    for test in tests:
        put(test, ())
    return list(ordered.values())


class Schedule:
    """Which piece of a plan comes next: in order, and never before what its test comes after.

    Pieces are named by their numbers in the plan.
    """

    def __init__(self, plan: Sequence[Job]) -> None:
        self._tests = [job.test for job in plan]
        self._queued = list(range(len(plan)))
        self._running: set[int] = set()
        #: Tests of which a piece will stay missing.
        self.incomplete: set[str] = set()

    def next(self) -> int | None:
        """Return the next piece that can be started, None if there is none for now."""
        unfinished = {self._tests[number].id for number in (*self._queued, *self._running)}
        for number in self._queued:
            if unfinished.isdisjoint(self._tests[number].after):
                self._queued.remove(number)
                self._running.add(number)
                return number
        return None

    def retry(self, number: int) -> None:
        """Put a running piece back to the front of the queue."""
        self._running.remove(number)
        self._queued.insert(0, number)

    def finish(self, number: int, complete: bool) -> None:
        """Count a running piece as finished, whether or not it has an answer."""
        self._running.remove(number)
        if not complete:
            self.incomplete.add(self._tests[number].id)

    def drop(self, test: str) -> list[int]:
        """Remove the queued pieces of a test, and return them."""
        dropped = [number for number in self._queued if self._tests[number].id == test]
        self._queued = [number for number in self._queued if self._tests[number].id != test]
        self.incomplete.add(test)
        return dropped

    def is_running(self, test: str) -> bool:
        """Whether a piece of a test is being measured."""
        return any(self._tests[number].id == test for number in self._running)


def piece_keys(test: Test, among: Mapping[str, Test], record: ObserverRecord) -> dict[str, str]:
    """Return the key of each piece of a test for one observer, by the name of the piece.

    Mode and seed are among the parameters; what a test comes after is part of it.

    Parameters
    ----------
    among
        Tests by name, with those that this one comes after.
    """
    experiment = test.experiment
    rest = [record.fingerprint_for(experiment.asks), *_earlier(test, among, record)]
    if test.fingerprint:
        rest.append(test.fingerprint)
    # The parameters may be long: they are made text once for all pieces.
    whole, tail = _text(parameters(experiment)), _text(rest)[1:]
    return {
        piece.name: _hash(f"[{whole},{_text(piece.name)},{tail}") for piece in experiment.pieces()
    }


def _earlier(test: Test, among: Mapping[str, Test], record: ObserverRecord) -> list[Any]:
    """Return what the answers that a test is measured with depend on: nothing, for most."""
    return [
        [
            parameters(other.experiment),
            record.fingerprint_for(other.experiment.asks) if may_ask(other, record.lacks) else None,
            *_earlier(other, among, record),
        ]
        for other in (among[name] for name in test.after)
    ]


def digest(value: Any) -> str:
    """Return the sha256 of a JSON value."""
    return _hash(_text(value))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def read_answers(
    folder: Path,
    test: Test,
    among: Mapping[str, Test],
    record: ObserverRecord,
    entries: Iterable[Entry],
    for_scores: bool | None = None,
) -> xr.Dataset | None:
    """Return the raw answers of an observer in a test, None if they are not complete.

    Parameters
    ----------
    among
        Tests by name, with those that this one comes after.
    entries
        What the ledger has.
    for_scores
        True for what scores need alone, False for what is for figures only; if None, both, where
        the latter was measured.
    """
    keys = piece_keys(test, among, record)
    done = {entry.key: entry for entry in entries if entry.status == "done"}
    found = []
    for part in (True, False) if for_scores is None else (for_scores,):
        own = [keys[piece.name] for piece in test.experiment.pieces() if piece.for_scores == part]
        if own and all(key in done for key in own):
            parts = [read_dataset(folder / done[key].file, done[key].sha256) for key in own]
            if len(parts) > 1:  # put together along the dimension they say they were cut along
                along = parts[0].attrs["along"]
                how: Any = {"data_vars": "minimal", "coords": "minimal", "compat": "equals"}
                parts = [xr.concat(parts, dim=along, join="exact", **how)]
            found += parts
        elif part or for_scores is False:
            return None
    return xr.merge(found, combine_attrs="override", join="exact", compat="equals")

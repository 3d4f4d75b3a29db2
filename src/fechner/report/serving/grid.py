"""Which pieces of a run were asked for, which are done, and how long the rest will take.

What was asked for is known from the plan of the last process, as long as that has not got to its
end. Of the rest, a test of an observer counts as asked for once the ledger has an entry of it, and
its surface (what only figures need) once it has an entry of that: a run made for scores only is
complete without surfaces.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from fechner.experiments import Piece
from fechner.runs.ledger import Entry
from fechner.runs.lock import Plan
from fechner.runs.manifest import Manifest
from fechner.runs.plan import digest, earlier
from fechner.suites import Test
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


def grid(
    manifest: Manifest, entries: Sequence[Entry], plan: Plan | None, writing: bool
) -> tuple[list[str], list[Row]]:
    """Return the names of the tests, and a row for each observer."""
    books = _Books.of(manifest, entries, plan or Plan([], [], scores_only=True))
    under_way = books.first_to_do() if writing else None
    coming = books.next_to_load() if writing and under_way is None else None
    observers = dict.fromkeys([*manifest.observers, *manifest.left_out, *books.plan.observers])
    rows = [books.row(observer, under_way, loading=observer == coming) for observer in observers]
    return list(books.pieces), rows


@dataclass(frozen=True)
class _Books:
    """What was asked for, and what the ledger has of it."""

    manifest: Manifest
    plan: Plan
    tests: dict[str, Test]
    pieces: dict[str, Sequence[Piece]]
    recorded: dict[tuple[str, str], dict[str, Entry]]

    @classmethod
    def of(cls, manifest: Manifest, entries: Sequence[Entry], plan: Plan) -> _Books:
        own = manifest.find_suite()
        every = {t.id: t for t in own.build(manifest.suite_options(own))}
        tests = {k: t for k, t in every.items() if k in manifest.tests or k in plan.tests}
        pieces = {name: test.experiment.pieces() for name, test in tests.items()}
        asked = {name: json.dumps(value) for name, value in manifest.tests.items()}
        recorded: dict[tuple[str, str], dict[str, Entry]] = {}
        for entry in entries:
            observer = manifest.observers.get(entry.observer)
            # Entries of an observer or a test that has changed since do not count.
            if (
                observer is not None
                and entry.test in asked
                and entry.test in tests
                and entry.key
                == _key(
                    asked[entry.test],
                    entry.piece,
                    observer.fingerprint_for(tests[entry.test].experiment.asks),
                    json.dumps(
                        [
                            *earlier(tests[entry.test], every, observer),
                            *filter(None, [tests[entry.test].fingerprint]),
                        ]
                    ),
                )
            ):
                recorded.setdefault((entry.observer, entry.test), {})[entry.piece] = entry
        return cls(manifest, plan, tests, pieces, recorded)

    def why_not_asked(self, observer: str, test: str) -> str:
        """Say what an observer lacks that a test needs; empty if nothing, as far as is known."""
        record = self.manifest.observers.get(observer)
        lacking = record.lacks if record else []
        return next(iter(not_asked(observer, [self.tests[test]], lacking)), "")

    def asked(self, observer: str, test: str) -> list[Piece]:
        """Return the pieces that were asked for."""
        if self.why_not_asked(observer, test):
            return []
        has = self.recorded.get((observer, test), {})
        planned = (
            observer in self.plan.observers
            and observer not in self.manifest.left_out
            and test in self.plan.tests
        )
        kinds = {piece.for_scores for piece in self.pieces[test] if piece.name in has}
        if planned or kinds:
            kinds.add(True)
        if planned and not self.plan.scores_only:
            kinds.add(False)
        return [piece for piece in self.pieces[test] if piece.for_scores in kinds]

    def entry(self, observer: str, test: str, piece: Piece) -> Entry | None:
        """Return what the ledger has of a piece."""
        return self.recorded.get((observer, test), {}).get(piece.name)

    def failure(self, observer: str, test: str) -> str | None:
        """Return the message of a test that failed."""
        found = [
            entry.message
            for entry in self.recorded.get((observer, test), {}).values()
            if entry.status == "failed"
        ]
        return found[-1] if found else None

    def first_to_do(self) -> tuple[str, str] | None:
        """Return the observer and the test that come next in the order of `jobs`."""
        measured = [name for name in self.plan.observers if name in self.manifest.observers]
        for observer in measured:
            for for_scores in (True, False):
                for test in self.pieces:
                    if self.failure(observer, test) is None and any(
                        piece.for_scores == for_scores and self.entry(observer, test, piece) is None
                        for piece in self.asked(observer, test)
                    ):
                        return observer, test
        return None

    def next_to_load(self) -> str | None:
        """Return the first observer that the manifest knows nothing of."""
        known = {*self.manifest.observers, *self.manifest.left_out}
        return next((name for name in self.plan.observers if name not in known), None)

    def row(self, observer: str, under_way: tuple[str, str] | None, loading: bool) -> Row:
        """Return how far an observer is."""
        cells = [self._cell(observer, test, under_way) for test in self.pieces]
        entries = [
            entry
            for test in self.pieces
            for entry in self.recorded.get((observer, test), {}).values()
            if entry.status == "done"
        ]
        return Row(
            observer,
            cells,
            images=sum(entry.images for entry in entries),
            seconds=sum(entry.seconds for entry in entries),
            left_s=self._left(observer),
            loading=loading,
            left_out=self.manifest.left_out.get(observer, ""),
        )

    def _cell(self, observer: str, test: str, under_way: tuple[str, str] | None) -> Cell:
        asked = self.asked(observer, test)
        found = [self.entry(observer, test, piece) for piece in asked]
        done = sum(entry is not None and entry.status == "done" for entry in found)
        message = self.failure(observer, test)
        lacking = self.why_not_asked(observer, test)
        state: Progress
        if lacking:
            state, message = "not asked", lacking
        elif message is not None:
            state = "failed"
        elif not asked:
            state = "unasked"
        elif done == len(asked):
            state = "done"
        else:
            state = "part" if done else "waiting"
        return Cell(state, done, len(asked), message or "", (observer, test) == under_way)

    def _left(self, observer: str) -> float | None:
        """Return the seconds left, from the time that the pictures of finished pieces took."""
        shown, seconds, left = 0, 0.0, 0
        for test in self.pieces:
            failed = self.failure(observer, test) is not None
            for piece in self.asked(observer, test):
                entry = self.entry(observer, test, piece)
                if entry is not None and entry.status == "done":
                    shown, seconds = shown + piece.work, seconds + entry.seconds
                elif not failed:  # the rest of a test that failed is not tried
                    left += piece.work
        if not left:
            return 0.0
        return left * seconds / shown if shown else None


@lru_cache(maxsize=1 << 15)
def _key(parameters: str, piece: str, fingerprint: str, before: str) -> str:
    """Return the key of a piece, as `piece_keys` does, for a test as the manifest has it."""
    return digest([json.loads(parameters), piece, fingerprint, *json.loads(before)])

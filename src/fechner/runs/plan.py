"""What there is to do: pieces of tests for an observer, in the order in which they are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fechner.experiments import Experiment, Piece
from fechner.runs.store import slug
from fechner.suites import Test


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

    A test comes after all of those that it follows from, which are measured whole: scores need what
    they need.
    """
    ordered = _each_after_its_own(tests)
    followed = {name for test in tests for name in test.after}
    return [
        Job(observer, test, piece)
        for first in ((True,) if scores_only else (True, False))
        for test in ordered
        for piece in test.experiment.pieces()
        if (piece.for_scores or test.id in followed) == first
    ]


def _each_after_its_own(tests: Sequence[Test]) -> list[Test]:
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

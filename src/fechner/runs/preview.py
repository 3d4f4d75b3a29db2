"""What a run would show and ask, without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fechner.runs.trials import FILE, Spent, Trials
from fechner.suites import Test


@dataclass(frozen=True)
class Preview:
    """What one test would show an observer and ask it, at most.

    Parameters
    ----------
    pictures, questions
        Numbers of pictures, and of questions in words about them.
    """

    test: str
    pictures: int
    questions: int


def preview(tests: Sequence[Test], scores_only: bool) -> list[Preview]:
    """Say what tests show and ask of each observer, at most.

    Observers that match labels are asked about as many pairs of labels as there are, and those that
    read nothing once for each picture.
    """
    found = []
    for test in tests:
        pieces = [p for p in test.experiment.pieces() if p.for_scores or not scores_only]
        pictures, questions = sum(p.images for p in pieces), sum(p.questions for p in pieces)
        found.append(Preview(test.id, pictures, questions))
    return found


def answered(folder: Path, observer: str) -> Spent:
    """Return what an observer has answered in a run folder already."""
    return Trials(folder / FILE).spent(observer)

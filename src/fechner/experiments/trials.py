"""Where single answers go, the moment they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fechner.observers.questions import Answer, Question


class TrialLog(Protocol):
    """Where answers go; how many more may be asked for."""

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        """Return the answers that are there already."""
        ...

    def allow(self, questions: int) -> int:
        """Return how many of so many questions may be asked; raises if none may."""
        ...

    def record(self, key: str, question: Question, answer: Answer) -> None:
        """Keep an answer."""
        ...


class NoLog:
    """Knows nothing, allows everything, keeps nothing."""

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        """Return nothing."""
        return {}

    def allow(self, questions: int) -> int:
        """Allow all."""
        return questions

    def record(self, key: str, question: Question, answer: Answer) -> None:
        """Forget it."""

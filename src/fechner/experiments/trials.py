"""Trials in words: what is asked, in chains, and where single answers go the moment they arrive."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fechner.experiments.base import Scene
from fechner.observers.questions import Answer, Prompt, Question
from fechner.stimuli import Picture, Stimulus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor


class Trace(NamedTuple):
    """What a trial was about, for people who look into the log; NaN and -1 where it has none.

    Parameters
    ----------
    abscissa
        Such as the frequency; NaN for blanks, which have none.
    contrast
        As it was shown.
    prompt, draw
        Number of the prompt in the list of them, and of the draw of noise.
    """

    test: str = ""
    abscissa: float = math.nan
    contrast: float = math.nan
    prompt: int = -1
    draw: int = -1


@dataclass(frozen=True)
class Request:
    """A question about stimuli that are painted when their turn comes.

    Parameters
    ----------
    stimuli
        In the order in which they are shown.
    target
        Which of them is looked at, to find what was really shown.
    trace
        What it is about; test and contrast are filled in when it is asked.
    """

    stimuli: tuple[Stimulus | Picture, ...]
    prompt: Prompt
    repeat: int = 0
    target: int = 0
    trace: Trace = field(default_factory=Trace)


class Heard(NamedTuple):
    """What came of trials.

    Parameters
    ----------
    yes
        1, 0, NaN for replies that were neither, or a probability; [trials, layers, read-outs].
    contrast
        What was really shown, [trials].
    """

    yes: NDArray[np.float64]
    contrast: NDArray[np.float64]


#: Questions that follow from each other: yields some, is sent what came of all of these.
Chain = Generator[Sequence[Request], Heard, None]

#: Measures what a picture shows of a stimulus, from its luminance [h, w].
Look = Callable[["Stimulus | Picture", "Tensor"], float]


def no_look(stimulus: Stimulus | Picture, luminance: Tensor) -> float:
    """Measure nothing."""
    return math.nan


@dataclass(frozen=True)
class Interview:
    """All questions of a piece.

    Parameters
    ----------
    chains
        Made when they are begun. None of them depends on answers to another.
    finish
        Returns the result, when all chains are at their ends.
    """

    scene: Scene
    chains: Iterable[Chain]
    finish: Callable[[], Any]
    look: Look = no_look


class TrialLog(Protocol):
    """Where answers go; how many more may be asked for."""

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        """Return the answers that are there already."""
        ...

    def allow(self, questions: int) -> int:
        """Return how many of n questions may be asked; raises if none may."""
        ...

    def record(self, key: str, question: Question, answer: Answer, trace: Trace) -> None:
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

    def record(self, key: str, question: Question, answer: Answer, trace: Trace) -> None:
        """Forget it."""

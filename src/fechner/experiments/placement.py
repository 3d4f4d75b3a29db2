"""Which levels are shown, in which order: every one of a list, or those that tell most.

A level is what a psychometric function is over: the contrast of a pattern, how far a picture is
from its original. Level 0 is nothing, or the original. Whoever asks keeps the books: what is shown
at a level, which tracks there are, what is asked together and what is recorded.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from fechner.psychometrics.functions import Shape


class Trial(NamedTuple):
    """What is shown next: the place of its level in the list, and the draw of what is random."""

    level: int
    draw: int


#: The trials of one psychometric function: yields those to show next, is sent the answer to each
#: (1, 0, or between), NaN where there was none.
Track: TypeAlias = Generator[Sequence[Trial], Sequence[float], None]


Next = TypeVar("Next")
Answers = TypeVar("Answers")


def advance(
    track: Generator[Sequence[Next], Answers, None], answers: Answers | None = None
) -> Sequence[Next]:
    """Return what is shown next, given the answers to the last; nothing at the end."""
    try:
        return track.send(answers)  # type: ignore[arg-type]  # None begins it
    except StopIteration:
        return ()


@dataclass(frozen=True)
class EveryLevel:
    """Every level, in ascending order, with ``repeats`` draws of each.

    Examples
    --------
    >>> advance(EveryLevel((0.0, 0.5), repeats=2).track())[-1]
    Trial(level=1, draw=1)
    """

    levels: tuple[float, ...]
    repeats: int = 1

    adaptive: ClassVar[bool] = False

    def method(self, name: str) -> str:
        """Which levels are shown, in a sentence that calls them by a name."""
        low, high = self.levels[0], self.levels[-1]
        return (
            f"All of {len(self.levels)} {name} from {low:.3g} to {high:.3g} are shown, with "
            f"{self.repeats} draws of each."
        )

    @property
    def most(self) -> int:
        """The largest number of trials of a track."""
        return len(self.levels) * self.repeats

    def track(
        self, *, blanks: int | None = None, lapse: float | None = None, seed: int = 0
    ) -> Track:
        """Return all trials at once, whatever the answers."""
        yield [
            Trial(level, draw) for level in range(len(self.levels)) for draw in range(self.repeats)
        ]


@dataclass(frozen=True)
class AdaptiveLevels:
    """The level that is expected to tell most of the threshold, trial by trial (Watson 2017).

    Parameters
    ----------
    levels
        Those to choose from, ascending.
    trials
        The most trials of a track.
    width
        Stop once the 95 % interval of the threshold is narrower than this, in log10; None never.
    blanks
        How many of the trials, the first ones, show level 0 if there is one. They tell the rate of
        false alarms, and a class that is never recognised from one that is lost at once.
    shape, guess
        As of `fechner.psychometrics.Adaptive`.
    """

    levels: tuple[float, ...]
    trials: int = 64
    width: float | None = None
    blanks: int = 4
    shape: Shape = "weibull"
    guess: float | None = None

    adaptive: ClassVar[bool] = True

    @property
    def most(self) -> int:
        """The largest number of trials of a track."""
        return self.trials

    def method(self, name: str) -> str:
        """How levels are chosen, in a sentence that calls them by a name."""
        low, high = self.levels[0], self.levels[-1]
        width = (
            ""
            if self.width is None
            else (
                f", fewer once the 95 % interval of the threshold is below {self.width:g} in log10"
            )
        )
        return (
            f"Among {len(self.levels)} {name} from {low:.3g} to {high:.3g} each trial has the one "
            "where the answer is expected to tell most of the threshold (Watson 2017): "
            f"{self.trials} trials{width}, of which the first {self.blanks} have level 0 (the "
            "first only, for observers that answer the same question in the same way)."
        )

    def track(
        self, *, blanks: int | None = None, lapse: float | None = None, seed: int = 0
    ) -> Track:
        """Choose one trial after the other; a trial without an answer counts, but tells nothing.

        There are no more ``blanks`` than this. The lapse rate is found along with the threshold if
        None; the seed chooses among levels that are nearly equally good.
        """
        from fechner.psychometrics import Adaptive

        run = Adaptive(
            self.levels,
            shape=self.shape,
            guess=self.guess,
            lapse=lapse,
            stop_trials=self.trials,
            stop_width=self.width,
            seed=seed,
        )
        first = self.blanks if blanks is None else min(self.blanks, blanks)
        for number in range(self.trials):
            if run.finished:
                return
            level = 0 if number < first and self.levels[0] == 0 else run.next()
            (answer,) = yield [Trial(level, number)]
            if not math.isnan(answer):
                run.update(level, answer)


Placement: TypeAlias = EveryLevel | AdaptiveLevels

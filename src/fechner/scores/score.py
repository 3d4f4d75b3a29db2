"""A score is never a bare number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.scores.bootstrap import Scale, Source

#: From which share on a check is passed, and passed in part.
YES, PARTLY = 0.8, 0.4

#: What names of checks begin with.
CHECK = "check-"


@dataclass(frozen=True)
class Score:
    """One number with what is needed to read it.

    Parameters
    ----------
    value
        NaN where it cannot be computed; ``note`` says why.
    low, high
        95 % interval over what was ``resampled``.
    human_low, human_high
        Separately, the 95 % range that the error of the human curve itself gives.
    higher_is_better
        None where neither more nor less is.
    best, chance
        The value of a perfect observer, and of one that knows nothing: it answers at random, or was
        measured (`fechner.suites.published`).
    n, of
        Number of points that enter, and that could have; 0 where nothing is left out.
    note
        What a reader must know: points left out, criteria used.
    rule
        When something passes, in words, of a score that is the share of what passes: an entry of a
        check list rather than a number. Empty for all others.
    beside
        What must be human, too, and stands beside it, such as size beside shape: the distance from
        human is the mean of both.
    """

    name: str
    value: float
    low: float
    high: float
    higher_is_better: bool | None
    best: float
    chance: float
    resampled: str
    n: int
    human_low: float = float("nan")
    human_high: float = float("nan")
    layer: str = ""
    readout: str = ""
    note: str = ""
    rule: str = ""
    of: int = 0
    beside: Score | None = None

    @property
    def arrow(self) -> str:
        """The direction in which it is better, as a sign; empty where there is none."""
        return "" if self.higher_is_better is None else "↑" if self.higher_is_better else "↓"

    @property
    def is_check(self) -> bool:
        """Whether it answers a question by yes, partly or no."""
        return bool(self.rule)

    @property
    def claim(self) -> str:
        """What a check asks for."""
        return self.name.removeprefix(CHECK)

    @property
    def verdict(self) -> str:
        """The answer of a check in a word.

        Examples
        --------
        >>> half = Score("check-rises", 0.5, 0, 1, True, 1, 0, "curves", 4, rule="the end is high")
        >>> half.is_check, half.claim, half.verdict
        (True, 'rises', 'partly')
        """
        if math.isnan(self.value):
            return "unknown"
        return "yes" if self.value >= YES else "partly" if self.value >= PARTLY else "no"


#: Distances end here: in tests that observers who know nothing nearly pass, those that do not are
#: any number of chance levels away.
FARTHEST = 2.0


def distance(score: Score, value: float | None = None) -> float:
    """Return how far a score is from human: 0 is perfect, 1 is chance, more is worse, up to 2.

    Parameters
    ----------
    value
        Another value of the same score, such as an end of its interval.

    Examples
    --------
    >>> half = Score("alignment", 0.5, 0.4, 0.6, True, best=1.0, chance=0.0, resampled="x", n=9)
    >>> distance(half)
    0.5
    """
    span = score.best - score.chance
    if not span:
        return math.nan
    found = (score.best - (score.value if value is None else value)) / span
    found = found if math.isnan(found) else min(found, FARTHEST)
    return found if score.beside is None else (found + distance(score.beside)) / 2


@dataclass(frozen=True)
class Resampled:
    """A score with its values on bootstrap samples of its clusters.

    The samples follow from the number of clusters alone, so two observers that were asked the same
    questions are resampled together.

    Parameters
    ----------
    values
        The score on each sample; NaN where it cannot be computed.
    clusters
        What is resampled, by its place on the abscissa.
    scale
        The scale on which errors of the score are symmetric.
    most
        The largest value the score can have.
    further
        What else was resampled, by itself, such as draws of noise.
    """

    score: Score
    values: NDArray[np.float64]
    clusters: NDArray[np.float64]
    scale: Scale
    most: float = math.inf
    further: tuple[Source, ...] = ()


class Scorer(Protocol):
    """Turns the stored answers of one experiment into scores; the first is the main one."""

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score all layers and read-outs.

        ``others`` are the answers to tests that this one uses, None where they were not measured.
        """
        ...

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the main score of one layer and read-out with its bootstrap."""
        ...

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave of two observers' answers what both were asked, clusters in the same order.

        Where that is everything, the answers themselves are returned.
        """
        ...

    def printed(self, value: float, experiment: Any) -> Score:
        """Return a main score of which only the value is known, as from a paper."""
        ...

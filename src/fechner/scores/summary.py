"""One number over several tests, with its interval: only ever beside the tests themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fechner.scores.score import Score, distance

#: Over fewer, an interval says nothing.
_FEWEST_TESTS = 4


class MeanDistance(NamedTuple):
    """Mean distance from human over tests, with its 95 % interval.

    The interval is Student's t over tests, cut at 0, which no distance is below; there is none over
    fewer than four tests.
    """

    value: float
    low: float
    high: float
    n: int


def mean_distance(scores: Sequence[Score]) -> MeanDistance:
    """Return the mean over tests of the distance from human: 0 is human, 1 is chance.

    Tests that could not be scored do not count.

    Examples
    --------
    >>> def score(value):
    ...     return Score("alignment", value, 0, 1, True, best=1.0, chance=0.0, resampled="x", n=9)
    >>> found = mean_distance([score(0.5), score(0.7), score(0.6), score(0.8)])
    >>> [round(float(number), 3) for number in found]
    [0.35, 0.145, 0.555, 4.0]
    """
    from scipy.special import stdtrit

    found = np.array([distance(score) for score in scores])
    found = found[np.isfinite(found)]
    if len(found) == 0:
        return MeanDistance(float("nan"), float("nan"), float("nan"), 0)
    value = float(found.mean())
    if len(found) < _FEWEST_TESTS:
        return MeanDistance(value, float("nan"), float("nan"), len(found))
    half = float(stdtrit(len(found) - 1, 0.975) * found.std(ddof=1) / np.sqrt(len(found)))
    return MeanDistance(value, max(0.0, value - half), value + half, len(found))

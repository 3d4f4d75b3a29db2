"""One number over several tests, with its interval: only ever beside the tests themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fechner.scores.bootstrap import cluster_counts
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


class MeanDifference(NamedTuple):
    """Mean difference of two observers' distances over tests; below 0 the first is closer."""

    value: float
    low: float
    high: float
    p: float
    n: int


def mean_difference(first: Sequence[Score], second: Sequence[Score]) -> MeanDifference:
    """Compare two observers' mean distances over the tests that both took, test by test.

    The 95 % interval is Student's t with the standard error of a bootstrap over tests, paired: both
    are resampled together. There is none over fewer than four tests.

    Parameters
    ----------
    first, second
        Scores of the same tests in the same order.

    Examples
    --------
    >>> def score(value):
    ...     return Score("alignment", value, 0, 1, True, best=1.0, chance=0.0, resampled="x", n=9)
    >>> better, worse = [0.5, 0.7, 0.6, 0.8], [0.4, 0.5, 0.3, 0.6]
    >>> found = mean_difference([score(v) for v in better], [score(v) for v in worse])
    >>> round(found.value, 3), round(found.high, 3) < 0, found.n
    (-0.2, True, 4)
    """
    from scipy.special import stdtr, stdtrit

    pairs = np.array([[distance(a), distance(b)] for a, b in zip(first, second, strict=True)])
    apart = pairs[:, 0] - pairs[:, 1] if len(pairs) else np.empty(0)
    apart = apart[np.isfinite(apart)]
    n, nothing = len(apart), float("nan")
    if n < _FEWEST_TESTS:
        return MeanDifference(float(apart.mean()) if n else nothing, nothing, nothing, nothing, n)
    value = float(apart.mean())
    resampled = cluster_counts(n) @ apart / n
    error = float(resampled.std() * np.sqrt(n / (n - 1)))
    half = float(stdtrit(n - 1, 0.975)) * error
    p = float(2 * stdtr(n - 1, -abs(value) / error)) if error > 0 else float(value == 0)
    return MeanDifference(value, value - half, value + half, p, n)

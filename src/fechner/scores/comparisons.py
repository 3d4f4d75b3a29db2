"""Comparisons: two observers in one test, over several tests, and many of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from fechner.arrays import Floats, xr
from fechner.scores.score import Resampled, Score, Scorer, distance, rounded
from fechner.scores.statistics import Source, cluster_counts, difference_interval, student

Correction = Literal["holm", "bh", "none"]

#: Corrections as they are named in tables.
NAMES: dict[Correction, str] = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": ""}

#: Corrected p-values below this are called significant.
LEVEL = 0.05

#: Over fewer tests, or observers, an interval says nothing.
FEWEST = 4


@dataclass(frozen=True)
class Difference:
    """How far apart two observers are in one test, on what both were asked.

    Parameters
    ----------
    value
        The first minus the second; NaN where one of them cannot be computed.
    low, high
        95 % interval over clusters, both observers resampled together.
    p
        Of a difference at least as large if there were none.
    """

    first: Score
    second: Score
    value: float
    low: float
    high: float
    p: float
    clusters: int

    @property
    def favours(self) -> int:
        """Who is closer to people: 1 for the first, -1 for the second, 0 for neither."""
        sign = 1 if self.first.higher_is_better else -1
        return 0 if np.isnan(self.value) else int(np.sign(self.value)) * sign


def paired(scorer: Scorer, first: xr.Dataset, second: xr.Dataset) -> Difference:
    """Compare two observers' answers to a test, each at one layer by one read-out."""
    return difference(*map(scorer.resample, scorer.shared(first, second)))


def difference(first: Resampled, second: Resampled) -> Difference:
    """Compare two scores that were resampled over the same clusters.

    Examples
    --------
    >>> score = Score("alignment", 0.5, 0.3, 0.7, True, best=1.0, chance=0.0, resampled="x", n=80)
    >>> draws, places = 0.1 * np.random.default_rng(0).standard_normal(1000), np.arange(8.0)
    >>> same = Resampled(score, 0.5 + draws, places, "correlation")
    >>> difference(same, same).p
    1.0
    """
    if rounded(first.clusters).tolist() != rounded(second.clusters).tolist():
        raise ValueError("scores of other clusters cannot be paired; use Scorer.shared.")
    values = (first.score.value, second.score.value)
    clusters = len(first.clusters)
    if np.isnan(values).any():  # nothing was resampled
        return Difference(first.score, second.score, np.nan, np.nan, np.nan, np.nan, clusters)
    further = [
        Source(np.stack([a.values, b.values]), a.clusters)
        for a, b in zip(first.further, second.further, strict=True)
    ]
    resamples, most = np.stack([first.values, second.values]), max(first.most, second.most)
    found = difference_interval(values, resamples, clusters, first.scale, most, further)
    return Difference(first.score, second.score, values[0] - values[1], *found, clusters)


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
    """Return the mean distance from human over tests that were scored: 0 is human, 1 is chance.

    Examples
    --------
    >>> def score(value):
    ...     return Score("alignment", value, 0, 1, True, best=1.0, chance=0.0, resampled="x", n=9)
    >>> found = mean_distance([score(0.5), score(0.7), score(0.6), score(0.8)])
    >>> [round(float(number), 3) for number in found]
    [0.35, 0.145, 0.555, 4.0]
    """
    found = _known([distance(score) for score in scores])
    n, value = len(found), float(found.mean()) if len(found) else np.nan
    if n < FEWEST:
        return MeanDistance(value, np.nan, np.nan, n)
    half = float(student(n - 1) * found.std(ddof=1) / np.sqrt(n))
    return MeanDistance(value, max(0.0, value - half), value + half, n)


class MeanDifference(NamedTuple):
    """Mean difference of two observers' distances over tests; below 0 the first is closer."""

    value: float
    low: float
    high: float
    p: float
    n: int


def mean_difference(first: Sequence[Score], second: Sequence[Score]) -> MeanDifference:
    """Compare two observers' mean distances over the tests that both took, in the same order.

    The 95 % interval is Student's t with the standard error of a bootstrap over tests, paired: both
    are resampled together. There is none over fewer than four tests.

    Examples
    --------
    >>> def score(value):
    ...     return Score("alignment", value, 0, 1, True, best=1.0, chance=0.0, resampled="x", n=9)
    >>> better, worse = [0.5, 0.7, 0.6, 0.8], [0.4, 0.5, 0.3, 0.6]
    >>> found = mean_difference([score(v) for v in better], [score(v) for v in worse])
    >>> round(found.value, 3), round(found.high, 3) < 0, found.n
    (-0.2, True, 4)
    """
    from scipy.special import stdtr

    apart = _known([distance(a) - distance(b) for a, b in zip(first, second, strict=True)])
    n, value = len(apart), float(apart.mean()) if len(apart) else np.nan
    if n < FEWEST:
        return MeanDifference(value, np.nan, np.nan, np.nan, n)
    resampled = cluster_counts(n) @ apart / n
    error = float(resampled.std() * np.sqrt(n / (n - 1)))
    half = student(n - 1) * error
    p = float(2 * stdtr(n - 1, -abs(value) / error)) if error > 0 else float(value == 0)
    return MeanDifference(value, value - half, value + half, p, n)


def _known(values: Sequence[float]) -> Floats:
    found = np.array(values, dtype=float)
    return np.asarray(found[np.isfinite(found)])


def corrected(p: Sequence[float], correction: Correction = "holm") -> Floats:
    """Return p-values corrected for being a family; those that are NaN are not of it.

    ``"holm"`` keeps the chance of any false finding below the level (Holm 1979); ``"bh"`` the
    expected share of false ones among the findings (Benjamini & Hochberg 1995).

    Examples
    --------
    >>> corrected([0.01, 0.04, 0.03]).tolist(), corrected([0.01, 0.04, 0.03], "bh").tolist()
    ([0.03, 0.06, 0.06], [0.03, 0.04, 0.04])
    """
    found = np.array(p, dtype=float)
    known = np.isfinite(found)
    if correction == "none" or not known.any():
        return found
    values = found[known]
    if correction == "bh":
        from scipy.stats import false_discovery_control

        found[known] = false_discovery_control(values)
        return found
    order = np.argsort(values)
    stepped = values[order] * np.arange(len(values), 0, -1)
    values[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    found[known] = values
    return found


class Alike(NamedTuple):
    """Kolmogorov and Smirnov's test of two samples of sizes n."""

    statistic: float
    p: float
    n: tuple[int, int]


def alike(first: Sequence[float], second: Sequence[float]) -> Alike:
    """Test whether two observers' distances from human come from one distribution.

    Over tests, as in Vila-Tomás et al. (2026). Tests are not paired here, so it finds less than
    the differences test by test. What is NaN does not count.

    Examples
    --------
    >>> found = alike([0.1, 0.2, 0.3, 0.4], [0.35, 0.5, 0.6, 0.7])
    >>> found.statistic, round(found.p, 3)
    (0.75, 0.229)
    """
    from scipy.stats import ks_2samp

    a, b = _known(first), _known(second)
    if not len(a) or not len(b):
        return Alike(np.nan, np.nan, (len(a), len(b)))
    found = ks_2samp(a, b, method="exact")
    return Alike(float(found.statistic), float(found.pvalue), (len(a), len(b)))


@dataclass(frozen=True)
class Regression:
    """How scores go with an outside figure: a straight line, and how well points lie on it.

    Parameters
    ----------
    x, y
        The points that entered.
    r, low, high
        Pearson's correlation with its 95 % interval: on Fisher's z, as wide as the test for no
        correlation is at 5 %, so that it leaves out 0 just where ``p`` is below that.
    slope, slope_low, slope_high
        Of y on x, with its 95 % interval (t).
    """

    x: Floats
    y: Floats
    r: float = np.nan
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan
    slope: float = np.nan
    slope_low: float = np.nan
    slope_high: float = np.nan
    note: str = ""

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.x)

    def line(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the line at places on x, and the 95 % band of the line.

        Examples
        --------
        >>> found = regress([1, 2, 3, 4, 5], [1.1, 1.9, 3.2, 3.8, 5.0])
        >>> [[round(float(v), 2) for v in part] for part in found.line(np.array([1.0, 3.0]))]
        [[1.06, 3.0], [0.63, 2.75], [1.49, 3.25]]
        """
        centre = self.x.mean()
        y = self.y.mean() + self.slope * (at - centre)
        if self.n < FEWEST:
            return y, np.full_like(y, np.nan), np.full_like(y, np.nan)
        left = self.y - self.y.mean() - self.slope * (self.x - centre)
        variance = np.square(left).sum() / (self.n - 2)
        of_x = np.square(self.x - centre).sum()
        error = np.sqrt(variance * (1 / self.n + np.square(at - centre) / of_x))
        half = student(self.n - 2) * error
        return y, y - half, y + half


def regress(x: Sequence[float], y: Sequence[float]) -> Regression:
    """Return the regression of y on x; points that lack one of them do not count.

    Examples
    --------
    >>> found = regress([1, 2, 3, 4, 5], [1.1, 1.9, 3.2, 3.8, 5.0])
    >>> [round(v, 3) for v in (found.r, found.low, found.high, found.slope)]
    [0.995, 0.928, 1.0, 0.97]
    """
    from scipy.special import stdtr

    a, b = np.array(x, dtype=float), np.array(y, dtype=float)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    n = len(a)
    if n < 2:
        return Regression(a, b, note="not computable: fewer than 2 observers")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        which = "the figure" if np.ptp(a) == 0 else "the score"
        return Regression(a, b, note=f"not computable: {which} is the same for all {n} observers")
    da, db = a - a.mean(), b - b.mean()
    slope = float(da @ db / (da @ da))
    r = float(np.clip(da @ db / np.sqrt((da @ da) * (db @ db)), -1, 1))
    if n < FEWEST:
        return Regression(a, b, r, slope=slope, note=f"{n} observers are too few for an interval")
    t = student(n - 2)
    # Fisher's own 1.96 / sqrt(n - 3) is nearly the same, but few points then have intervals
    # that hold 0 beside p-values that do not.
    z, half = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)), np.arcsinh(t / np.sqrt(n - 2))
    error = np.sqrt(max(1 - r * r, 0.0) / (n - 2)) * np.sqrt((db @ db) / (da @ da))
    wide = t * float(error)
    p = float(2 * stdtr(n - 2, -abs(slope) / error)) if error > 0 else 0.0
    low, high = float(np.tanh(z - half)), float(np.tanh(z + half))
    return Regression(a, b, r, low, high, p, slope, slope - wide, slope + wide)

"""Intervals: by resampling clusters, of rates, and of curves that were measured with error.

Whatever is resampled (abscissae, classes, pictures, prompts, draws) is resampled by
`cluster_counts`, whose samples follow from the number of clusters alone: scores of two observers
that were asked the same are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from fechner.arrays import Flags, Floats

Scale = Literal["correlation", "concordance", "error", "share"]

_SCALES: dict[Scale, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "correlation": (lambda r: np.arctanh(np.clip(r, -1 + 1e-9, 1 - 1e-9)), np.tanh),
    "concordance": (
        lambda d: np.arcsin(np.clip(d, -1, 1)),
        lambda a: np.sin(np.clip(a, -np.pi / 2, np.pi / 2)),
    ),
    "error": (lambda e: np.log(np.maximum(e, 1e-12)), np.exp),
    "share": (np.asarray, np.asarray),
}

#: Resamples for a standard error good to 2 %.
RESAMPLES = 1000

#: Intervals are part of the result, so the resampling itself is fixed.
_SEED = 20250614

#: Degrees of freedom that stand for infinitely many.
_MANY = 1e4


class Source(NamedTuple):
    """One thing that was resampled: the score on each bootstrap sample, and of how many clusters.

    Scores of two observers, [2, resamples], where their difference is asked for.
    """

    values: Floats
    clusters: int


@lru_cache
def cluster_counts(clusters: int, resamples: int = RESAMPLES) -> Floats:
    """Return how often each cluster occurs in each bootstrap sample, [resamples, clusters].

    Examples
    --------
    >>> cluster_counts(5, resamples=3).sum(axis=1).tolist()
    [5.0, 5.0, 5.0]
    """
    generator = np.random.default_rng(_SEED)
    counts = generator.multinomial(clusters, np.full(clusters, 1 / clusters), resamples)
    found = counts.astype(float)
    found.setflags(write=False)  # it is handed to all who ask
    return found


@lru_cache(maxsize=8)
def normal_errors(shape: tuple[int, ...]) -> Floats:
    """Return standard normal numbers for simulated errors."""
    found = np.random.default_rng(_SEED + 1).standard_normal(shape)
    found.setflags(write=False)
    return found


def student(freedom: float, share: float = 0.975) -> float:
    """Return a quantile of Student's t: how many standard errors an interval goes to one side."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom if np.isfinite(freedom) else _MANY, share))


def freedom_of(variances: Sequence[float] | Floats, freedom: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of variances (Satterthwaite 1946)."""
    each = float((np.square(variances) / freedom).sum())
    return float(np.sum(variances) ** 2 / each) if each > 0 else np.inf


def interval(
    value: float,
    resamples: Floats,
    clusters: int,
    scale: Scale,
    most: float = np.inf,
    further: Sequence[Source] = (),
    added: float = 0.0,
) -> tuple[float, float]:
    """Return a 95 % interval around a value from its bootstrap resamples over clusters.

    Percentiles of resamples are far too short for the 6 to 20 clusters there are (for 8 abscissae
    they hold the true alignment in 5 to 75 % of simulations). The interval is a t-interval with the
    bootstrap's standard error instead, on a scale on which errors are symmetric: Fisher's z for
    correlations, the arcsine for concordances, which may be 1 or -1, the logarithm for errors, none
    for shares, which may be 0. In the same simulations it holds it in 92 to 100 %.

    Parameters
    ----------
    most
        The largest value there can be, at which an interval ends.
    further
        What else was resampled, by itself: variances add up (Satterthwaite 1946).
    added
        Variance that the clusters do not show.

    Examples
    --------
    >>> some = np.array([0.4, 0.5, 0.6])
    >>> low, high = interval(0.5, some, clusters=20, scale="correlation")
    >>> round(low, 2), round(high, 2)
    (0.3, 0.66)
    """
    found = _covariances([(resamples[None], clusters), *further], scale)
    if np.isnan(value) or not found:
        return np.nan, np.nan
    there, back = _SCALES[scale]
    variances, freedom = [float(each) + added for each, _ in found], [f for _, f in found]
    half = student(freedom_of(variances, freedom)) * float(np.sqrt(np.sum(variances)))
    centre = there(np.array(value))
    low, high = float(back(centre - half)), min(float(back(centre + half)), most)
    return min(value, low), max(value, high)


def _covariances(sources: Sequence[tuple[Floats, int]], scale: Scale) -> list[tuple[Floats, int]]:
    """Return covariances of bootstrap samples [values, resamples] with their degrees of freedom.

    On the scale on which errors are symmetric; nothing where one of them is not known.
    """
    found = []
    for values, clusters in sources:
        each = np.atleast_2d(values)
        known = each[:, np.isfinite(each).all(axis=0)]
        if not known.shape[1] or clusters < 2:
            return []
        covariance = np.cov(_SCALES[scale][0](known), bias=True) * clusters / (clusters - 1)
        found.append((covariance, clusters - 1))
    return found


def change_interval(value: float, resamples: Floats, clusters: int) -> tuple[float, float]:
    """Return a 95 % interval of a change of accuracy from its bootstrap over pictures.

    Where no picture changed, resamples do not either; the variance of half a picture that was lost
    and half a picture that was won, as Agresti and Min (2005) add, is added to theirs.

    Examples
    --------
    >>> low, high = change_interval(0.0, np.zeros(1000), 48)
    >>> round(low, 3), round(high, 3)
    (-0.04, 0.04)
    """
    lost = 1 / (clusters + 2) ** 2
    low, high = interval(value, resamples, clusters, "share", most=1.0, added=lost)
    return max(low, -1.0), high


#: Directions in which an ellipse is followed; its extremes are good to a hundred-thousandth.
_DIRECTIONS = 720

#: Differences below this, on the scale of the errors, are rounding.
_ROUNDING = 1e-9


def difference_interval(
    values: tuple[float, float],
    resamples: Floats,
    clusters: int,
    scale: Scale,
    most: float = np.inf,
    further: Sequence[Source] = (),
) -> tuple[float, float, float]:
    """Return a 95 % interval of the difference of two values, and the p-value of no difference.

    The bootstrap's covariance of both, on the scale on which errors are symmetric, makes an ellipse
    around the pair, as far out as Student's t says; the interval spans the differences of all pairs
    in it. It holds 0 where a t-test of the difference on that scale finds none, whose p it is.

    In simulations of 8 and 20 abscissae it holds the true difference of two alignments in 94 to
    99.8 % of cases, and where there is none finds one in 0.3 to 6 %, whether observers err at the
    same abscissae or not. Simpler ones fail somewhere: a t-interval of the plain difference holds
    it in 84 % where one alignment is near 1, and joining the intervals of both (Zou 2007) hides
    differences of observers that err alike.

    Parameters
    ----------
    resamples
        Both values on the same bootstrap samples, [2, resamples].

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(0, 0.1, (2, 1000))
    >>> low, high, p = difference_interval((0.6, 0.2), draws + 0.4, 20, "correlation")
    >>> round(low, 2), round(high, 2), round(p, 3)
    (0.11, 0.7, 0.01)
    """
    from scipy.special import stdtr

    found = _covariances([(resamples, clusters), *further], scale)
    if np.isnan(values).any() or not found:
        return np.nan, np.nan, np.nan
    there, back = _SCALES[scale]
    covariances, freedom = [each for each, _ in found], [f for _, f in found]
    centre = there(np.array(values))
    of_difference = [max(float(c[0, 0] + c[1, 1] - 2 * c[0, 1]), 0.0) for c in covariances]
    degrees = freedom_of(of_difference, freedom)
    variances, axes = np.linalg.eigh(np.sum(covariances, axis=0))
    angle = np.linspace(0, 2 * np.pi, _DIRECTIONS, endpoint=False)
    circle = student(degrees) * np.stack([np.cos(angle), np.sin(angle)])
    pairs = centre[:, None] + (axes * np.sqrt(np.maximum(variances, 0))) @ circle
    first, second = np.minimum(back(pairs), most)
    value, differences = values[0] - values[1], first - second
    apart, error = abs(centre[0] - centre[1]), np.sqrt(sum(of_difference))
    p = 1.0 if apart < _ROUNDING else 0.0
    if not p and error > 0:
        p = float(2 * stdtr(degrees, -apart / error))
    return min(value, float(differences.min())), max(value, float(differences.max())), p


def spread(values: Floats) -> tuple[float, float]:
    """Return the 2.5 and 97.5 % points of simulated values."""
    if not np.isfinite(values).all():
        return np.nan, np.nan
    low, high = np.percentile(values, (2.5, 97.5))
    return float(low), float(high)


def wilson(k: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's (1927) 95 % interval of a rate; NaN of nothing.

    ``k`` may be fractional, as the sum of graded answers is; SciPy's takes whole numbers only.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(1, 10)]
    [0.0179, 0.4042]
    """
    if not n:
        return np.nan, np.nan
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(k * (n - k) / n + z * z / 4)
    return float(centre - half), float(centre + half)


# How far a curve that was measured with error lies from people's curve.
#
# Error makes every correlation smaller and every distance larger: a curve that is exactly people's
# has a measured correlation below 1. Values and intervals are those of the curve itself. What error
# adds to a sum of squares is taken off, and the interval holds the sums that would give the
# measured one in 2.5 to 97.5 % of cases, by the noncentral F distribution (Satterthwaite's degrees
# of freedom). Intervals of several parts are joined by variance estimates (Zou & Donner 2008).

_LN10 = float(np.log(10))

#: A vector as long as this many standard errors of its length is far from 0.
_FAR = 10.0


class Estimate(NamedTuple):
    """A value corrected for error, its 95 % interval, and the value as measured."""

    value: float
    low: float
    high: float
    measured: float


class MeasuredCurve(NamedTuple):
    """A curve [points] with what is known of its errors, all in log10.

    The covariance is of errors but for a factor common to all points, NaN if unknown, and known
    with some degrees of freedom, which may be infinite. The common factor has a variance in
    addition.
    """

    log10: Floats
    covariance: Floats
    freedom: float
    offset_variance: float
    offset_freedom: float

    def at(self, points: Flags) -> MeasuredCurve:
        """Return some of the points."""
        return self._replace(
            log10=self.log10[points], covariance=self.covariance[np.ix_(points, points)]
        )

    @property
    def gain_variance(self) -> float:
        """Variance of the mean over points."""
        return float(self.covariance.mean()) + self.offset_variance


def correlation_with(curve: MeasuredCurve, human: Floats, *, linear: bool) -> Estimate:
    """Return Pearson's correlation with people's curve, over log10 values or over values.

    Examples
    --------
    >>> human = np.array([10.0, 40.0, 100.0, 60.0, 10.0])
    >>> error = np.array([0.05, -0.05, 0.04, -0.03, -0.02])
    >>> curve = MeasuredCurve(np.log10(human) + error, np.eye(5) * 0.002, np.inf, 0.0, np.inf)
    >>> [round(number, 3) for number in correlation_with(curve, human, linear=False)]
    [0.999, 0.985, 1.0, 0.995]
    """
    x, covariance = _on_scale(curve, linear)
    h = human if linear else np.log10(human)
    h = h - h.mean()
    x = x - x.mean()
    length = float(np.sqrt(h @ h))
    along = float(x @ h) / length
    aside = x - h * along / length
    measured = along / float(np.sqrt(x @ x))
    if not np.isfinite(covariance).all():
        return Estimate(measured, np.nan, np.nan, measured)
    project = np.eye(len(x)) - 1 / len(x) - np.outer(h, h) / length**2
    squares = _sum_of_squares(aside, (project @ covariance @ project, curve.freedom))
    half = _t(curve.freedom) * float(np.sqrt(max(h @ covariance @ h, 0.0))) / length
    angle = np.arctan2(np.sqrt(squares[0]), along)
    # The interval of the angle to people's curve: by what lies aside, and by what lies along.
    by_aside = np.arctan2(np.sqrt(squares[1:]), along)
    by_along = np.arctan2(np.sqrt(squares[0]), np.array([along - half, along + half]))
    turns = np.stack([by_aside, by_along]) - angle
    low = angle - np.hypot(*np.minimum(turns.min(axis=1), 0.0))
    high = angle + np.hypot(*np.maximum(turns.max(axis=1), 0.0))
    low, high = max(low, 0.0), min(high, np.pi)
    return Estimate(float(np.cos(angle)), float(np.cos(high)), float(np.cos(low)), measured)


def gain(curve: MeasuredCurve, human: Floats) -> Estimate:
    """Return the mean difference from people's curve in log10, with its sign.

    Examples
    --------
    >>> human = np.array([10.0, 100.0, 10.0])
    >>> curve = MeasuredCurve(np.log10(human / 4), np.eye(3) * 0.003, np.inf, 0.0, np.inf)
    >>> [round(number, 2) for number in gain(curve, human)]
    [-0.6, -0.66, -0.54, -0.6]
    """
    value = float((curve.log10 - np.log10(human)).mean())
    half = _t(curve.offset_freedom) * float(np.sqrt(curve.gain_variance))
    return Estimate(value, value - half, value + half, value)


def rms_from(curve: MeasuredCurve, human: Floats) -> Estimate:
    """Return the root mean squared difference from people's curve in log10.

    Examples
    --------
    >>> human = np.array([10.0, 40.0, 100.0, 60.0, 10.0])
    >>> error = np.array([0.05, -0.05, 0.04, -0.03, -0.02])
    >>> curve = MeasuredCurve(np.log10(human) + error, np.eye(5) * 0.002, np.inf, 0.0, np.inf)
    >>> [round(number, 3) for number in rms_from(curve, human)]
    [0.0, 0.0, 0.069, 0.04]
    """
    d = curve.log10 - np.log10(human)
    n = len(d)
    measured = float(np.sqrt((d**2).mean()))
    if not np.isfinite(curve.covariance).all():
        return Estimate(measured, np.nan, np.nan, measured)
    centre = np.eye(n) - 1 / n
    shape = _sum_of_squares(centre @ d, (centre @ curve.covariance @ centre, curve.freedom)) / n
    error, mean = float(np.sqrt(curve.gain_variance)), abs(float(d.mean()))
    # Both parts of 0 have a lower end of 0 in 97.5 % of cases, and their sum in 95 %.
    least = max(mean - _t(curve.offset_freedom, 0.9875) * error, 0.0)
    most = mean + _t(curve.offset_freedom) * error
    size = np.array([max(mean**2 - error**2, 0.0), least**2, most**2])
    value = shape[0] + size[0]
    nothing = shape[1] + size[1] == 0
    low = 0.0 if nothing else value - np.hypot(shape[0] - shape[1], size[0] - size[1])
    high = value + np.hypot(shape[2] - shape[0], size[2] - size[0])
    return Estimate(
        float(np.sqrt(value)), float(np.sqrt(max(low, 0.0))), float(np.sqrt(high)), measured
    )


def linear_rms_from(curve: MeasuredCurve, human: Floats) -> Estimate:
    """Return the root mean squared difference from people's curve, not in logarithms."""
    x, covariance = _on_scale(curve, linear=True)
    d, n = x - human, len(x)
    measured = float(np.sqrt((d**2).mean()))
    common = np.outer(_LN10 * x, _LN10 * x) * curve.offset_variance
    if not np.isfinite(covariance + common).all():
        return Estimate(measured, np.nan, np.nan, measured)
    parts = (covariance, curve.freedom), (common, curve.offset_freedom)
    value, low, high = np.sqrt(_sum_of_squares(d, *parts) / n)
    return Estimate(float(value), float(low), float(high), measured)


def _on_scale(curve: MeasuredCurve, linear: bool) -> tuple[Floats, Floats]:
    """Return values and the covariance of their errors but for a common factor."""
    if not linear:
        return curve.log10, curve.covariance
    x = 10**curve.log10
    return x, curve.covariance * np.outer(_LN10 * x, _LN10 * x)


def _sum_of_squares(vector: Floats, *errors: tuple[Floats, float]) -> Floats:
    """Return the sum of squares of a vector without its errors, and the ends of its 95 % interval.

    Errors are covariances of independent ones, each with the degrees of freedom it is known with.
    """
    from scipy import optimize, special

    covariance = np.sum([each for each, _ in errors], axis=0)
    measured, added = float(vector @ vector), float(np.trace(covariance))
    if added <= 1e-12 * measured or added == 0:
        return np.full(3, measured)
    value = max(measured - added, 0.0)
    # Far from 0 only errors along the vector change its length.
    along = np.array([float(vector @ each @ vector) / measured for each, _ in errors])
    half = float(np.sqrt(sum(a * _t(f) ** 2 for a, (_, f) in zip(along, errors, strict=True))))
    length = float(np.sqrt(value))
    if length > _FAR * np.sqrt(max(along.sum(), added / len(vector))):
        return np.array([value, (length - half) ** 2, (length + half) ** 2])
    traces = np.array([float(np.trace(each)) for each, _ in errors])
    freedom = freedom_of(traces, [each for _, each in errors])
    squared = float((covariance * covariance.T).sum())
    numerator, ratio = added**2 / squared, measured / added

    def below(noncentral: float) -> float:
        """Return the share of cases in which the ratio is smaller than this one."""
        if freedom > _MANY:
            return float(special.chndtr(ratio * numerator, numerator, noncentral))
        return float(special.ncfdtr(numerator, freedom, noncentral, ratio))

    def noncentrality(share: float) -> float:
        if below(0.0) <= share:
            return 0.0
        most = ratio * numerator + 10
        while below(most) > share:
            most *= 2
        return float(optimize.brentq(lambda each: below(each) - share, 0.0, most))

    low, high = (noncentrality(share) * squared / added for share in (0.975, 0.025))
    if freedom <= _MANY:
        high = max(high, (length + half) ** 2)  # the covariance may be larger than it seems
    return np.array([value, min(low, value), max(high, value)])


def _t(freedom: float, share: float = 0.975) -> float:
    return student(min(freedom, _MANY), share)

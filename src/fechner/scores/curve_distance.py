"""How far a curve that was measured with error lies from people's curve.

Error makes every correlation smaller and every distance larger: a curve that is exactly people's
has a measured correlation below 1. Values and intervals here are those of the curve itself. What
error adds to a sum of squares is taken off, and the interval holds the sums that would give the
measured one in 2.5 to 97.5 % of cases, by the noncentral F distribution (Satterthwaite's degrees of
freedom). Intervals of several parts are joined by their variance estimates (Zou & Donner 2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.scores.statistics import freedom_of, student

if TYPE_CHECKING:
    from fechner.scores.panels import Flags, Floats

_LN10 = float(np.log(10))

#: Degrees of freedom that stand for infinitely many.
_MANY = 1e4

#: A vector as long as this many standard errors of its length is far from 0.
_FAR = 10.0


class Estimate(NamedTuple):
    """A value corrected for error, its 95 % interval, and the value as measured."""

    value: float
    low: float
    high: float
    measured: float


class MeasuredCurve(NamedTuple):
    """A curve with what is known of its errors, all in log10.

    Parameters
    ----------
    log10
        [points].
    covariance
        Of errors but for a factor common to all points, [points, points]; NaN if unknown.
    freedom
        Degrees of freedom with which the covariance is known; may be infinite.
    offset_variance, offset_freedom
        Of the common factor, in addition.
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

    Parameters
    ----------
    human
        People's curve, not as a logarithm.

    Examples
    --------
    >>> human = np.array([10.0, 40.0, 100.0, 60.0, 10.0])
    >>> error = np.array([0.05, -0.05, 0.04, -0.03, -0.02])
    >>> curve = MeasuredCurve(np.log10(human) + error, np.eye(5) * 0.002, np.inf, 0.0, np.inf)
    >>> found = correlation_with(curve, human, linear=False)
    >>> [round(number, 3) for number in found]
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
    half = _student(curve.freedom) * float(np.sqrt(max(h @ covariance @ h, 0.0))) / length
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
    half = _student(curve.offset_freedom) * float(np.sqrt(curve.gain_variance))
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
    least = max(mean - _student(curve.offset_freedom, 0.9875) * error, 0.0)
    most = mean + _student(curve.offset_freedom) * error
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

    Parameters
    ----------
    vector
        As it was measured.
    errors
        Covariances of independent errors, each with the degrees of freedom it is known with.
    """
    covariance = np.sum([each for each, _ in errors], axis=0)
    measured, added = float(vector @ vector), float(np.trace(covariance))
    if added <= 1e-12 * measured or added == 0:
        return np.full(3, measured)
    value = max(measured - added, 0.0)
    # Far from 0 only errors along the vector change its length.
    along = np.array([float(vector @ each @ vector) / measured for each, _ in errors])
    half = float(
        np.sqrt(sum(a * _student(f) ** 2 for a, (_, f) in zip(along, errors, strict=True)))
    )
    length = float(np.sqrt(value))
    if length > _FAR * np.sqrt(max(along.sum(), added / len(vector))):
        return np.array([value, (length - half) ** 2, (length + half) ** 2])
    traces = np.array([float(np.trace(each)) for each, _ in errors])
    freedom = freedom_of(traces, [each for _, each in errors])
    from scipy import optimize, special

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


def _student(freedom: float, share: float = 0.975) -> float:
    return student(min(freedom, _MANY), share)

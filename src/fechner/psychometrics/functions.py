"""Psychometric functions, how often an observer says yes or is right, and their prior.

P(c) = g + (1 - g - l) F(c), with guess rate g and lapse rate l (Wichmann & Hill 2001, Eq. 1). F
rises from 0 to 1 and is 0.5 at the threshold, so that a threshold means the same for yes/no and
forced choice, and for observers with any bias. The families are those of psignifit 4 (Schütt et al.
2016).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from fechner.arrays import Floats
from fechner.errors import FechnerError

Shape = Literal["weibull", "logistic", "normal", "gumbel_l", "gumbel_r", "tdist"]
Scale = Literal["log", "linear"]

SHAPES: tuple[Shape, ...] = get_args(Shape)
SCALES: tuple[Scale, ...] = get_args(Scale)

#: dF/dz at the threshold, z = 0.
STEEPNESS: dict[Shape, float] = {
    "weibull": np.log(2) / 2,
    "logistic": 1 / 4,
    "normal": 1 / np.sqrt(2 * np.pi),
    "gumbel_l": np.log(2) / 2,
    "gumbel_r": np.log(2) / 2,
    "tdist": 1 / np.pi,
}

#: Standard deviations of log slope at which its density is cut.
_CUT_SD = 3.5

#: The median exponent of a Weibull function of contrast.
_WEIBULL_SLOPE = 3.0

#: On a linear scale: tested range over the length in which F would rise from 0 to 1.
_RISES_IN_RANGE = 5.0


class Parameters(NamedTuple):
    """One value, or one array, for each parameter of a psychometric function."""

    threshold: Floats
    slope: Floats
    guess: Floats
    lapse: Floats


def check_shape(shape: str, scale: str) -> None:
    """Raise an error if the shape or the scale is unknown."""
    for word, value, known in (("shape", shape, SHAPES), ("scale", scale, SCALES)):
        if value not in known:
            raise FechnerError(f"unknown {word} '{value}': use one of {', '.join(known)}.")


def checked_answers(
    levels: ArrayLike, n: ArrayLike, k: ArrayLike, scale: Scale
) -> tuple[Floats, Floats, Floats]:
    """Return levels, trials and yes answers in one shape; raise an error if they are not valid."""
    arrays = [np.asarray(each, dtype=float) for each in (levels, n, k)]
    try:
        levels, n, k = (np.array(each) for each in np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in arrays)
        raise FechnerError(f"levels, n and k cannot be broadcast together: {shapes}.") from None
    if n.ndim == 0 or n.size == 0:
        raise FechnerError("a psychometric function needs at least one level.")
    if not ((n >= 0) & (k >= 0) & (k <= n) & np.isfinite(n)).all():
        raise FechnerError("every k must lie between 0 and its n: count yes answers of n trials.")
    asked = levels[n > 0]
    if not np.isfinite(asked).all() or (scale == "log" and (asked < 0).any()):
        raise FechnerError(
            "levels must be finite, and 0 or more on the log scale; use scale='linear' for others."
        )
    return levels, n, k


def check_rates(guess: float | None, lapse: float | None) -> None:
    """Raise an error unless both rates are at least 0 and their sum is below 1."""
    rates = [0.0 if rate is None else rate for rate in (guess, lapse)]
    if not (min(rates) >= 0 and sum(rates) < 1):
        raise FechnerError(
            f"guess and lapse rates must be 0 or more and sum to less than 1, not {guess}, {lapse}."
        )


def check_coverage(coverage: float) -> None:
    """Raise an error unless a coverage lies between 0 and 1."""
    if not 0 < coverage < 1:
        raise FechnerError(f"coverage must lie between 0 and 1, such as 0.95, not {coverage}.")


def unit_of_z(shape: Shape, scale: Scale) -> float:
    """Return the length on the axis (log10 c, or c) over which z rises by the slope.

    The exponent of a Weibull function belongs to the natural logarithm of the level; slopes of the
    others are per decade. On a linear scale all are per unit of the level.
    """
    return 1 / np.log(10) if (shape, scale) == ("weibull", "log") else 1.0


def to_axis(levels: ArrayLike, scale: Scale) -> Floats:
    """Return levels as positions on the axis: log10, with -inf for level 0, or as they are."""
    levels = np.asarray(levels, dtype=float)
    if scale == "linear":
        return levels
    with np.errstate(divide="ignore"):
        return np.asarray(np.log10(levels))


def from_axis(positions: Floats, scale: Scale) -> Floats:
    """Return positions on the axis as levels."""
    return positions if scale == "linear" else np.asarray(10.0**positions)


def tested_range(values: Floats, asked: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the lowest and highest of the values that were asked about, along the last axis."""
    low = np.min(values, axis=-1, initial=np.inf, where=asked)
    return low, np.max(values, axis=-1, initial=-np.inf, where=asked)


def _doublings(z: Floats) -> Floats:
    """Return (c/m)^b log 2 of the Weibull function 1 - 2^-(c/m)^b, whose F is 0.5 at m."""
    return np.asarray(np.log(2) * np.exp(np.minimum(z, 700.0)))


def share(z: ArrayLike, shape: Shape) -> Floats:
    """Return F(z): 0.5 at z = 0.

    Examples
    --------
    >>> [float(share(1.0, shape).round(4)) for shape in ("weibull", "logistic", "normal")]
    [0.848, 0.7311, 0.8413]
    >>> [float(share(1.0, shape).round(4)) for shape in ("gumbel_l", "gumbel_r", "tdist")]
    [0.848, 0.7749, 0.75]
    """
    z = np.asarray(z, dtype=float)
    match shape:
        case "weibull" | "gumbel_l":
            return np.asarray(-np.expm1(-_doublings(z)))
        case "gumbel_r":
            return np.asarray(np.exp(-_doublings(-z)))
        case "logistic":
            return np.asarray(special.expit(z))
        case "normal":
            return np.asarray(special.ndtr(z))
        case "tdist":
            # Student's t with one degree of freedom; F keeps its digits near 0.
            return np.asarray(np.arctan2(1.0, -z) / np.pi)


def share_density(z: Floats, shape: Shape) -> Floats:
    """Return dF/dz."""
    match shape:
        case "weibull" | "gumbel_l" | "gumbel_r":
            power = _doublings(-z if shape == "gumbel_r" else z)
            return np.asarray(power * np.exp(-power))
        case "logistic":
            return np.asarray(special.expit(z) * special.expit(-z))
        case "normal":
            return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))
        case "tdist":
            return np.asarray(1 / (np.pi * (1 + z**2)))


def inverse_share(f: ArrayLike, shape: Shape) -> Floats:
    """Return z at which F(z) is f: minus infinity for 0, infinity for 1.

    Examples
    --------
    >>> [float(inverse_share(0.75, shape).round(4)) for shape in ("weibull", "logistic", "normal")]
    [0.6931, 1.0986, 0.6745]
    """
    f = np.asarray(f, dtype=float)
    with np.errstate(divide="ignore"):
        match shape:
            case "weibull" | "gumbel_l":
                return np.asarray(np.log(-np.log1p(-f) / np.log(2)))
            case "gumbel_r":
                return np.asarray(-np.log(-np.log(f) / np.log(2)))
            case "logistic":
                return np.asarray(special.logit(f))
            case "normal":
                return np.asarray(special.ndtri(f))
            case "tdist":
                z = np.tan(np.pi * (np.clip(f, 1e-300, 1.0) - 0.5))
                return np.where(f <= 0, -np.inf, np.where(f >= 1, np.inf, z))


def logit_share(z: ArrayLike, shape: Shape) -> Floats:
    """Return logit F(z), exact where F is within rounding of 0 or 1."""
    z = np.asarray(z, dtype=float)
    match shape:
        case "weibull" | "gumbel_l":
            power = _doublings(z)
            return np.asarray(power + np.log(-np.expm1(-power)))
        case "gumbel_r":
            return -logit_share(-z, "gumbel_l")
        case "logistic":
            return z
        case "normal":
            return np.asarray(special.log_ndtr(z) - special.log_ndtr(-z))
        case "tdist":
            return np.asarray(np.log(np.arctan2(1.0, -z) / np.arctan2(1.0, z)))


def log_rising(k: ArrayLike, p: ArrayLike, eta: ArrayLike) -> Floats:
    """Return the sum of log(p + j / nu) over j from 0 to k - 1, with nu = 1 / eta^2 - 1.

    The log likelihood of k yes answers among n of a beta-binomial block, in which chance varies
    between blocks as Beta(P nu, (1 - P) nu) (Schütt et al. 2016, Section 2.2), is
    ``log_rising(k, P) + log_rising(n - k, 1 - P) - log_rising(n, 1)`` up to the binomial
    coefficient. The variance of k is n P (1 - P) (1 + (n - 1) eta^2). ``k`` need not be whole.

    Examples
    --------
    >>> from scipy import stats
    >>> log = log_rising(3, 0.6, 0.3) + log_rising(2, 0.4, 0.3) - log_rising(5, 1.0, 0.3)
    >>> nu = 1 / 0.3**2 - 1
    >>> float(np.exp(log) * 10 - stats.betabinom.pmf(3, 5, 0.6 * nu, 0.4 * nu).round(12)) < 1e-9
    True
    """
    k, p = np.asarray(k, dtype=float), np.asarray(p, dtype=float)
    nu = np.asarray(eta, dtype=float) ** -2.0 - 1
    found = special.gammaln(p * nu + k) - special.gammaln(p * nu) - k * np.log(nu)
    return np.asarray(found)


def psychometric(
    levels: ArrayLike,
    threshold: ArrayLike,
    slope: ArrayLike,
    guess: ArrayLike = 0.0,
    lapse: ArrayLike = 0.0,
    *,
    shape: Shape = "weibull",
    scale: Scale = "log",
    falling: bool = False,
) -> Floats:
    """Return the probability of a yes, or of a correct answer.

    All arguments broadcast. On the log scale level 0 has F = 0. The slope is the exponent of a
    Weibull function; of other functions over log10 levels it is per decade, and on a linear scale
    per unit of the level (for ``normal`` one over its standard deviation). ``gumbel_l`` is the
    Weibull function with a slope per decade, ``gumbel_r`` its mirror image, and ``tdist`` Student's
    t with one degree of freedom. A ``falling`` function has 1 - F instead of F (psignifit's
    ``neg_`` sigmoids); the guess rate is still its lower asymptote.

    Examples
    --------
    >>> psychometric([0, 0.05, 0.1, 0.2], 0.1, 2.0, guess=0.1, lapse=0.02).round(3)
    array([0.1  , 0.24 , 0.54 , 0.925])
    >>> psychometric([-10, 0, 10], 0.0, 0.2, shape="normal", scale="linear").round(3)
    array([0.023, 0.5  , 0.977])
    """
    check_shape(shape, scale)
    guess, lapse = np.asarray(guess), np.asarray(lapse)
    distance = to_axis(levels, scale) - to_axis(threshold, scale)
    z = np.asarray(slope) * distance / unit_of_z(shape, scale)
    rise = 1 - share(z, shape) if falling else share(z, shape)
    return np.asarray(guess + (1 - guess - lapse) * rise)


@dataclass(frozen=True)
class Prior:
    """Independent prior densities of threshold, slope, guess and lapse rate.

    Parameters
    ----------
    threshold
        Ends between which the threshold is uniform (in its logarithm on the log scale). None: the
        tested range, from the lowest level above 0 to the highest, wider by ``widen``.
    widen
        How far outside the tested range a threshold may lie, at either end: in decades on the log
        scale, in lengths of the range on a linear one.
    slope, slope_factor
        Median of the slope, whose logarithm is normal (cut at 3.5 standard deviations), and one
        standard deviation as a factor. None: 3 for a Weibull function on the log scale, and for
        other shapes the slope that is as steep at threshold; on a linear scale the slope with which
        F, going on as straight as at threshold, would rise from 0 to 1 in a fifth of the tested
        range.
    guess, lapse
        The two numbers of a Beta density, each at least 1. Rates that add up to 1 or more are left
        out. Where both asymptotes are equally far from 0 and 1, the density of the lapse rate is
        that of both.
    overdispersion
        The same for eta, where a fit estimates it. psignifit 4 has Beta(1, 10) (Schütt et al.
        2016), with which intervals of few blocks are too short if eta is 0.3.

    Examples
    --------
    >>> Prior().ends([0.0, 0.01, 0.5], "weibull", "log")[0].round(3)
    array([-2.5  ,  0.199])
    """

    threshold: tuple[float, float] | None = None
    widen: float = 0.5
    slope: float | None = None
    slope_factor: float = 2.0
    guess: tuple[float, float] = (1.0, 1.0)
    lapse: tuple[float, float] = (1.0, 10.0)
    overdispersion: tuple[float, float] = (1.0, 3.0)

    def __post_init__(self) -> None:
        low, high = self.threshold or (0.0, 1.0)
        if not (low < high and self.widen >= 0 and self.slope_factor > 1):
            raise FechnerError(
                f"a prior needs threshold=(low, high) with low < high, widen of 0 or more and "
                f"slope_factor above 1, not {self}."
            )
        if self.slope is not None and not self.slope > 0:
            raise FechnerError(f"the median slope must be above 0, not {self.slope}.")
        for name in ("guess", "lapse", "overdispersion"):
            pair = getattr(self, name)
            if len(pair) != 2 or not all(each >= 1 for each in pair):
                raise FechnerError(
                    f"the Beta density of {name} needs two numbers of at least 1, not {pair}."
                )

    def ends(self, levels: ArrayLike, shape: Shape, scale: Scale) -> Floats:
        """Return the lowest and highest value of each parameter, [4, 2], on the axes of the grid.

        The axes are the threshold as log10 (or as it is on a linear scale), the natural logarithm
        of the slope, the guess rate and the lapse rate.
        """
        if self.threshold is not None:
            threshold = tuple(to_axis(self.threshold, scale))
        else:
            low, high = _range_of(levels, scale)
            margin = self.widen * (1.0 if scale == "log" else high - low)
            threshold = (low - margin, high + margin)
        if not np.isfinite(threshold).all() or not threshold[0] < threshold[1]:
            raise FechnerError(
                f"the prior of the threshold is empty, {from_axis(np.array(threshold), scale)}: "
                "test more than one level, or give Prior(threshold=(low, high))."
            )
        middle, sd = self._log_slope(levels, shape, scale)
        slope = (middle - _CUT_SD * sd, middle + _CUT_SD * sd)
        return np.array([threshold, slope, (0.0, 1.0), (0.0, 1.0)])

    def for_levels(self, levels: ArrayLike, shape: Shape, scale: Scale) -> Prior:
        """Return the same prior with ends of the threshold and a median slope for these levels."""
        low, high = from_axis(self.ends(levels, shape, scale)[0], scale)
        slope = float(np.exp(self._log_slope(levels, shape, scale)[0]))
        return replace(self, threshold=(float(low), float(high)), slope=slope)

    def log_density(
        self, axis: int, values: Floats, levels: ArrayLike, shape: Shape, scale: Scale
    ) -> Floats:
        """Return the log density, up to a constant, along one axis of the grid, inside the ends."""
        if axis == 0:
            return np.zeros_like(values)
        if axis == 1:
            middle, sd = self._log_slope(levels, shape, scale)
            return np.asarray(-0.5 * ((values - middle) / sd) ** 2)
        a, b = (self.guess, self.lapse, self.overdispersion)[axis - 2]
        return np.asarray(special.xlogy(a - 1, values) + special.xlog1py(b - 1, -values))

    def draw(
        self,
        levels: ArrayLike,
        size: int,
        generator: np.random.Generator,
        *,
        shape: Shape = "weibull",
        scale: Scale = "log",
        guess: float | None = None,
        lapse: float | None = None,
    ) -> Parameters:
        """Draw observers from the prior, [size] of each parameter."""
        check_shape(shape, scale)
        ends = self.ends(levels, shape, scale)
        middle, sd = self._log_slope(levels, shape, scale)
        draws = np.empty((3, 0))
        while draws.shape[1] < size:
            z = generator.standard_normal(size)
            g = generator.beta(*self.guess, size) if guess is None else np.full(size, guess)
            miss = generator.beta(*self.lapse, size) if lapse is None else np.full(size, lapse)
            possible = (np.abs(z) < _CUT_SD) & (g + miss < 1)
            draws = np.concatenate([draws, np.stack([z, g, miss])[:, possible]], axis=1)
        z, g, miss = draws[:, :size]
        threshold = from_axis(generator.uniform(ends[0, 0], ends[0, 1], size), scale)
        return Parameters(threshold, np.exp(middle + sd * z), g, miss)

    def _log_slope(self, levels: ArrayLike, shape: Shape, scale: Scale) -> tuple[float, float]:
        """Return mean and standard deviation of the log slope."""
        sd = float(np.log(self.slope_factor))
        if self.slope is not None:
            return float(np.log(self.slope)), sd
        if scale == "log":
            # As steep per decade at threshold as the Weibull function.
            rise = _WEIBULL_SLOPE * STEEPNESS["weibull"] / unit_of_z("weibull", "log")
        else:
            low, high = _range_of(levels, scale)
            rise = _RISES_IN_RANGE / (high - low) if high > low else np.nan
        median = rise / STEEPNESS[shape] * unit_of_z(shape, scale)
        if not np.isfinite(median):
            raise FechnerError("a slope needs two levels, or Prior(slope=..., threshold=...).")
        return float(np.log(median)), sd


def _range_of(levels: ArrayLike, scale: Scale) -> tuple[float, float]:
    """Return the lowest and highest position on the axis; level 0 has none on the log scale."""
    positions = to_axis(levels, scale)
    low, high = tested_range(positions.ravel(), np.isfinite(positions).ravel())
    if not low <= high:
        raise FechnerError("no level above 0 was tested: a threshold needs at least one.")
    return float(low), float(high)

"""Psychometric functions: how often an observer says yes, or is right, at each level.

P(c) = g + (1 - g - l) F(c), with guess rate g and lapse rate l (Wichmann & Hill 2001, Eq. 1). F
rises from 0 to 1 and is 0.5 at the threshold, so that a threshold means the same for yes/no and
forced choice, and for observers with any bias. The families are those of psignifit 4 (Schütt et al.
2016).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from fechner.errors import FechnerError

Floats = NDArray[np.float64]

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


class Parameters(NamedTuple):
    """One value, or one array, for each parameter of a psychometric function."""

    threshold: Floats
    slope: Floats
    guess: Floats
    lapse: Floats


def check_shape(shape: str, scale: str) -> None:
    """Raise an error unless there is such a shape and such a scale."""
    for word, value, known in (("shape", shape, SHAPES), ("scale", scale, SCALES)):
        if value not in known:
            raise FechnerError(f"there is no {word} '{value}': use one of {', '.join(known)}.")


def checked_answers(
    levels: ArrayLike, n: ArrayLike, k: ArrayLike, scale: Scale
) -> tuple[Floats, Floats, Floats]:
    """Return levels, trials and yes answers in one shape, or say what is wrong with them."""
    arrays = [np.asarray(each, dtype=float) for each in (levels, n, k)]
    try:
        levels, n, k = (np.array(each) for each in np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in arrays)
        raise FechnerError(f"levels, n and k do not fit together: {shapes}.") from None
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
    """Raise an error unless both rates can be: at least 0 and together below 1."""
    rates = [0.0 if rate is None else rate for rate in (guess, lapse)]
    if not (min(rates) >= 0 and sum(rates) < 1):
        raise FechnerError(
            f"guess and lapse rates are at least 0 and add up to less than 1, not {guess}, {lapse}."
        )


def check_coverage(coverage: float) -> None:
    """Raise an error unless an interval can have this probability."""
    if not 0 < coverage < 1:
        raise FechnerError(f"coverage lies between 0 and 1, not {coverage}: 0.95 is usual.")


def unit_of_z(shape: Shape, scale: Scale) -> float:
    """Return the length on the stored axis (log10 c, or c) over which z rises by the slope.

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
            # T50 form: F = 1 - 2^-(c/m)^b.
            return np.asarray(-np.expm1(-np.log(2) * np.exp(np.minimum(z, 700.0))))
        case "gumbel_r":
            return np.asarray(np.exp(-np.log(2) * np.exp(np.minimum(-z, 700.0))))
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
            power = np.log(2) * np.exp(np.minimum(-z if shape == "gumbel_r" else z, 700.0))
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
            power = np.log(2) * np.exp(np.minimum(z, 700.0))
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
    it is per unit of the level (for ``normal`` one over its standard deviation). ``gumbel_l`` is
    the Weibull function with a slope per decade; ``gumbel_r`` is its mirror image, and ``tdist`` is
    Student's t with one degree of freedom. A ``falling`` function has 1 - F instead of F
    (psignifit's ``neg_`` sigmoids); the guess rate is still its lower asymptote.

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

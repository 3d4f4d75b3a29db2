"""Psychometric functions: how often an observer says yes, or is right, at each level.

P(c) = g + (1 - g - l) F(c), with guess rate g and lapse rate l. F rises from 0 to 1 and is 0.5 at
the threshold, so that a threshold means the same for yes/no and forced choice, and for observers
with any bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from scipy import special

from fechner.errors import FechnerError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Shape = Literal["weibull", "logistic", "normal"]
Scale = Literal["log", "linear"]

SHAPES: tuple[Shape, ...] = get_args(Shape)
SCALES: tuple[Scale, ...] = get_args(Scale)

#: dF/dz at the threshold, z = 0.
STEEPNESS: dict[Shape, float] = {
    "weibull": np.log(2) / 2,
    "logistic": 1 / 4,
    "normal": 1 / np.sqrt(2 * np.pi),
}


class Parameters(NamedTuple):
    """One value, or one array, for each parameter of a psychometric function."""

    threshold: NDArray[np.float64]
    slope: NDArray[np.float64]
    guess: NDArray[np.float64]
    lapse: NDArray[np.float64]


def check_shape(shape: str, scale: str) -> None:
    """Raise an error unless there is such a shape and such a scale."""
    for word, value, known in (("shape", shape, SHAPES), ("scale", scale, SCALES)):
        if value not in known:
            raise FechnerError(f"there is no {word} '{value}': use one of {', '.join(known)}.")


def unit_of_z(shape: Shape, scale: Scale) -> float:
    """Return the length on the stored axis (log10 c, or c) over which z rises by the slope.

    The exponent of a Weibull function belongs to the natural logarithm of the level; slopes of the
    other two are per decade. On a linear scale all are per unit of the level.
    """
    return 1 / np.log(10) if (shape, scale) == ("weibull", "log") else 1.0


def to_axis(levels: ArrayLike, scale: Scale) -> NDArray[np.float64]:
    """Return levels as positions on the axis: log10, with -inf for level 0, or as they are."""
    levels = np.asarray(levels, dtype=float)
    if scale == "linear":
        return levels
    with np.errstate(divide="ignore"):
        return np.asarray(np.log10(levels))


def from_axis(positions: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Return positions on the axis as levels."""
    return positions if scale == "linear" else np.asarray(10.0**positions)


def share(z: ArrayLike, shape: Shape) -> NDArray[np.float64]:
    """Return F(z): 0.5 at z = 0.

    Examples
    --------
    >>> [float(share(1.0, shape).round(4)) for shape in ("weibull", "logistic", "normal")]
    [0.848, 0.7311, 0.8413]
    """
    z = np.asarray(z, dtype=float)
    if shape == "weibull":
        # T50 form: F = 1 - 2^-(c/m)^b.
        return np.asarray(-np.expm1(-np.log(2) * np.exp(np.minimum(z, 700.0))))
    return np.asarray(special.expit(z) if shape == "logistic" else special.ndtr(z))


def inverse_share(f: ArrayLike, shape: Shape) -> NDArray[np.float64]:
    """Return z at which F(z) is f: minus infinity for 0, infinity for 1.

    Examples
    --------
    >>> [float(inverse_share(0.75, shape).round(4)) for shape in ("weibull", "logistic", "normal")]
    [0.6931, 1.0986, 0.6745]
    """
    f = np.asarray(f, dtype=float)
    if shape == "weibull":
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.log1p(-f) / np.log(2)))
    return np.asarray(special.logit(f) if shape == "logistic" else special.ndtri(f))


def logit_share(z: ArrayLike, shape: Shape) -> NDArray[np.float64]:
    """Return logit F(z), exact where F is within rounding of 0 or 1."""
    z = np.asarray(z, dtype=float)
    if shape == "weibull":
        power = np.log(2) * np.exp(np.minimum(z, 700.0))
        return np.asarray(power + np.log(-np.expm1(-power)))
    if shape == "logistic":
        return z
    return np.asarray(special.log_ndtr(z) - special.log_ndtr(-z))


def psychometric(
    levels: ArrayLike,
    threshold: ArrayLike,
    slope: ArrayLike,
    guess: ArrayLike = 0.0,
    lapse: ArrayLike = 0.0,
    *,
    shape: Shape = "weibull",
    scale: Scale = "log",
) -> NDArray[np.float64]:
    """Return the probability of a yes, or of a correct answer.

    All arguments broadcast. On the log scale level 0 has F = 0. The slope is the exponent of a
    Weibull function; of a logistic or normal function over log10 levels it is per decade, and on a
    linear scale it is per unit of the level (for ``normal`` one over its standard deviation).
    A Weibull function on a linear scale is a Gumbel function.

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
    return np.asarray(guess + (1 - guess - lapse) * share(z, shape))

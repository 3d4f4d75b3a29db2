"""What is held of a psychometric function before the first answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError
from fechner.psychometrics.functions import (
    STEEPNESS,
    Parameters,
    check_shape,
    from_axis,
    to_axis,
    unit_of_z,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape

#: Standard deviations of log slope at which its density is cut.
_REACH = 3.5

#: The median exponent of a Weibull function of contrast.
_WEIBULL_SLOPE = 3.0

#: On a linear scale: tested range over the length in which F would rise from 0 to 1.
_RISES_IN_RANGE = 5.0


@dataclass(frozen=True)
class Prior:
    """Densities of threshold, slope, guess and lapse rate, independent of each other.

    Parameters
    ----------
    threshold
        Ends between which the threshold is uniform (in its logarithm on the log scale). None: the
        tested range, from the lowest level above 0 to the highest, wider by ``widen``.
    widen
        How far outside the tested range a threshold may lie, at either end: in decades on the log
        scale, in lengths of the range on a linear one.
    slope
        Median of the slope, whose logarithm is normal (cut at 3.5 standard deviations). None: 3 for
        a Weibull function on the log scale, and for other shapes the slope that is as steep at
        threshold; on a linear scale the slope with which F, going on as straight as at threshold,
        would rise from 0 to 1 in a fifth of the tested range.
    slope_factor
        One standard deviation of the log slope, as a factor.
    guess, lapse
        The two numbers of a Beta density, each at least 1. Guess and lapse rates that add up to 1
        or more are left out. A rate that is given to a fit as a number has no density. Where both
        asymptotes are equally far from 0 and 1, the density of the lapse rate is that of both.
    overdispersion
        The same for eta, where a fit estimates it. Beta(1, 3) has a mean of 0.25. psignifit 4 has
        Beta(1, 10) (Schütt et al. 2016), with which intervals of few blocks are too short if eta is
        0.3.

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
        if self.threshold is not None and not self.threshold[0] < self.threshold[1]:
            raise FechnerError(
                f"a prior of the threshold needs a low and a higher end, not {self.threshold}."
            )
        if not self.widen >= 0:
            raise FechnerError(f"widen must be 0 or more, not {self.widen}.")
        if not self.slope_factor > 1:
            raise FechnerError(f"slope_factor must be more than 1, not {self.slope_factor}.")
        if self.slope is not None and not self.slope > 0:
            raise FechnerError(f"the median slope must be above 0, not {self.slope}.")
        for name in ("guess", "lapse", "overdispersion"):
            pair = getattr(self, name)
            if len(pair) != 2 or not all(each >= 1 for each in pair):
                raise FechnerError(
                    f"the Beta density of {name} needs two numbers of at least 1, not {pair}."
                )

    def ends(self, levels: ArrayLike, shape: Shape, scale: Scale) -> NDArray[np.float64]:
        """Return the lowest and highest value of each parameter, [4, 2], on the axes of the grid.

        The axes are the threshold as log10 (or as it is on a linear scale), the natural logarithm
        of the slope, the guess rate and the lapse rate.
        """
        low, high = tested_range(levels, scale)
        margin = self.widen * (1.0 if scale == "log" else high - low)
        threshold = (low - margin, high + margin)
        if self.threshold is not None:
            threshold = tuple(to_axis(self.threshold, scale))
        if not np.isfinite(threshold).all() or not threshold[0] < threshold[1]:
            raise FechnerError(
                f"the threshold has no room between {from_axis(np.array(threshold), scale)}: test "
                "at more than one level, or give Prior(threshold=(low, high))."
            )
        middle, sd = self._log_slope(levels, shape, scale)
        slope = (middle - _REACH * sd, middle + _REACH * sd)
        return np.array([threshold, slope, (0.0, 1.0), (0.0, 1.0)])

    def for_levels(self, levels: ArrayLike, shape: Shape, scale: Scale) -> Prior:
        """Return the same prior with ends of the threshold and a median slope for these levels."""
        low, high = from_axis(self.ends(levels, shape, scale)[0], scale)
        slope = float(np.exp(self._log_slope(levels, shape, scale)[0]))
        return replace(self, threshold=(float(low), float(high)), slope=slope)

    def log_density(
        self, axis: int, values: NDArray[np.float64], levels: ArrayLike, shape: Shape, scale: Scale
    ) -> NDArray[np.float64]:
        """Return the log density, up to a constant, along one axis of the grid, inside the ends."""
        if axis == 0:
            return np.zeros_like(values)
        if axis == 1:
            middle, sd = self._log_slope(levels, shape, scale)
            return np.asarray(-0.5 * ((values - middle) / sd) ** 2)
        a, b = (self.guess, self.lapse, self.overdispersion)[axis - 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            # A power of 0 is 1 everywhere, at the ends too.
            left = (a - 1) * np.log(values) if a > 1 else 0.0
            right = (b - 1) * np.log1p(-values) if b > 1 else 0.0
        return np.asarray(left + right + np.zeros_like(values))

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
        log_slope = middle + sd * _cut_normal(generator, size)
        rates = np.empty((0, 2))
        while len(rates) < size:
            pair = np.stack(
                [
                    generator.beta(*self.guess, size) if guess is None else np.full(size, guess),
                    generator.beta(*self.lapse, size) if lapse is None else np.full(size, lapse),
                ],
                axis=1,
            )
            rates = np.concatenate([rates, pair[pair.sum(axis=1) < 1]])
        threshold = from_axis(generator.uniform(ends[0, 0], ends[0, 1], size), scale)
        return Parameters(threshold, np.exp(log_slope), rates[:size, 0], rates[:size, 1])

    def _log_slope(self, levels: ArrayLike, shape: Shape, scale: Scale) -> tuple[float, float]:
        sd = float(np.log(self.slope_factor))
        if self.slope is not None:
            return float(np.log(self.slope)), sd
        if scale == "log":
            # As steep per decade at threshold as the Weibull function.
            rise = _WEIBULL_SLOPE * STEEPNESS["weibull"] / unit_of_z("weibull", "log")
        else:
            low, high = tested_range(levels, scale)
            rise = _RISES_IN_RANGE / (high - low) if high > low else np.nan
        median = rise / STEEPNESS[shape] * unit_of_z(shape, scale)
        if not np.isfinite(median):
            raise FechnerError("a slope needs two levels, or Prior(slope=..., threshold=...).")
        return float(np.log(median)), sd


def tested_range(levels: ArrayLike, scale: Scale) -> tuple[float, float]:
    """Return the lowest and highest tested position; level 0 has none on the log scale."""
    positions = to_axis(levels, scale)
    positions = positions[np.isfinite(positions)]
    if len(positions) == 0:
        raise FechnerError("no level above 0 was tested: a threshold needs at least one.")
    return float(positions.min()), float(positions.max())


def _cut_normal(generator: np.random.Generator, size: int) -> NDArray[np.float64]:
    draws = np.empty(0)
    while len(draws) < size:
        more = generator.standard_normal(size)
        draws = np.concatenate([draws, more[np.abs(more) < _REACH]])
    return draws[:size]

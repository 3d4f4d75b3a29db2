"""What a fit found: estimates, intervals, curves, and how well they describe the answers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from fechner.arrays import Floats
from fechner.errors import FechnerError
from fechner.psychometrics import functions
from fechner.psychometrics.functions import Parameters, Prior, Scale, Shape
from fechner.psychometrics.grid import Model, grid_weights

Name = Literal["threshold", "slope", "guess", "lapse", "overdispersion"]
NAMES: tuple[Name, ...] = get_args(Name)

#: Cells along axes that are summed out of a joint density.
_SUMMED = 18

#: What stands for a level that is never reached, on the axis, and what is near it.
_NEVER, _FAR = 1e300, 1e100


class Estimate(NamedTuple):
    """A value with the ends of its credible interval."""

    value: Floats
    low: Floats
    high: Floats


class ThresholdAt(NamedTuple):
    """Level at which a function reaches a probability, and its slope dP/dx there.

    The slope is per decade of the level on the log scale and per unit on a linear one. ``censored``
    is as of `Fit`; a censored level is NaN. Ends are 0 or infinite if they are never reached.
    """

    level: Estimate
    slope: Estimate
    censored: NDArray[Any]


class Curve(NamedTuple):
    """Probability of a yes, or of a correct answer: posterior mean and credible band, [.., X]."""

    levels: Floats
    probability: Floats
    low: Floats
    high: Floats


class Goodness(NamedTuple):
    """Deviance of the answers, and how often answers of the fitted observer have a larger one."""

    deviance: Floats
    p: Floats


@dataclass(frozen=True, repr=False)
class Fit:
    """Fitted psychometric functions: estimates, intervals and posteriors.

    Arrays have the leading axes of what was fitted; ``fit[i]`` is the fit of one or some of the
    functions. With overdispersion mode, ends, densities, draws and steps have 5 axes, not 4.

    Parameters
    ----------
    threshold, slope, guess, lapse
        Where the joint posterior is highest (its density is over log threshold on the log scale,
        log slope, guess and lapse rate). The threshold is where F = 0.5; NaN if censored.
    low, high
        Ends of the equal-tailed credible intervals of the four, which hold ``coverage``.
    sd
        Posterior standard deviations: of log10 threshold (of the threshold itself on a linear
        scale), of log10 slope, of guess and lapse rate. 0 for rates that were fixed.
    overdispersion
        Eta: 0 for binomial answers. The value is the posterior mean, and the other estimates are
        the highest point given it. The variance of a block of n trials is 1 + (n - 1) eta^2 times
        the binomial one.
    censored
        ``below`` or ``above`` if more than half of the posterior of the threshold lies below or
        above all tested levels (of the log scale: above 0); ``unknown`` if its credible interval
        reaches beyond both ends of them, if it would be below or above but the credible interval of
        1 - guess - lapse reaches below 0.05 (an observer who always says yes), or if nothing was
        asked; else empty.
    bound
        Of censored thresholds: the level that the threshold lies below, or above, with a
        probability of ``coverage``. NaN for others.
    levels, n, k
        What was fitted, [.., L].
    mode
        Estimates on the axes of the grid, [.., 4], also of censored thresholds.
    ends, log_density
        Marginal posteriors: between ends [.., 4, 2] the log density in the middle of equal cells,
        [.., 4, V], on the axes of the grid; `marginal` returns them in the units of the estimates.
    draws
        Draws of the joint posterior on the axes of the grid, [.., D, 4].
    steps
        Steps of the last grid in posterior standard deviations, [.., 4]; at most 0.5.
    """

    threshold: Floats
    slope: Floats
    guess: Floats
    lapse: Floats
    low: Parameters
    high: Parameters
    sd: Parameters
    overdispersion: Estimate
    censored: NDArray[Any]
    bound: Floats
    coverage: float
    levels: Floats
    n: Floats
    k: Floats
    shape: Shape
    scale: Scale
    falling: bool
    equal_asymptotes: bool
    prior: Prior
    mode: Floats
    ends: Floats
    log_density: Floats
    draws: Floats
    steps: Floats

    def __repr__(self) -> str:
        """Return the estimates with their intervals, or how many functions there are."""
        if self.threshold.ndim:
            shape, found = self.threshold.shape, np.isfinite(self.threshold).sum()
            several = " x ".join(map(str, shape))
            return f"Fit of {several} {self.shape} functions, {found} with a threshold"
        parts = [
            f"{name} {value:.3g} [{low:.3g}, {high:.3g}]"
            for name, (value, low, high) in self.estimates.items()
        ]
        beyond = f", threshold {self.censored}" if self.censored else ""
        return f"Fit({self.shape}: {', '.join(parts)}{beyond})"

    def __getitem__(self, index: Any) -> Fit:
        """Return the fit of some of the functions, by an index into the leading axes."""
        parts: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Parameters | Estimate):
                parts[field.name] = type(value)(*(np.asarray(each[index]) for each in value))
            elif isinstance(value, np.ndarray):
                parts[field.name] = np.asarray(value[index])
        return replace(self, **parts)

    @property
    def overdispersed(self) -> bool:
        """Whether overdispersion was estimated."""
        return bool(self.ends.shape[-2] == 5)

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Every parameter with its interval, overdispersion if it was estimated."""
        own = (self.threshold, self.slope, self.guess, self.lapse)
        each = (Estimate(*three) for three in zip(own, self.low, self.high, strict=True))
        found = dict(zip(Parameters._fields, each, strict=True))
        return found | ({"overdispersion": self.overdispersion} if self.overdispersed else {})

    def interval(self, coverage: float) -> tuple[Parameters, Parameters]:
        """Return the ends of equal-tailed credible intervals of another probability."""
        tail = (1 - coverage) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def quantile(self, probability: float) -> Parameters:
        """Return the value below which each parameter lies with a probability."""
        at = quantiles(self.ends, self.log_density, probability)
        return in_units(at, self.scale)

    def marginal(self, name: Name) -> tuple[Floats, Floats]:
        """Return values of a parameter, [.., V], and its log density per unit of the axis.

        The unit of the axis is a decade for slopes, and for thresholds on the log scale. A rate
        that was fixed has no density: all its values are the same.
        """
        axis = self.axis(name)
        ends, log_density = self.ends[..., axis, :], self.log_density[..., axis, :]
        cell = (ends[..., 1:] - ends[..., :1]) / log_density.shape[-1]
        decades = 1 / np.log(10) if name == "slope" else 1.0
        with np.errstate(divide="ignore"):
            size = special.logsumexp(log_density, axis=-1, keepdims=True) + np.log(cell * decades)
        return self._values(axis, ends, log_density.shape[-1]), log_density - size

    def _values(self, axis: int, ends: Floats, count: int) -> Floats:
        """Return values of a parameter in the middle of equal cells between ends [.., 2]."""
        middles = _middles(ends, count)
        if axis == 0:
            return functions.from_axis(middles, self.scale)
        return np.asarray(np.exp(middles)) if axis == 1 else middles

    def axis(self, name: Name) -> int:
        """Return the number of the axis that a parameter has on the grid."""
        known = NAMES[: self.ends.shape[-2]]
        if name not in known:
            raise FechnerError(f"the fit has no parameter '{name}': use one of {', '.join(known)}.")
        return NAMES.index(name)

    def joint(self, first: Name, second: Name, cells: int = 40) -> tuple[Floats, Floats, Floats]:
        """Return values of two parameters of one function, [V] and [V], and their density, [V, V].

        The density is 1 at its highest and over the axes of the grid, as of `marginal`: over
        logarithms of thresholds on the log scale, and of slopes. The other parameters are summed
        out. Both must have been estimated.
        """
        axes = [self.axis(first), self.axis(second)]
        tied = self.equal_asymptotes and set(axes) == {2, 3}
        if self.threshold.ndim or axes[0] == axes[1] or tied:
            raise FechnerError(
                "a joint density needs two parameters of one function: take a function with fit[i]."
            )
        if not (self.ends[axes, 1] > self.ends[axes, 0]).all():
            raise FechnerError(f"{first} or {second} was not estimated: it has no density.")
        guess, lapse = (None if high > low else float(low) for low, high in self.ends[2:4])
        model = Model(
            self.shape,
            self.scale,
            guess,
            lapse,
            self.prior,
            self.equal_asymptotes,
            self.overdispersed,
            self.falling,
        )
        answers = model.answers(self.levels, self.n, self.k)
        assert answers is not None  # the ends would be NaN
        axes, ends = [model.order[axis] for axis in axes], self.ends[model.order]
        counts = np.array([cells if axis in axes else _SUMMED for axis in range(len(ends))])
        ends = np.where(answers.free[:, None], ends, answers.ends)
        weights = grid_weights(answers, ends, np.where(answers.free, counts, 1))
        others = tuple(axis for axis in range(weights.ndim) if axis not in axes)
        density = weights.sum(axis=others, dtype=np.float64)
        if axes[0] > axes[1]:
            density = density.T
        x, y = (self._values(axis, ends[axis], cells) for axis in axes)
        return x, y, density / density.max()

    def threshold_at(self, p: float, *, corrected: bool = True) -> ThresholdAt:
        """Return the level at which functions reach a probability, with the slope there.

        Intervals are from the draws: with 200 their ends are off by about 5 % of their length. A
        ``corrected`` probability is (P - g) / (1 - g - l), so that 0.5 gives the threshold itself.

        Examples
        --------
        >>> from fechner.psychometrics import fit
        >>> found = fit([0.05, 0.1, 0.2, 0.4], n=50, k=[26, 31, 44, 50], guess=0.5)
        >>> level, slope, _ = found.threshold_at(0.75, corrected=False)
        >>> print(f"75 % at {level.value:.3f} [{level.low:.3f}, {level.high:.3f}]")
        75 % at 0.150 [0.110, 0.188]
        """
        if not 0 < p < 1:
            raise FechnerError(f"p must lie between 0 and 1, not {p}.")
        tail = (1 - self.coverage) / 2
        level, slope = self._reach(self.mode, p, corrected)
        drawn, slopes = self._reach(self.draws, p, corrected)
        middle, low, high = np.quantile(drawn, [0.5, tail, 1 - tail], axis=-1)
        if corrected and p == 0.5:
            # Quantiles of the marginal density, which is smooth.
            middle, low, high = (
                quantiles(self.ends, self.log_density, each)[..., 0]
                for each in (0.5, tail, 1 - tail)
            )
        level, middle, low, high = (
            functions.from_axis(
                np.where(np.abs(each) > _FAR, np.sign(each) * np.inf, each), self.scale
            )
            for each in (level, middle, low, high)
        )
        first, last = tested_ends(self.levels, self.n, self.scale)
        unknown = (self.censored == "unknown") | ((low < first) & (high > last))
        censored = np.select(
            [unknown, middle < first, middle > last], ["unknown", "below", "above"], default=""
        )
        ends = np.quantile(slopes, [tail, 1 - tail], axis=-1)
        return ThresholdAt(
            Estimate(np.where(censored == "", level, np.nan), low, high),
            Estimate(slope, ends[0], ends[1]),
            censored,
        )

    def _reach(self, points: Floats, p: float, corrected: bool) -> tuple[Floats, Floats]:
        """Return where, on the axis, functions with points [.., 4] reach P, and dP/dx there."""
        guess, room = points[..., 2], 1 - points[..., 2] - points[..., 3]
        share = p + np.zeros_like(guess) if corrected else np.clip((p - guess) / room, 0, 1)
        share = 1 - share if self.falling else share
        z = np.clip(functions.inverse_share(share, self.shape), -_NEVER, _NEVER)
        slope = np.exp(points[..., 1]) / functions.unit_of_z(self.shape, self.scale)
        with np.errstate(over="ignore"):
            steep = room * np.nan_to_num(functions.share_density(z, self.shape)) * slope
        # Where P is never reached the function is flat.
        steep = np.where(np.abs(z) >= _NEVER, 0.0, steep)
        at = np.clip(points[..., 0] + np.clip(z / slope, -_NEVER, _NEVER), -_NEVER, _NEVER)
        return at, -steep if self.falling else steep

    def width(self, alpha: float = 0.05) -> Estimate:
        """Return the distance over which F rises from alpha to 1 - alpha, as psignifit has it.

        In decades on the log scale, in units of the level on a linear one.
        """
        rise = functions.inverse_share(1 - alpha, self.shape) - functions.inverse_share(
            alpha, self.shape
        )
        rise = rise * functions.unit_of_z(self.shape, self.scale)
        return Estimate(rise / self.slope, rise / self.high.slope, rise / self.low.slope)

    def probability(self, levels: ArrayLike) -> Curve:
        """Return the curve of every function at levels [X], with its credible band."""
        levels = np.asarray(levels, dtype=float)
        drawn = self._curves(levels, self.draws)
        tail = (1 - self.coverage) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=-2)
        return Curve(levels, drawn.mean(axis=-2), low, high)

    def curve(self, levels: ArrayLike) -> Floats:
        """Return the curve by the estimates of every function at levels [X], [.., X]."""
        return self._curves(np.asarray(levels, dtype=float), self.mode[..., None, :])[..., 0, :]

    def goodness(self, seed: int = 0) -> Goodness:
        """Return the deviance from the curve, and its posterior predictive p value.

        The share of draws of the posterior in which simulated answers deviate at least as much from
        the curve as the observer's. Near 0 the function does not describe the answers, near 1 they
        vary less than binomial ones, as graded answers do. Takes about as long as the fit.
        """
        lead = self.threshold.shape
        levels, n, k = (each.reshape(-1, each.shape[-1]) for each in (self.levels, self.n, self.k))
        draws = self.draws.reshape(-1, *self.draws.shape[-2:])
        found = np.full((len(n), 2), np.nan)
        for i in np.flatnonzero(np.isfinite(draws).all(axis=(1, 2))):
            asked = n[i] > 0
            chance = self._curves(levels[i, asked], draws[i])
            # Every function has its own generator: it does not matter what else was fitted.
            whole = np.rint(n[i, asked])
            generator = np.random.default_rng(seed)
            varied = chance
            if self.overdispersed:
                nu = draws[i, :, 4:] ** -2.0 - 1
                inside = np.clip(chance, 1e-9, 1 - 1e-9)
                varied = generator.beta(nu * inside, nu * (1 - inside))
            simulated = generator.binomial(whole.astype(np.int64), varied).astype(float)
            seen = _deviance(k[i, asked], n[i, asked], chance)
            p = np.mean(_deviance(simulated, whole, chance) >= seen)
            found[i] = _deviance(k[i, asked], n[i, asked], chance.mean(axis=0)), p
        return Goodness(found[:, 0].reshape(lead), found[:, 1].reshape(lead))

    def _curves(self, levels: Floats, draws: Floats) -> Floats:
        """Return the curves of draws [.., D, 4] at levels [X], [.., D, X]."""
        return functions.psychometric(
            levels,
            *in_units(draws[..., None, :], self.scale),
            shape=self.shape,
            scale=self.scale,
            falling=self.falling,
        )


def tested_ends(levels: Floats, n: Floats, scale: Scale) -> tuple[Floats, Floats]:
    """Return the lowest and the highest level that was asked about, above 0 on the log scale."""
    asked = (n > 0) & ((levels > 0) if scale == "log" else np.isfinite(levels))
    return functions.tested_range(levels, asked)


def quantiles(ends: Floats, log_density: Floats, probability: float) -> Floats:
    """Return quantiles of marginal densities [.., V] between ends [.., 2]."""
    count = log_density.shape[-1]
    density = np.exp(log_density)
    total = np.cumsum(density, axis=-1)
    aim = probability * total[..., -1:]
    cell = np.minimum((total < aim).sum(axis=-1, keepdims=True), count - 1)
    height = np.take_along_axis(density, cell, axis=-1)
    below = np.take_along_axis(total, cell, axis=-1) - height
    share = (cell + (aim - below) / height)[..., 0] / count
    return np.asarray(ends[..., 0] + share * (ends[..., 1] - ends[..., 0]))


def moments(ends: Floats, log_density: Floats) -> tuple[Floats, Floats]:
    """Return means and standard deviations of marginal densities [.., V] between ends [.., 2]."""
    weight = np.exp(log_density)
    weight /= weight.sum(axis=-1, keepdims=True)
    values = _middles(ends, log_density.shape[-1])
    mean = (weight * values).sum(axis=-1, keepdims=True)
    return mean[..., 0], np.asarray(np.sqrt((weight * (values - mean) ** 2).sum(axis=-1)))


def in_units(at: Floats, scale: Scale) -> Parameters:
    """Return positions on the axes of the grid, [.., 4], in the units of the parameters."""
    slope = np.asarray(np.exp(at[..., 1]))
    return Parameters(functions.from_axis(at[..., 0], scale), slope, at[..., 2], at[..., 3])


def _middles(ends: Floats, count: int) -> Floats:
    share = (np.arange(count) + 0.5) / count
    return np.asarray(ends[..., :1] + share * (ends[..., 1:] - ends[..., :1]))


def _deviance(k: Floats, n: Floats, chance: Floats) -> Floats:
    """Return twice the log likelihood ratio to a function through every point."""
    expected = n * chance
    yes, no = special.rel_entr(k, expected), special.rel_entr(n - k, n - expected)
    return np.asarray(2 * (yes + no).sum(axis=-1))

"""What a fit found: estimates, intervals, curves, and how well they describe the answers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy import special

from fechner.psychometrics.functions import Parameters, from_axis, psychometric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape

Name = Literal["threshold", "slope", "guess", "lapse"]


class Curve(NamedTuple):
    """Probability of a yes, or of a correct answer: posterior mean and credible band, [.., X]."""

    levels: NDArray[np.float64]
    probability: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Goodness(NamedTuple):
    """Deviance of the answers, and how often answers of the fitted observer have a larger one."""

    deviance: NDArray[np.float64]
    p: NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Fit:
    """Psychometric functions with what is known and not known of their parameters.

    Arrays have the leading axes of what was fitted; ``fit[i]`` is the fit of one or some of the
    functions.

    Parameters
    ----------
    threshold, slope, guess, lapse
        Estimates: where the joint posterior is highest (its density is over log threshold on the
        log scale, log slope, guess and lapse rate), which is less biased than the mean when a rate
        is 0. The threshold is where F = 0.5, whatever the rates; NaN if censored.
    low, high
        Ends of the equal-tailed credible intervals of the four, which hold ``coverage``.
    sd
        Posterior standard deviations: of log10 threshold (of the threshold itself on a linear
        scale), of log10 slope, of guess and lapse rate. 0 for rates that were fixed.
    censored
        ``below`` or ``above`` if more than half of the posterior of the threshold lies below or
        above all tested levels (of the log scale: above 0); ``unknown`` if its credible interval
        reaches beyond both ends of them, if it would be below or above but the credible interval of
        1 - guess - lapse reaches below 0.05 (an observer who always says yes), or if nothing was
        asked; else empty.
    bound
        Of censored thresholds: the level that the threshold lies below, or above, with a
        probability of ``coverage``. NaN for others.
    coverage
        Probability of the intervals.
    levels, n, k
        What was fitted, [.., L].
    shape, scale
        The function.
    ends, log_density
        Marginal posteriors: between ends [.., 4, 2] the log density in the middle of equal cells,
        [.., 4, V], on the axes of the grid; `marginal` returns them in the units of the estimates.
    draws
        Draws of the joint posterior on the axes of the grid, [.., D, 4].
    steps
        Steps of the last grid in posterior standard deviations, [.., 4]; at most 0.5.
    """

    threshold: NDArray[np.float64]
    slope: NDArray[np.float64]
    guess: NDArray[np.float64]
    lapse: NDArray[np.float64]
    low: Parameters
    high: Parameters
    sd: Parameters
    censored: NDArray[Any]
    bound: NDArray[np.float64]
    coverage: float
    levels: NDArray[np.float64]
    n: NDArray[np.float64]
    k: NDArray[np.float64]
    shape: Shape
    scale: Scale
    ends: NDArray[np.float64]
    log_density: NDArray[np.float64]
    draws: NDArray[np.float64]
    steps: NDArray[np.float64]

    def __repr__(self) -> str:
        """Return the four estimates with their intervals, or how many functions there are."""
        if self.threshold.ndim:
            found = np.isfinite(self.threshold)
            return (
                f"Fit of {' x '.join(map(str, self.threshold.shape))} {self.shape} functions, "
                f"{found.sum()} with a threshold"
            )
        own = Parameters(self.threshold, self.slope, self.guess, self.lapse)
        parts = [
            f"{name} {value:.3g} [{low:.3g}, {high:.3g}]"
            for name, value, low, high in zip(own._fields, own, self.low, self.high, strict=True)
        ]
        beyond = f", threshold {self.censored}" if self.censored else ""
        return f"Fit({self.shape}: {', '.join(parts)}{beyond})"

    def __getitem__(self, index: Any) -> Fit:
        """Return the fit of some of the functions, by an index into the leading axes."""
        parts: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Parameters):
                parts[field.name] = Parameters(*(np.asarray(each[index]) for each in value))
            elif isinstance(value, np.ndarray):
                parts[field.name] = np.asarray(value[index])
        return replace(self, **parts)

    def interval(self, coverage: float) -> tuple[Parameters, Parameters]:
        """Return the ends of equal-tailed credible intervals of another probability."""
        tail = (1 - coverage) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def quantile(self, probability: float) -> Parameters:
        """Return the value below which each parameter lies with a probability."""
        at = quantiles(self.ends, self.log_density, probability)
        return in_units(at, self.scale)

    def marginal(self, name: Name) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return values of a parameter, [.., V], and its log density per unit of the axis.

        The unit of the axis is a decade for slopes, and for thresholds on the log scale. A rate
        that was fixed has no density: all its values are the same.
        """
        axis = Parameters._fields.index(name)
        ends, log_density = self.ends[..., axis, :], self.log_density[..., axis, :]
        values = _middles(ends, log_density.shape[-1])
        cell = (ends[..., 1:] - ends[..., :1]) / log_density.shape[-1]
        decades = 1 / np.log(10) if name == "slope" else 1.0
        with np.errstate(divide="ignore"):
            size = special.logsumexp(log_density, axis=-1, keepdims=True) + np.log(cell * decades)
        if name == "slope":
            values = np.exp(values)
        return (from_axis(values, self.scale) if axis == 0 else values), log_density - size

    def probability(self, levels: ArrayLike) -> Curve:
        """Return the curve of every function at levels [X], with its credible band."""
        levels = np.asarray(levels, dtype=float)
        drawn = _curves(levels, self.draws, self.shape, self.scale)
        tail = (1 - self.coverage) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=-2)
        return Curve(levels, drawn.mean(axis=-2), low, high)

    def goodness(self, seed: int = 0) -> Goodness:
        """Return the deviance from the curve, and its posterior predictive p value.

        For every draw of the posterior answers are drawn, too; p is the share of draws in which
        these deviate at least as much from its curve as the observer's answers do. Near 0 the
        function does not describe the answers, near 1 they vary less than binomial ones, as graded
        answers (fractions of a yes) do. Takes about as long as the fit.
        """
        lead = self.threshold.shape
        levels, n, k = (each.reshape(-1, each.shape[-1]) for each in (self.levels, self.n, self.k))
        draws = self.draws.reshape(-1, *self.draws.shape[-2:])
        found = np.full((len(n), 2), np.nan)
        for i in np.flatnonzero(np.isfinite(draws).all(axis=(1, 2))):
            asked = n[i] > 0
            chance = _curves(levels[i, asked], draws[i], self.shape, self.scale)
            # Every function has its own generator: it does not matter what else was fitted.
            whole = np.rint(n[i, asked])
            generator = np.random.default_rng(seed)
            simulated = generator.binomial(whole.astype(np.int64), chance).astype(float)
            seen = _deviance(k[i, asked], n[i, asked], chance)
            p = np.mean(_deviance(simulated, whole, chance) >= seen)
            found[i] = _deviance(k[i, asked], n[i, asked], chance.mean(axis=0)), p
        return Goodness(found[:, 0].reshape(lead), found[:, 1].reshape(lead))


def quantiles(
    ends: NDArray[np.float64], log_density: NDArray[np.float64], probability: float
) -> NDArray[np.float64]:
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


def spreads(ends: NDArray[np.float64], log_density: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return standard deviations of marginal densities [.., V] between ends [.., 2]."""
    weight = np.exp(log_density)
    weight /= weight.sum(axis=-1, keepdims=True)
    values = _middles(ends, log_density.shape[-1])
    mean = (weight * values).sum(axis=-1, keepdims=True)
    return np.asarray(np.sqrt((weight * (values - mean) ** 2).sum(axis=-1)))


def in_units(at: NDArray[np.float64], scale: Scale) -> Parameters:
    """Return positions on the axes of the grid, [.., 4], in the units of the parameters."""
    slope = np.asarray(np.exp(at[..., 1]))
    return Parameters(from_axis(at[..., 0], scale), slope, at[..., 2], at[..., 3])


def _middles(ends: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    share = (np.arange(count) + 0.5) / count
    return np.asarray(ends[..., :1] + share * (ends[..., 1:] - ends[..., :1]))


def _curves(
    levels: NDArray[np.float64], draws: NDArray[np.float64], shape: Shape, scale: Scale
) -> NDArray[np.float64]:
    """Return the curves of draws [.., D, 4] at levels [X], [.., D, X]."""
    parameters = in_units(draws[..., None, :], scale)
    return psychometric(levels, *parameters, shape=shape, scale=scale)


def _deviance(
    k: NDArray[np.float64], n: NDArray[np.float64], chance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return twice the log likelihood ratio to a function through every point."""
    expected = n * chance
    yes, no = special.rel_entr(k, expected), special.rel_entr(n - k, n - expected)
    return np.asarray(2 * (yes + no).sum(axis=-1))

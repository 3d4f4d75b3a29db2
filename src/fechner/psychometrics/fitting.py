"""Psychometric functions from answers, many at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.errors import FechnerError
from fechner.psychometrics.climbing import SMALLEST_RATE, Hills, climb
from fechner.psychometrics.functions import (
    Parameters,
    check_coverage,
    check_rates,
    check_shape,
    checked_answers,
    from_axis,
    to_axis,
    unit_of_z,
)
from fechner.psychometrics.grid import (
    DRAWS,
    FINE,
    SMALLEST_ETA,
    Answers,
    Posterior,
    grid_weights,
    posterior,
)
from fechner.psychometrics.prior import Prior
from fechner.psychometrics.result import Estimate, Fit, in_units, means, quantiles, spreads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape
    from fechner.psychometrics.result import Name

#: Functions whose modes are sought at once, which bounds memory.
_BLOCK = 256

#: Cells along axes that are summed out of a joint density.
_SUMMED = 18

_LARGEST_ETA = 0.95

#: Less than this between guess and lapse rate, and an observer may not look at all.
_ROOM = 0.05


def fit(
    levels: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    *,
    shape: Shape = "weibull",
    scale: Scale = "log",
    guess: float | None = None,
    lapse: float | None = None,
    equal_asymptotes: bool = False,
    overdispersion: bool = False,
    falling: bool = False,
    prior: Prior | None = None,
    coverage: float = 0.95,
    draws: int = DRAWS,
) -> Fit:
    """Fit psychometric functions P = g + (1 - g - l) F by their posterior on a grid.

    Parameters
    ----------
    levels
        Levels of the stimulus, [L] or [.., L]; leading axes are functions of their own.
    n, k
        Trials at each level, and answers that were yes, or correct, [.., L]. Graded answers
        (probabilities of a yes) are added up, so ``k`` need not be whole.
    shape
        ``weibull`` (F = 1 - 2^-(c/m)^b), ``logistic``, ``normal``, ``gumbel_l``, ``gumbel_r`` or
        ``tdist``, as of `psychometric`; F = 0.5 at the threshold m.
    scale
        ``log`` for quantities like contrast, ``linear`` for those that may be negative.
    guess, lapse
        Rates that are known; None to estimate them. Forced choice between m pictures has a guess
        rate of 1/m. On the log scale with a guess rate of 0 answers at level 0 are left out: they
        would say nothing, or be impossible.
    equal_asymptotes
        Estimate one rate for both guesses and lapses, as for answers left or right of a standard.
    overdispersion
        Whether answers vary more from block to block than binomial ones: a beta-binomial model with
        eta as a fifth parameter (Schütt et al. 2016). Each level is then one block of trials, and a
        level may come several times; see `pool_blocks`.
    falling
        Whether the function falls as the level rises. The guess rate is still that of the lower
        asymptote.
    prior
        What is held beforehand; see `Prior`.
    coverage
        Probability of the credible intervals.
    draws
        Draws of the joint posterior to keep, for bands and `Fit.threshold_at`.

    Examples
    --------
    >>> levels = [0, 0.025, 0.05, 0.1, 0.2, 0.4]
    >>> result = fit(levels, n=[40] * 6, k=[4, 5, 10, 24, 37, 39])
    >>> print(f"{result.threshold:.3f} [{result.low.threshold:.3f}, {result.high.threshold:.3f}]")
    0.094 [0.075, 0.115]
    """
    check_shape(shape, scale)
    prior = prior or Prior()
    levels, n, k = checked_answers(levels, n, k, scale)
    check_rates(guess, lapse)
    check_coverage(coverage)
    if equal_asymptotes and not guess is lapse is None:
        raise FechnerError("equal asymptotes are estimated: give no guess or lapse rate.")
    if draws < 1:
        raise FechnerError(f"draws must be at least 1, not {draws}.")
    model = Model(shape, scale, guess, lapse, prior, equal_asymptotes, overdispersion, falling)
    if scale == "log" and (lapse if falling else guess) == 0:
        n, k = (np.where(levels > 0, each, 0.0) for each in (n, k))
    flat = [each.reshape(-1, each.shape[-1]) for each in (levels, n, k)]
    found = [_one(*each, model=model, draws=draws) for each in zip(*flat, strict=True)]
    limits, tops, *rest = (np.stack(part) for part in zip(*found, strict=True))
    modes = [
        _mode(
            Posterior(*(each[part] for each in (limits, tops, *rest))),
            *(each[part] for each in flat),
            model=model,
        )
        for part in (slice(start, start + _BLOCK) for start in range(0, len(tops), _BLOCK))
    ]
    lead = n.shape[:-1]
    mode, ends, log_density, drawn, steps = (
        each.reshape(*lead, *each.shape[1:]) for each in (np.concatenate(modes), *rest)
    )
    if falling:
        # What rose was the rate of other answers.
        order = [0, 1, 3, 2, 4][: mode.shape[-1]]
        mode, drawn, steps = (each[..., order] for each in (mode, drawn, steps))
        ends, log_density = (each[..., order, :] for each in (ends, log_density))
    sd = spreads(ends, log_density)
    tail = (1 - coverage) / 2
    low, high = (quantiles(ends, log_density, p) for p in (tail, 1 - tail))
    censored, bound = _censoring(levels, n, ends, log_density, drawn, scale, tail)
    estimate = in_units(mode, scale)
    none = np.where(np.isnan(mode[..., 0]), np.nan, 0.0)
    eta = Estimate(*(each[..., 4] if overdispersion else none for each in (mode, low, high)))
    return Fit(
        threshold=np.where(censored == "", estimate.threshold, np.nan),
        slope=estimate.slope,
        guess=estimate.guess,
        lapse=estimate.lapse,
        low=in_units(low, scale),
        high=in_units(high, scale),
        sd=Parameters(sd[..., 0], sd[..., 1] / np.log(10), sd[..., 2], sd[..., 3]),
        overdispersion=eta,
        censored=censored,
        bound=bound,
        coverage=coverage,
        levels=levels,
        n=n,
        k=k,
        shape=shape,
        scale=scale,
        falling=falling,
        equal_asymptotes=equal_asymptotes,
        prior=prior,
        mode=mode,
        ends=ends,
        log_density=log_density,
        draws=drawn,
        steps=steps,
    )


class Model(NamedTuple):
    """What is fitted, as of `fit`; `rising` is the same for the answers that become more."""

    shape: Shape
    scale: Scale
    guess: float | None
    lapse: float | None
    prior: Prior
    equal_asymptotes: bool
    overdispersion: bool
    falling: bool

    def rising(self) -> Model:
        """Return the model of answers that were no, if the function falls."""
        if not self.falling:
            return self
        prior = self.prior
        if not self.equal_asymptotes:
            prior = replace(prior, guess=prior.lapse, lapse=prior.guess)
        return self._replace(guess=self.lapse, lapse=self.guess, prior=prior, falling=False)

    def answers(
        self, levels: NDArray[np.float64], n: NDArray[np.float64], k: NDArray[np.float64]
    ) -> Answers | None:
        """Return the answers to one function for the grid; None where nothing was asked."""
        asked = n > 0
        levels, n, k = levels[asked], n[asked], k[asked]
        if len(levels) == 0 or (self.scale == "log" and not (levels > 0).any()):
            return None
        rising, shape, scale = self.rising(), self.shape, self.scale
        ends = rising.prior.ends(levels, shape, scale)
        for axis, rate in ((2, rising.guess), (3, rising.lapse)):
            if rate is not None:
                ends[axis] = rate
        if self.equal_asymptotes:
            ends[2:] = (0.0, 0.0), (0.0, 0.5)
        if self.overdispersion:
            ends = np.concatenate([ends, [(SMALLEST_ETA, _LARGEST_ETA)]])
        return Answers(
            positions=to_axis(levels, scale),
            yes=n - k if self.falling else k,
            no=k if self.falling else n - k,
            shape=shape,
            unit=unit_of_z(shape, scale),
            ends=ends,
            log_prior=partial(rising.prior.log_density, levels=levels, shape=shape, scale=scale),
            equal_rates=self.equal_asymptotes,
        )


def _one(
    levels: NDArray[np.float64],
    n: NDArray[np.float64],
    k: NDArray[np.float64],
    *,
    model: Model,
    draws: int,
) -> Posterior:
    """Return the posterior of one function, NaN where nothing was asked."""
    answers = model.answers(levels, n, k)
    if answers is None:
        a = 5 if model.overdispersion else 4
        shapes = ((a, 2), (a,), (a, 2), (a, FINE), (draws, a), (a,))
        return Posterior(*(np.full(each, np.nan) for each in shapes))
    return posterior(answers, draws)


def _mode(
    found: Posterior,
    levels: NDArray[np.float64],
    n: NDArray[np.float64],
    k: NDArray[np.float64],
    *,
    model: Model,
) -> NDArray[np.float64]:
    """Climb from the highest cells [F, 4] to where the joint posteriors are highest."""
    known = np.isfinite(found.top).all(axis=1)
    mode = np.full(found.top.shape, np.nan)
    limits = found.limits[known, :4]
    free = limits[..., 1] > limits[..., 0]
    inner = limits.copy()
    inner[:, 2:, 0] = np.where(free[:, 2:], SMALLEST_RATE, limits[:, 2:, 0])
    inner[:, 2:, 1] = np.where(free[:, 2:], 1 - 2 * SMALLEST_RATE, limits[:, 2:, 1])
    if model.equal_asymptotes:
        inner[:, 2], inner[:, 3, 1] = 0.0, 0.5 - SMALLEST_RATE
    prior = model.rising().prior
    own_guess = free[:, 2].any() and not model.equal_asymptotes
    # The joint posterior is often highest without any overdispersion, though most of it has some.
    eta = means(found.ends, found.log_density)[known, 4:]
    hills = Hills(
        positions=to_axis(levels[known], model.scale),
        yes=(n - k if model.falling else k)[known],
        no=(k if model.falling else n - k)[known],
        shape=model.shape,
        unit=unit_of_z(model.shape, model.scale),
        log_slope=(limits[:, 1].mean(axis=1), float(np.log(prior.slope_factor))),
        guess=prior.guess if own_guess else (1.0, 1.0),
        lapse=prior.lapse if free[:, 3].any() else (1.0, 1.0),
        equal_rates=model.equal_asymptotes,
        eta=eta[:, 0] if model.overdispersion else None,
    )
    longest = 0.1 * (limits[..., 1] - limits[..., 0])
    top = found.top[known, :4]
    top = climb(hills, top, inner, longest)[0]
    if model.equal_asymptotes:
        top[:, 2] = top[:, 3]
    # The smallest rate stands for 0.
    top = np.where(free & (top <= 2 * SMALLEST_RATE) & [False, False, True, True], 0.0, top)
    mode[known] = np.concatenate([top, eta], axis=1)
    return mode


def _censoring(
    levels: NDArray[np.float64],
    n: NDArray[np.float64],
    ends: NDArray[np.float64],
    log_density: NDArray[np.float64],
    draws: NDArray[np.float64],
    scale: Scale,
    tail: float,
) -> tuple[NDArray[np.str_], NDArray[np.float64]]:
    """Say which thresholds were not tested for, and what is known of them all the same."""
    median, low, high, lowest, highest = (
        in_units(quantiles(ends, log_density, p), scale).threshold
        for p in (0.5, tail, 1 - tail, 2 * tail, 1 - 2 * tail)
    )
    room = np.quantile(1 - draws[..., 2] - draws[..., 3], tail, axis=-1)
    asked = (n > 0) & ((levels > 0) if scale == "log" else np.isfinite(levels))
    first = np.min(levels, axis=-1, initial=np.inf, where=asked)
    last = np.max(levels, axis=-1, initial=-np.inf, where=asked)
    below, above = median < first, median > last
    unknown = ((low < first) & (high > last)) | np.isnan(median)
    unknown |= (below | above) & (room < _ROOM)
    below, above = below & ~unknown, above & ~unknown
    censored = np.select([unknown, below, above], ["unknown", "below", "above"], default="")
    bound = np.select([below, above], [highest, lowest], default=np.nan)
    return censored, bound


def joint_density(
    found: Fit, first: Name, second: Name, cells: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return values of two parameters of one function and their density; see `Fit.joint`."""
    axes = [found.axis(first), found.axis(second)]
    tied = found.equal_asymptotes and set(axes) == {2, 3}
    if found.threshold.ndim or axes[0] == axes[1] or tied:
        raise FechnerError(
            "a joint density is of two parameters of one function: take one with fit[i]."
        )
    if not (found.ends[axes, 1] > found.ends[axes, 0]).all():
        raise FechnerError(f"{first} or {second} was not estimated: it has no density.")
    guess, lapse = (None if high > low else float(low) for low, high in found.ends[2:4])
    model = Model(
        found.shape,
        found.scale,
        guess,
        lapse,
        found.prior,
        found.equal_asymptotes,
        found.overdispersed,
        found.falling,
    )
    answers = model.answers(found.levels, found.n, found.k)
    if answers is None:
        raise FechnerError("nothing was asked: there is no density.")
    # The axes of the grid in the order of what rises.
    order = [0, 1, 3, 2, 4] if found.falling else [0, 1, 2, 3, 4]
    if found.equal_asymptotes:
        axes = [3 if axis == 2 else axis for axis in axes]
    else:
        axes = [order[axis] for axis in axes]
    ends = found.ends[order[: len(found.ends)]]
    counts = np.array([cells if axis in axes else _SUMMED for axis in range(len(ends))])
    free = answers.ends[:, 1] > answers.ends[:, 0]
    counts, ends = np.where(free, counts, 1), np.where(free[:, None], ends, answers.ends)
    weights = grid_weights(answers, ends, counts)
    others = tuple(axis for axis in range(weights.ndim) if axis not in axes)
    density = weights.sum(axis=others, dtype=np.float64)
    if axes[0] > axes[1]:
        density = density.T
    values = []
    for axis in axes:
        low, high = ends[axis]
        middles = low + (np.arange(cells) + 0.5) * (high - low) / cells
        middles = np.exp(middles) if axis == 1 else middles
        values.append(from_axis(middles, found.scale) if axis == 0 else middles)
    return values[0], values[1], density / density.max()

"""Psychometric functions from answers, many at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fechner.psychometrics.checking import check_coverage, check_rates, checked_answers
from fechner.psychometrics.climbing import SMALLEST_RATE, Hills
from fechner.psychometrics.functions import Parameters, check_shape, to_axis, unit_of_z
from fechner.psychometrics.grid import DRAWS, FINE, Answers, Posterior, posterior
from fechner.psychometrics.prior import Prior
from fechner.psychometrics.result import Fit, in_units, quantiles, spreads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape

#: Functions whose modes are sought at once, which bounds memory.
_BLOCK = 256

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
    prior: Prior | None = None,
    coverage: float = 0.95,
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
        ``weibull`` (F = 1 - 2^-(c/m)^b), ``logistic`` or ``normal``; F = 0.5 at the threshold m.
    scale
        ``log`` for quantities like contrast, ``linear`` for those that may be negative.
    guess, lapse
        Rates that are known; None to estimate them. Forced choice between m pictures has a guess
        rate of 1/m. On the log scale with a guess rate of 0 answers at level 0 are left out: they
        would say nothing, or be impossible.
    prior
        What is held beforehand; see `Prior`.
    coverage
        Probability of the credible intervals.

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
    if scale == "log" and guess == 0:
        n, k = (np.where(levels > 0, each, 0.0) for each in (n, k))
    flat = [each.reshape(-1, each.shape[-1]) for each in (levels, n, k)]
    found = [
        _one(*each, shape=shape, scale=scale, guess=guess, lapse=lapse, prior=prior)
        for each in zip(*flat, strict=True)
    ]
    limits, tops, *rest = (np.stack(part) for part in zip(*found, strict=True))
    modes = [
        _mode(
            Posterior(*(each[part] for each in (limits, tops, *rest))),
            *(each[part] for each in flat),
            shape=shape,
            scale=scale,
            prior=prior,
        )
        for part in (slice(start, start + _BLOCK) for start in range(0, len(tops), _BLOCK))
    ]
    lead = n.shape[:-1]
    mode, ends, log_density, draws, steps = (
        each.reshape(*lead, *each.shape[1:]) for each in (np.concatenate(modes), *rest)
    )
    sd = spreads(ends, log_density)
    tail = (1 - coverage) / 2
    low, high = (quantiles(ends, log_density, p) for p in (tail, 1 - tail))
    censored, bound = _censoring(levels, n, ends, log_density, draws, scale, tail)
    estimate = in_units(mode, scale)
    return Fit(
        threshold=np.where(censored == "", estimate.threshold, np.nan),
        slope=estimate.slope,
        guess=estimate.guess,
        lapse=estimate.lapse,
        low=in_units(low, scale),
        high=in_units(high, scale),
        sd=Parameters(sd[..., 0], sd[..., 1] / np.log(10), sd[..., 2], sd[..., 3]),
        censored=censored,
        bound=bound,
        coverage=coverage,
        levels=levels,
        n=n,
        k=k,
        shape=shape,
        scale=scale,
        ends=ends,
        log_density=log_density,
        draws=draws,
        steps=steps,
    )


def _one(
    levels: NDArray[np.float64],
    n: NDArray[np.float64],
    k: NDArray[np.float64],
    *,
    shape: Shape,
    scale: Scale,
    guess: float | None,
    lapse: float | None,
    prior: Prior,
) -> Posterior:
    """Return the posterior of one function, NaN where nothing was asked."""
    asked = n > 0
    levels, n, k = levels[asked], n[asked], k[asked]
    if len(levels) == 0 or (scale == "log" and not (levels > 0).any()):
        shapes = ((4, 2), (4,), (4, 2), (4, FINE), (DRAWS, 4), (4,))
        return Posterior(*(np.full(each, np.nan) for each in shapes))
    ends = prior.ends(levels, shape, scale)
    for axis, rate in ((2, guess), (3, lapse)):
        if rate is not None:
            ends[axis] = rate
    return posterior(
        Answers(
            positions=to_axis(levels, scale),
            yes=k,
            no=n - k,
            shape=shape,
            unit=unit_of_z(shape, scale),
            ends=ends,
            log_prior=partial(prior.log_density, levels=levels, shape=shape, scale=scale),
        )
    )


def _mode(
    found: Posterior,
    levels: NDArray[np.float64],
    n: NDArray[np.float64],
    k: NDArray[np.float64],
    *,
    shape: Shape,
    scale: Scale,
    prior: Prior,
) -> NDArray[np.float64]:
    """Climb from the highest cells [F, 4] to where the joint posteriors are highest."""
    known = np.isfinite(found.top).all(axis=1)
    mode = np.full(found.top.shape, np.nan)
    limits = found.limits[known]
    free = limits[..., 1] > limits[..., 0]
    inner = limits.copy()
    inner[:, 2:, 0] = np.where(free[:, 2:], SMALLEST_RATE, limits[:, 2:, 0])
    inner[:, 2:, 1] = np.where(free[:, 2:], 1 - 2 * SMALLEST_RATE, limits[:, 2:, 1])
    hills = Hills(
        positions=to_axis(levels[known], scale),
        yes=k[known],
        no=(n - k)[known],
        shape=shape,
        unit=unit_of_z(shape, scale),
        limits=inner,
        log_slope=(limits[:, 1].mean(axis=1), float(np.log(prior.slope_factor))),
        guess=prior.guess if free[:, 2].any() else (1.0, 1.0),
        lapse=prior.lapse if free[:, 3].any() else (1.0, 1.0),
    )
    longest = 0.1 * (limits[..., 1] - limits[..., 0])
    top = hills.climb(found.top[known], longest)[0]
    # The smallest rate stands for 0.
    mode[known] = np.where(free & (top <= 2 * SMALLEST_RATE) & [False, False, True, True], 0.0, top)
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

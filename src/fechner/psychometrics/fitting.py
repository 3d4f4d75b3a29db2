"""Psychometric functions from answers, many at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError
from fechner.psychometrics.functions import Parameters, check_shape, to_axis, unit_of_z
from fechner.psychometrics.grid import DRAWS, FINE, Answers, Posterior, posterior
from fechner.psychometrics.prior import Prior
from fechner.psychometrics.result import Fit, in_units, quantiles, spreads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape


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
    levels, n, k = _checked(levels, n, k, scale)
    _check_rates(guess, lapse, coverage)
    flat = [each.reshape(-1, each.shape[-1]) for each in (levels, n, k)]
    found = [
        _one(*each, shape=shape, scale=scale, guess=guess, lapse=lapse, prior=prior)
        for each in zip(*flat, strict=True)
    ]
    lead = n.shape[:-1]
    mode, ends, log_density, draws, steps = (
        np.stack(part).reshape(*lead, *part[0].shape) for part in zip(*found, strict=True)
    )
    sd = spreads(ends, log_density)
    tail = (1 - coverage) / 2
    low, high = (quantiles(ends, log_density, p) for p in (tail, 1 - tail))
    censored, bound = _censoring(levels, n, ends[..., 0, :], log_density[..., 0, :], scale, tail)
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
    if scale == "log" and guess == 0:
        above = levels > 0
        levels, n, k = levels[above], n[above], k[above]
    if len(levels) == 0 or (scale == "log" and not (levels > 0).any()):
        return Posterior(*(np.full(s, np.nan) for s in ((4,), (4, 2), (4, FINE), (DRAWS, 4), (4,))))
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


def _censoring(
    levels: NDArray[np.float64],
    n: NDArray[np.float64],
    ends: NDArray[np.float64],
    log_density: NDArray[np.float64],
    scale: Scale,
    tail: float,
) -> tuple[NDArray[np.str_], NDArray[np.float64]]:
    """Say which thresholds were not tested for, and what is known of them all the same."""
    median, low, high, lowest, highest = (
        in_units(np.stack([quantiles(ends, log_density, p)] * 4, axis=-1), scale).threshold
        for p in (0.5, tail, 1 - tail, 2 * tail, 1 - 2 * tail)
    )
    asked = (n > 0) & ((levels > 0) if scale == "log" else np.isfinite(levels))
    first = np.min(levels, axis=-1, initial=np.inf, where=asked)
    last = np.max(levels, axis=-1, initial=-np.inf, where=asked)
    unknown = ((low < first) & (high > last)) | np.isnan(median)
    below, above = (median < first) & ~unknown, (median > last) & ~unknown
    censored = np.select([unknown, below, above], ["unknown", "below", "above"], default="")
    bound = np.select([below, above], [highest, lowest], default=np.nan)
    return censored, bound


def _checked(
    levels: ArrayLike, n: ArrayLike, k: ArrayLike, scale: Scale
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    arrays = [np.asarray(each, dtype=float) for each in (levels, n, k)]
    try:
        levels, n, k = (np.array(each) for each in np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in arrays)
        raise FechnerError(f"levels, n and k do not fit together: {shapes}.") from None
    if n.ndim == 0 or n.size == 0:
        raise FechnerError("a psychometric function needs at least one level.")
    if not ((n >= 0) & (k >= 0) & (k <= n)).all():
        raise FechnerError("every k must lie between 0 and its n: count yes answers of n trials.")
    asked = levels[n > 0]
    if not np.isfinite(asked).all() or (scale == "log" and (asked < 0).any()):
        raise FechnerError(
            "levels must be finite, and 0 or more on the log scale; use scale='linear' for others."
        )
    return levels, n, k


def _check_rates(guess: float | None, lapse: float | None, coverage: float) -> None:
    rates = [0.0 if rate is None else rate for rate in (guess, lapse)]
    if not (min(rates) >= 0 and sum(rates) < 1):
        raise FechnerError(
            f"guess and lapse rates are at least 0 and add up to less than 1, not {guess}, {lapse}."
        )
    if not 0 < coverage < 1:
        raise FechnerError(f"coverage lies between 0 and 1, not {coverage}: 0.95 is usual.")

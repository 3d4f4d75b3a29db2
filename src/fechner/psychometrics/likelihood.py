"""Psychometric functions by maximum likelihood with fixed rates, as published studies fit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.psychometrics.checking import check_rates, checked_answers
from fechner.psychometrics.climbing import Hills
from fechner.psychometrics.functions import (
    STEEPNESS,
    check_shape,
    from_axis,
    to_axis,
    unit_of_z,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape

#: Limits of the steepness: F would rise from 0 to 1 in a hundred ranges, or in a 2000th of one.
_FLATTEST, _STEEPEST = 0.01, 2000.0


class MaximumLikelihood(NamedTuple):
    """Most likely thresholds (where F = 0.5) and slopes, with the leading axes of the answers.

    ``censored`` is ``below`` or ``above`` if the threshold lies outside the tested levels,
    ``unknown`` if the answers do not rise with the level or nothing was asked, else empty; censored
    thresholds are NaN. The slope of answers that jump between two levels is infinite, and their
    threshold lies halfway.
    """

    threshold: NDArray[np.float64]
    slope: NDArray[np.float64]
    censored: NDArray[Any]
    log_likelihood: NDArray[np.float64]


def maximum_likelihood(
    levels: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    *,
    shape: Shape = "weibull",
    scale: Scale = "log",
    guess: float = 0.0,
    lapse: float = 0.0,
) -> MaximumLikelihood:
    """Fit threshold and slope of psychometric functions by maximum likelihood.

    Arguments are those of `fit`; guess and lapse rates are fixed, by default at 0, so that P = 0.5
    at the threshold. With a guess rate of 0, answers at level 0 of the log scale are left out.

    Examples
    --------
    >>> found = maximum_likelihood([0, 0.05, 0.1, 0.2], n=[20] * 4, k=[0, 3, 11, 19])
    >>> print(f"{found.threshold:.4f}, slope {found.slope:.2f}")
    0.0963, slope 2.05
    """
    check_shape(shape, scale)
    check_rates(guess, lapse)
    levels, n, k = checked_answers(levels, n, k, scale)
    lead = n.shape[:-1]
    x, n, k = (each.reshape(-1, n.shape[-1]) for each in (to_axis(levels, scale), n, k))
    asked = n > 0
    if scale == "log" and guess == 0:
        asked = asked & np.isfinite(x)
    n, k = np.where(asked, n, 0.0), np.where(asked, k, 0.0)
    unit = unit_of_z(shape, scale)
    there = asked & np.isfinite(x)
    first = np.min(x, axis=1, initial=np.inf, where=there)
    last = np.max(x, axis=1, initial=-np.inf, where=there)
    censored = np.select(
        [~there.any(axis=1), (k == n).all(axis=1), (k == 0).all(axis=1)],
        ["unknown", "below", "above"],
        default="",
    )
    top, log_likelihood = np.full((len(x), 4), np.nan), np.full(len(x), np.nan)
    open_ = censored == ""
    length = np.where(last > first, last - first, 1.0)
    limits = np.empty((len(x), 4, 2))
    limits[:, 0] = np.stack([first - length, last + length], axis=1)
    ends = np.array([_FLATTEST, _STEEPEST]) * unit / STEEPNESS[shape]
    limits[:, 1] = np.log(ends / length[:, None])
    limits[:, 2], limits[:, 3] = guess, lapse
    if open_.any():
        positions, yes, no = (each[open_] for each in (x, k, n - k))
        hills = Hills(positions, yes, no, shape, unit, limits[open_])
        top[open_], log_likelihood[open_] = _highest(hills)
    # Without guesses and lapses, nothing but no below a level and nothing but yes above it.
    last_no = np.max(x, axis=1, initial=-np.inf, where=there & (k < n))
    first_yes = np.min(x, axis=1, initial=np.inf, where=there & (k > 0))
    jumps = (last_no <= first_yes) & (guess + lapse == 0)
    steepest = jumps | (top[:, 1] >= limits[:, 1, 1] - 1e-6)
    with np.errstate(invalid="ignore"):
        at = np.where(jumps, (last_no + first_yes) / 2, top[:, 0])
    # A jump at the first or last level may lie just outside.
    mostly = np.sum(np.where(x == at[:, None], k, 0) > 0.5 * n, axis=1) > 0
    flat = ~jumps & (top[:, 1] <= limits[:, 1, 0] + 1e-6)
    below = (at < first) | (jumps & (at == first) & mostly)
    above = (at > last) | (jumps & (at == last) & ~mostly)
    censored = np.select(
        [censored != "", flat, below, above], [censored, "unknown", "below", "above"], default=""
    )
    fine = censored == ""
    return MaximumLikelihood(
        threshold=np.where(fine, from_axis(at, scale), np.nan).reshape(lead),
        slope=np.where(fine, np.where(steepest, np.inf, np.exp(top[:, 1])), np.nan).reshape(lead),
        censored=censored.reshape(lead),
        log_likelihood=log_likelihood.reshape(lead),
    )


def _highest(hills: Hills) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Start at the best point of a coarse grid and climb."""
    best = np.full(len(hills.limits), -np.inf)
    start = np.empty((len(best), 4))
    for place in np.linspace(0.3, 0.7, 25):
        for steepness in np.linspace(0.25, 0.85, 7):
            trial = hills.limits @ np.array([0.5, 0.5])
            trial[:, 0] = hills.limits[:, 0] @ [1 - place, place]
            trial[:, 1] = hills.limits[:, 1] @ [1 - steepness, steepness]
            height = hills.height(trial)
            start = np.where((height > best)[:, None], trial, start)
            best = np.maximum(best, height)
    longest = np.tile([0.0, 1.0, 0.0, 0.0], (len(best), 1))
    longest[:, 0] = (hills.limits[:, 0, 1] - hills.limits[:, 0, 0]) / 12
    return hills.climb(start, longest)

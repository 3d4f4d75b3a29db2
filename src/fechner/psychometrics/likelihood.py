"""Most likely functions, many at once.

`maximum_likelihood` fits functions with fixed rates, as published studies do. `fit_falling` fits
curves that fall from a top to chance as a picture is changed more and more: P(right) = chance +
(1 - chance - miss) (1 - F(level)). Turned round, P(wrong) is a psychometric function whose guess
rate is the miss rate at the top, and whose lapse rate is chance, which is known.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.arrays import Floats
from fechner.errors import FechnerError
from fechner.psychometrics import functions
from fechner.psychometrics.functions import STEEPNESS, Scale, Shape
from fechner.psychometrics.optimisation import SMALLEST_RATE, Likelihood, maximise

#: A top less than this above chance has no half-way to fall.
_ROOM = 0.05

#: Levels closer than this share of the range are the same.
_SAME = 1 / 2000

#: Of functions with fixed rates: F would rise from 0 to 1 in a hundred ranges, or in a 2000th of
#: one; and where the search starts, see `maximise`.
_FLATTEST, _STEEPEST = 0.01, 2000.0
_GRID = np.array(
    list(itertools.product(np.linspace(0.3, 0.7, 25), np.linspace(0.25, 0.85, 7), (0.0,)))
)

#: Of curves that fall: how far outside the tested range a threshold is sought, in lengths of the
#: range. The flattest would take so many ranges to fall; the steepest has z from -5 to 5 between
#: the two closest levels, where all steeper ones look the same and a step still has a most likely
#: place between them: half-way where chance is small.
_WIDEN = 0.5
_FALLING_RANGES, _FALLING_Z = 20.0, 10.0
_FALLING_GRID = np.array(
    list(itertools.product(np.linspace(0, 1, 17), np.linspace(0.2, 0.9, 5), (0.0, 1.0)))
)


class MaximumLikelihood(NamedTuple):
    """Most likely thresholds (where F = 0.5) and slopes, with the leading axes of the answers.

    ``censored`` is ``below`` or ``above`` if the threshold lies outside the tested levels,
    ``unknown`` if the answers do not rise with the level or nothing was asked, else empty; censored
    thresholds are NaN. The slope of answers that jump between two levels is infinite, and their
    threshold lies halfway.
    """

    threshold: Floats
    slope: Floats
    censored: NDArray[Any]
    log_likelihood: Floats


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
    functions.check_shape(shape, scale)
    functions.check_rates(guess, lapse)
    levels, n, k = functions.checked_answers(levels, n, k, scale)
    lead = n.shape[:-1]
    x, n, k = (each.reshape(-1, n.shape[-1]) for each in (functions.to_axis(levels, scale), n, k))
    if scale == "log" and guess == 0:
        n, k = (np.where(np.isfinite(x), each, 0.0) for each in (n, k))
    there = (n > 0) & np.isfinite(x)
    first, last = functions.tested_range(x, there)
    length = np.where(last > first, last - first, 1.0)
    censored = np.select(
        [~there.any(axis=1), (k == n).all(axis=1), (k == 0).all(axis=1)],
        ["unknown", "below", "above"],
        default="",
    )
    unit = functions.unit_of_z(shape, scale)
    slopes = np.array([_FLATTEST, _STEEPEST]) * unit / STEEPNESS[shape] / length[:, None]
    limits = _limits(first - length, last + length, slopes, (guess, guess), lapse)
    top, log_likelihood = np.full((len(x), 4), np.nan), np.full(len(x), np.nan)
    open_ = censored == ""
    if open_.any():
        likelihood = Likelihood(x[open_], k[open_], (n - k)[open_], shape, unit)
        top[open_], log_likelihood[open_] = maximise(likelihood, limits[open_], _GRID)
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
        threshold=np.where(fine, functions.from_axis(at, scale), np.nan).reshape(lead),
        slope=np.where(fine, np.where(steepest, np.inf, np.exp(top[:, 1])), np.nan).reshape(lead),
        censored=censored.reshape(lead),
        log_likelihood=log_likelihood.reshape(lead),
    )


@dataclass(frozen=True)
class Falling:
    """Curves that fall, with the leading axes of what was fitted.

    Parameters
    ----------
    threshold
        Level at which the curve is half-way between its top and chance; NaN if censored.
    slope
        As of `psychometric`. Answers that fall between two neighbouring levels have the steepest
        slope that can be told from others.
    top
        Accuracy at level 0, or at levels too weak to matter: 1 - miss rate.
    censored, bound
        ``above`` or ``below`` if the curve does not fall half-way within the tested levels (0 left
        out), and the level that it lies beyond; ``unknown`` if the top is less than 0.05 above
        chance or nothing was asked; else empty.
    tested
        The weakest level above 0 and the strongest that were asked, [.., 2].
    points
        Threshold on the axis, log slope, miss rate and chance, [.., 4]: where to start from when
        nearly the same answers are fitted.
    """

    threshold: Floats
    slope: Floats
    top: Floats
    censored: NDArray[Any]
    bound: Floats
    log_likelihood: Floats
    tested: Floats
    points: Floats
    chance: float
    shape: Shape
    scale: Scale

    def __getitem__(self, index: Any) -> Falling:
        """Return some of the curves, by an index into the leading axes."""
        arrays = {name: each for name, each in vars(self).items() if isinstance(each, np.ndarray)}
        parts: dict[str, Any] = {name: np.asarray(each[index]) for name, each in arrays.items()}
        return replace(self, **parts)

    def accuracy(self, levels: ArrayLike) -> Floats:
        """Return the probability of a right answer at levels [X], [.., X]."""
        at = self.points[..., None, :]
        own = (
            functions.from_axis(at[..., 0], self.scale),
            np.exp(at[..., 1]),
            at[..., 2],
            at[..., 3],
        )
        return np.asarray(
            1 - functions.psychometric(levels, *own, shape=self.shape, scale=self.scale)
        )

    def level_at(self, accuracy: float) -> tuple[Floats, NDArray[Any]]:
        """Return the level at which the curve has fallen to an accuracy, NaN if it is not tested.

        And whether it lies ``above`` (or is never reached) or ``below`` the tested levels, or is
        ``unknown`` since nothing was fitted; else empty.

        Examples
        --------
        >>> levels = [0, 1, 2, 4, 8, 16, 32]
        >>> found = fit_falling(levels, 40, [37, 36, 35, 30, 25, 20, 19], chance=0.5)
        >>> at, censored = found.level_at(0.75)
        >>> print(f"half-way at {found.threshold:.2f}, 75 % at {at:.2f}")
        half-way at 4.90, 75 % at 4.13
        """
        at = position_at(self.points, accuracy, self.shape, self.scale)
        return _within(at, self.tested, self.scale)


def fit_falling(
    levels: ArrayLike,
    n: ArrayLike,
    right: ArrayLike,
    *,
    chance: float,
    shape: Shape = "logistic",
    scale: Scale = "log",
    start: ArrayLike | None = None,
) -> Falling:
    """Fit curves that fall from a top to chance, by maximum likelihood.

    Estimates only: trials of one class share its picture, so an interval must come from the spread
    between classes (`fechner.scores.item_curves`), not from these counts.

    Parameters
    ----------
    levels, n, right
        Distances from the original, [L] or [.., L], trials, and right answers, [.., L]. On the log
        scale level 0, the original, is the top itself.
    chance
        Accuracy of an observer that guesses: 1 over the number of choices.
    shape, scale
        As for `fit`.
    start
        ``points`` of another fit to nearly the same answers, [4] or [.., 4], instead of a search.

    Examples
    --------
    >>> found = fit_falling([0, 1, 2, 4, 8, 16], 20, [19, 19, 17, 9, 3, 0], chance=0.001)
    >>> print(f"{found.threshold:.2f}, slope {found.slope:.1f}, top {found.top:.2f}")
    4.00, slope 6.8, top 0.96
    """
    functions.check_shape(shape, scale)
    if not 0 <= chance < 1 - _ROOM:
        raise FechnerError(f"chance must be a rate such as 1 / number of choices, not {chance}.")
    levels, n, right = functions.checked_answers(levels, n, right, scale)
    lead = n.shape[:-1]
    rows = (functions.to_axis(levels, scale), n, n - right)
    x, n, wrong = (each.reshape(-1, each.shape[-1]) for each in rows)
    there = (n > 0) & np.isfinite(x)
    known = np.asarray(there.any(axis=1))
    points, height = np.full((len(x), 4), np.nan), np.full(len(x), np.nan)
    first, last = functions.tested_range(x, there)
    length = np.where(last > first, last - first, 1.0)
    if known.any():
        unit = functions.unit_of_z(shape, scale)
        likelihood = Likelihood(x[known], wrong[known], (n - wrong)[known], shape, unit)
        begin = None if start is None else np.broadcast_to(start, (*lead, 4)).reshape(-1, 4)[known]
        low, high, size = first[known], last[known], length[known]
        flattest = unit / STEEPNESS[shape] / (_FALLING_RANGES * size)
        # Levels that were not asked go to the end of the row, where they are all the same.
        gaps = np.diff(np.sort(np.where(there, x, last[:, None])[known], axis=1), axis=1)
        closest = np.min(gaps, axis=1, initial=np.inf, where=gaps > _SAME * size[:, None])
        steepest = _FALLING_Z * unit / np.where(np.isfinite(closest), closest, size)
        limits = _limits(
            low - _WIDEN * size,
            high + _WIDEN * size,
            np.stack([flattest, steepest], axis=1),
            (SMALLEST_RATE, 1 - chance - 0.2 * _ROOM),
            chance,
        )
        points[known], height[known] = maximise(likelihood, limits, _FALLING_GRID, begin)
    tested = np.stack([first, last], axis=1)
    tested = np.where(known[:, None], functions.from_axis(tested, scale), np.nan).reshape(*lead, 2)
    points = points.reshape(*lead, 4)
    threshold, censored = _within(points[..., 0], tested, scale)
    # Nothing but right answers: wherever the search ended, the curve has not begun to fall.
    never = np.asarray(known & (wrong == 0).all(axis=1)).reshape(lead)
    flat_top = 1 - points[..., 2] - chance < _ROOM
    censored = np.where(never, "above", np.where(flat_top, "unknown", censored))
    ends = (tested[..., 0], tested[..., 1])
    return Falling(
        threshold=np.where(censored == "", threshold, np.nan),
        slope=np.asarray(np.exp(points[..., 1])),
        top=np.where(points[..., 2] <= 2 * SMALLEST_RATE, 1.0, 1 - points[..., 2]),
        censored=censored,
        bound=np.select([censored == "below", censored == "above"], ends, default=np.nan),
        log_likelihood=height.reshape(lead),
        tested=tested,
        points=points,
        chance=chance,
        shape=shape,
        scale=scale,
    )


def position_at(points: Floats, accuracy: float, shape: Shape, scale: Scale) -> Floats:
    """Return where, on the axis, curves with these points [.., 4] fall to an accuracy.

    Minus infinity where the top is lower already, infinity where they never fall so far.
    """
    top, chance = 1 - points[..., 2], points[..., 3]
    with np.errstate(divide="ignore"):
        fallen = np.clip((top - accuracy) / (top - chance), 0.0, 1.0)
        z = functions.inverse_share(fallen, shape)
    return np.asarray(
        points[..., 0] + z * functions.unit_of_z(shape, scale) * np.exp(-points[..., 1])
    )


def _within(at: Floats, tested: Floats, scale: Scale) -> tuple[Floats, NDArray[Any]]:
    """Return levels at positions on the axis, NaN outside the tested ones, and on which side."""
    ends = functions.to_axis(tested, scale)
    # A step at the weakest or strongest level may lie just outside.
    close = 1e-9 * (1 + np.abs(ends))
    below, above = at < ends[..., 0] - close[..., 0], at > ends[..., 1] + close[..., 1]
    censored = np.select([np.isnan(at), below, above], ["unknown", "below", "above"], default="")
    return np.where(censored == "", functions.from_axis(at, scale), np.nan), censored


def _limits(
    low: Floats, high: Floats, slopes: Floats, guess: tuple[float, float], lapse: float
) -> Floats:
    """Return the lowest and highest value of every parameter, [F, 4, 2]."""
    limits = np.empty((len(low), 4, 2))
    limits[:, 0] = np.stack([low, high], axis=1)
    limits[:, 1] = np.log(slopes)
    limits[:, 2], limits[:, 3] = guess, lapse
    return limits

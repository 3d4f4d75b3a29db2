"""Curves that fall from a top to chance as a picture is changed more and more.

P(right) = chance + (1 - chance - miss) (1 - F(level)). Turned round, P(wrong) is a psychometric
function whose guess rate is the miss rate at the top, and whose lapse rate is chance, which is
known; so it is fitted like any other, many at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import FechnerError
from fechner.psychometrics.functions import (
    STEEPNESS,
    check_shape,
    checked_answers,
    from_axis,
    inverse_share,
    psychometric,
    to_axis,
    unit_of_z,
)
from fechner.psychometrics.likelihood import SMALLEST_RATE, Hills

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape

    Floats = NDArray[np.float64]

#: A top less than this above chance has no half-way to fall.
_ROOM = 0.05

#: How far outside the tested range a threshold is sought, in lengths of the range.
_WIDEN = 0.5

#: The flattest curve would take so many ranges to fall; the steepest has z from -5 to 5 between the
#: two closest levels, where all steeper ones look the same and a step still has a most likely
#: place between them: half-way where chance is small.
_FLATTEST_RANGES = 20.0
_STEEPEST_Z = 10.0

#: Levels closer than this share of the range are the same.
_SAME = 1 / 2000

#: Nats by which a round must still raise a fit that starts from another: far below what resampling
#: the same answers changes, and half the rounds.
_RESAMPLED_GAIN = 1e-5

#: Where the search starts, [G, 4]: shares of the way between the limits of threshold and log slope,
#: and of the misses at the weakest levels.
_GRID = np.array(
    list(itertools.product(np.linspace(0, 1, 17), np.linspace(0.2, 0.9, 5), (0.0, 1.0), (0.0,)))
)

#: Rows that are looked at at once, to bound memory.
_ROWS = 8192


@dataclass(frozen=True)
class Falling:
    """Curves that fall, with the leading axes of what was fitted.

    Parameters
    ----------
    threshold
        Level at which the curve is half-way between its top and chance; NaN if censored.
    slope
        As of `psychometric` with the same shape and scale. Answers that fall between two
        neighbouring levels have the steepest slope that can be told from others.
    top
        Accuracy at level 0, or at levels too weak to matter: 1 - miss rate.
    censored
        ``above`` if the curve does not fall half-way within the tested levels, ``below`` if it has
        done so before the weakest of them (level 0 left out), ``unknown`` if the top is less than
        0.05 above chance or nothing was asked; else empty.
    bound
        Of censored thresholds the tested level that they lie above or below; NaN for others.
    log_likelihood
        Of the answers.
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
        parts: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                parts[field.name] = np.asarray(value[index])
        return replace(self, **parts)

    def accuracy(self, levels: ArrayLike) -> Floats:
        """Return the probability of a right answer at levels [X], [.., X]."""
        return falling_accuracy(levels, self.points[..., None, :], self.shape, self.scale)

    def level_at(self, accuracy: float) -> tuple[Floats, NDArray[Any]]:
        """Return the level at which the curve has fallen to an accuracy, and whether it is tested.

        The second is ``above`` if it falls so far beyond the strongest tested level only (or never,
        where the accuracy is at chance or below), ``below`` if it has done so before the weakest
        (or at once, where the accuracy is above the top), ``unknown`` where nothing was fitted,
        else empty; censored levels are NaN.

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
    between classes (`fechner.scores.response_curves`), not from these counts.

    Parameters
    ----------
    levels
        Distances from the original, [L] or [.., L]; leading axes are curves of their own. On the
        log scale level 0, the original, is the top itself.
    n, right
        Trials at each level, and right answers, [.., L]; both need not be whole.
    chance
        Accuracy of an observer that guesses: 1 over the number of choices.
    shape, scale
        As for `fit`. Curves that are symmetric over the logarithm of the level have the same
        threshold by ``logistic`` and ``normal``.
    start
        ``points`` of another fit to nearly the same answers, [4] or [.., 4], instead of a search.

    Examples
    --------
    >>> found = fit_falling([0, 1, 2, 4, 8, 16], 20, [19, 19, 17, 9, 3, 0], chance=0.001)
    >>> print(f"{found.threshold:.2f}, slope {found.slope:.1f}, top {found.top:.2f}")
    4.00, slope 6.8, top 0.96
    """
    check_shape(shape, scale)
    if not 0 <= chance < 1 - _ROOM:
        raise FechnerError(f"chance is a rate such as 1 / number of choices, not {chance}.")
    levels, n, right = checked_answers(levels, n, right, scale)
    lead = n.shape[:-1]
    flat = (to_axis(levels, scale), n, n - right)
    x, n, wrong = (each.reshape(-1, each.shape[-1]) for each in flat)
    there = (n > 0) & np.isfinite(x)
    known = np.asarray(there.any(axis=1))
    first = np.min(x, axis=1, initial=np.inf, where=there)
    last = np.max(x, axis=1, initial=-np.inf, where=there)
    points, height = np.full((len(x), 4), np.nan), np.full(len(x), np.nan)
    if known.any():
        hills = Hills(
            positions=x[known],
            yes=wrong[known],
            no=(n - wrong)[known],
            shape=shape,
            unit=unit_of_z(shape, scale),
            limits=_limits(x[known], there[known], chance, shape, scale),
        )
        begin = None if start is None else np.broadcast_to(start, (*lead, 4)).reshape(-1, 4)[known]
        points[known], height[known] = _highest(hills, begin)
    tested = np.stack([first, last], axis=1)
    tested = np.where(known[:, None], from_axis(tested, scale), np.nan).reshape(*lead, 2)
    points = points.reshape(*lead, 4)
    threshold, censored = _within(points[..., 0], tested, scale)
    # Nothing but right answers: wherever the climb ended, the curve has not begun to fall.
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


def falling_accuracy(levels: ArrayLike, points: Floats, shape: Shape, scale: Scale) -> Floats:
    """Return the probability of a right answer for ``points`` of fits, [.., 4] without its axis."""
    threshold = from_axis(points[..., 0], scale)
    wrong = psychometric(
        levels,
        threshold,
        np.exp(points[..., 1]),
        points[..., 2],
        points[..., 3],
        shape=shape,
        scale=scale,
    )
    return np.asarray(1 - wrong)


def position_at(points: Floats, accuracy: float, shape: Shape, scale: Scale) -> Floats:
    """Return where, on the axis, curves with these points [.., 4] fall to an accuracy.

    Minus infinity where the top is lower already, infinity where they never fall so far.
    """
    top, chance = 1 - points[..., 2], points[..., 3]
    with np.errstate(divide="ignore"):
        fallen = np.clip((top - accuracy) / (top - chance), 0.0, 1.0)
        z = inverse_share(fallen, shape)
    return np.asarray(points[..., 0] + z * unit_of_z(shape, scale) * np.exp(-points[..., 1]))


def _within(at: Floats, tested: Floats, scale: Scale) -> tuple[Floats, NDArray[Any]]:
    """Return levels at positions on the axis, NaN outside the tested ones, and on which side."""
    ends = to_axis(tested, scale)
    # A step at the weakest or strongest level may lie just outside.
    close = 1e-9 * (1 + np.abs(ends))
    below, above = at < ends[..., 0] - close[..., 0], at > ends[..., 1] + close[..., 1]
    censored = np.select([np.isnan(at), below, above], ["unknown", "below", "above"], default="")
    return np.where(censored == "", from_axis(at, scale), np.nan), censored


def _limits(
    x: Floats, there: NDArray[np.bool_], chance: float, shape: Shape, scale: Scale
) -> Floats:
    """Return the lowest and highest value of every parameter, [F, 4, 2]."""
    first = np.min(x, axis=1, initial=np.inf, where=there)
    last = np.max(x, axis=1, initial=-np.inf, where=there)
    length = np.where(last > first, last - first, 1.0)
    # Those that were not asked go to the end of the row, where they are all the same.
    gaps = np.diff(np.sort(np.where(there, x, last[:, None]), axis=1), axis=1)
    closest = np.min(gaps, axis=1, initial=np.inf, where=gaps > _SAME * length[:, None])
    closest = np.where(np.isfinite(closest), closest, length)
    unit = unit_of_z(shape, scale)
    limits = np.empty((len(x), 4, 2))
    limits[:, 0] = np.stack([first - _WIDEN * length, last + _WIDEN * length], axis=1)
    flattest = unit / STEEPNESS[shape] / (_FLATTEST_RANGES * length)
    limits[:, 1] = np.log(np.stack([flattest, _STEEPEST_Z * unit / closest], axis=1))
    limits[:, 2] = SMALLEST_RATE, 1 - chance - 0.2 * _ROOM
    limits[:, 3] = chance
    return limits


def _highest(hills: Hills, start: Floats | None) -> tuple[Floats, Floats]:
    """Climb from the start, or from the best point of a coarse grid."""
    limits = hills.limits
    longest = np.tile([0.0, 1.0, 0.1, 0.0], (len(limits), 1))
    longest[:, 0] = (limits[:, 0, 1] - limits[:, 0, 0]) / 12
    if start is not None:
        return hills.climb(start, longest, _RESAMPLED_GAIN)
    count = len(_GRID)
    begin = np.empty((len(limits), 4))
    for some in np.array_split(np.arange(len(limits)), -(-len(limits) * count // _ROWS)):
        rows: dict[str, Any] = {
            name: np.repeat(getattr(hills, name)[some], count, axis=0)
            for name in ("positions", "yes", "no", "limits")
        }
        trial = limits[some, None, :, 0] * (1 - _GRID) + limits[some, None, :, 1] * _GRID
        misses = _GRID[:, 2] * _missed(hills, some)[:, None]
        trial[..., 2] = np.clip(misses, limits[some, None, 2, 0], limits[some, None, 2, 1])
        height = replace(hills, **rows).height(trial.reshape(-1, 4)).reshape(-1, count)
        begin[some] = trial[np.arange(len(some)), height.argmax(axis=1)]
    return hills.climb(begin, longest)


def _missed(hills: Hills, some: NDArray[np.intp]) -> Floats:
    """Return the rate of wrong answers in the weakest third of the trials."""
    wrong, asked = hills.yes[some], (hills.yes + hills.no)[some]
    order = np.argsort(np.where(asked > 0, hills.positions[some], np.inf), axis=1)
    wrong, asked = (np.take_along_axis(each, order, axis=1) for each in (wrong, asked))
    before = np.cumsum(asked, axis=1) - asked
    weakest = (before < asked.sum(axis=1, keepdims=True) / 3) & (asked > 0)
    return np.asarray((wrong * weakest).sum(axis=1) / (asked * weakest).sum(axis=1))

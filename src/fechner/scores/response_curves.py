"""Item-response curves: accuracy of many classes over the level, and where it has fallen.

Trials of one class share its picture, so they are not independent: a deterministic network is
right up to some level and wrong beyond it, and the curve over all classes is the distribution of
these steps. So whatever is said of a curve is resampled over classes, never over trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.errors import FechnerError
from fechner.scores.bootstrap import cluster_counts
from fechner.scores.rates import wilson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Neighbouring levels that the published curves are averaged over.
PUBLISHED_WINDOW = 15

#: Areas that differ by less are the same.
_ROUNDING = 1e-9


class Counts(NamedTuple):
    """Distinct levels [L], and trials and right answers of every class, [classes, L]."""

    levels: Floats
    n: Floats
    right: Floats


class Located(NamedTuple):
    """A level with its 95 % interval over classes.

    ``censored`` is ``above`` or ``below`` if it lies outside the tested levels, ``unknown`` if
    there is none, else empty; the value is then NaN, ``bound`` the end of the tested levels that it
    lies beyond, and the interval is open on that side (0 or infinity).
    """

    value: float
    low: float
    high: float
    censored: str
    bound: float


@dataclass(frozen=True)
class PooledCurve:
    """Mean accuracy over classes at every level, [L]; NaN where nobody was asked.

    Parameters
    ----------
    wilson_low, wilson_high
        95 % interval of a rate with as many trials: for one trial a class and level.
    low, high
        Percentiles of bootstrap samples over classes, which are wider where a class has several
        trials at a level that go together. No width where all classes are alike, 0 or 1 above all.
    smoothed
        Mean over `PUBLISHED_WINDOW` neighbouring levels, as published; to look at only.
    """

    levels: Floats
    accuracy: Floats
    wilson_low: Floats
    wilson_high: Floats
    low: Floats
    high: Floats
    smoothed: Floats


def counted(class_of: ArrayLike, level: ArrayLike, right: ArrayLike, classes: int) -> Counts:
    """Count a table of trials; those without an answer (NaN) are left out.

    Examples
    --------
    >>> found = counted([0, 0, 1, 1], [0.0, 2.0, 0.0, 2.0], [1, 0, 1, np.nan], classes=2)
    >>> found.levels.tolist(), found.n.tolist(), found.right.tolist()
    ([0.0, 2.0], [[1.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]])
    """
    right = np.asarray(right, dtype=float)
    levels, place = np.unique(np.asarray(level, dtype=float), return_inverse=True)
    answered = np.isfinite(right)
    cell = (np.asarray(class_of, dtype=np.intp) * len(levels) + place)[answered]
    size, shape = classes * len(levels), (classes, len(levels))
    if len(cell) and not 0 <= cell.min() <= cell.max() < size:
        raise FechnerError(f"a trial names a class that is not one of the {classes}.")
    n = np.bincount(cell, minlength=size).reshape(shape).astype(float)
    total = np.bincount(cell, right[answered], size).reshape(shape)
    return Counts(levels, n, np.asarray(total, dtype=float))


def pooled_curve(levels: ArrayLike, n: ArrayLike, right: ArrayLike) -> PooledCurve:
    """Average over classes, with intervals.

    Parameters
    ----------
    levels
        [L]; the original is level 0.
    n, right
        Trials and right answers, [classes, L].

    Examples
    --------
    >>> steps = [[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> pooled_curve([0, 1, 2], np.ones((4, 3)), steps).accuracy.tolist()
    [1.0, 0.75, 0.25]
    """
    levels, n, right = checked_counts(levels, n, right)
    rate = _rates(n, right)
    accuracy, trials = _mean(rate, np.ones((1, len(n))))[0], n.sum(axis=0)
    ends = np.full((2, len(levels)), np.nan)
    for i in np.flatnonzero(trials > 0):
        ends[:, i] = wilson(accuracy[i] * trials[i], trials[i])
    low, high = np.full((2, len(levels)), np.nan)
    if len(n) > 1:
        resampled = _mean(rate, cluster_counts(len(n)))
        some = np.isfinite(accuracy)
        low[some], high[some] = np.nanpercentile(resampled[:, some], (2.5, 97.5), axis=0)
    return PooledCurve(
        levels=levels,
        accuracy=accuracy,
        wilson_low=np.clip(ends[0], 0.0, accuracy),
        wilson_high=np.clip(ends[1], accuracy, 1.0),
        low=low,
        high=high,
        smoothed=smoothed(accuracy),
    )


def smoothed(values: ArrayLike, window: int = PUBLISHED_WINDOW) -> Floats:
    """Return the mean over neighbours in a rectangular window; the ends are repeated beyond them.

    As the published curves are drawn; thresholds are never fitted to it.

    Examples
    --------
    >>> smoothed([0, 0, 3, 0, 0], window=3).tolist()
    [0.0, 1.0, 1.0, 1.0, 0.0]
    """
    if window < 1 or window % 2 == 0:
        raise FechnerError(f"a window has an odd number of levels, not {window}.")
    padded = np.pad(np.asarray(values, dtype=float), window // 2, mode="edge")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, window).mean(axis=-1))


def class_areas(
    levels: ArrayLike,
    n: ArrayLike,
    right: ArrayLike,
    *,
    chance: float,
    span: tuple[float, float] = (0.0, np.inf),
) -> Floats:
    """Return each class's mean chance-corrected accuracy over log level, [classes].

    1 is right at all levels, 0 is chance, by the trapezoid rule from the weakest level above 0 to
    the strongest, or over the part of them that a span leaves; levels at which a class was not
    asked are bridged. NaN with fewer than two.

    Examples
    --------
    >>> steps = np.array([[1, 1, 1, 0]])
    >>> class_areas([0, 1, 10, 100], np.ones((1, 4)), steps, chance=0.0).tolist()
    [0.75]
    >>> class_areas([0, 1, 10, 100], np.ones((1, 4)), steps, chance=0.0, span=(1, 10)).tolist()
    [1.0]
    """
    levels, n, right = checked_counts(levels, n, right)
    with np.errstate(divide="ignore"):
        first, last = np.log(span)
    found = np.full(len(n), np.nan)
    for i, rate in enumerate(_rates(n, right)):
        asked = (levels > 0) & np.isfinite(rate)
        if asked.sum() > 1:
            order = np.argsort(levels[asked])
            x, y = np.log(levels[asked])[order], (rate[asked][order] - chance) / (1 - chance)
            within = np.clip(x, first, last)
            if within[-1] > within[0]:
                found[i] = np.trapezoid(np.interp(within, x, y), within) / (within[-1] - within[0])
    return found


def area_interval(areas: Floats, least: float = 0.0) -> tuple[float, float]:
    """Return the 95 % interval of a mean area over classes: Student's t.

    Classes that all agree do not make it certain: as many others as Wilson's interval allows may be
    wrong at all levels, or right at all. Of one class there is none.

    Parameters
    ----------
    areas
        [classes]; differences of two areas of each class have such an interval too.
    least
        What they are at least: -chance / (1 - chance), or -1 for differences. At most they are 1.

    Examples
    --------
    >>> [round(end, 3) for end in area_interval(np.array([0.2, 0.4, 0.3]))]
    [0.052, 0.548]
    >>> [round(end, 3) for end in area_interval(np.ones(40))]
    [0.912, 1.0]
    >>> [round(end, 3) for end in area_interval(np.zeros(40), least=-1.0)]
    [-0.088, 0.088]
    """
    from scipy.special import stdtrit

    classes = len(areas)
    if classes < 2:
        return float("nan"), float("nan")
    value = areas.mean()
    if np.ptp(areas) < _ROUNDING:
        others = 1 - wilson(classes, classes)[0]
        return float(value - others * (value - least)), float(value + others * (1 - value))
    half = stdtrit(classes - 1, 0.975) * areas.std(ddof=1) / np.sqrt(classes)
    return float(max(value - half, least)), float(min(value + half, 1.0))


def checked_counts(
    levels: ArrayLike, n: ArrayLike, right: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return levels [L] and counts [classes, L], or say what is wrong with them."""
    levels, n, right = (np.asarray(each, dtype=float) for each in (levels, n, right))
    if levels.ndim != 1 or n.ndim != 2 or n.shape != right.shape or n.shape[1] != len(levels):
        raise FechnerError(
            f"counts are by class and level: levels {levels.shape}, n {n.shape} and right "
            f"{right.shape} do not fit together."
        )
    if not ((right >= 0) & (right <= n)).all():
        raise FechnerError("right answers must lie between 0 and the number of trials.")
    return levels, n, right


def _rates(n: Floats, right: Floats) -> Floats:
    """Return accuracies of classes, NaN where they were not asked."""
    return np.where(n > 0, right / np.where(n > 0, n, 1.0), np.nan)


def _mean(rate: Floats, counts: Floats) -> Floats:
    """Return means over classes, [resamples, L], of rates [classes, L] that occur so often."""
    there = np.isfinite(rate)
    asked = counts @ there
    total = counts @ np.where(there, rate, 0.0)
    return np.where(asked > 0, total / np.where(asked > 0, asked, 1.0), np.nan)

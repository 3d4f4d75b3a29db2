"""Where item-response curves have fallen: thresholds with intervals over classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.bootstrap import RESAMPLES, cluster_counts
from fechner.scores.response_curves import Located, checked_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics import Fit, Scale, Shape
    from fechner.psychometrics.falling import Falling

    Floats = NDArray[np.float64]

#: What a class misses of its own picture as it is, beforehand: rarely anything.
_MISS = (1.0, 10.0)

#: Share of resamples without a level from which an interval is open.
_OPEN = 0.025


@dataclass(frozen=True)
class PooledFit:
    """The curve that all classes together follow, and the same on bootstrap samples of classes.

    Parameters
    ----------
    fit
        The curve.
    resampled
        ``points`` of the fits on bootstrap samples over classes, [resamples, 4]; samples follow
        from the number of classes alone, so two observers' are paired. For one class, draws of the
        posterior of `fit` instead.
    classes
        How many there are.
    """

    fit: Falling
    resampled: Floats
    classes: int

    @property
    def threshold(self) -> Located:
        """The level half-way between top and chance."""
        at = self.fit.points[..., 0]
        return self._located(at, self.resampled[:, 0], str(self.fit.censored))

    def level_at(self, accuracy: float) -> Located:
        """Return the level at which the curve has fallen to an accuracy."""
        from fechner.psychometrics.falling import position_at

        censored = str(self.fit.level_at(accuracy)[1])
        at, drawn = (
            position_at(points, accuracy, self.fit.shape, self.fit.scale)
            for points in (self.fit.points, self.resampled)
        )
        return self._located(at, drawn, censored)

    def _located(self, at: Floats, drawn: Floats, censored: str) -> Located:
        from scipy.special import stdtrit

        from fechner.psychometrics.functions import from_axis, to_axis

        if censored == "unknown":
            return Located(*3 * (float("nan"),), censored, float("nan"))
        finite = np.isfinite(drawn)
        scale = self.fit.scale
        first, last = (float(end) for end in self.fit.tested)
        if self.classes == 1:
            low, high = np.quantile(drawn[finite], (0.025, 0.975)) if finite.any() else (at, at)
        else:
            error = drawn[finite].std() if finite.any() else 0.0
            spread = error * np.sqrt(self.classes / (self.classes - 1))
            half = float(stdtrit(self.classes - 1, 0.975)) * spread
            # Where the curve itself has no such level, the end of the tested ones stands in.
            centre = np.clip(at, *to_axis(np.array([first, last]), scale))
            low, high = centre - half, centre + half
        ends = from_axis(np.array([low, high], dtype=float), scale)
        low, high = float(ends[0]), float(ends[1])
        none = 0.0 if scale == "log" else -np.inf
        low = none if censored == "below" or np.mean(drawn == -np.inf) > _OPEN else low
        high = np.inf if censored == "above" or np.mean(drawn == np.inf) > _OPEN else high
        if censored:
            return Located(
                float("nan"), low, high, censored, last if censored == "above" else first
            )
        return Located(float(from_axis(at, scale)), low, high, "", float("nan"))


def pooled_fit(
    levels: ArrayLike,
    n: ArrayLike,
    right: ArrayLike,
    *,
    chance: float,
    shape: Shape = "logistic",
    scale: Scale = "log",
    resamples: int = RESAMPLES,
) -> PooledFit:
    """Fit the curve over all classes to the raw counts, and refit it on bootstrap samples.

    Parameters
    ----------
    levels, n, right
        [L], and [classes, L]: as counted, never smoothed.
    resamples
        Bootstrap samples.
    """
    from fechner.psychometrics.falling import fit_falling

    levels, n, right = checked_counts(levels, n, right)
    how: dict[str, Any] = {"chance": chance, "shape": shape, "scale": scale}
    found = fit_falling(levels, n.sum(axis=0), right.sum(axis=0), **how)
    if not np.isfinite(found.points).all():
        return PooledFit(found, np.full((1, 4), np.nan), len(n))
    if len(n) == 1:
        drawn = class_fits(levels, n, right, **how).draws[0]
        return PooledFit(found, drawn, 1)
    counts = cluster_counts(len(n), resamples)
    again = fit_falling(levels, counts @ n, counts @ right, start=found.points, **how)
    return PooledFit(found, again.points, len(n))


def class_fits(
    levels: ArrayLike,
    n: ArrayLike,
    right: ArrayLike,
    *,
    chance: float,
    shape: Shape = "logistic",
    scale: Scale = "log",
) -> Fit:
    """Fit every class by itself, with the binomial credible interval of `fit`.

    What rises is P(wrong), so ``guess`` is the miss rate at the top and ``lapse`` is chance.
    """
    from fechner.psychometrics import Prior, fit

    levels, n, right = checked_counts(levels, n, right)
    prior = Prior(guess=_MISS)
    return fit(levels, n, n - right, shape=shape, scale=scale, lapse=chance, prior=prior)


def mean_threshold(classes: Fit) -> Located:
    """Return the geometric mean of class thresholds, with a t interval over classes.

    For adaptive trials, which gather at each class's own threshold: pooled by level they would say
    that every level is half-way. Thresholds beyond the tested levels enter at their end; classes
    without one are left out.
    """
    from scipy.special import stdtrit

    from fechner.psychometrics.functions import from_axis, to_axis

    asked = (classes.n > 0) & np.isfinite(to_axis(classes.levels, classes.scale))
    first = float(np.min(classes.levels, initial=np.inf, where=asked))
    last = float(np.max(classes.levels, initial=-np.inf, where=asked))
    at = np.select(
        [classes.censored == "below", classes.censored == "above"], [first, last], classes.threshold
    )
    beyond = {side: np.mean(classes.censored == side) for side in ("below", "above")}
    x = to_axis(at[np.isfinite(at)], classes.scale)
    if len(x) == 0:
        return Located(*3 * (float("nan"),), "unknown", float("nan"))
    half = np.nan
    if len(x) > 1:
        half = float(stdtrit(len(x) - 1, 0.975)) * x.std(ddof=1) / np.sqrt(len(x))
    value, low, high = (
        float(from_axis(np.asarray(x.mean() + step), classes.scale)) for step in (0.0, -half, half)
    )
    if beyond["above"] > 0.5:
        return Located(float("nan"), low, np.inf, "above", last)
    if beyond["below"] > 0.5:
        return Located(float("nan"), 0.0, high, "below", first)
    return Located(value, low, high, "", float("nan"))

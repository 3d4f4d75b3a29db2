"""The likelihood of answers of many classes whose own thresholds are summed out.

Parameters are always in this order: mean and log standard deviation of log10 thresholds, log slope
per decade, logit of the share of misses, logit of the share of classes that are never recognised.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from fechner.psychometrics.functions import to_axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: A top less than this above chance has no half-way to fall.
ROOM = 0.05

#: Step of numeric derivatives, and the least curvature.
STEP, _FLAT = 1e-4, 1e-6

#: How far outside the tested range thresholds are sought, in lengths of the range.
_WIDEN = 0.5

#: Nodes between the two closest levels, and within the tested range at least and at most.
_PER_GAP, _FEWEST, _MOST = 2, 60, 200

#: The flattest curve takes so many ranges to fall; the steepest has z from -10 to 10 between the
#: two closest levels, where all steeper ones look the same.
_FLATTEST_RANGES = 5.0
_STEEPEST_Z = 20.0

#: Levels closer than this share of the range are the same.
_SAME = 1 / 2000

#: The smallest and largest share of classes that are never recognised, and the smallest miss rate.
_RAREST, _MOST_NEVER, _FEWEST_MISSES = 1e-5, 1 - 1e-5, 1e-5

#: Where the search starts: places of the mean and sizes of the spread, in lengths of the range,
#: shares of the way between the limits of log slope, misses, and classes never recognised.
_PLACES, _SPREADS = np.linspace(0, 1, 13), (0.02, 0.1, 0.25)
_SLOPES, _MISSES, _NEVERS = (0.35, 0.6, 0.95), (0.005, 0.1), (0.01, 0.2)

#: Means that are tried for the end of an interval.
_MEANS = 61

#: About how far parameters change the likelihood alike: mean, log spread, log slope, two logits.
_UNITS = np.array([0.1, 0.5, 0.3, 1.0, 1.0])


class Classes(NamedTuple):
    """Of every class: gradient [C, 5], posterior of the nodes [C, nodes], P(recognised) [C]."""

    scores: Floats
    posterior: Floats
    recognised: Floats


@dataclass(frozen=True)
class Marginal:
    """The likelihood of a population with the thresholds of classes summed out.

    Parameters
    ----------
    positions
        Log10 levels, minus infinity for the original, [L].
    right, wrong
        Answers, [classes, L].
    ends
        Log10 of the weakest level above 0 and of the strongest that were asked about.
    span
        The same of where areas begin and end.
    nodes
        Log10 thresholds over which is summed.
    limits
        Lowest and highest value of each parameter, [5, 2].
    guessed
        Log likelihood of each class if it is never recognised.
    """

    positions: Floats
    right: Floats
    wrong: Floats
    chance: float
    ends: tuple[float, float]
    span: tuple[float, float]
    nodes: Floats
    limits: Floats
    guessed: Floats

    @classmethod
    def of(
        cls,
        levels: Floats,
        n: Floats,
        right: Floats,
        chance: float,
        span: tuple[float, float],
    ) -> Marginal:
        """Prepare for answers of which some are about a level above 0."""
        asked = (n > 0).any(axis=0)
        levels, n, right = levels[asked], n[:, asked], right[:, asked]
        x = to_axis(levels, "log")
        there = np.unique(x[np.isfinite(x)])
        first, last = there[0], there[-1]
        length = last - first if last > first else 1.0
        gaps = np.diff(there)
        closest = float(np.min(gaps, initial=length, where=gaps > _SAME * length))
        wide = first - _WIDEN * length, last + _WIDEN * length
        # Half a node from levels that are evenly spaced, so that steps lean to neither side.
        step = max(min(length / _FEWEST, closest / _PER_GAP), length / _MOST)
        count = int(np.ceil(_WIDEN * length / step))
        nodes = first + step * (np.arange(-count, count + round(length / step)) + 0.5)
        largest_miss = 1 - ROOM / (1 - chance)
        limits = np.array(
            [
                wide,
                np.log([0.8 * step, length]),
                np.log([4 / (_FLATTEST_RANGES * length), _STEEPEST_Z / closest]),
                special.logit([_FEWEST_MISSES, largest_miss]),
                special.logit([_RAREST, _MOST_NEVER]),
            ]
        )
        wrong = n - right
        guessed = special.xlogy(right, chance).sum(axis=1) + wrong.sum(axis=1) * np.log1p(-chance)
        return cls(
            positions=x,
            right=right,
            wrong=wrong,
            chance=chance,
            ends=(first, last),
            span=(float(np.log10(span[0])), float(np.log10(span[1]))),
            nodes=nodes,
            limits=limits,
            guessed=guessed,
        )

    def _tables(self, log_slope: float, logit_miss: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return P(right), P(wrong) and their change with log slope and logit of misses."""
        z = np.exp(log_slope) * (self.positions - self.nodes[:, None])
        miss = special.expit(logit_miss)
        rest, fallen = special.expit(-z), special.expit(z)
        c = self.chance
        p = c + (1 - c) * (1 - miss) * rest
        q = (1 - c) * (miss + (1 - miss) * fallen)
        with np.errstate(invalid="ignore"):
            steeper = np.where(np.isfinite(z), -(1 - c) * (1 - miss) * rest * fallen * z, 0.0)
        missed = -(1 - c) * rest * miss * (1 - miss)
        return np.maximum(p, 1e-12), np.maximum(q, 1e-12), steeper, missed

    def log_weights(self, mean: float, log_spread: float) -> Floats:
        """Return log shares of the nodes."""
        log_w = -0.5 * ((self.nodes - mean) / np.exp(log_spread)) ** 2
        return np.asarray(log_w - special.logsumexp(log_w))

    def cost(self, at: Floats) -> tuple[float, Floats]:
        """Return the log likelihood and its gradient, both negative, for a minimiser."""
        p, q, *changes = self._tables(at[2], at[3])
        log_w = self.log_weights(at[0], at[1])
        joint = self.right @ np.log(p).T + self.wrong @ np.log(q).T + log_w
        height, recognised, posterior = self._summed(joint, at[4])
        post = recognised @ posterior
        weighted = posterior * recognised[:, None]
        ratio = (weighted.T @ self.right) / p - (weighted.T @ self.wrong) / q
        total = recognised.sum()
        z = (self.nodes - at[0]) / np.exp(at[1])
        excess = post - total * np.exp(log_w)
        gradient = [
            excess @ z / np.exp(at[1]),
            excess @ z**2,
            *((ratio * change).sum() for change in changes),
            len(recognised) * (1 - special.expit(at[4])) - total,
        ]
        return -float(height.sum()), -np.array(gradient)

    def _summed(self, joint: Floats, logit_never: float) -> tuple[Floats, Floats, Floats]:
        """Sum thresholds out: log likelihoods, P(recognised), posterior of the nodes."""
        top = joint.max(axis=1, keepdims=True)
        share = np.exp(joint - top)
        total = share.sum(axis=1, keepdims=True)
        known = (top + np.log(total))[:, 0] + special.log_expit(-logit_never)
        height = np.logaddexp(known, self.guessed + special.log_expit(logit_never))
        return height, np.exp(known - height), share / total

    def classes(self, at: Floats) -> Classes:
        """Return what is known of every class."""
        p, q, *changes = self._tables(at[2], at[3])
        log_w = self.log_weights(at[0], at[1])
        joint = self.right @ np.log(p).T + self.wrong @ np.log(q).T + log_w
        _, recognised, posterior = self._summed(joint, at[4])
        z = (self.nodes - at[0]) / np.exp(at[1])
        excess = posterior - np.exp(log_w)
        scores = [excess @ z / np.exp(at[1]), excess @ z**2]
        for change in changes:
            each = self.right @ (change / p).T - self.wrong @ (change / q).T
            scores.append((posterior * each).sum(axis=1))
        scores = [recognised * score for score in scores]
        scores.append(1 - recognised - special.expit(at[4]))
        return Classes(np.stack(scores, axis=1), posterior, recognised)

    def highest(self) -> Floats:
        """Climb from the best points of a coarse grid."""
        from scipy import optimize

        def scaled(at: Floats) -> tuple[float, Floats]:
            height, gradient = self.cost(at * _UNITS)
            return height, gradient * _UNITS

        ends = []
        for start in self._starts():
            found = optimize.minimize(
                scaled,
                start / _UNITS,
                jac=True,
                method="L-BFGS-B",
                bounds=self.limits / _UNITS[:, None],
                options={"maxiter": 200, "ftol": 1e-9, "gtol": 1e-3},
            )
            ends.append((found.fun, found.x * _UNITS))
        return np.asarray(min(ends, key=lambda end: end[0])[1])

    def _starts(self) -> list[Floats]:
        """Return the best point of a coarse grid, and the best with another slope."""
        first, last = self.nodes[[0, -1]]
        length = (last - first) / (1 + 2 * _WIDEN)
        places = first + (_WIDEN + _PLACES) * length
        means, spreads = (
            each.ravel() for each in np.meshgrid(places, np.log(np.array(_SPREADS) * length))
        )
        spreads = np.clip(spreads, *self.limits[1])
        log_w = np.stack([self.log_weights(m, s) for m, s in zip(means, spreads, strict=True)])
        found: list[tuple[float, Floats]] = []
        for share, miss in itertools.product(_SLOPES, special.logit(_MISSES)):
            slope = self.limits[2] @ [1 - share, share]
            p, q, *_ = self._tables(slope, miss)
            alone = self.right @ np.log(p).T + self.wrong @ np.log(q).T
            top = alone.max(axis=1, keepdims=True)
            known = top + np.log(np.exp(alone - top) @ np.exp(log_w).T + 1e-300)
            for never in special.logit(_NEVERS):
                guessing = (self.guessed + special.log_expit(never))[:, None]
                height = np.logaddexp(known + special.log_expit(-never), guessing).sum(axis=0)
                i = int(height.argmax())
                start = np.array([means[i], spreads[i], slope, miss, never])
                found.append((float(height[i]), start))
        found.sort(key=lambda each: -each[0])
        best = found[0][1]
        return [best, next(start for _, start in found if start[2] != best[2])]

    def inverse_bend(self, at: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return which parameters are free, and the inverse of the information on them.

        Those at their limits (no misses, the steepest slope) are taken for known.
        """
        inside = np.abs(at[:, None] - self.limits).min(axis=1) > 10 * STEP
        # The mean is what it is for.
        inside[0] = True
        free = np.flatnonzero(inside)
        moves = STEP * np.eye(len(at))[free]
        rows = [(self.cost(at + move)[1] - self.cost(at - move)[1])[free] for move in moves]
        bend = np.array(rows) / (2 * STEP)
        values, axes = np.linalg.eigh((bend + bend.T) / 2)
        return free, np.asarray((axes / np.maximum(values, _FLAT)) @ axes.T)

    def likely_means(self, at: Floats, far: float) -> Floats:
        """Return means among the tested levels that are nearly as likely, the others as they are.

        By so many standard errors, as a likelihood ratio has them; the end nearest to the mean if
        there are none.
        """
        means = np.linspace(*self.ends, _MEANS)
        cost = np.array([self.cost(np.concatenate([[mean], at[1:]]))[0] for mean in means])
        likely = cost - self.cost(at)[0] <= far**2 / 2
        return means[likely] if likely.any() else np.clip(at[:1], *self.ends)

    def areas(self, at: Floats) -> Floats:
        """Return chance-corrected accuracy averaged over the span, for each node."""
        slope = np.exp(at[2])
        first, last = self.span
        # The integral of a logistic.
        z = slope * (np.array([[first], [last]]) - self.nodes)
        full = np.logaddexp(0, -z[0]) - np.logaddexp(0, -z[1])
        share = full / (z[1] - z[0]) if last > first else special.expit(-z[0])
        return np.asarray((1 - special.expit(at[3])) * share)

    def mean_area(self, at: Floats) -> float:
        """Return the mean over all classes there could be."""
        weights = np.exp(self.log_weights(at[0], at[1]))
        return float(special.expit(-at[4]) * (weights @ self.areas(at)))

"""Thresholds of many classes that differ, fitted together: the population, and each class.

A class is either never recognised, and then guesses, or has a threshold of its own, normal in the
logarithm of the level over classes; slope and miss rate are common to all. The likelihood of all
answers is a sum over classes in which their thresholds are summed out on a fixed grid. Levels may
be chosen trial by trial: they follow from earlier answers, so the likelihood is the same.

Parameters are always in this order: mean and log standard deviation of log10 thresholds, log slope
per decade, logit of the share of misses, logit of the share of classes that are never recognised.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from fechner.arrays import Floats
from fechner.errors import FechnerError
from fechner.psychometrics.fitting import fit
from fechner.psychometrics.functions import Prior, checked_answers, psychometric, to_axis

#: A top less than this above chance has no half-way to fall.
_ROOM = 0.05

#: Step of numeric derivatives, and the least curvature.
_STEP, _FLAT = 1e-4, 1e-6

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

#: What one class misses of its own picture as it is, beforehand: rarely anything.
_MISS = (1.0, 10.0)

#: Share of the variance by the curvature of the likelihood that the one between classes has at
#: least: with more of it, intervals over 10 classes that are all alike hold too often.
_AT_LEAST = 0.5

#: The longest half of an interval.
_WIDEST_DECADES = 100.0

#: Levels over which one curve is averaged.
_FINE = 400


@dataclass(frozen=True)
class Population:
    """What is common to classes, and what each has for itself, [classes].

    Parameters
    ----------
    threshold, low, high
        Level half-way between top and chance over the classes that are ever recognised, NaN if
        censored, and its 95 % interval over classes, open (0, infinity) where it is censored.
    censored, bound
        ``above`` or ``below`` if it lies outside the tested levels, and the level that it lies
        beyond; ``unknown`` if there is nothing to fall; else empty.
    spread_decades, slope
        Standard deviation of log10 thresholds over classes; slope of each class, per decade.
    miss, never
        Rate of wrong answers about the original, of classes that are recognised; share of those
        that are not.
    log_thresholds, never_recognised, areas
        Of each class: posterior mean of the log10 threshold, if it is ever recognised, probability
        that it is not, and posterior mean of its chance-corrected accuracy over log level.
    pseudo_areas
        Jackknife pseudo-values of the mean area: their spread over classes is its standard error,
        which posterior means, drawn towards each other, would make too small.
    nodes, weights
        Log10 thresholds, and how frequent they are among classes that are recognised.
    """

    threshold: float
    low: float
    high: float
    censored: str
    bound: float
    spread_decades: float
    slope: float
    miss: float
    never: float
    log_thresholds: Floats
    never_recognised: Floats
    areas: Floats
    pseudo_areas: Floats
    nodes: Floats
    weights: Floats
    chance: float

    def accuracy(self, levels: ArrayLike) -> Floats:
        """Return the probability of a right answer at levels [L], over all classes."""
        fallen = psychometric(
            np.asarray(levels)[..., None], 10.0**self.nodes, self.slope, shape="logistic"
        )
        known = (1 - self.never) * (1 - self.miss / (1 - self.chance)) * (1 - fallen)
        return np.asarray(self.chance + (1 - self.chance) * (known @ self.weights))


def fit_population(
    levels: ArrayLike,
    n: ArrayLike,
    right: ArrayLike,
    *,
    chance: float,
    span: tuple[float, float] | None = None,
) -> Population:
    """Fit thresholds of classes that differ, by maximum marginal likelihood.

    The interval is Student's t over the classes that are recognised, times a standard error from
    how much each class moves the mean; one class has the credible interval of `fit`. Classes of
    which nothing is ever right have no threshold: ask about the original too, since those that are
    never recognised and those that are lost at once are told apart by nothing else.

    Simulated in `benchmarks/item_response.py --adaptive`, medians were off by at most 3.6 % with 10
    classes and 1.0 % with 200, and 95 % intervals held the true threshold in 92.3 to 97.3 %. Slopes
    that differ between classes were not simulated.

    Parameters
    ----------
    levels
        Distances from the original, [L]; level 0 is the original itself.
    n, right
        Trials and right answers of each class, [classes, L]; most may be 0.
    chance
        Accuracy of an observer that guesses: 1 over the number of choices.
    span
        Levels at which areas begin and end; the weakest above 0 and the strongest if None.

    Examples
    --------
    >>> right = [[3, 3, 3, 1, 0, 0], [3, 3, 2, 0, 0, 0], [3, 3, 3, 3, 1, 0], [0, 0, 0, 0, 0, 0]]
    >>> found = fit_population([0, 1, 2, 4, 8, 16], np.full((4, 6), 3), right, chance=0.001)
    >>> print(f"{found.threshold:.2f}, of class 3 {10 ** found.log_thresholds[2]:.2f}")
    3.85, of class 3 6.37
    """
    if not 0 <= chance < 1 - _ROOM:
        raise FechnerError(f"chance must be a rate such as 1 / number of choices, not {chance}.")
    each, n, right = checked_answers(levels, n, right, "log")
    if n.ndim != 2:
        raise FechnerError(f"answers must have the shape (classes, levels), not {n.shape}.")
    if not (n * (each > 0)).any():
        raise FechnerError("there are no trials at levels above 0.")
    shown = each[0][each[0] > 0]
    span = span or (float(shown.min()), float(shown.max()))
    if len(n) == 1:
        return _alone(each[0], n[0], right[0], chance, span)
    marginal = Marginal(each[0], n, right, chance, span)
    return _described(marginal, marginal.highest())


def _described(marginal: Marginal, at: Floats) -> Population:
    """Describe the most likely population."""
    _, scores, posterior, recognised = marginal.classes(at)
    count = recognised.sum()
    first, last = marginal.ends
    if not marginal.wrong.any():
        censored = "above"
    elif not marginal.right.any() or count < 0.5 or at[3] >= marginal.limits[3, 1] - 1e-3:
        censored = "unknown"
    else:
        censored = "below" if at[0] < first else "above" if at[0] > last else ""
    areas = recognised * (posterior @ marginal.areas(at))
    low, high, pseudo_areas = np.nan, np.nan, areas
    few = max(count, 2.0)
    far = float(special.stdtrit(few - 1, 0.975))
    if censored in ("below", "above"):
        # Far out all means are as likely, and there is no curvature: how near might it be?
        near = 10.0 ** marginal.likely_means(at, far)
        low, high = (0.0, near[-1]) if censored == "below" else (near[0], np.inf)
    elif not censored:
        free, inverse = marginal.inverse_bend(at)
        influence = scores[:, free] @ inverse
        # Between classes, as they are; but a few may agree by chance.
        error = np.sqrt(max((influence[:, 0] ** 2).sum(), _AT_LEAST * inverse[0, 0]))
        half = min(far * error * np.sqrt(few / (few - 1)), _WIDEST_DECADES)
        low, high = 10 ** (at[0] - half), 10 ** (at[0] + half)
        moves = _STEP * np.eye(len(at))[free]
        change = [marginal.mean_area(at + m) - marginal.mean_area(at - m) for m in moves]
        moved = influence @ np.array(change) / (2 * _STEP)
        pseudo_areas = marginal.mean_area(at) + len(areas) * (moved - moved.mean())
    return Population(
        threshold=np.nan if censored else float(10 ** at[0]),
        low=float(low),
        high=float(high),
        censored=censored,
        bound={"above": 10**last, "below": 10**first}.get(censored, np.nan),
        spread_decades=float(np.exp(at[1])),
        slope=float(np.exp(at[2])),
        miss=float(special.expit(at[3]) * (1 - marginal.chance)),
        never=float(special.expit(at[4])),
        log_thresholds=posterior @ marginal.nodes,
        never_recognised=1 - recognised,
        areas=areas,
        pseudo_areas=pseudo_areas,
        nodes=marginal.nodes,
        weights=np.exp(marginal.log_weights(at[0], at[1])),
        chance=marginal.chance,
    )


def _alone(
    levels: Floats, n: Floats, right: Floats, chance: float, span: tuple[float, float]
) -> Population:
    """Describe one class by the fit of a single function, with its credible interval."""
    found = fit(
        levels, n, right, falling=True, shape="logistic", guess=chance, prior=Prior(lapse=_MISS)
    )
    original = levels == 0
    asked, wrong = n[original].sum(), (n - right)[original].sum()
    never = not right.any() or bool(asked > 0 and 2 * wrong >= asked * (1 - chance))
    censored = "unknown" if never else str(found.censored)
    tested = levels[(levels > 0) & (n > 0)]
    at = float(found.bound if np.isnan(found.threshold) else found.threshold)
    slope, miss = float(found.slope), float(found.lapse)
    fallen = psychometric(np.geomspace(*span, _FINE), at, slope, shape="logistic").mean()
    area = np.array([0.0 if never else (1 - miss / (1 - chance)) * (1 - fallen)])
    low, high = float(found.low.threshold), float(found.high.threshold)
    low, high, bound = {
        "above": (low, np.inf, tested.max()),
        "below": (0.0, high, tested.min()),
        "unknown": (np.nan, np.nan, np.nan),
    }.get(censored, (low, high, np.nan))
    return Population(
        threshold=np.nan if censored else at,
        low=low,
        high=high,
        censored=censored,
        bound=float(bound),
        spread_decades=np.nan,
        slope=slope,
        miss=miss,
        never=float(never),
        log_thresholds=np.log10([at]),
        never_recognised=np.array([float(never)]),
        areas=area,
        pseudo_areas=area,
        nodes=np.log10([at]),
        weights=np.ones(1),
        chance=chance,
    )


class Marginal:
    """The likelihood of a population with the thresholds of classes summed out.

    ``ends`` are the weakest level above 0 and the strongest that were asked about, ``nodes`` the
    thresholds over which is summed, all in log10; ``limits`` [5, 2] the lowest and highest value of
    each parameter, and ``guessed`` the log likelihood of each class if it is never recognised.
    """

    def __init__(
        self, levels: Floats, n: Floats, right: Floats, chance: float, span: tuple[float, float]
    ) -> None:
        asked = (n > 0).any(axis=0)
        levels, n, right = levels[asked], n[:, asked], right[:, asked]
        self.positions, self.right, self.wrong = to_axis(levels, "log"), right, n - right
        self.chance, self.span = chance, (float(np.log10(span[0])), float(np.log10(span[1])))
        there = np.unique(self.positions[np.isfinite(self.positions)])
        first, last = self.ends = there[0], there[-1]
        length = last - first if last > first else 1.0
        gaps = np.diff(there)
        closest = float(np.min(gaps, initial=length, where=gaps > _SAME * length))
        # Half a node from levels that are evenly spaced, so that steps lean to neither side.
        step = max(min(length / _FEWEST, closest / _PER_GAP), length / _MOST)
        count = int(np.ceil(_WIDEN * length / step))
        self.nodes = first + step * (np.arange(-count, count + round(length / step)) + 0.5)
        self.limits = np.array(
            [
                (first - _WIDEN * length, last + _WIDEN * length),
                np.log([0.8 * step, length]),
                np.log([4 / (_FLATTEST_RANGES * length), _STEEPEST_Z / closest]),
                special.logit([_FEWEST_MISSES, 1 - _ROOM / (1 - chance)]),
                special.logit([_RAREST, _MOST_NEVER]),
            ]
        )
        self.guessed = special.xlogy(right, chance).sum(axis=1)
        self.guessed = self.guessed + self.wrong.sum(axis=1) * np.log1p(-chance)

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

    def classes(self, at: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Sum the thresholds of classes [C] out.

        Returns log likelihoods [C], their gradient [C, 5], the posterior of the nodes [C, nodes]
        and P(recognised) [C].
        """
        p, q, *changes = self._tables(at[2], at[3])
        log_w = self.log_weights(at[0], at[1])
        joint = self.right @ np.log(p).T + self.wrong @ np.log(q).T + log_w
        top = joint.max(axis=1, keepdims=True)
        share = np.exp(joint - top)
        total = share.sum(axis=1, keepdims=True)
        known = (top + np.log(total))[:, 0] + special.log_expit(-at[4])
        height = np.logaddexp(known, self.guessed + special.log_expit(at[4]))
        recognised, posterior = np.exp(known - height), share / total
        z = (self.nodes - at[0]) / np.exp(at[1])
        excess = posterior - np.exp(log_w)
        scores = [excess @ z / np.exp(at[1]), excess @ z**2]
        for change in changes:
            each = self.right @ (change / p).T - self.wrong @ (change / q).T
            scores.append((posterior * each).sum(axis=1))
        scores = [*(recognised * each for each in scores), 1 - recognised - special.expit(at[4])]
        return height, np.stack(scores, axis=1), posterior, recognised

    def cost(self, at: Floats) -> tuple[float, Floats]:
        """Return the log likelihood and its gradient, both negative, for a minimiser."""
        height, scores, *_ = self.classes(at)
        return -float(height.sum()), -scores.sum(axis=0)

    def highest(self) -> Floats:
        """Maximise the likelihood from the best points of a coarse grid."""

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
        inside = np.abs(at[:, None] - self.limits).min(axis=1) > 10 * _STEP
        # The mean is what it is for.
        inside[0] = True
        free = np.flatnonzero(inside)
        moves = _STEP * np.eye(len(at))[free]
        rows = [(self.cost(at + move)[1] - self.cost(at - move)[1])[free] for move in moves]
        bend = np.array(rows) / (2 * _STEP)
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

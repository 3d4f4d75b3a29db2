"""The highest points of likelihoods and posteriors, of many functions at once.

`maximum_likelihood` fits functions with fixed rates, as published studies do. `Hills` climbs, for
all fits, by Fisher scoring with limits: a parameter at a limit that the slope points beyond is held
there while the others move on; steps that lead up less than they promise are damped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from fechner.psychometrics.functions import (
    STEEPNESS,
    check_rates,
    check_shape,
    checked_answers,
    from_axis,
    log_rising,
    share,
    share_density,
    to_axis,
    unit_of_z,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale, Shape

#: Limits of the steepness: F would rise from 0 to 1 in a hundred ranges, or in a 2000th of one.
_FLATTEST, _STEEPEST = 0.01, 2000.0


#: A free rate is at least this, so that no answer is impossible.
SMALLEST_RATE = 1e-7

_ROUNDS = 200

#: Shares of the diagonal that are added to the information (Levenberg and Marquardt), and the
#: share of the promised gain that a step must keep.
_DAMPINGS = (0.0, 0.03, 0.3, 3.0, 30.0, 300.0, 3000.0)
_KEPT = 0.1

#: Nats by which a round must still raise a function.
_GAIN = 1e-9


@dataclass(frozen=True)
class Hills:
    """Answers to functions [F, L] and, if there is a prior, what it adds.

    Positions are those of the levels on the axis, where ``slope * distance / unit`` is z. Points
    [F, 4] and limits [F, 4, 2] are threshold on the axis, log slope, guess rate and lapse rate; a
    parameter whose limits are equal stays. ``log_slope`` are mean and standard deviation [F] of the
    log slope, ``guess`` and ``lapse`` the numbers of Beta densities. With ``equal_rates`` the lapse
    rate stands for both. Answers are beta-binomial if there is an overdispersion ``eta`` [F].
    """

    positions: NDArray[np.float64]
    yes: NDArray[np.float64]
    no: NDArray[np.float64]
    shape: Shape
    unit: float
    limits: NDArray[np.float64]
    log_slope: tuple[NDArray[np.float64], float] | None = None
    guess: tuple[float, float] = (1.0, 1.0)
    lapse: tuple[float, float] = (1.0, 1.0)
    equal_rates: bool = False
    eta: NDArray[np.float64] | None = None

    def height(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log likelihood plus log prior, [F]."""
        chance, miss = self._chances(points, share(self._z(points), self.shape))
        if self.eta is None:
            total = (special.xlogy(self.yes, chance) + special.xlogy(self.no, miss)).sum(axis=1)
        else:
            eta = self.eta[:, None]
            total = log_rising(self.yes, chance, eta) + log_rising(self.no, miss, eta)
            total = (total - log_rising(self.yes + self.no, 1.0, eta)).sum(axis=1)
        if self.log_slope is not None:
            total = total - 0.5 * ((points[:, 1] - self.log_slope[0]) / self.log_slope[1]) ** 2
        for rate, (a, b) in ((points[:, 2], self.guess), (points[:, 3], self.lapse)):
            total = total + special.xlogy(a - 1, rate) + special.xlog1py(b - 1, -rate)
        return np.asarray(total)

    def slopes(
        self, points: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the gradient [F, 4] and the expected information [F, 4, 4]."""
        z = self._z(points)
        rises = share(z, self.shape)
        chance, miss = self._chances(points, rises)
        room = (1 - points[:, 3 if self.equal_rates else 2] - points[:, 3])[:, None]
        steep = room * share_density(z, self.shape)
        by_threshold = -steep * np.exp(points[:, 1])[:, None] / self.unit
        by_lapse = 1 - 2 * rises if self.equal_rates else -rises
        by = np.stack([by_threshold, steep * z, 1 - rises, by_lapse], axis=-1)
        n = self.yes + self.no
        if self.eta is None:
            by_chance, weight = self.yes / chance - self.no / miss, n / (chance * miss)
        else:
            nu = (self.eta**-2.0 - 1)[:, None]
            by_chance = nu * (
                special.digamma(chance * nu + self.yes)
                - special.digamma(chance * nu)
                - special.digamma(miss * nu + self.no)
                + special.digamma(miss * nu)
            )
            inflation = 1 + np.maximum(n - 1, 0) * self.eta[:, None] ** 2
            weight = n / (chance * miss * inflation)
        gradient = (by_chance[..., None] * by).sum(axis=1)
        information = np.swapaxes(by * weight[..., None], 1, 2) @ by
        if self.log_slope is not None:
            mean, sd = self.log_slope
            gradient[:, 1] -= (points[:, 1] - mean) / sd**2
            information[:, 1, 1] += 1 / sd**2
        for axis, (a, b) in ((2, self.guess), (3, self.lapse)):
            rate = np.maximum(points[:, axis], SMALLEST_RATE)
            gradient[:, axis] += (a - 1) / rate - (b - 1) / (1 - rate)
            information[:, axis, axis] += (a - 1) / rate**2 + (b - 1) / (1 - rate) ** 2
        return gradient, information

    def climb(
        self, start: NDArray[np.float64], longest: NDArray[np.float64], gain: float = _GAIN
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the top [F, 4] reached from a start, and its height; steps [F, 4] are bounded.

        A round must still raise a function by ``gain`` nats for it to go on.
        """
        points = np.clip(start, self.limits[..., 0], self.limits[..., 1])
        height = self.height(points)
        # Those that are done are left out: how far one gets does not depend on the others.
        going = np.arange(len(points))
        for _ in range(_ROUNDS):
            some = self._some(going)
            points[going], reached = some._step(points[going], height[going], longest[going])
            gained = reached - height[going]
            height[going] = reached
            going = going[gained > gain]
            if len(going) == 0:
                break
        return points, height

    def _some(self, which: NDArray[np.intp]) -> Hills:
        rows = {name: getattr(self, name)[which] for name in ("positions", "yes", "no", "limits")}
        law = self.log_slope and (self.log_slope[0][which], self.log_slope[1])
        eta = None if self.eta is None else self.eta[which]
        return replace(self, log_slope=law, eta=eta, **rows)

    def _step(
        self,
        points: NDArray[np.float64],
        height: NDArray[np.float64],
        longest: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Take the boldest step that leads up about as much as it promises."""
        low, high = self.limits[..., 0], self.limits[..., 1]
        gradient, information = self.slopes(points)
        held = (low == high) | ((points <= low) & (gradient < 0))
        held |= (points >= high) & (gradient > 0)
        gradient = np.where(held, 0.0, gradient)
        information = np.where(held[:, :, None] | held[:, None, :], 0.0, information)
        diagonal = np.einsum("fii->fi", information)
        # A little more than singular, for answers that tell nothing of a parameter.
        diagonal += np.where(held, 1.0, 1e-9 * (1 + diagonal))
        diagonal = diagonal.copy()
        best, top, done = points, height, np.zeros(len(points), bool)
        for damping in _DAMPINGS:
            damped = information + (damping * diagonal)[:, :, None] * np.eye(4)
            move = np.linalg.solve(damped, gradient[..., None])[..., 0]
            # The direction stays: it leads up, which that of clipped parts need not do.
            over = np.where(longest > 0, np.abs(move) / np.where(longest > 0, longest, 1.0), 0.0)
            move /= np.maximum(over.max(axis=1, keepdims=True), 1.0)
            trial = np.clip(points + move, low, high)
            reached = self.height(trial)
            promise = (gradient * (trial - points)).sum(axis=1)
            better = ~done & (reached > top)
            best, top = np.where(better[:, None], trial, best), np.where(better, reached, top)
            done |= reached - height >= _KEPT * promise
            if done.all():
                break
        return best, top

    def _z(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        distance = self.positions - points[:, :1]
        z = np.exp(points[:, 1:2]) / self.unit * distance
        # As far out as F still has digits; levels that were not asked are anywhere.
        far = 1e7 if self.shape == "tdist" else 80
        return np.asarray(np.clip(np.where(self.yes + self.no > 0, z, 0.0), -far, far))

    def _chances(
        self, points: NDArray[np.float64], rises: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return P and 1 - P, neither of them 0."""
        guess, lapse = points[:, 3 if self.equal_rates else 2, None], points[:, 3:4]
        chance = guess + (1 - guess - lapse) * rises
        return np.clip(chance, 1e-15, 1.0), np.clip(1 - chance, 1e-15, 1.0)


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

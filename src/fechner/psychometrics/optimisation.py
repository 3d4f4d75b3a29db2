"""Likelihoods and posteriors of many functions at once, and how to maximise them.

`fisher_scoring` has limits: a parameter at a limit that the gradient points beyond is held there
while the others move on; steps that lead up less than they promise are damped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from fechner.arrays import Floats
from fechner.psychometrics.functions import Shape, log_rising, share, share_density

#: A free rate is at least this, so that no answer is impossible.
SMALLEST_RATE = 1e-7

_ROUNDS = 200

#: Shares of the diagonal that are added to the information (Levenberg and Marquardt), and the
#: share of the promised gain that a step must keep.
_DAMPINGS = (0.0, 0.03, 0.3, 3.0, 30.0, 300.0, 3000.0)
_KEPT = 0.1

#: Nats by which a round must still raise a function, and one that starts from another fit: far
#: below what resampling the same answers changes, and half the rounds.
_GAIN, _RESAMPLED_GAIN = 1e-9, 1e-5

#: Rows of a coarse grid that are looked at at once, to bound memory.
_ROWS = 8192


class Objective(Protocol):
    """Functions [F] of points [F, P] to maximise."""

    def some(self, which: NDArray[np.intp]) -> Objective:
        """Return some of the functions."""

    def value(self, points: Floats) -> Floats:
        """Return their values, [F]."""

    def derivatives(self, points: Floats) -> tuple[Floats, Floats]:
        """Return gradients [F, P] and information, minus the expected curvature, [F, P, P]."""


def fisher_scoring(
    objective: Objective,
    start: Floats,
    limits: Floats,
    longest: Floats,
    gain: float = _GAIN,
    rounds: int = _ROUNDS,
) -> tuple[Floats, Floats]:
    """Return the tops [F, P] reached from a start, and their values.

    Limits are [F, P, 2], steps at most ``longest`` [F, P]. A round must still raise a function by
    ``gain`` for it to go on.
    """
    points = np.clip(start, limits[..., 0], limits[..., 1])
    height = objective.value(points)
    # Those that are done are left out: how far one gets does not depend on the others.
    going = np.arange(len(points))
    for _ in range(rounds):
        some = objective if len(going) == len(points) else objective.some(going)
        now = (points[going], height[going], limits[going], longest[going])
        points[going], reached = _step(some, *now)
        gained = reached - height[going]
        height[going] = reached
        going = going[gained > gain]
        if len(going) == 0:
            break
    return points, height


def _step(
    objective: Objective, points: Floats, height: Floats, limits: Floats, longest: Floats
) -> tuple[Floats, Floats]:
    """Take the boldest step that leads up about as much as it promises."""
    low, high = limits[..., 0], limits[..., 1]
    gradient, information = objective.derivatives(points)
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
        damped = information + (damping * diagonal)[:, :, None] * np.eye(points.shape[1])
        move = np.linalg.solve(damped, gradient[..., None])[..., 0]
        # The direction stays: it leads up, which that of clipped parts need not do.
        over = np.where(longest > 0, np.abs(move) / np.where(longest > 0, longest, 1.0), 0.0)
        move /= np.maximum(over.max(axis=1, keepdims=True), 1.0)
        trial = np.clip(points + move, low, high)
        reached = objective.value(trial)
        promise = (gradient * (trial - points)).sum(axis=1)
        better = ~done & (reached > top)
        best, top = np.where(better[:, None], trial, best), np.where(better, reached, top)
        done |= reached - height >= _KEPT * promise
        if done.all():
            break
    return best, top


@dataclass(frozen=True)
class Likelihood:
    """Answers to functions [F, L] and, if there is a prior, what it adds.

    Positions are those of the levels on the axis, where ``slope * distance / unit`` is z. Points
    [F, 4] are threshold on the axis, log slope, guess rate and lapse rate. ``log_slope`` are mean
    and standard deviation [F] of the log slope, ``guess`` and ``lapse`` the numbers of Beta
    densities. With ``equal_rates`` the lapse rate stands for both. Answers are beta-binomial if
    there is an overdispersion ``eta`` [F].
    """

    positions: Floats
    yes: Floats
    no: Floats
    shape: Shape
    unit: float
    log_slope: tuple[Floats, float] | None = None
    guess: tuple[float, float] = (1.0, 1.0)
    lapse: tuple[float, float] = (1.0, 1.0)
    equal_rates: bool = False
    eta: Floats | None = None

    def value(self, points: Floats) -> Floats:
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

    def derivatives(self, points: Floats) -> tuple[Floats, Floats]:
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

    def some(self, which: NDArray[np.intp]) -> Likelihood:
        """Return the answers to some functions."""
        law = self.log_slope and (self.log_slope[0][which], self.log_slope[1])
        eta = None if self.eta is None else self.eta[which]
        positions, yes, no = (each[which] for each in (self.positions, self.yes, self.no))
        return replace(self, positions=positions, yes=yes, no=no, log_slope=law, eta=eta)

    def _z(self, points: Floats) -> Floats:
        distance = self.positions - points[:, :1]
        z = np.exp(points[:, 1:2]) / self.unit * distance
        # As far out as F still has digits; levels that were not asked are anywhere.
        far = 1e7 if self.shape == "tdist" else 80
        return np.asarray(np.clip(np.where(self.yes + self.no > 0, z, 0.0), -far, far))

    def _chances(self, points: Floats, rises: Floats) -> tuple[Floats, Floats]:
        """Return P and 1 - P, neither of them 0."""
        guess, lapse = points[:, 3 if self.equal_rates else 2, None], points[:, 3:4]
        chance = guess + (1 - guess - lapse) * rises
        return np.clip(chance, 1e-15, 1.0), np.clip(1 - chance, 1e-15, 1.0)


def maximise(
    likelihood: Likelihood, limits: Floats, grid: Floats, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Maximise within limits [F, 4, 2] from a start [F, 4], or from the best of a coarse grid.

    The grid [G, 3] has shares of the way between the limits of threshold and log slope, and how
    much of the yes answers at the lowest levels are guesses.
    """
    longest = np.tile([0.0, 1.0, 0.1, 0.0], (len(limits), 1))
    longest[:, 0] = (limits[:, 0, 1] - limits[:, 0, 0]) / 12
    if start is not None:
        return fisher_scoring(likelihood, start, limits, longest, _RESAMPLED_GAIN)
    # The rate of yes answers in the lowest third of the trials.
    yes, asked = likelihood.yes, likelihood.yes + likelihood.no
    order = np.argsort(np.where(asked > 0, likelihood.positions, np.inf), axis=1)
    yes, asked = (np.take_along_axis(each, order, axis=1) for each in (yes, asked))
    before = np.cumsum(asked, axis=1) - asked
    lowest = (before < asked.sum(axis=1, keepdims=True) / 3) & (asked > 0)
    guessed = (yes * lowest).sum(axis=1) / (asked * lowest).sum(axis=1)
    begin = np.empty((len(limits), 4))
    for some in np.array_split(np.arange(len(limits)), -(-len(limits) * len(grid) // _ROWS)):
        low, high = (limits[some, None, :, end] for end in (0, 1))
        shares = np.pad(grid, ((0, 0), (0, 1)))
        trial = low * (1 - shares) + high * shares
        trial[..., 2] = np.clip(grid[:, 2] * guessed[some, None], low[..., 2], high[..., 2])
        repeated = likelihood.some(np.repeat(some, len(grid)))
        height = repeated.value(trial.reshape(-1, 4)).reshape(-1, len(grid))
        begin[some] = trial[np.arange(len(some)), height.argmax(axis=1)]
    return fisher_scoring(likelihood, begin, limits, longest)

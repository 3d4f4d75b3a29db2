"""The highest point of likelihoods and posteriors, of many functions at once.

Fisher scoring with limits: a parameter at a limit that the slope points beyond is held there while
the others move on; steps that lead up less than they promise are damped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from fechner.psychometrics.functions import share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fechner.psychometrics.functions import Shape

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
    log slope, ``guess`` and ``lapse`` the numbers of Beta densities.
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

    def height(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log likelihood plus log prior, [F]."""
        chance, miss = self._chances(points, share(self._z(points), self.shape))
        total = (special.xlogy(self.yes, chance) + special.xlogy(self.no, miss)).sum(axis=1)
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
        room = (1 - points[:, 2] - points[:, 3])[:, None]
        steep = room * _density(z, self.shape)
        by_threshold = -steep * np.exp(points[:, 1])[:, None] / self.unit
        by = np.stack([by_threshold, steep * z, 1 - rises, -rises], axis=-1)
        gradient = ((self.yes / chance - self.no / miss)[..., None] * by).sum(axis=1)
        weight = ((self.yes + self.no) / (chance * miss))[..., None]
        information = np.swapaxes(by * weight, 1, 2) @ by
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
        return replace(self, log_slope=law, **rows)

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
        return np.asarray(np.clip(np.where(self.yes + self.no > 0, z, 0.0), -80, 80))

    def _chances(
        self, points: NDArray[np.float64], rises: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return P and 1 - P, neither of them 0."""
        guess, lapse = points[:, 2:3], points[:, 3:4]
        chance = guess + (1 - guess - lapse) * rises
        return np.clip(chance, 1e-15, 1.0), np.clip(1 - chance, 1e-15, 1.0)


def _density(z: NDArray[np.float64], shape: Shape) -> NDArray[np.float64]:
    """Return dF/dz."""
    if shape == "weibull":
        power = np.log(2) * np.exp(z)
        return np.asarray(power * np.exp(-power))
    if shape == "logistic":
        return np.asarray(special.expit(z) * special.expit(-z))
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))

"""Fitting formulas to profiles of receptive fields: the best of several starts, with errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

#: How many of the starts, the best first, are followed to the end.
_FOLLOWED = 3


@dataclass(frozen=True)
class Profile:
    """Weights over space, one number per pixel.

    Parameters
    ----------
    values
        [h, w].
    x, y
        Degrees rightwards [1, w] and upwards [h, 1].
    ppd
        Pixels per degree.
    """

    values: Floats
    x: Floats
    y: Floats
    ppd: float

    @property
    def size_deg(self) -> float:
        """The longer side."""
        return float(max(self.values.shape) / self.ppd)

    @property
    def centre(self) -> tuple[float, float]:
        """The middle of its pixels, in degrees."""
        return float(self.x.mean()), float(self.y.mean())

    def local_energy(self, fx: float, fy: float, sigma_deg: float) -> Floats:
        """Return how much there is of a frequency around each pixel, [h, w]."""
        wave = np.exp(-2j * np.pi * (fx * self.x + fy * self.y))
        blurred = self.values * wave
        for axis, places in ((1, self.x.ravel()), (0, self.y.ravel())):
            away = places[:, None] - places[None, :]
            kernel = np.exp(-0.5 * (away / sigma_deg) ** 2)
            blurred = np.moveaxis(np.tensordot(kernel, blurred, (1, axis)), 0, axis)
        energy: Floats = np.abs(blurred)
        return energy

    def place(self, energy: Floats) -> tuple[float, float]:
        """Return the place of the largest value, in degrees."""
        row, column = np.unravel_index(int(np.argmax(energy)), energy.shape)
        return float(self.x[0, column]), float(self.y[row, 0])


@dataclass(frozen=True)
class Fitted:
    """Parameters of the best fit, their covariance, and the share of the squares explained."""

    parameters: Floats
    covariance: Floats
    r2: float


Model: TypeAlias = "Callable[[Floats], Floats]"


def project(shapes: Sequence[Floats], values: Floats) -> tuple[Floats, float]:
    """Return the factors of shapes that add up to values, and what is left, squared."""
    matrix = np.stack([shape.ravel() for shape in shapes], axis=1)
    factors: Floats = np.linalg.lstsq(matrix, values.ravel(), rcond=None)[0].astype(np.float64)
    left = values.ravel() - matrix @ factors
    return factors, float(left @ left)


def best_fit(
    model: Model,
    slopes: Model,
    values: Floats,
    starts: Iterable[tuple[float, Floats]],
    low: Floats,
    high: Floats,
) -> Fitted:
    """Fit by least squares from the most promising starts and keep the best.

    Parameters
    ----------
    model
        From parameters to [h, w].
    slopes
        From parameters to their derivatives, [pixels, parameters].
    starts
        What is left, squared, and parameters.
    low, high
        Bounds of parameters.
    """
    from scipy.optimize import least_squares

    scale = float(np.sqrt(np.mean(values**2)))
    best = None
    for _, start in sorted(starts, key=lambda each: each[0])[:_FOLLOWED]:
        found = least_squares(
            lambda p: ((model(p) - values) / scale).ravel(),
            np.clip(start, low, high),
            lambda p: slopes(p) / scale,
            bounds=(low - 1e-9, high + 1e-9),
            x_scale="jac",
            ftol=1e-7,
            max_nfev=100,
        )
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    left = 2 * float(best.cost)
    free = max(values.size - len(low), 1)
    covariance = np.linalg.pinv(best.jac.T @ best.jac) * left / free
    return Fitted(best.x, covariance, 1 - left / values.size)


def errors_of(derive: Callable[[Floats], dict[str, float]], fitted: Fitted) -> dict[str, float]:
    """Return standard errors of what follows from the parameters, to first order."""
    at, names = fitted.parameters, list(derive(fitted.parameters))
    slopes = np.zeros((len(names), len(at)))
    for k, value in enumerate(at):
        step = 1e-6 * max(abs(value), 1e-3)
        up, down = at.copy(), at.copy()
        up[k] += step
        down[k] -= step
        above, below = derive(up), derive(down)
        slopes[:, k] = [(above[name] - below[name]) / (2 * step) for name in names]
    variances = np.einsum("ij,jk,ik->i", slopes, fitted.covariance, slopes)
    return dict(zip(names, np.sqrt(np.maximum(variances, 0.0)).tolist(), strict=True))

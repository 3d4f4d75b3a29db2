"""Differences of two Gaussians fitted to receptive fields: a centre and its surround."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fechner.physiology.least_squares import Profile, best_fit, errors_of, project

if TYPE_CHECKING:
    from fechner.physiology.least_squares import Floats

#: The surround is at least this much wider than the centre, and at most.
_RATIOS = (1.05, 20.0)
#: Standard deviations of the centre to start from, relative to the size of the profile.
_SIGMAS = (0.03, 0.06, 0.12, 0.25)


@dataclass(frozen=True)
class DogFit:
    """A difference of Gaussians with a common centre (Rodieck 1965).

    Parameters
    ----------
    centre_sigma_deg, surround_sigma_deg
        Standard deviations.
    centre_weight, surround_weight
        What the weights of all pixels add up to, of the centre and of the surround; a surround that
        opposes its centre has the other sign.
    x_deg, y_deg
        Where it is, rightwards and upwards from the centre of the field.
    r2
        Share of the sum of squared weights that it explains.
    errors
        Standard errors by name, of whatever is not r2.

    Examples
    --------
    >>> DogFit(0.1, 0.3, 2.0, -1.5, 0.0, 0.0, 1.0).antagonism
    0.75
    """

    centre_sigma_deg: float
    surround_sigma_deg: float
    centre_weight: float
    surround_weight: float
    x_deg: float
    y_deg: float
    r2: float
    errors: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def antagonism(self) -> float:
        """How much of the centre its surround takes away; 1 is all, below 0 it adds."""
        return -self.surround_weight / self.centre_weight if self.centre_weight else math.nan


@dataclass(frozen=True)
class _Dog:
    """The formula. Parameters: two weights, log sigma, log ratio of sigmas, x and y."""

    x: Floats
    y: Floats
    ppd: float

    def _parts(self, p: Floats) -> tuple[Floats, Floats, Floats, float, float]:
        squared = (self.x - p[4]) ** 2 + (self.y - p[5]) ** 2
        centre, surround = math.exp(2 * p[2]), math.exp(2 * (p[2] + p[3]))
        pixel = self.ppd**-2
        return (
            squared,
            pixel / (2 * np.pi * centre) * np.exp(-squared / (2 * centre)),
            pixel / (2 * np.pi * surround) * np.exp(-squared / (2 * surround)),
            centre,
            surround,
        )

    def shapes(self, p: Floats) -> list[Floats]:
        """Return centre and surround of unit weight."""
        _, centre, surround, _, _ = self._parts(p)
        return [centre, surround]

    def __call__(self, p: Floats) -> Floats:
        centre, surround = self.shapes(p)
        drawn: Floats = p[0] * centre + p[1] * surround
        return drawn

    def slopes(self, p: Floats) -> Floats:
        """Return derivatives with respect to all parameters, [pixels, 6]."""
        squared, centre, surround, narrow, wide = self._parts(p)
        wider = p[1] * surround * (squared / wide - 2)
        away = p[0] * centre / narrow + p[1] * surround / wide
        columns = (
            centre,
            surround,
            p[0] * centre * (squared / narrow - 2) + wider,
            wider,
            away * (self.x - p[4]),
            away * (self.y - p[5]),
        )
        return np.stack([column.ravel() for column in columns], axis=1)


def fit_dog(profile: Profile) -> DogFit:
    """Fit a difference of Gaussians by least squares.

    Examples
    --------
    >>> x = (np.arange(33) - 16)[None, :] / 32
    >>> model = _Dog(x, -x.T, 32.0)
    >>> values = model(np.array([1.0, -0.8, np.log(0.08), np.log(2.5), 0.0, 0.0]))
    >>> found = fit_dog(Profile(values, x, -x.T, 32.0))
    >>> round(found.centre_sigma_deg, 3), round(found.surround_sigma_deg, 3)
    (0.08, 0.2)
    >>> round(found.antagonism, 3), round(found.r2, 3)
    (0.8, 1.0)
    """
    model = _Dog(profile.x, profile.y, profile.ppd)
    pixel, size = 1 / profile.ppd, profile.size_deg
    (x, y), half = profile.centre, size / 2
    smallest, largest = math.log(0.3 * pixel), math.log(2 * size)
    # A centre and a surround of nearly the same width can take any weight, and cancel.
    bound = 20 * float(np.abs(profile.values).sum())
    low = np.array([-bound, -bound, smallest, math.log(_RATIOS[0]), x - half, y - half])
    high = np.array([bound, bound, largest, math.log(_RATIOS[1]), x + half, y + half])
    fitted = best_fit(model, model.slopes, profile.values, _starts(profile, model), low, high)
    return DogFit(**_named(fitted.parameters), r2=fitted.r2, errors=errors_of(_named, fitted))


def _named(p: Floats) -> dict[str, float]:
    """Return what people call the parameters."""
    return {
        "centre_sigma_deg": math.exp(p[2]),
        "surround_sigma_deg": math.exp(p[2] + p[3]),
        "centre_weight": float(p[0]),
        "surround_weight": float(p[1]),
        "x_deg": float(p[4]),
        "y_deg": float(p[5]),
    }


def _starts(profile: Profile, model: _Dog) -> Iterator[tuple[float, Floats]]:
    """Yield what is left and parameters, where the profile has most of a blob of each size."""
    for share in _SIGMAS:
        sigma = max(share * profile.size_deg, 0.5 / profile.ppd)
        place = profile.place(profile.local_energy(0.0, 0.0, sigma))
        for ratio in (1.6, 3.0):
            start = np.array([0, 0, math.log(sigma), math.log(ratio), *place])
            start[:2], left = project(model.shapes(start), profile.values)
            yield left, start

"""Noise of ImageNet-C: Gaussian, shot, impulse and speckle, in each channel apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import over_pixels
from fechner.stimuli.manipulations.randomness import normal, uniform
from fechner.stimuli.manipulations.salt_pepper import salt_and_pepper
from fechner.stimuli.manipulations.severity import Corruption, parameter
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor

_GAUSSIAN_SD = (0.08, 0.12, 0.18, 0.26, 0.38)
_SPECKLE_SD = (0.15, 0.2, 0.35, 0.45, 0.6)
_IMPULSES = (0.03, 0.06, 0.09, 0.17, 0.27)
#: What one photon counts; white is so many photons that they add up to 1.
_PHOTON = tuple(1 / photons for photons in (60, 25, 12, 5, 3))

#: Below so many photons they are counted one by one, up to so many.
_FEW_PHOTONS = 6.0
_COUNTED = 26


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Corruption):
    """Gaussian noise."""

    name: str = "c-gaussian-noise"
    title: str = "Gaussian noise (ImageNet-C)"
    words: str = "has Gaussian noise added to each channel, as in ImageNet-C at this severity"
    random: bool = True

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Add noise."""
        noise = normal(seeds, self.name, tuple(pixels.shape[1:]), pixels)
        return pixels + noise.mul_(over_pixels(parameter(levels, _GAUSSIAN_SD, 0)))


@dataclass(frozen=True, kw_only=True)
class SpeckleNoise(Corruption):
    """Gaussian noise in proportion to the pixel."""

    name: str = "c-speckle-noise"
    title: str = "Speckle noise (ImageNet-C)"
    words: str = (
        "has Gaussian noise added to each channel in proportion to its value, as in ImageNet-C at "
        "this severity"
    )
    random: bool = True

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Add noise."""
        noise = normal(seeds, self.name, tuple(pixels.shape[1:]), pixels)
        return pixels * (1 + noise.mul_(over_pixels(parameter(levels, _SPECKLE_SD, 0))))


@dataclass(frozen=True, kw_only=True)
class ImpulseNoise(Corruption):
    """Salt and pepper in each channel apart."""

    name: str = "c-impulse-noise"
    title: str = "Impulse noise (ImageNet-C)"
    words: str = (
        "has values set to black or white at random in each channel, as in ImageNet-C at this "
        "severity"
    )
    random: bool = True

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Change values here and there."""
        return salt_and_pepper(pixels, parameter(levels, _IMPULSES, 0), seeds, per_channel=True)


@dataclass(frozen=True, kw_only=True)
class ShotNoise(Corruption):
    """Poisson noise: light is counted in photons.

    Counts are whole numbers, so that they have no gradient.
    """

    name: str = "c-shot-noise"
    title: str = "Shot noise (ImageNet-C)"
    words: str = "is seen by few photons, as in ImageNet-C at this severity"
    random: bool = True
    differentiable: bool = False

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Count photons."""
        chance = uniform(seeds, self.name, tuple(pixels.shape[1:]), pixels)
        photon = over_pixels(parameter(levels, _PHOTON, 0))
        return poisson(pixels / photon, chance) * photon


def poisson(means: Tensor, chances: Tensor) -> Tensor:
    """Return Poisson numbers: the quantiles of uniform numbers.

    Large ones by the expansion of Cornish & Fisher (1938), which is off by one in few cases.

    Examples
    --------
    >>> import torch
    >>> poisson(torch.tensor([1.0, 100.0]), torch.tensor([0.5, 0.9772])).tolist()
    [1.0, 120.0]
    """
    import torch

    means = means.detach()
    few = means.clamp(max=_FEW_PHOTONS)
    term = torch.exp(-few)
    total = term.clone()
    counted = torch.zeros_like(means)
    for number in range(1, _COUNTED + 1):
        counted += chances > total
        term.mul_(few).div_(number)
        total += term
    z = torch.erfinv(2 * chances - 1) * math.sqrt(2)
    spread = means.clamp(min=_FEW_PHOTONS).sqrt()
    large = means + spread * z + (z.square() - 1) / 6 + z * (1 - z.square()) / (72 * spread)
    return torch.where(means < _FEW_PHOTONS, counted, large.round().clamp_(min=0))


C_GAUSSIAN_NOISE = GaussianNoise()
C_SHOT_NOISE = ShotNoise()
C_IMPULSE_NOISE = ImpulseNoise()
C_SPECKLE_NOISE = SpeckleNoise()

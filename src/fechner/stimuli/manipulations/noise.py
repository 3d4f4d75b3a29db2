"""Noise: salt and pepper, uniform, in a band of frequencies, and the four of ImageNet-C."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import (
    Manipulation,
    as_uniform,
    corruption,
    hashes,
    normal,
    over_pixels,
    parameter,
    pixel_manipulation,
    uniform,
)
from fechner.stimuli.manipulations.spectra import filtered_noise, fourier_frequencies
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
class SaltPepper(Manipulation):
    """Pixels that are white or black, either as likely; the level is scikit-image's ``amount``.

    Pixels that are changed at one level are changed in the same way at all higher ones.

    Parameters
    ----------
    per_channel
        Whether each channel of a pixel has a chance of its own, which makes coloured dots, as
        scikit-image does with colour pictures.
    """

    name: str = "salt-pepper"
    title: str = "Salt and pepper"
    axis: str = "changed part of the pixels"
    reference: str = "richardwebster2018"
    range: tuple[float, float] = (0.002, 1.0)
    words: str = (
        "has white and black pixels, either as likely, in random places: the level is the part of "
        "all pixels"
    )
    random: bool = True
    most: float = 1.0
    per_channel: bool = False

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Change pixels here and there."""
        return salt_and_pepper(pixels, levels, seeds, self.per_channel)


def salt_and_pepper(
    pixels: Tensor, parts: Tensor, seeds: Sequence[Seed], per_channel: bool
) -> Tensor:
    """Make a part of all pixels, or of all values, white or black."""
    import torch

    channels, height, width = pixels.shape[1:]
    shape = (channels if per_channel else 1, height, width)
    bits = hashes(seeds, "salt and pepper", shape, pixels.device)
    changed = as_uniform(bits, pixels) < over_pixels(parts)
    salt = bits.bitwise_and_(1).to(pixels.dtype)
    return torch.where(changed, salt, pixels)


SALT_PEPPER = SaltPepper()


@pixel_manipulation(
    "uniform-noise",
    title="Uniform noise",
    axis="half width (of the range from black to white)",
    reference="geirhos2018",
    range=(0.01, 5.0),
    words="has grey noise added to it, for each pixel even between minus and plus the level, where "
    "1 is from black to white; what leaves these is cut",
    random=True,
)
def uniform_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add white noise, even between minus and plus the level."""
    noise = uniform(seeds, "uniform noise", (1, *pixels.shape[-2:]), pixels).mul_(2).sub_(1)
    return pixels + noise.mul_(over_pixels(levels))


@dataclass(frozen=True, kw_only=True)
class NoiseInBand(Manipulation):
    """Gaussian noise in a ring of frequencies with hard edges; what leaves 0..1 is cut.

    Parameters
    ----------
    centre
        In cycles per width of the picture.
    octaves
        Width of the ring; by default that of the channel by which people recognise objects.
    """

    name: str = "band-noise"
    title: str = "Noise in a band"
    axis: str = "rms (of the range from black to white)"
    reference: str = "subramanian2023"
    range: tuple[float, float] = (0.005, 2.0)
    words: str = (
        "has grey Gaussian noise added to it, in the octave around 16 cycles per width, whose root "
        "mean square is the level, where 1 is from black to white; what leaves these is cut"
    )
    random: bool = True
    centre: float = 16.0
    octaves: float = 1.0

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Add noise."""
        height, width = pixels.shape[-2:]
        frequency = fourier_frequencies(height, width, pixels) * width
        half = 2 ** (self.octaves / 2)
        kept = (frequency >= self.centre / half) & (frequency <= self.centre * half)
        noise = filtered_noise(seeds, "band noise", (height, width), kept, pixels)
        return pixels + (noise * levels[:, None, None])[:, None]


BAND_NOISE = NoiseInBand()


@corruption(
    "c-gaussian-noise", "Gaussian noise", "has Gaussian noise added to each channel", random=True
)
def gaussian_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add Gaussian noise."""
    noise = normal(seeds, "c-gaussian-noise", tuple(pixels.shape[1:]), pixels)
    return pixels + noise.mul_(over_pixels(parameter(levels, _GAUSSIAN_SD, 0)))


@corruption(
    "c-speckle-noise",
    "Speckle noise",
    "has Gaussian noise added to each channel in proportion to its value",
    random=True,
)
def speckle_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add Gaussian noise in proportion to the pixel."""
    noise = normal(seeds, "c-speckle-noise", tuple(pixels.shape[1:]), pixels)
    return pixels * (1 + noise.mul_(over_pixels(parameter(levels, _SPECKLE_SD, 0))))


@corruption(
    "c-impulse-noise",
    "Impulse noise",
    "has values set to black or white at random in each channel",
    random=True,
)
def impulse_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Set values to black or white, in each channel apart."""
    return salt_and_pepper(pixels, parameter(levels, _IMPULSES, 0), seeds, per_channel=True)


@corruption(
    "c-shot-noise", "Shot noise", "is seen by few photons", random=True, differentiable=False
)
def shot_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Count photons: whole numbers, so that they have no gradient."""
    chance = uniform(seeds, "c-shot-noise", tuple(pixels.shape[1:]), pixels)
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

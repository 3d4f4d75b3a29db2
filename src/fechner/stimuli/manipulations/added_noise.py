"""Noise that is added, the same to all channels: uniform, or in a band of frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import OfPixels, over_pixels
from fechner.stimuli.manipulations.randomness import uniform
from fechner.stimuli.manipulations.spectra import filtered_noise, fourier_frequencies
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class UniformNoise(OfPixels):
    """White noise, even between minus and plus the level; what leaves 0..1 is cut."""

    name: str = "uniform-noise"
    title: str = "Uniform noise"
    axis: str = "half width (of the range from black to white)"
    reference: str = "geirhos2018"
    range: tuple[float, float] = (0.01, 5.0)
    words: str = (
        "has grey noise added to it, for each pixel even between minus and plus the level, where 1 "
        "is from black to white; what leaves these is cut"
    )
    random: bool = True

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Add noise."""
        noise = uniform(seeds, "uniform noise", (1, *pixels.shape[-2:]), pixels).mul_(2).sub_(1)
        return pixels + noise.mul_(over_pixels(levels))


@dataclass(frozen=True, kw_only=True)
class NoiseInBand(OfPixels):
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


UNIFORM_NOISE = UniformNoise()
BAND_NOISE = NoiseInBand()

"""Low-pass and high-pass filters with soft edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import OfPixels
from fechner.stimuli.manipulations.spectra import cosine_frequencies, filter_cosines
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor

#: The highest frequency that pixels hold, in cycles per pixel: along their diagonal.
_HIGHEST = math.sqrt(0.5)


@dataclass(frozen=True, kw_only=True)
class LowPass(OfPixels):
    """Takes out high frequencies.

    All is kept up to a cut-off, which lies so many octaves below the highest frequency that pixels
    hold; above it the gain falls to 0 within an octave, as a raised cosine of log frequency.
    """

    name: str = "low-pass"
    title: str = "Low-pass filter"
    axis: str = "cut-off (octaves below the highest frequency)"
    reference: str = "geirhos2021"
    range: tuple[float, float] = (0.3, 8.0)
    words: str = (
        "is low-pass filtered: frequencies are kept up to a cut-off that lies the level in octaves "
        "below the highest that pixels hold, and fade out within an octave above it"
    )

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Filter pictures."""
        frequency = cosine_frequencies(pixels)
        cut_off = _HIGHEST * levels.double().neg().exp2()
        return filter_cosines(pixels, 1 - _rise(frequency, cut_off, cut_off * 2))


@dataclass(frozen=True, kw_only=True)
class HighPass(OfPixels):
    """Takes out low frequencies but for the mean of each channel.

    All is kept from a cut-off on; below it the gain falls to 0 within an octave, as a raised cosine
    of log frequency. What then leaves 0..1 is cut.
    """

    name: str = "high-pass"
    title: str = "High-pass filter"
    axis: str = "cut-off (cycles per width)"
    reference: str = "geirhos2021"
    range: tuple[float, float] = (0.7, 112.0)
    words: str = (
        "is high-pass filtered: frequencies are kept from a cut-off on, which is the level in "
        "cycles per width, and fade out within an octave below it; the mean of each channel is "
        "kept, and what leaves black and white is cut"
    )

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Filter pictures."""
        frequency = cosine_frequencies(pixels)
        cut_off = levels.double() / pixels.shape[-1]
        gains = _rise(frequency, cut_off / 2, cut_off)
        gains[:, 0, 0] = 1
        return filter_cosines(pixels, gains)


def _rise(frequency: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Return 0 up to one frequency and 1 from another on, [n, h, w]."""
    import torch

    octaves = torch.log2(frequency.clamp(min=1e-9))[None]
    low, high = (torch.log2(edge)[:, None, None] for edge in (start, end))
    return (1 - torch.cos(math.pi * ((octaves - low) / (high - low)).clamp(0, 1))) / 2


LOW_PASS = LowPass()
HIGH_PASS = HighPass()

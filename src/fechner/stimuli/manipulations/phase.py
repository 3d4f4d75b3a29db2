"""Phase scrambling: the power spectrum stays, structure goes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import OfPixels
from fechner.stimuli.manipulations.randomness import uniform
from fechner.stimuli.manipulations.spectra import fourier, from_fourier
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class PhaseScramble(OfPixels):
    """Random shifts of the phases of a picture's Fourier transform, the same in all channels.

    Shifts are even between minus and plus the level, so that 180 deg leaves nothing of the phases.
    Until values that leave 0..1 are cut, the power spectrum is that of the picture.
    """

    name: str = "phase-scramble"
    title: str = "Phase scrambling"
    axis: str = "largest shift of phase (deg)"
    reference: str = "geirhos2021"
    range: tuple[float, float] = (2.0, 180.0)
    words: str = (
        "has the phases of its Fourier transform shifted at random, by minus to plus the level in "
        "degrees, in all channels alike; the power spectrum is kept, and what leaves black and "
        "white is cut"
    )
    random: bool = True
    most: float = 180.0

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Shift phases."""
        import torch

        height, width = pixels.shape[-2:]
        half = width // 2 + 1
        shifts = uniform(seeds, "phases", (height, half), pixels).mul_(2).sub_(1)
        for column in {0, width // 2} if width % 2 == 0 else {0}:
            _make_odd_(shifts[:, :, column])
        angles = shifts * (levels * (math.pi / 180))[:, None, None]
        turned = fourier(pixels) * torch.polar(torch.ones_like(angles), angles)[:, None]
        return from_fourier(turned, (height, width))


def _make_odd_(shifts: Tensor) -> None:
    """Give opposite frequencies opposite shifts, [n, h], as a real picture has them."""
    height = shifts.shape[1]
    first = (height - 1) // 2
    shifts[:, 0] = 0
    if height % 2 == 0:
        shifts[:, height // 2] = 0
    if first:
        shifts[:, -first:] = -shifts[:, 1 : first + 1].flip(1)


PHASE_SCRAMBLE = PhaseScramble()

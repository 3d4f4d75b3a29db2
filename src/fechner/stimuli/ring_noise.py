"""The noise of the public code of Vila-Tomás et al. (2026): a flat ring on the grid of an FFT."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.stimuli.field import Field
    from fechner.stimuli.patterns import ContrastOf

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RingNoise:
    """Points of a Fourier transform with amplitude 1 and random phases, in a small round window.

    Contrast is ``rms_sqrt2`` over the whole square, not over the window: a window of 0.3 deg in a
    square of 2 deg makes the noise in it eight times as strong. `OrientedNoise` is the better
    choice for anything but published numbers.

    Parameters
    ----------
    frequency_cpd, orientation_deg
        Middle of the ring and of the band; angles turn clockwise from vertical bars.
    half_width
        Half the width of the ring, over its frequency. The published code has 3 cpd at the highest
        frequency of a series and less in proportion below.
    band_deg
        Width of the band of orientations.
    size_deg
        Side of the square.
    window_deg
        Radius at which the window, a raised cosine, reaches 0; None has no window.
    window_at_deg
        Its centre, to the right of and below the upper left corner. The published code has 0.5 deg,
        which is the middle of a square of 1 deg.
    seed
        One number or several, of NumPy's legacy generator, which the published code uses.

    References
    ----------
    Vila-Tomás et al. (2026), key ``vila_tomas2026``, in the form of their public code.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> noise = RingNoise(6.0, seed=1).draw(Field.of(degrees=2, ppd=64))
    >>> round(float(noise.std(correction=0)) * 2**0.5, 3), round(float(noise[32, 32]), 3)
    (1.0, -6.311)
    """

    frequency_cpd: float
    orientation_deg: float = 0.0
    half_width: float = 0.125
    band_deg: float = 30.0
    size_deg: float = 2.0
    window_deg: float | None = 0.3
    window_at_deg: tuple[float, float] = (0.5, 0.5)
    seed: int | tuple[int, ...] = 0

    contrast_of: ClassVar[ContrastOf] = "rms_sqrt2"
    words: ClassVar[str] = "oriented noise"

    def __post_init__(self) -> None:
        for name in ("frequency_cpd", "band_deg", "size_deg", "half_width"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name):g}; it must be above 0.")
        if self.window_deg is not None and not self.window_deg > 0:
            raise ValueError(f"window_deg is {self.window_deg:g}; it must be above 0, or None.")

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the noise, of sqrt 2 x standard deviation 1 over its square."""
        import torch

        side = round(self.size_deg * field.ppd)
        top, left = (field.height_px - side) // 2, (field.width_px - side) // 2
        if min(top, left) < 0:
            raise ValueError(
                f"noise of {self.size_deg:g} deg does not fit a field of {field.width_deg:g} x "
                f"{field.height_deg:g} deg; give the noise a smaller size_deg."
            )
        drawn = torch.zeros(field.height_px, field.width_px, dtype=torch.float64, device=device)
        square = torch.as_tensor(_square(self, side), device=device)
        drawn[top : top + side, left : left + side] = square
        return drawn

    @property
    def highest_cpd(self) -> float:
        """Outer edge of the ring."""
        return self.frequency_cpd * (1 + self.half_width)


@lru_cache(maxsize=64)
def _square(noise: RingNoise, side: int) -> Floats:
    """Draw the square."""
    steps = np.arange(side)
    frequency = (steps - side // 2) / noise.size_deg
    radius = np.hypot(frequency[None, :], frequency[:, None])
    angle = np.degrees(np.arctan2(frequency[:, None], frequency[None, :]))
    apart = (angle - noise.orientation_deg + 90) % 180 - 90
    there = np.abs(radius - noise.frequency_cpd) < noise.frequency_cpd * noise.half_width
    there &= np.abs(apart) < noise.band_deg / 2
    if not there.any():
        raise ValueError(
            f"a square of {noise.size_deg:g} deg has no Fourier component within "
            f"{noise.half_width:g} of {noise.frequency_cpd:g} cpd; give a larger size_deg."
        )
    seeds = noise.seed if isinstance(noise.seed, tuple) else (noise.seed,)
    phase = 2 * math.pi * np.random.RandomState(list(seeds)).rand(side, side)
    picture: Floats = np.fft.ifft2(np.fft.ifftshift(there * np.exp(1j * phase))).real
    if noise.window_deg is not None:
        x, y = (steps * noise.size_deg / side - at for at in noise.window_at_deg)
        away = np.hypot(x[None, :], y[:, None]) / noise.window_deg
        picture = picture * (1 + np.cos(math.pi * np.minimum(away, 1))) / 2
    picture = picture - picture.mean()
    return np.asarray(picture / (math.sqrt(2) * picture.std()))

"""Gaussian noise in a band of spatial frequencies, reproducible on every device."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from fechner.stimuli.field import Field
    from fechner.stimuli.patterns import ContrastOf

#: ``pcg64`` is NumPy's modern generator; the others reproduce published stimuli.
Generator = Literal["pcg64", "numpy-legacy", "torch"]


@dataclass(frozen=True)
class Noise:
    """White Gaussian noise, cut to a ring of frequencies with hard edges, divided by its std.

    Its contrast is therefore RMS (std/mean). The draw is made by NumPy on the CPU, so a seed means
    the same picture everywhere.

    Parameters
    ----------
    low_cpd, high_cpd
        The ring that is kept, both edges included; ``low_cpd=0`` is low-pass.
    seed
        One number or several (they are mixed, for ``pcg64``).
    keep_mean
        Whether a low-pass noise keeps its own mean; the right answer is no, since it shifts the
        background, but published masks do.
    halve_edge
        Whether frequencies on the upper edge are kept at half their amplitude. A published mask
        is so: rounding left one of each pair of opposite frequencies.
    """

    low_cpd: float
    high_cpd: float
    seed: int | tuple[int, ...] = 0
    generator: Generator = "pcg64"
    keep_mean: bool = False
    halve_edge: bool = False

    contrast_of: ClassVar[ContrastOf] = "rms"
    told: ClassVar[tuple[str, ...]] = ("low_cpd", "high_cpd")

    @property
    def words(self) -> str:
        """What it is."""
        low = f"from {self.low_cpd:g}" if self.low_cpd else "up"
        return f"noise {low} to {self.high_cpd:g} cycles/degree"

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the noise with unit standard deviation."""
        import torch

        white = torch.as_tensor(self._white((field.height_px, field.width_px)), device=device)
        fx = torch.fft.rfftfreq(field.width_px, 1 / field.ppd, dtype=white.dtype, device=device)
        fy = torch.fft.fftfreq(field.height_px, 1 / field.ppd, dtype=white.dtype, device=device)
        # The squared radius avoids that rounding of a square root decides who is on the edge.
        radius = fx[None, :].square() + fy[:, None].square()
        kept = ((radius >= self.low_cpd**2) & (radius <= self.high_cpd**2)).to(white.dtype)
        if self.halve_edge:
            kept[radius.isclose(radius.new_tensor(self.high_cpd**2))] = 0.5
        if not self.keep_mean:
            kept[0, 0] = 0
        drawn = torch.fft.irfft2(torch.fft.rfft2(white) * kept, s=white.shape)
        spread = drawn.std(correction=0)
        if not spread > 1e-9:  # rounding alone is below
            raise ValueError(
                f"no frequency of a {field.width_px} px field at {field.ppd:g} ppd lies in "
                f"{self.low_cpd:g}-{self.high_cpd:g} cpd; enlarge the field or move the band."
            )
        unit: Tensor = drawn / spread
        return unit

    def _white(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        if self.generator == "pcg64":
            return np.random.default_rng(self.seed).standard_normal(shape)
        if not isinstance(self.seed, int):
            raise ValueError(f"the generator '{self.generator}' takes one seed.")
        if self.generator == "numpy-legacy":
            return np.random.RandomState(self.seed).randn(*shape)
        import torch

        drawn = torch.randn(shape, generator=torch.Generator().manual_seed(self.seed))
        return drawn.double().numpy()

    @property
    def highest_cpd(self) -> float:
        """Upper edge of the band."""
        return self.high_cpd


@dataclass(frozen=True)
class OctaveNoise:
    """Noise in a band of some octaves around a frequency; all else is as of `Noise`.

    Examples
    --------
    >>> OctaveNoise(4.0).highest_cpd
    5.656854249492381
    """

    frequency_cpd: float
    octaves: float = 1.0
    seed: int | tuple[int, ...] = 0
    generator: Generator = "pcg64"

    contrast_of: ClassVar[ContrastOf] = "rms"
    told: ClassVar[tuple[str, ...]] = ("octaves",)

    @property
    def words(self) -> str:
        """What it is."""
        return f"noise {'one octave' if self.octaves == 1 else f'{self.octaves:g} octaves'} wide"

    @property
    def band(self) -> Noise:
        """The noise, by the edges of its band."""
        return Noise(*octave_edges(self.frequency_cpd, self.octaves), self.seed, self.generator)

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the noise with unit standard deviation."""
        return self.band.draw(field, device)

    @property
    def highest_cpd(self) -> float:
        """Upper edge of the band."""
        return self.band.high_cpd


def octave_edges(frequency_cpd: float, octaves: float = 1.0) -> tuple[float, float]:
    """Return the edges of a band of some octaves around a frequency.

    Examples
    --------
    >>> octave_edges(4.0, octaves=2.0)
    (2.0, 8.0)
    """
    half = math.pow(2.0, octaves / 2)
    return frequency_cpd / half, frequency_cpd * half

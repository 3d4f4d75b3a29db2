"""Bands of photographs as patterns: natural structure of one range of spatial frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fechner.errors import PictureError
from fechner.stimuli.bands import Band
from fechner.stimuli.noise import octave_edges
from fechner.stimuli.photographs import Photograph
from fechner.stimuli.pictures import Seed, picture_drawn

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.stimuli.field import Field
    from fechner.stimuli.patterns import ContrastOf

#: RMS contrast of a band below which there is nothing in it but rounding.
_NOTHING = 1e-4

#: Luminance of the primaries of sRGB (IEC 61966-2-1), which photographs are taken to be in.
_LUMINANCE = (0.2126, 0.7152, 0.0722)


@dataclass(frozen=True)
class NaturalBand:
    """The luminance of a photograph, cut to a ring of frequencies, divided by its std.

    As for `Noise`, its contrast is RMS. The picture is continued by its mirror images before it is
    filtered, so that edges that do not fit together add nothing to the band. Which photograph it is
    follows from the seed; those that cannot be read or have nothing in the band are passed over.

    Parameters
    ----------
    frequency_cpd, octaves
        Middle and width of the ring that is kept, both edges included.
    photographs
        Those to choose from.

    Examples
    --------
    >>> NaturalBand(4.0, ()).highest_cpd
    5.656854249492381
    """

    frequency_cpd: float
    photographs: tuple[Photograph, ...]
    octaves: float = 1.0
    seed: int | Seed = 0

    contrast_of: ClassVar[ContrastOf] = "rms"
    told: ClassVar[tuple[str, ...]] = ("octaves",)

    @property
    def words(self) -> str:
        """What it is."""
        wide = "one octave" if self.octaves == 1 else f"{self.octaves:g} octaves"
        return f"{wide} of the luminance of a photograph (of {len(self.photographs)})"

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the band with unit standard deviation."""
        low, high = octave_edges(self.frequency_cpd, self.octaves)
        why: PictureError | None = None
        for place in np.random.default_rng(self.seed).permutation(len(self.photographs)):
            try:
                return _band(self.photographs[place], low, high, field, device)
            except PictureError as error:
                why = why or error
        raise PictureError(
            f"no photograph has anything from {low:.3g} to {high:.3g} cpd that "
            f"could be shown{f': {why}' if why else '.'}",
            "unreachable",
        )

    @property
    def highest_cpd(self) -> float:
        """Upper edge of the band."""
        return octave_edges(self.frequency_cpd, self.octaves)[1]


def _band(
    photograph: Photograph, low_cpd: float, high_cpd: float, field: Field, device: str
) -> Tensor:
    """Return one band of one photograph."""
    import torch

    light = luminance(picture_drawn(photograph, field.still(), None, device))
    rows = torch.cat([light, light.flip(0)], dim=0)
    whole = torch.cat([rows, rows.flip(1)], dim=1)
    mirrored = field.still().resized((whole.shape[0], whole.shape[1]))
    kept = Band(low_cpd, high_cpd).mask(mirrored, device)
    band = torch.fft.irfft2(torch.fft.rfft2(whole) * kept, s=whole.shape)
    band = band[: light.shape[0], : light.shape[1]]
    band = band - band.mean()
    spread = band.std(correction=0)
    if not spread > _NOTHING * light.mean():
        raise PictureError(
            f"{photograph} has nothing from {low_cpd:.3g} to {high_cpd:.3g} cpd.",
            "unreachable",
        )
    unit: Tensor = band / spread
    return unit


def luminance(pixels: Tensor) -> Tensor:
    """Return the relative luminance of sRGB values, [3, h, w] to [h, w].

    Examples
    --------
    >>> import torch
    >>> round(float(luminance(torch.full((3, 1, 1), 0.5)).item()), 4)
    0.214
    """
    import torch

    dark = pixels <= 0.04045
    linear = torch.where(dark, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    weights = torch.tensor(_LUMINANCE, dtype=pixels.dtype, device=pixels.device)
    light: Tensor = torch.einsum("chw,c->hw", linear, weights)
    return light

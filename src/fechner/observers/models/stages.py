"""The four stages of the BioMultiLayer-style cascade as torch modules, and the cascade.

Each has a linear part and a divisive normalisation. Filters are made for one size and resolution.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fechner.errors import ObserverError
from fechner.human.spatial_observer import (
    chromatic_rg_csf,
    chromatic_yb_csf,
    standard_spatial_observer,
)
from fechner.observers.models.bio_parameters import (
    BioParameters,
    ContrastStage,
    NaturalMeans,
    OpponentStage,
    SensitivityStage,
    WaveletStage,
)
from fechner.observers.models.divisive import (
    Floats,
    energies,
    filtered,
    frequencies,
    gain_at,
    gaussian,
)
from fechner.stimuli.colour import XYZ_TO_ATD

#: Frequency of the lowest band of the pyramid; below is the low-pass residual.
_LOWEST_CPD = 2.0


class Responses(NamedTuple):
    """What a stage hands on, and its linear part."""

    linear: Tensor
    out: Tensor


class Opponent(nn.Module):
    """Light in XYZ to adapted opponent colours, [n, 3, h, w]."""

    matrix: Tensor
    b: Tensor
    pool: Tensor
    floor: Tensor
    gain: Tensor

    def __init__(self, p: OpponentStage, means: NaturalMeans, floor: float) -> None:
        super().__init__()
        self.exponent, self.unit = p.exponent, p.unit_cdm2
        mean = _column(means.opponent_energy)
        _keep(self, matrix=torch.tensor(XYZ_TO_ATD), b=_column(p.b), pool=_column(p.pool))
        _keep(self, floor=floor * mean ** (1 / p.exponent))
        _keep(self, gain=gain_at(mean, _column(p.level), self.b, (1 + self.pool) * mean))

    def linear(self, xyz: Tensor) -> Tensor:
        """Return A, T, D in units of light."""
        return torch.einsum("ij,njhw->nihw", self.matrix, xyz) / self.unit

    def forward(self, xyz: Tensor) -> Responses:
        """Divide energy by the same and by its mean over the field."""
        y = self.linear(xyz)
        e, signed = energies(y, self.exponent, self.floor)
        below = self.b + e + self.pool * e.mean(dim=(-2, -1), keepdim=True)
        return Responses(y, self.gain * signed / below)


class Contrast(nn.Module):
    """Opponent colours to contrasts with the surround."""

    b: Tensor
    surround: Tensor
    blur: Tensor

    def __init__(self, p: ContrastStage, frequency: Floats) -> None:
        super().__init__()
        _keep(self, b=_column(p.b), surround=_column(p.surround))
        _keep(self, blur=torch.tensor(gaussian(frequency, p.sigma_deg)))

    def forward(self, x: Tensor) -> Responses:
        """Divide the difference from the surround by the surround, whatever its sign."""
        y = x - self.surround * filtered(x, self.blur)
        return Responses(y, y / (self.b + filtered(x.abs(), self.blur)))


class Sensitivity(nn.Module):
    """Contrasts to what is left of them by the contrast sensitivity functions, masked."""

    b: Tensor
    csf: Tensor
    blur: Tensor
    floor: Tensor
    gain: Tensor

    def __init__(
        self,
        p: SensitivityStage,
        means: NaturalMeans,
        floor: float,
        frequency: Floats,
        orientation: Floats,
    ) -> None:
        super().__init__()
        self.exponent = p.exponent
        gains = np.stack(
            [
                standard_spatial_observer(frequency, orientation),
                chromatic_rg_csf(frequency),
                chromatic_yb_csf(frequency),
            ]
        )
        peak = float(standard_spatial_observer(np.linspace(2.0, 4.0, 201)).max())
        mean, amplitude = _column(means.sensitivity_energy), _column(means.sensitivity_amplitude)
        _keep(self, b=_column(p.b), floor=floor * amplitude)
        _keep(self, csf=torch.tensor(p.gain * gains / peak))
        _keep(self, blur=torch.tensor(gaussian(frequency, p.sigma_deg)))
        _keep(self, gain=gain_at(mean, p.drive * amplitude, self.b, mean))

    def forward(self, x: Tensor) -> Responses:
        """Filter, and divide energy by that near by."""
        y = filtered(x, self.csf)
        e, signed = energies(y, self.exponent, self.floor)
        below = self.b + filtered(e, self.blur)
        return Responses(y, self.gain * signed / below)


class Band(NamedTuple):
    """A band of the pyramid: 0 deg means vertical bars, as in `Grating`; residuals have none."""

    frequency_cpd: float
    orientation_deg: float | None


def bands(ppd: float, size_px: tuple[int, int], orientations: int = 4) -> tuple[Band, ...]:
    """Return the bands of a field, high to low: residual, scales by orientation, residual.

    Examples
    --------
    >>> found = bands(64.0, (128, 128))
    >>> len(found), found[1].frequency_cpd, found[-2].frequency_cpd
    (18, 16.0, 2.0)
    """
    wanted = round(np.log2(ppd / 4 / _LOWEST_CPD)) + 1
    scales = min(wanted, int(np.floor(np.log2(min(size_px)))) - 2)
    if scales < 1:
        raise ObserverError(
            f"bio-multilayer needs a larger or finer field than {size_px[1]} x {size_px[0]} px at "
            f"{ppd:g} pixels per degree; give at least 8 x 8 px and 12 pixels per degree."
        )
    inside = [
        Band(ppd / 4 / 2**scale, -k * 180 / orientations % 180)  # rows run downwards
        for scale in range(scales)
        for k in range(orientations)
    ]
    return (Band(ppd / 2, None), *inside, Band(ppd / 4 / 2**scales, None))


class Wavelets(nn.Module):
    """A steerable pyramid of each opponent channel, normalised, [n, 3 x bands, h, w]."""

    scale: Tensor
    b: Tensor
    pool: Tensor
    blur: Tensor
    floor: Tensor
    gain: Tensor

    def __init__(
        self,
        p: WaveletStage,
        means: NaturalMeans,
        floor: float,
        ppd: float,
        size_px: tuple[int, int],
        frequency: Floats,
    ) -> None:
        from plenoptic.process import SteerablePyramidFreq

        super().__init__()
        self.exponent = p.exponent
        self.bands = bands(ppd, size_px, p.orientations)
        scales = (len(self.bands) - 2) // p.orientations
        with warnings.catch_warnings():
            # It cannot put pictures of odd sizes together again, which nobody asks for.
            warnings.filterwarnings("ignore", message="Reconstruction will not be perfect")
            self.pyramid = SteerablePyramidFreq(
                size_px, height=scales, order=p.orientations - 1, downsample=False
            )
        at = np.array([band.frequency_cpd for band in self.bands])
        known = np.array(p.frequencies_cpd)

        def of_bands(values: tuple[float, ...]) -> Tensor:
            logs = np.interp(np.log2(at), np.log2(known[::-1]), np.log2(values[::-1]))
            return torch.tensor(2.0**logs)[:, None, None]

        mean = torch.stack([of_bands(values) for values in means.wavelet_energy])
        amplitude = torch.stack([of_bands(values) for values in means.wavelet_amplitude])
        near = torch.tensor(_neighbours(self.bands, p))
        _keep(
            self,
            # In pyramids that are subsampled, as the published numbers are for, coefficients grow
            # by 4 from scale to scale.
            scale=torch.tensor((16.0 / np.minimum(at, 16.0)) ** 2)[:, None, None],
            b=of_bands(p.b),
            pool=of_bands(p.to_weights)[:, :, 0] * near * of_bands(p.from_weights)[:, 0, 0],
            blur=torch.tensor(gaussian(frequency, p.sigma_deg)),
            floor=floor * amplitude,
        )
        # Responses are handed on as large as they would be in a tight frame.
        level = amplitude / self.scale
        pooled = torch.einsum("ij,cjhw->cihw", self.pool, mean)
        _keep(self, gain=gain_at(mean, level, self.b, pooled))

    def linear(self, x: Tensor) -> Tensor:
        """Return the bands, [n, 3, bands, h, w]."""
        found = self.pyramid(x)
        each = [band if band.ndim == 5 else band[:, :, None] for band in found.values()]
        return torch.cat(each, dim=2)

    def forward(self, x: Tensor) -> Responses:
        """Divide each band by its neighbours."""
        linear = self.linear(x)
        y = self.scale * linear
        e, signed = energies(y, self.exponent, self.floor)
        below = self.b + torch.einsum("ij,ncjhw->ncihw", self.pool, filtered(e, self.blur))
        out = self.gain * signed / below
        return Responses(linear.flatten(1, 2), out.flatten(1, 2))


def _neighbours(found: tuple[Band, ...], p: WaveletStage) -> Floats:
    """Return how much each band counts for each other, before weights; rows sum to 1."""
    octave = np.log2([band.frequency_cpd for band in found])
    angle = np.array([np.nan if b.orientation_deg is None else b.orientation_deg for b in found])
    apart = np.abs((angle[:, None] - angle + 90) % 180 - 90)
    near = np.exp(-(((octave[:, None] - octave) / p.sigma_octaves) ** 2) / 2)
    # Residuals have all orientations, so they are near to every one.
    alike = np.where(np.isnan(apart), 1.0, np.exp(-((apart / p.sigma_orientation_deg) ** 2) / 2))
    near = near * alike
    return np.asarray(near / near.sum(axis=1, keepdims=True))


class BioMultiLayer(nn.Module):
    """The cascade for fields of one size and resolution.

    Examples
    --------
    >>> cascade = BioMultiLayer(BioParameters(), ppd=64.0, size_px=(32, 32))
    >>> [tuple(out.shape[1:]) for _, out in cascade(torch.full((1, 3, 32, 32), 40.0))]
    [(3, 32, 32), (3, 32, 32), (3, 32, 32), (42, 32, 32)]
    """

    def __init__(self, p: BioParameters, ppd: float, size_px: tuple[int, int]) -> None:
        super().__init__()
        frequency, orientation = frequencies(size_px, ppd)
        self.opponent = Opponent(p.opponent, p.means, p.floor)
        self.contrast = Contrast(p.contrast, frequency)
        self.csf = Sensitivity(p.sensitivity, p.means, p.floor, frequency, orientation)
        self.wavelets = Wavelets(p.wavelets, p.means, p.floor, ppd, size_px, frequency)
        self.to(torch.float32)

    def forward(self, xyz: Tensor) -> tuple[Responses, ...]:
        """Return linear part and output of each stage, for light in XYZ, cd/m2, [n, 3, h, w]."""
        found = []
        x = xyz
        for stage in (self.opponent, self.contrast, self.csf, self.wavelets):
            responses: Responses = stage(x)
            found.append(responses)
            x = responses.out
        return tuple(found)


def _column(values: tuple[float, ...]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None, None]


def _keep(module: nn.Module, **numbers: Tensor) -> None:
    """Keep numbers that go where the module goes."""
    for name, values in numbers.items():
        module.register_buffer(name, values.double())

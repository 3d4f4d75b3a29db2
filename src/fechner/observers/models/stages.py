"""The four stages of the BioMultiLayer-style cascade as torch modules, and the cascade.

Each has a linear part and a divisive normalisation: a response is divided by what its neighbours
say (Carandini & Heeger 2012), y is replaced by sign(y) e / (b + H e) with the energy e = abs(y) to
some power. Filters are in degrees of visual angle, made for one size and resolution, and work on
the Fourier transform, so that what leaves a field on one side enters it on the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from fechner.arrays import Floats
from fechner.errors import ObserverError
from fechner.human.spatial_observer import (
    chromatic_rg_csf,
    chromatic_yb_csf,
    standard_spatial_observer,
)
from fechner.observers.models.bio_multilayer import (
    BioParameters,
    ContrastStage,
    OpponentStage,
    SensitivityStage,
    WaveletStage,
)
from fechner.stimuli.colour import XYZ_TO_ATD

#: Frequency of the lowest band of the pyramid; below is the low-pass residual.
_LOWEST_CPD = 2.0

#: Resolution that the numbers of the last stage are for.
_PPD = 64.0


class Responses(NamedTuple):
    """What a stage hands on, and its linear part."""

    linear: Tensor
    out: Tensor


class Opponent(nn.Module):
    """Light in XYZ to adapted opponent colours, [n, 3, h, w]."""

    matrix: Tensor
    scale: Tensor
    b: Tensor
    pool: Tensor
    floor: Tensor

    def __init__(self, p: OpponentStage, floor: float) -> None:
        super().__init__()
        self.exponent = p.exponent
        _keep(self, matrix=torch.tensor(XYZ_TO_ATD), scale=_column(p.scale), b=_column(p.b))
        _keep(self, pool=_column(p.pool), floor=floor * self.b ** (1 / p.exponent))

    def forward(self, xyz: Tensor) -> Responses:
        """Divide energy by the same and by its mean over the field.

        The gain grows with the pool, so that a colour of energy 1 keeps its response.
        """
        y = torch.einsum("ij,njhw->nihw", self.matrix, xyz) / self.scale
        e, signed = energies(y, self.exponent, self.floor)
        pooled = self.b + self.pool * e.mean(dim=(-2, -1), keepdim=True)
        return Responses(y, self.scale * (pooled + 1) * signed / (pooled + e))


class Contrast(nn.Module):
    """Opponent colours to contrasts with the surround."""

    b: Tensor
    blur: Tensor

    def __init__(self, p: ContrastStage, frequency: Floats) -> None:
        super().__init__()
        _keep(self, b=_column(p.b), blur=torch.tensor(gaussian(frequency, p.sigma_deg)))

    def forward(self, x: Tensor) -> Responses:
        """Divide the difference from the surround by the surround."""
        surround = filtered(x, self.blur)
        y = x - surround
        return Responses(y, y / (self.b + surround))


class Sensitivity(nn.Module):
    """Contrasts to what is left of them by the contrast sensitivity functions, masked."""

    b: Tensor
    csf: Tensor
    blur: Tensor
    floor: Tensor

    def __init__(
        self, p: SensitivityStage, floor: float, frequency: Floats, orientation: Floats
    ) -> None:
        super().__init__()
        self.exponent = p.exponent
        sensitivity = np.stack(
            [
                standard_spatial_observer(frequency, orientation),
                chromatic_rg_csf(frequency),
                chromatic_yb_csf(frequency),
            ]
        )
        peak = float(standard_spatial_observer(np.linspace(2.0, 4.0, 201)).max())
        _keep(self, b=_column(p.b), floor=floor * _column(p.b) ** (1 / p.exponent))
        _keep(self, csf=_column(p.gain) * torch.tensor(sensitivity / peak) + p.regulariser)
        _keep(self, blur=torch.tensor(gaussian(frequency, p.sigma_deg)))

    def forward(self, x: Tensor) -> Responses:
        """Filter, and divide energy by that near by."""
        y = filtered(x, self.csf)
        e, signed = energies(y, self.exponent, self.floor)
        return Responses(y, signed / (self.b + filtered(e, self.blur)))


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
    """A steerable pyramid of each opponent channel, normalised.

    Bands of one scale are [n, 3, orientations, h, w]; scales are subsampled, each half as fine as
    the one before.
    """

    def __init__(self, p: WaveletStage, floor: float, ppd: float, size_px: tuple[int, int]) -> None:
        from plenoptic.process import SteerablePyramidFreq

        super().__init__()
        self.exponent, self.size_px = p.exponent, size_px
        # Coefficients grow by 4 from scale to scale; a frequency has its own size of them, whatever
        # scale it is at.
        self.unit = (_PPD / ppd) ** 2
        self.bands = bands(ppd, size_px, p.orientations)
        scales = (len(self.bands) - 2) // p.orientations
        with warnings.catch_warnings():
            # It cannot put pictures of odd sizes together again, which nobody asks for.
            warnings.filterwarnings("ignore", message="Reconstruction will not be perfect")
            self.pyramid = SteerablePyramidFreq(size_px, height=scales, order=p.orientations - 1)
        #: Which bands each scale has; residuals have one each.
        edges = [0, *range(1, len(self.bands), p.orientations), len(self.bands)]
        self.groups = [slice(*ends) for ends in pairwise(edges)]
        sizes = [
            tuple(-(-side // 2**halved) for side in size_px) for halved in (0, *range(scales + 1))
        ]
        at = np.array([band.frequency_cpd for band in self.bands])
        known = np.array(p.frequencies_cpd)

        def of_bands(values: Sequence[float]) -> Tensor:
            logs = np.interp(np.log2(at), np.log2(known[::-1]), np.log2(values[::-1]))
            return torch.tensor(2.0**logs)[:, None, None]

        blurs = []
        for height, width in sizes:
            spacing = (size_px[0] / ppd / height, size_px[1] / ppd / width)
            blurs.append(sampled_gaussian((height, width), spacing, p.sigma_deg))
        e = torch.stack([of_bands(values) for values in p.natural_energy])
        kappa = torch.stack([of_bands(values) for values in p.kappa])
        b, near = of_bands(p.b), torch.tensor(_neighbours(self.bands, p))
        pool = of_bands(p.to_weights)[:, :, 0] * near * of_bands(p.from_weights)[:, 0, 0]
        sums = torch.tensor([float(blur[0, 0]) for blur in blurs])
        counts = torch.tensor([group.stop - group.start for group in self.groups])
        added = sums.repeat_interleave(counts)[:, None, None]
        pooled = torch.einsum("ij,cjhw->cihw", pool, added * e)
        _keep(self, pool=pool, b=b, gain=gain_at(e, kappa, b, pooled))
        _keep(self, floor=floor * e ** (1 / p.exponent))
        for scale, blur in enumerate(blurs):
            _keep(self, **{f"blur_{scale}": torch.tensor(blur)})

    b: Tensor
    pool: Tensor
    floor: Tensor
    gain: Tensor

    def linear(self, x: Tensor) -> list[Tensor]:
        """Return the bands, scale by scale."""
        found = self.pyramid(x).values()
        return [self.unit * (maps if maps.ndim == 5 else maps[:, :, None]) for maps in found]

    def forward(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Return the bands and what is left of them, divided by their neighbours."""
        linear = self.linear(x)
        signed, pooled = [], []
        for scale, (y, group) in enumerate(zip(linear, self.groups, strict=True)):
            e, with_sign = energies(y, self.exponent, self.floor[:, group])
            signed.append(with_sign)
            # On the band's own grid; then to where it is asked for.
            pooled.append(filtered(e, self.get_buffer(f"blur_{scale}")))
        out = []
        for group, above in zip(self.groups, signed, strict=True):
            below = self.b[group]
            for source, near in zip(self.groups, pooled, strict=True):
                mixed = torch.einsum("ij,ncjhw->ncihw", self.pool[group, source], near)
                below = below + _resized(mixed, above)
            out.append(self.gain[:, group] * above / below)
        return linear, out

    def on_field(self, scales: Sequence[Tensor]) -> Tensor:
        """Put bands on the grid of the field, [n, 3 x bands, h, w], with zeros between them.

        A coefficient stands at the pixel that it is centred on, so that lengths and distances of
        what is handed on are those of the coefficients.
        """
        n, height, width = len(scales[0]), *self.size_px
        field = scales[0].new_zeros(n, 3, len(self.bands), height, width)
        for group, maps in zip(self.groups, scales, strict=True):
            rows = torch.arange(maps.shape[-2]) * height // maps.shape[-2]
            columns = torch.arange(maps.shape[-1]) * width // maps.shape[-1]
            field[:, :, group, rows[:, None], columns] = maps
        return field.flatten(1, 2)


def _resized(maps: Tensor, like: Tensor) -> Tensor:
    """Take maps to another grid: every nth sample, or each repeated."""
    if maps.shape[-2:] == like.shape[-2:]:
        return maps
    flat = functional.interpolate(maps.flatten(1, 2), size=like.shape[-2:])
    return flat.reshape(*maps.shape[:3], *like.shape[-2:])


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
        self.opponent = Opponent(p.opponent, p.floor)
        self.contrast = Contrast(p.contrast, frequency)
        self.csf = Sensitivity(p.sensitivity, p.floor, frequency, orientation)
        self.wavelets = Wavelets(p.wavelets, p.floor, ppd, size_px)
        self.to(torch.float32)

    def retina(self, xyz: Tensor) -> tuple[Responses, ...]:
        """Return linear part and output of the first three stages."""
        opponent: Responses = self.opponent(xyz)
        contrast: Responses = self.contrast(opponent.out)
        csf: Responses = self.csf(contrast.out)
        return opponent, contrast, csf

    def forward(self, xyz: Tensor) -> tuple[Responses, ...]:
        """Return linear part and output of each stage, for light in XYZ, cd/m2, [n, 3, h, w]."""
        stages = self.retina(xyz)
        last = (self.wavelets.on_field(scales) for scales in self.wavelets(stages[-1].out))
        return (*stages, Responses(*last))


def _column(values: tuple[float, ...]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None, None]


def _keep(module: nn.Module, **numbers: Tensor) -> None:
    """Keep numbers that go where the module goes."""
    for name, values in numbers.items():
        module.register_buffer(name, values.double())


def frequencies(size_px: tuple[int, int], ppd: float) -> tuple[Floats, Floats]:
    """Return frequency in cpd and orientation in degrees on the grid of `torch.fft.rfft2`.

    Examples
    --------
    >>> frequency, orientation = frequencies((4, 4), ppd=64.0)
    >>> frequency[0].tolist(), orientation[1].round(1).tolist()
    ([0.0, 16.0, 32.0], [90.0, 45.0, 26.6])
    """
    across = np.fft.rfftfreq(size_px[1], 1 / ppd)[None, :]
    down = np.fft.fftfreq(size_px[0], 1 / ppd)[:, None]
    return np.hypot(across, down), np.degrees(np.arctan2(down, across))


def gaussian(frequency_cpd: Floats, sigma_deg: float) -> Floats:
    """Return the gain of a Gaussian blur: 1 at frequency 0.

    Examples
    --------
    >>> round(float(gaussian(np.array(4.0), sigma_deg=0.066)), 4)
    0.2527
    """
    return np.asarray(np.exp(-2 * (np.pi * sigma_deg * frequency_cpd) ** 2))


def sampled_gaussian(
    size_px: tuple[int, int], spacing_deg: tuple[float, float], sigma_deg: float
) -> Floats:
    """Return the gain of a Gaussian sampled at a spacing, on the grid of `torch.fft.rfft2`.

    Samples are the density times the area of a cell, as in the kernels of Martinez et al. (2018):
    they add up to 1 where cells are small beside the Gaussian, and to more where they are not.

    Examples
    --------
    >>> [round(float(sampled_gaussian((16, 16), (d, d), 0.02)[0, 0]), 3) for d in (1 / 64, 1 / 8)]
    [1.0, 6.217]
    """

    def along(n: int, spacing: float) -> Floats:
        place = spacing * ((np.arange(n) + n // 2) % n - n // 2)
        drawn = spacing / (np.sqrt(2 * np.pi) * sigma_deg) * np.exp(-((place / sigma_deg) ** 2) / 2)
        return np.asarray(drawn)

    kernel = along(size_px[0], spacing_deg[0])[:, None] * along(size_px[1], spacing_deg[1])
    return np.asarray(np.fft.rfft2(kernel).real)


def filtered(maps: Tensor, gain: Tensor) -> Tensor:
    """Filter maps, [..., h, w], by a gain on the grid of `torch.fft.rfft2`."""
    found: Tensor = torch.fft.irfft2(torch.fft.rfft2(maps) * gain, s=maps.shape[-2:])
    return found


def energies(y: Tensor, exponent: float, floor: Tensor | float) -> tuple[Tensor, Tensor]:
    """Return abs(y) to a power, and the same with the sign of y.

    Both are rounded off below the floor, where a power has no slope, or an infinite one.

    Examples
    --------
    >>> import torch
    >>> e, signed = energies(torch.tensor([0.0, -4.0]), 0.5, floor=1.0)
    >>> [round(value, 3) for value in (*e.tolist(), *signed.tolist())]
    [1.0, 2.031, 0.0, -1.97]
    """
    square = y.square() + floor**2
    e = square.pow(exponent / 2)
    return e, y * e * square.rsqrt()


def gain_at(mean_energy: Tensor, level: Tensor, b: Tensor, pooled: Tensor) -> Tensor:
    """Return K: mean energy all around then gives a response of this level (Martinez et al. 2018).

    K = level (b + H e*) / e*, with e* the mean energy over photographs and H e* what is pooled
    of it.

    Examples
    --------
    >>> import torch
    >>> e, b = torch.tensor(0.5), torch.tensor(0.1)
    >>> round(float(gain_at(e, torch.tensor(2.0), b, pooled=e)), 3)
    2.4
    """
    return level * (b + pooled) / mean_energy

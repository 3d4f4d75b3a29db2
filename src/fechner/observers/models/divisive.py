"""Divisive normalisation, and filters in degrees of visual angle.

A response is divided by what its neighbours say (Carandini & Heeger 2012): y is replaced by
sign(y) e / (b + H e) with the energy e = abs(y) to some power. All filters work on the Fourier
transform, so that what leaves a field on one side enters it on the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]


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

    Parameters
    ----------
    size_px, spacing_deg
        Down and across.

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
    import torch

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

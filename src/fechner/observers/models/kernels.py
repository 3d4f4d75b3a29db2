"""Kernels of the parametric PerceptNet (Vila-Tomás et al. 2025): differences of Gaussians, Gabors.

They are drawn on a grid of their own, in degrees at the pixels per degree that a layer was designed
for, and then used in pixels: like any trained network, this one does not know how large its
pictures are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def grid(side_px: int, ppd: float) -> tuple[Floats, Floats]:
    """Return x [1, side] and y [side, 1] in degrees from the centre, rows running down."""
    axis: Floats = (np.arange(side_px, dtype=np.float64) - (side_px - 1) / 2) / ppd
    return axis[None, :], axis[:, None]


def of_unit_energy(kernel: Floats) -> Floats:
    """Divide a kernel by the root of its sum of squares."""
    return np.asarray(kernel / np.sqrt(np.sum(kernel**2)))


def blob(side_px: int, ppd: float, sigma_deg: float) -> Floats:
    """Return a Gaussian that sums to 1.

    Examples
    --------
    >>> blob(3, 1.0, 1.0).round(4)[1].tolist()
    [0.1238, 0.2042, 0.1238]
    """
    x, y = grid(side_px, ppd)
    drawn = np.exp(-(x**2 + y**2) / (2 * sigma_deg**2))
    return np.asarray(drawn / drawn.sum())


def centre_surround(side_px: int, ppd: float, sigma_deg: float, ratio: float) -> Floats:
    """Return a Gaussian minus one that is wider by a ratio, of unit energy.

    Examples
    --------
    >>> kernel = centre_surround(21, 21.0, 0.15, ratio=1.1)
    >>> abs(round(float(kernel.sum()), 9)), bool(kernel[10, 10] > 0 > kernel[10, 2])
    (0.0, True)
    """
    difference = blob(side_px, ppd, sigma_deg) - blob(side_px, ppd, ratio * sigma_deg)
    return of_unit_energy(difference)


def gabor(
    side_px: int,
    ppd: float,
    frequency_cpd: float,
    orientation_deg: float,
    phase_deg: float,
    inverse_sigmas: tuple[float, float],
) -> Floats:
    """Return a Gabor of zero mean and unit energy.

    Parameters
    ----------
    orientation_deg
        0 means vertical bars; it turns counterclockwise.
    inverse_sigmas
        One over the standard deviation of the envelope, across and along the bars, in 1/deg.

    Examples
    --------
    >>> kernel = gabor(31, 32.0, 4.0, 0.0, 0.0, (3.5, 2.8))
    >>> round(float(np.sum(kernel**2)), 6), abs(round(float(kernel.sum()), 9))
    (1.0, 0.0)
    """
    x, y = grid(side_px, ppd)
    angle = np.radians(orientation_deg)
    across = x * np.cos(angle) - y * np.sin(angle)
    along = x * np.sin(angle) + y * np.cos(angle)
    envelope = np.exp(-((inverse_sigmas[0] * across) ** 2 + (inverse_sigmas[1] * along) ** 2) / 2)
    wave = np.cos(2 * np.pi * frequency_cpd * across + np.radians(phase_deg))
    drawn = envelope * wave
    return of_unit_energy(drawn - drawn.mean())

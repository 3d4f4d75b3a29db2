"""Contrast above threshold: how strongly it is seen, alone and on a mask, and what looks the same.

One formula for the just noticeable difference of contrast at any contrast, frequency, colour and
mask, as the authors of Vila-Tomás et al. (2026, ``vila_tomas2026``) put published data together in
their public code. The response is its Fechner integral: the number of just noticeable differences
between nothing and a contrast. It is a formula, not a measurement: masking is Gaussian in log
frequency and falls with the angle, 2.6 times more slowly than Campbell & Kulikowski (1966) found,
there is no facilitation by weak masks, and it grows at most with the root of the mask's contrast.

Thresholds on masks of 2 cpd follow from a response that is divided by what is around it (Foley
1994), which has facilitation. Matches are those that people set, across colour directions and
across frequencies.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fechner.arrays import Floats
from fechner.human.datasets import load
from fechner.human.inputs import checked
from fechner.human.spatial_observer import (
    chromatic_rg_csf,
    chromatic_yb_csf,
    standard_spatial_observer,
)

#: Sensitivity of each channel, and the frequency below which its increments no longer change.
_CHANNELS: dict[str, tuple[Callable[[ArrayLike], Floats], float]] = {
    "ach": (standard_spatial_observer, 0.03),
    "rg": (chromatic_rg_csf, 4.0),
    "yb": (chromatic_yb_csf, 4.0),
}

#: Contrasts of masks count from here on, and widths of their effect.
_MASK_CONTRAST = 0.018
_MASK_EXPONENT = 0.5
_MASK_LOG10 = 0.25
_MASK_DEG = 45.0

#: Points of Gauss-Legendre quadrature between 0 and each contrast; 40 give 8 digits.
_POINTS = 64

# Fitted to the data set foley1994, 0 deg together with 45 and 90 deg; the exponents are free and
# land on the 2.4 and 2.0 of Foley (1994) and of Watson & Solomon (1997).
_FOLEY_GAIN = 9.07
_EXCITING = 2.402
_INHIBITING = 2.020
_FOLEY_HALF = 0.02624

_HALVINGS = 60


def threshold_elevation(
    frequency_cpd: ArrayLike,
    mask_frequency_cpd: ArrayLike,
    mask_contrast: ArrayLike,
    mask_angle_deg: ArrayLike = 0.0,
) -> Floats:
    """Return by how much a mask raises the threshold of a pattern.

    Threshold with the mask over threshold without, 1 or more. References: Vila-Tomás et al. (2026,
    ``vila_tomas2026``); after Blakemore & Campbell (1969, ``blakemore_campbell1969``), and Legge &
    Foley (1980, ``legge_foley1980``).

    Parameters
    ----------
    frequency_cpd, mask_frequency_cpd : array_like
        Of the pattern, and of the mask or the pattern that was adapted to.
    mask_contrast, mask_angle_deg : array_like
        Contrast, which has no effect below 0.018, and angle between pattern and mask.

    Examples
    --------
    >>> threshold_elevation(3.0, [1.5, 3.0, 6.0, 12.0], 0.2).round(5).tolist()
    [1.32637, 3.33333, 1.32637, 1.00365]
    """
    frequency = checked("frequency_cpd", frequency_cpd)
    mask_frequency = checked("mask_frequency_cpd", mask_frequency_cpd)
    contrast = checked("mask_contrast", mask_contrast, or_zero=True)
    angle = np.abs((np.asarray(mask_angle_deg, dtype=np.float64) + 90) % 180 - 90)
    exponent = (
        _MASK_EXPONENT
        * np.exp(-((np.log10(frequency / mask_frequency) / _MASK_LOG10) ** 2))
        * np.exp(-angle / _MASK_DEG)
    )
    return np.asarray(np.maximum(contrast / _MASK_CONTRAST, 1.0) ** exponent)[()]


def contrast_increment(
    contrast: ArrayLike,
    frequency_cpd: ArrayLike,
    channel: str = "ach",
    *,
    mask_frequency_cpd: ArrayLike | None = None,
    mask_contrast: ArrayLike = 0.0,
    mask_angle_deg: ArrayLike = 0.0,
) -> Floats:
    """Return the contrast that must be added to a contrast to be noticed.

    The increment; at contrast 0 it is the threshold.

    Parameters
    ----------
    contrast : array_like
        Contrast of the pattern, 0 or more: Michelson, or ``rms_sqrt2``, which is the same for a
        grating; of the opponent signal over luminance for the chromatic channels.
    channel : str
        ``"ach"``, ``"rg"`` or ``"yb"``.
    mask_frequency_cpd, mask_contrast, mask_angle_deg : array_like
        As in `threshold_elevation`; None is a mask of the same frequency.

    Examples
    --------
    >>> contrast_increment([0.0, 0.01, 0.1], 6.0).round(5).tolist()
    [0.00689, 0.00711, 0.02832]
    """
    contrast = checked("contrast", contrast, or_zero=True)
    frequency = checked("frequency_cpd", frequency_cpd)
    if channel not in _CHANNELS:
        raise ValueError(f"channel is '{channel}'; use one of {', '.join(_CHANNELS)}.")
    sensitivity, lowest_cpd = _CHANNELS[channel]
    threshold = 1 / sensitivity(frequency)
    limited = np.maximum(frequency, lowest_cpd)
    exponent = 0.8 * limited**1.7 / (0.5 + limited**1.7)
    factor = 0.3 - 0.03 * np.log10(limited)
    # A Weber-like law, factor x C^exponent, that takes over from the threshold where they meet.
    slope = (factor * contrast**exponent - threshold) / (
        (factor / threshold) ** (-1 / exponent) + contrast
    )
    increment = threshold + contrast * np.maximum(0.6, 2 * limited / 25) * slope
    mask_frequency = frequency if mask_frequency_cpd is None else mask_frequency_cpd
    elevation = threshold_elevation(frequency, mask_frequency, mask_contrast, mask_angle_deg)
    return np.asarray(increment * elevation)[()]


def contrast_response(
    contrasts: ArrayLike,
    frequency_cpd: ArrayLike,
    channel: str = "ach",
    *,
    mask_frequency_cpd: ArrayLike | None = None,
    mask_contrast: ArrayLike = 0.0,
    mask_angle_deg: ArrayLike = 0.0,
    step: float | None = None,
) -> Floats:
    """Return how strongly contrasts are seen: the integral of 1 / `contrast_increment`.

    Number of just noticeable differences from 0.

    Parameters
    ----------
    frequency_cpd, channel, mask_frequency_cpd, mask_contrast, mask_angle_deg
        As in `contrast_increment`; all are broadcast.
    step : float or None
        None integrates. A number makes the sum of the authors' code instead, over contrasts step,
        2 step and so on, times the step; contrasts must be multiples of it.

    Examples
    --------
    >>> contrast_response(0.2, [1.5, 3.0, 6.0, 12.0, 24.0], step=0.01).round(2).tolist()
    [5.97, 8.53, 9.3, 6.73, 3.13]
    >>> contrast_response([0.1, 0.2], 6.0).round(2).tolist()
    [7.33, 9.99]
    """
    contrast = checked("contrasts", contrasts, or_zero=True)
    frequency = checked("frequency_cpd", frequency_cpd)
    mask_frequency = frequency if mask_frequency_cpd is None else mask_frequency_cpd
    elevation = threshold_elevation(frequency, mask_frequency, mask_contrast, mask_angle_deg)
    if step is None:
        # With C = C_max t^2 the power of C at its low end does no harm to the quadrature.
        nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
        t = (nodes + 1) / 2
        at: Floats = contrast[..., None] * t**2
        width = contrast[..., None] * t * weights
    else:
        size = float(checked("step", step))
        steps = np.round(contrast / size)
        if not np.allclose(steps * size, contrast, rtol=0, atol=1e-9):
            raise ValueError(f"contrasts are not multiples of the step of {size:g}.")
        at = size * np.arange(1.0, steps.max(initial=0.0) + 1)
        width = np.where(at <= contrast[..., None] + size / 2, size, 0.0)
    unmasked = (width / contrast_increment(at, frequency[..., None], channel)).sum(axis=-1)
    return np.asarray(unmasked / elevation)[()]


def foley_response(
    contrast: ArrayLike,
    mask_contrast: ArrayLike = 0.0,
    *,
    excitation: ArrayLike = 1.0,
    inhibition: ArrayLike = 1.0,
) -> Floats:
    """Return the response to a pattern of 2 cpd on a mask, in just noticeable differences.

    A power of contrast is divided by another: R = a E^p / (Z^q + I^q), where both E and I are the
    contrast of the pattern and, weighted, that of the mask. The response; 1 more is just
    noticeable. The form is that of Foley (1994, ``foley1994``), fitted to that data set.

    Parameters
    ----------
    contrast, mask_contrast : array_like
        Contrasts of pattern and mask, 0 or more.
    excitation, inhibition : array_like
        What the mask counts in E and in I; both are 1 for a mask that is like the pattern.

    Examples
    --------
    >>> foley_response([0.0, 0.02, 0.2]).round(3).tolist()
    [0.0, 0.745, 4.825]
    """
    pattern = checked("contrast", contrast, or_zero=True)
    mask = checked("mask_contrast", mask_contrast, or_zero=True)
    exciting = pattern + checked("excitation", excitation, or_zero=True) * mask
    inhibiting = pattern + checked("inhibition", inhibition, or_zero=True) * mask
    divisor = _FOLEY_HALF**_INHIBITING + inhibiting**_INHIBITING
    return np.asarray(_FOLEY_GAIN * exciting**_EXCITING / divisor)[()]


def foley_threshold(
    mask_contrast: ArrayLike, *, excitation: ArrayLike = 1.0, inhibition: ArrayLike = 1.0
) -> Floats:
    """Return the contrast of a pattern of 2 cpd that is just seen on a mask.

    It dips below the threshold without a mask where the mask is weak, and rises as a power of the
    mask's contrast where it is strong. Contrast at which the response to pattern and mask is 1
    above that to the mask. References: Foley (1994, ``foley1994``).

    Parameters
    ----------
    mask_contrast, excitation, inhibition : array_like
        As in `foley_response`; about 1.1 and 1.8 for a mask at 45 deg, 0.14 and 0.54 at 90 deg.

    Examples
    --------
    >>> foley_threshold([0.0, 0.0127, 0.32]).round(4).tolist()
    [0.0241, 0.0168, 0.1598]
    """
    mask = checked("mask_contrast", mask_contrast, or_zero=True)
    weights = {"excitation": excitation, "inhibition": inhibition}
    goal = 1 + foley_response(0.0, mask, **weights)
    # The response rises from the goal's foot to above it only once: halving finds where.
    low, high = np.zeros(np.shape(goal)), np.full(np.shape(goal), 1e3)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        seen = foley_response(middle, mask, **weights) >= goal
        low, high = np.where(seen, low, middle), np.where(seen, middle, high)
    return np.asarray(high)[()]


def colour_matching_ratios() -> dict[str, float]:
    """Return by how much a colour needs more or less amplitude to look as contrasty as grey.

    For ``"ach"``, ``"rg"`` and ``"yv"``, the DKL amplitude over luminance that looks like an
    achromatic grating of contrast 1, from the data set ``"switkes_crognale1999"``. One ratio holds
    at all contrasts there; ``"ach"`` is 1. References: Switkes & Crognale (1999,
    ``switkes_crognale1999``), as given by Hammou et al. (2025, ``hammou2025``).

    Examples
    --------
    >>> {direction: round(ratio, 6) for direction, ratio in colour_matching_ratios().items()}
    {'ach': 1.0, 'rg': 0.610649, 'yv': 4.203636}
    """
    table = load("switkes_crognale1999")
    directions = table["direction"]
    log_ratio = np.log(table["dkl_amplitude"] / table["achromatic_contrast"])
    names = dict.fromkeys(directions.tolist())  # in the order of the file
    return {name: float(np.exp(np.mean(log_ratio[directions == name]))) for name in names}


def kulikowski_match(
    contrast: ArrayLike, threshold: ArrayLike, other_threshold: ArrayLike
) -> Floats:
    """Return the contrast of another pattern that looks as contrasty: equal steps above threshold.

    Contrasts look alike that lie as far above their thresholds; what is below its threshold matches
    the other's threshold. References: Kulikowski (1976, ``kulikowski1976``).

    Examples
    --------
    >>> kulikowski_match([0.005, 0.3], 0.0071, 0.0902).round(4).tolist()
    [0.0902, 0.3831]
    """
    above = checked("contrast", contrast, or_zero=True) - checked("threshold", threshold)
    return np.asarray(np.maximum(above, 0.0) + checked("other_threshold", other_threshold))[()]

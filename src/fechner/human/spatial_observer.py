"""The Standard Spatial Observer, its chromatic companions, and the Watson-Ahumada filter.

These curves are the gains of filters: in an image-computable observer they are followed by an
aperture and by pooling over the image, so they lie above the sensitivity to one small patch.
All take radial frequencies in arrays of any shape, 0 included, so that they can be evaluated on the
grid of a Fourier transform: ``frequency = hypot(fx, fy)``, ``orientation = arctan2(fy, fx)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fechner.arrays import Floats
from fechner.human.inputs import checked

APERTURE_SD_DEG = 0.6273
"""Watson & Ahumada (2005): sd of the Gaussian that weights the filtered image around fixation."""

POOLING_EXPONENT = 2.4081
"""Watson & Ahumada (2005): exponent of Minkowski pooling over the image, in deg2."""

# Standard Spatial Observer: Watson & Ramirez (2000), in the form of Watson & Malo (2002).
_SSO_GAIN = 330.74
_SSO_DECAY_CPD = 7.28
_SSO_LOW_LOSS = 0.837
_SSO_LOW_LOSS_CPD = 1.809
_SSO_OBLIQUE_CPD = 6.664
_SSO_DC_CPD = 1e-4

# Chromatic curves of Vila-Tomás et al. (2026), shaped after Mullen (1985): logistic in linear
# frequency, scaled to 0.75 and 0.55 of the achromatic peak.
_ACHROMATIC_PEAK = 201.3
_CHROMATIC_UNIT_CPD = 1e-5  # the published code sets the curve to its top here, not at 0

# Watson & Ahumada (2005): the difference of hyperbolic secants, "HPmH", and the oblique effect.
_HPMH_GAIN = 373.08
_HPMH_HIGH_CPD = 4.1726
_HPMH_HIGH_POWER = 0.7786
_HPMH_LOW_LOSS = 0.8493
_HPMH_LOW_CPD = 1.3625
_OBLIQUE_CORNER_CPD = 3.481
_OBLIQUE_SLOPE_CPD = 13.57


def standard_spatial_observer(frequency_cpd: ArrayLike, orientation_deg: ArrayLike = 0.0) -> Floats:
    """Achromatic contrast sensitivity of the Standard Spatial Observer.

    An exponential decay minus a Gaussian low-frequency loss, times an oblique effect that grows
    with frequency (Watson & Malo 2002, their CSF equation). Sensitivity; the peak is 201.4 at 3.05
    cpd. References: Watson & Malo (2002, ``watson_malo2002``); parameters of Watson & Ramirez
    (2000, ``watson_ramirez2000``).

    Parameters
    ----------
    orientation_deg : array_like
        Orientation; 0 and 90 are the cardinal ones, 45 the oblique one.

    Examples
    --------
    >>> round(float(standard_spatial_observer(4.0)), 4)
    188.8416
    """
    frequency = checked("frequency_cpd", frequency_cpd, or_zero=True)
    frequency = np.where(frequency == 0, _SSO_DC_CPD, frequency)
    radial = _SSO_GAIN * (
        np.exp(-frequency / _SSO_DECAY_CPD)
        - _SSO_LOW_LOSS * np.exp(-((frequency / _SSO_LOW_LOSS_CPD) ** 2))
    )
    loss = -np.expm1(-frequency / _SSO_OBLIQUE_CPD) * _obliqueness(orientation_deg)
    return np.asarray(radial * (1 - loss))[()]


def chromatic_rg_csf(frequency_cpd: ArrayLike) -> Floats:
    """Red-green companion of the Standard Spatial Observer: low-pass, half at 4.6 cpd.

    It has the shape of Mullen's (1985) curve, not its acuity: it reaches 1 at 33 cpd where her
    observers reached 11-12. castleCSF is the better calibrated chromatic reference. Sensitivity,
    150.98 at zero frequency. References: Vila-Tomás et al. (2026, ``vila_tomas2026``); Mullen
    (1985, ``mullen1985``).

    Examples
    --------
    >>> round(float(chromatic_rg_csf(4.0)), 4)
    82.6658
    """
    return _chromatic_csf(frequency_cpd, share=0.75, midpoint_cpd=-55.94, width_cpd=6.64)


def chromatic_yb_csf(frequency_cpd: ArrayLike) -> Floats:
    """Yellow-blue companion of the Standard Spatial Observer: low-pass, half at 2.9 cpd.

    Sensitivity, 110.71 at zero frequency. References: Vila-Tomás et al. (2026, ``vila_tomas2026``);
    Mullen (1985, ``mullen1985``).

    Examples
    --------
    >>> round(float(chromatic_yb_csf(4.0)), 4)
    42.0444
    """
    return _chromatic_csf(frequency_cpd, share=0.55, midpoint_cpd=-31.72, width_cpd=4.13)


def watson_ahumada_csf(frequency_cpd: ArrayLike) -> Floats:
    """Radial filter of the standard model for foveal detection ("HPmH").

    A hyperbolic secant of a power of frequency minus a hyperbolic secant. Multiply by
    `oblique_effect` for the filter in two dimensions. Gain, in units of threshold after the
    aperture and pooling of the same model. References: Watson & Ahumada (2005,
    ``watson_ahumada2005``).

    Examples
    --------
    >>> round(float(watson_ahumada_csf(4.0)), 4)
    214.2039
    """
    frequency = checked("frequency_cpd", frequency_cpd, or_zero=True)
    high = _sech((frequency / _HPMH_HIGH_CPD) ** _HPMH_HIGH_POWER)
    low = _sech(frequency / _HPMH_LOW_CPD)
    return np.asarray(_HPMH_GAIN * (high - _HPMH_LOW_LOSS * low))[()]


def oblique_effect(frequency_cpd: ArrayLike, orientation_deg: ArrayLike) -> Floats:
    """Loss of sensitivity at oblique orientations, in the same model.

    None up to a corner frequency of 3.48 cpd, then growing towards a full loss at 45 degrees.
    Factor between 0 and 1. References: Watson & Ahumada (2005, ``watson_ahumada2005``).

    Parameters
    ----------
    orientation_deg : array_like
        Orientation; 0 and 90 are the cardinal ones, 45 the oblique one.

    Examples
    --------
    >>> round(float(oblique_effect(16.0, 45.0)), 4)
    0.3975
    """
    above = np.maximum(
        checked("frequency_cpd", frequency_cpd, or_zero=True) - _OBLIQUE_CORNER_CPD, 0.0
    )
    loss = -np.expm1(-above / _OBLIQUE_SLOPE_CPD) * _obliqueness(orientation_deg)
    return np.asarray(1 - loss)[()]


def _obliqueness(orientation_deg: ArrayLike) -> Floats:
    orientation = np.deg2rad(np.asarray(orientation_deg, dtype=np.float64))
    return np.asarray(np.sin(2 * orientation) ** 2)


def _sech(x: Floats) -> Floats:
    # From decaying exponentials only: cosh overflows at the corners of a fine Fourier grid.
    return np.asarray(2 * np.exp(-x) / (1 + np.exp(-2 * x)))


def _chromatic_csf(
    frequency_cpd: ArrayLike, share: float, midpoint_cpd: float, width_cpd: float
) -> Floats:
    frequency = checked("frequency_cpd", frequency_cpd, or_zero=True)
    # h(f) / h(unit) with h(f) = 1 / (1 + exp((f - midpoint) / width)), written so that no term
    # can overflow. The midpoint lies far below zero, so the fall is almost exp(-f / width).
    fall = np.exp((_CHROMATIC_UNIT_CPD - frequency) / width_cpd)
    unit = 1 + np.exp((midpoint_cpd - _CHROMATIC_UNIT_CPD) / width_cpd)
    fall = fall * unit / (1 + np.exp((midpoint_cpd - frequency) / width_cpd))
    return np.asarray(share * _ACHROMATIC_PEAK * fall)[()]

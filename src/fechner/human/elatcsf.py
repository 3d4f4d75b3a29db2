"""elaTCSF: human sensitivity to flicker over frequency, luminance, size and eccentricity.

The model of Cai, Bozorgian, Ashraf, Wanat & Mantiuk (2024, ``cai2024_elatcsf``),
doi:10.1145/3680528.3687586, with the parameters published with it (github gfxdisp/elaTCSF, MIT). It
is about uniform fields whose luminance is modulated by a sinusoid in time; their pattern has no
spatial frequency.

Each place of the visual field has a sensitivity, the temporal contrast sensitivity function of
Watson (1986, ``watson1986``) stretched in frequency and scaled by luminance and eccentricity. Local
sensitivities are pooled over the field as energy. The data behind the parameters reach from 0.1 to
8000 cd/m2, from 0.5 to 94 Hz and to 60 degrees of eccentricity; beyond, the formula extrapolates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.arrays import Floats
from fechner.human.inputs import checked

# Watson's difference of two low-pass filters: gain, time constant, and for the slower filter its
# relative time constant and weight. The filters have 15 and 16 stages.
_GAIN = 154.133
_TIME_S = 0.00292069
_SLOWER = 2.12547
_SLOWER_WEIGHT = 0.721095
_STAGES, _SLOWER_STAGES = 15, 16

# Frequency is stretched by 1 + 0.034 E about -2 Hz, and by luminance.
_STRETCH_PER_DEG = 0.0341811
_FIXED_HZ = -2.0
_STRETCH_AT_1_CDM2 = 0.6678
_STRETCH_PER_DECADE = 0.222269

_LOSS_PER_DEG = 0.0330933  # decades
_LUMINANCE_GAIN = 1.76801
_LUMINANCE_KNEE_CDM2 = 1.62402
_LUMINANCE_BEND = 0.533781

_POOLING = 3.80022
_ENERGY_AT_THRESHOLD = 6.52801

# The stretch with luminance is zero at 0.00099 cd/m2: there is no flicker to be seen in the model.
_DARKEST_CDM2 = 0.001
_WIDEST_DEG = 180.0

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_SCAN_STEPS = 256
_HALVINGS = 40


def elatcsf_disc(
    frequency_hz: ArrayLike,
    *,
    luminance_cdm2: ArrayLike,
    radius_deg: ArrayLike,
    eccentricity_deg: ArrayLike = 0.0,
) -> Floats:
    """Sensitivity to the flicker of a uniform disc.

    It is the inverse of the Michelson contrast at threshold. Below 1, no contrast is enough. Local
    sensitivity depends on eccentricity alone, so the integral over the disc is one over rings
    around the fovea, each as long as the part of it inside the disc: 64 Gauss-Legendre nodes for
    whole rings and 64 for parts, with an error below 1e-9 above 0.01 cd/m2.

    Parameters
    ----------
    frequency_hz : array_like
        Temporal frequency of the sinusoid, 0 or more. All arguments broadcast.
    luminance_cdm2 : array_like
        Mean luminance, above 0.001.
    radius_deg : array_like
        Radius of the disc, above 0 and at most 180.
    eccentricity_deg : array_like
        Distance of the disc's centre from the fovea, at most 180.

    Examples
    --------
    >>> round(float(elatcsf_disc(8.0, luminance_cdm2=21.4, radius_deg=2.0)), 4)
    330.6356
    >>> round(float(elatcsf_disc(8.0, luminance_cdm2=100.0, radius_deg=1.0)), 4)
    255.2572
    >>> places = elatcsf_disc(
    ...     [10.0, 20.0], luminance_cdm2=3.0, radius_deg=[16.0, 5.0], eccentricity_deg=[10.0, 30.0]
    ... )
    >>> places.round(4).tolist()
    [377.8886, 37.887]
    """
    frequency = checked("frequency_hz", frequency_hz, or_zero=True)
    luminance = checked("luminance_cdm2", luminance_cdm2, above=_DARKEST_CDM2)
    eccentricity, area = _rings(*_disc(radius_deg, eccentricity_deg))
    return np.asarray(_pooled(frequency, luminance, eccentricity, area))[()]


def elatcsf_rectangle(
    frequency_hz: ArrayLike,
    *,
    luminance_cdm2: ArrayLike,
    width_deg: ArrayLike,
    height_deg: ArrayLike,
    eccentricity_deg: ArrayLike = 0.0,
) -> Floats:
    """Sensitivity to the flicker of a uniform rectangle, such as a screen.

    It is the inverse of the Michelson contrast at threshold. Below 1, no contrast is enough. The
    integral takes 64 x 64 Gauss-Legendre nodes on either side of the fovea, where the integrand has
    a kink; its error is below 1e-5 of the sensitivity.

    Parameters
    ----------
    width_deg, height_deg : array_like
        Sides, above 0 and at most 360. The width lies along the line to the fovea.
    eccentricity_deg : array_like
        Distance of the rectangle's centre from the fovea, at most 180.

    Examples
    --------
    >>> sensitivity = elatcsf_rectangle(
    ...     10.0, luminance_cdm2=3.0, width_deg=40.0, height_deg=32.0, eccentricity_deg=10.0
    ... )
    >>> round(float(sensitivity), 4)
    400.3714
    """
    conditions = np.broadcast_arrays(
        checked("frequency_hz", frequency_hz, or_zero=True),
        checked("luminance_cdm2", luminance_cdm2, above=_DARKEST_CDM2),
        checked("width_deg", width_deg, at_most=2 * _WIDEST_DEG),
        checked("height_deg", height_deg, at_most=2 * _WIDEST_DEG),
        checked("eccentricity_deg", eccentricity_deg, or_zero=True, at_most=_WIDEST_DEG),
    )
    sensitivity = np.empty(conditions[0].shape)
    for index in np.ndindex(sensitivity.shape):  # 8192 nodes each: one at a time saves memory
        frequency, luminance, width, height, centre = (each[index] for each in conditions)
        eccentricity, area = _tiles(float(width), float(height), float(centre))
        sensitivity[index] = _pooled(frequency, luminance, eccentricity, area)
    return sensitivity[()]


def critical_flicker_frequency(
    *,
    luminance_cdm2: ArrayLike,
    radius_deg: ArrayLike,
    eccentricity_deg: ArrayLike = 0.0,
) -> Floats:
    """Highest frequency at which the flicker of a disc at full contrast can be seen.

    There the sensitivity of `elatcsf_disc` is 1, and above it is lower. Frequency in Hz; NaN where
    sensitivity stays below 1 at all frequencies. There is no upper bound: wide, bright discs give
    more than the 94 Hz of the data behind the model. Nor does the model's sensitivity vanish at 0
    Hz, so that faint discs may give less than 1 Hz.

    Examples
    --------
    >>> frequency = critical_flicker_frequency(luminance_cdm2=[0.2, 21.4, 2140], radius_deg=2.0)
    >>> frequency.round(2).tolist()
    [26.59, 58.31, 85.58]
    """
    luminance = checked("luminance_cdm2", luminance_cdm2, above=_DARKEST_CDM2)
    radius, centre = _disc(radius_deg, eccentricity_deg)
    luminance, radius, centre = np.broadcast_arrays(luminance, radius, centre)
    eccentricity, area = _rings(radius, centre)

    def seen(frequency: Floats) -> NDArray[np.bool_]:
        return _pooled(frequency, luminance, eccentricity, area) >= 1

    # Sensitivity may fall, rise and fall again with frequency. So look where it is 1 or more last,
    # in steps that are small beside its one peak, and halve that step. Only a peak that rises
    # above 1 between two steps would be missed.
    step = _fused_hz(luminance, radius, centre) / _SCAN_STEPS
    low = np.full(luminance.shape, np.nan)
    for number in range(_SCAN_STEPS):
        low = np.where(seen(number * step), number * step, low)
    high = low + step
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = seen(middle)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2)[()]


def _disc(radius_deg: ArrayLike, eccentricity_deg: ArrayLike) -> tuple[Floats, Floats]:
    return (
        checked("radius_deg", radius_deg, at_most=_WIDEST_DEG),
        checked("eccentricity_deg", eccentricity_deg, or_zero=True, at_most=_WIDEST_DEG),
    )


def _rings(radius: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Return eccentricities of rings around the fovea, and how much of each is in the disc."""
    radius, centre = radius[..., None], centre[..., None]
    # Whole rings fill a disc around the fovea, if it lies inside.
    inside = np.maximum(radius - centre, 0.0)
    whole = inside * (_NODES + 1) / 2
    whole_area = 2 * np.pi * whole * inside / 2 * _WEIGHTS
    # Rings up to the far rim are cut by it. Their length has square-root ends, which the sine
    # takes away; half-angles from products of sums keep the digits of small discs.
    reach = np.minimum(radius, centre)
    angle = np.pi / 2 * _NODES
    cut = np.maximum(radius, centre) + reach * np.sin(angle)
    within = np.maximum((radius - cut + centre) * (radius + cut - centre), 0.0)
    beyond = np.maximum((cut + centre - radius) * (cut + centre + radius), 0.0)
    arc = 4 * np.arctan2(np.sqrt(within), np.sqrt(beyond))
    cut_area = arc * cut * reach * np.cos(angle) * np.pi / 2 * _WEIGHTS
    return (
        np.concatenate(np.broadcast_arrays(whole, cut), axis=-1),
        np.concatenate(np.broadcast_arrays(whole_area, cut_area), axis=-1),
    )


def _tiles(width: float, height: float, centre: float) -> tuple[Floats, Floats]:
    """Return eccentricities and areas of the tiles of a rectangle, cut at the fovea."""
    left, right = centre - width / 2, centre + width / 2
    fovea = max(left, 0.0)
    y = height / 4 * (_NODES + 1)  # the upper half, which counts twice
    eccentricities, areas = [], []
    for start, end in ((left, fovea), (fovea, right)):
        x = start + (end - start) / 2 * (_NODES + 1)
        eccentricities.append(np.hypot(x[:, None], y))
        areas.append(2 * (end - start) / 2 * height / 4 * np.multiply.outer(_WEIGHTS, _WEIGHTS))
    return np.ravel(eccentricities), np.ravel(areas)


def _pooled(frequency: Floats, luminance: Floats, eccentricity: Floats, area: Floats) -> Floats:
    """Pool local sensitivities over places, which are the last axis of the last two."""
    local = _local_sensitivity(frequency[..., None], luminance[..., None], eccentricity)
    energy = np.sum(local**_POOLING * area, axis=-1)
    pooled: Floats = (energy / _ENERGY_AT_THRESHOLD) ** (1 / _POOLING)
    return pooled


def _local_sensitivity(frequency: Floats, luminance: Floats, eccentricity: Floats) -> Floats:
    """Return what a place contributes; its scale means nothing without pooling."""
    centred = (frequency - _FIXED_HZ) / (1 + _STRETCH_PER_DEG * eccentricity) + _FIXED_HZ
    phase = 2 * np.pi * _TIME_S * centred / _luminance_stretch(luminance)
    # |(1 + ix)^-15 - z (1 + ikx)^-16| by modulus and angle, which cannot overflow.
    fast = np.hypot(1, phase) ** -_STAGES
    slow = _SLOWER_WEIGHT * np.hypot(1, _SLOWER * phase) ** -_SLOWER_STAGES
    apart = _SLOWER_STAGES * np.arctan(_SLOWER * phase) - _STAGES * np.arctan(phase)
    response = np.hypot(fast - slow * np.cos(apart), slow * np.sin(apart))
    loss = 10 ** (-_LOSS_PER_DEG * eccentricity)
    sensitivity: Floats = loss * _luminance_gain(luminance) * _GAIN * response
    return sensitivity


def _luminance_stretch(luminance: Floats) -> Floats:
    return _STRETCH_AT_1_CDM2 + _STRETCH_PER_DECADE * np.log10(luminance)


def _luminance_gain(luminance: Floats) -> Floats:
    return _LUMINANCE_GAIN * (1 + _LUMINANCE_KNEE_CDM2 / luminance) ** -_LUMINANCE_BEND


def _fused_hz(luminance: Floats, radius: Floats, centre: Floats) -> Floats:
    """Return a frequency above which nobody sees the disc flicker: a bound, not the limit.

    Both filters together stay below ``(1 + z) |1 + ix|**-15``, and no place of the disc is more
    sensitive than the fovea would be at the frequency that reaches its far rim.
    """
    area = np.pi * radius**2 / _ENERGY_AT_THRESHOLD
    most = area ** (1 / _POOLING) * _luminance_gain(luminance) * _GAIN * (1 + _SLOWER_WEIGHT)
    phase = np.sqrt(np.maximum(most ** (2 / _STAGES) - 1, 0.0))
    foveal = phase * _luminance_stretch(luminance) / (2 * np.pi * _TIME_S)
    return (foveal - _FIXED_HZ) * (1 + _STRETCH_PER_DEG * (centre + radius)) + _FIXED_HZ

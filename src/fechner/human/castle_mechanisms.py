"""The mechanisms of castleCSF and their fitted parameters (Ashraf et al. 2024).

Each is a function of spatial frequency (cpd), temporal frequency (Hz), luminance (cd/m2) and area
(deg2); the periphery takes eccentricity and visual-field angle (deg).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LuminanceLaw:
    """``scale * Y**power * (1 + knee/Y)**-bend``: how a parameter changes with luminance Y."""

    scale: float
    power: float = 0.0
    knee_cdm2: float = 0.0
    bend: float = 0.0
    glare: tuple[float, float] | None = None  # knee and bend of a fall in very bright light

    def __call__(self, luminance: Floats) -> Floats:
        """Return the parameter at a luminance."""
        rise = self.scale * luminance**self.power * (1 + self.knee_cdm2 / luminance) ** -self.bend
        if self.glare is None:
            return rise
        # 1 - (1 + knee/Y)**-bend; the knee is near 1e-6 and the bend near 1e10, so that only
        # log1p and expm1 keep the digits.
        knee, bend = self.glare
        return rise * -np.expm1(-bend * np.log1p(knee / luminance))


@dataclass(frozen=True, slots=True)
class Channel:
    """Spatial tuning: a parabola in log frequency, times summation over area."""

    gain: LuminanceLaw
    peak_cpd: LuminanceLaw
    bandwidth: float
    low_loss: float  # how deep the parabola may fall below the peak frequency; 0 is low-pass
    summation_deg2: float
    summation_cpd: float

    def __call__(self, frequency: Floats, luminance: Floats, area: Floats) -> Floats:
        """Return sensitivity to a static pattern."""
        peak = self.peak_cpd(luminance)
        tuning = 10 ** (-(np.log10(frequency / peak) ** 2) / 2**self.bandwidth)
        tuning = np.where(frequency < peak, np.maximum(tuning, 1 - self.low_loss), tuning)
        # Rovamo et al. (1993): sensitivity grows with the root of the area up to a critical
        # area, which shrinks with the square of frequency.
        critical = self.summation_deg2 / (1 + (frequency / self.summation_cpd) ** 2)
        summation = frequency * np.sqrt(critical / (1 + critical / area))
        return self.gain(luminance) * tuning * summation


@dataclass(frozen=True, slots=True)
class Sustained:
    """Low-pass in time: ``exp(-w**exponent / scale)``."""

    channel: Channel
    exponent: float
    scale: float

    def __call__(self, frequency: Floats, hz: Floats, luminance: Floats, area: Floats) -> Floats:
        """Return sensitivity."""
        response = np.exp(-(hz**self.exponent) / self.scale)
        return response * self.channel(frequency, luminance, area)


@dataclass(frozen=True, slots=True)
class Transient:
    """Band-pass in time; the best temporal frequency rises with log luminance."""

    channel: Channel
    exponent: float
    spread: float
    best_hz: float
    best_hz_per_decade: float

    def __call__(self, frequency: Floats, hz: Floats, luminance: Floats, area: Floats) -> Floats:
        """Return sensitivity."""
        best = self.best_hz + self.best_hz_per_decade * np.log10(luminance)
        # Below 0.0113 cd/m2 the best frequency is negative. The published model then takes the
        # complex power and the modulus of the difference.
        apart = np.abs(hz**self.exponent - (best + 0j) ** self.exponent)
        return np.exp(-(apart**2) / self.spread) * self.channel(frequency, luminance, area)


@dataclass(frozen=True, slots=True)
class Periphery:
    """Loss in decades per degree, and per degree and cpd; the nasal field has its own."""

    per_deg: float
    per_deg_nasal: float
    per_deg_cpd: float
    per_deg_cpd_nasal: float

    def __call__(self, frequency: Floats, eccentricity: Floats, field: Floats) -> Floats:
        """Return the share of sensitivity that is left."""
        away = np.minimum(1.0, np.abs(field - 180.0) / 90.0)  # 0 nasal .. 1 vertical, temporal
        flat = away * self.per_deg + (1 - away) * self.per_deg_nasal
        steep = away * self.per_deg_cpd + (1 - away) * self.per_deg_cpd_nasal
        return 10 ** (-eccentricity * (flat + frequency * steep))


# The parameters fitted by Ashraf et al. (2024).
ACH_SUSTAINED = Sustained(
    Channel(
        gain=LuminanceLaw(56.4947, 0.0, 7.54726, 0.144532, glare=(5.58341e-07, 9.66862e09)),
        peak_cpd=LuminanceLaw(1.78119, 0.0, 91.5718, 0.256682),
        bandwidth=0.000213047,
        low_loss=0.100207,
        summation_deg2=157.103,
        summation_cpd=0.702338,
    ),
    exponent=1.3314,
    scale=10.5795,
)
ACH_TRANSIENT = Transient(
    Channel(
        gain=LuminanceLaw(2748.09, power=0.193434),
        peak_cpd=LuminanceLaw(0.000316696),
        bandwidth=2.6761,
        low_loss=0.000241177,
        summation_deg2=3.81611,
        summation_cpd=3.01389,
    ),
    exponent=0.1898,
    spread=0.0844836,
    best_hz=4.7036,
    best_hz_per_decade=2.41482,
)
RG_SUSTAINED = Sustained(
    Channel(
        gain=LuminanceLaw(681.434, 0.0, 38.0038, 0.480386),
        peak_cpd=LuminanceLaw(0.0178364),
        bandwidth=2.42104,
        low_loss=0.0,
        summation_deg2=2816.44,
        summation_cpd=0.0711058,
    ),
    exponent=1.15591,
    scale=16.4325,
)
YV_SUSTAINED = Sustained(
    Channel(
        gain=LuminanceLaw(166.683, 0.0, 62.8974, 0.41193),
        peak_cpd=LuminanceLaw(0.00425753),
        bandwidth=2.68197,
        low_loss=0.0,
        summation_deg2=2.82789e07,
        summation_cpd=0.000635093,
    ),
    exponent=0.969123,
    scale=7.15012,
)
ACH_PERIPHERY = Periphery(0.0239853, 0.0400662, 0.0189038, 0.00813619)
RG_PERIPHERY = Periphery(0.0591402, 2.89615e-05, 2.04986e-69, 0.18108)
YV_PERIPHERY = Periphery(0.00356865, 5.85804e-141, 0.00806631, 0.0110662)

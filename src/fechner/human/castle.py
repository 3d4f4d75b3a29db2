"""castleCSF: human contrast sensitivity over colour, area, frequency, luminance, eccentricity.

The model of Ashraf, Mantiuk, Chapiro & Wuerger (2024, ``ashraf2024``), doi:10.1167/jov.24.4.5, with
the parameters published with it (github gfxdisp/castleCSF, MIT, version 0.2.4). It is meant for
0.001-10000 cd/m2, 1/16-64 cycles per degree and up to 120 degrees of eccentricity.

A pattern is a background plus an amplitude times a direction in LMS cone space (CIE 2006). Three
mechanisms see it: achromatic, red-green and yellow-violet. The pattern is at threshold where the
root sum of squares of their contrasts, each times the mechanism's sensitivity, is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fechner.arrays import Floats
from fechner.human.inputs import checked
from fechner.stimuli.colour import as_triple
from fechner.stimuli.contrast import Unit, convert_contrast

LMS_TO_MECHANISMS = np.array([[1.0, 1.0, 0.0], [1.0, -2.3112, 0.0], [-1.0, -1.0, 50.9875]])
"""Rows: achromatic, red-green, yellow-violet (the D65 matrix of Wuerger et al. 2020)."""

GREY_LMS_PER_CDM2 = np.array([0.6991, 0.3009, 0.0198])
"""Cone signals of 1 cd/m2 of the D65 grey that stands for a bare luminance; L + M = 1."""

LMS_TO_MECHANISMS.setflags(write=False)
GREY_LMS_PER_CDM2.setflags(write=False)
_AXES: dict[str, Floats] = dict(
    zip(("ach", "rg", "yv"), np.linalg.inv(LMS_TO_MECHANISMS).T, strict=True)
)


# A disc is seen by its rim: the best Gabor of one fixed area among these frequencies, pooled
# along the circumference with this exponent.
_DISC_CPD = np.geomspace(0.125, 16.0, 64)
_DISC_AREA_DEG2 = 2.42437
_DISC_POOLING = 3.01142


def castle_csf(
    frequency_cpd: ArrayLike,
    *,
    area_deg2: ArrayLike,
    luminance_cdm2: ArrayLike | None = None,
    temporal_hz: ArrayLike = 0.0,
    eccentricity_deg: ArrayLike = 0.0,
    visual_field_deg: ArrayLike = 180.0,
    direction: str | ArrayLike = "ach",
    background_lms: ArrayLike | None = None,
) -> Floats:
    """Sensitivity to a Gabor patch: the inverse of its RMS cone contrast at threshold.

    For ``"ach"`` on grey it is the inverse of Michelson contrast to 0.3 %.

    Parameters
    ----------
    frequency_cpd : array_like
        Spatial frequency, above 0. All arguments broadcast.
    area_deg2 : array_like
        Area of the patch; ``pi * sigma**2`` for a Gaussian envelope.
    luminance_cdm2 : array_like, optional
        Luminance of a D65 grey background. Give this or `background_lms`.
    temporal_hz, eccentricity_deg : array_like
        Temporal frequency, and distance from the fovea.
    visual_field_deg : array_like
        Where in the visual field: 0 temporal, 90 superior, 180 nasal. The default is nasal, as
        in the published model; use 0 or 90 for the usual loss towards the periphery.
    direction : {"ach", "rg", "yv"} or array_like of shape (..., 3)
        The axis of one mechanism (a column of the inverse of `LMS_TO_MECHANISMS`) or any LMS
        vector. Its length and sign do not matter here.
    background_lms : array_like of shape (..., 3), optional
        Cone signals of the background, scaled so that L + M is its luminance.

    Examples
    --------
    >>> round(float(castle_csf(4.0, luminance_cdm2=100.0, area_deg2=np.pi)), 4)
    203.4053
    """
    amplitude = castle_threshold_amplitude(
        frequency_cpd,
        area_deg2=area_deg2,
        luminance_cdm2=luminance_cdm2,
        temporal_hz=temporal_hz,
        eccentricity_deg=eccentricity_deg,
        visual_field_deg=visual_field_deg,
        direction=direction,
        background_lms=background_lms,
    )
    background, _ = _background(luminance_cdm2, background_lms)
    contrast = np.sqrt(np.mean((_direction(direction) / background) ** 2, axis=-1))
    return np.asarray(1 / (amplitude * contrast))[()]


def castle_threshold_amplitude(
    frequency_cpd: ArrayLike,
    *,
    area_deg2: ArrayLike,
    luminance_cdm2: ArrayLike | None = None,
    temporal_hz: ArrayLike = 0.0,
    eccentricity_deg: ArrayLike = 0.0,
    visual_field_deg: ArrayLike = 180.0,
    direction: str | ArrayLike = "ach",
    background_lms: ArrayLike | None = None,
) -> Floats:
    """Amplitude k at which ``background + k * direction`` is at threshold.

    Use this where a stimulus is an amplitude along a direction: k stays in the unit of the
    direction vector, and doubling that halves k. A contrast defined as amplitude over luminance Y
    has its threshold at ``k / Y``. It is infinite where no sensitivity is left. Parameters are
    those of `castle_csf`.

    Examples
    --------
    >>> k = castle_threshold_amplitude(4.0, luminance_cdm2=100.0, area_deg2=np.pi)
    >>> round(float(k), 4)
    0.4928
    """
    frequency = checked("frequency_cpd", frequency_cpd)
    area = checked("area_deg2", area_deg2)
    hz = checked("temporal_hz", temporal_hz, or_zero=True)
    eccentricity = checked("eccentricity_deg", eccentricity_deg, or_zero=True)
    field = checked("visual_field_deg", visual_field_deg, or_zero=True)
    background, luminance = _background(luminance_cdm2, background_lms)

    # The achromatic mechanism has a transient channel too, which is band-pass in time; its best
    # frequency rises with log luminance. Below 0.0113 cd/m2 that is negative: the published model
    # then takes the complex power and the modulus of the difference.
    best_hz = 4.7036 + 2.41482 * np.log10(luminance)
    apart = np.abs(hz**0.1898 - (best_hz + 0j) ** 0.1898)
    where = (frequency, luminance, area)
    sustained = np.exp(-(hz**1.3314) / 10.5795) * _ACH_SUSTAINED(*where)
    transient = np.exp(-(apart**2) / 0.0844836) * _ACH_TRANSIENT(*where)
    sensitivities = (
        sustained + transient,
        np.exp(-(hz**1.15591) / 16.4325) * _RG_SUSTAINED(*where),
        np.exp(-(hz**0.969123) / 7.15012) * _YV_SUSTAINED(*where),
    )
    away = np.minimum(1.0, np.abs(field - 180.0) / 90.0)  # 0 nasal .. 1 vertical, temporal
    # Every mechanism's response is divided by the ACHROMATIC response to the background, L + M.
    responses = _direction(direction) @ LMS_TO_MECHANISMS.T
    contrasts = responses / (background[..., :1] + background[..., 1:2])
    energy = np.zeros(())
    for index, (sensitivity, loss) in enumerate(zip(sensitivities, _PERIPHERAL_LOSS, strict=True)):
        per_deg, per_deg_nasal, per_deg_cpd, per_deg_cpd_nasal = loss
        flat = away * per_deg + (1 - away) * per_deg_nasal
        steep = away * per_deg_cpd + (1 - away) * per_deg_cpd_nasal
        left = 10 ** (-eccentricity * (flat + frequency * steep))
        energy = energy + (contrasts[..., index] * (sensitivity * left)) ** 2
    with np.errstate(divide="ignore"):
        return np.asarray(1 / np.sqrt(energy))[()]


def castle_csf_disc(
    radius_deg: ArrayLike,
    *,
    luminance_cdm2: ArrayLike | None = None,
    temporal_hz: ArrayLike = 0.0,
    eccentricity_deg: ArrayLike = 0.0,
    visual_field_deg: ArrayLike = 180.0,
    direction: str | ArrayLike = "ach",
    background_lms: ArrayLike | None = None,
) -> Floats:
    """Sensitivity to a uniform disc with a sharp edge: inverse RMS cone contrast at threshold.

    It grows with the radius to the power 1/3.01. Other parameters are those of `castle_csf`.

    Examples
    --------
    >>> round(float(castle_csf_disc(1.0, luminance_cdm2=100.0)), 4)
    189.7309
    """
    radius = checked("radius_deg", radius_deg)
    lms = None if background_lms is None else _cones("background_lms", background_lms)
    # Frequency runs along a new last axis; in vectors the cone axis stays behind it.
    gabors = castle_csf(
        _DISC_CPD,
        area_deg2=_DISC_AREA_DEG2,
        luminance_cdm2=None if luminance_cdm2 is None else np.asarray(luminance_cdm2)[..., None],
        temporal_hz=np.asarray(temporal_hz)[..., None],
        eccentricity_deg=np.asarray(eccentricity_deg)[..., None],
        visual_field_deg=np.asarray(visual_field_deg)[..., None],
        direction=_direction(direction)[..., None, :],
        background_lms=None if lms is None else lms[..., None, :],
    )
    return np.asarray(radius ** (1 / _DISC_POOLING) * gabors.max(axis=-1))[()]


def convert_sensitivity(
    sensitivity: ArrayLike,
    *,
    to: Unit,
    unit: Unit = "cone",
    direction: str | ArrayLike = "ach",
    background_lms: ArrayLike | None = None,
) -> Floats:
    """Convert 1/contrast, such as that of `castle_csf`, from one unit to another.

    Parameters
    ----------
    to, unit
        ``"cone"``, ``"dkl"``, ``"michelson"`` or ``"rms"`` (see `fechner.stimuli.contrast`).
    direction, background_lms
        As for `castle_csf`; the background's luminance does not matter.

    Examples
    --------
    >>> float(convert_sensitivity(286.4131, to="dkl", direction="rg").round(2))
    180.03
    """
    background = GREY_LMS_PER_CDM2 if background_lms is None else np.asarray(background_lms)
    factor = convert_contrast(
        1.0,
        unit=unit,
        to=to,
        modulation_lms=as_triple(_direction(direction)),
        background_lms=as_triple(background),
    )
    converted: Floats = np.asarray(sensitivity, dtype=np.float64) / factor
    return converted


def _cones(name: str, value: ArrayLike) -> Floats:
    vector = np.asarray(value, dtype=np.float64)
    if vector.ndim == 0 or vector.shape[-1] != 3:
        raise ValueError(f"{name} has shape {vector.shape}; its last axis must hold L, M and S.")
    return vector


def _direction(direction: str | ArrayLike) -> Floats:
    if isinstance(direction, str):
        if direction not in _AXES:
            names = ", ".join(_AXES)
            raise ValueError(f"direction is {direction!r}; use one of {names} or an LMS vector.")
        return _AXES[direction]
    vector = _cones("direction", direction)
    if not (np.isfinite(vector).all() and vector.any(axis=-1).all()):
        raise ValueError(f"direction is {vector.tolist()}; give a finite vector that is not zero.")
    return vector


def _background(luminance: ArrayLike | None, lms: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return cone signals and luminance of the background."""
    if (luminance is None) == (lms is None):
        raise ValueError(
            f"luminance_cdm2 is {luminance!r} and background_lms is {lms!r}; give exactly one of "
            "the two, because L + M of the background is its luminance."
        )
    if luminance is not None:
        grey = checked("luminance_cdm2", luminance)
        return grey[..., None] * GREY_LMS_PER_CDM2, grey
    assert lms is not None
    cones = checked("background_lms", _cones("background_lms", lms))
    return cones, cones[..., 0] + cones[..., 1]


@dataclass(frozen=True, slots=True)
class _LuminanceLaw:
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
class _Channel:
    """Spatial tuning: a parabola in log frequency, times summation over area."""

    gain: _LuminanceLaw
    peak_cpd: _LuminanceLaw
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


# The parameters fitted by Ashraf et al. (2024), here and in the functions of time above.
_ACH_SUSTAINED = _Channel(
    gain=_LuminanceLaw(56.4947, 0.0, 7.54726, 0.144532, glare=(5.58341e-07, 9.66862e09)),
    peak_cpd=_LuminanceLaw(1.78119, 0.0, 91.5718, 0.256682),
    bandwidth=0.000213047,
    low_loss=0.100207,
    summation_deg2=157.103,
    summation_cpd=0.702338,
)
_ACH_TRANSIENT = _Channel(
    gain=_LuminanceLaw(2748.09, power=0.193434),
    peak_cpd=_LuminanceLaw(0.000316696),
    bandwidth=2.6761,
    low_loss=0.000241177,
    summation_deg2=3.81611,
    summation_cpd=3.01389,
)
_RG_SUSTAINED = _Channel(
    gain=_LuminanceLaw(681.434, 0.0, 38.0038, 0.480386),
    peak_cpd=_LuminanceLaw(0.0178364),
    bandwidth=2.42104,
    low_loss=0.0,
    summation_deg2=2816.44,
    summation_cpd=0.0711058,
)
_YV_SUSTAINED = _Channel(
    gain=_LuminanceLaw(166.683, 0.0, 62.8974, 0.41193),
    peak_cpd=_LuminanceLaw(0.00425753),
    bandwidth=2.68197,
    low_loss=0.0,
    summation_deg2=2.82789e07,
    summation_cpd=0.000635093,
)
#: For each mechanism, decades lost per degree of eccentricity, vertically or temporally and in the
#: nasal field, and the same per degree and cpd.
_PERIPHERAL_LOSS = (
    (0.0239853, 0.0400662, 0.0189038, 0.00813619),
    (0.0591402, 2.89615e-05, 2.04986e-69, 0.18108),
    (0.00356865, 5.85804e-141, 0.00806631, 0.0110662),
)

"""castleCSF: human contrast sensitivity over colour, area, frequency, luminance, eccentricity.

The model of Ashraf, Mantiuk, Chapiro & Wuerger (2024), doi:10.1167/jov.24.4.5, with the
parameters published with it (github gfxdisp/castleCSF, MIT, version 0.2.4). It is meant for
0.001-10000 cd/m2, 1/16-64 cycles per degree and up to 120 degrees of eccentricity.

A pattern is a background plus an amplitude times a direction in LMS cone space (CIE 2006). Three
mechanisms see it: achromatic, red-green and yellow-violet. The pattern is at threshold where the
root sum of squares of their contrasts, each times the mechanism's sensitivity, is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fechner.human.arguments import checked
from fechner.human.castle_mechanisms import (
    ACH_PERIPHERY,
    ACH_SUSTAINED,
    ACH_TRANSIENT,
    RG_PERIPHERY,
    RG_SUSTAINED,
    YV_PERIPHERY,
    YV_SUSTAINED,
    Floats,
)

__all__ = [
    "GREY_LMS_PER_CDM2",
    "LMS_TO_MECHANISMS",
    "castle_csf",
    "castle_csf_disc",
    "castle_threshold_amplitude",
]

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

    Parameters
    ----------
    frequency_cpd : array_like
        Spatial frequency, cycles per degree, above 0. All arguments broadcast.
    area_deg2 : array_like
        Area of the patch; ``pi * sigma**2`` for a Gaussian envelope.
    luminance_cdm2 : array_like, optional
        Luminance of a D65 grey background. Give this or `background_lms`.
    temporal_hz : array_like
        Temporal frequency.
    eccentricity_deg : array_like
        Distance from the fovea.
    visual_field_deg : array_like
        Where in the visual field: 0 temporal, 90 superior, 180 nasal. The default is nasal, as
        in the published model; use 0 or 90 for the usual loss towards the periphery.
    direction : {"ach", "rg", "yv"} or array_like of shape (..., 3)
        The axis of one mechanism (a column of the inverse of `LMS_TO_MECHANISMS`) or any LMS
        vector. Its length and sign do not matter here.
    background_lms : array_like of shape (..., 3), optional
        Cone signals of the background, scaled so that L + M is its luminance.

    Returns
    -------
    ndarray of float64
        Sensitivity; for ``"ach"`` on grey, the inverse of Michelson contrast to 0.3 %.

    Raises
    ------
    ValueError
        If a value is out of range, or if not exactly one background is given.

    References
    ----------
    Ashraf et al. (2024), key ``ashraf2024``.

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
    direction vector and does not pass through cone contrast. A contrast defined as amplitude
    over luminance Y has its threshold at ``k / Y``.

    Parameters
    ----------
    frequency_cpd, area_deg2, luminance_cdm2, temporal_hz, eccentricity_deg, visual_field_deg
        As in `castle_csf`.
    direction, background_lms
        As in `castle_csf`; doubling the direction halves k.

    Returns
    -------
    ndarray of float64
        Multiplier of the direction vector; infinite where no sensitivity is left.

    References
    ----------
    Ashraf et al. (2024), key ``ashraf2024``.

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

    where = (frequency, hz, luminance, area)
    sensitivities = (
        (ACH_SUSTAINED(*where) + ACH_TRANSIENT(*where))
        * ACH_PERIPHERY(frequency, eccentricity, field),
        RG_SUSTAINED(*where) * RG_PERIPHERY(frequency, eccentricity, field),
        YV_SUSTAINED(*where) * YV_PERIPHERY(frequency, eccentricity, field),
    )
    # Every mechanism's response is divided by the ACHROMATIC response to the background, L + M.
    responses = _direction(direction) @ LMS_TO_MECHANISMS.T
    contrasts = responses / (background[..., :1] + background[..., 1:2])
    energy = np.zeros(())
    for index, sensitivity in enumerate(sensitivities):
        energy = energy + (contrasts[..., index] * sensitivity) ** 2
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
    """Sensitivity to a uniform disc with a sharp edge.

    Parameters
    ----------
    radius_deg : array_like
        Radius of the disc, above 0.
    luminance_cdm2, temporal_hz, eccentricity_deg, visual_field_deg, direction, background_lms
        As in `castle_csf`.

    Returns
    -------
    ndarray of float64
        Inverse RMS cone contrast at threshold; grows with the radius to the power 1/3.01.

    References
    ----------
    Ashraf et al. (2024), key ``ashraf2024``.

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
    if luminance is not None and lms is not None:
        raise ValueError(
            f"luminance_cdm2 is {luminance} and background_lms is {lms}; give only one of the "
            "two, because L + M of the background is its luminance."
        )
    if luminance is not None:
        grey = checked("luminance_cdm2", luminance)
        return grey[..., None] * GREY_LMS_PER_CDM2, grey
    if lms is not None:
        cones = checked("background_lms", _cones("background_lms", lms))
        return cones, cones[..., 0] + cones[..., 1]
    raise ValueError(
        "luminance_cdm2 and background_lms are both None; give one, such as luminance_cdm2=100."
    )

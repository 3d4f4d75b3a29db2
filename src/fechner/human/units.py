"""Sensitivities and contrasts in other units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fechner.human.castle import GREY_LMS_PER_CDM2, LMS_TO_MECHANISMS
from fechner.human.castle_mechanisms import Floats
from fechner.human.spectral import colour_matching
from fechner.stimuli.colour import DIRECTIONS, XYZ_TO_LMS1975, Triple, as_triple, transform
from fechner.stimuli.contrast import Unit, cone_contrasts, convert_contrast

#: Wavelengths of the two lights of Mullen's gratings, nm, which are modulated in antiphase.
_MULLEN_NM = {"rg": (602.0, 526.0), "yb": (577.0, 470.0)}

#: How cone contrasts make the signal of an opponent mechanism.
_MECHANISMS = {"rg": (1.0, -1.0, 0.0), "yb": (0.5, 0.5, -1.0)}


def convert_sensitivity(
    sensitivity: ArrayLike,
    *,
    to: Unit,
    unit: Unit = "cone",
    direction: str | ArrayLike = "ach",
    background_lms: ArrayLike | None = None,
) -> Floats:
    """Convert 1/contrast from one unit to another.

    Parameters
    ----------
    sensitivity
        What `castle_csf` returns, in its unit ``"cone"`` (1/RMS cone contrast), or another.
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
    vector: Any = direction
    if isinstance(direction, str):
        if direction not in DIRECTIONS:
            names = ", ".join(DIRECTIONS)
            raise ValueError(f"direction is '{direction}'; use one of {names} or an LMS vector.")
        vector = np.linalg.inv(LMS_TO_MECHANISMS)[:, DIRECTIONS.index(direction)]
    factor = convert_contrast(
        1.0,
        unit=unit,
        to=to,
        modulation_lms=as_triple(vector),
        background_lms=as_triple(background),
    )
    converted: Floats = np.asarray(sensitivity, dtype=np.float64) / factor
    return converted


def mullen_contrast(modulation_lms: Triple, background_lms: Triple, channel: str) -> float:
    """Return the contrast of Mullen's gratings that is worth a chromatic modulation.

    Mullen's gratings add two lights of equal luminance in antiphase (602 and 526 nm, or 577 and
    470 nm), and their contrast is that of either light. Two stimuli are worth the same if their
    cone contrasts make the same signal in the opponent mechanism: L - M, or (L + M) / 2 - S.

    Parameters
    ----------
    modulation_lms, background_lms : tuple of float
        Cone signals of the modulation and of what it is shown on.
    channel : str
        ``"rg"`` or ``"yb"``.

    References
    ----------
    Mullen (1985), key ``mullen1985``; cone fundamentals of Smith & Pokorny (1975), key
    ``smith_pokorny1975``.

    Examples
    --------
    >>> from fechner.stimuli import ATD
    >>> [
    ...     round(mullen_contrast(ATD.modulation_lms(c, 40.0), ATD.background_lms(40.0), c), 3)
    ...     for c in ("rg", "yb")
    ... ]
    [1.21, 2.527]
    """
    lights = colour_matching(_MULLEN_NM[channel])
    # Equal luminance of both: y is 1.
    one, other = transform(XYZ_TO_LMS1975, lights / lights[:, 1:2])
    of_mullen = cone_contrasts(as_triple((one - other) / 2), as_triple((one + other) / 2))
    of_this = cone_contrasts(modulation_lms, background_lms)
    weights = np.array(_MECHANISMS[channel])
    return float(weights @ of_this / (weights @ of_mullen))

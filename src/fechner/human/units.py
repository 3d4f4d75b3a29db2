"""Sensitivities in other units than cone contrast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fechner.human.castle import GREY_LMS_PER_CDM2, LMS_TO_MECHANISMS
from fechner.human.castle_mechanisms import Floats
from fechner.stimuli.colour import DIRECTIONS, as_triple
from fechner.stimuli.contrast import Unit, convert_contrast


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

"""Contrast in named units, and what one unit is in another.

The unit depends on the direction of the modulation and on the background, so both are
always given. For a pattern of unit amplitude:

* ``michelson``: peak luminance (L + M) modulation over the background's;
* ``rms``: standard deviation of luminance over its mean, of a full sinusoid (1/sqrt 2 of its peak);
* ``rms_sqrt2``: sqrt 2 times that: of any pattern, the Michelson contrast of the sinusoid that has
  as much energy (Vila-Tomás et al. 2026, vila_tomas2026);
* ``dkl``: length of the modulation in DKL space over the background's L + M;
* ``dkl_rms``: standard deviation of that length, of a full sinusoid (1/sqrt 2 of its peak);
* ``cone``: root mean square of the three cone contrasts (the unit of castleCSF).
"""

from __future__ import annotations

import math
from typing import Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from fechner.stimuli.colour import XYZ_TO_ATD, Triple, as_triple, dkl_matrix, transform

Unit = Literal["michelson", "rms", "rms_sqrt2", "dkl", "dkl_rms", "cone"]
UNITS: tuple[str, ...] = get_args(Unit)

#: Units as they are written on axes.
UNIT_NAMES: dict[Unit, str] = {
    "michelson": "Michelson",
    "rms": "RMS",
    "rms_sqrt2": "√2 RMS",
    "dkl": "DKL",
    "dkl_rms": "DKL, RMS",
    "cone": "cone",
}
Value = TypeVar("Value", float, NDArray[np.float64])


def cone_contrasts(modulation_lms: Triple, background_lms: Triple) -> NDArray[np.float64]:
    """Return the three cone contrasts of a modulation.

    Examples
    --------
    >>> cone_contrasts((0.07, 0.03, 0.0), (0.7, 0.3, 0.02)).round(3).tolist()
    [0.1, 0.1, 0.0]
    """
    contrasts: NDArray[np.float64] = np.asarray(modulation_lms) / np.asarray(background_lms)
    return contrasts


def measure_contrast(modulation_lms: Triple, background_lms: Triple, unit: Unit) -> float:
    """Return the contrast of a modulation (at the pattern's peak) in a unit.

    Examples
    --------
    >>> round(measure_contrast((0.302, -0.302, 0.0), (0.6991, 0.3009, 0.0198), "cone"), 3)
    0.631
    """
    modulation, background = np.asarray(modulation_lms), np.asarray(background_lms)
    luminance = float(background[0] + background[1])
    if unit == "cone":
        return float(np.sqrt(np.mean(cone_contrasts(modulation_lms, background_lms) ** 2)))
    if unit in ("dkl", "dkl_rms"):
        length = float(np.linalg.norm(transform(dkl_matrix(background_lms), modulation)))
        return length / luminance / (math.sqrt(2) if unit == "dkl_rms" else 1)
    if unit in ("michelson", "rms", "rms_sqrt2"):
        michelson = float(abs(modulation[0] + modulation[1]) / luminance)
        return michelson / math.sqrt(2) if unit == "rms" else michelson
    raise ValueError(f"a contrast unit is one of {', '.join(UNITS)}, not '{unit}'.")


def opponent_contrasts(xyz: NDArray[np.floating]) -> Triple:
    """Return the contrasts of a picture in ``rms_sqrt2`` along A, T and D.

    sqrt 2 times the standard deviation of each opponent channel of Jameson & Hurvich over the mean
    luminance; a sinusoid's is its amplitude, in luminance its Michelson contrast.

    Parameters
    ----------
    xyz
        Pixels in XYZ along the last axis.

    References
    ----------
    Vila-Tomás et al. (2026), key ``vila_tomas2026``.

    Examples
    --------
    >>> wave = np.sin(2 * np.pi * np.arange(64) / 16)[:, None]
    >>> pixels = 40 * (1 + wave * np.array([0.3, 0.2, 0.2]))
    >>> [round(contrast, 6) for contrast in opponent_contrasts(pixels)]
    [0.2, 0.1, 0.0]
    """
    channels = transform(XYZ_TO_ATD, np.asarray(xyz, dtype=np.float64).reshape(-1, 3))
    return as_triple(math.sqrt(2) * channels.std(axis=0) / channels[:, 0].mean())


def convert_contrast(
    value: Value, *, unit: Unit, to: Unit, modulation_lms: Triple, background_lms: Triple
) -> Value:
    """Convert a contrast from one unit to another, for one direction and background.

    Examples
    --------
    A threshold of 0.01 RMS cone contrast along the red-green axis of D65, as DKL amplitude:

    >>> from fechner.stimuli.colour import OPPONENT
    >>> rg, grey = OPPONENT.modulation_lms("rg", 1.0), OPPONENT.background_lms(1.0)
    >>> round(convert_contrast(
    ...     0.01, unit="cone", to="dkl", modulation_lms=rg, background_lms=grey), 5)
    0.01591
    """
    have = measure_contrast(modulation_lms, background_lms, unit)
    want = measure_contrast(modulation_lms, background_lms, to)
    least = 1e-9 * measure_contrast(modulation_lms, background_lms, "cone")
    for name, contrast in ((unit, have), (to, want)):
        if contrast < least:
            raise ValueError(f"this direction has no {name} contrast; use 'cone' or 'dkl'.")
    return value * (want / have)

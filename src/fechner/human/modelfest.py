"""The ModelFest stimuli as patterns: 41 of the 43, all but the noise and the photograph.

The recipes are built from the columns of ``load("modelfest")``; what those leave to the note is
named here. A contrast of ModelFest is the peak of the formula, so every pattern has amplitude 1.
The background is ``DATASETS["modelfest"].luminance_cdm2``.

The field has an even number of pixels, so its centre lies between four of them. Samples of the
finest patterns therefore stay below their peak (0.71 at 30 cpd), though their spectrum is the same;
the line, one pixel thick, fills the row just above the centre, and the dipole is centred on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fechner.human.datasets import load
from fechner.stimuli import (
    Bar,
    Bessel,
    Checkerboard,
    Disk,
    Edge,
    Field,
    Gabor,
    Gaussian,
    Grating,
    Pattern,
    Product,
    Sum,
)

MODELFEST_FIELD = Field.of(pixels=256, ppd=120)
"""What observers saw: 2.13 deg, in pixels of half a minute of arc."""

_PIXEL_DEG = 1 / MODELFEST_FIELD.ppd


class _Row(NamedTuple):
    """The columns that define a stimulus."""

    kind: str
    frequency_cpd: float
    second_frequency_cpd: float
    orientation_deg: float
    second_orientation_deg: float
    sigma_across_deg: float
    sigma_along_deg: float
    note: str


def modelfest_patterns() -> dict[int, Pattern]:
    """Return the ModelFest stimuli that a formula can draw, by their number.

    Not among them are 35, one sample of binary noise, and 43, a photograph. Amplitude 1. Show them
    on `MODELFEST_FIELD`. The dipole, three pixels wide, has its lines on the outer two. The checks
    stand on their corners, so that their fundamentals are horizontal and vertical. The edge is
    bright above. References: Carney et al. (1999, ``carney1999``).

    Examples
    --------
    >>> patterns = modelfest_patterns()
    >>> len(patterns)
    41
    >>> patterns[4]
    Gabor(frequency_cpd=4.0, sigma_deg=0.5, orientation_deg=90.0, phase_deg=90, sigma_along_deg=0.5)
    """
    table = load("modelfest")
    columns = (table[name].tolist() for name in _Row._fields)
    rows = map(_Row._make, zip(*columns, strict=True))
    numbered = zip(table["stimulus"].tolist(), rows, strict=True)
    return {number: _pattern(row) for number, row in numbered if row.kind not in ("noise", "image")}


def _pattern(row: _Row) -> Pattern:
    if row.kind == "disc":  # the only one without a window
        return Disk(radius_deg=0.125)
    frequency, orientation = row.frequency_cpd, _turned(row.orientation_deg)
    window = Gaussian(row.sigma_across_deg, row.sigma_along_deg, orientation)
    match row.kind:
        case "gabor":
            return _gabor(row, frequency, orientation)
        case "gabor_sum" | "plaid":
            second = _gabor(row, row.second_frequency_cpd, _turned(row.second_orientation_deg))
            return Sum((_gabor(row, frequency, orientation), second), (0.5, 0.5))
        case "gaussian":
            return window
        case "edge":
            return Product(Edge(orientation), window)
        case "line":
            return Product(Bar(_PIXEL_DEG, orientation, _PIXEL_DEG / 2), window)
        case "dipole":
            above, below = (Bar(_PIXEL_DEG, orientation, n * _PIXEL_DEG) for n in (1.5, -0.5))
            return Product(Sum((above, below), (1.0, -1.0)), window)
        case "gabor_string":
            # Five patches, end to end along their horizontal bars.
            steps = range(-2, 3)
            along_deg = row.sigma_along_deg
            windows = tuple(Gaussian(along_deg, x_deg=step * (5 * along_deg)) for step in steps)
            sign = -1.0 if "alternating" in row.note else 1.0
            signs = tuple(sign**step for step in steps)
            return Product(Grating(frequency, orientation, 90), Sum(windows, signs))
        case "bessel":
            return Product(Bessel(frequency), window)
        case "checkerboard":
            return Product(Checkerboard(frequency, 45.0), window)
    raise ValueError(f"no formula for a ModelFest stimulus of kind '{row.kind}'.")


def _gabor(row: _Row, frequency_cpd: float, orientation_deg: float) -> Gabor:
    """Return a Gabor in cosine phase."""
    return Gabor(frequency_cpd, row.sigma_across_deg, orientation_deg, 90, row.sigma_along_deg)


def _turned(orientation_deg: float) -> float:
    """Turn 0 = horizontal bars, as in the table, into 0 = vertical bars, as in patterns."""
    return 0.0 if math.isnan(orientation_deg) else (orientation_deg + 90) % 180

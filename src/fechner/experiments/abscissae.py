"""What experiments vary, in words: axis labels, ranges, and whether an axis is logarithmic."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.stimuli.patterns import name_and_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Abscissa(NamedTuple):
    """An abscissa in words: its axis label, what there are several of, and their unit."""

    label: str
    several: str
    unit: str = ""


_KNOWN = {
    "frequency_cpd": Abscissa(
        "spatial frequency (cycles/degree)", "spatial frequencies", " cycles/degree"
    ),
    "luminance_cdm2": Abscissa("luminance (cd/m2)", "luminances", " cd/m2"),
    "area_deg2": Abscissa("area (degree2)", "areas", " degree2"),
    "contrast": Abscissa("contrast", "contrasts"),
    "mask_contrast": Abscissa("contrast of the mask", "contrasts of the mask"),
    "flicker_hz": Abscissa("temporal frequency (Hz)", "temporal frequencies", " Hz"),
}


def abscissa(name: str) -> Abscissa:
    """Return what people call an abscissa; unknown ones are called by their name and unit.

    Examples
    --------
    >>> abscissa("angle_deg")
    Abscissa(label='angle (degrees)', several='values of angle', unit=' degrees')
    """
    if name in _KNOWN:
        return _KNOWN[name]
    called, unit = name_and_unit(name)
    label = f"{called} ({unit})" if unit else called
    return Abscissa(label, f"values of {called}", f" {unit}".rstrip())


def between(over: str, values: tuple[float, ...]) -> str:
    """Return how many values there are, of what, and in which range."""
    words = abscissa(over)
    return f"{len(values)} {words.several} from {values[0]:.3g} to {values[-1]:.3g}{words.unit}"


def is_log(abscissae: NDArray[np.float64]) -> bool:
    """Whether an axis is logarithmic: above 0, and not in equal steps.

    Examples
    --------
    >>> is_log(np.array([1.0, 2.0, 4.0])), is_log(np.array([15.0, 30.0, 45.0, 60.0]))
    (True, False)
    """
    steps = np.diff(np.unique(abscissae))
    equal = len(steps) > 1 and np.allclose(steps, steps[0])
    return bool((abscissae > 0).all()) and not equal

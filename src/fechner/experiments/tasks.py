"""Tasks near threshold: what is to be seen, on what, and how little of it people can see.

A task knows its abscissae (frequency, luminance, area, contrast of a mask), the stimulus and its
reference at each, and the human threshold there in the unit of its own contrast axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np

from fechner.observers.abilities import Need
from fechner.stimuli import Field, Layer, OpponentSpace, Stimulus
from fechner.stimuli.contrast import Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

Abscissa = Literal[
    "frequency_cpd", "luminance_cdm2", "area_deg2", "contrast", "mask_contrast", "flicker_hz"
]


class Over(NamedTuple):
    """An abscissa in words: its axis label, what there are several of, and their unit."""

    label: str
    several: str
    unit: str = ""


#: Abscissae as people call them.
ABSCISSAE: dict[Abscissa, Over] = {
    "frequency_cpd": Over(
        "spatial frequency (cycles/degree)", "spatial frequencies", " cycles/degree"
    ),
    "luminance_cdm2": Over("luminance (cd/m2)", "luminances", " cd/m2"),
    "area_deg2": Over("area (degree2)", "areas", " degree2"),
    "contrast": Over("contrast", "contrasts"),
    "mask_contrast": Over("contrast of the mask", "contrasts of the mask"),
    "flicker_hz": Over("temporal frequency (Hz)", "temporal frequencies", " Hz"),
}


def between(over: Abscissa, values: tuple[float, ...]) -> str:
    """Return how many values there are, of what, and in which range."""
    words = ABSCISSAE[over]
    return f"{len(values)} {words.several} from {values[0]:.3g} to {values[-1]:.3g}{words.unit}"


def is_log(abscissae: NDArray[np.float64]) -> bool:
    """Whether an axis is logarithmic: all are, unless they begin at 0."""
    return bool((abscissae > 0).all())


class Task(Protocol):
    """What detection and masking have in common."""

    @property
    def over(self) -> Abscissa:
        """Name of the abscissa, with its unit."""
        ...

    @property
    def unit(self) -> Unit:
        """Unit of the contrast axis."""
        ...

    @property
    def detects(self) -> bool:
        """Whether the target is shown on nothing, so that sensitivity is the word."""
        ...

    @property
    def needs(self) -> tuple[Need, ...]:
        """What an observer must be able to see."""
        ...

    @property
    def method(self) -> str:
        """What is shown and where human thresholds come from, in sentences."""
        ...

    @property
    def contrasts(self) -> tuple[float, ...]:
        """Contrasts of the response surface."""
        ...

    @property
    def surface_abscissae(self) -> tuple[float, ...]:
        """Abscissae of the response surface."""
        ...

    @property
    def score_abscissae(self) -> tuple[float, ...]:
        """Abscissae at which there is a human threshold to compare with."""
        ...

    def human_thresholds(self, field: Field, space: OpponentSpace) -> NDArray[np.float64]:
        """Return the human threshold at each of ``score_abscissae``."""
        ...

    def reference(self, index: int, x: float, space: OpponentSpace) -> Stimulus:
        """Return what is shown without the target."""
        ...

    def target(self, index: int, x: float, contrast: float, space: OpponentSpace) -> Layer:
        """Return what is to be seen."""
        ...

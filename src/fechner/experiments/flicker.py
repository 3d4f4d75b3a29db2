"""Detection of flicker: a disk whose luminance goes up and down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fechner import human
from fechner.experiments.tasks import Abscissa, between
from fechner.observers.abilities import Need
from fechner.stimuli import Disk, Field, Flicker, Layer, OpponentSpace, Stimulus
from fechner.stimuli.contrast import Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class FlickerDetection:
    """Detect a disk that flickers as a sine on a uniform field of the same mean luminance.

    Parameters
    ----------
    values
        Temporal frequencies in Hz.
    contrasts
        Contrast axis of the response surface: Michelson.
    """

    values: tuple[float, ...]
    contrasts: tuple[float, ...]
    radius_deg: float = 2.0
    luminance_cdm2: float = 21.4

    over: Abscissa = "flicker_hz"
    unit: Unit = "michelson"

    detects: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("video",)

    @property
    def method(self) -> str:
        """What is shown and where human thresholds come from."""
        return (
            f"A disk of radius {self.radius_deg:g} degree on a uniform field of "
            f"{self.luminance_cdm2:g} cd/m2, its luminance modulated as a sine over time, at "
            f"{between(self.over, self.values)}. Human thresholds are elaTCSF's."
        )

    @property
    def surface_abscissae(self) -> tuple[float, ...]:
        """Frequencies of the response surface."""
        return self.values

    @property
    def score_abscissae(self) -> tuple[float, ...]:
        """Frequencies that are scored."""
        return self.values

    def human_thresholds(self, field: Field, space: OpponentSpace) -> NDArray[np.float64]:
        """Return elaTCSF's thresholds, as Michelson contrast."""
        thresholds: NDArray[np.float64] = 1 / human.elatcsf_disc(
            np.array(self.values), luminance_cdm2=self.luminance_cdm2, radius_deg=self.radius_deg
        )
        return thresholds

    def reference(self, index: int, x: float, space: OpponentSpace) -> Stimulus:
        """Return the uniform field."""
        return Stimulus(space.background_xyz(self.luminance_cdm2))

    def target(self, index: int, x: float, contrast: float, space: OpponentSpace) -> Layer:
        """Return the flickering disk."""
        modulation = space.modulation_xyz("ach", self.luminance_cdm2)
        return Layer(Disk(self.radius_deg), modulation, contrast, Flicker(x))

"""Masking: detection of a pattern on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fechner import human
from fechner.experiments.tasks import Abscissa, between
from fechner.observers.abilities import Need
from fechner.stimuli import Field, Gabor, Grating, Layer, Noise, OpponentSpace, Pattern, Stimulus
from fechner.stimuli.contrast import Unit
from fechner.stimuli.noise import Generator

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Masking:
    """Detect a Gabor on a mask: a grating of the same frequency and phase, or low-pass noise.

    Parameters
    ----------
    data
        Human data set with columns ``mask_contrast`` and ``threshold_contrast``.
    mask_values, contrasts
        Axes of the response surface.
    noise_mask_cpd
        None: the mask is a grating; else: noise up to this frequency, its contrast RMS.
    phase_deg
        Phase of the carrier at the centre, of target and grating.
    noise_halves_edge, grating_in_float32
        Whether the mask is rounded as a published one was; see `Noise` and `Grating`.
    scored
        Open interval of mask contrasts that are scored.
    scored_at
        Mask contrasts that are scored, by thresholds on straight lines between the data and held
        constant past their ends; None are those of the data.
    """

    data: str
    mask_values: tuple[float, ...]
    contrasts: tuple[float, ...]
    frequency_cpd: float
    sigma_deg: float
    luminance_cdm2: float
    phase_deg: float = 0.0
    noise_mask_cpd: float | None = None
    noise_seed: int = 0
    noise_generator: Generator = "pcg64"
    noise_keeps_mean: bool = False
    noise_halves_edge: bool = False
    one_draw: bool = False
    grating_in_float32: bool = False
    scored: tuple[float, float] = (0.0, 1.0)
    scored_at: tuple[float, ...] | None = None

    over: Abscissa = "mask_contrast"
    unit: Unit = "michelson"

    detects: ClassVar[bool] = False
    needs: ClassVar[tuple[Need, ...]] = ()

    @property
    def method(self) -> str:
        """What is shown and where human thresholds come from."""
        mask = (
            "a grating of the same frequency and phase"
            if self.noise_mask_cpd is None
            else f"noise up to {self.noise_mask_cpd:g} cycles/degree, its contrast RMS"
        )
        masks = self.score_abscissae
        return (
            f"A Gabor patch of {self.frequency_cpd:g} cycles/degree and a window of sigma "
            f"{self.sigma_deg:g} degree at {self.luminance_cdm2:g} cd/m2, on {mask}. The reference "
            f"is the mask alone. Human thresholds are the data set {self.data}, at "
            f"{between(self.over, masks)}."
        )

    @property
    def surface_abscissae(self) -> tuple[float, ...]:
        """Mask contrasts of the response surface."""
        return self.mask_values

    @property
    def score_abscissae(self) -> tuple[float, ...]:
        """Mask contrasts of the human data that are scored."""
        return tuple(x for x, _ in self._human_points())

    def human_thresholds(self, field: Field, space: OpponentSpace) -> NDArray[np.float64]:
        """Return the thresholds of the data set."""
        return np.array([threshold for _, threshold in self._human_points()])

    def _human_points(self) -> list[tuple[float, float]]:
        data = human.load(self.data)
        mask, threshold = data["mask_contrast"], data["threshold_contrast"]
        kept = (mask > self.scored[0]) & (mask < self.scored[1])
        if "mask_orientation_deg" in data.columns:
            kept &= data["mask_orientation_deg"] == 0
        points = sorted(zip(mask[kept].tolist(), threshold[kept].tolist(), strict=True))
        if self.scored_at is None:
            return points
        masks, thresholds = np.array(points).T
        between_data = np.interp(np.array(self.scored_at), masks, thresholds)
        return list(zip(self.scored_at, between_data.tolist(), strict=True))

    def reference(self, index: int, x: float, space: OpponentSpace) -> Stimulus:
        """Return the mask alone."""
        modulation = space.modulation_xyz("ach", self.luminance_cdm2)
        mask = Layer(self._mask(index), modulation, x)
        return Stimulus(space.background_xyz(self.luminance_cdm2), (mask,))

    def target(self, index: int, x: float, contrast: float, space: OpponentSpace) -> Layer:
        """Return the Gabor."""
        gabor = Gabor(self.frequency_cpd, self.sigma_deg, phase_deg=self.phase_deg)
        return Layer(gabor, space.modulation_xyz("ach", self.luminance_cdm2), contrast)

    def _mask(self, index: int) -> Pattern:
        if self.noise_mask_cpd is None:
            return Grating(
                self.frequency_cpd, phase_deg=self.phase_deg, in_float32=self.grating_in_float32
            )
        seed = self.noise_seed if self.one_draw else (self.noise_seed, index)
        return Noise(
            0.0,
            self.noise_mask_cpd,
            seed,
            self.noise_generator,
            self.noise_keeps_mean,
            self.noise_halves_edge,
        )

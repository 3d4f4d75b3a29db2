"""Detection of a pattern on a uniform field, the first question of psychophysics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fechner import human
from fechner.experiments.tasks import Abscissa, between
from fechner.observers.abilities import Need
from fechner.stimuli import (
    Field,
    Flicker,
    Gabor,
    Layer,
    OpponentSpace,
    Pattern,
    Stimulus,
    convert_contrast,
    octave_noise,
)
from fechner.stimuli.colour import DIRECTION_NAMES
from fechner.stimuli.contrast import Unit
from fechner.stimuli.noise import Generator

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Detection:
    """Detect a Gabor or noise on a uniform field, over frequency, luminance or area.

    Parameters
    ----------
    over, values
        The abscissa and its values; the parameter of that name is then ignored.
    contrasts
        Contrast axis of the response surface: DKL amplitude for Gabors, its RMS for noise.
    sigma_deg
        Standard deviation of the Gabor's window; its area is pi sigma^2.
    flicker_hz
        The contrast is reversed so many times a second, as a cosine; 0 is steady.
    human_area_deg2
        Area at which the human curve is taken; None is the stimulus's own.
    human_unit
        How castleCSF's thresholds become contrasts of the stimuli. ``"stimulus"``: for the very
        background and direction that are shown, in the unit of the contrast axis.
        ``"amplitude"``: for its own grey, as amplitude over luminance (Hammou et al. 2025).
        ``"cone"``: cone contrast, taken for the unit of the stimuli (Cai et al. 2025).
    scored_below
        Only abscissae below this value are scored; None scores all.
    noise_seed, noise_generator, one_draw
        Seed of the noise; ``one_draw`` uses the same draw at every abscissa.
    """

    over: Abscissa
    values: tuple[float, ...]
    contrasts: tuple[float, ...]
    pattern: Literal["gabor", "noise"] = "gabor"
    direction: str = "ach"
    frequency_cpd: float = 2.0
    luminance_cdm2: float = 100.0
    sigma_deg: float = 1.0
    flicker_hz: float = 0.0
    human_area_deg2: float | None = None
    human_unit: Literal["stimulus", "amplitude", "cone"] = "stimulus"
    scored_below: float | None = None
    noise_seed: int = 0
    noise_generator: Generator = "pcg64"
    one_draw: bool = False

    detects: ClassVar[bool] = True

    @property
    def unit(self) -> Unit:
        """Unit of the contrast axis."""
        if self.pattern == "gabor":
            return "dkl"
        return "rms" if self.direction == "ach" else "dkl_rms"

    @property
    def needs(self) -> tuple[Need, ...]:
        """Colour for chromatic targets, video for those that change."""
        colour: tuple[Need, ...] = () if self.direction == "ach" else ("colour",)
        return (*colour, "video") if self.flicker_hz else colour

    @property
    def method(self) -> str:
        """What is shown and where human thresholds come from."""
        fixed: dict[Abscissa, str] = {
            "frequency_cpd": f"of {self.frequency_cpd:g} cycles/degree",
            "area_deg2": f"in a window of sigma {self.sigma_deg:g} degree",
            "luminance_cdm2": f"on a uniform field of {self.luminance_cdm2:g} cd/m2",
        }
        if self.pattern == "noise":
            del fixed["area_deg2"]
        held = " ".join(text for name, text in fixed.items() if name != self.over)
        if self.flicker_hz:
            held += f", reversing its contrast as a cosine of {self.flicker_hz:g} Hz"
        area = self.human_area_deg2
        human_area = "" if area is None else f", for an area of {area:.3g} degree2"
        own = {
            "stimulus": "converted to the unit of the stimuli",
            "amplitude": "taken for its own grey, as amplitude over luminance",
            "cone": "taken as they are, without a change of unit",
        }[self.human_unit]
        below = (
            ""
            if self.scored_below is None
            else f" Only those below {self.scored_below:g} are scored."
        )
        return (
            f"{self._what} {held}, at {between(self.over, self.values)}.{below} Human thresholds "
            f"are castleCSF's{human_area}, {own}."
        )

    @property
    def _what(self) -> str:
        """What is to be detected."""
        colour = DIRECTION_NAMES.get(self.direction, self.direction)
        what = {"gabor": "A Gabor patch", "noise": "Noise one octave wide"}[self.pattern]
        return f"{what} ({colour})"

    @property
    def surface_abscissae(self) -> tuple[float, ...]:
        """Abscissae of the response surface."""
        return self.values

    @property
    def score_abscissae(self) -> tuple[float, ...]:
        """Abscissae that are scored."""
        below = math.inf if self.scored_below is None else self.scored_below
        return tuple(x for x in self.values if x < below)

    def _frequency(self, x: float) -> float:
        return x if self.over == "frequency_cpd" else self.frequency_cpd

    def _luminance(self, x: float) -> float:
        return x if self.over == "luminance_cdm2" else self.luminance_cdm2

    def _sigma(self, x: float) -> float:
        return math.sqrt(x / math.pi) if self.over == "area_deg2" else self.sigma_deg

    def _area(self, x: float, field: Field) -> float:
        if self.human_area_deg2 is not None:
            return self.human_area_deg2
        return field.area_deg2 if self.pattern == "noise" else math.pi * self._sigma(x) ** 2

    def human_thresholds(self, field: Field, space: OpponentSpace) -> NDArray[np.float64]:
        """Return castleCSF thresholds in the unit of the contrast axis."""
        return np.array([self._human_threshold(x, field, space) for x in self.score_abscissae])

    def _human_threshold(self, x: float, field: Field, space: OpponentSpace) -> float:
        frequency, luminance = self._frequency(x), self._luminance(x)
        area = self._area(x, field)
        common: dict[str, Any] = {"area_deg2": area, "temporal_hz": self.flicker_hz}
        nominal = {**common, "luminance_cdm2": luminance, "direction": self.direction}
        if self.human_unit == "cone":
            return 1 / float(human.castle_csf(frequency, **nominal))
        if self.human_unit == "amplitude":
            return float(human.castle_threshold_amplitude(frequency, **nominal)) / luminance
        modulation = space.modulation_lms(self.direction, luminance)
        background = space.background_lms(luminance)
        sensitivity = human.castle_csf(
            frequency, **common, direction=modulation, background_lms=background
        )
        return convert_contrast(
            1 / float(sensitivity),
            unit="cone",
            to=self.unit,
            modulation_lms=modulation,
            background_lms=background,
        )

    def reference(self, index: int, x: float, space: OpponentSpace) -> Stimulus:
        """Return the uniform field."""
        return Stimulus(space.background_xyz(self._luminance(x)))

    def target(self, index: int, x: float, contrast: float, space: OpponentSpace) -> Layer:
        """Return the Gabor or the noise."""
        modulation = space.modulation_xyz(self.direction, self._luminance(x))
        flicker = Flicker(self.flicker_hz, phase_deg=90.0) if self.flicker_hz else None
        return Layer(self._pattern(index, x), modulation, contrast, flicker)

    def _pattern(self, index: int, x: float) -> Pattern:
        if self.pattern == "gabor":
            return Gabor(self._frequency(x), self._sigma(x))
        # A draw of its own at every abscissa, so that resampling abscissae resamples noise too.
        seed = self.noise_seed if self.one_draw else (self.noise_seed, index)
        return octave_noise(self._frequency(x), seed=seed, generator=self.noise_generator)

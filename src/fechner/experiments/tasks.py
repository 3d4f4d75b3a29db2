"""Tasks near threshold: what is to be seen, on what, and how little of it people can see.

A task knows its abscissae (frequency, luminance, area, contrast of a mask), the stimulus and its
reference at each, and the human threshold there in the unit of its own contrast axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np

from fechner import human
from fechner.stimuli import (
    Field,
    Gabor,
    Grating,
    Layer,
    Noise,
    OpponentSpace,
    Pattern,
    Stimulus,
    convert_contrast,
    octave_noise,
)
from fechner.stimuli.contrast import Unit
from fechner.stimuli.noise import Generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

Abscissa = Literal["frequency_cpd", "luminance_cdm2", "area_deg2", "mask_contrast"]


#: Abscissae as axis labels.
ABSCISSAE: dict[Abscissa, str] = {
    "frequency_cpd": "spatial frequency (cycles/degree)",
    "luminance_cdm2": "luminance (cd/m2)",
    "area_deg2": "area (degree2)",
    "mask_contrast": "contrast of the mask",
}


_DIRECTIONS = {"ach": "achromatic", "rg": "red-green", "yv": "yellow-violet"}


#: Abscissae as words, and their units.
_WORDS: dict[Abscissa, tuple[str, str]] = {
    "frequency_cpd": ("spatial frequencies", " cycles/degree"),
    "luminance_cdm2": ("luminances", " cd/m2"),
    "area_deg2": ("areas", " degree2"),
    "mask_contrast": ("contrasts of the mask", ""),
}


def _between(over: Abscissa, values: tuple[float, ...]) -> str:
    """Return how many values there are, of what, and in which range."""
    what, unit = _WORDS[over]
    return f"{len(values)} {what} from {values[0]:.3g} to {values[-1]:.3g}{unit}"


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


@dataclass(frozen=True)
class Detection:
    """Detect a Gabor or noise on a uniform field, over frequency, luminance or area.

    Parameters
    ----------
    over, values
        The abscissa and its values; the parameter of that name is then ignored.
    contrasts
        Contrast axis of the response surface: DKL amplitude for Gabors, RMS for noise.
    sigma_deg
        Standard deviation of the Gabor's window; its area is pi sigma^2.
    human_area_deg2
        Area at which the human curve is taken; None is the stimulus's own.
    human_in_own_unit
        True converts castleCSF's cone contrast into the unit of the contrast axis. Published
        numbers of Cai et al. (2025) were made without.
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
    human_area_deg2: float | None = None
    human_in_own_unit: bool = True
    scored_below: float | None = None
    noise_seed: int = 0
    noise_generator: Generator = "pcg64"
    one_draw: bool = False

    detects: ClassVar[bool] = True

    @property
    def unit(self) -> Unit:
        """Unit of the contrast axis."""
        return "rms" if self.pattern == "noise" else "dkl"

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
        what = {
            "gabor": f"A Gabor patch ({_DIRECTIONS.get(self.direction, self.direction)})",
            "noise": "Noise one octave wide",
        }[self.pattern]
        area = self.human_area_deg2
        human_area = "" if area is None else f", for an area of {area:.3g} degree2"
        own = (
            "converted to the unit of the stimuli"
            if self.human_in_own_unit
            else "taken as they are, without a change of unit"
        )
        below = (
            ""
            if self.scored_below is None
            else f" Only those below {self.scored_below:g} are scored."
        )
        return (
            f"{what} {held}, at {_between(self.over, self.values)}.{below} Human thresholds are "
            f"castleCSF's{human_area}, {own}."
        )

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
        if not self.human_in_own_unit:
            return 1 / float(
                human.castle_csf(
                    frequency,
                    luminance_cdm2=luminance,
                    area_deg2=area,
                    direction=self.direction,
                )
            )
        modulation = space.modulation_lms(self.direction, luminance)
        background = space.background_lms(luminance)
        sensitivity = human.castle_csf(
            frequency, area_deg2=area, direction=modulation, background_lms=background
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
        return Layer(self._pattern(index, x), modulation, contrast)

    def _pattern(self, index: int, x: float) -> Pattern:
        if self.pattern == "gabor":
            return Gabor(self._frequency(x), self._sigma(x))
        # A draw of its own at every abscissa, so that resampling abscissae resamples noise too.
        seed = self.noise_seed if self.one_draw else (self.noise_seed, index)
        return octave_noise(self._frequency(x), seed=seed, generator=self.noise_generator)


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
    scored
        Open interval of mask contrasts that are scored.
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
    one_draw: bool = False
    scored: tuple[float, float] = (0.0, 1.0)

    over: Abscissa = "mask_contrast"
    unit: Unit = "michelson"

    detects: ClassVar[bool] = False

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
            f"{_between(self.over, masks)}."
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
        return list(zip(mask[kept].tolist(), threshold[kept].tolist(), strict=True))

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
            return Grating(self.frequency_cpd, phase_deg=self.phase_deg)
        seed = self.noise_seed if self.one_draw else (self.noise_seed, index)
        return Noise(0.0, self.noise_mask_cpd, seed, self.noise_generator, self.noise_keeps_mean)

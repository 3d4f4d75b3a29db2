"""A stimulus from an address: checked, painted by the code that observers are shown, as a PNG."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments.limits import REASONS, flag_contrasts
from fechner.stimuli import (
    OPPONENT,
    Disk,
    Display,
    Field,
    Gabor,
    Grating,
    Layer,
    Noise,
    OctaveNoise,
    Pattern,
    Stimulus,
    displays,
    gamut_limit,
    paint,
)
from fechner.stimuli.colour import DIRECTIONS

#: Noise masks hold frequencies up to this one, as those of Gegenfurtner & Kiper (1992) did.
NOISE_MASK_CPD = 12.0


class BadQueryError(FechnerError):
    """An address that asks for something that cannot be drawn."""


@dataclass(frozen=True)
class Number:
    """A setting with a range; ``log`` sliders move by ratios."""

    label: str
    unit: str
    low: float
    high: float
    usual: float
    log: bool = False
    whole: bool = False

    def read(self, text: str) -> float:
        """Return a value from an address, or say what is wrong with it."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not self.low <= value <= self.high or (self.whole and value != round(value)):
            kind = "a whole number" if self.whole else "a number"
            raise BadQueryError(
                f"{self.label} is {kind} from {self.low:g} to {self.high:g}, not '{_short(text)}'."
            )
        return value


@dataclass(frozen=True)
class Choice:
    """A setting with a few values, each with words for people."""

    label: str
    options: Mapping[str, str]
    usual: str

    def read(self, text: str) -> str:
        """Return a value from an address, or say what is wrong with it."""
        if text not in self.options:
            raise BadQueryError(f"{self.label} is {_either(self.options)}, not '{_short(text)}'.")
        return text


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."


def _either(options: Mapping[str, str]) -> str:
    *most, last = options
    return f"{', '.join(most)} or {last}"


_COLOURS = dict(zip(DIRECTIONS, ("achromatic", "red-green", "yellow-violet"), strict=True))

#: Every setting of the explorer, in the order of the page.
SETTINGS: dict[str, Number | Choice] = {
    "pattern": Choice(
        "Pattern",
        {
            "gabor": "Gabor",
            "grating": "grating over the whole field",
            "noise": "noise, one octave wide",
            "disc": "disc",
        },
        "gabor",
    ),
    "frequency": Number("Spatial frequency", "cycles/degree", 0.1, 60, 4, log=True),
    "contrast": Number("Contrast", "", 0.0005, 1, 0.1, log=True),
    "luminance": Number("Luminance", "cd/m²", 0.01, 1000, 100, log=True),
    "sigma": Number("Size (sigma, or radius of a disc)", "degrees", 0.05, 10, 0.5, log=True),
    "orientation": Number("Orientation", "degrees", 0, 180, 0),
    "phase": Number("Phase", "degrees", 0, 360, 90),
    "direction": Choice(
        "Colour",
        _COLOURS,
        "ach",
    ),
    "mask": Choice(
        "Mask",
        {
            "none": "none",
            "grating": "grating of the same frequency and phase",
            "noise": f"noise up to {NOISE_MASK_CPD:g} cycles/degree",
        },
        "none",
    ),
    "mask_contrast": Number("Contrast of the mask", "", 0.001, 1, 0.05, log=True),
    "display": Choice(
        "Display",
        {
            name: f"{name}: {each.black_cdm2:g} to {each.peak_cdm2:g} cd/m², "
            + ("no quantisation" if each.bits is None else f"{each.bits} bits")
            for name, each in displays().items()
        },
        "encoders",
    ),
    "ppd": Number("Pixels per degree", "pixels/degree", 8, 240, 60, log=True),
    "size": Number("Side of the picture", "pixels", 64, 1024, 512, whole=True),
}


@dataclass(frozen=True)
class Point:
    """A stimulus and where it is shown."""

    pattern: str
    frequency: float
    contrast: float
    luminance: float
    sigma: float
    orientation: float
    phase: float
    direction: str
    mask: str
    mask_contrast: float
    display: str
    ppd: float
    size: float

    def __post_init__(self) -> None:
        if self.direction != "ach" and "noise" in (self.pattern, self.mask):
            raise BadQueryError(
                f"Noise is achromatic here, so the colour with it is {_COLOURS['ach']}, "
                f"not {_COLOURS[self.direction]}."
            )

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Point:
        """Return the point that an address names; what it leaves out is as usual.

        Examples
        --------
        >>> Point.of({"frequency": "2"}).stimulus.layers[0].pattern.frequency_cpd
        2.0
        """
        for name in query:
            if name not in SETTINGS:
                raise BadQueryError(
                    f"there is no setting '{_short(name)}'; there are {', '.join(SETTINGS)}."
                )
        values: dict[str, Any] = {
            name: setting.read(query[name]) if name in query else setting.usual
            for name, setting in SETTINGS.items()
        }
        return cls(**values)

    @property
    def query(self) -> str:
        """The address of this point."""
        values = {name: getattr(self, name) for name in SETTINGS}
        return urlencode(
            {
                name: f"{value:.12g}" if isinstance(value, float | int) else value
                for name, value in values.items()
            }
        )

    @property
    def field(self) -> Field:
        """The field that is drawn."""
        return Field(int(self.size), int(self.size), self.ppd)

    @property
    def screen(self) -> Display:
        """The display."""
        return displays()[self.display]

    @property
    def unit(self) -> str:
        """What a contrast means, for people."""
        if self.pattern == "noise":
            return "RMS contrast"
        return "Michelson contrast" if self.direction == "ach" else "DKL amplitude"

    @property
    def reference(self) -> Stimulus:
        """The background with its mask."""
        masks: tuple[Layer, ...] = ()
        if self.mask != "none":
            mask: Pattern = (
                Grating(self.frequency, self.orientation, self.phase)
                if self.mask == "grating"
                else Noise(0.0, NOISE_MASK_CPD, seed=1)
            )
            modulation = OPPONENT.modulation_xyz(self.direction, self.luminance)
            masks = (Layer(mask, modulation, self.mask_contrast),)
        return Stimulus(OPPONENT.background_xyz(self.luminance), masks)

    @property
    def target(self) -> Layer:
        """What is to be seen."""
        modulation = OPPONENT.modulation_xyz(self.direction, self.luminance)
        return Layer(self._pattern(), modulation, self.contrast)

    @property
    def stimulus(self) -> Stimulus:
        """The target on its reference."""
        reference = self.reference
        return Stimulus(reference.background_xyz, (*reference.layers, self.target))

    def _pattern(self) -> Pattern:
        if self.pattern == "gabor":
            return Gabor(self.frequency, self.sigma, self.orientation, self.phase)
        if self.pattern == "grating":
            return Grating(self.frequency, self.orientation, self.phase)
        return OctaveNoise(self.frequency) if self.pattern == "noise" else Disk(self.sigma)


def picture(point: Point) -> bytes:
    """Paint a point and return it as a PNG of 8 bits, dithered so that faint patterns survive."""
    from PIL import Image

    from fechner.report.tiles import visible

    (pixels,) = visible(paint([point.stimulus], point.field, point.screen))
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, format="PNG", compress_level=1)
    return content.getvalue()


def limits(point: Point) -> str:
    """Say what the display or its pixels cannot hold of a point; nothing if they can."""
    reference, target, display = point.reference, point.target, point.screen
    contrast = np.array([point.contrast])
    (flag,) = flag_contrasts(reference, target, contrast, display, point.field)
    reason = REASONS[int(flag)]
    highest = max(layer.pattern.highest_cpd for layer in (*reference.layers, target))
    low, high = display.limits_cdm2()
    room = gamut_limit(display, reference.background_xyz, target.modulation_xyz)
    room -= sum(mask.contrast for mask in reference.layers)
    strongest = (
        f"the strongest contrast it can show here is {room:.3g}"
        if room > 0
        else "there is no room for any contrast here"
    )
    sentences = {
        "kept": "",
        "aliased": f"{highest:.3g} cycles/degree is above the {point.field.nyquist_cpd:g} that "
        f"{point.ppd:g} pixels per degree can hold: the picture shows an alias.",
        "out-of-gamut": f"The display goes from {low:g} to {high:g} cd/m² and cannot show this, so "
        f"the picture is cut: {strongest}.",
        "contrast-above-1": "The contrasts of mask and target add up to more than 1, which would "
        "need less light than none, so the picture is cut.",
        "noise-clipped": f"More than 1 % of the pixels lie outside the {low:g} to {high:g} cd/m² "
        "of the display and are cut.",
        "window-cut": f"The field of {point.field.width_deg:.3g} x {point.field.height_deg:.3g} "
        "degrees cuts off more than 10 % of the pattern's energy.",
    }
    return sentences[reason]

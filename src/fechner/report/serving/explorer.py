"""A stimulus from an address: checked, painted as observers are shown it, with what people see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np

from fechner import human, stimuli
from fechner.errors import FechnerError
from fechner.experiments import Detection
from fechner.experiments.base import abscissa
from fechner.experiments.detection import REASONS, flag_contrasts
from fechner.references import reference
from fechner.report.html import as_file
from fechner.stimuli.colour import DIRECTIONS
from fechner.stimuli.patterns import area_deg2

if TYPE_CHECKING:
    from fechner.stimuli.contrast import Floats

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
            *most, last = self.options
            known = f"{', '.join(most)} or {last}"
            raise BadQueryError(f"{self.label} is {known}, not '{_short(text)}'.")
        return text


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."


_COLOURS = dict(zip(DIRECTIONS, ("achromatic", "red-green", "yellow-violet"), strict=True))
_PATTERNS = {
    "gabor": "Gabor",
    "grating": "grating over the whole field",
    "noise": "noise, one octave wide",
    "disc": "disc",
}
_MASKS = {
    "none": "none",
    "grating": "grating of the same frequency and phase",
    "noise": f"noise up to {NOISE_MASK_CPD:g} cycles/degree",
}

#: Every setting of the explorer, in the order of the page.
SETTINGS: dict[str, Number | Choice] = {
    "pattern": Choice("Pattern", _PATTERNS, "gabor"),
    "frequency": Number("Spatial frequency", "cycles/degree", 0.1, 60, 4, log=True),
    "contrast": Number("Contrast", "", 0.0005, 1, 0.1, log=True),
    "luminance": Number("Luminance", "cd/m²", 0.01, 1000, 100, log=True),
    "sigma": Number("Size (sigma, or radius of a disc)", "degrees", 0.05, 10, 0.5, log=True),
    "orientation": Number("Orientation", "degrees", 0, 180, 0),
    "phase": Number("Phase", "degrees", 0, 360, 90),
    "direction": Choice("Colour", _COLOURS, "ach"),
    "mask": Choice("Mask", _MASKS, "none"),
    "mask_contrast": Number("Contrast of the mask", "", 0.001, 1, 0.05, log=True),
    "display": Choice(
        "Display",
        {
            name: f"{name}: {each.black_cdm2:g} to {each.peak_cdm2:g} cd/m², "
            + ("no quantisation" if each.bits is None else f"{each.bits} bits")
            for name, each in stimuli.displays().items()
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
        values = ((name, getattr(self, name)) for name in SETTINGS)
        return urlencode([(k, v if isinstance(v, str) else f"{v:.12g}") for k, v in values])

    @property
    def field(self) -> stimuli.Field:
        """The field that is drawn."""
        return stimuli.Field(int(self.size), int(self.size), self.ppd)

    @property
    def screen(self) -> stimuli.Display:
        """The display."""
        return stimuli.displays()[self.display]

    @property
    def unit(self) -> str:
        """What a contrast means, for people."""
        if self.pattern == "noise":
            return "RMS contrast"
        return "Michelson contrast" if self.direction == "ach" else "DKL amplitude"

    @property
    def reference(self) -> stimuli.Stimulus:
        """The background with its mask."""
        masks: tuple[stimuli.Layer, ...] = ()
        if self.mask != "none":
            mask: stimuli.Pattern = (
                stimuli.Grating(self.frequency, self.orientation, self.phase)
                if self.mask == "grating"
                else stimuli.Noise(0.0, NOISE_MASK_CPD, seed=1)
            )
            modulation = stimuli.OPPONENT.modulation_xyz(self.direction, self.luminance)
            masks = (stimuli.Layer(mask, modulation, self.mask_contrast),)
        return stimuli.Stimulus(stimuli.OPPONENT.background_xyz(self.luminance), masks)

    @property
    def target(self) -> stimuli.Layer:
        """What is to be seen."""
        modulation = stimuli.OPPONENT.modulation_xyz(self.direction, self.luminance)
        return stimuli.Layer(self._pattern(), modulation, self.contrast)

    @property
    def stimulus(self) -> stimuli.Stimulus:
        """The target on its reference."""
        reference = self.reference
        return stimuli.Stimulus(reference.background_xyz, (*reference.layers, self.target))

    def _pattern(self) -> stimuli.Pattern:
        if self.pattern == "gabor":
            return stimuli.Gabor(self.frequency, self.sigma, self.orientation, self.phase)
        if self.pattern == "grating":
            return stimuli.Grating(self.frequency, self.orientation, self.phase)
        if self.pattern == "noise":
            return stimuli.OctaveNoise(self.frequency)
        return stimuli.Disk(self.sigma)


def picture(point: Point) -> bytes:
    """Paint a point and return it as a PNG of 8 bits, dithered so that faint patterns survive."""
    from fechner.report.tiles import visible

    (pixels,) = visible(stimuli.paint([point.stimulus], point.field, point.screen))
    return as_file(pixels, "PNG", compress_level=1)


def limits(point: Point) -> str:
    """Say what the display or its pixels cannot hold of a point; nothing if they can."""
    reference, target, display = point.reference, point.target, point.screen
    contrast = np.array([point.contrast])
    (flag,) = flag_contrasts(reference, target, contrast, display, point.field)
    reason = REASONS[int(flag)]
    highest = max(layer.pattern.highest_cpd for layer in (*reference.layers, target))
    low, high = display.limits_cdm2()
    room = stimuli.gamut_limit(display, reference.background_xyz, target.modulation_xyz)
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


# What people see of it

#: castleCSF is within about 4 dB of the studies behind it: nearer to threshold, it cannot tell.
_NEAR = 10 ** (4 / 20)

#: Conditions count as those of a data set if they differ by less than this share.
_SAME = 0.1

#: Human data for each kind of mask.
_MASKED = {"grating": "foley1994", "noise": "gegenfurtner_kiper1992"}

#: What thresholds are drawn over, and its setting, for patterns that have no spatial frequency.
_OVER = {"disc": ("radius_deg", "sigma")}


@dataclass(frozen=True)
class Verdict:
    """What people would see of a point.

    Parameters
    ----------
    threshold, contrast
        The threshold, and what is shown.
    source
        Where the threshold comes from, in a sentence.
    x, thresholds, at, label
        Thresholds over one setting, where the point lies on it, and what it is called.
    caveat
        Why the mask could not be taken into account.
    measured
        Whether thresholds are data.
    """

    threshold: float
    contrast: float
    source: str
    x: Floats
    thresholds: Floats
    at: float
    label: str
    caveat: str = ""
    measured: bool = False

    @property
    def ratio(self) -> float:
        """The contrast as a multiple of the threshold."""
        return self.contrast / self.threshold

    @property
    def seen(self) -> str:
        """Whether people would see it, in words.

        A model that is off by up to 4 dB cannot tell closer to the threshold.
        """
        if self.ratio > _NEAR:
            return "visible"
        return "about at threshold" if self.ratio >= 1 / _NEAR else "not visible"


def judge(point: Point) -> Verdict:
    """Return what people would see of a point: by data on its mask, or by castleCSF without one."""
    caveat = ""
    if point.mask != "none":
        about = human.load(_MASKED[point.mask]).about
        measured = human.masking_thresholds(_MASKED[point.mask])
        x, thresholds = np.array(measured.at), np.array(measured.contrasts)
        if _same_conditions(point, about) and x[0] <= point.mask_contrast <= x[-1]:
            # Along straight lines in log-log coordinates.
            log = np.interp(np.log(point.mask_contrast), np.log(x), np.log(thresholds))
            return Verdict(
                float(np.exp(log)),
                point.contrast,
                f"Interpolated between the data of {reference(about.reference_key).short}.",
                x,
                thresholds,
                point.mask_contrast,
                "contrast of the mask",
                measured=True,
            )
        caveat = (
            f"No human model for this mask is at hand, so the threshold is the one without it. "
            f"{reference(about.reference_key).short} measured vertical achromatic Gabors of "
            f"{about.frequency_cpd:g} cycles/degree and sigma {about.sigma_deg:g} degree at "
            f"{about.luminance_cdm2:g} cd/m², on masks of contrast {x[0]:.2g} to {x[-1]:.2g}."
        )
    over, setting = _OVER.get(point.pattern, ("frequency_cpd", "frequency"))
    at = float(getattr(point, setting))
    number = SETTINGS[setting]
    assert isinstance(number, Number)
    x = np.geomspace(number.low, number.high, 64)
    area = area_deg2(point.target.pattern, point.field)
    of = "a disc" if point.pattern == "disc" else f"an area of {area:.3g} square degrees"
    return Verdict(
        float(_detected(point, over, np.array([at]))[0]),
        point.contrast,
        f"castleCSF ({reference('ashraf2024').short}), for {of}.",
        x,
        _detected(point, over, x),
        at,
        abscissa(over).label,
        caveat,
    )


def _detected(point: Point, over: str, x: Floats) -> Floats:
    """Return castleCSF's thresholds without a mask."""
    task = Detection(
        over,
        tuple(x.tolist()),
        (),
        point.target.pattern,
        direction=point.direction,
        luminance_cdm2=point.luminance,
    )
    return task.human_thresholds(point.field, stimuli.OPPONENT)


def _same_conditions(point: Point, data: human.HumanData) -> bool:
    asked = (point.frequency, point.sigma, point.luminance)
    had = (data.frequency_cpd, data.sigma_deg, data.luminance_cdm2)
    return (
        (point.pattern, point.direction) == ("gabor", "ach")
        and point.orientation % 180 == 0
        and all(b is not None and abs(a / b - 1) <= _SAME for a, b in zip(asked, had, strict=True))
    )


def _preset(**values: object) -> str:
    return Point.of({name: str(value) for name, value in values.items()}).query


def _conditions(key: str, mask: str, mask_contrast: float, contrast: float) -> str:
    data = human.DATASETS[key]
    return _preset(
        frequency=data.frequency_cpd,
        sigma=data.sigma_deg,
        luminance=data.luminance_cdm2,
        mask=mask,
        mask_contrast=mask_contrast,
        contrast=contrast,
    )


#: Places to begin, as addresses.
PRESETS = {
    "a Gabor": _preset(),
    "at the limit of sight": _preset(frequency=20, contrast=0.08),
    "red-green": _preset(direction="rg", frequency=1, sigma=1, contrast=0.08),
    "noise": _preset(pattern="noise", contrast=0.05),
    "Foley's masks": _conditions("foley1994", "grating", 0.05, 0.1),
    "Gegenfurtner & Kiper's noise": _conditions("gegenfurtner_kiper1992", "noise", 0.1, 0.2),
}


# A small plot on logarithmic axes, as numbers that a template makes an SVG of

WIDTH, HEIGHT = 360, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 10, 40


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from ``low`` at pixel ``start`` to ``high`` at pixel ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; what lies outside is put on the edge.

        Examples
        --------
        >>> Axis(1, 100, 0, 200).at(10)
        100.0
        """
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + (self.end - self.start) * min(max(share, 0.0), 1.0), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Pixels and labels of the powers of ten."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high))
        return [(self.at(10.0**power), f"{10.0**power:g}") for power in range(first, last + 1)]


def plot(verdict: Verdict) -> dict[str, Any]:
    """Lay out a curve: sensitivity upwards for models, thresholds for data on masks.

    Its path, the side of it on which people see, a dot for the point, and what stands at the axes.
    """
    across, upwards = (_LEFT, WIDTH - _RIGHT), (HEIGHT - _BOTTOM, _TOP)
    values, value, label = verdict.thresholds, verdict.contrast, "contrast"
    x, y = Axis(0.001, 1, *across), Axis(0.001, 1, *upwards)
    if not verdict.measured:
        x = Axis(float(verdict.x[0]), float(verdict.x[-1]), *across)
        y = Axis(1, 2000, *upwards)
        values, value, label = 1 / verdict.thresholds, 1 / verdict.contrast, "1 / contrast"
    # A curve ends where it leaves the plot; a flat line along its edge would say something else.
    inside = (values >= y.low) & (values <= y.high)
    places = [
        (x.at(float(a)), y.at(float(b)))
        for a, b in zip(verdict.x[inside], values[inside], strict=True)
    ]
    path = " ".join(f"{'L' if number else 'M'}{a:g} {b:g}" for number, (a, b) in enumerate(places))
    # More contrast is downwards where sensitivity is upwards.
    edge = y.end if verdict.measured else y.start
    middle = (places[0][0] + places[-1][0]) / 2 if places else (x.start + x.end) / 2
    return {
        "x": x,
        "y": y,
        "path": path,
        "area": f"{path} L{places[-1][0]:g} {edge:g} L{places[0][0]:g} {edge:g} Z" if path else "",
        "seen_at": (middle, edge + 16 if verdict.measured else edge - 8),
        "marks": places if verdict.measured else [],
        "dot": (x.at(verdict.at), y.at(value)),
        "x_label": verdict.label,
        "y_label": label,
        "width": WIDTH,
        "height": HEIGHT,
    }

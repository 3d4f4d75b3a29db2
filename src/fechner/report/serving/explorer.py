"""A stimulus from an address: checked, painted as observers are shown it, with what people see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

import numpy as np

from fechner import human, stimuli
from fechner.arrays import Floats
from fechner.errors import FechnerError, UnknownNameError
from fechner.experiments import Detection
from fechner.experiments.base import abscissa
from fechner.experiments.detection import REASONS, flag_contrasts
from fechner.references import reference
from fechner.report.html import as_file
from fechner.stimuli.patterns import area_deg2
from fechner.suites.options import Checked, option, options_of

#: Noise masks hold frequencies up to this one, as those of Gegenfurtner & Kiper (1992) did.
NOISE_MASK_CPD = 12.0

#: What the values of settings are called on the page.
WORDS = {
    "pattern": {
        "gabor": "Gabor",
        "grating": "grating over the whole field",
        "noise": "noise, one octave wide",
        "disc": "disc",
    },
    "direction": {"ach": "achromatic", "rg": "red-green", "yv": "yellow-violet"},
    "mask": {
        "none": "none",
        "grating": "grating of the same frequency and phase",
        "noise": f"noise up to {NOISE_MASK_CPD:g} cycles/degree",
    },
    "display": {
        name: f"{name}: {each.black_cdm2:g} to {each.peak_cdm2:g} cd/m², "
        + ("no quantisation" if each.bits is None else f"{each.bits} bits")
        for name, each in stimuli.displays().items()
    },
}

#: Places to begin, as addresses.
PRESETS = {
    "a Gabor": "",
    "at the limit of sight": "frequency=20&contrast=0.08",
    "red-green": "direction=rg&frequency=1&sigma=1&contrast=0.08",
    "noise": "pattern=noise&contrast=0.05",
    "Foley's masks": "frequency=2&sigma=0.5&luminance=32&mask=grating&mask_contrast=0.05",
    "Gegenfurtner & Kiper's noise": "frequency=1.2&sigma=0.8&luminance=37&contrast=0.2&mask=noise"
    "&mask_contrast=0.1",
}


@dataclass(frozen=True, kw_only=True)
class Point(Checked):
    """A stimulus and where it is shown: the settings of the page, in its order."""

    pattern: Literal["gabor", "grating", "noise", "disc"] = option("gabor", help="Pattern")
    frequency: float = option(4.0, help="Spatial frequency", unit="cycles/degree", low=0.1, high=60)
    contrast: float = option(0.1, help="Contrast", low=0.0005, high=1)
    luminance: float = option(100.0, help="Luminance", unit="cd/m²", low=0.01, high=1000)
    sigma: float = option(
        0.5, help="Size (sigma, or radius of a disc)", unit="degrees", low=0.05, high=10
    )
    orientation: float = option(0.0, help="Orientation", unit="degrees", low=0, high=180)
    phase: float = option(90.0, help="Phase", unit="degrees", low=0, high=360)
    direction: Literal["ach", "rg", "yv"] = option("ach", help="Colour")
    mask: Literal["none", "grating", "noise"] = option("none", help="Mask")
    mask_contrast: float = option(0.05, help="Contrast of the mask", low=0.001, high=1)
    display: str = option("encoders", help="Display", read=lambda name: stimuli.display(name).name)
    ppd: float = option(60.0, help="Pixels per degree", unit="pixels/degree", low=8, high=240)
    size: int = option(512, help="Side of the picture", unit="pixels", low=64, high=1024)

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except FechnerError as error:  # these are no flags
            raise FechnerError(str(error).removeprefix("--")) from None
        if self.direction != "ach" and "noise" in (self.pattern, self.mask):
            raise FechnerError("noise is achromatic here: choose the achromatic colour with it.")

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> Point:
        """Return the point that an address names; what it leaves out is as usual.

        Examples
        --------
        >>> Point.of({"frequency": "2"}).stimulus.layers[0].pattern.frequency_cpd
        2.0
        """
        known = options_of(cls)
        for name in query:
            if name not in known:
                raise UnknownNameError("setting", name, known, f"there are {', '.join(known)}")
        return cls(**query)

    @property
    def query(self) -> str:
        """The address of this point."""
        values = vars(self).items()
        return urlencode({k: v if isinstance(v, str) else f"{v:.12g}" for k, v in values})

    @property
    def field(self) -> stimuli.Field:
        """The field that is drawn."""
        return stimuli.Field(self.size, self.size, self.ppd)

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
            mask: stimuli.Pattern = stimuli.Noise(0.0, NOISE_MASK_CPD, seed=1)
            if self.mask == "grating":
                mask = stimuli.Grating(self.frequency, self.orientation, self.phase)
            masks = (stimuli.Layer(mask, self._modulation, self.mask_contrast),)
        return stimuli.Stimulus(stimuli.OPPONENT.background_xyz(self.luminance), masks)

    @property
    def target(self) -> stimuli.Layer:
        """What is to be seen."""
        pattern: stimuli.Pattern = stimuli.Disk(self.sigma)
        if self.pattern == "gabor":
            pattern = stimuli.Gabor(self.frequency, self.sigma, self.orientation, self.phase)
        elif self.pattern == "grating":
            pattern = stimuli.Grating(self.frequency, self.orientation, self.phase)
        elif self.pattern == "noise":
            pattern = stimuli.OctaveNoise(self.frequency)
        return stimuli.Layer(pattern, self._modulation, self.contrast)

    @property
    def _modulation(self) -> Any:
        return stimuli.OPPONENT.modulation_xyz(self.direction, self.luminance)

    @property
    def stimulus(self) -> stimuli.Stimulus:
        """The target on its reference."""
        reference = self.reference
        return stimuli.Stimulus(reference.background_xyz, (*reference.layers, self.target))


def picture(point: Point) -> bytes:
    """Paint a point and return it as a PNG of 8 bits, dithered so that faint patterns survive."""
    from fechner.report.tiles import visible

    (pixels,) = visible(stimuli.paint([point.stimulus], point.field, point.screen))
    return as_file(pixels, "PNG", compress_level=1)


def limits(point: Point) -> str:
    """Say what the display or its pixels cannot hold of a point; nothing if they can."""
    reference, target, display, field = point.reference, point.target, point.screen, point.field
    contrast = np.array([point.contrast])
    (flag,) = flag_contrasts(reference, target, contrast, display, field)
    highest = max(layer.pattern.highest_cpd for layer in (*reference.layers, target))
    low, high = display.limits_cdm2()
    room = stimuli.gamut_limit(display, reference.background_xyz, target.modulation_xyz)
    room = max(0.0, room - sum(mask.contrast for mask in reference.layers))
    sentences = {
        "kept": "",
        "aliased": f"{highest:.3g} cycles/degree is above the {field.nyquist_cpd:g} that "
        f"{point.ppd:g} pixels per degree can hold: the picture shows an alias.",
        "out-of-gamut": f"The display goes from {low:g} to {high:g} cd/m² and cannot show this, so "
        f"the picture is cut: the strongest contrast it can show here is {room:.3g}.",
        "contrast-above-1": "The contrasts of mask and target add up to more than 1, which would "
        "need less light than none, so the picture is cut.",
        "noise-clipped": f"More than 1 % of the pixels lie outside the {low:g} to {high:g} cd/m² "
        "of the display and are cut.",
        "window-cut": f"The field of {field.width_deg:.3g} x {field.height_deg:.3g} degrees cuts "
        "off more than 10 % of the pattern's energy.",
    }
    return sentences[REASONS[int(flag)]]


# What people see of it

#: castleCSF is within about 4 dB of the studies behind it: nearer to threshold, it cannot tell.
_NEAR = 10 ** (4 / 20)

#: Conditions count as those of a data set if they differ by less than this share.
_SAME = 0.1

#: Human data for each kind of mask.
_MASKED = {"grating": "foley1994", "noise": "gegenfurtner_kiper1992"}


@dataclass(frozen=True)
class Verdict:
    """What people would see of a point.

    Parameters
    ----------
    source
        Where the threshold comes from, in a sentence.
    label, at, x, thresholds
        Thresholds over one setting, what it is called, and where the point lies on it.
    caveat
        Why the mask could not be taken into account.
    measured
        Whether thresholds are data.
    """

    contrast: float
    threshold: float
    source: str
    label: str
    at: float
    x: Floats
    thresholds: Floats
    caveat: str = ""
    measured: bool = False

    @property
    def ratio(self) -> float:
        """The contrast as a multiple of the threshold."""
        return self.contrast / self.threshold

    @property
    def seen(self) -> str:
        """Whether people would see it, in words."""
        if self.ratio > _NEAR:
            return "visible"
        return "about at threshold" if self.ratio >= 1 / _NEAR else "not visible"


def judge(point: Point) -> Verdict:
    """Return what people would see of a point: by data on its mask, or by castleCSF without one."""
    caveat = ""
    if point.mask != "none":
        data = human.load(_MASKED[point.mask]).about
        study = reference(data.reference_key).short
        measured = human.masking_thresholds(_MASKED[point.mask])
        x, thresholds = np.array(measured.at), np.array(measured.contrasts)
        asked = (point.frequency, point.sigma, point.luminance)
        had = (data.frequency_cpd, data.sigma_deg, data.luminance_cdm2)
        if (
            (point.pattern, point.direction, point.orientation % 180) == ("gabor", "ach", 0)
            and np.allclose(asked, had, rtol=_SAME, atol=0)  # type: ignore[arg-type]
            and x[0] <= point.mask_contrast <= x[-1]
        ):
            # Along straight lines in log-log coordinates.
            log = np.interp(np.log(point.mask_contrast), np.log(x), np.log(thresholds))
            return Verdict(
                point.contrast,
                float(np.exp(log)),
                f"Interpolated between the data of {study}.",
                "contrast of the mask",
                point.mask_contrast,
                x,
                thresholds,
                measured=True,
            )
        caveat = (
            f"No human model for this mask is at hand, so the threshold is the one without it. "
            f"{study} measured vertical achromatic Gabors of {data.frequency_cpd:g} cycles/degree "
            f"and sigma {data.sigma_deg:g} degree at {data.luminance_cdm2:g} cd/m², on masks of "
            f"contrast {x[0]:.2g} to {x[-1]:.2g}."
        )
    over, setting = ("frequency_cpd", "frequency")
    of = f"an area of {area_deg2(point.target.pattern, point.field):.3g} square degrees"
    if point.pattern == "disc":
        (over, setting), of = ("radius_deg", "sigma"), "a disc"
    at, about = getattr(point, setting), options_of(Point)[setting]
    x = np.union1d(np.geomspace(about.low or 0, about.high or 0, 64), at)
    task = Detection(
        over,
        tuple(x.tolist()),
        (),
        point.target.pattern,
        direction=point.direction,
        luminance_cdm2=point.luminance,
    )
    thresholds = task.human_thresholds(point.field, stimuli.OPPONENT)
    return Verdict(
        point.contrast,
        float(thresholds[x == at][0]),
        f"castleCSF ({reference('ashraf2024').short}), for {of}.",
        abscissa(over).label,
        at,
        x,
        thresholds,
        caveat,
    )


#: Where the axes of the plot begin and end, in pixels.
LEFT, RIGHT, BOTTOM, TOP = 52, 350, 200, 10


def plot(verdict: Verdict) -> dict[str, Any]:
    """Lay out a curve on logarithmic axes, as the numbers that a template makes an SVG of.

    Sensitivity goes upwards for models, thresholds for data on masks.
    """
    x_ends, y_ends, label = (0.001, 1.0), (0.001, 1.0), "contrast"
    values, value = verdict.thresholds, verdict.contrast
    if not verdict.measured:
        x_ends, y_ends, label = (verdict.x[0], verdict.x[-1]), (1.0, 2000.0), "1 / contrast"
        values, value = 1 / values, 1 / value

    def across(x: Any) -> Any:
        return np.interp(np.log(x), np.log(x_ends), (LEFT, RIGHT)).round(1).tolist()

    def upwards(y: Any) -> Any:
        return np.interp(np.log(y), np.log(y_ends), (BOTTOM, TOP)).round(1).tolist()

    def powers(low: float, high: float) -> list[float]:
        return [each for each in (0.001, 0.01, 0.1, 1, 10, 100, 1000) if low <= each <= high]

    # A curve ends where it leaves the plot; a flat line along its edge would say something else.
    inside = (values >= y_ends[0]) & (values <= y_ends[1])
    places = list(zip(across(verdict.x[inside]), upwards(values[inside]), strict=True))
    path = "M" + " L".join(f"{x:g} {y:g}" for x, y in places) if places else ""
    # More contrast is downwards where sensitivity is upwards.
    edge = TOP if verdict.measured else BOTTOM
    first, last = (places[0][0], places[-1][0]) if places else (LEFT, RIGHT)
    return {
        "x_ticks": [(across(power), f"{power:g}") for power in powers(*x_ends)],
        "y_ticks": [(upwards(power), f"{power:g}") for power in powers(*y_ends)],
        "path": path,
        "area": f"{path} L{last:g} {edge:g} L{first:g} {edge:g} Z" if path else "",
        "seen_at": ((first + last) / 2, edge + 16 if verdict.measured else edge - 8),
        "marks": places if verdict.measured else [],
        "dot": (across(verdict.at), upwards(value)),
        "x_label": verdict.label,
        "y_label": label,
    }

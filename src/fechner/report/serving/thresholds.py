"""What people see of a stimulus: its threshold by a model or by data, and where the point lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fechner import human
from fechner.experiments import Detection
from fechner.experiments.abscissae import abscissa
from fechner.references import reference
from fechner.report.serving.explorer import SETTINGS, Number, Point
from fechner.stimuli import OPPONENT
from fechner.stimuli.patterns import area_deg2

if TYPE_CHECKING:
    from fechner.stimuli.contrast import Floats

#: castleCSF is within about 4 dB of the studies behind it: nearer to threshold, it cannot tell.
_NEAR = 10 ** (4 / 20)

#: Conditions count as those of a data set if they differ by less than this share.
_SAME = 0.1

#: Human data for each kind of mask.
_MASKED = {"grating": "foley1994", "noise": "gegenfurtner_kiper1992"}

#: What thresholds are drawn over, and its setting, for patterns that have no spatial frequency.
_OVER = {"disc": ("radius_deg", "sigma")}


@dataclass(frozen=True)
class Curve:
    """Thresholds over one setting, and where the point lies; ``measured`` if they are data."""

    x: Floats
    thresholds: Floats
    at: float
    contrast: float
    label: str
    measured: bool = False


@dataclass(frozen=True)
class Verdict:
    """What people would see of a point.

    Parameters
    ----------
    threshold, ratio
        The threshold, and the contrast as a multiple of it.
    source
        Where the threshold comes from, in a sentence.
    caveat
        Why the mask could not be taken into account.
    """

    threshold: float
    ratio: float
    source: str
    caveat: str
    curve: Curve

    @property
    def seen(self) -> str:
        """Whether people would see it, in words.

        A model that is off by up to 4 dB cannot tell closer to the threshold.
        """
        if self.ratio > _NEAR:
            return "visible"
        return "about at threshold" if self.ratio >= 1 / _NEAR else "not visible"


def judge(point: Point) -> Verdict:
    """Return what people would see of a point."""
    caveat = ""
    if point.mask != "none":
        data = human.load(_MASKED[point.mask])
        measured = human.masking_thresholds(_MASKED[point.mask])
        x, thresholds = np.array(measured.at), np.array(measured.contrasts)
        if _same_conditions(point, data.about) and x[0] <= point.mask_contrast <= x[-1]:
            threshold = _interpolate(point.mask_contrast, x, thresholds)
            return Verdict(
                threshold,
                point.contrast / threshold,
                f"Interpolated between the data of {reference(data.about.reference_key).short}.",
                "",
                Curve(
                    x,
                    thresholds,
                    point.mask_contrast,
                    point.contrast,
                    "contrast of the mask",
                    measured=True,
                ),
            )
        caveat = _why_not(data.about, x)
    over, setting = _OVER.get(point.pattern, ("frequency_cpd", "frequency"))
    at = float(getattr(point, setting))
    (threshold,) = _detected(point, over, np.array([at]))
    number = SETTINGS[setting]
    assert isinstance(number, Number)
    x = np.geomspace(number.low, number.high, 64)
    return Verdict(
        float(threshold),
        point.contrast / float(threshold),
        _source(point),
        caveat,
        Curve(x, _detected(point, over, x), at, point.contrast, abscissa(over).label),
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
    return task.human_thresholds(point.field, OPPONENT)


def _source(point: Point) -> str:
    model = f"castleCSF ({reference('ashraf2024').short})"
    if point.pattern == "disc":
        return f"{model}, for a disc."
    area = area_deg2(point.target.pattern, point.field)
    return f"{model}, for an area of {area:.3g} square degrees."


def _same_conditions(point: Point, data: human.HumanData) -> bool:
    asked = (point.frequency, point.sigma, point.luminance)
    had = (data.frequency_cpd, data.sigma_deg, data.luminance_cdm2)
    return (
        (point.pattern, point.direction) == ("gabor", "ach")
        and point.orientation % 180 == 0
        and all(b is not None and abs(a / b - 1) <= _SAME for a, b in zip(asked, had, strict=True))
    )


def _why_not(data: human.HumanData, masks: Floats) -> str:
    return (
        f"No human model for this mask is at hand, so the threshold is the one without it. "
        f"{reference(data.reference_key).short} measured vertical achromatic Gabors of "
        f"{data.frequency_cpd:g} cycles/degree and sigma {data.sigma_deg:g} degree at "
        f"{data.luminance_cdm2:g} cd/m², on masks of contrast {masks[0]:.2g} to {masks[-1]:.2g}."
    )


def _interpolate(x: float, xs: Floats, ys: Floats) -> float:
    """Return the value between points, along straight lines in log-log coordinates.

    Examples
    --------
    >>> round(_interpolate(0.1, np.array([0.01, 1.0]), np.array([0.02, 2.0])), 6)
    0.2
    """
    return float(np.exp(np.interp(np.log(x), np.log(xs), np.log(ys))))


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

"""Ten properties of the path from retina to V1 (Vila-Tomás et al. 2026).

Nine tests: chromatic and achromatic sensitivity (properties 3 and 4) and contrast responses with
their order over frequency (6 and 7) are measured together, brightness and colour (2) apart.
``published`` mode has the stimuli of the authors' public generator at the settings of the paper,
their formulas for people and their rank correlation of curves. The default has equiluminant
colours, masks that are added as light, noise of the frequency that it is called by, contrasts in
the unit of the human formulas and Whittle's brightness, and counts the pairs of curves that have an
order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fechner.experiments import (
    Brightness,
    Colour,
    Condition,
    Curves,
    NoiseCurves,
    SpectralSensitivity,
)
from fechner.experiments.base import Scene
from fechner.experiments.noise_curves import CurveTask
from fechner.human import spectral_fields
from fechner.scores import CurveAgreement, CurvePanels
from fechner.scores import curve_checks as check
from fechner.stimuli import (
    ATD,
    ATD_VILA_TOMAS2026,
    Display,
    Field,
    OpponentSpace,
    RingNoise,
    display,
)
from fechner.stimuli.colour import DIRECTION_NAMES, as_triple, daylight_xyz
from fechner.suites.base import Suite, Test
from fechner.suites.options import DisplayOptions, spaced


def _steps(first: float, last: float, n: int) -> tuple[float, ...]:
    return tuple(float(value) for value in np.linspace(first, last, n))


_SCENE = Scene(Field(128, 128, 64.0), display("decalogue"), ATD, whole=True)

_CHANNELS = ("ach", "rg", "yb")
_FREQUENCIES = spaced(1, 24, 12)
_TESTED_CPD = (1.5, 3.0, 6.0, 12.0, 24.0)
_ADAPTORS_CPD = (3.0, 6.0, 12.0)

#: The noise of tests and masks in the authors' generator. Rings are 3 cpd wide to either side at
#: the highest frequency of a series, 12 or 24 cpd, and narrower in proportion below; masks fill the
#: field.
_NARROW, _WIDE = RingNoise(1.0, half_width=3 / 24), RingNoise(1.0, half_width=3 / 12)
_NARROW_MASK, _WIDE_MASK = (replace(noise, window_deg=None) for noise in (_NARROW, _WIDE))
_AS_PUBLISHED = MappingProxyType({"masks": "encoded", "draws": "own", "chromatic_unit": "opponent"})


class _Masking(NamedTuple):
    """Where masking is measured in a channel.

    Chromatic noise is weaker, since more cannot be shown, and coarser, since people's chromatic
    vision is.
    """

    contrasts: tuple[float, ...]
    masks: tuple[float, ...]
    mask: float
    tested_cpd: Mapping[str, float]


_ACHROMATIC = _Masking(
    _steps(0.03, 0.3, 10), (0.075, 0.15, 0.225, 0.3), 0.2, {"low": 3.0, "high": 12.0}
)
_CHROMATIC = _Masking(
    _steps(0.006, 0.06, 10), (0.02, 0.04, 0.06, 0.08), 0.06, {"low": 3.0, "high": 6.0}
)
_MASKING = {"ach": _ACHROMATIC, "rg": _CHROMATIC, "yb": _CHROMATIC}

_BRIGHTNESS = Brightness(_steps(0.5, 120, 20), _steps(1, 160, 5))
_COLOUR = Colour(_steps(-20, 20, 15), (-150 / 7, -60 / 7, 0.0, 60 / 7, 150 / 7))
_SENSITIVITY = NoiseCurves(
    "frequency_cpd", _FREQUENCIES, tuple(Condition(channel) for channel in _CHANNELS)
)
_CONTRAST = NoiseCurves(
    "contrast",
    _ACHROMATIC.contrasts,
    tuple(
        Condition(channel, cpd, label=f"{cpd:g} cpd", level=cpd, group=channel)
        for channel in _CHANNELS
        for cpd in _TESTED_CPD
    ),
    seeds=5,
    # Noise of the higher chromatic contrasts cannot be shown.
    test="grating",
)


def _adaptation(channel: str) -> NoiseCurves:
    adapted = partial(Condition, channel, mask_contrast=_MASKING[channel].mask)
    return NoiseCurves(
        "frequency_cpd",
        _FREQUENCIES,
        (
            Condition(channel, label="not adapted"),
            *(
                adapted(mask_frequency_cpd=cpd, label=f"adapted to {cpd:g} cpd", level=cpd)
                for cpd in _ADAPTORS_CPD
            ),
        ),
        contrast=0.05 if channel == "ach" else 0.03,
    )


def _masked(by: str, channel: str, group: str, cpd: float) -> list[Condition]:
    """Return the masks of a series at one frequency: by their contrast, frequency or angle."""
    at = _MASKING[channel]
    unmasked = partial(Condition, channel, cpd, group=group, label="no mask")
    masked = partial(Condition, channel, cpd, group=group, known=False)
    if by == "contrast":
        same = partial(masked, mask_frequency_cpd=cpd)
        return [
            unmasked(mask_frequency_cpd=cpd, place=-0.0),
            *(
                same(mask_contrast=mask, label=f"mask {mask:g}", level=mask, place=-mask)
                for mask in at.masks
            ),
        ]
    masked = partial(masked, mask_contrast=at.mask)
    if by == "frequency":
        # The nearer in frequency, the lower; rounded, so that octaves to both sides are tied.
        places = {mask: round(abs(math.log2(cpd / mask)), 6) for mask in _TESTED_CPD}
        return [
            unmasked(ranked=False),
            *(
                masked(mask_frequency_cpd=mask, label=f"mask {mask:g} cpd", level=mask, place=place)
                for mask, place in places.items()
            ),
        ]
    return [
        unmasked(mask_frequency_cpd=cpd, level=-1.0, ranked=False),
        *(
            masked(
                mask_frequency_cpd=cpd,
                mask_angle_deg=angle,
                label=f"mask at {angle:g} deg",
                level=angle,
                place=min(angle, 180 - angle),
            )
            for angle in _steps(0, 157.5, 8)
        ),
    ]


def _masking(by: str, channel: str) -> NoiseCurves:
    """Return curves over contrast at the tested frequencies, one for each mask of a series."""
    at = _MASKING[channel]
    series = [_masked(by, channel, group, cpd) for group, cpd in at.tested_cpd.items()]
    return NoiseCurves("contrast", at.contrasts, tuple(chain(*series)), seeds=5)


#: Colours of light, with their temperatures; the equal-energy white is near daylight of 5455 K.
_LIGHTS = {
    "white-light": (5455.0, None),
    "warm-light": (4000.0, daylight_xyz(4000.0)),
    "cool-light": (10000.0, daylight_xyz(10000.0)),
}
_IN_LIGHTS = tuple(
    Condition(channel, level=kelvin, group=light, white_xyz=white)
    for light, (kelvin, white) in _LIGHTS.items()
    for channel in _CHANNELS
)
#: Figure 16 (left): the same patterns in other lights.
_LIT = NoiseCurves("frequency_cpd", _FREQUENCIES, _IN_LIGHTS)
_LIT_CONTRAST = NoiseCurves(
    "contrast",
    _steps(0.01, 0.1, 10),
    tuple(replace(each, frequency_cpd=3.0) for each in _IN_LIGHTS),
    seeds=5,
)
#: Figure 16 (right): tests on a texture at right angles, through more and more fog.
_FOG = NoiseCurves(
    "contrast",
    _ACHROMATIC.contrasts,
    tuple(
        Condition(
            frequency_cpd=cpd,
            mask_frequency_cpd=cpd,
            mask_contrast=_ACHROMATIC.mask,
            mask_angle_deg=90.0,
            label="clear air" if through == 1 else f"fog, {through:g} let through",
            level=through,
            group=group,
            place=through,
            transmission=through,
        )
        for group, cpd in _ACHROMATIC.tested_cpd.items()
        for through in (1.0, 0.75, 0.5, 0.25)
    ),
    seeds=5,
)

#: What people look at: Figures 5 to 8 of the paper, in equal steps.
_BRIGHTNESS_GALLERY = replace(_BRIGHTNESS, abscissae=_steps(0.5, 120, 8))
_COLOUR_GALLERY = replace(_COLOUR, abscissae=_steps(-20, 20, 9))
_MASKED_GALLERY = partial(NoiseCurves, "contrast", _steps(0, 0.3, 7), luminance_cdm2=50.0, seeds=1)
_ENERGY_GALLERY = _MASKED_GALLERY(
    tuple(
        Condition("ach", 4.0, 4.0, mask, label=f"mask {mask:g}" if mask else "no mask")
        for mask in _steps(0, 0.25, 6)
    ),
    # Of the first draws, the one whose test and mask are least alike.
    seed=8,
    size_deg=1.0,
)
_ORIENTATION_GALLERY = _MASKED_GALLERY(
    tuple(
        Condition("ach", 6.0, 6.0, _ACHROMATIC.mask, angle, label=f"mask at {angle:g} deg")
        for angle in _steps(90, -90, 7)
    ),
    size_deg=1.5,
    orientation_deg=90.0,
    test="gabor",
)


#: What counts as an effect of an adaptor, as a share of threshold, and of different masks, as a
#: share of the response. Both are ours, and less than people could tell: thresholds
#: repeat to about 1 dB, and contrasts are told apart from 10 % on.
_LEAST_ELEVATION, _LEAST_MASKING = 0.05, 0.02


class _Row(NamedTuple):
    """A test: its task, what is asked of its curves in words, and how they are shown."""

    id: str
    title: str
    task: CurveTask
    checks: tuple[check.Check, ...]
    panels: CurvePanels = CurvePanels()
    gallery: CurveTask | None = None
    space: OpponentSpace = ATD
    published: Mapping[str, Any] = MappingProxyType({})
    published_space: OpponentSpace = ATD_VILA_TOMAS2026
    by_default: bool = True
    least: float = check.EQUAL


#: Figure 16 has other lights, and fog.
_row_16 = partial(_Row, published_space=ATD, by_default=False)
_FIGURE_16 = (
    _row_16(
        "sensitivity-light",
        "Contrast sensitivity in warm and cool light (Figure 16)",
        _LIT,
        (check.DISCOUNTS_LIGHT,),
        CurvePanels(log=True),
    ),
    _row_16(
        "contrast-light",
        "Contrast responses in warm and cool light (Figure 16)",
        _LIT_CONTRAST,
        (check.DISCOUNTS_LIGHT,),
    ),
    _row_16(
        "contrast-fog",
        "Contrast responses in fog (Figure 16)",
        _FOG,
        (check.ENHANCES, check.ORDERED),
    ),
)


@lru_cache
def _spectral(screen: Display) -> SpectralSensitivity:
    """Return the test whose colours are as pure as a display can show them.

    The Gaussians of the public code fall to 1/e at 5 nm.
    """
    wavelengths = np.linspace(400.0, 700.0, 30)
    return SpectralSensitivity(
        spectral_fields(screen, wavelengths, sd_nm=5 / math.sqrt(2), flat_cdm2=18.1)
    )


def _rows(screen: Display) -> tuple[_Row, ...]:
    """Return the tests as they are shown on a display."""
    adaptation, *masking = _with_masks("ach")
    return (
        _Row(
            "spectral",
            "Spectral sensitivities (property 1)",
            _spectral(screen),
            (check.OPPONENT,),
        ),
        _Row(
            "brightness",
            "Brightness: saturation and crispening (property 2)",
            _BRIGHTNESS,
            (check.SATURATES, check.CRISPENS, check.ORDERED),
            gallery=_BRIGHTNESS_GALLERY,
            # Its white: no other grey can be shown as bright as tests of brightness are.
            space=replace(ATD, white_xyz=as_triple(np.sum(screen.rgb_to_xyz, axis=1))),
            published={
                "formula": "ciede2000",
                "abscissae": _steps(0.1, 120, 20),
                "ranks_darkest": True,
            },
            published_space=ATD,
        ),
        _Row(
            "colour",
            "Colour: saturation and adaptation (property 2)",
            _COLOUR,
            (check.SATURATES_BOTH_SIDES, check.ORDERED),
            gallery=_COLOUR_GALLERY,
            published={"abscissae": _steps(-70 / 3, 70 / 3, 15), "background_cdm2": 90.0},
            published_space=ATD,
        ),
        _Row(
            "sensitivity",
            "Contrast sensitivity, achromatic and chromatic (properties 3 and 4)",
            _SENSITIVITY,
            (check.BAND_PASS, check.LOW_PASS),
            CurvePanels(log=True),
            published={"rings": (_NARROW, _NARROW_MASK), **_AS_PUBLISHED},
        ),
        adaptation,
        _Row(
            "contrast",
            "Contrast responses over frequency (properties 6 and 7)",
            _CONTRAST,
            (check.SATURATES, check.ORDERED),
            published={
                "rings": (_NARROW, _NARROW_MASK),
                "test": "noise",
                "step": 0.03,
                **_AS_PUBLISHED,
            },
        ),
        *masking,
        *_with_masks("rg"),
        *_with_masks("yb"),
        *_FIGURE_16,
    )


def _with_masks(channel: str) -> list[_Row]:
    """Return adaptation and masking in a channel; those by colour are run where they are named."""
    achromatic = channel == "ach"

    def row(
        id: str,
        title: str,
        tasks: Mapping[str, NoiseCurves],
        rings: tuple[RingNoise, RingNoise],
        conditions: Sequence[Condition],
        **others: Any,
    ) -> _Row:
        theirs = tasks["ach"]  # their contrasts and frequencies are alike in all channels
        published = {
            "rings": rings,
            "abscissae": theirs.abscissae,
            "contrast": theirs.contrast,
            "conditions": tuple(replace(each, channel=channel) for each in conditions),
            "step": 0.03 if theirs.over == "contrast" else None,
            **_AS_PUBLISHED,
        }
        return _Row(
            id if achromatic else f"{id}-{channel}",
            title if achromatic else f"{title}, {DIRECTION_NAMES[channel]}",
            tasks[channel],
            published=published,
            by_default=achromatic,
            **others,
        )

    adaptation = {each: _adaptation(each) for each in ("ach", channel)}
    energy, frequency, orientation = (
        {each: _masking(by, each) for each in ("ach", channel)}
        for by in ("contrast", "frequency", "orientation")
    )
    unadapted, *adapted = adaptation["ach"].conditions
    masked = frequency["ach"].conditions
    masking: Any = {"checks": (check.ATTENUATES, check.ORDERED), "least": _LEAST_MASKING}
    return [
        row(
            "adaptation",
            "Receptive fields by adaptation (property 5)",
            adaptation,
            (_NARROW, _WIDE_MASK),
            # The contrast of adaptors is that of the public code; the paper has none.
            [unadapted, *(replace(each, mask_contrast=0.0125 / 0.3) for each in adapted)],
            checks=(check.PEAKS_AT_ADAPTOR,),
            panels=CurvePanels(elevation=True),
            least=_LEAST_ELEVATION,
        ),
        row(
            "masking-energy",
            "Masking by contrast (property 8)",
            energy,
            (_WIDE, _WIDE_MASK),
            energy["ach"].conditions,
            gallery=_ENERGY_GALLERY if achromatic else None,
            **masking,
        ),
        row(
            "masking-frequency",
            "Masking by frequency (property 9)",
            frequency,
            (_WIDE, _NARROW_MASK),
            # In the public code the order at 12 cpd is that at 3 cpd.
            [replace(each, place=masked[number % 6].place) for number, each in enumerate(masked)],
            **masking,
        ),
        row(
            "masking-orientation",
            "Masking by orientation (property 10)",
            orientation,
            (_WIDE, _WIDE_MASK),
            # In the public code 157.5 deg does not count.
            [each for each in orientation["ach"].conditions if each.mask_angle_deg != 157.5],
            gallery=_ORIENTATION_GALLERY if achromatic else None,
            **masking,
        ),
    ]


def tests(options: DisplayOptions) -> list[Test]:
    """Return the nine tests, and those that are run where they are named."""
    published = options.published
    scene = options.shown_in(_SCENE)
    if published:
        # Values above the peak are passed on.
        scene = replace(scene, display=replace(scene.display, clips=False))
    found = []
    for row in _rows(scene.display):
        changes = dict(row.published) if published else {}
        if row.task.seeds > 1:
            changes["seed"] = options.seed
        task: Any = row.task
        experiment = Curves(
            row.id,
            row.title,
            "vila_tomas2026",
            replace(task, **changes),
            replace(scene, space=row.published_space if published else row.space),
            cut=published,
        )
        scorer = CurveAgreement(
            "pooled" if published else "concordance",
            row.panels.elevation,
            floor=1e-6 if published else 0.0,
            least=check.EQUAL if published else row.least,
            checks=row.checks,
        )
        gallery = replace(experiment, task=row.gallery) if row.gallery else None
        found.append(
            Test(experiment, scorer, row.panels, gallery=gallery, by_default=row.by_default)
        )
    return found


SUITE = Suite(
    "decalogue",
    "Ten properties of the path from retina to V1",
    "vila_tomas2026",
    tests,
    DisplayOptions,
    readouts=("l2",),
)

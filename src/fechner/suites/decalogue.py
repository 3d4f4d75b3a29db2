"""Ten properties of the path from retina to V1 (Vila-Tomás et al. 2026).

Nine tests: chromatic and achromatic sensitivity (properties 3 and 4) and contrast responses with
their order over frequency (6 and 7) are measured together, brightness and colour (2) apart. In
``published`` mode the order of curves is the pooled rank correlation of the paper, in which ties of
the ideal order are broken by chance, and brightness is CIEDE2000; the default counts pairs of
curves that have an order, and takes lightness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
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
from fechner.experiments.curves import CurveTask
from fechner.human import spectral_fields
from fechner.scores import CurveAgreement, CurvePanels
from fechner.scores.curve_checks import (
    ATTENUATES,
    BAND_PASS,
    CRISPENS,
    LOW_PASS,
    OPPONENT,
    ORDERED,
    PEAKS_AT_ADAPTOR,
    SATURATES,
    SATURATES_BOTH_SIDES,
    Check,
)
from fechner.stimuli import ATD, Display, Field, OpponentSpace, display
from fechner.stimuli.colour import as_triple
from fechner.suites.grids import spaced
from fechner.suites.suite import Options, Suite, Test


def _steps(first: float, last: float, n: int) -> tuple[float, ...]:
    return tuple(float(value) for value in np.linspace(first, last, n))


_SCENE = Scene(Field(128, 128, 64.0), display("decalogue"), ATD, whole=True)

_CHANNELS = ("ach", "rg", "yb")
_FREQUENCIES = spaced(1, 24, 12)
_CONTRASTS = _steps(0.03, 0.3, 10)
_TESTED_CPD = (1.5, 3.0, 6.0, 12.0, 24.0)
_MASKED_CPD = {"low": 3.0, "high": 12.0}
_ADAPTORS_CPD = (3.0, 6.0, 12.0)

#: Contrast of adaptors, and of masks of another frequency or orientation.
_MASK = 0.2

#: A test without a mask lies above all others, which are ordered by octaves or degrees apart.
_NO_MASK = 1000.0


_BRIGHTNESS = Brightness(_steps(0.5, 120, 20), _steps(1, 160, 5))
_COLOUR = Colour(_steps(-20, 20, 15), (-150 / 7, -60 / 7, 0.0, 60 / 7, 150 / 7))
_SENSITIVITY = NoiseCurves(
    "frequency_cpd", _FREQUENCIES, tuple(Condition(channel) for channel in _CHANNELS)
)
_ADAPTATION = NoiseCurves(
    "frequency_cpd",
    _FREQUENCIES,
    (
        Condition(label="not adapted"),
        *(
            Condition(
                mask_frequency_cpd=cpd,
                mask_contrast=_MASK,
                label=f"adapted to {cpd:g} cpd",
                level=cpd,
            )
            for cpd in _ADAPTORS_CPD
        ),
    ),
)
_CONTRAST = NoiseCurves(
    "contrast",
    _CONTRASTS,
    tuple(
        Condition(channel, cpd, label=f"{cpd:g} cpd", level=cpd, group=channel)
        for channel in _CHANNELS
        for cpd in _TESTED_CPD
    ),
    seeds=5,
)
_ENERGY = NoiseCurves(
    "contrast",
    _CONTRASTS,
    tuple(
        Condition(
            frequency_cpd=cpd,
            mask_frequency_cpd=cpd,
            mask_contrast=mask,
            label=f"mask {mask:g}" if mask else "no mask",
            level=mask,
            group=group,
            place=-mask,
            known=not mask,
        )
        for group, cpd in _MASKED_CPD.items()
        for mask in (0.0, 0.075, 0.15, 0.225, 0.3)
    ),
    seeds=5,
)
_FREQUENCY = NoiseCurves(
    "contrast",
    _CONTRASTS,
    tuple(
        Condition(
            frequency_cpd=cpd,
            mask_frequency_cpd=mask,
            mask_contrast=_MASK if mask else 0.0,
            label=f"mask {mask:g} cpd" if mask else "no mask",
            level=mask,
            group=group,
            # The nearer in frequency, the lower; rounded, so that octaves to both sides are tied.
            place=round(abs(math.log2(cpd / mask)), 6) if mask else _NO_MASK,
            known=not mask,
        )
        for group, cpd in _MASKED_CPD.items()
        for mask in (0.0, *_TESTED_CPD)
    ),
    seeds=5,
)
_ORIENTATION = NoiseCurves(
    "contrast",
    _CONTRASTS,
    tuple(
        Condition(
            frequency_cpd=cpd,
            mask_frequency_cpd=cpd,
            mask_contrast=0.0 if angle is None else _MASK,
            mask_angle_deg=angle or 0.0,
            label="no mask" if angle is None else f"mask at {angle:g} deg",
            level=-1.0 if angle is None else angle,
            group=group,
            place=_NO_MASK if angle is None else min(angle, 180 - angle),
            known=angle is None,
        )
        for group, cpd in _MASKED_CPD.items()
        for angle in (None, *(22.5 * step for step in range(8)))
    ),
    seeds=5,
)

#: What people look at: Figures 5 to 8 of the paper, in equal steps.
_BRIGHTNESS_GALLERY = replace(_BRIGHTNESS, abscissae=_steps(0.5, 120, 8))
_COLOUR_GALLERY = replace(_COLOUR, abscissae=_steps(-20, 20, 9))
_ENERGY_GALLERY = NoiseCurves(
    "contrast",
    _steps(0, 0.3, 7),
    tuple(
        Condition(
            frequency_cpd=4.0,
            mask_frequency_cpd=4.0,
            mask_contrast=mask,
            label=f"mask {mask:g}" if mask else "no mask",
        )
        for mask in _steps(0, 0.25, 6)
    ),
    luminance_cdm2=50.0,
    seeds=1,
    # Of the first draws, the one whose test and mask are least alike.
    seed=8,
    size_deg=1.0,
)
_ORIENTATION_GALLERY = NoiseCurves(
    "contrast",
    _steps(0, 0.3, 7),
    tuple(
        Condition(
            frequency_cpd=6.0,
            mask_frequency_cpd=6.0,
            mask_contrast=_MASK,
            mask_angle_deg=angle,
            label=f"mask at {angle:g} deg",
        )
        for angle in _steps(90, -90, 7)
    ),
    luminance_cdm2=50.0,
    seeds=1,
    size_deg=1.5,
    orientation_deg=90.0,
    test="gabor",
)


class _Row(NamedTuple):
    """A test: its task, what is asked of its curves in words, and how they are shown."""

    id: str
    title: str
    task: CurveTask
    checks: tuple[Check, ...]
    panels: CurvePanels = CurvePanels()
    gallery: CurveTask | None = None
    space: OpponentSpace = ATD
    published: Mapping[str, Any] = MappingProxyType({})


@lru_cache
def _spectral(screen: Display) -> SpectralSensitivity:
    """Return the test whose colours are as pure as a display can show them."""
    return SpectralSensitivity(spectral_fields(screen))


def _rows(screen: Display) -> tuple[_Row, ...]:
    """Return the tests as they are shown on a display."""
    return (
        _Row("spectral", "Spectral sensitivities (property 1)", _spectral(screen), (OPPONENT,)),
        _Row(
            "brightness",
            "Brightness: saturation and crispening (property 2)",
            _BRIGHTNESS,
            (SATURATES, CRISPENS, ORDERED),
            gallery=_BRIGHTNESS_GALLERY,
            # Its white: no other grey can be shown as bright as tests of brightness are.
            space=replace(ATD, white_xyz=as_triple(np.sum(screen.rgb_to_xyz, axis=1))),
            published={"formula": "ciede2000"},
        ),
        _Row(
            "colour",
            "Colour: saturation and adaptation (property 2)",
            _COLOUR,
            (SATURATES_BOTH_SIDES, ORDERED),
            gallery=_COLOUR_GALLERY,
        ),
        _Row(
            "sensitivity",
            "Contrast sensitivity, achromatic and chromatic (properties 3 and 4)",
            _SENSITIVITY,
            (BAND_PASS, LOW_PASS),
            CurvePanels(log=True),
        ),
        _Row(
            "adaptation",
            "Receptive fields by adaptation (property 5)",
            _ADAPTATION,
            (PEAKS_AT_ADAPTOR,),
            CurvePanels(elevation=True),
        ),
        _Row(
            "contrast",
            "Contrast responses over frequency (properties 6 and 7)",
            _CONTRAST,
            (SATURATES, ORDERED),
        ),
        _Row(
            "masking-energy",
            "Masking by contrast (property 8)",
            _ENERGY,
            (ATTENUATES, ORDERED),
            gallery=_ENERGY_GALLERY,
        ),
        _Row(
            "masking-frequency",
            "Masking by frequency (property 9)",
            _FREQUENCY,
            (ATTENUATES, ORDERED),
        ),
        _Row(
            "masking-orientation",
            "Masking by orientation (property 10)",
            _ORIENTATION,
            (ATTENUATES, ORDERED),
            gallery=_ORIENTATION_GALLERY,
        ),
    )


def tests(options: Options) -> list[Test]:
    """Return the nine tests."""
    published = options.mode == "published"
    scene = options.shown_in(_SCENE)
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
            replace(scene, space=row.space),
        )
        scorer = CurveAgreement(
            "pooled" if published else "concordance", row.panels.elevation, row.checks
        )
        gallery = replace(experiment, task=row.gallery) if row.gallery else None
        found.append(Test(experiment, scorer, row.panels, gallery=gallery))
    return found


SUITE = Suite(
    "decalogue",
    "Ten properties of the path from retina to V1",
    "vila_tomas2026",
    tests,
    readouts=("l2",),
    takes=frozenset({"display"}),
)

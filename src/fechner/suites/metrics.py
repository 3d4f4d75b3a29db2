"""Eleven tests for image and video quality metrics (Hammou et al. 2025).

``published`` mode rebuilds the stimuli and scores behind the published numbers; the default mode is
the same protocol with what was wrong put right: pixel-centre coordinates, contrasts that are what
they say, one display for all tests, points that cannot be shown left out, noise drawn afresh at
every abscissa, flicker at a rate that can show it, and alignment with its sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from dataclasses import field as made_by
from functools import partial
from typing import Any

import numpy as np

from fechner.experiments import ColourMatching, Detection
from fechner.experiments.base import Scene
from fechner.human import DATASETS, CastleCSF, ElaTCSF, masking_thresholds
from fechner.scores import (
    Alignment,
    ColourMatchingError,
    MatchingError,
    colour_matching_panels,
    matching_panels,
)
from fechner.stimuli import (
    OPPONENT,
    OPPONENT_HAMMOU2025,
    Disk,
    Field,
    Gabor,
    Grating,
    Noise,
    OctaveNoise,
    display,
)
from fechner.suites.base import Suite, Test
from fechner.suites.encoders import (
    COHERENT_MASKING,
    CONTRASTS,
    FREQUENCIES,
    INCOHERENT_MASKING,
    MASKS,
    frequency_matching,
    near_threshold,
)
from fechner.suites.options import MatchOptions, spaced

_WIDE = Field(1920, 1080, 60.0)
_SMALL = Field(256, 256, 60.0)


@dataclass(frozen=True)
class _Row:
    """A test near threshold, and what the published protocol has otherwise.

    Parameters
    ----------
    published, published_field
        Other parameters of the task, and of the field; None for tests that were not published.
    published_peak_cdm2
        Peak of the display.
    """

    id: str
    title: str
    task: Detection
    field: Field
    published: dict[str, Any] | None = made_by(default_factory=dict)
    published_field: dict[str, Any] = made_by(default_factory=dict)
    published_peak_cdm2: float = 100.0


_IN_AMPLITUDE = {"human": CastleCSF("amplitude")}


def _over_frequency(
    name: str, title: str, field: Field, published: dict[str, Any] | None, **task: Any
) -> _Row:
    parameters = {
        "contrasts": CONTRASTS,
        "pattern": Gabor(2.0, sigma_deg=2.0),
        "luminance_cdm2": 21.4,
    }
    detection = Detection("frequency_cpd", FREQUENCIES, **{**parameters, **task})
    title = f"Detection over frequency, {title}"
    return _Row(f"frequency-{name}", title, detection, replace(field, ppd=66.0), published)


_gabors = partial(_over_frequency, field=_WIDE, published=_IN_AMPLITUDE)
_noise = partial(_over_frequency, field=_SMALL, published=None, pattern=OctaveNoise(2.0))

_ROWS = (
    _gabors("ach", "Gabor, achromatic"),
    _gabors("rg", "Gabor, red-green", contrasts=spaced(0.001, 0.12, 20), direction="rg"),
    _gabors("yv", "Gabor, yellow-violet", contrasts=spaced(0.01, 0.8, 20), direction="yv"),
    replace(
        _gabors("transient", "Gabor reversing at 8 Hz", flicker_hz=8.0),
        # Large enough for the window: the published field cuts off 31 % of its energy.
        field=Field(384, 384, 66.0, frames=60, fps=60.0),
        published_field={"width_px": 256, "height_px": 256},
    ),
    _Row(
        "luminance",
        "Detection over luminance",
        Detection("luminance_cdm2", spaced(0.1, 90, 20), CONTRASTS, Gabor(2.0, sigma_deg=2.0)),
        _WIDE,
        published=_IN_AMPLITUDE,
    ),
    _Row(
        "area",
        "Detection over area",
        Detection(
            "area_deg2",
            spaced(math.pi * 0.25**2, math.pi * 8.0**2, 20),
            CONTRASTS,
            luminance_cdm2=21.4,
        ),
        _WIDE,
        published=_IN_AMPLITUDE,
    ),
    _Row(
        "masking-coherent",
        "Masking by a grating of the same phase",
        COHERENT_MASKING,
        replace(_SMALL, width_px=420, height_px=300),
        published={
            "human": masking_thresholds("foley1994", scored_at=MASKS),
            "mask": Grating(2.0, phase_deg=90.0, in_float32=True),
        },
        published_peak_cdm2=150.0,
    ),
    _Row(
        "masking-incoherent",
        "Masking by noise",
        INCOHERENT_MASKING,
        replace(_SMALL, width_px=300, height_px=300),
        published={
            # A cosine from the left edge of the field, three cycles from its centre.
            "pattern": Gabor(1.2, sigma_deg=0.8, phase_deg=90.0),
            "human": masking_thresholds("gegenfurtner_kiper1992", scored_at=MASKS),
            "mask": Noise(0.0, 12.0, seed=2, generator="torch", keep_mean=True, halve_edge=True),
            "one_draw": True,
        },
        published_peak_cdm2=173.0,
    ),
    _Row(
        "flicker",
        "Detection of flicker over temporal frequency",
        Detection(
            "flicker_hz",
            spaced(1, 50, 20),
            CONTRASTS,
            Disk(2.0),
            ElaTCSF(),
            luminance_cdm2=21.4,
            flicker_phase_deg=0.0,
        ),
        replace(_SMALL, frames=240, fps=240.0),
        published={"values": tuple(np.linspace(0, 60, 21).tolist())},
        published_field={"frames": 120, "fps": 120.0},
    ),
    _noise("noise", "noise, achromatic"),
    _noise("noise-rg", "noise, red-green", contrasts=spaced(0.0005, 0.06, 20), direction="rg"),
    _noise("noise-yv", "noise, yellow-violet", contrasts=spaced(0.005, 0.35, 20), direction="yv"),
)


def tests(options: MatchOptions) -> list[Test]:
    """Return the eleven tests, and four that were not published."""
    published = options.published

    def scene(field: Field, changes: dict[str, Any], peak_cdm2: float) -> Scene:
        if not published:
            return options.shown_in(Scene(field, display("metrics"), OPPONENT))
        shown = display("metrics-published")
        shown = replace(shown, peak_cdm2=peak_cdm2, black_cdm2=peak_cdm2 / 1000)
        field = replace(field, coordinates="endpoints", **changes)
        return options.shown_in(Scene(field, shown, OPPONENT_HAMMOU2025))

    found = []
    for row in _ROWS:
        shown = scene(row.field, row.published_field, row.published_peak_cdm2)
        scorer = Alignment(absolute=published)
        found.append(
            near_threshold(row.id, row.title, row.task, row.published, shown, scorer, options)
        )
    gratings, noise = frequency_matching(scene(replace(_SMALL, ppd=50.0), {}, 46.72), options)
    match_error = MatchingError(
        DATASETS[gratings.reference].uncertainty_db, main="matching-error-pooled", gaps=published
    )
    colours = ColourMatching(
        "matching-colour",
        "Matching contrast across colour directions",
        "switkes_crognale1999",
        scene(_SMALL, {}, 100.0),
        spaced(0.01, 0.2, 10),
        # From the upper edge of the field, downwards; the sine of 0 there counted as negative.
        phase_deg=180.0 - 180.0 * _SMALL.height_deg + 1e-6 if published else 0.0,
        levels=0 if published else 33,
        drop=not published,
    )
    colour_error = ColourMatchingError(
        DATASETS[colours.reference].uncertainty_db,
        main="colour-matching-error" if published else "colour-matching-error-db",
    )
    found += [
        Test(gratings, match_error, partial(matching_panels, gaps=published)),
        Test(noise, match_error, matching_panels, by_default=False),
        Test(colours, colour_error, colour_matching_panels),
    ]
    return [test for test in found if test.by_default or not published]


SUITE = Suite(
    "metrics",
    "Eleven tests for image and video quality metrics",
    "hammou2025",
    tests,
    MatchOptions,
)

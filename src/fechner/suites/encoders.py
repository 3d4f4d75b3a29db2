"""Nine contrast tests for image encoders (Cai et al. 2025, CVPR).

``published`` mode rebuilds the stimuli and scores behind the published numbers; the default mode is
the same protocol with what was wrong put right: pixel-centre coordinates, contrasts that are what
they say, human thresholds in the unit of the stimuli, points that cannot be shown left out, noise
drawn afresh at every abscissa.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from fechner.experiments import Detection, FrequencyMatching, Masking, NearThreshold
from fechner.experiments.base import Scene
from fechner.human import DATASETS, CastleCSF, masking_thresholds
from fechner.scores import Alignment, MatchingError, matching_panels, threshold_panels
from fechner.stimuli import (
    OPPONENT,
    OPPONENT_CAI2025,
    Field,
    Gabor,
    Grating,
    Noise,
    OctaveNoise,
    display,
)
from fechner.suites.base import Suite, Test
from fechner.suites.options import MatchOptions, spaced

_FREQUENCIES = spaced(0.5, 32, 20)
_CONTRASTS = spaced(0.001, 1, 20)
_MASKS, _MASKED = spaced(0.005, 0.5, 20), spaced(0.01, 0.5, 20)

_SCENE = Scene(Field(224, 224, 60.0), display("encoders"), OPPONENT)
_DISPLAY_PUBLISHED = display("encoders-published")
_SCENE_PUBLISHED = Scene(
    Field(224, 224, 60.0, coordinates="endpoints"),
    _DISPLAY_PUBLISHED,
    OPPONENT_CAI2025,
    resize=True,
)
#: In the authors' code only Gabors on a uniform field follow the opponent axes. Noise, masking and
#: matching change R, G and B by the same amount.
_SCENE_PUBLISHED_GREY = replace(
    _SCENE_PUBLISHED, space=replace(OPPONENT, white_xyz=_DISPLAY_PUBLISHED.white_xyz)
)


class _Row(NamedTuple):
    """A test near threshold: its task, and what the published protocol has otherwise.

    Tests that were not published have nothing there, and are run only if named.
    """

    id: str
    title: str
    task: Detection
    published: dict[str, Any] | None
    published_scene: Scene = _SCENE_PUBLISHED


_DETECTION = (
    _Row(
        "frequency-ach",
        "Detection over frequency, Gabor, achromatic",
        Detection("frequency_cpd", _FREQUENCIES, _CONTRASTS),
        {},
    ),
    _Row(
        "frequency-noise",
        "Detection over frequency, noise, achromatic",
        Detection("frequency_cpd", _FREQUENCIES, _CONTRASTS, OctaveNoise(2.0)),
        {
            "pattern": OctaveNoise(2.0, seed=8, generator="numpy-legacy"),
            "human": CastleCSF("cone", area_deg2=4 * math.pi),
        },
        _SCENE_PUBLISHED_GREY,
    ),
    _Row(
        "frequency-rg",
        "Detection over frequency, Gabor, red-green",
        Detection("frequency_cpd", _FREQUENCIES, spaced(0.001, 0.12, 20), direction="rg"),
        {},
    ),
    _Row(
        "frequency-yv",
        "Detection over frequency, Gabor, yellow-violet",
        Detection("frequency_cpd", _FREQUENCIES, spaced(0.001, 0.8, 20), direction="yv"),
        {"scored_below": 16.0},
    ),
    _Row(
        "frequency-noise-rg",
        "Detection over frequency, noise, red-green",
        Detection(
            "frequency_cpd",
            _FREQUENCIES,
            spaced(0.0005, 0.06, 20),
            OctaveNoise(2.0),
            direction="rg",
        ),
        None,
    ),
    _Row(
        "frequency-noise-yv",
        "Detection over frequency, noise, yellow-violet",
        Detection(
            "frequency_cpd",
            _FREQUENCIES,
            spaced(0.005, 0.35, 20),
            OctaveNoise(2.0),
            direction="yv",
        ),
        None,
    ),
    _Row(
        "luminance",
        "Detection over luminance",
        Detection("luminance_cdm2", spaced(0.1, 200, 20), _CONTRASTS, Gabor(2.0, sigma_deg=1.0)),
        {},
    ),
    _Row(
        "area",
        "Detection over area",
        Detection(
            "area_deg2",
            spaced(math.pi * 0.1**2, math.pi, 20),
            _CONTRASTS,
            Gabor(8.0, sigma_deg=1.0),
        ),
        {},
    ),
)


#: Between these contrasts of the mask the published protocol compares with people.
_PUBLISHED_MASKS = (0.005, 0.25)


def _cosine_from_left_deg(frequency_cpd: float) -> float:
    """Return the phase at the centre of a cosine from the left edge of the published field."""
    return 90.0 + 360.0 * frequency_cpd * _SCENE_PUBLISHED.field.width_deg / 2


_MASKING = (
    _Row(
        "masking-coherent",
        "Masking by a grating of the same phase",
        Masking(
            "mask_contrast",
            _MASKS,
            _MASKED,
            Gabor(2.0, sigma_deg=0.5, phase_deg=90.0),
            masking_thresholds("foley1994"),
            luminance_cdm2=32.0,
            mask=Grating(2.0, phase_deg=90.0),
        ),
        {
            "pattern": Gabor(2.0, sigma_deg=0.5, phase_deg=_cosine_from_left_deg(2.0)),
            "human": masking_thresholds("foley1994", scored=_PUBLISHED_MASKS),
            "mask": Grating(2.0, phase_deg=_cosine_from_left_deg(2.0)),
        },
        _SCENE_PUBLISHED_GREY,
    ),
    _Row(
        "masking-incoherent",
        "Masking by noise",
        Masking(
            "mask_contrast",
            _MASKS,
            _MASKED,
            Gabor(1.2, sigma_deg=0.8),
            masking_thresholds("gegenfurtner_kiper1992"),
            luminance_cdm2=37.0,
            mask=Noise(0.0, 12.0),
        ),
        {
            "pattern": Gabor(1.2, sigma_deg=0.8, phase_deg=_cosine_from_left_deg(1.2)),
            "human": masking_thresholds("gegenfurtner_kiper1992", scored=_PUBLISHED_MASKS),
            "mask": Noise(0.0, 12.0, seed=8, generator="numpy-legacy", keep_mean=True),
        },
        _SCENE_PUBLISHED_GREY,
    ),
)

#: What the published protocol has otherwise in all tests.
_PUBLISHED: dict[str, Any] = {"human": CastleCSF("cone"), "one_draw": True}


def tests(options: MatchOptions) -> list[Test]:
    """Return the nine tests, and three that were not published."""
    published = options.published

    def scene(published_scene: Scene) -> Scene:
        return options.shown_in(published_scene if published else _SCENE)

    def near_threshold(row: _Row) -> Test:
        experiment = NearThreshold(
            row.id,
            row.title,
            replace(row.task, **{**_PUBLISHED, **(row.published or {})})
            if published
            else row.task.with_seed(options.seed),
            scene(row.published_scene),
            drop=not published,
        )
        by_default = row.published is not None
        return Test(experiment, Alignment(), threshold_panels, by_default=by_default)

    matching = FrequencyMatching(
        "matching-frequency",
        "Matching contrast across frequency",
        "georgeson_sullivan1975",
        "georgeson_sullivan1975",
        scene(_SCENE_PUBLISHED_GREY),
        spaced(0.001, 1, 33),
        by=options.match,
        drop=not published,
    )
    noise_matching = replace(
        matching,
        id="matching-frequency-noise",
        title="Matching contrast of noise across frequency",
        pattern=OctaveNoise(5.0, seed=options.seed),
    )
    match_error = MatchingError(DATASETS[matching.reference].uncertainty_db)
    every = [
        *map(near_threshold, (*_DETECTION, *_MASKING)),
        Test(matching, match_error, matching_panels),
        Test(noise_matching, match_error, matching_panels, by_default=False),
    ]
    return [test for test in every if test.by_default or not published]


SUITE = Suite(
    "encoders",
    "Nine contrast tests for image encoders",
    "cai2025",
    tests,
    MatchOptions,
)

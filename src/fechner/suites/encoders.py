"""Nine contrast tests for image encoders (Cai et al. 2025, CVPR).

``published`` mode rebuilds the stimuli and scores behind the published numbers; the default mode is
the same protocol with what was wrong put right: pixel-centre coordinates, contrasts that are what
they say, human thresholds in the unit of the stimuli, points that cannot be shown left out, noise
drawn afresh at every abscissa.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from fechner.experiments import Detection, FrequencyMatching, Masking, NearThreshold
from fechner.experiments.base import Scene
from fechner.human import DATASETS, CastleCSF, masking_thresholds
from fechner.scores import Alignment, MatchingError, matching_panels, threshold_panels
from fechner.scores.score import Scorer
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
from fechner.suites.options import MatchOptions, Options, spaced

FREQUENCIES = spaced(0.5, 32, 20)
CONTRASTS = spaced(0.001, 1, 20)
MASKS = spaced(0.005, 0.5, 20)

COHERENT_MASKING = Masking(
    "mask_contrast",
    MASKS,
    MASKS,
    Gabor(2.0, sigma_deg=0.5, phase_deg=90.0),
    masking_thresholds("foley1994"),
    luminance_cdm2=32.0,
    mask=Grating(2.0, phase_deg=90.0),
)
INCOHERENT_MASKING = Masking(
    "mask_contrast",
    MASKS,
    MASKS,
    Gabor(1.2, sigma_deg=0.8),
    masking_thresholds("gegenfurtner_kiper1992"),
    luminance_cdm2=37.0,
    mask=Noise(0.0, 12.0),
)


def near_threshold(
    id: str,
    title: str,
    task: Detection,
    published: Mapping[str, Any] | None,
    scene: Scene,
    scorer: Scorer,
    options: Options,
) -> Test:
    """Return a test near threshold.

    Parameters
    ----------
    published
        What the published protocol has otherwise; None for a test that was not published, which is
        run only if named.
    """
    own = replace(task, **published or {}) if options.published else task.with_seed(options.seed)
    experiment = NearThreshold(id, title, own, scene, drop=not options.published)
    return Test(experiment, scorer, threshold_panels, by_default=published is not None)


def frequency_matching(scene: Scene, options: MatchOptions) -> tuple[FrequencyMatching, ...]:
    """Return matching across frequency, of gratings and of noise, which was not published."""
    gratings = FrequencyMatching(
        "matching-frequency",
        "Matching contrast across frequency",
        "georgeson_sullivan1975",
        "georgeson_sullivan1975",
        scene,
        spaced(0.001, 1, 33),
        by=options.match,
        drop=not options.published,
    )
    noise = replace(
        gratings,
        id="matching-frequency-noise",
        title="Matching contrast of noise across frequency",
        pattern=OctaveNoise(5.0, seed=options.seed),
    )
    return gratings, noise


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
    """A test near threshold: its task, and what the published protocol has otherwise."""

    id: str
    title: str
    task: Detection
    published: dict[str, Any] | None
    published_scene: Scene = _SCENE_PUBLISHED


def _over_frequency(
    name: str,
    title: str,
    contrasts: tuple[float, ...] = CONTRASTS,
    published: dict[str, Any] | None = None,
    published_scene: Scene = _SCENE_PUBLISHED,
    **task: Any,
) -> _Row:
    return _Row(
        f"frequency-{name}",
        f"Detection over frequency, {title}",
        Detection("frequency_cpd", FREQUENCIES, contrasts, **task),
        published,
        published_scene,
    )


def _cosine_from_left_deg(frequency_cpd: float) -> float:
    """Return the phase at the centre of a cosine from the left edge of the published field."""
    return 90.0 + 360.0 * frequency_cpd * _SCENE_PUBLISHED.field.width_deg / 2


_NOISE = OctaveNoise(2.0)
_AREAS = spaced(math.pi * 0.1**2, math.pi, 20)
_MASKED = spaced(0.01, 0.5, 20)
#: Between these contrasts of the mask the published protocol compares with people.
_PUBLISHED_MASKS = (0.005, 0.25)

_ROWS = (
    _over_frequency("ach", "Gabor, achromatic", published={}),
    _over_frequency(
        "noise",
        "noise, achromatic",
        published={
            "pattern": OctaveNoise(2.0, seed=8, generator="numpy-legacy"),
            "human": CastleCSF("cone", area_deg2=4 * math.pi),
        },
        published_scene=_SCENE_PUBLISHED_GREY,
        pattern=_NOISE,
    ),
    _over_frequency(
        "rg", "Gabor, red-green", spaced(0.001, 0.12, 20), published={}, direction="rg"
    ),
    _over_frequency(
        "yv",
        "Gabor, yellow-violet",
        spaced(0.001, 0.8, 20),
        published={"scored_below": 16.0},
        direction="yv",
    ),
    _over_frequency(
        "noise-rg", "noise, red-green", spaced(0.0005, 0.06, 20), pattern=_NOISE, direction="rg"
    ),
    _over_frequency(
        "noise-yv", "noise, yellow-violet", spaced(0.005, 0.35, 20), pattern=_NOISE, direction="yv"
    ),
    _Row(
        "luminance",
        "Detection over luminance",
        Detection("luminance_cdm2", spaced(0.1, 200, 20), CONTRASTS, Gabor(2.0, sigma_deg=1.0)),
        {},
    ),
    _Row(
        "area",
        "Detection over area",
        Detection("area_deg2", _AREAS, CONTRASTS, Gabor(8.0, sigma_deg=1.0)),
        {},
    ),
    _Row(
        "masking-coherent",
        "Masking by a grating of the same phase",
        replace(COHERENT_MASKING, contrasts=_MASKED),
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
        replace(INCOHERENT_MASKING, contrasts=_MASKED),
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

    def scene(published: Scene) -> Scene:
        return options.shown_in(published if options.published else _SCENE)

    found = []
    for row in _ROWS:
        published = None if row.published is None else {**_PUBLISHED, **row.published}
        shown = scene(row.published_scene)
        found.append(
            near_threshold(row.id, row.title, row.task, published, shown, Alignment(), options)
        )
    gratings, noise = frequency_matching(scene(_SCENE_PUBLISHED_GREY), options)
    error = MatchingError(DATASETS[gratings.reference].uncertainty_db)
    found += [
        Test(gratings, error, matching_panels),
        Test(noise, error, matching_panels, by_default=False),
    ]
    return [test for test in found if test.by_default or not options.published]


SUITE = Suite(
    "encoders",
    "Nine contrast tests for image encoders",
    "cai2025",
    tests,
    MatchOptions,
)

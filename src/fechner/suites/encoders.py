"""Nine contrast tests for image encoders (Cai et al. 2025, CVPR).

``published`` mode rebuilds the stimuli and scores behind the published numbers; the default mode is
the same protocol with what was wrong put right: pixel-centre coordinates, contrasts that are what
they say, human thresholds in the unit of the stimuli, points that cannot be shown left out, noise
drawn afresh at every abscissa.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from fechner.experiments import Detection, FrequencyMatching, Masking, NearThreshold
from fechner.experiments.base import Scene
from fechner.human import DATASETS
from fechner.scores import Alignment, MatchingError, matching_panels, threshold_panels
from fechner.stimuli import OPPONENT, OPPONENT_CAI2025, Field, display
from fechner.suites.base import Suite, Test
from fechner.suites.common import CSF_ERROR_DB, RATIOS, MatchOptions, spaced

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

AnyTask = TypeVar("AnyTask", Detection, Masking)


class _Row(NamedTuple, Generic[AnyTask]):
    """A test near threshold: its task, and what the published protocol has otherwise.

    Tests that were not published have nothing there, and are run only if named.
    """

    id: str
    title: str
    task: AnyTask
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
        Detection("frequency_cpd", _FREQUENCIES, _CONTRASTS, pattern="noise"),
        {"human_area_deg2": 4 * math.pi},
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
            "frequency_cpd", _FREQUENCIES, spaced(0.0005, 0.06, 20), pattern="noise", direction="rg"
        ),
        None,
    ),
    _Row(
        "frequency-noise-yv",
        "Detection over frequency, noise, yellow-violet",
        Detection(
            "frequency_cpd", _FREQUENCIES, spaced(0.005, 0.35, 20), pattern="noise", direction="yv"
        ),
        None,
    ),
    _Row(
        "luminance",
        "Detection over luminance",
        Detection("luminance_cdm2", spaced(0.1, 200, 20), _CONTRASTS, frequency_cpd=2.0),
        {},
    ),
    _Row(
        "area",
        "Detection over area",
        Detection(
            "area_deg2", spaced(math.pi * 0.1**2, math.pi, 20), _CONTRASTS, frequency_cpd=8.0
        ),
        {},
    ),
)


def _cosine_from_left_deg(frequency_cpd: float) -> float:
    """Return the phase at the centre of a cosine from the left edge of the published field."""
    return 90.0 + 360.0 * frequency_cpd * _SCENE_PUBLISHED.field.width_deg / 2


_MASKING = (
    _Row(
        "masking-coherent",
        "Masking by a grating of the same phase",
        Masking(
            "foley1994",
            _MASKS,
            _MASKED,
            frequency_cpd=2.0,
            sigma_deg=0.5,
            luminance_cdm2=32.0,
            phase_deg=90.0,
        ),
        {"phase_deg": _cosine_from_left_deg(2.0)},
        _SCENE_PUBLISHED_GREY,
    ),
    _Row(
        "masking-incoherent",
        "Masking by noise",
        Masking(
            "gegenfurtner_kiper1992",
            _MASKS,
            _MASKED,
            frequency_cpd=1.2,
            sigma_deg=0.8,
            luminance_cdm2=37.0,
            noise_mask_cpd=12.0,
        ),
        {"phase_deg": _cosine_from_left_deg(1.2)},
        _SCENE_PUBLISHED_GREY,
    ),
)

#: What the published protocol has otherwise in all tests of a kind.
_PUBLISHED_NOISE: dict[str, Any] = {
    "noise_seed": 8,
    "noise_generator": "numpy-legacy",
    "one_draw": True,
}
_PUBLISHED_DETECTION = {**_PUBLISHED_NOISE, "human_unit": "cone"}
_PUBLISHED_MASKING = {**_PUBLISHED_NOISE, "noise_keeps_mean": True, "scored": (0.005, 0.25)}


def tests(options: MatchOptions) -> list[Test]:
    """Return the nine tests, and three that were not published."""
    published = options.published

    def scene(published_scene: Scene) -> Scene:
        return options.shown_in(published_scene if published else _SCENE)

    def near_threshold(
        row: _Row[AnyTask], human: str, error_db: float, changes: dict[str, Any]
    ) -> Test:
        own = {**changes, **(row.published or {})} if published else {"noise_seed": options.seed}
        experiment = NearThreshold(
            row.id,
            row.title,
            human,
            replace(row.task, **own),
            scene(row.published_scene),
            RATIOS,
            drop=not published,
        )
        by_default = row.published is not None
        return Test(experiment, Alignment(error_db), threshold_panels, by_default=by_default)

    def masked(row: _Row[Masking]) -> Test:
        data = row.task.data
        return near_threshold(row, data, DATASETS[data].uncertainty_db, _PUBLISHED_MASKING)

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
        pattern="noise",
        noise_seed=options.seed,
    )
    match_error = MatchingError(DATASETS[matching.reference].uncertainty_db)
    every = [
        *(near_threshold(r, "ashraf2024", CSF_ERROR_DB, _PUBLISHED_DETECTION) for r in _DETECTION),
        *map(masked, _MASKING),
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

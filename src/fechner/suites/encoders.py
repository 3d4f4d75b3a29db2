"""Nine contrast tests for image encoders (Cai et al. 2025, CVPR).

``published`` mode rebuilds the stimuli and scores behind the published numbers; the default mode is
the same protocol with what was wrong put right: pixel-centre coordinates, contrasts that are what
they say, human thresholds in the unit of the stimuli, points that cannot be shown left out, noise
drawn afresh at every abscissa.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fechner.experiments import Detection, Experiment, FrequencyMatching, Masking, NearThreshold
from fechner.experiments.base import Scene
from fechner.scores import Alignment, matching_error
from fechner.stimuli import OPPONENT, OPPONENT_CAI2025, Field, display
from fechner.suites.suite import Options, Suite, Test

#: Standard deviation of castleCSF against the studies behind it, and of digitised points.
_CSF_ERROR_DB, _DIGITISED_ERROR_DB = 4.0, 0.5


def _spaced(low: float, high: float, n: int) -> tuple[float, ...]:
    return tuple(float(value) for value in np.geomspace(low, high, n))


_FREQUENCIES = _spaced(0.5, 32, 20)
_CONTRASTS = _spaced(0.001, 1, 20)
_RATIOS = _spaced(0.5, 2, 10)

_SCENE = Scene(Field(224, 224, 60.0), display("encoders"), OPPONENT)
_SCENE_PUBLISHED = Scene(
    Field(224, 224, 60.0, coordinates="endpoints"),
    display("encoders-published"),
    OPPONENT_CAI2025,
    resize=True,
)

_DETECTION: dict[str, tuple[str, Detection]] = {
    "frequency-ach": (
        "Detection over frequency, Gabor, achromatic",
        Detection("frequency_cpd", _FREQUENCIES, _CONTRASTS),
    ),
    "frequency-noise": (
        "Detection over frequency, noise, achromatic",
        Detection("frequency_cpd", _FREQUENCIES, _CONTRASTS, pattern="noise"),
    ),
    "frequency-rg": (
        "Detection over frequency, Gabor, red-green",
        Detection("frequency_cpd", _FREQUENCIES, _spaced(0.001, 0.12, 20), direction="rg"),
    ),
    "frequency-yv": (
        "Detection over frequency, Gabor, yellow-violet",
        Detection("frequency_cpd", _FREQUENCIES, _spaced(0.001, 0.8, 20), direction="yv"),
    ),
    "luminance": (
        "Detection over luminance",
        Detection("luminance_cdm2", _spaced(0.1, 200, 20), _CONTRASTS, frequency_cpd=2.0),
    ),
    "area": (
        "Detection over area",
        Detection(
            "area_deg2",
            _spaced(math.pi * 0.1**2, math.pi, 20),
            _CONTRASTS,
            frequency_cpd=8.0,
        ),
    ),
}

_MASK_CONTRASTS, _MASKED_CONTRASTS = _spaced(0.005, 0.5, 20), _spaced(0.01, 0.5, 20)

_MASKING: dict[str, tuple[str, Masking]] = {
    "masking-coherent": (
        "Masking by a grating of the same phase",
        Masking(
            "foley1994",
            _MASK_CONTRASTS,
            _MASKED_CONTRASTS,
            frequency_cpd=2.0,
            sigma_deg=0.5,
            luminance_cdm2=32.0,
            phase_deg=90.0,
        ),
    ),
    "masking-incoherent": (
        "Masking by noise",
        Masking(
            "gegenfurtner_kiper1992",
            _MASK_CONTRASTS,
            _MASKED_CONTRASTS,
            frequency_cpd=1.2,
            sigma_deg=0.8,
            luminance_cdm2=37.0,
            noise_mask_cpd=12.0,
        ),
    ),
}


def _published_detection(test: str, task: Detection) -> Detection:
    return replace(
        task,
        human_in_own_unit=False,
        human_area_deg2=4 * math.pi if task.pattern == "noise" else None,
        scored_below=16.0 if test == "frequency-yv" else None,
        noise_seed=8,
        noise_generator="numpy-legacy",
        one_draw=True,
    )


def _published_masking(task: Masking) -> Masking:
    published = replace(
        task,
        scored=(0.005, 0.25),
        noise_seed=8,
        noise_generator="numpy-legacy",
        noise_keeps_mean=True,
        one_draw=True,
    )
    if task.noise_mask_cpd is None:
        # The carrier is a cosine from the left edge of the field, not from its centre.
        turns = task.frequency_cpd * _SCENE_PUBLISHED.field.width_deg / 2
        return replace(published, phase_deg=90.0 + 360.0 * turns)
    return published


def tests(options: Options) -> list[Test]:
    """Return the nine tests."""
    published = options.mode == "published"
    scene = _SCENE_PUBLISHED if published else _SCENE
    if options.ppd is not None:
        scene = scene.at_ppd(options.ppd)
    if options.resize is not None:
        scene = replace(scene, resize=options.resize)
    found: list[Test] = []
    for test, (title, detection) in _DETECTION.items():
        task = (
            _published_detection(test, detection)
            if published
            else replace(detection, noise_seed=options.seed)
        )
        experiment: Experiment = NearThreshold(
            test, title, "ashraf2024", task, scene, _RATIOS, drop=not published
        )
        found.append(Test(experiment, Alignment(_CSF_ERROR_DB)))
    for test, (title, masking) in _MASKING.items():
        masked = (
            _published_masking(masking) if published else replace(masking, noise_seed=options.seed)
        )
        experiment = NearThreshold(
            test, title, masking.data, masked, scene, _RATIOS, drop=not published
        )
        found.append(Test(experiment, Alignment(_DIGITISED_ERROR_DB)))
    experiment = FrequencyMatching(
        "matching-frequency",
        "Matching contrast across frequency",
        "georgeson_sullivan1975",
        "georgeson_sullivan1975",
        scene,
        _spaced(0.001, 1, 33),
    )
    found.append(Test(experiment, matching_error))
    return found


SUITE = Suite(
    "encoders",
    "Nine contrast tests for image encoders",
    "cai2025",
    tests,
)

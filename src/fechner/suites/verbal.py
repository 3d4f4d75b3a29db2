"""Contrast sensitivity by asking (Hernández-Cámara et al. 2025).

Noise in a band of one octave is shown at many contrasts, and the observer is asked whether there is
a pattern, in many wordings. ``published`` mode asks about 160 contrasts ten times; the default
chooses contrasts trial by trial and measures what is left of a contrast in a picture of 8 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments import (
    AdaptiveStimuli,
    Asking,
    BandRobustness,
    ConstantStimuli,
    Detection,
)
from fechner.experiments.bands import Kind
from fechner.experiments.base import Scene
from fechner.human import StandardSpatialObserver
from fechner.scores import BandAccuracy, BandPanels, ContrastSensitivity, SensitivityPanels
from fechner.stimuli import OPPONENT, Album, Field, NaturalBand, OctaveNoise, display
from fechner.suites.grids import spaced
from fechner.suites.prompts import PAIRS, chosen_prompts
from fechner.suites.suite import Options, Suite, Test

#: Their "0-32 cpd, logarithmically spaced" cannot begin at 0; at 64 pixels per degree the last band
#: does not fit and is named.
_FREQUENCIES = spaced(0.5, 32, 10)

#: 0 and one every 0.1 decade; and the published ones.
_CONTRASTS = (0.0, *spaced(0.001, 0.8, 30))
_PUBLISHED_CONTRASTS = tuple(float(c) for c in np.linspace(0, 0.8, 160))

_TASK = Detection("frequency_cpd", _FREQUENCIES, _CONTRASTS, OctaveNoise(2.0), luminance_cdm2=40.0)
_SCENE = Scene(Field(256, 256, 64.0), display("verbal"), OPPONENT)
_SCENE_PUBLISHED = replace(_SCENE, display=display("verbal-published"), resize=True)

_TRIALS = 64
_DRAWS = 10

#: Of photographs with a band changed: what is asked, and which other test it is compared with.
_PHOTOGRAPHS: dict[Kind, tuple[str, Kind]] = {
    "suppressed": ("What is shown, with a band suppressed?", "noise"),
    "noise": ("What is shown, with noise in a band?", "suppressed"),
}
#: Ours, since the paper names none; natural pictures have little in most bands to suppress.
_RMSE: dict[Kind, tuple[float, ...]] = {
    "suppressed": (0.02, 0.04, 0.08),
    "noise": (0.04, 0.08, 0.16),
}


def tests(options: Options) -> list[Test]:
    """Return detection by yes or no, of two pictures, and photographs where there are some."""
    published = options.mode == "published"
    asked = options.asked
    scene = options.shown_in(_SCENE_PUBLISHED if published else _SCENE)
    if asked.album is not None and scene.display.is_hdr:
        raise FechnerError(
            f"photographs are no {scene.display.eotf.upper()} files, which display "
            f"'{scene.display.name}' takes: leave --images or --display out."
        )
    if asked.dither:
        scene = replace(scene, display=replace(scene.display, dither=True))
    adaptive = not published if asked.adaptive is None else asked.adaptive
    contrasts = _PUBLISHED_CONTRASTS if published else _CONTRASTS
    task = _TASK
    if asked.stimuli == "photographs" and asked.album is not None:
        task = replace(_TASK, pattern=NaturalBand(2.0, asked.album.photographs))
    prompts = chosen_prompts(asked.prompts)
    scorer = ContrastSensitivity(published=published)

    def asking(test: str, title: str, guess: float | None, **more: Any) -> Test:
        placement = (
            AdaptiveStimuli(contrasts, asked.trials or _TRIALS, asked.width, guess=guess)
            if adaptive
            else ConstantStimuli(contrasts, asked.trials or _DRAWS)
        )
        experiment = Asking(
            test,
            title,
            task,
            scene,
            placement,
            labels=prompts.labels,
            human=StandardSpatialObserver("peak" if published else "rms"),
            seed=options.seed,
            drop=not published,
            **more,
        )
        own = replace(scorer, guess=guess)
        return Test(experiment, own, SensitivityPanels(own))

    two_pictures = asking(
        "detection-2afc", "Which picture shows a pattern?", 0.5, questions=PAIRS, pictures=2
    )
    return [
        asking("detection", "Is there a pattern?", None, questions=prompts.questions),
        *([] if published else [two_pictures]),  # which no paper has
        *(_bands(asked.album, scene, scorer, options.seed) if asked.album is not None else ()),
    ]


def _bands(album: Album, scene: Scene, detection: ContrastSensitivity, seed: int) -> Iterator[Test]:
    """Return the tests that show photographs with a band of frequencies changed."""
    scorer = BandAccuracy(detection)
    for kind, (title, other) in _PHOTOGRAPHS.items():
        experiment = BandRobustness(
            f"bands-{kind}",
            title,
            "hernandez2025",
            scene,
            album,
            _FREQUENCIES[:-1],
            _RMSE[kind],
            kind,
            seed=seed,
        )
        uses = ("detection", f"bands-{other}")
        yield Test(experiment, scorer, BandPanels(scorer), uses=uses)


SUITE = Suite(
    "verbal",
    "Contrast sensitivity by asking",
    "hernandez2025",
    tests,
    takes=frozenset(
        {"adaptive", "trials", "width", "prompts", "dither", "album", "stimuli", "display"}
    ),
    further={f"bands-{kind}": "--images FOLDER" for kind in _PHOTOGRAPHS},
)

"""Contrast sensitivity by asking (Hernández-Cámara et al. 2025).

Noise in a band of one octave is shown at many contrasts, and the observer is asked whether there is
a pattern, in many wordings. ``published`` mode asks about 160 contrasts ten times; the default
chooses contrasts trial by trial and measures what is left of a contrast in a picture of 8 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments import (
    AdaptiveLevels,
    Asking,
    BandRobustness,
    Detection,
    EveryLevel,
)
from fechner.experiments.bands import Kind
from fechner.experiments.base import Scene
from fechner.human import StandardSpatialObserver
from fechner.scores import BandAccuracy, BandPanels, ContrastSensitivity, SensitivityPanels
from fechner.stimuli import (
    OPPONENT,
    Album,
    Field,
    NaturalBand,
    OctaveNoise,
    display,
    open_album,
)
from fechner.suites.base import Suite, Test
from fechner.suites.common import PlacementOptions, spaced
from fechner.suites.options import DisplayOptions, option
from fechner.suites.prompts import PAIRS, chosen_prompts, open_prompts, restored_prompts

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


#: Of photographs so many are shown: a question about each takes a second or a cent.
_PER_CLASS, _MOST_PICTURES = 10, 200


@dataclass(frozen=True, kw_only=True)
class VerbalOptions(PlacementOptions, DisplayOptions):
    """What a user may set in ``verbal``."""

    prompts: Any = option(
        None,
        help="Your own prompts: a file with a question a line, or two labels with | between; in "
        "Python also a list.",
        read=open_prompts,
        restore=restored_prompts,
        text=lambda prompts: f"{len(prompts)} of your own",
    )
    dither: bool = option(
        False, help="Dither pictures of few grey levels, so that faint contrasts survive."
    )
    images: Any = option(
        None,
        help="Folder of photographs, one subfolder a class, or a CSV file with columns path,class.",
        store=lambda album: {**vars(album), "place": album.folder},
        restore=lambda stored: Album.known(stored, stored["place"]),
        text=lambda album: f"{len(album)} photographs",
        words="{}",
    )
    stimuli: Literal["noise", "photographs"] = option(
        "noise", help="What is to be detected: a band of noise, or of the photographs of --images."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stimuli == "photographs" and self.images is None:
            raise FechnerError("bands of photographs are made of some: give --images FOLDER.")

    def opened(self, spool: Path | None = None) -> Self:
        """Return the same with photographs listed."""
        if self.images is None or isinstance(self.images, Album):
            return self
        found = open_album(self.images, per_class=_PER_CLASS, most=_MOST_PICTURES, seed=self.seed)
        return replace(self, images=found)


def tests(options: VerbalOptions) -> list[Test]:
    """Return detection by yes or no, of two pictures, and photographs where there are some."""
    published = options.published
    album = options.images if isinstance(options.images, Album) else None
    scene = options.shown_in(_SCENE_PUBLISHED if published else _SCENE)
    if album is not None and scene.display.is_hdr:
        raise FechnerError(
            f"photographs are no {scene.display.eotf.upper()} files, which display "
            f"'{scene.display.name}' takes: leave --images or --display out."
        )
    if options.dither:
        scene = replace(scene, display=replace(scene.display, dither=True))
    adaptive = not published if options.adaptive is None else options.adaptive
    contrasts = _PUBLISHED_CONTRASTS if published else _CONTRASTS
    task = _TASK
    if options.stimuli == "photographs" and album is not None:
        task = replace(_TASK, pattern=NaturalBand(2.0, album.photographs))
    prompts = chosen_prompts(options.prompts)
    scorer = ContrastSensitivity(published=published)

    def asking(test: str, title: str, guess: float | None, **more: Any) -> Test:
        placement = (
            AdaptiveLevels(contrasts, options.trials or _TRIALS, options.width, guess=guess)
            if adaptive
            else EveryLevel(contrasts, options.trials or _DRAWS)
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
        *(_bands(album, scene, scorer, options.seed) if album is not None else ()),
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
    VerbalOptions,
    further={f"bands-{kind}": "--images FOLDER" for kind in _PHOTOGRAPHS},
)

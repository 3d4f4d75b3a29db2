"""Contrast sensitivity by asking (Hernández-Cámara et al. 2025).

Noise in a band of one octave is shown at many contrasts, and the observer is asked whether there is
a pattern, in many wordings. ``published`` mode asks about 160 contrasts ten times; the default
chooses contrasts trial by trial and measures what is left of a contrast in a picture of 8 bits.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from fechner import experiments, scores
from fechner.errors import FechnerError
from fechner.experiments.recognition import Kind
from fechner.human import StandardSpatialObserver
from fechner.observers.questions import Prompt
from fechner.stimuli import OPPONENT, Album, Field, NaturalBand, OctaveNoise, display, open_album
from fechner.suites.base import Suite, Test
from fechner.suites.options import DisplayOptions, PlacementOptions, option, spaced

#: Two pictures, one of which shows something; no paper has these.
PAIRS = (
    Prompt(
        "One of these two images shows a pattern, the other is uniform. Which one shows the "
        "pattern? Respond just first or second",
        ("first", "second"),
    ),
)


class Prompts(NamedTuple):
    """Prompts for observers that answer questions, and for those that match labels."""

    questions: tuple[Prompt, ...]
    labels: tuple[Prompt, ...]


@cache
def published_prompts() -> Prompts:
    """Return the 25 questions and 20 pairs of labels of Hernández-Cámara et al. (2025).

    Examples
    --------
    >>> published_prompts().questions[0].text
    'Is there a pattern on the image? Respond just yes or no'
    >>> published_prompts().labels[0].options
    ('An image with a pattern', 'A flat image')
    """
    place = resources.files("fechner.suites") / "data/hernandez2025_prompts.csv"
    lines = (line for line in place.read_text("utf-8").splitlines() if line[0] != "#")
    rows = list(csv.DictReader(lines))
    questions = [row["text"] for row in rows if row["kind"] == "question"]
    return Prompts(
        tuple(Prompt(f"{text} Respond just yes or no") for text in questions),
        tuple(Prompt("", (row["text"], row["other"])) for row in rows if row["kind"] == "label"),
    )


def read_prompts(path: Path | str) -> tuple[Prompt, ...]:
    """Read a user's list: a question to be answered yes or no, or ``one label | another``, a line.

    Questions are sent as they are. Of two labels the first says that there is something. Empty
    lines and those that begin with # are left out.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FechnerError(f"the prompts in {path} cannot be read: {why}.") from None
    found = parse_prompts(text.splitlines(), str(path))
    if not found:
        raise FechnerError(f"{path} has no prompts: write one question a line.")
    return tuple(dict.fromkeys(found))


def parse_prompts(lines: Iterable[str], where: str) -> tuple[Prompt, ...]:
    """Turn lines into prompts.

    Examples
    --------
    >>> [one, two] = parse_prompts(["Do you see dots?", "dots | nothing"], "here")
    >>> one.text, two.options
    ('Do you see dots?', ('dots', 'nothing'))
    """
    found = []
    for number, line in enumerate(lines, 1):
        words = line.strip()
        labels = tuple(part.strip() for part in words.split("|"))
        if not words or words.startswith("#"):
            continue
        if len(labels) == 1:
            found.append(Prompt(words))
        elif len(labels) == 2 and all(labels) and labels[0] != labels[1]:
            found.append(Prompt("", labels))
        else:
            raise FechnerError(
                f"line {number} of {where} is not two labels with | between them: '{words}'."
            )
    return tuple(found)


def open_prompts(given: Any) -> tuple[Prompt, ...]:
    """Return a user's prompts: from a file, from lines, or as they are."""
    if isinstance(given, str | Path):
        return read_prompts(given)
    if all(isinstance(each, Prompt) for each in given):
        return tuple(given)
    return parse_prompts(given, "the prompts")


#: Their "0-32 cpd, logarithmically spaced" cannot begin at 0; at 64 pixels per degree the last band
#: does not fit and is named.
_FREQUENCIES = spaced(0.5, 32, 10)

#: 0 and one every 0.1 decade; and the published ones.
_CONTRASTS = (0.0, *spaced(0.001, 0.8, 30))
_PUBLISHED_CONTRASTS = tuple(float(c) for c in np.linspace(0, 0.8, 160))

_TASK = experiments.Detection(
    "frequency_cpd", _FREQUENCIES, _CONTRASTS, OctaveNoise(2.0), luminance_cdm2=40.0
)
_SCENE = experiments.Scene(Field(256, 256, 64.0), display("verbal"), OPPONENT)
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
        restore=lambda stored: tuple(Prompt(p["text"], tuple(p["options"])) for p in stored),
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
    prompts = published_prompts()
    if (own := options.prompts) is not None:
        prompts = Prompts(tuple(p for p in own if p.text), tuple(p for p in own if not p.text))
    scorer = scores.ContrastSensitivity(published=published)

    def asking(test: str, title: str, guess: float | None, **more: Any) -> Test:
        placement = (
            experiments.AdaptiveLevels(
                contrasts, options.trials or _TRIALS, options.width, guess=guess
            )
            if adaptive
            else experiments.EveryLevel(contrasts, options.trials or _DRAWS)
        )
        experiment = experiments.Asking(
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
        guessing = replace(scorer, guess=guess)
        return Test(experiment, guessing, scores.SensitivityPanels(guessing))

    two_pictures = asking(
        "detection-2afc", "Which picture shows a pattern?", 0.5, questions=PAIRS, pictures=2
    )
    return [
        asking("detection", "Is there a pattern?", None, questions=prompts.questions),
        *([] if published else [two_pictures]),  # which no paper has
        *(_bands(album, scene, scorer, options.seed) if album is not None else ()),
    ]


def _bands(
    album: Album, scene: experiments.Scene, detection: scores.ContrastSensitivity, seed: int
) -> Iterator[Test]:
    """Return the tests that show photographs with a band of frequencies changed."""
    scorer = scores.BandAccuracy(detection)
    for kind, (title, other) in _PHOTOGRAPHS.items():
        experiment = experiments.BandRobustness(
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
        yield Test(experiment, scorer, scores.BandPanels(scorer), uses=uses)


SUITE = Suite(
    "verbal",
    "Contrast sensitivity by asking",
    "hernandez2025",
    tests,
    VerbalOptions,
    further={f"bands-{kind}": "--images FOLDER" for kind in _PHOTOGRAPHS},
)

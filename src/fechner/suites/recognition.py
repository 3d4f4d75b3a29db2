"""Item-response curves of recognition (RichardWebster et al. 2018).

The picture of each class that an observer knows best is shown farther and farther from itself, and
the observer names it (MAFC) or finds it among two (2AFC). ``published`` mode has the decision and
the spacing of levels of the authors' code; ranges of levels are ours in both, since the paper has
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from fechner import experiments, scores
from fechner.errors import FechnerError
from fechner.human.trials import given_test
from fechner.observers.classes import Among, Categories, categories, readable_names
from fechner.observers.dropout import Dropout
from fechner.scores.item_curves import PUBLISHED_WINDOW
from fechner.stimuli import OPPONENT, Field, display, picture_sets
from fechner.stimuli.conditions import ConditionPictures
from fechner.stimuli.manipulations import MANIPULATIONS, PUBLISHED, Manipulation
from fechner.stimuli.manipulations.noise import SALT_PEPPER
from fechner.stimuli.manipulations.tone import SHARPNESS_UP
from fechner.stimuli.objects import OBJECT_MANIPULATIONS
from fechner.stimuli.picture_sets import PictureSet
from fechner.suites.base import Suite, Test
from fechner.suites.options import PlacementOptions, option

_REFERENCE = "richardwebster2018"

#: Of pictures that come in conditions.
_CONDITIONS = "geirhos2021"

#: Networks mostly see so many pixels; how large a photograph is in degrees nobody knows.
_SCENE = experiments.Scene(Field(224, 224, 32.0), display("verbal"), OPPONENT)

#: The paper's, which are run unless tests are named.
_OF_THE_PAPER = tuple(each.name for each in PUBLISHED)

#: As in the authors' code: sharpness goes up to a factor of 2, and salt and pepper falls on each
#: channel by itself, as scikit-image's does.
_PUBLISHED: dict[str, Manipulation] = {
    "sharpness-up": replace(SHARPNESS_UP, range=(SHARPNESS_UP.range[0], 1.0)),
    "salt-pepper": replace(SALT_PEPPER, per_channel=True),
}

#: Levels beside the original.
_LEVELS = 200

#: Trials of a class where levels are chosen one by one; choices of two tell less.
_TRIALS = {"mafc": 40, "2afc": 60}

#: Trials of the original before them.
_ORIGINALS = 4

#: Views of each class that are rendered carefully before the best is chosen.
_SECOND_LOOK = 5


@cache
def levels_between(low: float, high: float, n: int) -> tuple[float, ...]:
    """Return 0 and n levels, equally spaced in their logarithm.

    Examples
    --------
    >>> levels_between(0.5, 2, 3)
    (0.0, 0.5, 1.0, 2.0)
    """
    return (0.0, *(float(x) for x in np.geomspace(low, high, n)))


def published_levels(manipulation: Manipulation, n: int) -> tuple[float, ...]:
    """Return 0 and n levels, spaced as in the authors' code.

    Their settings, such as factors, are equally spaced in the logarithm. Where one end is 0 or
    below, both are first moved up by 1 and by how far the lower one is from 0; factors from 1 down
    to 0 are then closer together at 0, not at the original.

    Examples
    --------
    >>> [round(1 - level, 3) for level in published_levels(MANIPULATIONS["contrast-down"], 30)][:3]
    [1.0, 0.954, 0.91]
    """
    strongest = manipulation.range[1]
    start, end = (manipulation.setting(level) for level in (0.0, strongest))
    shift = abs(min(start, end)) + 1 if min(start, end) <= 0 else 0.0
    settings = np.geomspace(start + shift, end + shift, n + 1) - shift
    inside = (float(manipulation.level_of(float(each))) for each in settings[1:-1])
    return (0.0, *inside, strongest)


def _open_categories(given: Categories | Path | str) -> Categories:
    return given if isinstance(given, Categories) else categories(given)


def _pictures_option(help: str) -> Any:
    return option(
        None,
        help=help,
        store=lambda pictures: {**pictures.plain(), "place": pictures.place},
        restore=lambda stored: picture_sets.known_pictures(stored, stored["place"]),
        text=lambda pictures: f"{len(pictures):,} pictures of {len(pictures.classes):,} classes",
        words="{}",
    )


@dataclass(frozen=True, kw_only=True)
class RecognitionOptions(PlacementOptions):
    """What a user may set in ``recognition``."""

    images: Any = _pictures_option(
        "Folder of photographs, one subfolder a class; a CSV file with columns path,class; or a "
        "folder of pictures in conditions, as those of model-vs-human. In Python also a sequence "
        "or an iterator of pairs of a picture and its class."
    )
    objects: Any = _pictures_option(
        "Folder of 3D objects (OBJ, PLY, GLB), one subfolder a class, instead of --images; "
        "`fechner objects` fetches some."
    )
    views: int | None = option(
        None,
        help="Views of each class of --objects among which the best is sought; 1000 if left out.",
        low=1,
    )
    levels: int | None = option(
        None,
        help=f"Levels of each manipulation beside the original; {_LEVELS} if left out.",
        low=2,
    )
    per_class: int = option(1, help="Pictures of each class that are shown.", low=1)
    among: Among = option(
        "own",
        help="What classifiers choose from: all their own classes, or those that are shown.",
        words="chosen among {} classes",
    )
    categories: Any = option(
        None,
        help="Categories to choose from: 16-class, or a CSV file with columns class,category.",
        read=_open_categories,
        restore=Categories.known,
        text=lambda chosen: str(chosen.name),
    )
    show: Literal["preferred", "drawn"] = option(
        "preferred",
        help="Pictures that each observer knows best, or drawn by seed and the same for all, as "
        "`fechner consistency` wants them.",
        words="{} pictures",
    )
    dropout: tuple[str, ...] | None = option(
        None,
        help="Layers of networks in which a share of the activations is dropped, comma-separated.",
        words="dropout in {}",
    )
    dropout_share: float = option(
        0.5, help="Share of activations that is dropped.", above=0, below=1
    )
    dropout_runs: int = option(5, help="Seeds of --dropout.", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials is not None and not self.adaptive:
            raise FechnerError("--trials are those of --adaptive; without it, use --per-class.")
        if self.images is not None and self.objects is not None:
            raise FechnerError("give --images or --objects, not both: each has a run of its own.")
        if self.views is not None and self.objects is None:
            raise FechnerError("--views are those of 3D objects: give --objects FOLDER.")

    @property
    def pictures(self) -> PictureSet:
        """What is shown: photographs, or views of objects."""
        given = self.images if self.objects is None else self.objects
        return given if isinstance(given, PictureSet) else picture_sets.NO_PICTURES

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of the pictures."""
        return self.pictures.notes

    def opened(self, spool: Path | None = None) -> Self:
        """Return the same with pictures listed."""
        if self.images is None and self.objects is None:
            raise FechnerError(
                "suite 'recognition' shows pictures in classes: give --images FOLDER, or "
                "--objects FOLDER (`fechner objects FOLDER` fetches some)."
            )
        if self.objects is None:
            name, pictures = "images", picture_sets.open_pictures(self.images, spool=spool)
        else:
            from fechner.stimuli.objects import open_objects

            number = {} if self.views is None else {"views": self.views}
            name, pictures = "objects", open_objects(self.objects, seed=self.seed, **number)
        chosen = self.categories
        if chosen is None and pictures.experiments:
            # Pictures that come in conditions are of categories, not of classes.
            basic = categories("16-class")
            chosen = basic if set(pictures.classes) <= set(basic.names) else None
        if chosen is not None:
            pictures = _in_categories(pictures, chosen)
        found: dict[str, Any] = {"categories": chosen, name: pictures}
        return replace(self, **found)


def _in_categories(pictures: PictureSet, chosen: Categories) -> PictureSet:
    """Leave out classes that belong to no category, and note which."""
    names = chosen.categories_of(pictures.classes)
    kept = [label for label, name in zip(pictures.classes, names, strict=True) if name]
    if len(kept) == len(names):
        return pictures
    readable = readable_names(pictures.classes)
    lost = picture_sets.first_names(
        [label for label, name in zip(readable, names, strict=True) if not name]
    )
    if len(set(names) - {""}) < 2:
        raise FechnerError(
            f"pictures of two categories of '{chosen.name}' are needed to choose between; of no "
            f"category: {lost}."
        )
    note = f"of no category of '{chosen.name}', and left out: {lost}."
    return replace(picture_sets.classes_of(pictures, kept), notes=(*pictures.notes, note))


def tests(options: RecognitionOptions) -> list[Test]:
    """Return preferred views, and the tests that show them, of every manipulation there is."""
    pictures, among, chosen = options.pictures, options.among, options.categories
    scene = options.shown_in(_SCENE)
    found = []
    scorer = scores.ConditionScores(options.people, 1.0 if options.published else float("nan"))
    for part in pictures.experiments:
        assert isinstance(part, ConditionPictures)
        name = part.experiment
        title = f"{name.capitalize()}: what is it?"
        given = experiments.GivenConditions(
            given_test(name), title, _CONDITIONS, scene, part, among, chosen
        )
        found.append(Test(given, scorer, scores.ConditionPanels(scorer)))
    title = "Which pictures are known best?"
    views = experiments.PreferredViews("views", title, _REFERENCE, scene, pictures, among, chosen)
    by_default = options.show == "preferred" and not found
    of_views = scores.ViewScores(), scores.ViewPanels()
    found.append(Test(views, *of_views, by_default=by_default))
    last = "views"
    if pictures.kind == "objects":
        last, title = "views-rendered", "And which, rendered with care?"
        look = experiments.SecondLook(last, title, views, _SECOND_LOOK, options.seed)
        found.append(Test(look, *of_views, after=("views",), by_default=False))
    after = (last,) if options.show == "preferred" else ()
    return [*found, *_curves(scene, after, options)]


_QUESTIONS = {"mafc": "what is it?", "2afc": "which of two is it?"}


def _curves(
    scene: experiments.Scene, after: tuple[str, ...], options: RecognitionOptions
) -> Iterator[Test]:
    """Return the item-response curves of each task and manipulation."""
    pictures = options.pictures
    published, n = options.published, options.levels or _LEVELS
    dropped = options.dropout
    dropout = Dropout(dropped, options.dropout_share, options.dropout_runs) if dropped else None
    naming = experiments.Naming(options.among, options.categories)
    matching = experiments.Matching
    two = matching("2afc-published", others=None) if published else matching()
    manipulations = {**MANIPULATIONS, **(_PUBLISHED if published else {})}
    if pictures.kind == "objects":
        manipulations |= OBJECT_MANIPULATIONS
    scorer = scores.ItemScores(PUBLISHED_WINDOW if published else 1, options.people)
    for task in (naming, two):
        for manipulation in manipulations.values():
            levels = (
                published_levels(manipulation, n)
                if published
                else levels_between(*manipulation.range, n)
            )
            trials = _ORIGINALS + (options.trials or _TRIALS[task.name])
            placement = (
                experiments.AdaptiveLevels(levels, trials, options.width, _ORIGINALS, "logistic")
                if options.adaptive
                else experiments.EveryLevel(levels)
            )
            # Random manipulations are random enough without dropout, as in the paper.
            drops = task is naming and not manipulation.random
            experiment = experiments.ItemResponse(
                f"{task.name}-{manipulation.name}",
                f"{manipulation.title}: {_QUESTIONS[task.name]}",
                manipulation.reference,
                scene,
                pictures,
                manipulation,
                placement,
                replace(naming, dropout=dropout) if drops else task,
                options.per_class,
                options.show,
                options.seed,
            )
            opposite = manipulation.opposite
            is_usual = manipulation.applies_to == "objects" or manipulation.name in _OF_THE_PAPER
            yield Test(
                experiment,
                scorer,
                scores.ItemPanels(scorer),
                uses=(f"{task.name}-{opposite}",) if opposite else (),
                after=after,
                by_default=is_usual and not pictures.experiments,
            )


SUITE = Suite(
    "recognition",
    "Item-response curves of recognition",
    _REFERENCE,
    tests,
    RecognitionOptions,
    readouts=("correlation",),
    further={
        f"{task}-{name}": "--objects FOLDER" for task in _QUESTIONS for name in OBJECT_MANIPULATIONS
    },
    best="no error",
    tabulated=("threshold",),
)

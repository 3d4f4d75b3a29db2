"""Item-response curves of recognition (RichardWebster et al. 2018).

The picture of each class that an observer knows best is shown farther and farther from itself, and
the observer names it (MAFC) or finds it among two (2AFC). ``published`` mode has the decision and
the spacing of levels of the authors' code; ranges of levels are ours in both, since the paper has
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments import (
    AdaptiveLevels,
    EveryLevel,
    GivenConditions,
    ItemResponse,
    Matching,
    Naming,
    PreferredViews,
    SecondLook,
)
from fechner.experiments.base import Scene
from fechner.experiments.item_tasks import ItemTask
from fechner.human.model_vs_human import given_test
from fechner.scores import (
    ConditionPanels,
    ConditionScores,
    ItemPanels,
    ItemScores,
    ViewPanels,
    ViewScores,
)
from fechner.scores.response_curves import PUBLISHED_WINDOW
from fechner.stimuli import OPPONENT, Field, display
from fechner.stimuli.manipulations import MANIPULATIONS, PUBLISHED, Manipulation
from fechner.stimuli.manipulations.enhancement import SHARPNESS_UP
from fechner.stimuli.manipulations.salt_pepper import SALT_PEPPER
from fechner.stimuli.objects import OBJECT_MANIPULATIONS
from fechner.stimuli.picture_sets import NO_PICTURES, PictureSet
from fechner.stimuli.picture_sets.conditions import ConditionPictures
from fechner.suites.suite import Asked, Options, Suite, Test

_REFERENCE = "richardwebster2018"

#: Of pictures that come in conditions.
_CONDITIONS = "geirhos2021"

#: Networks mostly see so many pixels; how large a photograph is in degrees nobody knows.
_SCENE = Scene(Field(224, 224, 32.0), display("verbal"), OPPONENT)

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


def tests(options: Options) -> list[Test]:
    """Return preferred views, and the tests that show them, of every manipulation there is."""
    asked = options.asked
    if asked.trials is not None and not asked.adaptive:
        raise FechnerError("--trials are those of --adaptive; without it, use --per-class.")
    pictures = asked.pictures or NO_PICTURES
    scene = options.shown_in(_SCENE)
    views = PreferredViews(
        "views",
        "Which pictures are known best?",
        _REFERENCE,
        scene,
        pictures,
        asked.among,
        asked.categories,
    )
    given = list(_given(pictures, scene, options))
    by_default = asked.show == "preferred" and not given
    found = [*given, Test(views, ViewScores(), ViewPanels(), by_default=by_default)]
    last = "views"
    if pictures.kind == "objects":
        last = "views-rendered"
        look = SecondLook(last, "And which, rendered with care?", views, _SECOND_LOOK, options.seed)
        found.append(Test(look, ViewScores(), ViewPanels(), after=("views",), by_default=False))
    after = (last,) if asked.show == "preferred" else ()
    return [*found, *_curves(pictures, scene, after, options)]


def _given(pictures: PictureSet, scene: Scene, options: Options) -> Iterator[Test]:
    """Go through experiments whose pictures come in conditions."""
    asked, published = options.asked, options.mode == "published"
    scorer = ConditionScores(options.people, 1.0 if published else float("nan"))
    for part in pictures.experiments:
        assert isinstance(part, ConditionPictures)
        experiment = GivenConditions(
            given_test(part.experiment),
            f"{part.experiment.capitalize()}: what is it?",
            _CONDITIONS,
            scene,
            part,
            asked.among,
            asked.categories,
        )
        yield Test(experiment, scorer, ConditionPanels(scorer))


def _curves(
    pictures: PictureSet, scene: Scene, after: Sequence[str], options: Options
) -> Iterator[Test]:
    asked, published = options.asked, options.mode == "published"
    for task in _tasks(asked, published):
        for manipulation in _manipulations(pictures, published):
            n = asked.levels or _LEVELS
            levels = (
                published_levels(manipulation, n)
                if published
                else levels_between(*manipulation.range, n)
            )
            placement = (
                AdaptiveLevels(
                    levels,
                    _ORIGINALS + (asked.trials or _TRIALS[task.name]),
                    asked.width,
                    _ORIGINALS,
                    "logistic",
                )
                if asked.adaptive
                else EveryLevel(levels)
            )
            own = task
            if isinstance(task, Naming) and manipulation.random:
                own = replace(task, dropout=None)  # which is random enough, as in the paper
            experiment = ItemResponse(
                f"{task.name}-{manipulation.name}",
                f"{manipulation.title}: {_QUESTIONS[task.name]}",
                manipulation.reference,
                scene,
                pictures,
                manipulation,
                placement,
                own,
                asked.per_class,
                asked.show,
                options.seed,
            )
            scorer = ItemScores(PUBLISHED_WINDOW if published else 1, options.people)
            opposite = manipulation.opposite
            yield Test(
                experiment,
                scorer,
                ItemPanels(scorer),
                uses=(f"{task.name}-{opposite}",) if opposite else (),
                after=tuple(after),
                by_default=not pictures.experiments
                and (manipulation.applies_to == "objects" or manipulation.name in _OF_THE_PAPER),
            )


_QUESTIONS = {"mafc": "what is it?", "2afc": "which of two is it?"}


def _tasks(asked: Asked, published: bool) -> tuple[ItemTask, ...]:
    return (
        Naming(asked.among, asked.categories, asked.dropout),
        Matching("2afc-published", others=None) if published else Matching(),
    )


def _manipulations(pictures: PictureSet, published: bool) -> Iterator[Manipulation]:
    own = _PUBLISHED if published else {}
    yield from (own.get(name, each) for name, each in MANIPULATIONS.items())
    if pictures.kind == "objects":
        yield from OBJECT_MANIPULATIONS.values()


SUITE = Suite(
    "recognition",
    "Item-response curves of recognition",
    _REFERENCE,
    tests,
    readouts=("correlation",),
    takes=frozenset(
        (
            "adaptive",
            "among",
            "categories",
            "dropout",
            "levels",
            "per_class",
            "pictures",
            "show",
            "trials",
            "width",
        )
    ),
    further={
        f"{task}-{name}": "--objects FOLDER" for task in _QUESTIONS for name in OBJECT_MANIPULATIONS
    },
    best="no error",
    shows_pictures=True,
    tabulated=("threshold",),
)

"""What people may be shown, and who is shown what, as in RichardWebster et al. (2018).

People are shown the pictures that an observer was shown, at one level of each test. Every person
has a few trials of each test, a class is shown once to a person so that nobody learns from trial to
trial, and a list depends on the seed and the person alone: more people do not change the lists of
those who were first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from fechner.errors import FechnerError, UnknownNameError
from fechner.psychometrics.likelihood import fit_falling
from fechner.runs import Run
from fechner.runs.people import asked_of_people, class_places

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.experiments.item_response import ItemResponse
    from fechner.stimuli import Field

#: Choose a name for what was shown, or the picture of the same thing.
Task = Literal["mafc", "2afc"]

#: Digits are the keys by which people answer.
MOST_CHOICES = 9


@dataclass(frozen=True)
class Condition:
    """A test at one level, with everything that may be shown in it.

    Parameters
    ----------
    views
        Pictures of each class that may be shown, by the number of the class.
    words
        What classes are called among the choices; those with the same word are no choice.
    """

    test: str
    task: Task
    level: float
    views: Mapping[int, tuple[int, ...]]
    words: Mapping[int, str]

    def __post_init__(self) -> None:
        if self.task not in get_args(Task):
            raise FechnerError(f"test '{self.test}' asks '{self.task}', which people are not.")


@dataclass(frozen=True)
class Trial:
    """What one person is shown and asked.

    Parameters
    ----------
    options
        Class and picture of each choice, in the order in which they are shown.
    answer
        Which of the options is right.
    """

    condition: Condition
    label: int
    picture: int
    options: tuple[tuple[int, int], ...]
    answer: int

    @property
    def chance(self) -> float:
        """Share of right answers of somebody who guesses."""
        return 1 / len(self.options)


def plan_trials(
    conditions: Sequence[Condition],
    people: int,
    trials: int,
    choices: int,
    seed: int,
    repeat: bool = False,
) -> list[list[Trial]]:
    """Return a list of trials for each person.

    Trials of one task come in a block, in random order; the blocks change places from person to
    person. What a person has met before must not tell what is right. With classes enough, each is
    met once, as the right choice or beside one. With fewer, choices beside the right one are drawn
    from all classes that were not asked about yet: each of them is as likely to be right.

    Parameters
    ----------
    people
        How many lists.
    trials
        Trials of each condition.
    choices
        How many names there are to choose from; pictures are always two.
    repeat
        Whether classes may come again, as seldom as possible, where there are too few of them.
    """
    _check(conditions, people, trials, choices)
    lists = [
        _of_person(conditions, trials, choices, np.random.default_rng((seed, person)), person)
        for person in range(people)
    ]
    if not repeat and any(len({e.label for e in each}) < len(each) for each in lists):
        classes = len({label for each in conditions for label in each.views})
        raise FechnerError(
            f"a person would have {len(lists[0])} trials, but there are {classes} classes, and "
            "each is shown to a person once; choose fewer --tests or --trials, or let classes come "
            "again with --repeat-classes."
        )
    return lists


def _check(conditions: Sequence[Condition], people: int, trials: int, choices: int) -> None:
    if not conditions:
        raise FechnerError("there is nothing to ask; choose at least one of --tests.")
    for number, what in ((people, "person"), (trials, "trial")):
        if number < 1:
            raise FechnerError(f"there is at least one {what}, not {number}.")
    if not 2 <= choices <= MOST_CHOICES:
        raise FechnerError(f"there are 2 to {MOST_CHOICES} choices, not {choices}.")
    for each in conditions:
        needed = _choices(each, choices)
        there = len({each.words[label] for label in each.views})
        if there < needed:
            raise FechnerError(
                f"test '{each.test}' has pictures of {there} classes, fewer than the {needed} that "
                "people choose from; choose fewer --choices or other --tests."
            )


def _choices(condition: Condition, choices: int) -> int:
    return choices if condition.task == "mafc" else 2


def _of_person(
    conditions: Sequence[Condition],
    trials: int,
    choices: int,
    generator: np.random.Generator,
    person: int,
) -> list[Trial]:
    shown: dict[int, int] = {}
    samples: list[tuple[Condition, int]] = []
    # Those with few classes choose first.
    for condition in sorted(conditions, key=lambda each: len(each.views)):
        labels = _seldom(sorted(condition.views), trials, shown, generator)
        samples += [(condition, label) for label in labels]
    tasks = sorted({each.task for each in conditions}, reverse=bool(person % 2))
    mixed = (samples[place] for place in generator.permutation(len(samples)))
    ordered = sorted(mixed, key=lambda sample: tasks.index(sample[0].task))
    met_once = sum(_choices(condition, choices) for condition, _ in samples) <= len(
        {label for each in conditions for label in each.views}
    )
    asked_again = max(shown.values()) > 1
    avoided = set(shown) if met_once else set()
    found = []
    for condition, label in ordered:
        foils = _foils(condition, label, _choices(condition, choices) - 1, avoided, generator)
        if not asked_again:
            avoided |= {label, *foils} if met_once else {label}
        picture = int(generator.choice(condition.views[label]))
        options = [(label, picture)]
        options += [(each, int(generator.choice(condition.views[each]))) for each in foils]
        order = generator.permutation(len(options))
        placed = tuple(options[place] for place in order)
        found.append(Trial(condition, label, picture, placed, placed.index((label, picture))))
    return found


def _foils(
    condition: Condition,
    label: int,
    number: int,
    avoided: set[int],
    generator: np.random.Generator,
) -> list[int]:
    """Draw classes to stand beside one, each with a word of its own; some as a last resort only."""
    labels = sorted(condition.views)
    words = {condition.words[label]}
    drawn: list[int] = []
    shuffled = (labels[place] for place in generator.permutation(len(labels)))
    for each in sorted(shuffled, key=avoided.__contains__):
        if len(drawn) < number and condition.words[each] not in words:
            words.add(condition.words[each])
            drawn.append(each)
    return drawn


def _seldom(
    labels: Sequence[int], number: int, used: dict[int, int], generator: np.random.Generator
) -> list[int]:
    """Draw classes, those that were used least before others, and count them as used."""
    drawn: list[int] = []
    while len(drawn) < number:
        shuffled = [labels[place] for place in generator.permutation(len(labels))]
        drawn += sorted(shuffled, key=lambda label: used.get(label, 0))[: number - len(drawn)]
    for label in drawn:
        used[label] = used.get(label, 0) + 1
    return drawn


# What may be shown


@dataclass(frozen=True)
class Asked:
    """A test that people are asked, with the experiment that shows it.

    Parameters
    ----------
    field
        The field that was drawn for the observer.
    threshold
        The observer's, in words: a level, or why there is none.
    """

    condition: Condition
    experiment: ItemResponse
    field: Field
    threshold: str


def read_conditions(
    run: Run,
    observer: str,
    tests: Sequence[str] | None = None,
    levels: Mapping[str, float] | float | None = None,
) -> list[Asked]:
    """Return what people are shown of every test: an observer's pictures, at one level.

    Parameters
    ----------
    levels
        Of all tests, or of each that is named; others have the level that the observer was shown
        and that is nearest to its threshold.
    """
    known = asked_of_people(run)
    for name in tests or ():
        if name not in known:
            listed = f"people can be asked {', '.join(known)} in {run.folder}"
            raise UnknownNameError("test", name, known, listed)
    chosen = [test for test in run.tests if test.id in (tests or known)]
    if observer not in run.observers:
        listed = f"{run.folder} has {', '.join(run.observers)}"
        raise UnknownNameError("observer", observer, run.observers, listed)
    named = [test.id for test in chosen]
    for name in levels if isinstance(levels, Mapping) else ():
        if name not in named:
            raise UnknownNameError("test", name, named, f"there are {', '.join(named)}")
    found = []
    for test in chosen:
        data = run.data(observer, test.id) if run.asked(observer, test) else None
        if data is None:
            why = run.why_incomplete(observer, test.id, "it is not finished")
            raise FechnerError(
                f"{observer} has no answers to {test.id}: {why.rstrip('.')}; choose others with "
                "--tests."
            )
        own = levels.get(test.id) if isinstance(levels, Mapping) else levels
        found.append(_asked(run, observer, test.experiment, data, own))
    return found


def _asked(
    run: Run, observer: str, experiment: Any, data: xr.Dataset, level: float | None
) -> Asked:
    shown = data.isel(trial=np.flatnonzero(data["problem"].to_numpy() == 0))
    pairs = sorted(
        {
            (int(label), int(index))
            for label, index in zip(shown["class_of"].values, shown["index"].values, strict=True)
        }
    )
    views = defaultdict(list)
    for label, index in pairs:
        views[label].append(index)
    natural = run.manifest.observers[observer].output
    tested, threshold = threshold_level(shown, natural)
    if level is None:
        level = tested
    elif not 0 <= level < math.inf:
        raise FechnerError(f"a level is 0 or above, not {level:g}.")
    condition = Condition(
        experiment.id,
        data.attrs["task"],
        level,
        {label: tuple(indices) for label, indices in views.items()},
        _words(experiment, sorted(views)),
    )
    return Asked(condition, experiment, _field(experiment.scene.field, data.attrs), threshold)


def _words(experiment: ItemResponse, labels: Sequence[int]) -> dict[int, str]:
    """Return what people choose for each class: its name, or that of its category."""
    categories = getattr(experiment.task, "categories", None)
    if categories is None:
        names, _ = class_places(experiment.pictures.classes)
        return {label: names[label] for label in labels}
    classes = experiment.pictures.classes
    return {label: str(categories.category_of(classes[label])) for label in labels}


def _field(field: Field, attributes: Mapping[str, Any]) -> Field:
    """Return the field that was drawn, which answers tell."""
    if "drawn_height_px" not in attributes:
        return field
    return field.resized((int(attributes["drawn_height_px"]), int(attributes["drawn_width_px"])))


def threshold_level(data: xr.Dataset, natural: str | None = None) -> tuple[float, str]:
    """Return the tested level nearest to an observer's threshold, and the threshold in words.

    Where the curve never falls half-way it is the strongest, where it has fallen at once the
    weakest.

    Parameters
    ----------
    data
        Answers to trials that were shown.
    natural
        The layer that is read out; the last if it is not there.
    """
    layers = [str(layer) for layer in data["layer"].values]
    layer = layers.index(natural) if natural in layers else len(layers) - 1
    right = data["right"].to_numpy()[:, layer, 0]
    level = data["level"].to_numpy()[~np.isnan(right)]
    levels, place = np.unique(level, return_inverse=True)
    tested: NDArray[np.float64] = levels[levels > 0]
    if not len(tested):
        raise FechnerError("the observer was shown nothing but originals; give a --level.")
    answers = right[~np.isnan(right)]
    n, correct = np.bincount(place), np.bincount(place, weights=answers)
    curve = fit_falling(levels, n, correct, chance=float(data.attrs["chance"]))
    censored = str(curve.censored)
    if censored in ("above", "below"):
        bound = float(curve.bound)
        return _nearest(tested, bound), f"{censored} {bound:.3g}"
    if censored:
        middle = float(tested[len(tested) // 2])
        return middle, "none, since its answers are near chance throughout"
    threshold = float(curve.threshold)
    return _nearest(tested, threshold), f"{threshold:.3g}"


def _nearest(tested: NDArray[np.float64], level: float) -> float:
    """Return the tested level nearest to one, to the bit: random pictures follow from it."""
    return float(tested[np.argmin(np.abs(np.log(tested / level)))])

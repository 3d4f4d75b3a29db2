"""What people may be shown, and who is shown what, as in RichardWebster et al. (2018).

People are shown the pictures that an observer was shown, at one level of each test. Every person
has a few trials of each test, a class is shown once to a person so that nobody learns from trial to
trial, and a list depends on the seed and the person alone: more people do not change the lists of
those who were first.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fechner.arrays import xr
from fechner.errors import FechnerError, check_names
from fechner.psychometrics.likelihood import fit_falling
from fechner.report.contenders import at_output
from fechner.runs import Run
from fechner.runs.people import asked_of_people, class_places

if TYPE_CHECKING:
    from fechner.experiments.item_response import ItemResponse

#: Choose a name for what was shown, or the picture of the same thing.
Task = Literal["mafc", "2afc"]

#: Digits are the keys by which people answer.
MOST_CHOICES = 9


@dataclass(frozen=True, eq=False)
class Condition:
    """A test at one level, with everything that may be shown in it.

    Views are the pictures, and words the names among the choices, of each class by its number;
    classes with the same word are no choice. The field is that drawn for the observer, and the
    threshold the observer's, in words.
    """

    test: str
    task: Task
    level: float
    views: Mapping[int, tuple[int, ...]]
    words: Mapping[int, str]
    experiment: Any = None
    field: Any = None
    threshold: str = ""

    def choices(self, names: int) -> int:
        """Return how many choices there are; pictures are always two."""
        return names if self.task == "mafc" else 2


@dataclass(frozen=True)
class Trial:
    """What one person is shown and asked; each of the options is a class and a picture."""

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
    from all classes that were not asked about yet: each of them is as likely to be right. Classes
    come again, as seldom as possible, only if they may repeat.
    """
    if not conditions or people < 1 or trials < 1:
        raise FechnerError(
            f"there is nothing to ask {people} people in {trials} trials of {len(conditions)} "
            "tests; each takes at least one."
        )
    if not 2 <= choices <= MOST_CHOICES:
        raise FechnerError(f"there are 2 to {MOST_CHOICES} choices, not {choices}.")
    for each in conditions:
        words, needed = {each.words[label] for label in each.views}, each.choices(choices)
        if len(words) < needed:
            raise FechnerError(
                f"test '{each.test}' has pictures of {len(words)} classes, fewer than the {needed} "
                "that people choose from; choose fewer --choices or other --tests."
            )
    lists = [_of_person(conditions, trials, choices, seed, person) for person in range(people)]
    if not repeat and any(len({trial.label for trial in own}) < len(own) for own in lists):
        classes = len({label for each in conditions for label in each.views})
        raise FechnerError(
            f"a person would have {len(lists[0])} trials, but there are {classes} classes, and "
            "each is shown to a person once; choose fewer --tests or --trials, or let classes come "
            "again with --repeat-classes."
        )
    return lists


def _of_person(
    conditions: Sequence[Condition], trials: int, choices: int, seed: int, person: int
) -> list[Trial]:
    generator = np.random.default_rng((seed, person))
    shown: Counter[int] = Counter()
    samples: list[tuple[Condition, int]] = []
    # Those with few classes choose first, from the classes that were shown least.
    for condition in sorted(conditions, key=lambda each: len(each.views)):
        drawn: list[int] = []
        while len(drawn) < trials:
            shuffled = generator.permutation(sorted(condition.views)).tolist()
            drawn += sorted(shuffled, key=shown.__getitem__)[: trials - len(drawn)]
        shown.update(drawn)
        samples += [(condition, label) for label in drawn]
    tasks = sorted({each.task for each in conditions}, reverse=bool(person % 2))
    mixed = (samples[place] for place in generator.permutation(len(samples)))
    ordered = sorted(mixed, key=lambda sample: tasks.index(sample[0].task))
    classes = {label for each in conditions for label in each.views}
    met_once = sum(condition.choices(choices) for condition, _ in samples) <= len(classes)
    asked_again = max(shown.values()) > 1
    avoided = set(shown) if met_once else set()
    found = []
    for condition, label in ordered:
        # Choices beside the right one have words of their own; some are a last resort.
        words, options = {condition.words[label]}, [label]
        shuffled = generator.permutation(sorted(condition.views)).tolist()
        for each in sorted(shuffled, key=avoided.__contains__):
            if len(options) < condition.choices(choices) and condition.words[each] not in words:
                words.add(condition.words[each])
                options.append(each)
        if not asked_again:
            avoided |= set(options) if met_once else {label}
        pictured = [(each, int(generator.choice(condition.views[each]))) for each in options]
        placed = tuple(pictured[place] for place in generator.permutation(len(pictured)))
        picture = pictured[0][1]
        found.append(Trial(condition, label, picture, placed, placed.index(pictured[0])))
    return found


# What may be shown


def read_conditions(
    run: Run,
    observer: str,
    tests: Sequence[str] | None = None,
    levels: Mapping[str, float] | float | None = None,
) -> list[Condition]:
    """Return what people are shown of every test: an observer's pictures, at one level.

    Levels that are not given are those that the observer was shown nearest to its threshold.
    """
    known = asked_of_people(run)
    check_names("test", tests, known, f"people can be asked in {run.folder}")
    check_names("observer", [observer], run.observers, f"{run.folder} has")
    chosen = [test for test in run.tests if test.id in (tests or known)]
    named = levels if isinstance(levels, Mapping) else {}
    check_names("test", named, [test.id for test in chosen])
    found = []
    for test in chosen:
        data = run.data(observer, test.id) if run.asked(observer, test) else None
        if data is None:
            why = run.why_incomplete(observer, test.id, "it is not finished")
            raise FechnerError(
                f"{observer} has no answers to {test.id}: {why.rstrip('.')}; choose others with "
                "--tests."
            )
        own = named.get(test.id) if isinstance(levels, Mapping) else levels
        output = run.manifest.observers[observer].output
        found.append(_condition(known[test.id], data, output, own))
    return found


def _condition(
    experiment: ItemResponse, data: xr.Dataset, output: str | None, level: float | None
) -> Condition:
    shown = data.isel(trial=np.flatnonzero(data["problem"].to_numpy() == 0))
    views = defaultdict(set)
    for label, index in zip(shown["class_of"].values, shown["index"].values, strict=True):
        views[int(label)].add(int(index))
    tested, threshold = threshold_level(shown, output)
    if level is not None and not 0 <= level < math.inf:
        raise FechnerError(f"a level is 0 or above, not {level:g}.")
    # People choose the names of classes, or of their categories.
    classes = experiment.pictures.classes
    categories = getattr(experiment.task, "categories", None)
    names = class_places(classes)[0] if categories is None else classes
    words = {
        label: names[label] if categories is None else str(categories.category_of(names[label]))
        for label in sorted(views)
    }
    field = experiment.scene.field
    if "drawn_height_px" in data.attrs:
        height, width = (int(data.attrs[f"drawn_{side}_px"]) for side in ("height", "width"))
        field = field.resized((height, width))
    return Condition(
        experiment.id,
        data.attrs["task"],
        tested if level is None else level,
        {label: tuple(sorted(views[label])) for label in sorted(views)},
        words,
        experiment,
        field,
        threshold,
    )


def threshold_level(data: xr.Dataset, output: str | None = None) -> tuple[float, str]:
    """Return the tested level nearest to an observer's threshold, and the threshold in words.

    Where the curve never falls half-way it is the strongest, where it has fallen at once the
    weakest. The observer is read out at its output, or at its last layer.
    """
    right = at_output(data, output)["right"].to_numpy()
    answered = ~np.isnan(right)
    levels, place = np.unique(data["level"].to_numpy()[answered], return_inverse=True)
    tested = levels[levels > 0]
    if not len(tested):
        raise FechnerError("the observer was shown nothing but originals; give a --level.")
    n, correct = np.bincount(place), np.bincount(place, weights=right[answered])
    curve = fit_falling(levels, n, correct, chance=float(data.attrs["chance"]))
    censored = str(curve.censored)
    if censored and censored not in ("above", "below"):
        middle = float(tested[len(tested) // 2])
        return middle, "none, since its answers are near chance throughout"
    threshold = float(curve.bound if censored else curve.threshold)
    # To the bit: random pictures follow from the level.
    nearest = float(tested[np.argmin(np.abs(np.log(tested / threshold)))])
    return nearest, f"{censored} {threshold:.3g}".strip()

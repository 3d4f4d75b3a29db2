"""Who is shown what: lists of trials for people, as in RichardWebster et al. (2018).

Every person has a few trials of each test at one level, a class is shown once to a person so that
nobody learns from trial to trial, and a list depends on the seed and the person alone: more people
do not change the lists of those who were first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fechner.errors import FechnerError

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

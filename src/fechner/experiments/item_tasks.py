"""What is asked of a picture at a level: to name it, or to find it among two.

Naming is choosing among all classes (MAFC); matching is a choice of two, by which of them is more
like the sample (2AFC), and asks any observer that compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fechner.arrays import Floats, xr
from fechner.errors import UnknownNameError
from fechner.experiments.preferred_views import Item, choice_in_words, preferred
from fechner.experiments.presenter import Presenter, differences_from_several
from fechner.experiments.recognition import NONE_OF_THEM, Decided, choices_of, recognise, words_of
from fechner.observers.abilities import Ability
from fechner.observers.classes import Among, Categories
from fechner.observers.dropout import Dropout

if TYPE_CHECKING:
    from fechner.experiments.item_response import ItemResponse


class Shown(NamedTuple):
    """What is shown in a trial: a picture, at a level, in a run of dropout (0 without).

    Trials of the same picture at the same level are told apart by their draw.
    """

    item: Item
    level: float
    run: int
    draw: int = 0


class Asker(NamedTuple):
    """How one observer is asked trials: what guessing gets right, the choices, and the function."""

    chance: float
    choices: Sequence[str]
    ask: Callable[[Sequence[Shown]], Decided]


@dataclass(frozen=True)
class Naming:
    """Choose among all classes: the one with the highest score.

    Parameters
    ----------
    among, categories
        What is chosen from.
    dropout
        What is dropped in a network while it looks; None for nothing.
    """

    among: Among = "own"
    categories: Categories | None = None
    dropout: Dropout | None = None

    name: ClassVar[str] = "mafc"
    asks: ClassVar[Ability] = "recognises"
    decision: ClassVar[str] = "mafc"

    @property
    def run_numbers(self) -> Sequence[int]:
        """Numbers of the runs: 0 for what does not vary, 1, 2... with dropout."""
        return range(1, self.dropout.runs + 1) if self.dropout else (0,)

    @property
    def method(self) -> str:
        """What is asked, in sentences."""
        chosen = choice_in_words(self.among, self.categories)
        if self.dropout is None:
            return chosen
        return (
            f"{chosen} While it looks, {self.dropout.share:.0%} of the activations of "
            f"{', '.join(self.dropout.layers)} are dropped, in {self.dropout.runs} runs."
        )

    def asker(
        self, presenter: Presenter, experiment: ItemResponse, views: xr.Dataset | None
    ) -> Asker:
        """Return how an observer is asked."""
        choices = choices_of(presenter, experiment.pictures.classes, self.among, self.categories)

        def ask(shown: Sequence[Shown]) -> Decided:
            found = recognise(
                presenter,
                [experiment.picture(each) for each in shown],
                choices.names,
                experiment.scene,
                choices=choices,
                dropout=self.dropout,
                seeds=[experiment.seed_of(each) for each in shown],
            )
            return found.decided(presenter, choices, [each.item.label for each in shown])

        return Asker(choices.chance, choices.names, ask)

    def question_size(self, classes: Sequence[str]) -> tuple[int, float]:
        """How many pictures a question is about, and how many words it has."""
        return words_of(self.categories.names if self.categories else classes)


def _nearer(positive: Floats, negative: Floats) -> Floats:
    return negative - positive


def _signed(positive: Floats, negative: Floats) -> Floats:
    """Return r_p where it exceeds r_q, else -r_q (RichardWebster et al. 2018, Algorithm 4)."""
    r_p, r_q = 1 - positive, 1 - negative
    return np.where(r_p > r_q, r_p, -r_q)


#: The decision score, of the difference to the same picture and to another, and when it is right
#: against 0. ``2afc`` takes the more similar one. ``2afc-paper`` and ``2afc-published`` are as
#: printed and as in the authors' code: where both correlations are negative, a wrong choice counts
#: as right, and a right one as wrong.
DECISIONS: dict[str, tuple[Callable[[Floats, Floats], Floats], np.ufunc]] = {
    "2afc": (_nearer, np.greater),
    "2afc-paper": (_signed, np.greater),
    "2afc-published": (_signed, np.greater_equal),
}


def decide(name: str, positive: Floats, negative: Floats) -> Decided:
    """Decide which of two pictures a sample is, by its differences to the same and to another.

    r = 1 - difference is Pearson's correlation where the read-out is ``correlation``. Where one is
    undefined, as correlations of constant features are, the decision is wrong.

    Examples
    --------
    >>> both_negative = np.array([1.2]), np.array([1.4])  # r = -.2 and -.4
    >>> [decide(name, *both_negative).right.item() for name in DECISIONS]
    [1.0, 0.0, 0.0]
    """
    if name not in DECISIONS:
        raise UnknownNameError("decision", name, DECISIONS, f"there are {', '.join(DECISIONS)}")
    undefined = np.isnan(positive) | np.isnan(negative)
    score_of, is_right = DECISIONS[name]
    with np.errstate(invalid="ignore"):
        score = score_of(positive, negative)
        right = np.where(undefined, 0.0, is_right(score, 0))
    chosen = np.where(undefined, NONE_OF_THEM, 1 - right).astype(np.int16)
    fine = [("", "")] * len(right)
    return Decided(chosen, right, np.where(undefined, np.nan, score), undefined, fine)


@dataclass(frozen=True)
class Matching:
    """Choose between the original of a sample and a picture of another class.

    Parameters
    ----------
    decision
        Name of the decision function, one of `DECISIONS`.
    others
        Other classes that a picture meets; each trial has one of them, drawn by seed. They are
        looked at once for all levels. None draws among all classes for every trial, as the paper
        does (Algorithm 2), which about doubles the work.
    """

    decision: str = "2afc"
    others: int | None = 7

    name: ClassVar[str] = "2afc"
    asks: ClassVar[Ability] = "compares"
    run_numbers: ClassVar[Sequence[int]] = (0,)

    def question_size(self, classes: Sequence[str]) -> tuple[int, float]:
        """Nothing is asked in words."""
        return 1, 0.0

    @property
    def method(self) -> str:
        """What is asked, in sentences."""
        drawn = f"one of {self.others or 'all'} other classes, drawn by seed"
        return (
            "The picture at a level is the sample; the observer has to find it among the original "
            f"and the picture of {drawn}. "
            "It chooses the one with the smaller difference by its read-out, and where that is "
            "undefined its answer is wrong. Encoders are read out by the correlation of their "
            f"features. The decision function is '{self.decision}'."
        )

    def asker(
        self, presenter: Presenter, experiment: ItemResponse, views: xr.Dataset | None
    ) -> Asker:
        """Return how an observer is asked."""
        return Asker(0.5, ("original", "other"), _Matcher(self, presenter, experiment, views).ask)


@dataclass
class _Matcher:
    """Asks one observer; remembers the best picture of each class, None where none can be read."""

    task: Matching
    presenter: Presenter
    experiment: ItemResponse
    views: xr.Dataset | None
    known: dict[int, Item | None] = field(default_factory=dict)

    def ask(self, shown: Sequence[Shown]) -> Decided:
        """Ask trials, picture by picture."""
        experiment, presenter, parts = self.experiment, self.presenter, []
        for item, trials in groupby(shown, key=lambda each: each.item):
            own = list(trials)
            original = experiment.pictures.shown(*item)
            problem = presenter.problem(original.source, experiment.scene)
            others = [] if problem[0] else self._others(item, own)
            if not others:
                if not problem[0]:
                    problem = ("unreadable", "No picture of another class can be shown.")
                none = Decided.nothing(presenter, len(own))
                n = len(own)
                parts.append(none._replace(problems=[problem] * n, others=[None] * n))
                continue
            met = sorted(set(others))
            differences = differences_from_several(
                presenter,
                [experiment.picture(each) for each in own],
                [original, *(experiment.pictures.shown(*other) for other in met)],
                [(0, 1 + met.index(other)) for other in others],
                experiment.scene,
            )
            found = decide(self.task.decision, differences[:, 0], differences[:, 1])
            parts.append(found._replace(others=others))
        return Decided.joined(parts) if parts else Decided.nothing(presenter, 0)

    def _others(self, item: Item, shown: Sequence[Shown]) -> list[Item]:
        """Return a picture of another class for each trial; none where none can be shown."""
        # Another draw than that of the manipulation.
        seeds = [[*self.experiment.seed_of(each), 1] for each in shown]
        if self.task.others is None:
            drawn = [next(self._readable(item.label, seed), None) for seed in seeds]
            return [each for each in drawn if each is not None] if None not in drawn else []
        own = list(self.experiment.seed_of(Shown(item, 0.0, 0)))
        some = list(islice(self._readable(item.label, own), self.task.others))
        if not some:
            return []
        return [some[np.random.default_rng(seed).integers(len(some))] for seed in seeds]

    def _readable(self, label: int, seed: Sequence[int]) -> Iterator[Item]:
        """Go through the best pictures of other classes that can be read, in an order by seed."""
        pictures, scene = self.experiment.pictures, self.experiment.scene
        for other in np.random.default_rng(seed).permutation(len(pictures.classes)).tolist():
            if other == label:
                continue
            if other not in self.known:
                best = preferred(pictures, other, 1, self.experiment.seed, self.views)
                shown = [pictures.shown(*item).source for item in best]
                fine = shown and not self.presenter.problem(shown[0], scene)[0]
                self.known[other] = best[0] if fine else None
            if (found := self.known[other]) is not None:
                yield found


#: What is asked of a picture at a level.
ItemTask: TypeAlias = Naming | Matching

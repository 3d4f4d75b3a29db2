"""What is asked of a picture at a level: to name it, or to find it among two.

Naming is choosing among all classes (MAFC); matching is a choice of two, by which of them is more
like the sample (2AFC), and asks any observer that compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

import numpy as np

from fechner.errors import UnknownNameError
from fechner.experiments.preferred_views import Item, choice_in_words, preferred
from fechner.experiments.presenter import Presenter, differences_from_several
from fechner.experiments.recognition import NONE_OF_THEM, Decided, choices_of, classify, words_of
from fechner.observers.abilities import Ability
from fechner.observers.classes import Among
from fechner.observers.dropout import Dropout

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.experiments.item_response import ItemResponse
    from fechner.observers.classes import Categories
    from fechner.stimuli.pictures import Seed

    Floats = NDArray[np.float64]


class Shown(NamedTuple):
    """What is shown in a trial: a picture, at a level, in a run of dropout (0 without).

    Trials of the same picture at the same level are told apart by their draw.
    """

    item: Item
    level: float
    run: int
    draw: int = 0


class Asker(NamedTuple):
    """How one observer is asked.

    Parameters
    ----------
    chance
        Share that guessing gets right.
    choices
        What there is to choose from.
    ask
        Asks trials.
    """

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
        dropped = ""
        if self.dropout is not None:
            dropped = (
                f" While it looks, {self.dropout.share:.0%} of the activations of "
                f"{', '.join(self.dropout.layers)} are dropped, in {self.dropout.runs} runs."
            )
        return f"{choice_in_words(self.among, self.categories)}{dropped}"

    def asker(
        self, presenter: Presenter, experiment: ItemResponse, views: xr.Dataset | None
    ) -> Asker:
        """Return how an observer is asked."""
        classes = experiment.pictures.classes
        choices = choices_of(presenter, classes, self.among, self.categories)

        def ask(shown: Sequence[Shown]) -> Decided:
            return classify(
                presenter,
                [experiment.picture(each) for each in shown],
                [each.item.label for each in shown],
                choices,
                experiment.scene,
                dropout=self.dropout,
                seeds=[experiment.seed_of(each) for each in shown],
            )

        return Asker(choices.chance, choices.names, ask)

    def question_size(self, classes: Sequence[str]) -> tuple[int, float]:
        """How many pictures a question is about, and how many words it has."""
        return words_of(self.categories.names if self.categories else classes)


class Decision(NamedTuple):
    """Which of two pictures a sample was taken for, by two differences.

    Differences are those of a read-out; r = 1 - difference is Pearson's correlation where that is
    ``correlation``.

    Parameters
    ----------
    right
        1 or 0.
    score
        The decision score; NaN where a difference is undefined.
    undefined
        Whether it is, as correlations of constant features are; such a decision is wrong.
    """

    right: Floats
    score: Floats
    undefined: NDArray[np.bool_]


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


def decide(name: str, positive: Floats, negative: Floats) -> Decision:
    """Decide which of two pictures a sample is.

    Parameters
    ----------
    positive, negative
        Differences of samples to the same picture, and to another.

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
        right = is_right(score, 0)
    return Decision(np.where(undefined, 0.0, right), np.where(undefined, np.nan, score), undefined)


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
        drawn = (
            "drawn among all for every trial"
            if self.others is None
            else f"of {self.others} that are drawn for each picture"
        )
        return (
            "The picture at a level is the sample; the observer has to find it among the original "
            f"and the picture of another class, {drawn}. "
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
        parts = [
            self._of_item(item, list(trials))
            for item, trials in groupby(shown, key=lambda each: each.item)
        ]
        return Decided.joined(parts) if parts else Decided.nothing(self.presenter, 0)

    def _of_item(self, item: Item, shown: Sequence[Shown]) -> Decided:
        experiment, presenter = self.experiment, self.presenter
        original = experiment.pictures.shown(*item)
        problem = presenter.problem(original.source, experiment.scene)
        seeds = [experiment.seed_of(each) for each in shown]
        drawn = [] if problem[0] else self._drawn(item, seeds)
        if not drawn:
            problems = [problem if problem[0] else _NOBODY_ELSE] * len(shown)
            nothing = Decided.nothing(presenter, len(shown))
            return nothing._replace(problems=problems, others=[None] * len(shown))
        met = sorted(set(drawn))
        differences = differences_from_several(
            presenter,
            [experiment.picture(each) for each in shown],
            [original, *(experiment.pictures.shown(*other) for other in met)],
            [(0, 1 + met.index(other)) for other in drawn],
            experiment.scene,
        )
        found = decide(self.task.decision, differences[:, 0], differences[:, 1])
        chosen = np.where(found.undefined, NONE_OF_THEM, 1 - found.right).astype(np.int16)
        fine = [("", "")] * len(shown)
        return Decided(chosen, found.right, found.score, found.undefined, fine, drawn)

    def _drawn(self, item: Item, seeds: Sequence[Seed]) -> list[Item]:
        """Return a picture of another class for each trial; none where none can be shown."""
        classes = len(self.experiment.pictures.classes)
        if self.task.others is not None:
            own = self.experiment.seed_of(Shown(item, 0.0, 0))
            order = _other_classes(classes, item.label, own)
            some = list(islice(self._readable(order), self.task.others))
            # Another draw than that of the manipulation.
            return [some[_draw((*seed, 1), len(some))] for seed in seeds] if some else []
        found = []
        for seed in seeds:
            order = _other_classes(classes, item.label, (*seed, 1))
            other = next(self._readable(order), None)
            if other is None:
                return []
            found.append(other)
        return found

    def _readable(self, labels: Iterable[int]) -> Iterator[Item]:
        """Go through the best pictures of classes, without those that cannot be read."""
        pictures, scene = self.experiment.pictures, self.experiment.scene
        for label in labels:
            if label not in self.known:
                best = preferred(pictures, label, 1, self.experiment.seed, self.views)
                fine = (
                    item
                    for item in best
                    if not self.presenter.problem(pictures.shown(*item).source, scene)[0]
                )
                self.known[label] = next(fine, None)
            if (found := self.known[label]) is not None:
                yield found


#: What is asked of a picture at a level.
ItemTask: TypeAlias = Naming | Matching

_NOBODY_ELSE = ("unreadable", "No picture of another class can be shown.")


def _draw(seed: Sequence[int], n: int) -> int:
    return int(np.random.default_rng(list(seed)).integers(n))


def _other_classes(classes: int, but: int, seed: Sequence[int]) -> list[int]:
    """Return all classes but one, in an order that follows from a seed."""
    order = np.random.default_rng(list(seed)).permutation(classes)
    return [int(label) for label in order if label != but]

"""Scores and panels of pictures as they are, and in conditions with people beside.

Of views, how many are recognised, and how surely the best of each class is; in conditions, the
figures of Geirhos et al. (2021).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats, xr
from fechner.scores import notes
from fechner.scores.consistency import (
    Consistency,
    Estimate,
    GivenAnswers,
    consistency_of,
    people_in,
    pooled,
    share_of,
)
from fechner.scores.items import names_of
from fechner.scores.panels import (
    ACCURACY,
    Axis,
    Item,
    Line,
    Panel,
    Points,
    Vertical,
    gallery_panel,
    guide,
)
from fechner.scores.score import Resampled, Score, Scorer, unmeasured
from fechner.scores.statistics import Source
from fechner.stimuli.conditions import known_experiment

if TYPE_CHECKING:
    from fechner.human.trials import HumanTrials


class Views:
    """Decision scores of the pictures of each class, of one layer and read-out.

    Attributes
    ----------
    classes, names
        Places of the classes of which a picture could be shown, and their names.
    best
        The place of a picture with the highest decision score, of each class.
    """

    def __init__(self, data: xr.Dataset) -> None:
        shown = np.isfinite(data["right"].values)
        self.right: Floats = data["right"].values[shown].astype(float)
        self.score: Floats = data["score"].values[shown].astype(float)
        self.index: NDArray[np.int32] = data["index"].values[shown]
        self.classes, self.cluster = np.unique(data["class_of"].values[shown], return_inverse=True)
        self.names = names_of(data, self.classes)
        order = np.lexsort((-self.score, self.cluster))
        first = np.searchsorted(self.cluster[order], np.arange(len(self.classes)))
        self.best: NDArray[np.intp] = order[first]


@dataclass(frozen=True)
class ViewScores(Scorer):
    """Accuracy on pictures as they are, and of the best picture of each class."""

    kind = unmeasured("accuracy", "classes")

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Score | Resampled]:
        """Yield accuracy with its bootstrap over classes, and that of preferred pictures."""
        views = Views(data)
        found = share_of(views.right, np.ones(len(views.right)), views.cluster)
        why = "" if found.clusters else notes.NOTHING_SHOWN
        note = notes.join(notes.unshown_pictures(data), why)
        chance, n = float(data.attrs["chance"]), len(views.classes)
        of = unmeasured("accuracy", "classes", chance=chance)
        main = of.with_value(found.value, found.ends, len(views.right), note)
        yield Resampled(main, found.draws, views.classes * 1.0, "share")
        highest = views.score[views.best]
        ties = np.bincount(views.cluster, views.score == highest[views.cluster]) > 1
        known = float((highest > 0).sum())
        note = f"{ties.sum()} of {n} classes have ties" if n else ""
        of = unmeasured("preferred-recognised", "classes", chance=chance)
        yield of.of_share(known, n, note)

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the pictures that both were shown."""
        parts = [part.isel(picture=part["problem"].values == 0) for part in (first, second)]
        keys = [
            (part["class_of"].values.astype(np.int64) << 32) + part["index"].values
            for part in parts
        ]
        _, i, j = np.intersect1d(*keys, return_indices=True)
        return parts[0].isel(picture=i), parts[1].isel(picture=j)


#: Pictures of the gallery of views.
_SHOWN = 12


@dataclass(frozen=True)
class ViewPanels:
    """Draws decision scores of classes, and some of the preferred views."""

    def __call__(self, experiment: Any, data: xr.Dataset, *others: Any) -> list[Panel]:
        """Return the scores of the best pictures in order, and the pictures."""
        views = Views(data)
        if not len(views.classes):
            return []
        best = views.score[views.best]
        order = np.argsort(best)
        names = tuple(views.names[place] for place in order)
        curve = Line(np.arange(len(order), dtype=float), best[order], "observer", names=names)
        some = np.unique(np.linspace(0, len(order) - 1, _SHOWN).round().astype(int))
        items = []
        for place in order[some]:
            index = int(views.index[views.best[place]])
            picture = experiment.pictures.shown(int(views.classes[place]), index)
            items.append(Item(picture, views.names[place], f"decision score {best[place]:.3g}"))
        title = "Decision score of the best picture of each class, from the least sure on"
        axes = Axis("classes in order"), Axis("decision score", low=-1.0, high=1.0)
        preferred = "Pictures that are known best, from the class that is known least on"
        return [
            Panel("decision scores", title, *axes, (curve,), stimuli=False),
            gallery_panel("preferred views", preferred, items),
        ]


def answers_in(data: xr.Dataset, name: str = "observer") -> GivenAnswers:
    """Return the answers of one layer and read-out to pictures that could be shown."""
    shown = np.isfinite(data["right"].values)
    columns = []
    for each in ("class_of", "condition", "chosen"):
        # What codes below 0 stand for is nothing.
        names = np.array([*str(data[each].attrs["names"]).split("|"), ""])
        columns.append(names[np.maximum(data[each].values[shown].astype(int), -1)])
    category, condition, response = columns
    images = data["image"].values[shown].astype(str)
    return GivenAnswers(name, category, condition, images, response, float(data.attrs["chance"]))


def conditions_of(data: xr.Dataset) -> tuple[str, ...]:
    """Return the conditions that were shown, in order."""
    return tuple(str(data["condition"].attrs["names"]).split("|"))


def scored_conditions(experiment: str, conditions: Sequence[str]) -> tuple[str, ...]:
    """Return the conditions that enter means: those of the benchmark, or all of other experiments.

    Examples
    --------
    >>> scored_conditions("colour", ["cr", "bw"]), scored_conditions("mine", ["a", "b"])
    (('bw',), ('a', 'b'))
    """
    kept = [each for each in conditions if each not in known_experiment(experiment).left_out]
    return tuple(kept or conditions)


@dataclass(frozen=True)
class ConditionScores(ViewScores):
    """Accuracy in conditions, shape bias, and how far errors are those of people.

    Parameters
    ----------
    people
        What people answered, of all tests.
    undefined
        Kappa of two who are both always right; NaN leaves it out of means.
    """

    people: HumanTrials | None = field(default=None, compare=False)
    undefined: float = np.nan

    kind = unmeasured("accuracy", "categories", chance=1 / 16)

    def people_of(self, test: str) -> list[GivenAnswers]:
        """Return the answers of people to a test."""
        return people_in(self.people.of_test(test)) if self.people is not None else []

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Score | Resampled]:
        """Yield accuracy, shape bias, what is shared with people, and accuracy by condition."""
        answers, people = answers_in(data), self.people_of(str(data.attrs["test"]))
        conditions = conditions_of(data)
        scored = scored_conditions(str(data.attrs["experiment"]), conditions)
        yield _accuracy(data, answers, scored)
        if answers.has_conflict:
            theirs = [each.shape_bias().value for each in people if each.has_conflict]
            best = float(np.mean(theirs)) if theirs else np.nan
            of = unmeasured("shape-bias", "categories", None, best, 0.5)
            bias = answers.shape_bias()
            yield of.with_value(bias.value, bias.ends, len(answers), _of_people(theirs))
        if people:
            yield from self._consistency(answers, people, scored)
        for name in conditions if len(conditions) > 1 else ():
            own = answers.within([name])
            note = _of_people([each.within([name]).accuracy().value for each in people])
            of = unmeasured(f"accuracy-{name}", "categories", chance=answers.chance)
            accuracy = own.accuracy()
            yield of.with_value(accuracy.value, accuracy.ends, len(own), note)

    def _consistency(
        self, answers: GivenAnswers, people: Sequence[GivenAnswers], conditions: Sequence[str]
    ) -> Iterator[Score]:
        """Yield the three figures of the benchmark that need people."""
        ours, theirs = self.with_people(answers, people, conditions)
        kinds = (
            unmeasured("error-consistency", "categories"),
            unmeasured("observed-consistency", "categories", chance=np.nan),
            unmeasured("accuracy-difference", "categories", False, 0.0, np.nan),
        )
        if not ours.trials:
            yield replace(kinds[0], note="not computable: people saw none of the pictures")
            return
        for of, found, reference in zip(kinds, ours[:3], theirs[:3], strict=True):
            low, high = reference.ends
            note = f"people with each other {reference.value:.3f} [{low:.3f}, {high:.3f}]"
            yield of.with_value(found.value, found.ends, ours.trials, note if theirs.trials else "")

    def with_people(
        self, answers: GivenAnswers, people: Sequence[GivenAnswers], conditions: Sequence[str]
    ) -> tuple[Consistency, Consistency]:
        """Compare an observer with each person, and all pairs of people."""
        pairs = [(answers, each) for each in people], combinations(people, 2)
        ours, theirs = (consistency_of(each, conditions, self.undefined) for each in pairs)
        return ours, theirs


def _accuracy(data: xr.Dataset, answers: GivenAnswers, scored: Sequence[str]) -> Resampled:
    """Return the accuracy of one layer and read-out with its bootstrap over categories."""
    without = [name for name in conditions_of(data) if name not in scored]
    note = notes.join(
        f"without {', '.join(without)}, as in the benchmark" if without else "",
        notes.unshown_pictures(data),
    )
    own = answers.within(scored)
    found = own.accuracy()
    of = unmeasured("accuracy", "categories", chance=answers.chance)
    main = of.with_value(found.value, found.ends, len(own), note)
    by_category = Resampled(main, found.draws, np.arange(float(found.clusters)), "share")
    if not found.clusters:
        return by_category
    # Categories that agree do not make an accuracy certain: pictures add what Wilson's interval
    # has more than categories, and other answers have other errors.
    wilson = (found.most - found.least) / (2 * 1.96)
    more = np.sqrt(max(wilson**2 - float(np.var(found.draws)), 0.0))
    seed = zlib.crc32("|".join(answers.response.tolist()).encode())
    errors = np.random.default_rng(seed).standard_normal(len(found.draws))
    pictures = Source(found.value + more * errors, max(len(answers), 2))
    return replace(by_category, further=(pictures,))


def _of_people(values: Sequence[float]) -> str:
    """Say what people have: the mean, and the range of them."""
    if not values:
        return ""
    ends = f"{min(values):.3f} to {max(values):.3f}"
    return f"{len(values)} people have {np.mean(values):.3f} on average ({ends})"


@dataclass(frozen=True)
class ConditionPanels:
    """Draws accuracy and shared errors over conditions, shape bias, and categories."""

    scorer: ConditionScores

    def __call__(self, experiment: Any, data: xr.Dataset, *others: Any) -> list[Panel]:
        """Return what the answers allow."""
        answers = answers_in(data)
        if not len(answers):
            return []
        people = self.scorer.people_of(experiment.id)
        everybody = [answers, *([pooled(people)] if people else [])]
        conditions = conditions_of(data)
        found = [shape_panel([answers], people)] if answers.has_conflict else []
        if len(conditions) > 1:
            axis = Axis(experiment.axes[0], ticks=conditions)
            ours, *theirs = (
                [who.within([each]).accuracy() for each in conditions] for who in everybody
            )
            marks = [_line(ours, "observer"), guide(0.0, len(conditions) - 1.0, answers.chance)]
            marks += [_points(each, "people", 1) for each in theirs]
            found.append(Panel("accuracy", "Accuracy by condition", axis, ACCURACY, tuple(marks)))
        if len(conditions) > 1 and people:
            each = [self.scorer.with_people(answers, people, [name]) for name in conditions]
            ours, between = ([pair[i].error for pair in each] for i in (0, 1))
            marks = [_line(ours, "observer with people")]
            marks += [_points(between, "people with each other", 1)]
            marks += [guide(0.0, len(conditions) - 1.0, 0.0)]
            title = "Error consistency with people, and of people with each other"
            y = Axis("error consistency (kappa)", low=-0.2, high=1.0)
            found.append(Panel("error consistency", title, axis, y, tuple(marks)))
        names = sorted(set(answers.category.tolist()))
        marks = [
            _points([who.where(who.category == name).accuracy() for name in names], who.name, group)
            for group, who in enumerate(everybody)
        ]
        marks.append(guide(0.0, len(names) - 1.0, answers.chance))
        title = "Accuracy by category, over all conditions"
        kind, axis = "accuracy by category", Axis("category", ticks=tuple(names))
        return [*found, Panel(kind, title, axis, ACCURACY, tuple(marks), stimuli=False)]


def _ends(estimates: Sequence[Estimate]) -> Any:
    """Return places, values and both ends, [4, n]."""
    return np.array([[i, each.value, *each.ends] for i, each in enumerate(estimates)], float).T


def _line(estimates: Sequence[Estimate], label: str) -> Line | Points:
    x, y, low, high = _ends(estimates)
    return Line(x, y, label, low=low, high=high)


def _points(estimates: Sequence[Estimate], label: str, group: int) -> Line | Points:
    """Return points with intervals; those of the second group are people's."""
    x, y, low, high = _ends(estimates)
    return Points(x, y, label, low=low, high=high, human=bool(group), group=group)


def shape_panel(observers: Sequence[GivenAnswers], people: Sequence[GivenAnswers]) -> Panel:
    """Return the share of shape by category, those where people choose it most on top.

    As in Figure 4 of Geirhos et al. (2019), of one observer or several.
    """
    everybody = [*observers, *([pooled(people)] if people else [])]
    by = everybody[-1]
    names = np.array(sorted({name for each in observers for name in each.category.tolist()}))
    names = names[np.argsort([by.where(by.category == name).shape_bias().value for name in names])]
    marks: list[Points | Vertical] = []
    for group, who in enumerate(everybody):
        each = [who.where(who.category == name).shape_bias() for name in names]
        y, values, low, high = _ends(each)
        words = tuple(
            f"{name}: {value:.3f} [{a:.3f}, {b:.3f}]"
            for name, value, a, b in zip(names, values, low, high, strict=True)
        )
        human, mean = bool(people) and who is by, who.shape_bias()
        marks.append(Points(values, y, who.name, human=human, names=words, group=group))
        marks.append(Vertical(mean.value, f"{who.name}, all", *mean.ends, group, human))
    title = "Share of shape among answers by shape or texture"
    x = Axis("fraction of shape decisions", reversed=True, low=0.0, high=1.0)
    categories = Axis("shape category", ticks=tuple(names.tolist()))
    return Panel("shape bias", title, x, categories, tuple(marks), stimuli=False)

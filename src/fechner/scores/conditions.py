"""Scores and panels of pictures as they are, and in conditions with people beside.

Of views, how many are recognised, and how surely the best of each class is; in conditions, the
figures of Geirhos et al. (2021).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.consistency import (
    Estimate,
    GivenAnswers,
    among_people,
    people_in,
    pooled,
    share_of,
    with_people,
)
from fechner.scores.items import names_of
from fechner.scores.panels import Axis, Floats, Gallery, Item, Line, Mark, Panel, Points, Vertical
from fechner.scores.score import (
    Resampled,
    Score,
    Scorer,
    Why,
    join_notes,
    unmeasured,
    unshown_pictures,
)
from fechner.scores.statistics import Source
from fechner.stimuli.conditions import known_experiment

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

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
        note = join_notes(unshown_pictures(data), "" if found.clusters else Why.NOTHING_SHOWN)
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
        return [
            Panel(
                "decision scores",
                "Decision score of the best picture of each class, from the least sure on",
                Axis("classes in order"),
                Axis("decision score", low=-1.0, high=1.0),
                (curve,),
                stimuli=False,
            ),
            Panel(
                "preferred views",
                "Pictures that are known best, from the class that is known least on",
                Axis(""),
                Axis(""),
                (Gallery(tuple(items)),),
                stimuli=False,
            ),
        ]


def answers_in(data: xr.Dataset, name: str = "observer") -> GivenAnswers:
    """Return the answers of one layer and read-out to pictures that could be shown."""
    shown = np.isfinite(data["right"].values)
    images = data["image"].values.astype(str)
    category, condition, response = (
        _named(data[each])[shown] for each in ("class_of", "condition", "chosen")
    )
    chance = float(data.attrs["chance"])
    return GivenAnswers(name, category, condition, images[shown], response, chance)


def _named(codes: xr.DataArray) -> Any:
    """Return what numbers stand for; those below 0 stand for nothing."""
    names = np.array([*str(codes.attrs["names"]).split("|"), ""])
    values = codes.values.astype(int)
    return names[np.where(values < 0, len(names) - 1, values)]


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
        ours = with_people(answers, people, conditions, self.undefined)
        theirs = among_people(people, conditions, self.undefined)
        error = unmeasured("error-consistency", "categories")
        if not ours.trials:
            yield replace(error, note="not computable: people saw none of the pictures")
            return
        observed = unmeasured("observed-consistency", "categories", chance=np.nan)
        difference = unmeasured("accuracy-difference", "categories", False, 0.0, np.nan)
        for of, found, reference in (
            (error, ours.error, theirs.error),
            (observed, ours.observed, theirs.observed),
            (difference, ours.difference, theirs.difference),
        ):
            low, high = reference.ends
            note = f"people with each other {reference.value:.3f} [{low:.3f}, {high:.3f}]"
            note = note if theirs.trials else ""
            yield of.with_value(found.value, found.ends, ours.trials, note)


def _accuracy(data: xr.Dataset, answers: GivenAnswers, scored: Sequence[str]) -> Resampled:
    """Return the accuracy of one layer and read-out with its bootstrap over categories."""
    without = [name for name in conditions_of(data) if name not in scored]
    note = join_notes(
        f"without {', '.join(without)}, as in the benchmark" if without else "",
        unshown_pictures(data),
    )
    own = answers.within(scored)
    found = own.accuracy()
    of = unmeasured("accuracy", "categories", chance=answers.chance)
    main = of.with_value(found.value, found.ends, len(own), note)
    places = np.arange(found.clusters, dtype=float)
    if not found.clusters:
        return Resampled(main, found.draws, places, "share")
    # Categories that agree do not make an accuracy certain: pictures add what Wilson's interval
    # has more than categories, and other answers have other errors.
    wilson = (found.most - found.least) / (2 * 1.96)
    more = np.sqrt(max(wilson**2 - float(np.var(found.draws)), 0.0))
    seed = zlib.crc32("|".join(answers.response.tolist()).encode())
    errors = np.random.default_rng(seed).standard_normal(len(found.draws))
    pictures = Source(found.value + more * errors, max(len(answers), 2))
    return Resampled(main, found.draws, places, "share", further=(pictures,))


def _of_people(values: Sequence[float]) -> str:
    """Say what people have: the mean, and the range of them."""
    if not values:
        return ""
    return (
        f"{len(values)} people have {np.mean(values):.3f} on average "
        f"({min(values):.3f} to {max(values):.3f})"
    )


_ACCURACY = Axis("accuracy", low=0.0, high=1.0)


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
        everybody = [(answers, False), *([(pooled(people), True)] if people else [])]
        conditions = conditions_of(data)
        found = [shape_panel([answers], people)] if answers.has_conflict else []
        if len(conditions) > 1:
            axis = Axis(experiment.axes[0], ticks=conditions)
            ours, *theirs = (
                [who.within([each]).accuracy() for each in conditions] for who, _ in everybody
            )
            marks = [_line(ours, "observer"), _level(conditions, answers.chance)]
            marks += [_points(each, "people", human=True) for each in theirs]
            found += [Panel("accuracy", "Accuracy by condition", axis, _ACCURACY, tuple(marks))]
            found += [self._errors(answers, people, conditions, axis)] if people else []
        names = sorted(set(answers.category.tolist()))
        marks = [
            _points(
                [who.where(who.category == name).accuracy() for name in names],
                "people" if is_human else "observer",
                human=is_human,
            )
            for who, is_human in everybody
        ]
        marks.append(_level(names, answers.chance))
        title = "Accuracy by category, over all conditions"
        axis = Axis("category", ticks=tuple(names))
        by = Panel("accuracy by category", title, axis, _ACCURACY, tuple(marks), stimuli=False)
        return [*found, by]

    def _errors(
        self,
        answers: GivenAnswers,
        people: Sequence[GivenAnswers],
        conditions: Sequence[str],
        axis: Axis,
    ) -> Panel:
        undefined = self.scorer.undefined
        ours = [with_people(answers, people, [each], undefined).error for each in conditions]
        theirs = [among_people(people, [each], undefined).error for each in conditions]
        return Panel(
            "error consistency",
            "Error consistency with people, and of people with each other",
            axis,
            Axis("error consistency (kappa)", low=-0.2, high=1.0),
            (
                _line(ours, "observer with people"),
                _points(theirs, "people with each other", human=True),
                _level(conditions, 0.0),
            ),
        )


def _ends(estimates: Sequence[Estimate]) -> Any:
    """Return places, values and both ends, [4, n]."""
    return np.array([[i, each.value, *each.ends] for i, each in enumerate(estimates)], float).T


def _line(estimates: Sequence[Estimate], label: str) -> Mark:
    x, y, low, high = _ends(estimates)
    return Line(x, y, label, low=low, high=high)


def _points(estimates: Sequence[Estimate], label: str, human: bool) -> Mark:
    x, y, low, high = _ends(estimates)
    return Points(x, y, label, low=low, high=high, human=human, group=int(human))


def _level(over: Sequence[str], chance: float) -> Mark:
    return Line(np.array([0.0, len(over) - 1.0]), np.full(2, chance), "chance", style="guide")


def shape_panel(observers: Sequence[GivenAnswers], people: Sequence[GivenAnswers]) -> Panel:
    """Return the share of shape by category, those where people choose it most on top.

    As in Figure 4 of Geirhos et al. (2019), of one observer or several.
    """
    everybody = [*observers, *([pooled(people)] if people else [])]
    by = everybody[-1]
    names = np.array(sorted({name for each in observers for name in each.category.tolist()}))
    names = names[np.argsort([by.where(by.category == name).shape_bias().value for name in names])]
    marks: list[Mark] = []
    for group, who in enumerate(everybody):
        each = [who.where(who.category == name).shape_bias() for name in names]
        y, values, low, high = _ends(each)
        words = tuple(
            f"{name}: {value:.3f} [{a:.3f}, {b:.3f}]"
            for name, value, a, b in zip(names, values, low, high, strict=True)
        )
        human = bool(people) and who is by
        mean = who.shape_bias()
        marks += [
            Points(values, y, who.name, human=human, names=words, group=group),
            Vertical(mean.value, f"{who.name}, all", *mean.ends, group, human),
        ]
    return Panel(
        "shape bias",
        "Share of shape among answers by shape or texture",
        Axis("fraction of shape decisions", reversed=True, low=0.0, high=1.0),
        Axis("shape category", ticks=tuple(names.tolist())),
        tuple(marks),
        stimuli=False,
    )

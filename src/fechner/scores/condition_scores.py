"""Scores and panels of pictures in conditions, with people beside (Geirhos et al. 2021)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import Source
from fechner.scores.given_answers import (
    Consistency,
    Estimate,
    GivenAnswers,
    among_people,
    people_in,
    pooled,
    with_people,
)
from fechner.scores.notes import join_notes, left_out
from fechner.scores.panels import Axis, Line, Mark, Panel, Points, Vertical
from fechner.scores.score import Resampled, Score
from fechner.scores.view_scores import ViewScores
from fechner.stimuli.picture_sets.conditions import known_experiment

if TYPE_CHECKING:
    import xarray as xr

    from fechner.human.trials import HumanTrials

_NOTHING = float("nan")


def answers_in(data: xr.Dataset, name: str = "observer") -> GivenAnswers:
    """Return the answers of one layer and read-out to pictures that could be shown."""
    shown = np.isfinite(data["right"].values)
    categories = _named(data["class_of"])[shown]
    return GivenAnswers(
        name,
        categories,
        _named(data["condition"])[shown],
        data["image"].values.astype(str)[shown],
        _named(data["chosen"])[shown],
        float(data.attrs["chance"]),
    )


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
    undefined: float = _NOTHING

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        people = self.people_of(str(data.attrs["test"]))
        return [score for _, _, part in outputs(data) for score in self._all(part, people)]

    def people_of(self, test: str) -> list[GivenAnswers]:
        """Return the answers of people to a test."""
        return people_in(self.people.of_test(test)) if self.people is not None else []

    def _all(self, data: xr.Dataset, people: Sequence[GivenAnswers]) -> Iterator[Score]:
        answers = answers_in(data)
        yield _main(data, answers)
        make = partial(
            Score,
            resampled="categories",
            layer=str(data["layer"].values),
            readout=str(data["readout"].values),
        )
        conditions = conditions_of(data)
        scored = scored_conditions(str(data.attrs["experiment"]), conditions)
        if answers.has_conflict:
            yield _shape_bias(make, answers, people)
        if people:
            yield from _consistency(make, answers, people, scored, self.undefined)
        if len(conditions) > 1:
            for name in conditions:
                own = answers.within([name])
                found = own.accuracy()
                yield make(
                    f"accuracy-{name}",
                    found.value,
                    *found.ends,
                    True,
                    1.0,
                    answers.chance,
                    n=len(own),
                    note=_of_people([each.within([name]).accuracy().value for each in people]),
                )

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the accuracy of one layer and read-out with its bootstrap over categories."""
        answers = answers_in(data)
        found = _accuracy(data, answers)
        places = np.arange(found.clusters, dtype=float)
        # Categories that agree do not make an accuracy certain: pictures add what Wilson's interval
        # has more than categories, and other answers have other errors.
        wilson = (found.most - found.least) / (2 * 1.96)
        more = np.sqrt(max(wilson**2 - float(np.var(found.draws)), 0.0))
        seed = zlib.crc32("|".join(answers.response.tolist()).encode())
        errors = np.random.default_rng(seed).standard_normal(len(found.draws))
        pictures = Source(found.value + more * errors, max(len(answers), 2))
        return Resampled(_main(data, answers), found.draws, places, "share", further=(pictures,))

    def printed(self, value: float, experiment: Any) -> Score:
        """Return an accuracy of which only the value is known."""
        return Score(
            "accuracy", value, _NOTHING, _NOTHING, True, 1.0, 1 / 16, resampled="categories", n=0
        )


def _accuracy(data: xr.Dataset, answers: GivenAnswers) -> Estimate:
    scored = scored_conditions(str(data.attrs["experiment"]), conditions_of(data))
    return answers.within(scored).accuracy()


def _main(data: xr.Dataset, answers: GivenAnswers) -> Score:
    found = _accuracy(data, answers)
    experiment, conditions = str(data.attrs["experiment"]), conditions_of(data)
    scored = scored_conditions(experiment, conditions)
    without = [name for name in conditions if name not in scored]
    return Score(
        "accuracy",
        found.value,
        *found.ends,
        higher_is_better=True,
        best=1.0,
        chance=answers.chance,
        resampled="categories",
        n=len(answers.within(scored)),
        layer=str(data["layer"].values),
        readout=str(data["readout"].values),
        note=join_notes(
            f"without {', '.join(without)}, as in the benchmark" if without else "",
            left_out(data["problem"], "pictures"),
            str(data.attrs.get("unreadable", "")).rstrip("."),
        ),
    )


def _shape_bias(make: Any, answers: GivenAnswers, people: Sequence[GivenAnswers]) -> Score:
    found = answers.shape_bias()
    theirs = [each.shape_bias().value for each in people if each.has_conflict]
    score: Score = make(
        "shape-bias",
        found.value,
        *found.ends,
        None,
        float(np.mean(theirs)) if theirs else _NOTHING,
        0.5,
        n=len(answers),
        note=_of_people(theirs),
    )
    return score


def _of_people(values: Sequence[float]) -> str:
    """Say what people have: the mean, and the range of them."""
    if not values:
        return ""
    return (
        f"{len(values)} people have {np.mean(values):.3f} on average "
        f"({min(values):.3f} to {max(values):.3f})"
    )


def _consistency(
    make: Any,
    answers: GivenAnswers,
    people: Sequence[GivenAnswers],
    conditions: Sequence[str],
    undefined: float,
) -> Iterator[Score]:
    """Return the three figures of the benchmark that need people."""
    ours = with_people(answers, people, conditions, undefined)
    theirs = among_people(people, conditions, undefined)
    if not ours.trials:
        yield make(
            "error-consistency", _NOTHING, _NOTHING, _NOTHING, True, 1.0, 0.0, n=0,
            note="not computable: people saw none of the pictures",
        )  # fmt: skip
        return
    for name, part, up, best, chance in (
        ("error-consistency", "error", True, 1.0, 0.0),
        ("observed-consistency", "observed", True, 1.0, _NOTHING),
        ("accuracy-difference", "difference", False, 0.0, _NOTHING),
    ):
        found, reference = (_figure(each, part) for each in (ours, theirs))
        low, high = reference.ends
        yield make(
            name,
            found.value,
            *found.ends,
            up,
            best,
            chance,
            n=ours.trials,
            note=f"people with each other {reference.value:.3f} [{low:.3f}, {high:.3f}]"
            if theirs.trials
            else "",
        )


def _figure(found: Consistency, part: str) -> Estimate:
    figure: Estimate = getattr(found, part)
    return figure


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
        conditions = conditions_of(data)
        found = []
        if answers.has_conflict:
            found.append(shape_panel([answers], people))
        if len(conditions) > 1:
            axis = Axis(experiment.axes[0], ticks=conditions)
            found.append(_accuracy_panel(answers, people, conditions, axis))
            if people:
                found.append(self._errors(answers, people, conditions, axis))
        return [*found, _category_panel(answers, people)]

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
        x = np.arange(len(conditions), dtype=float)
        return Panel(
            "error consistency",
            "Error consistency with people, and of people with each other",
            axis,
            Axis("error consistency (kappa)", low=-0.2, high=1.0),
            (
                _line(x, ours, "observer with people"),
                _points(x, theirs, "people with each other", human=True),
                Line(x[[0, -1]], np.zeros(2), "chance", style="guide"),
            ),
        )


def _ends(estimates: Sequence[Estimate]) -> Any:
    """Return values and both ends, [3, n]."""
    return np.array([[each.value, *each.ends] for each in estimates]).T


def _line(x: Any, estimates: Sequence[Estimate], label: str) -> Line:
    y, low, high = _ends(estimates)
    return Line(x, y, label, low=low, high=high)


def _points(x: Any, estimates: Sequence[Estimate], label: str, human: bool = False) -> Points:
    y, low, high = _ends(estimates)
    return Points(x, y, label, low=low, high=high, human=human, group=1 if human else 0)


def _accuracy_panel(
    answers: GivenAnswers, people: Sequence[GivenAnswers], conditions: Sequence[str], axis: Axis
) -> Panel:
    x = np.arange(len(conditions), dtype=float)
    marks: list[Mark] = [
        _line(x, [answers.within([each]).accuracy() for each in conditions], "observer"),
        Line(x[[0, -1]], np.full(2, answers.chance), "chance", style="guide"),
    ]
    if people:
        all_of_them = pooled(people)
        theirs = [all_of_them.within([each]).accuracy() for each in conditions]
        marks.append(_points(x, theirs, "people", human=True))
    return Panel(
        "accuracy", "Accuracy by condition", axis, Axis("accuracy", low=0.0, high=1.0), tuple(marks)
    )


def _category_panel(answers: GivenAnswers, people: Sequence[GivenAnswers]) -> Panel:
    names = sorted(set(answers.category.tolist()))
    x = np.arange(len(names), dtype=float)
    marks: list[Mark] = []
    for who, is_human in ((answers, False), *(((pooled(people), True),) if people else ())):
        each = [who.where(who.category == name).accuracy() for name in names]
        marks.append(_points(x, each, "people" if is_human else "observer", human=is_human))
    marks.append(Line(x[[0, -1]], np.full(2, answers.chance), "chance", style="guide"))
    return Panel(
        "accuracy by category",
        "Accuracy by category, over all conditions",
        Axis("category", ticks=tuple(names)),
        Axis("accuracy", low=0.0, high=1.0),
        tuple(marks),
        stimuli=False,
    )


def shape_panel(observers: Sequence[GivenAnswers], people: Sequence[GivenAnswers]) -> Panel:
    """Return the share of shape by category, those where people choose it most on top.

    As in Figure 4 of Geirhos et al. (2019), of one observer or several.
    """
    everybody = [*observers, *([pooled(people)] if people else [])]
    by = everybody[-1]
    names = np.array(sorted({name for each in observers for name in each.category.tolist()}))
    names = names[np.argsort([by.where(by.category == name).shape_bias().value for name in names])]
    y = np.arange(len(names), dtype=float)
    marks: list[Mark] = []
    for group, who in enumerate(everybody):
        each = [who.where(who.category == name).shape_bias() for name in names]
        words = tuple(
            f"{name}: {found.value:.3f} [{found.ends[0]:.3f}, {found.ends[1]:.3f}]"
            for name, found in zip(names, each, strict=True)
        )
        human = bool(people) and who is by
        values = np.array([found.value for found in each])
        marks.append(Points(values, y, who.name, human=human, names=words, group=group))
        mean = who.shape_bias()
        low, high = mean.ends
        marks.append(Vertical(mean.value, f"{who.name}, all", low, high, group, human))
    return Panel(
        "shape bias",
        "Share of shape among answers by shape or texture",
        Axis("fraction of shape decisions", reversed=True, low=0.0, high=1.0),
        Axis("shape category", ticks=tuple(names.tolist())),
        tuple(marks),
        stimuli=False,
    )

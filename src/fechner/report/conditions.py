"""Pictures in conditions: all observers and people in one table (Geirhos et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError, RunFolderError
from fechner.report.figures.grid import Cell, draw_grid
from fechner.report.figures.style import check_path, paper_style, save
from fechner.report.tables import Summary, Table, interval
from fechner.runs.people import given_to_people, people_of
from fechner.scores.conditions import answers_in, conditions_of, scored_conditions, shape_panel
from fechner.scores.consistency import (
    Consistency,
    Estimate,
    GivenAnswers,
    consistency_of,
    mean_of,
    people_in,
    pooled,
)

if TYPE_CHECKING:
    from fechner.runs import Run

#: What all people together are called.
PEOPLE = "people"

#: The experiment of a mean over all of them.
MEAN = "mean"

_FIGURES = (
    "accuracy",
    "accuracy-difference",
    "observed-consistency",
    "error-consistency",
    "shape-bias",
)


@dataclass(frozen=True)
class ConditionFigure:
    """One figure of an observer in an experiment.

    Parameters
    ----------
    observer
        A name, or `PEOPLE`.
    experiment
        A name, or `MEAN`.
    value, low, high
        With its 95 % interval over categories.
    """

    observer: str
    experiment: str
    figure: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Experiment:
    """Who answered what in an experiment."""

    name: str
    conditions: tuple[str, ...]
    observers: Mapping[str, GivenAnswers]
    people: Sequence[GivenAnswers]


def experiments_in(
    run: Run, observers: Sequence[str] | None = None
) -> tuple[list[Experiment], list[str]]:
    """Return the answers to pictures in conditions, and what was left out."""
    given = given_to_people(run)
    if not given:
        raise FechnerError(
            f"{run.folder} shows no pictures in conditions: run suite 'recognition' with --images "
            "on a folder of model-vs-human."
        )
    people = people_of(run.folder)
    found, problems = [], []
    for test, experiment in given.items():
        answers: dict[str, GivenAnswers] = {}
        conditions = experiment.pictures.conditions
        for name in observers or run.observers:
            try:
                data = run.data(name, test)
            except RunFolderError as error:
                problems.append(f"{name} {test}: {error}")
                continue
            if data is not None:
                answers[name] = answers_in(data.isel(layer=-1, readout=0), name)
                conditions = conditions_of(data)
        found.append(
            Experiment(
                experiment.pictures.experiment,
                scored_conditions(experiment.pictures.experiment, conditions),
                answers,
                people_in(people.of_test(test)) if people is not None else [],
            )
        )
    return found, problems


def condition_figures(
    experiments: Sequence[Experiment], *, each_person: bool = False, undefined: float = float("nan")
) -> list[ConditionFigure]:
    """Return the figures of all observers and people, and their means over experiments.

    Parameters
    ----------
    each_person
        Whether people also stand one by one, each compared with the others.
    undefined
        Kappa of two who are both always right (`consistency_of`).
    """
    found: dict[tuple[str, str], list[tuple[str, Estimate]]] = {}

    def add(name: str, experiment: Experiment, answers: GivenAnswers, with_: Consistency) -> None:
        own = answers.within(experiment.conditions)
        estimates = {
            "accuracy": own.accuracy(),
            "accuracy-difference": with_.difference,
            "observed-consistency": with_.observed,
            "error-consistency": with_.error,
        }
        if own.has_conflict:
            estimates["shape-bias"] = own.shape_bias()
        for figure, estimate in estimates.items():
            found.setdefault((name, figure), []).append((experiment.name, estimate))

    for each in experiments:
        people = list(each.people)
        for name, answers in each.observers.items():
            pairs = [(answers, person) for person in people]
            add(name, each, answers, consistency_of(pairs, each.conditions, undefined))
        if people:
            among = consistency_of(combinations(people, 2), each.conditions, undefined)
            add(PEOPLE, each, pooled(people), among)
        for person in people if each_person else ():
            pairs = [(person, other) for other in people if other is not person]
            add(person.name, each, person, consistency_of(pairs, each.conditions, undefined))
    rows = []
    for (name, figure), estimates in found.items():
        known = [(experiment, each) for experiment, each in estimates if not np.isnan(each.value)]
        if len(known) > 1 and len(known) == len(experiments):
            known.append((MEAN, mean_of([each for _, each in known])))
        rows += [
            ConditionFigure(name, experiment, figure, each.value, *each.ends)
            for experiment, each in known
        ]
    return rows


def summarise_conditions(found: Sequence[ConditionFigure]) -> Summary:
    """Return a table for each experiment, and one of the means over them."""
    tables = []
    experiments = list(dict.fromkeys(row.experiment for row in found if row.experiment != MEAN))
    for name in [*experiments, MEAN]:
        own = {
            (row.observer, row.figure): interval(row.value, row.low, row.high)
            for row in found
            if row.experiment == name
        }
        if own:
            title = f"mean of {len(experiments)} experiments" if name == MEAN else name
            figures = [each for each in _FIGURES if any(figure == each for _, figure in own)]
            names = dict.fromkeys(observer for observer, _ in own)
            rows = [[who, *(own.get((who, figure), "") for figure in figures)] for who in names]
            tables.append(Table([title, *figures], rows))
    note = (
        "95 % intervals over categories. Conditions that the benchmark of Geirhos et al. (2021) "
        "leaves out are left out. Consistency is with people, each condition and person by itself."
    )
    return Summary(
        tables,
        notes=[note],
        columns=[each.name for each in fields(ConditionFigure)],
        rows=[vars(row) for row in found],
    )


def draw_shape_bias(experiments: Sequence[Experiment], path: Path | str) -> Path:
    """Draw the share of shape decisions by category, of all observers and people."""
    path = check_path(path)
    cells = [
        Cell(each.name, shape_panel(list(each.observers.values()), each.people))
        for each in experiments
        if any(own.has_conflict for own in each.observers.values())
    ]
    if not cells:
        raise FechnerError(
            "no picture has a shape of one category and a texture of another, as those of "
            "cue-conflict have."
        )
    with paper_style():
        return save(draw_grid(cells, 1, 300.0), path)

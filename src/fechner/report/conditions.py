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
from fechner.report.tables import Summary, crossed, interval
from fechner.runs.people import given_to_people
from fechner.runs.run import people_of
from fechner.scores import consistency
from fechner.scores.conditions import answers_in, conditions_of, scored_conditions, shape_panel
from fechner.scores.consistency import GivenAnswers

if TYPE_CHECKING:
    from fechner.runs import Run

#: What all people together are called.
PEOPLE = "people"

#: The experiment of a mean over all of them.
MEAN = "mean"


@dataclass(frozen=True)
class ConditionFigure:
    """One figure of an observer, or `PEOPLE`, in an experiment, or their `MEAN`.

    It has a 95 % interval over categories.
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
        name, conditions = experiment.pictures.experiment, experiment.pictures.conditions
        for observer in observers or run.observers:
            try:
                data = run.data(observer, test)
            except RunFolderError as error:
                problems.append(f"{observer} {test}: {error}")
                continue
            if data is not None:
                answers[observer] = answers_in(data.isel(layer=-1, readout=0), observer)
                conditions = conditions_of(data)
        humans = consistency.people_in(people.of_test(test)) if people is not None else []
        found.append(Experiment(name, scored_conditions(name, conditions), answers, humans))
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
    found: dict[tuple[str, str], dict[str, consistency.Estimate]] = {}
    for each in experiments:
        people = list(each.people)
        compared = [
            (name, own, [(own, person) for person in people])
            for name, own in each.observers.items()
        ]
        if people:
            compared.append((PEOPLE, consistency.pooled(people), list(combinations(people, 2))))
        for person in people if each_person else ():
            pairs = [(person, other) for other in people if other is not person]
            compared.append((person.name, person, pairs))
        for name, answers, pairs in compared:
            own = answers.within(each.conditions)
            with_people = consistency.consistency_of(pairs, each.conditions, undefined)
            figures = {
                "accuracy": own.accuracy(),
                "accuracy-difference": with_people.difference,
                "observed-consistency": with_people.observed,
                "error-consistency": with_people.error,
            }
            if own.has_conflict:
                figures["shape-bias"] = own.shape_bias()
            for figure, estimate in figures.items():
                if not np.isnan(estimate.value):
                    found.setdefault((name, figure), {})[each.name] = estimate
    rows = []
    for (name, figure), known in found.items():
        if len(known) > 1 and len(known) == len(experiments):
            known[MEAN] = consistency.mean_of(list(known.values()))
        rows += [
            ConditionFigure(name, experiment, figure, estimate.value, *estimate.ends)
            for experiment, estimate in known.items()
        ]
    return rows


def summarise_conditions(found: Sequence[ConditionFigure]) -> Summary:
    """Return a table for each experiment, and one of the means over them."""
    tables: dict[str, dict[tuple[str, ...], dict[str, str]]] = {}
    for row in sorted(found, key=lambda row: row.experiment == MEAN):
        cells = tables.setdefault(row.experiment, {}).setdefault((row.observer,), {})
        cells[row.figure] = interval(row.value, row.low, row.high)
    note = (
        "95 % intervals over categories. Conditions that the benchmark of Geirhos et al. (2021) "
        "leaves out are left out. Consistency is with people, each condition and person by itself."
    )
    return Summary(
        [
            crossed([name if name != MEAN else f"mean of {len(tables) - 1} experiments"], cells)
            for name, cells in tables.items()
        ],
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

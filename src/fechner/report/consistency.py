"""Whether observers, and people, err on the same trials: Cohen's kappa of right and wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.arrays import pd
from fechner.errors import FechnerError, check_names
from fechner.report.contenders import Contender, at_output
from fechner.report.tables import Summary, crossed, interval, number, table_of
from fechner.runs import Run
from fechner.runs.manifest import parameters
from fechner.runs.people import asked_of_people, checked_people, class_places
from fechner.runs.progress import followed
from fechner.runs.run import people_of
from fechner.scores.consistency import error_consistency
from fechner.scores.item_curves import SAME_LEVEL, human_points

if TYPE_CHECKING:
    from fechner.experiments.item_response import ItemResponse
    from fechner.human.trials import HumanTrials

#: What all people together are called.
PEOPLE = "people"

#: What makes two trials the same.
_PICTURE = ["label", "index", "level"]
_TRIAL = [*_PICTURE, "run", "time"]


@dataclass(frozen=True)
class Agreement:
    """How far two err on the same trials.

    Parameters
    ----------
    trials, classes
        How many both were shown.
    first_accuracy, second_accuracy
        Of both, on these trials.
    observed, expected
        Share of trials on which both are right or both wrong, and what it would be if each had its
        own accuracy and nothing else.
    kappa, low, high
        (observed - expected) / (1 - expected): 1 for the same errors, 0 for independent ones; with
        its 95 % interval over classes. NaN where one is always right, or always wrong: kappa would
        be 0 whatever the other does.
    """

    test: str
    first: str
    second: str
    trials: int
    classes: int
    first_accuracy: float
    second_accuracy: float
    observed: float
    expected: float
    kappa: float
    low: float
    high: float


def consistency(
    runs: Sequence[Run],
    tests: Sequence[str] | None = None,
    observers: Sequence[str] | None = None,
    each_person: bool = False,
    progress: bool = False,
) -> tuple[list[Agreement], list[str]]:
    """Return how far all pairs of observers err on the same trials, and what was left out.

    The same trial is the same picture at the same level. Observers that were shown the pictures
    that each knows best share few; those that were shown drawn ones share all.

    Parameters
    ----------
    observers
        Names; all if None. ``people`` are all people together.
    each_person
        Whether people are also compared one by one.
    """
    if not runs:
        raise FechnerError("name at least one run folder.")
    asked = [(run, asked_of_people(run)) for run in runs]
    known = list(dict.fromkeys(name for _, experiments in asked for name in experiments))
    check_names("test", tests, known)
    chosen = [name for name in known if tests is None or name in tests]
    found: list[Agreement] = []
    problems: list[str] = []
    met: set[str] = set()
    for test in followed(chosen, "comparing", progress):
        with_it = [(run, each[test]) for run, each in asked if test in each]
        answers = _answers(with_it, test, each_person, problems)
        met |= set(answers)
        kept = [name for name in answers if observers is None or name in observers]
        found += [
            _agreement(test, a, b, answers[a], answers[b])
            for a, b in combinations(kept, 2)
            if not (a == PEOPLE and "person" in answers[b])  # who is one of them
        ]
    check_names("observer", observers, sorted(met))
    return found, problems


def _answers(
    runs: Sequence[tuple[Run, ItemResponse]], test: str, each_person: bool, problems: list[str]
) -> dict[str, pd.DataFrame]:
    """Return right and wrong of all who answered a test: observers, people together, one by one.

    Trials of people have a column ``person``.
    """
    first, standard = runs[0]
    found: dict[str, pd.DataFrame] = {}
    humans: list[pd.DataFrame] = []
    for run, experiment in runs:
        if _shown(experiment) != _shown(standard):
            problems.append(
                f"{run.folder} shows other pictures in {test} than {first.folder}, and is left out "
                "there."
            )
            continue
        (own,) = [each for each in run.tests if each.id == test]
        for observer in run.observers:
            data = Contender(observer, run, observer).read(own, problems)
            if data is None:
                continue
            there = at_output(data, run.manifest.observers[observer].output)
            columns = {"class_of": "label", "dropout_run": "run"}
            names = ("class_of", "index", "level", "dropout_run", "right")
            frame = pd.DataFrame({columns.get(name, name): there[name].values for name in names})
            frame = frame.dropna()
            # The same picture may be shown again: the first time compares with the first.
            frame["time"] = frame.groupby([*_PICTURE, "run"]).cumcount()
            found[f"{observer} ({run.folder.name})" if observer in found else observer] = frame
        people = people_of(run.folder)
        if people is not None:
            # Somebody may have changed the file since.
            checked = checked_people(run, people.of_test(test))
            humans.append(_of_people(checked, test, experiment, problems))
    if sum(map(len, humans)):
        trials = pd.concat(humans, ignore_index=True)
        levels = trials["level"].to_numpy(float)
        if found:
            # Levels as observers were shown them, where they are the same but for digits.
            known = np.unique(np.concatenate([frame["level"] for frame in found.values()]))
            nearest = known[np.abs(levels[:, None] - known).argmin(axis=1)]
            same = np.abs(levels - nearest) <= SAME_LEVEL * nearest
            trials["level"] = np.where(same, nearest, levels)
        found[PEOPLE] = trials
        if each_person:
            found |= {str(person): own for person, own in trials.groupby("person", sort=True)}
    return found


def _shown(experiment: ItemResponse) -> tuple[Any, ...]:
    """Return what must be the same for trials to be."""
    manipulation = experiment.manipulation
    seed = experiment.seed if manipulation.random else None
    return experiment.pictures.digest, parameters(manipulation), experiment.task.name, seed


def _of_people(
    trials: HumanTrials, test: str, experiment: ItemResponse, problems: list[str]
) -> pd.DataFrame:
    known = trials.where(lambda row: bool(row.picture))
    if len(known) < len(trials):
        problems.append(
            f"{test}: trials of people that do not say which picture was shown are not compared, "
            f"{len(trials) - len(known)} of {len(trials)}."
        )
    _, places = class_places(experiment.pictures.classes)
    columns = {"person": "observer", "index": "picture", "right": "correct"}
    names = ("person", "label", "index", "level", "right")
    frame = pd.DataFrame({name: known.column(columns.get(name, name)) for name in names})
    frame["label"] = frame["label"].map(places)
    frame = frame.astype({"label": int, "index": int, "level": float, "right": float})
    frame["time"] = frame.groupby(["person", *_PICTURE]).cumcount()
    frame["run"] = 0
    return frame


def _agreement(
    test: str, first: str, second: str, answers: pd.DataFrame, others: pd.DataFrame
) -> Agreement:
    """Compare two on the trials they share."""
    same_trial = _TRIAL
    if ("person" in answers) != ("person" in others):
        # People see a picture once, and nothing is dropped while they look.
        same_trial = _PICTURE
        answers, others = (
            each
            if "person" in each
            else each[(each["time"] == 0) & (each["run"] == each["run"].min())]
            for each in (answers, others)
        )
    shared = answers.merge(others, on=same_trial, suffixes=("_a", "_b"))
    found = error_consistency(
        shared["right_a"].to_numpy() > 0.5,
        shared["right_b"].to_numpy() > 0.5,
        shared["label"].to_numpy(),
    )
    kappa = (found.kappa, found.low, found.high)
    if not all(0 < accuracy < 1 for accuracy in found.accuracies):
        kappa = (math.nan, math.nan, math.nan)
    shares = (*found.accuracies, found.observed, found.expected)
    return Agreement(test, first, second, found.trials, found.classes, *shares, *kappa)


def summarise_consistency(found: Sequence[Agreement]) -> Summary:
    """Return kappa of all pairs as a table for each test, with 95 % intervals."""
    tables: dict[str, dict[tuple[str, ...], dict[str, str]]] = {}
    for pair in found:
        cell = f"{interval(pair.kappa, pair.low, pair.high)} ({pair.trials})"
        row = tables.setdefault(pair.test, {}).setdefault((pair.second,), {})
        row[pair.first] = cell if pair.trials else "no shared trial"
    note = (
        "Cohen's kappa of right and wrong on shared trials: 1 for the same errors, 0 for "
        "independent ones, n/a where one is always right, or always wrong; 95 % intervals over "
        "classes; trials in brackets. Observers share few trials where each is shown the pictures "
        "that it knows best, and all of them in runs with --show drawn."
    )
    return Summary(
        [crossed([test], cells) for test, cells in tables.items()],
        notes=[note if tables else "nothing to compare."],
        columns=[each.name for each in fields(Agreement)],
        rows=[vars(pair) for pair in found],
    )


def summarise_people(trials: HumanTrials) -> Summary:
    """Return accuracies of people at every level, with 95 % intervals."""
    rows = [
        {
            "test": point.test,
            "level": point.condition or f"{point.level:.4g}",
            "people": str(point.people),
            "trials": str(point.trials),
            "right": str(point.right),
            "accuracy": interval(point.accuracy, point.low, point.high),
            "chance": number(point.chance),
            "corrected": interval(*point.corrected),
        }
        for point in human_points(trials)
    ]
    notes = [
        f"{len(trials)} trials of {len(trials.people)} people. Intervals are of 95 %, with people "
        "as clusters.",
        "Corrected: 0 at chance, 1 without error.",
    ]
    return Summary([table_of(rows)], notes=notes)

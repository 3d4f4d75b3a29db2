"""Whether observers, and people, err on the same trials: Cohen's kappa of right and wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.contenders import Contender
from fechner.report.tables import Summary, Table, interval, number
from fechner.runs import Run
from fechner.runs.manifest import parameters
from fechner.runs.people import asked_of_people, checked_people, class_places, people_of
from fechner.runs.progress import followed
from fechner.scores.consistency import error_consistency
from fechner.scores.item_curves import SAME_LEVEL, human_points

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

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

    @property
    def is_telling(self) -> bool:
        """Whether both are sometimes right and sometimes wrong."""
        return all(0 < each < 1 for each in (self.first_accuracy, self.second_accuracy))


@dataclass(frozen=True)
class _Answers:
    """Right and wrong of somebody in a test."""

    name: str
    frame: pd.DataFrame
    human: bool = False
    pooled: bool = False


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
    experiments = [asked_of_people(run) for run in runs]
    known = list(dict.fromkeys(name for each in experiments for name in each))
    for name in tests or ():
        if name not in known:
            raise UnknownNameError("test", name, known, f"there are {', '.join(known)}")
    chosen = [name for name in known if tests is None or name in tests]
    found: list[Agreement] = []
    problems: list[str] = []
    met: set[str] = set()
    for test in followed(chosen, "comparing") if progress else chosen:
        answers = list(_answers(runs, experiments, test, each_person, problems))
        met |= {each.name for each in answers}
        kept = [each for each in answers if observers is None or each.name in observers]
        pairs = [_agreement(test, a, b) for a, b in combinations(kept, 2)]
        found += [pair for pair in pairs if pair is not None]
    for name in observers or ():
        if name not in met:
            raise UnknownNameError("observer", name, met, f"there are {', '.join(sorted(met))}")
    return found, problems


def _answers(
    runs: Sequence[Run],
    experiments: Sequence[dict[str, ItemResponse]],
    test: str,
    each_person: bool,
    problems: list[str],
) -> Iterator[_Answers]:
    """Go through all who answered a test: observers, people together, people one by one."""
    with_it = [
        (run, each[test]) for run, each in zip(runs, experiments, strict=True) if test in each
    ]
    standard = _shown(with_it[0][1])
    humans: list[pd.DataFrame] = []
    levels: list[Any] = []
    taken: set[str] = set()
    for run, experiment in with_it:
        if _shown(experiment) != standard:
            problems.append(
                f"{run.folder} shows other pictures in {test} than {with_it[0][0].folder}, and is "
                "left out there."
            )
            continue
        (own_test,) = [each for each in run.tests if each.id == test]
        for observer in run.observers:
            data = Contender(observer, run, observer).read(own_test, problems)
            if data is None:
                continue
            name = observer if observer not in taken else f"{observer} ({run.folder.name})"
            taken.add(name)
            frame = _of_observer(data, run.manifest.observers[observer].output)
            levels.append(frame["level"].unique())
            yield _Answers(name, frame)
        people = people_of(run.folder)
        if people is not None:
            # Somebody may have changed the file since.
            own = checked_people(run, people.of_test(test))
            humans.append(_of_people(own, test, experiment, problems))
    if not humans:
        return
    import pandas as pd

    trials = pd.concat(humans, ignore_index=True)
    if not len(trials):
        return
    known = np.unique(np.concatenate(levels)) if levels else np.array([])
    trials["level"] = _snapped(trials["level"].to_numpy(float), known)
    yield _Answers(PEOPLE, trials, human=True, pooled=True)
    if each_person:
        for person, own in trials.groupby("observer", sort=True):
            yield _Answers(str(person), own, human=True)


def _shown(experiment: ItemResponse) -> tuple[Any, ...]:
    """Return what must be the same for trials to be."""
    manipulation = experiment.manipulation
    seed = experiment.seed if manipulation.random else None
    return experiment.pictures.digest, parameters(manipulation), experiment.task.name, seed


def _of_observer(data: xr.Dataset, natural: str | None) -> pd.DataFrame:
    """Return what was right of what was shown, read out where the observer hands on."""
    import pandas as pd

    layers = [str(layer) for layer in data["layer"].values]
    layer = layers.index(natural) if natural in layers else len(layers) - 1
    frame = pd.DataFrame(
        {
            "label": data["class_of"].to_numpy(),
            "index": data["index"].to_numpy(),
            "level": data["level"].to_numpy(),
            "run": data["dropout_run"].to_numpy(),
            "right": data["right"].to_numpy()[:, layer, 0],
        }
    ).dropna()
    # The same picture may be shown again: the first time compares with the first.
    frame["time"] = frame.groupby([*_PICTURE, "run"]).cumcount()
    return frame


def _of_people(
    trials: HumanTrials, test: str, experiment: ItemResponse, problems: list[str]
) -> pd.DataFrame:
    import pandas as pd

    rows = [row for row in trials.rows if row.picture]
    if len(rows) < len(trials):
        problems.append(
            f"{test}: trials of people that do not say which picture was shown are not compared, "
            f"{len(trials) - len(rows)} of {len(trials)}."
        )
    _, places = class_places(experiment.pictures.classes)
    frame = pd.DataFrame(
        {
            "observer": [row.observer for row in rows],
            "label": np.array([places[row.label] for row in rows], int),
            "index": np.array([int(row.picture) for row in rows], int),
            "level": np.array([row.level for row in rows], float),
            "right": np.array([row.correct for row in rows], float),
        }
    )
    frame["time"] = frame.groupby(["observer", *_PICTURE]).cumcount()
    frame["run"] = 0
    return frame


def _snapped(levels: Any, known: Any) -> Any:
    """Return levels as observers were shown them, where they are the same but for digits."""
    if not len(known):
        return levels
    nearest = known[np.abs(levels[:, None] - known).argmin(axis=1)]
    return np.where(np.abs(levels - nearest) <= SAME_LEVEL * nearest, nearest, levels)


def _agreement(test: str, first: _Answers, second: _Answers) -> Agreement | None:
    """Compare two on the trials they share; None for a person with all people."""
    if first.human and second.human and (first.pooled or second.pooled):
        return None
    if first.human == second.human:
        shared = first.frame.merge(second.frame, on=_TRIAL, suffixes=("_a", "_b"))
    else:
        machine = first if second.human else second
        # People see a picture once, and nothing is dropped while they look.
        once = machine.frame[machine.frame["time"] == 0]
        once = once[once["run"] == once["run"].min()].drop(columns=["run", "time"])
        frames = [once if each is machine else each.frame for each in (first, second)]
        shared = frames[0].merge(frames[1], on=_PICTURE, suffixes=("_a", "_b"))
    found = error_consistency(
        shared["right_a"].to_numpy() > 0.5,
        shared["right_b"].to_numpy() > 0.5,
        shared["label"].to_numpy(),
    )
    pair = Agreement(
        test,
        first.name,
        second.name,
        found.trials,
        found.classes,
        *found.accuracies,
        found.observed,
        found.expected,
        found.kappa,
        found.low,
        found.high,
    )
    return pair if pair.is_telling else replace(pair, kappa=math.nan, low=math.nan, high=math.nan)


def summarise_consistency(found: Sequence[Agreement]) -> Summary:
    """Return kappa of all pairs as a table for each test, with 95 % intervals."""
    tables = []
    for test in dict.fromkeys(pair.test for pair in found):
        own = [pair for pair in found if pair.test == test]
        names = list(dict.fromkeys(name for pair in own for name in (pair.first, pair.second)))
        cells = {(pair.second, pair.first): _cell(pair) for pair in own}
        rows = [
            [row, *(cells.get((row, column), "") for column in names[:-1])] for row in names[1:]
        ]
        tables.append(Table([test, *names[:-1]], rows))
    note = (
        "Cohen's kappa of right and wrong on shared trials: 1 for the same errors, 0 for "
        "independent ones, n/a where one is always right, or always wrong; 95 % intervals over "
        "classes; trials in brackets."
    )
    if not all(pair.trials for pair in found):
        note += (
            " Observers share few trials where each is shown the pictures that it knows best, and "
            "all of them in runs with --show drawn."
        )
    return Summary(
        tables,
        notes=[note if tables else "nothing to compare."],
        columns=[each.name for each in fields(Agreement)],
        rows=[vars(pair) for pair in found],
    )


def _cell(pair: Agreement) -> str:
    if not pair.trials:
        return "no shared trial"
    kappa = interval(pair.kappa, pair.low, pair.high) if pair.is_telling else "n/a"
    return f"{kappa} ({pair.trials})"


def summarise_people(trials: HumanTrials) -> Summary:
    """Return accuracies of people at every level, with 95 % intervals."""
    rows = [
        [
            point.test,
            point.condition or f"{point.level:.4g}",
            str(point.people),
            str(point.trials),
            str(point.right),
            interval(point.accuracy, point.low, point.high),
            number(point.chance),
            interval(*point.corrected),
        ]
        for point in human_points(trials)
    ]
    header = ["test", "level", "people", "trials", "right", "accuracy", "chance", "corrected"]
    notes = [
        f"{len(trials)} trials of {len(trials.people)} people. Intervals are of 95 %, with people "
        "as clusters.",
        "Corrected: 0 at chance, 1 without error.",
    ]
    return Summary([Table(header, rows)], notes=notes)

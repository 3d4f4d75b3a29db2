"""Trials of people as model-vs-human has them, in its folder ``raw-data``.

One file for each person and session, with the columns subj, session, trial, rt, object_response,
category, condition and imagename (Geirhos et al. 2021).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from fechner.errors import FechnerError
from fechner.human.trials import HumanTrial, HumanTrials
from fechner.stimuli.picture_sets.conditions import (
    condition_name,
    known_categories,
    picture_name,
)

_COLUMNS = ("subj", "object_response", "category", "condition", "imagename")

#: How names of people begin; other files in the same folders are those of networks.
_PERSON = "subject-"

#: Everybody chooses from 16 categories.
_CHANCE = 1 / 16


def given_test(experiment: str) -> str:
    """Return the test that shows the pictures of an experiment.

    Examples
    --------
    >>> given_test("cue-conflict")
    'given-cue-conflict'
    """
    return f"given-{experiment}"


def raw_files(path: Path) -> Sequence[Path]:
    """Return the files of people in a folder and the folders in it; a file is itself."""
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob(f"*_{_PERSON}*.csv"))
    if not found:
        raise FechnerError(
            f"{path} has no files named EXPERIMENT_{_PERSON}01_session_1.csv, as model-vs-human's "
            "raw-data has; name a CSV file."
        )
    return found


def is_raw_data(path: Path) -> bool:
    """Whether a file is one of model-vs-human: it names people and pictures as these do."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            header = file.readline(1000)
    except OSError:
        return False
    return {"subj", "imagename"} <= {name.strip().lower() for name in header.split(",")}


def read_raw_data(path: Path) -> HumanTrials:
    """Read the answers of a person; the experiment is what the name of the file begins with.

    An answer ``na``, given by nobody in time, is wrong; any other that is none of the categories is
    an error.
    """
    experiment, *rest = path.name.split("_")
    if not rest:
        raise FechnerError(f"{path} does not begin with the name of its experiment and '_'.")
    trials, answered = [], dict[str, int]()
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
        lacking = [name for name in _COLUMNS if name not in reader.fieldnames]
        if lacking:
            raise FechnerError(f"{path} lacks the column {', '.join(lacking)}.")
        for row in reader:
            cells = {name: (row[name] or "").strip() for name in _COLUMNS}
            shown = picture_name(cells["imagename"], cells["category"])
            if shown is None or not cells["subj"]:
                raise FechnerError(
                    f"{path}, line {reader.line_num}: it names no person, category or picture."
                )
            answered.setdefault(cells["object_response"], reader.line_num)
            trials.append(
                HumanTrial(
                    cells["subj"],
                    given_test(experiment),
                    cells["category"],
                    0.0,
                    cells["object_response"],
                    cells["object_response"] == cells["category"],
                    _CHANCE,
                    shown.image,
                    condition_name(cells["condition"]),
                )
            )
    if not trials:
        raise FechnerError(f"{path} has names of columns but no trials.")
    known = {"na", *known_categories(), *(trial.label for trial in trials)}
    for answer, line in answered.items():
        if answer not in known:
            raise FechnerError(
                f"{path}, line {line}: '{answer}' is none of the categories, nor na."
            )
    return HumanTrials.of(trials)

"""Trials of people in tests of recognition, one in a row of a CSV file.

Which person, which test, what was shown at which level, what was answered and whether that was
right. Files come from experiments that others ran, so every mistake in one is said in a sentence
with the number of its line. The files of model-vs-human, in its folder ``raw-data``, are read as
they are: one for each person and session, with the columns subj, session, trial, rt,
object_response, category, condition and imagename (Geirhos et al. 2021).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from fechner.errors import FechnerError
from fechner.human.inputs import Row, read_rows

#: Columns that a file must have; those of `OPTIONAL` may be there, and others are ignored.
COLUMNS = ("observer", "test", "class", "level", "response", "correct", "chance")
OPTIONAL = ("picture", "condition")

#: Columns of model-vs-human, how names of people begin there (other files in the same folders are
#: those of networks), and chance: everybody chooses from 16 categories.
_RAW_COLUMNS = ("subj", "object_response", "category", "condition", "imagename")
_PERSON = "subject-"
_RAW_CHANCE = 1 / 16

_TRUE, _FALSE = ("1", "true"), ("0", "false")


@dataclass(frozen=True, slots=True)
class HumanTrial:
    """One trial of one person.

    Parameters
    ----------
    label
        Class of what was shown; the column ``class``.
    level
        How far from the original, in the unit of the test.
    chance
        Share of right answers of somebody who guesses.
    picture
        Which picture of its class was shown: its number or its name; empty if it is not known.
    condition
        What was done to it, of pictures that are given in conditions; their level is 0.
    """

    observer: str
    test: str
    label: str
    level: float
    response: str
    correct: bool
    chance: float
    picture: str = ""
    condition: str = ""


@dataclass(frozen=True)
class HumanTrials:
    """Trials of some people; ``pandas.DataFrame(trials.rows)`` makes a table of them.

    Examples
    --------
    >>> ann = HumanTrial("ann", "mafc-blur", "cat", 2.0, "dog", False, 1 / 3)
    >>> trials = HumanTrials.of([ann])
    >>> len(trials), trials.people, trials.tests, trials.column("label")
    (1, ('ann',), ('mafc-blur',), ['cat'])
    """

    rows: tuple[HumanTrial, ...]

    @classmethod
    def of(cls, rows: Iterable[HumanTrial]) -> HumanTrials:
        """Keep trials in their order."""
        return cls(tuple(rows))

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> list[Any]:
        """Return one field of every trial, by its name in `HumanTrial`."""
        return [getattr(row, name) for row in self.rows]

    @property
    def people(self) -> tuple[str, ...]:
        """Who answered, sorted."""
        return tuple(sorted(set(self.column("observer"))))

    @property
    def tests(self) -> tuple[str, ...]:
        """What was asked, sorted."""
        return tuple(sorted(set(self.column("test"))))

    def where(self, chosen: Callable[[HumanTrial], bool]) -> HumanTrials:
        """Return the trials of which something holds."""
        return HumanTrials.of(row for row in self.rows if chosen(row))

    def of_test(self, test: str) -> HumanTrials:
        """Return the trials of a test."""
        return self.where(lambda row: row.test == test)

    def to_csv(self) -> str:
        """Return the trials as the CSV that is read; numbers keep every bit."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*COLUMNS, *OPTIONAL])
        for row in self.rows:
            writer.writerow([int(v) if isinstance(v, bool) else v for v in astuple(row)])
        return text.getvalue()


def read_trials(path: Path | str) -> HumanTrials:
    """Read trials from a CSV file; the first mistake in it is an error in one sentence.

    The file is UTF-8 with commas between columns and a line of their names: observer, test, class,
    level, response, correct (0, 1, true or false), chance and, if it is known, picture. Columns
    with other names are ignored.
    """
    path = Path(path)
    trials = [_trial(row) for row in read_rows(path, COLUMNS, OPTIONAL)]
    if not trials:
        raise FechnerError(f"{path} has names of columns but no trials; add a row for each.")
    return HumanTrials.of(trials)


def read_all_trials(paths: Sequence[Path | str]) -> HumanTrials:
    """Read trials from several files, or folders with files of model-vs-human.

    The same trial of the same person in two of them is an error: somebody's file is there twice.
    """
    found: list[HumanTrial] = []
    first: dict[tuple[object, ...], tuple[int, Path]] = {}
    for number, path in enumerate(file for given in paths for file in _files(Path(given))):
        rows = (read_raw_data(path) if _is_raw_data(path) else read_trials(path)).rows
        for row in rows:
            key = (row.observer, row.test, row.label, row.level, row.picture, row.condition)
            where = first.setdefault(key, (number, path))
            if row.picture and where[0] != number:
                raise FechnerError(
                    f"{row.observer} answered the same trial ({row.test}, {row.label}, level "
                    f"{row.level:g}) in {where[1]} and in {path}; leave one of them out."
                )
        found += rows
    return HumanTrials.of(found)


def given_test(experiment: str) -> str:
    """Return the test that shows the pictures of an experiment of model-vs-human."""
    return f"given-{experiment}"


def read_raw_data(path: Path) -> HumanTrials:
    """Read a file of model-vs-human; the experiment is what the name of the file begins with.

    An answer ``na``, given by nobody in time, is wrong; any other that is none of the categories is
    an error.
    """
    from fechner.stimuli.conditions import condition_name, known_categories, picture_name

    experiment, *rest = path.name.split("_")
    if not rest:
        raise FechnerError(f"{path} does not begin with the name of its experiment and '_'.")
    trials, answered = [], dict[str, Row]()
    for row in read_rows(path, _RAW_COLUMNS):
        person, answer, category, condition, image = (row[name] for name in _RAW_COLUMNS)
        shown = picture_name(image, category)
        if shown is None or not person:
            row.refuse("names no person, category or picture")
        answered.setdefault(answer, row)
        what = (person, given_test(experiment), category, 0.0, answer, answer == category)
        which = (shown.image, condition_name(condition))
        trials.append(HumanTrial(*what, _RAW_CHANCE, *which))
    if not trials:
        raise FechnerError(f"{path} has names of columns but no trials.")
    known = {"na", *known_categories(), *(trial.label for trial in trials)}
    for answer, row in answered.items():
        if answer not in known:
            row.refuse(f"has the answer '{answer}', which is none of the categories, nor na")
    return HumanTrials.of(trials)


def _files(path: Path) -> Sequence[Path]:
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


def _is_raw_data(path: Path) -> bool:
    """Whether a file names people and pictures as those of model-vs-human do."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            header = file.readline(1000)
    except OSError:
        return False
    return {"subj", "imagename"} <= {name.strip().lower() for name in header.split(",")}


def _trial(row: Row) -> HumanTrial:
    """Read a row."""
    for name in ("observer", "test", "class"):
        if not row[name]:
            row.refuse(f"has no {name}; every trial needs one")
    level = row.number("level")
    if level < 0:
        row.refuse(f"has the level {level:g}; levels are 0 (the original) or above")
    chance = row.number("chance")
    if not 0 <= chance < 1:
        row.refuse(f"has the chance {chance:g}; it is a share from 0 to below 1, such as 0.5")
    right = row["correct"].lower()
    if right not in (*_TRUE, *_FALSE):
        row.refuse(f"has '{row['correct']}' for correct; write 1 or 0, true or false")
    if right in _FALSE and row["response"].lower() == row["class"].lower():
        row.refuse(f"has the response '{row['response']}', which is its class, and is not correct")
    what = (row["observer"], row["test"], row["class"], level, row["response"], right in _TRUE)
    return HumanTrial(*what, chance, *(row.get(name, "") for name in OPTIONAL))

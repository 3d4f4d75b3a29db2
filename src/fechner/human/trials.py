"""Trials of people in tests of recognition, one in a row of a CSV file.

Which person, which test, what was shown at which level, what was answered and whether that was
right. Files come from experiments that others ran, so every mistake in one is said in a sentence
with the number of its line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from fechner.errors import FechnerError
from fechner.human.csv_files import number, read_rows, refuse

#: Columns that a file must have; those of `OPTIONAL` may be there, and others are ignored.
COLUMNS = ("observer", "test", "class", "level", "response", "correct", "chance")
OPTIONAL = ("picture", "condition")

_TRUE, _FALSE = ("1", "true"), ("0", "false")


@dataclass(frozen=True, slots=True)
class HumanTrial:
    """One trial of one person.

    Parameters
    ----------
    observer
        Who answered, such as ``"person-03"``.
    test
        Id of the test, such as ``"mafc-blur"``.
    label
        Class of what was shown; the column ``class``.
    level
        How far from the original, in the unit of the test.
    response
        What was answered, as the file has it.
    correct
        Whether that was right.
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
    """Trials of some people, as columns.

    Parameters
    ----------
    observer, test, label, level, response, correct, chance, picture, condition
        As of a `HumanTrial`, one for each trial.

    Examples
    --------
    >>> ann = HumanTrial("ann", "mafc-blur", "cat", 2.0, "dog", False, 1 / 3)
    >>> trials = HumanTrials.of([ann])
    >>> len(trials), trials.people, trials.tests
    (1, ('ann',), ('mafc-blur',))
    """

    observer: tuple[str, ...]
    test: tuple[str, ...]
    label: tuple[str, ...]
    level: tuple[float, ...]
    response: tuple[str, ...]
    correct: tuple[bool, ...]
    chance: tuple[float, ...]
    picture: tuple[str, ...]
    condition: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[HumanTrial]) -> HumanTrials:
        """Put trials into columns, in their order."""
        kept = list(rows)
        names = [each.name for each in fields(HumanTrial)]
        return cls(*(tuple(getattr(row, name) for row in kept) for name in names))

    def __len__(self) -> int:
        return len(self.observer)

    @property
    def rows(self) -> list[HumanTrial]:
        """The trials, one by one."""
        columns = (getattr(self, each.name) for each in fields(HumanTrial))
        return [HumanTrial(*values) for values in zip(*columns, strict=True)]

    @property
    def people(self) -> tuple[str, ...]:
        """Who answered, sorted."""
        return tuple(sorted(set(self.observer)))

    @property
    def tests(self) -> tuple[str, ...]:
        """What was asked, sorted."""
        return tuple(sorted(set(self.test)))

    def where(self, chosen: Callable[[HumanTrial], bool]) -> HumanTrials:
        """Return the trials of which something holds."""
        return HumanTrials.of(row for row in self.rows if chosen(row))

    def of_test(self, test: str) -> HumanTrials:
        """Return the trials of a test."""
        kept = [place for place, name in enumerate(self.test) if name == test]
        columns = (getattr(self, each.name) for each in fields(HumanTrial))
        return HumanTrials(*(tuple(column[place] for place in kept) for column in columns))

    def to_csv(self) -> str:
        """Return the trials as the CSV that is read; numbers keep every bit."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*COLUMNS, *OPTIONAL])
        for row in self.rows:
            what = (row.observer, row.test, row.label, repr(row.level), row.response)
            answer = (int(row.correct), repr(row.chance))
            writer.writerow([*what, *answer, row.picture, row.condition])
        return text.getvalue()


def read_trials(path: Path | str) -> HumanTrials:
    """Read trials from a CSV file; the first mistake in it is an error in one sentence.

    The file is UTF-8 with commas between columns and a line of their names: observer, test, class,
    level, response, correct (0, 1, true or false), chance and, if it is known, picture. Columns
    with other names are ignored.

    Parameters
    ----------
    path
        The file.
    """
    path = Path(path)
    trials = [_trial(path, line, row) for line, row in read_rows(path, COLUMNS, OPTIONAL)]
    if not trials:
        raise FechnerError(f"{path} has names of columns but no trials; add a row for each.")
    return HumanTrials.of(trials)


def read_all_trials(paths: Sequence[Path | str]) -> HumanTrials:
    """Read trials from several files, such as one for each person.

    The same trial of the same person in two of them is an error: somebody's file is there twice.

    Parameters
    ----------
    paths
        The files; at least one. A folder, and files as model-vs-human has them, are read by
        `fechner.human.model_vs_human`.
    """
    from fechner.human.model_vs_human import is_raw_data, raw_files, read_raw_data

    found: list[HumanTrial] = []
    first: dict[tuple[object, ...], Path | str] = {}
    for path in [file for given in paths for file in raw_files(Path(given))]:
        rows = (read_raw_data(path) if is_raw_data(path) else read_trials(path)).rows
        keys = [_key(row) for row in rows]
        for row, key in zip(rows, keys, strict=True):
            if row.picture and key in first:
                raise FechnerError(
                    f"{row.observer} answered the same trial ({row.test}, {row.label}, level "
                    f"{row.level:g}) in {first[key]} and in {path}; leave one of them out."
                )
        first |= dict.fromkeys(keys, path)
        found += rows
    return HumanTrials.of(found)


def _key(row: HumanTrial) -> tuple[object, ...]:
    return row.observer, row.test, row.label, row.level, row.picture, row.condition


def _trial(path: Path, line: int, row: Mapping[str, str]) -> HumanTrial:
    """Read a row."""
    for name in ("observer", "test", "class"):
        if not row[name]:
            refuse(path, line, f"has no {name}; every trial needs one")
    level = number(path, line, "level", row["level"])
    if level < 0:
        refuse(path, line, f"has the level {level:g}; levels are 0 (the original) or above")
    chance = number(path, line, "chance", row["chance"])
    if not 0 <= chance < 1:
        why = f"has the chance {chance:g}; it is a share from 0 to below 1, such as 0.5"
        refuse(path, line, why)
    right = row["correct"].lower()
    if right not in (*_TRUE, *_FALSE):
        refuse(path, line, f"has '{row['correct']}' for correct; write 1 or 0, true or false")
    if right in _FALSE and row["response"].lower() == row["class"].lower():
        why = f"has the response '{row['response']}', which is its class, and is not correct"
        refuse(path, line, f"{why}; write 1 for correct, or another response")
    return HumanTrial(
        row["observer"],
        row["test"],
        row["class"],
        level,
        row["response"],
        right in _TRUE,
        chance,
        *(row.get(name, "") for name in OPTIONAL),
    )

"""Figures from outside, such as accuracies: read from a CSV and matched with observers.

Beside them stand the sizes of networks, which every run has counted.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.comparing.standings import Entrant, listed

_NAME = "observer"

#: What runs know of networks by themselves, and how it is written; these span decades, so
#: logarithms are regressed on.
COUNTED = {"parameters": "parameters", "gflops": "GFLOPs"}


@dataclass(frozen=True)
class Outside:
    """Figures by column and by the name that the file has for an observer; NaN where empty."""

    file: str
    names: tuple[str, ...]
    columns: Mapping[str, tuple[float, ...]]


def read_outside(path: Path | str, columns: Sequence[str] | None = None) -> Outside:
    """Read a CSV with a column ``observer`` and numbers in others.

    Parameters
    ----------
    columns
        Which to read; the only one there is if None. Those of `COUNTED` need not be there.
    """
    path = Path(path)
    rows = _rows(path)
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    if _NAME not in header:
        there = listed(header) if any(header) else "nothing"
        raise FechnerError(
            f"{path} needs a column '{_NAME}' and others with numbers, separated by commas; its "
            f"first line has {there}."
        )
    repeated = next((name for name in header if header.count(name) > 1), None)
    if repeated is not None:
        raise FechnerError(f"{path} has two columns named '{repeated}'.")
    others = [name for name in header if name and name != _NAME]
    if not others:
        raise FechnerError(f"{path} has no column beside '{_NAME}'; add one with numbers.")
    if columns is None and len(others) > 1:
        raise FechnerError(f"{path} has {listed(others)}: choose by --column.")
    asked = others if columns is None else dict.fromkeys(columns)
    chosen = [name for name in asked if name in others or name not in COUNTED]
    for name in chosen:
        if name not in others:
            raise UnknownNameError("column", name, others, f"{path} has {listed(others)}")
    where = {name: header.index(name) for name in (_NAME, *chosen)}
    names: list[str] = []
    values: dict[str, list[float]] = {name: [] for name in chosen}
    for line, cells in rows[1:]:
        if len(cells) > len(header):
            raise FechnerError(
                f"{path}, line {line}: {len(cells)} cells under {len(header)} columns; put what "
                "holds a comma in quotes."
            )
        cells = [cell.strip() for cell in cells] + [""] * (len(header) - len(cells))
        if cells[where[_NAME]] in names:
            raise FechnerError(f"{path}, line {line}: '{cells[where[_NAME]]}' is there twice.")
        names.append(cells[where[_NAME]])
        for name in chosen:
            values[name].append(_number(cells[where[name]], f"{path}, line {line}", name))
    return Outside(path.name, tuple(names), {name: tuple(values[name]) for name in chosen})


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that hold something, with the number of the line each ends on."""
    try:
        # Spreadsheets put a mark before the first character.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            return [
                (reader.line_num, cells)
                for cells in reader
                if any(cell.strip() for cell in cells) and not cells[0].startswith("#")
            ]
    except FileNotFoundError:
        raise FechnerError(f"there is no file '{path}'.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise FechnerError(f"{path} is no CSV in UTF-8 ({error}).") from error
    except OSError as error:
        raise FechnerError(f"{path} cannot be read: {error.strerror}.") from error


def _number(text: str, where: str, column: str) -> float:
    if not text:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise FechnerError(
            f"{where}: '{text}' in column '{column}' is not a number; leave unknown ones empty."
        )
    return value


def counted(name: str, every: Sequence[Entrant]) -> tuple[dict[str, float], str]:
    """Return the logarithm (base 10) of what was counted of each observer, by label.

    And a line about those of which nothing was counted, empty if there are none.
    """
    known = {each.label: each.complexity.get(name) for each in every}
    found = {label: math.log10(value) for label, value in known.items() if value}
    if not found:
        raise FechnerError(
            f"no {COUNTED[name]} were counted of any observer here; only networks that a run "
            "measured have them."
        )
    left = [label for label in known if label not in found]
    return found, f"No {COUNTED[name]} were counted of {', '.join(left)}." if left else ""


def match(
    outside: Outside, every: Sequence[Entrant]
) -> tuple[list[tuple[Entrant, int]], list[str]]:
    """Find the observers that a file names.

    By label, by fechner's name, or by architecture, with or without the family before it, where a
    published table has only one such.

    Returns
    -------
    tuple of list
        Observers with the row that is theirs; and who was not found, in one line each.
    """
    found: dict[str, tuple[Entrant, int]] = {}
    unknown: list[str] = []
    several: list[str] = []
    for row, name in enumerate(outside.names):
        same = _named(name, every)
        if not same:
            unknown.append(name)
        # Several runs of one observer all have its figure.
        if len({each.observer for each in same}) > 1:
            several.append(f"{name} ({listed([each.label for each in same], 3)})")
            continue
        for each in same:
            if each.label in found:
                other = outside.names[found[each.label][1]]
                raise FechnerError(
                    f"'{other}' and '{name}' in {outside.file} are both {each.label}: keep one."
                )
            found[each.label] = (each, row)
    if not found:
        raise FechnerError(
            f"no name in column '{_NAME}' of {outside.file} is that of an observer here; it has "
            f"{listed(outside.names, 3) or 'none'}, and there are "
            f"{listed([each.label for each in every], 3)}."
        )
    left = [each.label for each in every if each.label not in found]
    lines = [
        f"In {outside.file} but not here: {', '.join(unknown)}." if unknown else "",
        f"Names that could be several, left out: {', '.join(several)}." if several else "",
        f"Here but not in {outside.file}: {', '.join(left)}." if left else "",
    ]
    return list(found.values()), [line for line in lines if line]


def _named(name: str, every: Sequence[Entrant]) -> list[Entrant]:
    """Return whom a name stands for; what comes first among the names of an observer wins."""
    for place in range(max((len(each.names) for each in every), default=0)):
        same = [each for each in every if each.names[place : place + 1] == (name,)]
        if same:
            return same
    return []

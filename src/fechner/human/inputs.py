"""What a user gives, checked: numbers for the models, and CSV files of one's own.

Models take float64 that is finite and in range. What is wrong with a file is said in a sentence,
with its line.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from fechner.arrays import Floats
from fechner.errors import FechnerError, nearest

#: What else separates columns in files that call themselves CSV.
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def checked(
    name: str,
    value: ArrayLike,
    *,
    above: float = 0.0,
    or_zero: bool = False,
    at_most: float = np.inf,
) -> Floats:
    """Return an argument, called ``name``, as an array of finite numbers in a range.

    Examples
    --------
    >>> checked("radius_deg", [1, 2]).tolist()
    [1.0, 2.0]
    >>> checked("radius_deg", 0)
    Traceback (most recent call last):
    ...
    ValueError: radius_deg is 0; it must be finite and above 0.
    """
    array = np.asarray(value, dtype=np.float64)
    large_enough = (array >= 0) if or_zero else (array > above)
    good = np.isfinite(array) & large_enough & (array <= at_most)
    if not good.all():
        bad = array[~good].flat[0]
        need = "0 or more" if or_zero else f"above {above:g}"
        limit = f" and at most {at_most:g}" if at_most < np.inf else ""
        raise ValueError(f"{name} is {bad:g}; it must be finite and {need}{limit}.")
    return array


class Row(dict[str, str]):
    """A row of a file by the names of its columns, with the number of its line."""

    def __init__(self, path: Path, line: int, cells: Mapping[str, str]) -> None:
        super().__init__(cells)
        self.path, self.line = path, line

    def refuse(self, why: str) -> NoReturn:
        """Raise an error about the line."""
        raise FechnerError(f"{self.path}, line {self.line}: it {why}.")

    def number(self, name: str) -> float:
        """Return a cell as a finite number."""
        try:
            value = float(self[name])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            how = "; write decimals with a point" if "," in self[name] else "; write one"
            self.refuse(f"has '{self[name]}' for {name}, which is not a number{how}")
        return value


def read_rows(
    path: Path, columns: Sequence[str], optional: Sequence[str] = (), comments: bool = False
) -> Iterator[Row]:
    """Read the rows of a file.

    Parameters
    ----------
    columns, optional
        Columns that it must have, and that it may have; others are handed on as they are.
    comments
        Whether lines that begin with ``#`` are passed over.
    """
    text = io.StringIO(_text(path, columns), newline="")
    lines = csv.reader(
        ("\n" if comments and line.startswith("#") else line for line in text), strict=True
    )
    header: list[str] = []
    try:
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [name.strip().lower() for name in cells]
                _check_header(path, header, columns, optional)
                continue
            row = Row(path, lines.line_num, dict(zip(header, map(str.strip, cells), strict=False)))
            if len(cells) != len(header):
                row.refuse(
                    f"has {len(cells)} cells, but there are {len(header)} columns; put quotes "
                    "around text with commas"
                )
            yield row
    except csv.Error as error:
        Row(path, lines.line_num, {}).refuse(f"is not a valid row of CSV ({error})")
    if not header:
        raise FechnerError(f"{path} has only comments; it needs the columns {', '.join(columns)}.")


def _text(path: Path, columns: Sequence[str]) -> str:
    """Return what is in a file, without the mark that some programs begin text with."""
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise FechnerError(f"{path} is a folder; name the CSV file in it.") from None
    except OSError as error:
        raise FechnerError(f"{path} cannot be read: {error.strerror or error}.") from None
    if not content.strip():
        raise FechnerError(f"{path} is empty; it needs the columns {', '.join(columns)}.")
    try:
        if b"\0" in content:  # UTF-16, or no text at all
            raise ValueError
        return content.decode("utf-8-sig")
    except ValueError:
        raise FechnerError(f"{path} is not text in UTF-8; save it as CSV in UTF-8.") from None


def _check_header(
    path: Path, header: Sequence[str], columns: Sequence[str], optional: Sequence[str]
) -> None:
    """Raise an error if names of columns are missing or occur twice."""
    if len(header) == 1:
        for sign, name in _SEPARATORS.items():
            if sign in header[0]:
                raise FechnerError(
                    f"{path} has {name} between its columns; save it with commas, and numbers "
                    "with a decimal point."
                )
    missing = [name for name in columns if name not in header]
    if missing:
        others = [name for name in header if name not in (*columns, *optional)]
        near = nearest(missing[0], others)
        hint = f" ('{near}' may be '{missing[0]}')" if near else ""
        raise FechnerError(
            f"{path} lacks the columns {', '.join(missing)}{hint}; its first line names "
            f"{', '.join(columns)}."
        )
    for name in (*columns, *optional):
        if header.count(name) > 1:
            raise FechnerError(f"{path} has {header.count(name)} columns '{name}'; keep one.")

"""Thresholds of one's own, from a CSV file."""

from __future__ import annotations

import math
from pathlib import Path

from fechner.errors import FechnerError
from fechner.human.csv_files import number, read_rows, refuse
from fechner.human.thresholds import MeasuredThresholds

__all__ = ["read_thresholds"]

_OPTIONAL = ("low", "high", "error_db")

#: A 95 % interval is as many standard errors wide.
_WIDTH = 2 * 1.959964


def read_thresholds(path: Path | str, over: str, citation: str = "") -> MeasuredThresholds:
    r"""Read human thresholds from a CSV file; the first mistake in it is an error in one sentence.

    The file is UTF-8 with commas between columns and a line of their names: the abscissa,
    ``threshold`` (in the unit of the experiment's contrast axis) and, if it is known, how uncertain
    that is: ``low`` and ``high``, the ends of a 95 % interval, or ``error_db``, a standard error in
    20 log10. Lines that begin with ``#`` are comments; columns with other names are ignored.

    Parameters
    ----------
    path
        The file.
    over
        Name of the abscissa: of the column, and of what the experiment varies, such as
        ``"frequency_cpd"``.
    citation
        Key in the bibliography, or the citation itself; without one, the name of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rows = "# Ann, 3 November\nangle_deg,threshold,error_db\n0,0.012,0.8\n90,0.01,0.5\n"
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.csv"
    ...     _ = file.write_text(rows)
    ...     mine = read_thresholds(file, over="angle_deg")
    >>> mine.at, mine.contrasts, mine.error_db, mine.citation
    ((0.0, 90.0), (0.012, 0.01), (0.8, 0.5), 'mine.csv')
    """
    path = Path(path)
    lines: dict[float, int] = {}
    points: list[tuple[float, float, float | None]] = []
    for line, row in read_rows(path, (over, "threshold"), _OPTIONAL, comments=True):
        x = number(path, line, over, row[over])
        if x in lines:
            refuse(path, line, f"has the {over} of line {lines[x]}, {x:g}; average the two")
        lines[x] = line
        threshold = _contrast(path, line, "threshold", row)
        points.append((x, threshold, _error_db(path, line, threshold, row)))
    if not points:
        raise FechnerError(f"{path} has names of columns but no thresholds; add a row for each.")
    points.sort()
    at, contrasts, errors = zip(*points, strict=True)
    return MeasuredThresholds(
        over, at, contrasts, None if None in errors else errors, citation or path.name
    )


def _error_db(path: Path, line: int, threshold: float, row: dict[str, str]) -> float | None:
    """Return the standard error of a threshold, None if the file has none."""
    if "error_db" in row:
        if "low" in row or "high" in row:
            raise FechnerError(
                f"{path} has both error_db and the ends of an interval; leave out either."
            )
        error = number(path, line, "error_db", row["error_db"])
        if error < 0:
            refuse(path, line, f"has the error_db {error:g}; it is 0 or above")
        return error
    missing = [name for name in ("low", "high") if name not in row]
    if len(missing) == 2:
        return None
    if missing:
        raise FechnerError(f"{path} lacks the column {missing[0]}; an interval has two ends.")
    low, high = (_contrast(path, line, name, row) for name in ("low", "high"))
    if not low <= threshold <= high:
        why = f"has the threshold {threshold:g} outside its interval, {low:g} to {high:g}"
        refuse(path, line, f"{why}; put the lower end into low, the upper into high")
    return 20 * math.log10(high / low) / _WIDTH


def _contrast(path: Path, line: int, name: str, row: dict[str, str]) -> float:
    value = number(path, line, name, row[name])
    if not value > 0:
        why = f"has the {name} {value:g}; thresholds are contrasts above 0, no sensitivities or dB"
        refuse(path, line, why)
    return value

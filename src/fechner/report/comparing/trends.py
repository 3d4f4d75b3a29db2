"""Trends: how the scores of many observers go with figures from outside, such as accuracies.

Beside those of a CSV stand the sizes of networks, which every run has counted.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.comparing.standings import (
    NOTHING,
    Standing,
    correction_note,
    goal_of,
    p_header,
    p_values,
    signed,
    stand,
)
from fechner.report.contenders import Entrant, Source, choose, choose_tests, entrants, listed
from fechner.report.tables import Summary, Table, interval
from fechner.scores import Score
from fechner.scores.comparisons import LEVEL, Correction, Regression, corrected, regress
from fechner.scores.panels import Floats

if TYPE_CHECKING:
    import pandas as pd

_NAME = "observer"

#: What runs know of networks by themselves, and how it is written; these span decades, so
#: logarithms are regressed on.
COUNTED = {"parameters": "parameters", "gflops": "GFLOPs"}

#: Columns of the CSV.
_WHOSE = ("figure", "suite", "test", "score", "higher_is_better", "n")
_NUMBERS = ("r", "low", "high", "p", "corrected_p", "slope", "slope_low", "slope_high")
COLUMNS = (*_WHOSE, *_NUMBERS, "note")


@dataclass(frozen=True)
class Trend:
    """How the scores of a test go with a figure.

    Parameters
    ----------
    score
        One of the scores, for its name and direction.
    observers
        Whose points entered, in their order.
    corrected
        The p-value, corrected for all trends that were tested.
    log
        Whether scores are regressed on the logarithm of the figure.
    """

    figure: str
    suite: str
    test: str
    score: Score
    observers: tuple[Standing, ...]
    regression: Regression
    corrected: float = float("nan")
    log: bool = False

    @property
    def title(self) -> str:
        """What scores are regressed on."""
        return f"log10 {self.figure}" if self.log else self.figure

    def drawn(self, x: Floats) -> Floats:
        """Return the figure at places on the regression's abscissa."""
        return np.power(10.0, x) if self.log else x

    @property
    def significant(self) -> int:
        """Whether observers with more of it are closer to people: 1, farther: -1, neither: 0."""
        if not self.corrected < LEVEL:
            return 0
        return int(np.sign(self.regression.r)) * (1 if self.score.higher_is_better else -1)


@dataclass(frozen=True)
class Trends:
    """All trends with the figures of a file, or with what runs counted, which has none."""

    file: str
    trends: tuple[Trend, ...]
    correction: Correction

    @property
    def figures(self) -> list[str]:
        """What scores are regressed on."""
        return list(dict.fromkeys(each.title for each in self.trends))

    @property
    def tested(self) -> int:
        """How many trends were tested."""
        return sum(not np.isnan(each.corrected) for each in self.trends)


def find_trends(
    sources: Sequence[Source],
    file: Path | str,
    columns: Sequence[str] | None = None,
    *,
    observers: Sequence[str] | None = None,
    tests: Sequence[str] | None = None,
    correction: Correction = "holm",
    layer: str | None = None,
    readout: str | None = None,
    progress: bool = False,
) -> tuple[Trends, list[str]]:
    """Regress the scores of every test on figures from outside.

    Parameters
    ----------
    sources
        Runs, their folders, or published tables such as ``"@cai2025"``.
    file, columns
        A CSV with a column ``observer``, and which of its others to take; beside them, or instead
        of a file, ``parameters`` and ``gflops`` are what runs counted of networks.
    observers, tests, layer, readout
        As in ``compare``.
    correction
        How p-values are corrected, over all tests and figures.

    Returns
    -------
    tuple of Trends and list of str
        And what could not be scored or matched, in one line each.
    """
    every = entrants(sources)
    chosen = choose(every, observers) if observers is not None else every
    if not chosen:
        raise FechnerError("this run has no results yet; run some observers first.")
    figures, unmatched = _figures(file, columns, chosen)
    known = [each for each in chosen if any(each.label in own.values for own in figures)]
    standings, problems = stand(known, choose_tests(chosen, tests), layer, readout, progress)
    found = [
        trend
        for own in figures
        for trend in _trends(
            own,
            [
                (standing, own.values.get(each.label, np.nan))
                for each, standing in zip(known, standings, strict=True)
                if each.label in own.values
            ],
        )
    ]
    name = next((own.file for own in figures if own.file), "")
    if not found:
        reasons = [*problems, *(line for each in standings for line in each.not_asked)]
        why = f": {reasons[0].rstrip('.')}" if reasons else ""
        raise FechnerError(f"no observer in {name or 'these runs'} has finished a test{why}.")
    p = corrected([each.regression.p for each in found], correction)
    trends = tuple(
        replace(each, corrected=float(value)) for each, value in zip(found, p, strict=True)
    )
    return Trends(name, trends, correction), [*problems, *unmatched]


@dataclass(frozen=True)
class _Figure:
    """A figure by the labels of observers, and the file that it is from, if it is from one."""

    name: str
    values: Mapping[str, float]
    file: str = ""


def _figures(
    file: Path | str, columns: Sequence[str] | None, every: Sequence[Entrant]
) -> tuple[list[_Figure], list[str]]:
    """Return figures of a file and of runs; and who has none, in one line each."""
    names = [part.strip() for part in str(file).split(",")]
    found: list[_Figure] = []
    lines: list[str] = []
    if Path(file).exists() or Path(file).suffix:
        outside = read_figures(file, columns)
        names = [name for name in columns or () if name not in outside]
        if len(outside.columns):
            matched, lines = match(Path(file).name, list(outside.index), every)
            found = [
                _Figure(
                    name,
                    {label: float(outside[name][own]) for label, own in matched.items()},
                    Path(file).name,
                )
                for name in outside
            ]
    elif columns is not None:
        raise FechnerError(f"--column is for CSV files; leave it out with --against {file}.")
    for name in names:
        if name not in COUNTED:
            there = f"give a CSV file, or {' or '.join(COUNTED)}"
            raise UnknownNameError("figure", name, COUNTED, there)
    for name in dict.fromkeys(names):
        counted = {each.label: each.complexity.get(name) for each in every}
        values = {label: math.log10(value) for label, value in counted.items() if value}
        if not values:
            raise FechnerError(
                f"no {COUNTED[name]} were counted of any observer here; only networks that a run "
                "measured have them."
            )
        found.append(_Figure(COUNTED[name], values))
        if left := [label for label in counted if label not in values]:
            lines.append(f"No {COUNTED[name]} were counted of {', '.join(left)}.")
    return found, lines


def _trends(own: _Figure, matched: Sequence[tuple[Standing, float]]) -> list[Trend]:
    found, figure = [], own.name
    tests = dict.fromkeys((each.suite, test) for each, _ in matched for test in each.scores)
    for suite, test in tests:
        points = [
            (each, value, each.scores[test])
            for each, value in matched
            if each.suite == suite and test in each.scores
        ]
        known = [
            (each, value, score)
            for each, value, score in points
            if np.isfinite(value) and np.isfinite(score.value)
        ]
        line = regress([value for _, value, _ in known], [score.value for _, _, score in known])
        note = line.note.replace("the figure", figure)
        found.append(
            Trend(
                figure,
                suite,
                test,
                points[0][2],
                tuple(each for each, _, _ in known),
                replace(line, note=note),
                log=not own.file,
            )
        )
    return found


# Figures from a file


def read_figures(path: Path | str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a CSV with a column ``observer``, which becomes the index, and numbers in others.

    Parameters
    ----------
    columns
        Which to read; the only one there is if None. Those of `COUNTED` need not be there.
    """
    import pandas as pd

    path = Path(path)
    (_, first), *rows = _lines(path) or [(0, [""])]
    header = [cell.strip() for cell in first]
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
    found: dict[str, list[float]] = {}
    for line, cells in rows:
        if len(cells) > len(header):
            raise FechnerError(
                f"{path}, line {line}: {len(cells)} cells under {len(header)} columns; put what "
                "holds a comma in quotes."
            )
        row = dict.fromkeys(header, "")
        row |= {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
        if row[_NAME] in found:
            raise FechnerError(f"{path}, line {line}: '{row[_NAME]}' is there twice.")
        found[row[_NAME]] = [_number(row[name], f"{path}, line {line}", name) for name in chosen]
    return pd.DataFrame.from_dict(found, "index", columns=chosen)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
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
    try:
        value = float(text or "nan")
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise FechnerError(
            f"{where}: '{text}' in column '{column}' is not a number; leave unknown ones empty."
        )
    return value


def match(
    file: str, names: Sequence[str], every: Sequence[Entrant]
) -> tuple[dict[str, str], list[str]]:
    """Find the observers that a file names.

    By label, by fechner's name, or by architecture, with or without the family before it, where a
    published table has only one such.

    Returns
    -------
    tuple of dict and list
        The name of each observer in the file, by its label; and who was not found, in one line
        each.
    """
    found: dict[str, str] = {}
    unknown: list[str] = []
    several: list[str] = []
    for name in names:
        same = _named(name, every)
        if not same:
            unknown.append(name)
        # Several runs of one observer all have its figure.
        if len({each.observer for each in same}) > 1:
            several.append(f"{name} ({listed([each.label for each in same], 3)})")
            continue
        for each in same:
            if each.label in found:
                raise FechnerError(
                    f"'{found[each.label]}' and '{name}' in {file} are both {each.label}: keep one."
                )
            found[each.label] = name
    if not found:
        raise FechnerError(
            f"no name in column '{_NAME}' of {file} is that of an observer here; it has "
            f"{listed(names, 3) or 'none'}, and there are "
            f"{listed([each.label for each in every], 3)}."
        )
    left = [each.label for each in every if each.label not in found]
    lines = [
        f"In {file} but not here: {', '.join(unknown)}." if unknown else "",
        f"Names that could be several, left out: {', '.join(several)}." if several else "",
        f"Here but not in {file}: {', '.join(left)}." if left else "",
    ]
    return found, [line for line in lines if line]


def _named(name: str, every: Sequence[Entrant]) -> list[Entrant]:
    """Return whom a name stands for; what comes first among the names of an observer wins."""
    for place in range(4):
        same = [each for each in every if _names(each)[place] == name]
        if same:
            return same
    return []


def _names(each: Entrant) -> tuple[str, ...]:
    """Return the names under which a file may know an observer, the surest first."""
    row = each.row
    if row is None or not any(map(str.isalnum, row.architecture)):
        return (each.label, each.observer, "", "")
    return (each.label, each.observer, row.architecture, f"{row.family} {row.architecture}")


# Tables


def summarise_trends(found: Trends) -> Summary:
    """Put trends into sentences and tables."""
    by_figure = {
        name: [each for each in found.trends if each.title == name] for name in found.figures
    }
    notes = [
        "r is Pearson's correlation, and the slope that of the score, each with a 95 % interval "
        "that holds as far as these observers are a fair sample of others.",
        "p and the slope's interval are by Student's t; r's interval is by Fisher's z, as wide as "
        "leaves out 0 just where p < 0.05.",
        f"{correction_note(found.correction, found.tested, 'trends')} A trend is significant by "
        f"{p_header(found.correction)[-1]} < {LEVEL:g}; {NOTHING} stands where it is not.",
    ]
    rows = [_record(each) for each in found.trends]
    return Summary(
        [_table(name, trends, found) for name, trends in by_figure.items()],
        [_verdict(name, trends) for name, trends in by_figure.items()],
        notes,
        columns=COLUMNS,
        rows=rows,
        details={
            "file": found.file,
            "correction": found.correction,
            "tested": found.tested,
            "trends": [
                {**row, "points": _points(each)}
                for row, each in zip(rows, found.trends, strict=True)
            ],
        },
    )


def _verdict(figure: str, trends: list[Trend]) -> str:
    closer = [each.test for each in trends if each.significant == 1]
    farther = [each.test for each in trends if each.significant == -1]
    n = len(trends)
    tests = f"{n} tests" if n > 1 else "the one test"
    goal = goal_of(each.observers[0].best for each in trends if each.observers)
    if not closer and not farther:
        return f"{figure}: no trend is significant in {f'any of {tests}' if n > 1 else tests}."
    said = [
        f"observers with more of it are {where} {goal} in {', '.join(which)}"
        for where, which in (("closer to", closer), ("farther from", farther))
        if which
    ]
    if len(closer) + len(farther) < n:
        said.append(f"no trend is significant in {n - len(closer) - len(farther)} of {tests}")
    return f"{figure}: {'; '.join(said)}."


def _table(figure: str, trends: list[Trend], found: Trends) -> Table:
    noted = any(each.regression.note for each in trends)
    header = ["test", "score", "n", "r", *p_header(found.correction), "slope"]
    header += [f"with more {trends[0].figure}", *(["note"] if noted else [])]
    body = []
    for each in trends:
        line, goal = each.regression, goal_of([one.best for one in each.observers[:1]])
        body.append(
            [
                each.test,
                f"{each.score.name} {each.score.arrow}",
                str(line.n),
                interval(line.r, line.low, line.high, signed),
                *p_values(line.p, each.corrected, found.correction),
                interval(line.slope, line.slope_low, line.slope_high, _three_digits),
                {1: f"closer to {goal}", -1: f"farther from {goal}", 0: NOTHING}[each.significant],
                *([line.note] if noted else []),
            ]
        )
    source = "" if trends[0].log else f" of {found.file}"
    return Table(header, body, f"Scores against {figure}{source}")


def _three_digits(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value:+.3g}".replace("-", "−")


def _record(each: Trend) -> dict[str, Any]:
    """Return a row of the CSV."""
    known = {
        **vars(each.regression),
        **vars(each),
        "figure": each.title,
        "n": each.regression.n,
        "score": each.score.name,
        "higher_is_better": each.score.higher_is_better,
        "corrected_p": each.corrected,
    }
    return {name: known[name] for name in COLUMNS}


def _points(each: Trend) -> list[dict[str, Any]]:
    line = each.regression
    return [
        {"observer": who.label, "figure": float(x), "score": float(y)}
        for who, x, y in zip(each.observers, line.x, line.y, strict=True)
    ]

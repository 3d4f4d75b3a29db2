"""Trends: how the scores of many observers go with figures from outside, such as accuracies.

Beside those of a CSV stand the sizes of networks, which every run has counted.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fechner.arrays import Floats, pd
from fechner.errors import FechnerError, check_names, listed
from fechner.report.comparing import scoring
from fechner.report.comparing.scoring import ScoredObserver, goal_of, p_cells
from fechner.report.contenders import Entrant, Source, choose, choose_tests, entrants
from fechner.report.tables import Summary, Table, interval, signed, table_of
from fechner.scores import Score
from fechner.scores.comparisons import LEVEL, Correction, Regression, corrected, regress

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
    """How the scores of a test go with a figure, or with its logarithm.

    Parameters
    ----------
    score
        One of the scores, for its name and direction.
    observers
        Whose points entered, in their order.
    corrected
        The p-value, corrected for all trends that were tested.
    """

    figure: str
    suite: str
    test: str
    score: Score
    observers: tuple[ScoredObserver, ...]
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
    chosen = choose(entrants(sources), observers)
    if not chosen:
        raise FechnerError("this run has no results yet; run some observers first.")
    figures, counted, unmatched = _figures(file, columns, chosen)
    known = [each for each in chosen if each.label in figures.index]
    scored, problems = scoring.score_observers(
        known, choose_tests(chosen, tests), layer, readout, progress
    )
    found = []
    for name, values in figures.items():
        points = [(each, x) for each, x in zip(scored, values, strict=True) if np.isfinite(x)]
        of_tests = dict.fromkeys((each.suite, test) for each, _ in points for test in each.scores)
        for suite, test in of_tests:
            own = [(each, x) for each, x in points if each.suite == suite and test in each.scores]
            score = own[0][0].scores[test]
            own = [(each, x) for each, x in own if np.isfinite(each.scores[test].value)]
            line = regress([x for _, x in own], [each.scores[test].value for each, _ in own])
            line = replace(line, note=line.note.replace("the figure", str(name)))
            who = tuple(each for each, _ in own)
            found.append(Trend(str(name), suite, test, score, who, line, log=name in counted))
    source = "" if len(counted) == len(figures.columns) else Path(file).name
    if not found:
        reasons = [*problems, *(line for each in scored for line in each.not_asked)]
        why = f": {reasons[0].rstrip('.')}" if reasons else ""
        raise FechnerError(f"no observer in {source or 'these runs'} has finished a test{why}.")
    p = corrected([each.regression.p for each in found], correction)
    trends = tuple(
        replace(each, corrected=float(value)) for each, value in zip(found, p, strict=True)
    )
    return Trends(source, trends, correction), [*problems, *unmatched]


def _figures(
    file: Path | str, columns: Sequence[str] | None, every: Sequence[Entrant]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return figures by the labels of observers.

    And which of them are logarithms of what runs counted, and who has none, in one line each.
    """
    labels = [each.label for each in every]
    figures = pd.DataFrame(index=labels)
    lines: list[str] = []
    counts = [part.strip() for part in str(file).split(",")]
    if Path(file).exists() or Path(file).suffix:
        table = read_figures(file, columns)
        counts = [name for name in columns or () if name not in table]
        if len(table.columns):
            figures, lines = match(Path(file).name, table, every)
    elif columns is not None:
        raise FechnerError(f"--column is for CSV files; leave it out with --against {file}.")
    check_names("figure", counts, COUNTED, "give a CSV file, or")
    for name in counts:
        values = [each.complexity.get(name) or np.nan for each in every]
        figures[COUNTED[name]] = np.log10(values)
        left = [label for label, value in zip(labels, values, strict=True) if np.isnan(value)]
        if len(left) == len(labels):
            raise FechnerError(
                f"no {COUNTED[name]} were counted of any observer here; only networks that a run "
                "measured have them."
            )
        if left:
            lines.append(f"No {COUNTED[name]} were counted of {', '.join(left)}.")
    return figures.dropna(how="all"), [COUNTED[name] for name in counts], lines


# Figures from a file


def read_figures(path: Path | str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a CSV with a column ``observer``, which becomes the index, and numbers in others.

    Columns that are asked for must be there, but for those of `COUNTED`.
    """
    try:
        # Spreadsheets put a mark before the first character.
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            lines = [[cell.strip() for cell in row] for row in csv.reader(file, strict=True)]
        header, *rows = [row for row in lines if any(row) and row[0][:1] != "#"] or [[""]]
        padded = [row + [""] * (len(header) - len(row)) for row in rows]
        table = pd.DataFrame(padded, columns=header, dtype=object)
    except OSError as error:
        raise FechnerError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, csv.Error) as error:
        raise FechnerError(f"{path} is no CSV in UTF-8 ({error}).") from error
    others = [name for name in header if name and name != _NAME]
    if _NAME not in header or not others:
        raise FechnerError(
            f"{path} needs a column '{_NAME}' and others with numbers, separated by commas; its "
            f"first line has {listed(header) or 'nothing'}."
        )
    for names in (header, list(table[_NAME]) if header.count(_NAME) == 1 else []):
        if twice := [name for name in names if names.count(name) > 1]:
            raise FechnerError(f"{path} has '{twice[0]}' twice: keep one.")
    if columns is None and len(others) > 1:
        raise FechnerError(f"{path} has {listed(others)}: choose by --column.")
    asked = others if columns is None else dict.fromkeys(columns)
    chosen = [name for name in asked if name in others or name not in COUNTED]
    check_names("column", chosen, others, f"{path} has")
    texts = table.set_index(_NAME)[chosen]
    numbers = texts.apply(pd.to_numeric, errors="coerce").astype(float)
    unknown = texts.isin(["", "nan"])
    for row, column in np.argwhere(~(np.isfinite(numbers) | unknown).to_numpy(bool)):
        raise FechnerError(
            f"{path}: '{texts.iloc[row, column]}' in column '{chosen[column]}' is not a number; "
            "leave unknown ones empty."
        )
    return numbers


def match(
    file: str, table: pd.DataFrame, every: Sequence[Entrant]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the figures of a file by the labels of observers; and who was not found.

    A file has labels or names of observers; several runs of one observer share its figures.
    """
    labels = [each.label for each in every]
    names = [each.label if each.label in table.index else each.observer for each in every]
    known = [label for label, name in zip(labels, names, strict=True) if name in table.index]
    if not known:
        raise FechnerError(
            f"no name in column '{_NAME}' of {file} is that of an observer here; it has "
            f"{listed(list(table.index), 3) or 'none'}, and there are {listed(labels, 3)}."
        )
    lines = {
        f"In {file} but not here: ": [name for name in table.index if name not in names],
        f"Here but not in {file}: ": [label for label in labels if label not in known],
    }
    said = [f"{words}{', '.join(which)}." for words, which in lines.items() if which]
    return table.reindex(names).set_axis(labels), said


# Tables


def summarise_trends(found: Trends) -> Summary:
    """Put trends into sentences and tables."""
    notes = [
        "r is Pearson's correlation, and the slope that of the score, each with a 95 % interval "
        "that holds as far as these observers are a fair sample of others.",
        "p and the slope's interval are by Student's t; r's interval is by Fisher's z, as wide as "
        "leaves out 0 just where p < 0.05.",
        scoring.correction_note(found.correction, found.tested, "trends"),
    ]
    tables, findings = [], []
    for name in found.figures:
        own = [each for each in found.trends if each.title == name]
        tables.append(_table(name, own, found))
        findings.append(_verdict(name, own))
    rows = [_row(each) for each in found.trends]
    details = {
        "file": found.file,
        "correction": found.correction,
        "tested": found.tested,
        "trends": rows,
    }
    return Summary(tables, findings, notes, columns=COLUMNS, rows=rows, details=details)


def _verdict(figure: str, trends: list[Trend]) -> str:
    goal = goal_of(each.observers[0].best for each in trends if each.observers)
    tests = {sign: [t.test for t in trends if t.significant == sign] for sign in (1, -1, 0)}
    said = [
        f"observers with more of it are {where} {goal} in {', '.join(tests[sign])}"
        for where, sign in (("closer to", 1), ("farther from", -1))
        if tests[sign]
    ]
    if tests[0]:
        said.append(f"no trend is significant in {len(tests[0])} of {len(trends)} tests")
    return f"{figure}: {'; '.join(said)}."


def _table(figure: str, trends: list[Trend], found: Trends) -> Table:
    rows = []
    for each in trends:
        line, goal = each.regression, goal_of([one.best for one in each.observers[:1]])
        where = {1: f"closer to {goal}", -1: f"farther from {goal}", 0: scoring.NOTHING}
        slope = partial(signed, digits=".3g")
        row = {
            "test": each.test,
            "score": f"{each.score.name} {each.score.arrow}",
            "n": str(line.n),
            "r": interval(line.r, line.low, line.high, signed),
            **p_cells(line.p, each.corrected, found.correction),
            "slope": interval(line.slope, line.slope_low, line.slope_high, slope),
            f"with more {each.figure}": where[each.significant],
        }
        rows.append(row | ({"note": line.note} if line.note else {}))
    source = "" if trends[0].log else f" of {found.file}"
    return table_of(rows, f"Scores against {figure}{source}")


def _row(each: Trend) -> dict[str, Any]:
    """Return a row of the CSV; the points are for JSON."""
    line = each.regression
    known = {
        **vars(line),
        **vars(each),
        "figure": each.title,
        "n": line.n,
        "score": each.score.name,
        "higher_is_better": each.score.higher_is_better,
        "corrected_p": each.corrected,
    }
    points = [
        {"observer": who.label, "figure": float(x), "score": float(y)}
        for who, x, y in zip(each.observers, line.x, line.y, strict=True)
    ]
    return {name: known[name] for name in COLUMNS} | {"points": points}

"""Trends: how the scores of many observers go with figures from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.comparing.outside import COUNTED, counted, match, read_outside
from fechner.report.comparing.standings import (
    Entrant,
    Source,
    Standing,
    choose,
    choose_tests,
    entrants,
    stand,
)
from fechner.scores import Score
from fechner.scores.comparisons import LEVEL, Correction, corrected
from fechner.scores.panels import Floats
from fechner.scores.regression import Regression, regress


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
    def established(self) -> int:
        """Whether observers with more of it are closer to people: 1, farther: -1, unknown: 0."""
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
        outside = read_outside(file, columns)
        names = [name for name in columns or () if name not in outside.columns]
        if outside.columns:
            named, lines = match(outside, every)
            found = [
                _Figure(name, {each.label: values[row] for each, row in named}, outside.file)
                for name, values in outside.columns.items()
            ]
    elif columns is not None:
        raise FechnerError(f"--column is for CSV files; leave it out with --against {file}.")
    for name in names:
        if name not in COUNTED:
            there = f"give a CSV file, or {' or '.join(COUNTED)}"
            raise UnknownNameError("figure", name, COUNTED, there)
    for name in dict.fromkeys(names):
        values, line = counted(name, every)
        found.append(_Figure(COUNTED[name], values))
        lines += [line] if line else []
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

"""Trends: how the scores of many observers go with figures from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fechner.errors import FechnerError
from fechner.report.comparing.outside import match, read_outside
from fechner.report.comparing.standings import (
    Source,
    Standing,
    choose,
    choose_tests,
    entrants,
    stand,
)
from fechner.scores import Score
from fechner.scores.comparisons import LEVEL, Correction, corrected
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
    """

    figure: str
    suite: str
    test: str
    score: Score
    observers: tuple[Standing, ...]
    regression: Regression
    corrected: float = float("nan")

    @property
    def established(self) -> int:
        """Whether observers with more of it are closer to people: 1, farther: -1, unknown: 0."""
        if not self.corrected < LEVEL:
            return 0
        return int(np.sign(self.regression.r)) * (1 if self.score.higher_is_better else -1)


@dataclass(frozen=True)
class Trends:
    """All trends with the figures of a file."""

    file: str
    trends: tuple[Trend, ...]
    correction: Correction

    @property
    def figures(self) -> list[str]:
        """The figures from outside."""
        return list(dict.fromkeys(each.figure for each in self.trends))

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
        A CSV with a column ``observer``, and which of its others to take.
    observers, tests, layer, readout
        As in ``compare``.
    correction
        How p-values are corrected, over all tests and figures.

    Returns
    -------
    tuple of Trends and list of str
        And what could not be scored or matched, in one line each.
    """
    outside = read_outside(file, columns)
    every = entrants(sources)
    chosen = choose(every, observers) if observers is not None else every
    if not chosen:
        raise FechnerError("no observer is there; run some first.")
    named, unmatched = match(outside, chosen)
    standings, problems = stand(
        [each for each, _ in named], choose_tests(chosen, tests), layer, readout, progress
    )
    rows = [row for _, row in named]
    found = [
        trend
        for name, values in outside.columns.items()
        for trend in _trends(name, list(zip(standings, (values[row] for row in rows), strict=True)))
    ]
    if not found:
        reasons = [*problems, *(line for each in standings for line in each.not_asked)]
        why = f": {reasons[0].rstrip('.')}" if reasons else ""
        raise FechnerError(f"no observer in {outside.file} has finished a test{why}.")
    p = corrected([each.regression.p for each in found], correction)
    trends = tuple(
        replace(each, corrected=float(value)) for each, value in zip(found, p, strict=True)
    )
    return Trends(outside.file, trends, correction), [*problems, *unmatched]


def _trends(figure: str, matched: Sequence[tuple[Standing, float]]) -> list[Trend]:
    found = []
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
            )
        )
    return found

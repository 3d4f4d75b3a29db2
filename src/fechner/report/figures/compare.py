"""Figures of comparisons: differences with their intervals, and scores over outside figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError
from fechner.report.comparing.comparison import Comparison, Pair
from fechner.report.comparing.scoring import goal_of, p_name
from fechner.report.comparing.trends import Trend, Trends
from fechner.report.figures.grid import Cell, draw_grid
from fechner.report.figures.style import paper_style
from fechner.report.tables import interval
from fechner.scores import Panel
from fechner.scores.comparisons import LEVEL
from fechner.scores.panels import Axis, Line, Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Groups by their colours: black is for lines through all points; of the grey ones, which are for
#: what is not known, this has a shape that points nowhere.
_BLUE, _ORANGE, _BLACK, _GREY = 0, 1, 6, 39

#: Points of a line: more than are marked one by one.
_FINE = 101


# Differences


def difference_panel(pair: Pair) -> Panel:
    """Return the differences of two observers by test, to the right where the first is closer.

    Where less is better the first is subtracted from the second, so that the side says the same
    in all tests.
    """
    findings, goal = list(reversed(pair.findings)), goal_of([pair.first.best])
    y = np.linspace(-0.5, len(findings) - 0.5, _FINE)
    marks: list[Line | Points] = [Line(np.zeros(_FINE), y, "no difference", _BLACK, human=True)]
    looks = {
        1: (f"first is closer to {goal}", _BLUE),
        -1: (f"second is closer to {goal}", _ORANGE),
        0: ("not told apart", _GREY),
    }
    for row, finding in enumerate(findings):
        found = finding.difference
        if np.isnan(found.value):
            continue
        sign = 1 if found.first.higher_is_better else -1
        label, colour = looks[finding.significant]
        ends = np.linspace(sign * found.low, sign * found.high, _FINE)
        marks.append(Line(ends, np.full(_FINE, float(row)), "", colour))
        at = np.array([sign * found.value]), np.array([float(row)])
        marks.append(Points(*at, label, group=colour))
    return Panel(
        "differences",
        f"{pair.first.label} against {pair.second.label}",
        Axis(
            f"first minus second (↑), or second minus first (↓): "
            f"right of 0 the first is closer to {goal}"
        ),
        Axis("", ticks=tuple(f"{each.test} {each.difference.first.arrow}" for each in findings)),
        tuple(marks),
    )


def difference_figure(comparison: Comparison, columns: int = 2, dpi: float = 300.0) -> Figure:
    """Draw all differences for a paper, a panel for each pair."""
    panels = [difference_panel(pair) for pair in comparison.pairs if pair.findings]
    if not panels:
        raise FechnerError(
            "there is nothing to draw: printed scores have no differences test by test."
        )
    with paper_style():
        return draw_grid([Cell(panel.title, panel) for panel in panels], columns, dpi)


# Trends


def trend_panel(trend: Trend, families: Mapping[str, str], label: str) -> Panel:
    """Return the scores of a test over a figure, with the regression line and its band.

    Parameters
    ----------
    families
        What each observer is coloured as, all of them in the order of their colours.
    label
        What the line is.
    """
    line, score = trend.regression, trend.score
    marks: list[Line | Points] = []
    if np.isfinite(line.slope):
        x = np.linspace(line.x.min(), line.x.max(), _FINE)
        y, low, high = line.line(x)
        # The band is drawn from the best score to chance, or to the worst there is.
        worst = (max if score.best < score.chance else min)(score.chance, *line.y, *y)
        ends = sorted((score.best, worst))
        low, high = np.clip(low, *ends), np.clip(high, *ends)
        marks.append(Line(trend.drawn(x), y, label, _BLACK, low=low, high=high))
    for number, family in enumerate(dict.fromkeys(families.values())):
        own = np.array([families[each.label] == family for each in trend.observers], dtype=bool)
        if own.any():
            colour = number + number // _BLACK  # black is the line's
            marks.append(Points(trend.drawn(line.x[own]), line.y[own], family, group=colour))
    return Panel(
        "trend",
        f"{trend.test} against {trend.figure}",
        Axis(trend.figure, log=trend.log),
        Axis(f"{score.name} {score.arrow}"),
        tuple(marks),
    )


def families_of(found: Trends) -> dict[str, str]:
    """Return what each observer is coloured as: its family, or itself where it is the only one."""
    every = {each.label: each for trend in found.trends for each in trend.observers}
    often = Counter(each.family for each in every.values())
    return {
        label: each.family if each.family and often[each.family] > 1 else label
        for label, each in every.items()
    }


def trend_figure(found: Trends, columns: int = 2, dpi: float = 300.0) -> Figure:
    """Draw all trends for a paper, a panel for each with r; every figure begins a new row."""
    label = "regression line"
    if any(np.isfinite(trend.regression.low) for trend in found.trends):
        label += " with its 95 % band"
    if any(trend.significant for trend in found.trends):
        label += f"; * {p_name(found.correction)} < {LEVEL:g}"
    families = families_of(found)
    cells = []
    for name in found.figures:
        own = [each for each in found.trends if each.title == name]
        named = len(found.figures) > 1
        # Under a heading, if they fit beside each other at a size at which points are seen.
        in_row = named and len(own) <= 2 * columns
        for each in own:
            line = each.regression
            title = f"{each.test}, {each.figure}" if named and not in_row else each.test
            if np.isfinite(line.r):
                title += f": r {interval(line.r, line.low, line.high, _two_digits)}"
                title += " *" if each.significant else ""
            panel = trend_panel(each, families, label) if line.n else None
            cells.append(Cell(title, panel, heading=name if in_row else ""))
    with paper_style():
        return draw_grid(cells, columns, dpi)


def _two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")

"""Figures of comparisons: differences with their intervals, and scores over outside figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError
from fechner.report.comparing.comparison import Comparison, Finding, Pair
from fechner.report.comparing.standings import goal_of, p_header
from fechner.report.comparing.trends import Trend, Trends
from fechner.report.paper.grid import Cell, draw_grid
from fechner.report.paper.lettering import LINE_MM, NO_BREAK, fitted, width_mm
from fechner.report.paper.style import paper_style, settle
from fechner.report.tables import interval
from fechner.scores import Panel
from fechner.scores.comparisons import LEVEL
from fechner.scores.panels import Axis, Floats, Line, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Groups by their colours: black is for lines through all points; of the grey ones, which are for
#: what is not known, this has a shape that points nowhere.
_BLUE, _ORANGE, _BLACK, _GREY = 0, 1, 6, 39

#: Points of a line: more than are marked one by one.
_FINE = 101

#: How near words may come to a point, as a part of the axes.
_NEAR = 0.03

#: What stands beside names at the left edge: ticks and a margin.
_BESIDE_MM = 2.0


# Differences


def difference_panel(pair: Pair) -> Panel:
    """Return the differences of two observers by test, to the right where the first is closer.

    Where less is better the first is subtracted from the second, so that the side says the same
    in all tests.
    """
    n, goal = len(pair.findings), goal_of([pair.first.best])
    marks: list[Line | Points] = [
        Line(
            np.zeros(_FINE), np.linspace(-0.5, n - 0.5, _FINE), "no difference", _BLACK, human=True
        )
    ]
    looks = {
        1: (f"first is closer to {goal}", _BLUE),
        -1: (f"second is closer to {goal}", _ORANGE),
        0: ("not told apart", _GREY),
    }
    for row, finding in enumerate(reversed(pair.findings)):
        found = finding.difference
        if np.isnan(found.value):
            continue
        sign = 1 if found.first.higher_is_better else -1
        label, colour = looks[finding.significant]
        ends = np.linspace(sign * found.low, sign * found.high, _FINE)
        marks.append(Line(ends, np.full(_FINE, float(row)), "", colour))
        marks.append(
            Points(np.array([sign * found.value]), np.array([float(row)]), label, group=colour)
        )
    return Panel(
        "differences",
        f"{pair.first.label} against {pair.second.label}",
        Axis(
            f"first minus second (↑), or second minus first (↓): "
            f"right of 0 the first is closer to {goal}"
        ),
        Axis("test", ticks=tuple(map(_name, reversed(pair.findings)))),
        tuple(marks),
    )


def difference_figure(comparison: Comparison, columns: int = 2, dpi: float = 300.0) -> Figure:
    """Draw all differences for a paper, a panel for each pair."""
    pairs = [pair for pair in comparison.pairs if pair.findings]
    if not pairs:
        raise FechnerError(
            "there is nothing to draw: printed scores have no differences test by test."
        )
    with paper_style():
        panels = [difference_panel(pair) for pair in pairs]
        figure = draw_grid([Cell(panel.title, panel) for panel in panels], columns, dpi)
        _write_tests(figure, panels)
        return settle(figure)


def _name(finding: Finding) -> str:
    return f"{finding.test} {finding.difference.first.arrow}"


def _write_tests(figure: Figure, panels: Sequence[Panel]) -> None:
    """Give names of tests at the left edge also the room of the word 'test', which says less."""
    from matplotlib.ticker import FixedFormatter

    words = next((text for text in figure.texts if text.get_text() == panels[0].y.label), None)
    if words is None:
        return
    words.remove()
    width = figure.get_size_inches()[0] * 25.4
    left = min(axes.get_position().x0 for axes in figure.axes)
    for axes, panel in zip(figure.axes, panels, strict=False):
        shown = [text.get_text() for text in axes.get_yticklabels()]
        if any(shown) and axes.get_position().x0 == left:
            names = fitted(panel.y.ticks, left * width - _BESIDE_MM)
            places = (names[round(place)] for place in axes.get_yticks())
            axes.yaxis.set_major_formatter(FixedFormatter(list(places)))


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
    line = trend.regression
    marks: list[Line | Points] = []
    if np.isfinite(line.slope):
        x = np.linspace(line.x.min(), line.x.max(), _FINE)
        y, low, high = line.line(x)
        ends = _ends(trend, y)
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
        Axis(f"{trend.score.name} {trend.score.arrow}"),
        tuple(marks),
    )


def _ends(trend: Trend, line: Floats) -> tuple[float, float]:
    """Return how far a band is drawn: from the best score to chance, or to the worst there is."""
    side = np.max if trend.score.best < trend.score.chance else np.min
    far = float(side([trend.score.chance, *trend.regression.y, *line]))
    return min(trend.score.best, far), max(trend.score.best, far)


def families_of(found: Trends) -> dict[str, str]:
    """Return what each observer is coloured as: its family, or itself where it is the only one."""
    every = {each.label: each for trend in found.trends for each in trend.observers}
    often = Counter(each.family for each in every.values())
    return {
        label: each.family if each.family and often[each.family] > 1 else label
        for label, each in every.items()
    }


def _line_label(found: Trends) -> str:
    band = any(np.isfinite(trend.regression.low) for trend in found.trends)
    star = any(trend.significant for trend in found.trends)
    words = "regression line" + (" with its 95 % band" if band else "")
    return words + (f"; * {p_header(found.correction)[-1]} < {LEVEL:g}" if star else "")


def trend_figure(found: Trends, columns: int = 2, dpi: float = 300.0) -> Figure:
    """Draw all trends for a paper, a panel for each; every figure begins a new row."""
    families, label = families_of(found), _line_label(found)
    several = len(found.figures) > 1
    rows = [
        [
            Cell(
                f"{trend.test}, {trend.figure}" if several else trend.test,
                trend_panel(trend, families, label) if trend.regression.n else None,
            )
            for trend in found.trends
            if trend.title == name
        ]
        for name in found.figures
    ]
    with paper_style():
        figure = _draw_rows(rows, columns, dpi)
        for axes, trend in zip(figure.axes, found.trends, strict=False):
            _write_correlation(axes, trend)
        return settle(figure)


def _draw_rows(rows: Sequence[Sequence[Cell]], columns: int, dpi: float) -> Figure:
    """Draw panels so that each group of them begins a row, if a page has the room.

    How many stand beside each other depends on how many places there are, so the number of holes
    that fill up rows is found by trying.
    """
    figure = draw_grid([cell for row in rows for cell in row], columns, dpi)
    across, tried = _across(figure, sum(map(len, rows))), {0}
    while len(rows) > 1 and max(map(len, rows)) > 1 and across not in tried:
        tried.add(across)
        cells: list[Cell | None] = []
        for row in rows:
            cells += [*row, *[None] * (-len(row) % across)]
        # Titles must differ, also those that cannot be seen.
        filled = [cell or Cell(NO_BREAK * (k + 1), None) for k, cell in enumerate(cells)]
        try:
            padded = draw_grid(filled, columns, dpi)
        except FechnerError:
            break
        if _across(padded, len(filled)) == across:
            for axes in [padded.axes[k] for k, cell in enumerate(cells) if cell is None]:
                axes.remove()
            return padded
        across = _across(padded, len(filled))
    return figure


def _across(figure: Figure, n: int) -> int:
    """Return how many of the first n axes stand beside each other."""
    return len({round(axes.get_position().x0, 6) for axes in figure.axes[:n]})


def _write_correlation(axes: Axes, trend: Trend) -> None:
    """Write r with its interval where it hides the fewest points."""
    line = trend.regression
    if not np.isfinite(line.r):
        return
    words = f"r {interval(line.r, line.low, line.high, _two_digits)}"
    words += " *" if trend.significant else ""
    box = axes.get_window_extent()
    dots_per_mm = axes.get_figure(root=True).dpi / 25.4  # type: ignore[union-attr]
    wide = width_mm(words) * dots_per_mm / box.width
    high = LINE_MM * dots_per_mm / box.height
    points = axes.transData.transform(np.stack([trend.drawn(line.x), line.y], axis=1))
    x, y = axes.transAxes.inverted().transform(points).T
    sides = {"left": (0.03, 0.03), "right": (0.97, 0.97 - wide), "center": (0.5, 0.5 - wide / 2)}
    hidden = {
        (anchor, side, bottom): np.sum(
            (abs(x - left - wide / 2) < wide / 2 + _NEAR)
            & (abs(y - bottom - high / 2) < high / 2 + _NEAR)
        )
        for bottom in (0.97 - high, 0.03)
        for side, (anchor, left) in sides.items()
    }
    anchor, side, bottom = min(hidden, key=lambda place: hidden[place])
    axes.text(
        anchor,
        bottom,
        words,
        transform=axes.transAxes,
        ha=side,
        va="bottom",
        bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0.0, "pad": 0.6},
        zorder=1.5,  # points are drawn over it
    )


def _two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")

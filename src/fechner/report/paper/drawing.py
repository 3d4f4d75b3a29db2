"""How the marks of a panel are drawn for print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.report.extents import has_cells
from fechner.report.palettes import group_colours
from fechner.report.paper.style import INK, MARKERS, PALETTE
from fechner.report.paper.surfaces import (
    CASING,
    CASING_PT,
    ON_SURFACE_PT,
    draw_cells,
    draw_surface,
    has_surface,
)
from fechner.scores.panels import Axis, Bars, Floats, Line, Panel, Points, Surface, Vertical

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

LineStyle = tuple[float, tuple[float, ...]]

#: Dashes of what people did, and dots of what answers at random do.
PEOPLE: LineStyle = (0.0, (3.2, 1.6))
CHANCE: LineStyle = (0.0, (1.0, 1.4))
#: How much of the room between two names bars take.
_BARS_FILL = 0.8
#: More points than this are drawn without markers.
_MARKED = 40
#: Lines of a fan, and levels to compare with.
_FAN_PT, _GUIDE_PT, _GUIDE = 0.45, 0.7, "#777777"
#: Points of what people did, and their intervals.
_PEOPLE_PT, _WHISKER_PT = 18.0, 0.8


def draw(panel: Panel, axes: Axes, norms: dict[Axis, Normalize]) -> None:
    """Draw the marks of a panel.

    Parameters
    ----------
    norms
        What colours of points mean, by the axis of colours: the same on all panels.
    """
    cased = has_surface(panel)
    # Many bands over each other would hide the lines.
    bands = sum(isinstance(mark, Line) and mark.low is not None for mark in panel.marks)
    faint = min(0.18, 0.5 / max(bands, 1))
    tones = tones_of(panel)
    for mark in panel.marks:
        if isinstance(mark, Surface):
            if has_cells(panel):
                draw_cells(mark, axes, panel)
            else:
                draw_surface(mark, axes)
        elif isinstance(mark, Line):
            _draw_line(mark, axes, line_style(mark, cased, tones), cased, faint)
        elif isinstance(mark, Bars):
            _draw_bars(mark, axes, sorted({m.group for m in panel.marks if isinstance(m, Bars)}))
        elif isinstance(mark, Vertical):
            _draw_vertical(mark, axes, vertical_style(mark, tones), panel.x.log)
        elif isinstance(mark, Points):
            _draw_points(mark, axes, norms, tones)


def tones_of(panel: Panel) -> tuple[str, ...]:
    """Return colours that stand for groups, or tell their order; none where any will do.

    Single colours are told apart more easily than steps of a scale, as long as there are enough of
    them.
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if panel.palette:
        return group_colours(panel)
    marks = [mark for mark in panel.marks if isinstance(mark, Line | Points | Vertical)]
    groups = max((mark.group for mark in marks), default=0) + 1
    if not panel.ordered or groups <= len(PALETTE):
        return ()
    # The yellow end would not be seen on paper.
    return tuple(to_hex(colormaps["viridis"](0.88 * k / (groups - 1))) for k in range(groups))


def _tone(group: int, tones: Sequence[str]) -> str:
    return tones[group] if tones else PALETTE[group % len(PALETTE)]


def line_style(line: Line, cased: bool, tones: Sequence[str] = ()) -> dict[str, Any]:
    """Return how a line is drawn; people dashed, levels to compare with dotted.

    Parameters
    ----------
    tones
        As of ``tones_of``.
    """
    if line.style == "guide":
        return {"color": _GUIDE, "linestyle": CHANCE, "linewidth": _GUIDE_PT}
    colour = _tone(line.group, tones)
    if line.style == "fan":
        return {"color": colour, "linewidth": _FAN_PT, "alpha": 0.7}
    style: dict[str, Any] = {
        "color": INK if cased and line.human else colour,
        "linestyle": PEOPLE if line.human else "-",
        "dash_capstyle": "butt",
        "linewidth": ON_SURFACE_PT if cased else 1.0,
    }
    marked = len(line.x) if line.marked is None else line.marked.sum()
    if not line.human and not cased and marked <= _MARKED:
        style["marker"] = MARKERS[line.group % len(MARKERS)]
        style["markeredgewidth"] = 0.0
    return style


def _draw_line(line: Line, axes: Axes, style: dict[str, Any], cased: bool, faint: float) -> None:
    if line.low is not None and line.high is not None:
        axes.fill_between(
            line.x, line.low, line.high, color=style["color"], alpha=faint, lw=0, zorder=1
        )
    if cased:
        axes.plot(line.x, line.y, color=CASING, linewidth=CASING_PT, zorder=3)
    above = {"": 4.0, "fan": 2.5, "guide": 0.5}[line.style]
    axes.plot(line.x, line.y, zorder=above, **style, markevery=line.marked)
    if line.doubtful is not None and line.doubtful.any():
        open_marks = {"color": CASING, "s": 5.0, "linewidths": 0.5, "edgecolors": style["color"]}
        axes.scatter(line.x[line.doubtful], line.y[line.doubtful], zorder=5, **open_marks)


def point_style(points: Points, tones: Sequence[str] = ()) -> dict[str, Any]:
    """Return how points of one group are drawn; ``tones`` as of ``tones_of``."""
    colour = _tone(points.group, tones)
    if points.human:
        return {"color": colour, "marker": "o"}
    if tones:
        return {"color": colour, "marker": MARKERS[0]}
    return {"color": colour, "marker": MARKERS[points.group % len(MARKERS)]}


def _draw_points(
    points: Points, axes: Axes, norms: dict[Axis, Normalize], tones: Sequence[str]
) -> None:
    shared: dict[str, Any] = {"s": 5.0, "linewidths": 0.0, "zorder": 2}
    style = point_style(points, tones)
    if points.low is not None and points.high is not None:
        known = np.isfinite(points.low) & np.isfinite(points.high) & np.isfinite(points.y)
        ends = np.stack([points.y - points.low, points.high - points.y])[:, known].clip(0.0)
        colour = INK if points.human else style["color"]
        whiskers: dict[str, Any] = {"fmt": "none", "ecolor": colour, "elinewidth": _WHISKER_PT}
        axes.errorbar(points.x[known], points.y[known], ends, capsize=1.5, zorder=5, **whiskers)
    if points.colour is None:
        # Few enough to stand alone, and told apart by their shapes too.
        size = shared["s"] if tones else 11.0
        if points.human:
            outline: dict[str, Any] = {"linewidths": _WHISKER_PT, "edgecolors": INK, "zorder": 6}
            axes.scatter(points.x, points.y, s=_PEOPLE_PT, **style, **outline)
            return
        axes.scatter(points.x, points.y, **style, **{**shared, "s": size})
        return
    norm = norms[points.colour_axis]
    axes.scatter(points.x, points.y, c=points.colour, norm=norm, cmap="viridis", **shared)


def vertical_style(vertical: Vertical, tones: Sequence[str] = ()) -> dict[str, Any]:
    """Return how a place on the abscissa is drawn; that of people dashed."""
    return {
        "color": _tone(vertical.group, tones),
        "linestyle": PEOPLE if vertical.human else "-",
        "linewidth": 0.7,
    }


def _draw_vertical(vertical: Vertical, axes: Axes, style: dict[str, Any], log: bool) -> None:
    if not np.isfinite(vertical.x):
        return
    low, high = vertical.low, vertical.high
    if not np.isnan(low) and not np.isnan(high):
        # An interval that is open reaches farther than any axis.
        farthest = 1e-12 if log else -1e12
        low, high = (low if np.isfinite(low) else farthest), (high if np.isfinite(high) else 1e12)
        axes.axvspan(low, high, color=style["color"], alpha=0.12, lw=0, zorder=0.4)
    axes.axvline(vertical.x, zorder=2.2, **style)


def bar_style(bars: Bars) -> dict[str, Any]:
    """Return how bars of one group are drawn."""
    return {"color": PALETTE[bars.group % len(PALETTE)], "linewidth": 0.0}


def _draw_bars(bars: Bars, axes: Axes, groups: Sequence[int]) -> None:
    width = _BARS_FILL / len(groups)
    at = bars.x + width * (groups.index(bars.group) - (len(groups) - 1) / 2)
    axes.bar(at, bars.y, width, zorder=2, **bar_style(bars))
    known = np.isfinite(bars.low) & np.isfinite(bars.high)
    ends = np.stack([bars.y - bars.low, bars.high - bars.y])[:, known].clip(0.0)
    style: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 0.7, "capsize": 1.5}
    axes.errorbar(at[known], bars.y[known], ends, zorder=3, **style)


def colour_norms(panels: Sequence[Panel]) -> dict[Axis, Normalize]:
    """Return what colours of points mean, over all panels."""
    from matplotlib.colors import LogNorm, Normalize

    values: dict[Axis, list[Floats]] = {}
    for panel in panels:
        for mark in panel.marks:
            if isinstance(mark, Points) and mark.colour is not None:
                values.setdefault(mark.colour_axis, []).append(np.ravel(mark.colour))
    norms: dict[Axis, Normalize] = {}
    for axis, parts in values.items():
        known = np.concatenate(parts)
        known = known[np.isfinite(known) & ((known > 0) | (not axis.log))]
        low, high = (known.min(), known.max()) if len(known) else (1.0, 2.0)
        norms[axis] = (LogNorm if axis.log else Normalize)(low, high)
    return norms

"""How the marks of a panel are drawn for print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.report.palettes import group_colours
from fechner.report.paper.lettering import LINE_MM, number, width_mm
from fechner.report.paper.style import INK, MARKERS, PALETTE
from fechner.scores.panels import Axis, Bars, Floats, Line, Panel, Points, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

LineStyle = tuple[float, tuple[float, ...]]

#: Dashes of what people did, and dots of what answers at random do.
PEOPLE: LineStyle = (0.0, (3.2, 1.6))
CHANCE: LineStyle = (0.0, (1.0, 1.4))
#: What lies beneath lines on a surface, and the line of an observer's own threshold.
CASING = "white"
OWN = PALETTE[1]
#: What could not be shown as meant, whatever the colour beneath.
HATCH = "/" * 5
PALE = (1.0, 1.0, 1.0, 0.45)

_LEVELS = 14
#: From this part of the scale on, colours are lighter than ink can be told from.
_LIGHT = 0.6
ON_SURFACE_PT, _CASING_PT = 1.2, 2.6
#: How much of the room between two names bars take.
_BARS_FILL = 0.8
#: More points than this are drawn without markers.
_MARKED = 40


def has_surface(panel: Panel) -> bool:
    """Whether a panel shows a surface, on which lines need a casing."""
    return any(isinstance(mark, Surface) for mark in panel.marks)


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
            _draw_surface(mark, axes, cells=bool(panel.x.ticks and panel.y.ticks))
        elif isinstance(mark, Line):
            _draw_line(mark, axes, line_style(mark, cased, tones), cased, faint)
        elif isinstance(mark, Bars):
            _draw_bars(mark, axes, sorted({m.group for m in panel.marks if isinstance(m, Bars)}))
        else:
            _draw_points(mark, axes, norms, tones)


# Surfaces


def shades(surface: Surface) -> tuple[Floats, Floats]:
    """Return responses as they are coloured, and the levels of colour; none where all is one.

    On a logarithmic scale whatever is not above 0 has the lowest colour.
    """
    z = np.where(np.isfinite(surface.z), surface.z, np.nan)
    if surface.log and np.any(z > 0):
        lowest = np.nanmin(z[z > 0])
        z = np.log(np.maximum(z, lowest))
    known = z[~np.isnan(z)]
    if len(known) == 0:
        return z, np.empty(0)
    low, high = ends_of(surface, known)
    return z, np.empty(0) if low == high else np.linspace(low, high, _LEVELS + 1)


def ends_of(surface: Surface, known: Floats) -> tuple[float, float]:
    """Return the ends of the scale of colours, of responses as they are coloured."""
    given = [np.log(end) if surface.log else end for end in (surface.low, surface.high)]
    ends = (float(known.min()), float(known.max()))
    low, high = (g if np.isfinite(g) else end for g, end in zip(given, ends, strict=True))
    return low, high


def _draw_cells(surface: Surface, axes: Axes) -> None:
    """Draw a cell for every response, with its number where there is room."""
    z, levels = shades(surface)
    ends = {"vmin": levels[0], "vmax": levels[-1]} if len(levels) else {}
    axes.pcolormesh(surface.x, surface.y, z.T, shading="nearest", cmap="viridis", zorder=0, **ends)
    figure = axes.get_figure(root=True)
    assert figure is not None
    box, mm = axes.get_window_extent(), 25.4 / figure.dpi
    room = box.width * mm / max(1, len(surface.x)), box.height * mm / max(1, len(surface.y))
    words = [[_in_a_cell(value) for value in row] for row in surface.z]
    if max(width_mm(each) for row in words for each in row) + 0.4 > room[0] or room[1] < LINE_MM:
        return
    for i, row in enumerate(words):
        for j, each in enumerate(row):
            share = (z[i, j] - levels[0]) / (levels[-1] - levels[0]) if len(levels) else 0.0
            ink = INK if share > _LIGHT else CASING
            axes.text(surface.x[i], surface.y[j], each, color=ink, ha="center", va="center")


def _in_a_cell(value: float) -> str:
    """Return a number as short as it can be told from others.

    Examples
    --------
    >>> _in_a_cell(0.123), _in_a_cell(-0.5), _in_a_cell(1.0), _in_a_cell(np.nan)
    ('.12', '\N{MINUS SIGN}.50', '1.00', '')
    """
    if not np.isfinite(value):
        return ""
    text = f"{abs(value):.2f}"
    short = text[1:] if text.startswith("0.") else text
    return f"\N{MINUS SIGN}{short}" if value < 0 and float(text) else short


def _draw_surface(surface: Surface, axes: Axes, cells: bool = False) -> None:
    if cells:
        _draw_cells(surface, axes)
        return
    z, levels = shades(surface)
    if len(levels) == 0 or min(z.shape) < 2:
        axes.pcolormesh(surface.x, surface.y, z.T, shading="nearest", cmap="viridis", zorder=0)
    else:
        filled = axes.contourf(
            surface.x, surface.y, np.ma.masked_invalid(z.T), levels, cmap="viridis", zorder=0
        )
        # Neighbouring fills would let the paper through between them.
        filled.set(edgecolor="face", linewidth=0.3)
    if min(z.shape) < 2:
        return
    if surface.doubtful is not None and surface.doubtful.any():
        _hatch(surface, axes)
    values = surface.z[np.isfinite(surface.z)]
    if len(values) and values.min() < surface.criterion < values.max():
        responses = np.ma.masked_invalid(surface.z.T)
        for colour, width in ((CASING, _CASING_PT), (OWN, ON_SURFACE_PT)):
            axes.contour(
                surface.x,
                surface.y,
                responses,
                [surface.criterion],
                colors=[colour],
                linewidths=width,
                zorder=2,
            )


def _hatch(surface: Surface, axes: Axes) -> None:
    """Pale and hatch cells whose stimulus could not be shown as meant."""
    assert surface.doubtful is not None
    doubtful = surface.doubtful.T.astype(float)
    hatched = axes.contourf(
        surface.x, surface.y, doubtful, [0.5, 1.5], colors=[PALE], hatches=[HATCH], zorder=1
    )
    hatched.set(edgecolor=INK, linewidth=0.0)


def scale_numbers(surface: Surface) -> tuple[str, str, str]:
    """Return the lowest response, the criterion and the highest response, empty where unknown."""
    values = surface.z[np.isfinite(surface.z)]
    own = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
    given = (surface.low, surface.high)
    ends = [g if np.isfinite(g) else end for g, end in zip(given, own, strict=True)]
    numbers = (ends[0], surface.criterion, ends[1])
    low, criterion, high = (number(v, 2) if np.isfinite(v) else "" for v in numbers)
    return low, criterion, high


def numbers_fit(surface: Surface, room_mm: float) -> bool:
    """Whether all three numbers have room beside each other."""
    low, criterion, high = map(width_mm, scale_numbers(surface))
    return max(low, high) + criterion / 2 + 0.8 <= room_mm / 2


def draw_scale(surface: Surface, strip: Axes, ends: bool) -> None:
    """Draw the scale of an observer's responses as a strip, with the criterion on it.

    Parameters
    ----------
    ends
        Whether the numbers at its ends are written, too.
    """
    _, levels = shades(surface)
    strip.set_axis_off()
    strip.set(xlim=(0, 1), ylim=(0, 1))
    if len(levels):
        steps = (levels[:-1] + levels[1:])[None] / 2
        colours: dict[str, Any] = {"cmap": "viridis", "vmin": levels[0], "vmax": levels[-1]}
        edges = np.linspace(0, 1, len(levels))
        strip.pcolormesh(edges, [0, 1], steps, edgecolors="face", linewidth=0.3, **colours)
    low, criterion, high = scale_numbers(surface)
    strip.text(0.5, 1.6, criterion, ha="center", va="bottom", color=OWN)
    if ends:
        strip.text(0.0, 1.6, low, ha="left", va="bottom")
        strip.text(1.0, 1.6, high, ha="right", va="bottom")
    if len(levels):
        with np.errstate(invalid="ignore", divide="ignore"):
            at = np.log(surface.criterion) if surface.log else surface.criterion
        if levels[0] <= at <= levels[-1]:
            share = (at - levels[0]) / (levels[-1] - levels[0])
            for colour, width in ((CASING, _CASING_PT), (OWN, ON_SURFACE_PT)):
                strip.plot([share] * 2, [-0.2, 1.2], color=colour, linewidth=width, clip_on=False)


# Lines and points


def tones_of(panel: Panel) -> tuple[str, ...]:
    """Return colours that stand for groups, or tell their order; none where any will do.

    Single colours are told apart more easily than steps of a scale, as long as there are enough of
    them.
    """
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if panel.palette:
        return group_colours(panel)
    marks = [mark for mark in panel.marks if isinstance(mark, Line | Points)]
    groups = max((mark.group for mark in marks), default=0) + 1
    if not panel.ordered or groups <= len(PALETTE):
        return ()
    # The yellow end would not be seen on paper.
    return tuple(to_hex(colormaps["viridis"](0.88 * k / (groups - 1))) for k in range(groups))


def line_style(line: Line, cased: bool, tones: Sequence[str] = ()) -> dict[str, Any]:
    """Return how a line is drawn; people dashed.

    Parameters
    ----------
    tones
        As of ``tones_of``.
    """
    colour = tones[line.group] if tones else PALETTE[line.group % len(PALETTE)]
    style: dict[str, Any] = {
        "color": INK if cased and line.human else colour,
        "linestyle": PEOPLE if line.human else "-",
        "dash_capstyle": "butt",
        "linewidth": ON_SURFACE_PT if cased else 1.0,
    }
    if not line.human and not cased and len(line.x) <= _MARKED:
        style["marker"] = MARKERS[line.group % len(MARKERS)]
        style["markeredgewidth"] = 0.0
    return style


def _draw_line(line: Line, axes: Axes, style: dict[str, Any], cased: bool, faint: float) -> None:
    if line.low is not None and line.high is not None:
        axes.fill_between(
            line.x, line.low, line.high, color=style["color"], alpha=faint, lw=0, zorder=1
        )
    if cased:
        axes.plot(line.x, line.y, color=CASING, linewidth=_CASING_PT, zorder=3)
    axes.plot(line.x, line.y, zorder=4, **style)
    if line.doubtful is not None and line.doubtful.any():
        open_marks = {"color": CASING, "s": 5.0, "linewidths": 0.5, "edgecolors": style["color"]}
        axes.scatter(line.x[line.doubtful], line.y[line.doubtful], zorder=5, **open_marks)


def point_style(points: Points, tones: Sequence[str] = ()) -> dict[str, Any]:
    """Return how points of one group are drawn; ``tones`` as of ``tones_of``."""
    if tones:
        return {"color": tones[points.group], "marker": MARKERS[0]}
    return {
        "color": PALETTE[points.group % len(PALETTE)],
        "marker": MARKERS[points.group % len(MARKERS)],
    }


def _draw_points(
    points: Points, axes: Axes, norms: dict[Axis, Normalize], tones: Sequence[str]
) -> None:
    shared: dict[str, Any] = {"s": 5.0, "linewidths": 0.0, "zorder": 2}
    if points.colour is None:
        # Few enough to stand alone, and told apart by their shapes too.
        size = shared["s"] if tones else 11.0
        axes.scatter(points.x, points.y, **point_style(points, tones), **{**shared, "s": size})
        return
    norm = norms[points.colour_axis]
    axes.scatter(points.x, points.y, c=points.colour, norm=norm, cmap="viridis", **shared)


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

"""How the marks of any panel are drawn for print, and what a legend says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.arrays import Floats
from fechner.report.figures.style import (
    CHANCE,
    CHARACTER_MM,
    INK,
    LINE_MM,
    MARKERS,
    PALETTE,
    PEOPLE,
    number,
    plain,
    size_mm,
)
from fechner.report.panels import DIVERGING, edges_of, group_colours, has_cells, has_surface
from fechner.scores.panels import Axis, Bars, Line, Panel, Points, Surface, Vertical

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

Norms = Mapping[Axis, "Normalize"]
Style = dict[str, Any]
#: Headings of legends, with samples of marks by their words.
Legends = list[tuple[str, dict[str, Any]]]

#: The line of an observer's own threshold on a surface, and widths of lines there.
OWN = PALETTE[1]
_ON_SURFACE_PT, _HALO_PT = 1.2, 2.6
#: What could not be shown as meant, whatever the colour beneath.
_HATCH, _PALE = "/" * 5, (1.0, 1.0, 1.0, 0.45)
_LEVELS = 14
#: Cells that are drawn one by one.
_VECTOR_CELLS = 4000
#: More points than this are drawn without markers.
_MARKED = 40
#: How much of the room between two names bars take.
_BARS_FILL = 0.8


def draw(panel: Panel, axes: Axes, norms: Norms) -> None:
    """Draw the marks of a panel.

    Parameters
    ----------
    norms
        What colours of points mean, by the axis of colours: the same on all panels.
    """
    # Many bands over each other would hide the lines.
    bands = sum(isinstance(mark, Line) and mark.low is not None for mark in panel.marks)
    groups = sorted({mark.group for mark in panel.marks if isinstance(mark, Bars)})
    for mark in panel.marks:
        match mark:
            case Surface():
                if has_cells(panel):
                    _draw_cells(mark, axes, panel)
                else:
                    _draw_surface(mark, axes)
            case Line():
                if has_surface(panel):
                    axes.plot(mark.x, mark.y, color="white", linewidth=_HALO_PT, zorder=3)
                _draw_line(mark, axes, style_of(mark, panel), min(0.18, 0.5 / max(bands, 1)))
            case Bars():
                _draw_bars(mark, axes, groups, style_of(mark, panel))
            case Vertical():
                _draw_vertical(mark, axes, style_of(mark, panel), panel.x.log)
            case Points():
                _draw_points(mark, axes, panel, norms)


# Styles


def _halo() -> list[Any]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=_HALO_PT, foreground="white")]


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


def style_of(mark: Line | Points | Vertical | Bars, panel: Panel) -> Style:
    """Return how a mark is drawn; people dashed or outlined, levels to compare with dotted."""
    tones = tones_of(panel)
    group = mark.group
    colour = tones[group] if tones and not isinstance(mark, Bars) else PALETTE[group % len(PALETTE)]
    marker = MARKERS[group % len(MARKERS)]
    match mark:
        case Bars():
            return {"color": colour, "linewidth": 0.0}
        case Vertical():
            return {"color": colour, "linestyle": PEOPLE if mark.human else "-", "linewidth": 0.7}
        case Points():
            plain_marker = mark.human or tones
            return {"color": colour, "marker": MARKERS[0] if plain_marker else marker}
        case Line(style="guide"):
            return {"color": "#555555", "linestyle": CHANCE, "linewidth": 0.7}
        case Line(style="fan"):
            return {"color": colour, "linewidth": 0.45, "alpha": 0.7}
    style: Style = {
        "color": colour,
        "linestyle": PEOPLE if mark.human else "-",
        "dash_capstyle": "butt",
        "linewidth": 1.0,
    }
    if has_surface(panel):
        return style | {"linewidth": _ON_SURFACE_PT} | ({"color": INK} if mark.human else {})
    marked = len(mark.x) if mark.marked is None else mark.marked.sum()
    if not mark.human and marked <= _MARKED:
        style |= {"marker": marker, "markeredgewidth": 0.0}
    return style


def colour_norms(panels: Sequence[Panel]) -> dict[Axis, Normalize]:
    """Return what colours of points mean, over all panels."""
    from matplotlib.colors import LogNorm, Normalize

    values: dict[Axis, list[Floats]] = {}
    for mark in (mark for panel in panels for mark in panel.marks):
        if isinstance(mark, Points) and mark.colour is not None:
            values.setdefault(mark.colour_axis, []).append(np.ravel(mark.colour))
    norms: dict[Axis, Normalize] = {}
    for axis, parts in values.items():
        known = np.concatenate(parts)
        known = known[np.isfinite(known) & ((known > 0) | (not axis.log))]
        low, high = (known.min(), known.max()) if len(known) else (1.0, 2.0)
        norms[axis] = (LogNorm if axis.log else Normalize)(low, high)
    return norms


# Lines, points, bars


def _draw_line(line: Line, axes: Axes, style: Style, faint: float) -> None:
    colour = style["color"]
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=faint, lw=0, zorder=1)
    above = {"": 4.0, "fan": 2.5, "guide": 0.5}[line.style]
    axes.plot(line.x, line.y, zorder=above, **style, markevery=line.marked)
    if line.doubtful is not None and line.doubtful.any():
        hollow: Style = {"color": "white", "s": 5.0, "linewidths": 0.5, "edgecolors": colour}
        axes.scatter(line.x[line.doubtful], line.y[line.doubtful], zorder=5, **hollow)


def _draw_points(points: Points, axes: Axes, panel: Panel, norms: Norms) -> None:
    style = style_of(points, panel)
    if points.low is not None and points.high is not None:
        colour = INK if points.human else style["color"]
        _draw_intervals(axes, points.x, points.y, points.low, points.high, colour, 5)
    if points.colour is not None:
        style = {"c": points.colour, "norm": norms[points.colour_axis], "cmap": "viridis"}
    # Those that are told apart by their shapes are larger.
    small = points.colour is not None or bool(tones_of(panel))
    how: Style = {"s": 5.0 if small else 11.0, "linewidths": 0.0, "zorder": 2}
    if points.human:
        how = {"s": 18.0, "linewidths": 0.8, "edgecolors": INK, "zorder": 6}
    axes.scatter(points.x, points.y, **how, **style)


def _draw_bars(bars: Bars, axes: Axes, groups: Sequence[int], style: Style) -> None:
    width = _BARS_FILL / len(groups)
    at = bars.x + width * (groups.index(bars.group) - (len(groups) - 1) / 2)
    axes.bar(at, bars.y, width, zorder=2, **style)
    _draw_intervals(axes, at, bars.y, bars.low, bars.high, INK, 3)


def _draw_intervals(
    axes: Axes, x: Floats, y: Floats, low: Floats, high: Floats, colour: str, above: float
) -> None:
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(y)
    ends = np.stack([y - low, high - y])[:, known].clip(0.0)
    how: Style = {"fmt": "none", "elinewidth": 0.8, "capsize": 1.5}
    axes.errorbar(x[known], y[known], ends, ecolor=colour, zorder=above, **how)


def _draw_vertical(vertical: Vertical, axes: Axes, style: Style, log: bool) -> None:
    if not np.isfinite(vertical.x):
        return
    if not np.isnan([vertical.low, vertical.high]).any():
        # An interval that is open reaches farther than any axis.
        low, high = np.clip([vertical.low, vertical.high], 1e-12 if log else -1e12, 1e12)
        axes.axvspan(low, high, color=style["color"], alpha=0.12, lw=0, zorder=0.4)
    axes.axvline(vertical.x, zorder=2.2, **style)


# Surfaces


def _shades(surface: Surface) -> tuple[Floats, float, float, bool]:
    """Return responses as they are coloured, the ends of colours, and whether these are logs.

    On a logarithmic scale whatever is not above 0 has the lowest colour. Ends are NaN if no
    response is known.
    """
    z = np.where(np.isfinite(surface.z), surface.z, np.nan)
    log = surface.log and bool((z > 0).any())
    if log:
        z = np.log(np.maximum(z, np.nanmin(z[z > 0])))
    known = z[~np.isnan(z)]
    own = (known.min(), known.max()) if len(known) else (np.nan, np.nan)
    if surface.diverging and len(known):
        own = (-1.0, 1.0)
    given = np.log([surface.low, surface.high]) if log else (surface.low, surface.high)
    low, high = np.where(np.isfinite(given), given, own)
    return z, float(low), float(high), log


def _colours(surface: Surface) -> Colormap:
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if surface.diverging:
        return LinearSegmentedColormap.from_list("diverging", DIVERGING)
    return colormaps["viridis"]


def _draw_cells(surface: Surface, axes: Axes, panel: Panel) -> None:
    """Draw a cell for every response."""
    z, low, high, _ = _shades(surface)
    ends: Style = {"vmin": low, "vmax": high} if low < high else {}
    x, y = edges_of(surface.x, panel.x.log), edges_of(surface.y, panel.y.log)
    mesh = axes.pcolormesh(x, y, z.T, shading="flat", cmap=_colours(surface), zorder=0, **ends)
    # Thousands of cells are one picture, also in a PDF.
    mesh.set_rasterized(z.size > _VECTOR_CELLS)


def write_cells(panel: Panel | None, axes: Axes) -> None:
    """Write the number of every cell upon it, where they have room; axes have their size then."""
    if panel is None or not has_cells(panel):
        return
    for surface in (mark for mark in panel.marks if isinstance(mark, Surface)):
        room = np.array(size_mm(axes)) / (max(1, len(surface.x)), max(1, len(surface.y)))
        words = [[_short(value) for value in row] for row in surface.z]
        widest = max((len(each) for row in words for each in row), default=0)
        if room[1] < LINE_MM or widest * CHARACTER_MM > room[0]:
            continue
        z, low, high, _ = _shades(surface)
        shares = (z - low) / (high - low) if low < high else np.zeros_like(z)
        light = _colours(surface)(np.nan_to_num(shares))[..., :3] @ (0.299, 0.587, 0.114) > 0.5
        for (i, j), ink in np.ndenumerate(light):
            at = float(surface.x[i]), float(surface.y[j])
            axes.text(*at, words[i][j], color=INK if ink else "white", ha="center", va="center")


def _short(value: float) -> str:
    """Return a number as short as it can be told from others: .12, -.50, 1.00."""
    if not np.isfinite(value):
        return ""
    text = f"{abs(value):.2f}"
    sign = "\N{MINUS SIGN}" if value < 0 and float(text) else ""
    return sign + text.removeprefix("0")


def _draw_surface(surface: Surface, axes: Axes) -> None:
    """Draw responses between which there are others, with the contour of the criterion."""
    z, low, high, _ = _shades(surface)
    colours: Style = {"cmap": _colours(surface), "zorder": 0}
    plane = surface.x, surface.y
    if min(z.shape) < 2 or not low < high:
        axes.pcolormesh(*plane, z.T, shading="nearest", **colours)
    else:
        levels = np.linspace(low, high, _LEVELS + 1)
        filled = axes.contourf(*plane, np.ma.masked_invalid(z.T), levels, **colours)
        # Neighbouring fills would let the paper through between them.
        filled.set(edgecolor="face", linewidth=0.3)
    if min(z.shape) < 2:
        return
    if surface.doubtful is not None and surface.doubtful.any():
        doubtful = surface.doubtful.T.astype(float)
        how: Style = {"colors": [_PALE], "hatches": [_HATCH], "zorder": 1}
        axes.contourf(*plane, doubtful, [0.5, 1.5], **how).set(edgecolor=INK, linewidth=0.0)
    values = surface.z[np.isfinite(surface.z)]
    if len(values) and values.min() < surface.criterion < values.max():
        how = {"colors": [OWN], "linewidths": _ON_SURFACE_PT, "zorder": 2}
        own = axes.contour(*plane, np.ma.masked_invalid(surface.z.T), [surface.criterion], **how)
        own.set(path_effects=_halo())


def draw_scale(surface: Surface, strip: Axes, room_mm: float) -> None:
    """Draw the scale of an observer's responses as a strip, with its numbers above.

    Numbers at the ends stand beside the criterion where there is room.
    """
    _, low, high, log = _shades(surface)
    strip.spines[:].set_visible(False)
    criterion = np.log(surface.criterion) if log and surface.criterion > 0 else surface.criterion
    if low < high:
        steps = np.linspace(0, 1, _LEVELS)[None]
        strip.imshow(steps, aspect="auto", extent=(0, 1, 0, 1), cmap=_colours(surface))
        if low <= criterion <= high:
            share = (criterion - low) / (high - low)
            line: Style = {"color": OWN, "linewidth": _ON_SURFACE_PT, "clip_on": False}
            strip.plot([share] * 2, [-0.2, 1.2], path_effects=_halo(), **line)
    strip.set(xlim=(0, 1), ylim=(0, 1), yticks=[])
    ends = np.exp([low, high]) if log else (low, high)
    values = (ends[0], surface.criterion, ends[1])
    numbers = [number(value, 2) if np.isfinite(value) else "" for value in values]
    first, middle, last = map(len, numbers)
    if (2 * max(first, last) + middle + 2) * CHARACTER_MM > room_mm:
        numbers[::2] = "", ""
    # Labels of ticks at the top, so that titles find their place above them.
    strip.xaxis.tick_top()
    strip.tick_params(length=0, pad=1.0)
    strip.set_xticks([0.0, 0.5, 1.0], numbers)
    for label, side in zip(strip.get_xticklabels(), ("left", "center", "right"), strict=True):
        label.set(horizontalalignment=side, color=OWN if side == "center" else INK)


# Legends


def line_sample(**style: Any) -> Any:
    """Return a piece of a line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def patch(**style: Any) -> Any:
    """Return a piece of a bar for a legend."""
    from matplotlib.patches import Patch

    return Patch(**style)


def legends_of(panels: Sequence[Panel]) -> Legends:
    """Return the headings of legends, and samples of marks by their words.

    There are several where panels give one name different colours; what means the same on all of
    them comes last.
    """
    lines = [line for panel in panels for line in _curves(panel)]
    measured = {line.group for line in lines if not line.human}
    both = bool(measured & {line.group for line in lines if line.human})
    # Where people and observer did the same, colours are named once, and dashes too.
    left_out = measured if both else set()
    several = (both or any(panel.ordered for panel in panels)) and len({m.group for m in lines}) > 1
    common = _common(panels, both)
    # Panels together that draw every name in one colour.
    alike: list[tuple[list[Panel], dict[str, Style]]] = []
    for panel in panels:
        own = _line_styles(panel, left_out)
        for together, styles in alike:
            if all(styles.get(name, look)["color"] == look["color"] for name, look in own.items()):
                together.append(panel)
                styles.update(own | styles)
                break
        else:
            alike.append(([panel], own))
    found = []
    for together, styles in alike:
        heading = together[0].groups if several else ""
        if len(alike) > 1:
            names = ", ".join(dict.fromkeys(panel.name or panel.title for panel in together))
            heading = f"{heading} ({names})" if heading else names
        elif several:
            heading = heading or panels[0].title
        found.append((heading, {name: line_sample(**look) for name, look in styles.items()}))
    if len(found) == 1:
        return [(found[0][0], found[0][1] | common)]
    return [*found, ("", common)] if common else found


def _curves(panel: Panel) -> list[Line]:
    """Return the lines of a panel that legends name by their colour."""
    return [mark for mark in panel.marks if isinstance(mark, Line) and not mark.style]


def _line_styles(panel: Panel, left_out: set[int]) -> dict[str, Style]:
    """Return how lines look by their names, without people's of some groups.

    Lines of one colour that stands for something are named together.
    """
    named: dict[int, dict[str, Line]] = {}
    for line in _curves(panel):
        if line.label and not (line.human and line.group in left_out):
            same = line.group if panel.palette else len(named)
            named.setdefault(same, {}).setdefault(line.label, line)
    return {
        ", ".join(own): style_of(next(iter(own.values())), panel)
        for _, own in sorted(named.items())
    }


def _common(panels: Sequence[Panel], both: bool) -> dict[str, Any]:
    """Return samples of what means the same on all panels."""
    found: dict[str, Any] = {}
    marks = [(mark, panel) for panel in panels for mark in panel.marks]
    for mark, panel in marks:
        match mark:
            case Points(colour=None) if mark.label:
                edge = {"mew": 0.8, "mec": INK} if mark.human else {"mew": 0.0}
                sample = line_sample(linestyle="", **edge, **style_of(mark, panel))
                found.setdefault(mark.label, sample)
            case Vertical() if mark.label and np.isfinite(mark.x):
                style = style_of(mark, panel)
                if not mark.human:
                    style |= {"linestyle": "", "marker": "|", "markersize": 7.0, "mew": 0.9}
                found.setdefault(mark.label, line_sample(**style))
    if both:
        found["people"] = line_sample(color=INK, linestyle=PEOPLE)
        found["observer"] = line_sample(color=INK)
    if any(isinstance(m, Line) and m.doubtful is not None and m.doubtful.any() for m, _ in marks):
        hollow = {"marker": "o", "markerfacecolor": "white", "markeredgewidth": 0.5}
        found["out of the range tested"] = line_sample(color=INK, linestyle="", **hollow)
    for mark, panel in marks:
        if isinstance(mark, Line) and mark.style == "guide" and mark.label:
            found.setdefault(mark.label, line_sample(**style_of(mark, panel)))
        elif isinstance(mark, Bars):
            found.setdefault(mark.label, patch(**style_of(mark, panel)))
    return found | _of_surfaces([mark for mark, _ in marks if isinstance(mark, Surface)])


def _of_surfaces(surfaces: Sequence[Surface]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if any(np.isfinite(surface.criterion) for surface in surfaces):
        own = line_sample(color=OWN, linewidth=_ON_SURFACE_PT)
        found["observer, at its criterion (number above)"] = own
    for name in dict.fromkeys(surface.label for surface in surfaces):
        same = [surface for surface in surfaces if surface.label == name]
        logs = {surface.log for surface in same}
        given = {(surface.low, surface.high) for surface in same if np.isfinite(surface.low)}
        one = len(given) == 1 or (all(surface.diverging for surface in same) and not given)
        whose = "on one scale" if one else "each on its own scale"
        how = " (log or linear)" if len(logs) > 1 else " (log)" if True in logs else ""
        shades = _colours(same[0])(np.linspace(0, 1, 6))
        found[f"{plain(name)}, {whose}{how}"] = tuple(patch(fc=c, linewidth=0.0) for c in shades)
    if any(surface.doubtful is not None and surface.doubtful.any() for surface in surfaces):
        hatched = patch(facecolor="#B4C8CE", edgecolor=INK, hatch=_HATCH, linewidth=0.0)
        found["could not be shown as meant"] = hatched
    return found

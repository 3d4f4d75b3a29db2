"""How surfaces are drawn for print: as contours over a plane, or cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.report.extents import edges_of
from fechner.report.palettes import DIVERGING
from fechner.report.paper.lettering import LINE_MM, number, width_mm
from fechner.report.paper.style import INK, PALETTE
from fechner.scores.panels import Floats, Panel, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

#: What lies beneath lines on a surface, and the line of an observer's own threshold.
CASING = "white"
OWN = PALETTE[1]
ON_SURFACE_PT, CASING_PT = 1.2, 2.6
#: What could not be shown as meant, whatever the colour beneath.
HATCH = "/" * 5
_PALE = (1.0, 1.0, 1.0, 0.45)

_LEVELS = 14
#: Colours of more luma are light enough for ink to be read on.
_LIGHT = 0.5
#: Cells that are drawn one by one.
_VECTOR_CELLS = 4000


def has_surface(panel: Panel) -> bool:
    """Whether a panel shows a surface, on which lines need a casing."""
    return any(isinstance(mark, Surface) for mark in panel.marks)


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
    ends = (-1.0, 1.0) if surface.diverging else (float(known.min()), float(known.max()))
    low, high = (g if np.isfinite(g) else end for g, end in zip(given, ends, strict=True))
    return low, high


def colours_of(surface: Surface) -> Colormap:
    """Return the colours of a surface, from its lowest response to its highest."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if surface.diverging:
        return LinearSegmentedColormap.from_list("diverging", DIVERGING)
    return colormaps["viridis"]


def draw_cells(surface: Surface, axes: Axes, panel: Panel) -> None:
    """Draw a cell for every response, with its number where there is room."""
    z, levels = shades(surface)
    colours = colours_of(surface)
    ends = {"vmin": levels[0], "vmax": levels[-1]} if len(levels) else {}
    x, y = edges_of(surface.x, panel.x.log), edges_of(surface.y, panel.y.log)
    # Thousands of cells are one picture, also in a PDF.
    mesh = axes.pcolormesh(x, y, z.T, shading="flat", cmap=colours, zorder=0, **ends)
    mesh.set_rasterized(z.size > _VECTOR_CELLS)
    figure = axes.get_figure(root=True)
    assert figure is not None
    box, mm = axes.get_window_extent(), 25.4 / figure.dpi
    room = box.width * mm / max(1, len(surface.x)), box.height * mm / max(1, len(surface.y))
    if room[1] < LINE_MM:
        return
    words = [[_in_a_cell(value) for value in row] for row in surface.z]
    if max(width_mm(each) for row in words for each in row) + 0.4 > room[0]:
        return
    for i, row in enumerate(words):
        for j, each in enumerate(row):
            share = (z[i, j] - levels[0]) / (levels[-1] - levels[0]) if len(levels) else 0.0
            ink = INK if _is_light(colours, share) else CASING
            axes.text(surface.x[i], surface.y[j], each, color=ink, ha="center", va="center")


def _is_light(colours: Colormap, share: float) -> bool:
    """Whether ink can be read on a colour."""
    red, green, blue, _ = colours(float(np.nan_to_num(share)))
    return 0.299 * red + 0.587 * green + 0.114 * blue > _LIGHT


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


def draw_surface(surface: Surface, axes: Axes) -> None:
    """Draw responses between which there are others, with the contour of the criterion."""
    z, levels = shades(surface)
    colours = colours_of(surface)
    if len(levels) == 0 or min(z.shape) < 2:
        axes.pcolormesh(surface.x, surface.y, z.T, shading="nearest", cmap=colours, zorder=0)
    else:
        filled = axes.contourf(
            surface.x, surface.y, np.ma.masked_invalid(z.T), levels, cmap=colours, zorder=0
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
        for colour, width in ((CASING, CASING_PT), (OWN, ON_SURFACE_PT)):
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
        surface.x, surface.y, doubtful, [0.5, 1.5], colors=[_PALE], hatches=[HATCH], zorder=1
    )
    hatched.set(edgecolor=INK, linewidth=0.0)


def scale_numbers(surface: Surface) -> tuple[str, str, str]:
    """Return the lowest response, the criterion and the highest response, empty where unknown."""
    values = surface.z[np.isfinite(surface.z)]
    own = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
    if surface.diverging:
        own = (-1.0, 1.0)
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
        colours: dict[str, Any] = {"vmin": levels[0], "vmax": levels[-1]}
        colours["cmap"] = colours_of(surface)
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
            for colour, width in ((CASING, CASING_PT), (OWN, ON_SURFACE_PT)):
                strip.plot([share] * 2, [-0.2, 1.2], color=colour, linewidth=width, clip_on=False)

"""Small multiples: panels side by side on a page, with what they share at the outside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments import Experiment
from fechner.report.figures import marks, style
from fechner.report.figures.axes import Scale, number_ticks, scales, set_axis
from fechner.report.panels import Which, has_surface
from fechner.report.tiles import Pixels, tile_rows
from fechner.scores.panels import Panel, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: The smallest axes in which there is anything to see, and the highest.
_NARROWEST_MM, _LOWEST_MM, _HIGHEST_MM = 19.0, 14.0, 60.0
#: Height of axes over their width, and which part of that height they have at least.
_ASPECT, _FLATTENED = 0.75, 0.6
#: About what stands left of axes, between them, and right of them for each bar of colours.
_LEFT_MM, _BETWEEN_MM, _BAR_MM = 14.0, 2.5, 15.0
#: The longest name of a tick, in characters.
_LONGEST = 20
#: Panels beside each other, before smaller ones are tried: whatever leaves the fewest holes.
_PREFERRED = {1: (2,), 2: (4, 3)}
#: The strip of colours above a surface.
_STRIP_MM = 1.4
#: Stimuli below an axis: their height, with the space to the next row, and their longest name.
_STIMULUS_MM, _ROW_MM, _ROW_NAME_MM = 7.5, 8.1, 16.0
#: Room that a sample in a legend and the space after its words take.
_SAMPLE_MM = 11.0
_POINTS_PER_MM = 72 / 25.4


@dataclass(frozen=True)
class Cell:
    """A place in the grid.

    Parameters
    ----------
    panel
        None where there is nothing to show.
    nothing
        What is said then; a place of which nothing is said stays empty.
    heading
        What panels that stand in one row have in common, such as their observer; it is written
        above them. Empty where each stands for itself.
    """

    title: str
    panel: Panel | None
    nothing: str = "not measured"
    heading: str = ""

    @property
    def is_hole(self) -> bool:
        """Whether the place stays empty."""
        return self.panel is None and not self.nothing


def cells_of(heading: str, panels: Sequence[Panel], names: Sequence[str]) -> list[Cell]:
    """Return the cells of panels that belong together, in the order of the names of all."""
    own = {name_of(panel): panel for panel in panels}
    if len(own) == len(panels) and set(own) <= set(names):
        return [Cell(name, own.get(name), nothing="", heading=heading) for name in names]
    return [Cell(name_of(panel), panel, heading=heading) for panel in panels]


def name_of(panel: Panel) -> str:
    """Return what a panel is called beside others of its kind."""
    return panel.name or panel.title


def draw_grid(
    cells: Sequence[Cell],
    columns: int,
    dpi: float,
    experiment: Experiment | None = None,
) -> Figure:
    """Draw small multiples over so many columns of a page; their axes come first in the figure.

    Parameters
    ----------
    experiment
        Whose stimuli stand below the panels that ask for them: photographs may be resampled,
        patterns may not, so panels without ``rows`` have none in print.
    """
    from matplotlib.cm import ScalarMappable

    page = style.check_columns(columns)
    panels = [cell.panel for cell in cells if cell.panel is not None]
    legends, norms = marks.legends_of(panels), marks.colour_norms(panels)
    grid = _arrange(cells, columns, panels, legends)
    figure = style.new_page(page, dpi)
    host = draw_legends(figure, legends)
    gridspec = host.add_gridspec(grid.rows, grid.across)
    placed: dict[int, Axes] = {}
    for k, cell in enumerate(grid.cells):
        if cell.is_hole:
            continue
        axes = placed[k] = host.add_subplot(gridspec[divmod(k, grid.across)])
        if cell.panel is None:
            middle: Any = {"ha": "center", "va": "center", "transform": axes.transAxes}
            axes.text(0.5, 0.5, cell.nothing, **middle)
            axes.set(xticks=[], yticks=[])
            continue
        marks.draw(cell.panel, axes, norms)
        for surface in (mark for mark in cell.panel.marks if isinstance(mark, Surface)):
            top = 1 + 0.8 / grid.height_mm
            strip = axes.inset_axes((0.0, top, 1.0, _STRIP_MM / grid.height_mm))
            marks.draw_scale(surface, strip, grid.width_mm)
    _write_titles(grid, placed)
    numbered_below = _set_sides(host, grid, placed)
    norm: Any
    for axis, norm in norms.items():
        shades = ScalarMappable(norm, "viridis")
        bar = host.colorbar(shades, ax=list(placed.values()), aspect=18, pad=0.02, shrink=0.9)
        number_ticks(bar.ax.yaxis, Scale(axis, norm.vmin, norm.vmax), 0.5 * grid.height_mm)
        bar.set_label(style.wrapped(style.units(axis.label), 0.8 * grid.height_mm))
    if experiment is not None and any(panel.rows for panel in panels):
        tiles = tile_rows(experiment)
        for k in numbered_below:
            _draw_strips(grid, k, placed[k], experiment, tiles)
    style.fit_height(figure, grid.rows, height_mm=grid.height_mm)
    style.finish(figure)
    for k, axes in placed.items():
        marks.write_cells(grid.cells[k].panel, axes)
    return figure


# Where panels stand


@dataclass(frozen=True)
class _Grid:
    """Cells in rows of axes of about the same size; those of one heading fill whole blocks."""

    cells: Sequence[Cell]
    across: int
    width_mm: float
    height_mm: float

    @property
    def rows(self) -> int:
        return math.ceil(len(self.cells) / self.across)


def _arrange(
    cells: Sequence[Cell],
    columns: int,
    panels: Sequence[Panel],
    legends: marks.Legends,
) -> _Grid:
    """Return the grid with the largest panels that fits on a page.

    Cells with headings fill rows; if these do not fit on a page, each stands for itself.
    """
    strip = style.LINE_MM + _STRIP_MM + 0.8 if any(map(has_surface, panels)) else 0.0
    header = style.LINE_MM + 1.8 + strip
    lines = sum(bool(heading) + math.ceil(len(found) / 4) for heading, found in legends)
    stimuli = max((len(panel.rows) for panel in panels), default=0)
    footer = (lines + 4) * style.LINE_MM + stimuli * _ROW_MM
    names = [len(name) for panel in panels for name in panel.y.ticks]
    names_mm = style.LINE_MM * max((len(panel.y.ticks) for panel in panels), default=0)
    left = max(_LEFT_MM, 7.0 + min(max(names, default=0), _LONGEST) * style.CHARACTER_MM)
    free = style.COLUMNS_MM[columns] - left - _BAR_MM * len(marks.colour_norms(panels))

    def fit(cells: Sequence[Cell], counts: Iterable[int], header: float) -> _Grid | None:
        for beside in counts:
            width = free / beside - _BETWEEN_MM
            wanted = min(max(_ASPECT * width, names_mm), _HIGHEST_MM)
            height = min(
                (style.HEIGHT_MM - footer) / math.ceil(len(cells) / beside) - header, wanted
            )
            if width >= _NARROWEST_MM and height >= max(_LOWEST_MM, _FLATTENED * wanted):
                return _Grid(cells, beside, width, height)
        return None

    block = 1
    if any(cell.heading for cell in cells):
        rows = [list(found) for _, found in groupby(cells, key=lambda cell: cell.heading)]
        block = max(map(len, rows))
        for row in rows:
            row += [Cell("", None, nothing="", heading=row[0].heading)] * (block - len(row))
        together = [cell for row in rows for cell in row]
        counts = range(block, len(together) + 1, block)
        found = fit(together, counts, header + 2 * style.LINE_MM)
        if found is not None:
            return found
        cells = [
            replace(cell, title=": ".join(filter(None, (cell.heading, cell.title))), heading="")
            for cell in cells
            if not cell.is_hole
        ]
    n, preferred = len(cells), _PREFERRED[columns]
    first = n if n <= max(preferred) else min(preferred, key=lambda across: -n % across)
    found = fit(cells, range(first, n + 1), header)
    if found is None:
        most = int(free / (_NARROWEST_MM + _BETWEEN_MM)) * int(
            (style.HEIGHT_MM - footer) / (_LOWEST_MM + header)
        )
        fewer = f"choose at most {max(most // block, 1)} observers"
        raise FechnerError(
            f"{n} panels do not fit on a page of {style.COLUMNS_MM[columns]:g} x "
            f"{style.HEIGHT_MM:g} mm at a size that can be read; {fewer}"
            f"{' or take two columns' if columns == 1 else ''}."
        )
    return found


def _write_titles(grid: _Grid, placed: dict[int, Axes]) -> None:
    """Write titles in about three lines, and headings above the first of their panels."""
    room, headed = 0.95 * grid.width_mm, ""
    names = style.shortened([cell.title for cell in grid.cells], 2.8 * room)
    headings = style.shortened([cell.heading for cell in grid.cells], 2.8 * room)
    for k, axes in placed.items():
        above = headings[k] if headings[k] != headed else ""
        headed = headings[k]
        lines = (style.wrapped(text, room) for text in (above, names[k]) if text)
        axes.set_title("\n".join(lines))


# What stands around panels


def _set_sides(host: Figure | SubFigure, grid: _Grid, placed: dict[int, Axes]) -> list[int]:
    """Put limits, ticks and words on all axes; return below which of them numbers stand.

    Numbers and words stand at the outside, and inside only where they change; words that all
    panels have are said once.
    """
    shown = {k: panel for k in placed if (panel := grid.cells[k].panel) is not None}
    together = {k: grid.cells[k].heading for k in shown}
    numbered_below = []
    which: Which
    for which, room, whole in (
        ("x", grid.width_mm, grid.across * grid.width_mm),
        ("y", grid.height_mm, grid.rows * (grid.height_mm + 2 * style.LINE_MM)),
    ):
        found = scales(shown, which, together)
        words = {k: style.units(scale.axis.label) for k, scale in found.items()}
        once = len(set(words.values())) == 1
        if once:
            label = style.wrapped(next(iter(words.values())), whole)
            (host.supxlabel if which == "x" else host.supylabel)(label)
        for k, scale in found.items():
            beside = k + grid.across if which == "x" else k - 1 if k % grid.across else -1
            set_axis(placed[k], which, scale, room, shown[k])
            if found.get(beside) == scale:
                placed[k].tick_params(which, which="both", labelbottom=False, labelleft=False)
            elif which == "x":
                numbered_below.append(k)
            if not once and words.get(beside) != words[k]:
                placed[k].set(**{f"{which}label": style.wrapped(words[k], room)})
    return numbered_below


def draw_legends(figure: Figure, legends: marks.Legends) -> Figure | SubFigure:
    """Draw legends below each other at the foot of a figure; return what is left of it."""
    from matplotlib.legend_handler import HandlerTuple

    host: Figure | SubFigure = figure
    room = style.size_mm(figure)[0] - 2.0
    for heading, found in reversed(legends):
        if not found:
            continue
        words = [style.wrapped(name, room - _SAMPLE_MM) for name in found]
        host.legend(
            list(found.values()),
            words,
            title=style.wrapped(heading, room) or None,
            loc="outside lower center",
            ncols=_beside(words, room),
            handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        )
        host = host.add_subfigure(host.add_gridspec(1, 1)[0])
    return host


def _beside(words: Sequence[str], room_mm: float) -> int:
    """Return how many entries fit beside each other; they fill columns from top to bottom."""
    longest = np.array([max(map(len, each.split("\n"))) for each in words])
    widths = longest * style.CHARACTER_MM + _SAMPLE_MM
    for across in range(len(widths), 1, -1):
        if sum(column.max() for column in np.array_split(widths, across)) <= room_mm:
            return across
    return 1


def _draw_strips(
    grid: _Grid, k: int, axes: Axes, experiment: Experiment, tiles: Sequence[Pixels]
) -> None:
    """Draw rows of stimuli below the numbers of an axis, each under its abscissa.

    Several rows have their names beside them, left of the first axes. Of stimuli that would lie
    over each other the weaker ones are drawn. What has no place on a log axis stands where that
    names it.
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    panel = grid.cells[k].panel
    assert panel is not None
    samples = experiment.samples()
    rows = [row for row in panel.rows if row < len(tiles)] if panel.stimuli else []
    other = panel.x.named[0][0] if panel.x.named else math.nan
    down = style.LINE_MM + 2.6 + _STIMULUS_MM / 2
    below: Any = {"xycoords": axes.get_xaxis_transform(), "boxcoords": "offset points"}
    for row in rows:
        high, wide = tiles[row].shape[1:3]
        side = _STIMULUS_MM * wide / high
        at = np.array([s.at if s.at > 0 or not panel.x.log else other for s in samples[row]])
        to_share = axes.transScale + axes.transLimits
        shares = to_share.transform(np.column_stack([at, np.ones(len(at))]))[:, 0]
        kept: list[int] = []
        for n in np.argsort(at):
            apart = abs(shares[n] - shares[kept]) * grid.width_mm
            if -1e-6 <= shares[n] <= 1 + 1e-6 and (apart >= side + 0.6).all():
                kept.append(n)
                picture = OffsetImage(tiles[row][n], zoom=_STIMULUS_MM * _POINTS_PER_MM / high)
                place = (0.0, -down * _POINTS_PER_MM)
                box = AnnotationBbox(picture, (at[n], 0.0), place, frameon=False, pad=0.0, **below)
                axes.add_artist(box)
        if k % grid.across == 0 and len(rows) > 1:
            (name,) = style.shortened([samples[row][0].y], _ROW_NAME_MM)
            left = (-(side / 2 + 1.0) * _POINTS_PER_MM, -down * _POINTS_PER_MM)
            how: Any = {"xycoords": "axes fraction", "textcoords": "offset points"}
            axes.annotate(name, (0.0, 0.0), left, ha="right", va="center", **how)
        down += _ROW_MM
    if rows and axes.get_xlabel():
        axes.xaxis.labelpad += len(rows) * _ROW_MM * _POINTS_PER_MM

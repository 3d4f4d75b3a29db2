"""Small multiples: panels side by side on a page, with what they share at the outside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments import Experiment
from fechner.report.figures.axes import Scale, scales, set_axis, ticks_of
from fechner.report.figures.marks import (
    colour_norms,
    draw,
    draw_scale,
    has_surface,
    legends_of,
    scale_numbers,
    write_cells,
)
from fechner.report.figures.style import (
    COLUMNS_MM,
    HEIGHT_MM,
    LARGE_PT,
    LINE_MM,
    TITLE_PT,
    check_columns,
    finish,
    fitted,
    lay_out,
    new_page,
    size_mm,
    units,
    width_mm,
    wrapped,
)
from fechner.report.panels import Which
from fechner.report.tiles import tile_rows
from fechner.scores.panels import Axis, Panel, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import NDArray

#: The smallest axes in which there is anything to see, and the highest.
_NARROWEST_MM, _LOWEST_MM, _HIGHEST_MM = 19.0, 14.0, 70.0
#: About what stands left of axes, and between them.
_LEFT_MM, _BETWEEN_MM = 14.0, 2.5
#: Panels beside each other, before smaller ones are tried: whatever leaves the fewest holes.
_PREFERRED = {1: (2,), 2: (4, 3)}
#: Panels that belong together may be flatter than others, since they fill a row, and less high.
_FLATTEST, _HIGHEST_IN_ROWS_MM = 0.4, 45.0
#: The strip of colours above a surface.
_STRIP_MM = 1.4
#: Stimuli below an axis: their height, with the space to the next row, and their longest name.
_STIMULUS_MM, _ROW_MM, _ROW_NAME_MM = 7.5, 8.1, 16.0
#: Room that a sample in a legend and the space after its words take.
_SAMPLE_MM = 11.0

_BOTH: tuple[Which, Which] = ("x", "y")


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
    across: int | None = None,
) -> Figure:
    """Draw small multiples over so many columns of a page; their axes come first in the figure.

    Parameters
    ----------
    experiment
        Whose stimuli stand below the panels that ask for them: photographs may be resampled,
        patterns may not, so panels without ``rows`` have none in print.
    across
        How many stand beside each other, if that is to be said.
    """
    panels = _panels(cells)
    legends = legends_of(panels)
    below = len(max((panel.rows for panel in panels), key=len)) if experiment else 0
    about = _about_mm(panels, legends, below)
    cells, plan = _plan(cells, columns, about, across)
    height = plan.rows * (plan.height_mm + about.header) + about.footer
    figure = new_page(check_columns(columns), height, dpi)
    host = draw_legends(figure, legends)
    gridspec = host.add_gridspec(plan.rows, plan.across)
    placed = {
        k: host.add_subplot(gridspec[divmod(k, plan.across)])
        for k, cell in enumerate(cells)
        if not cell.is_hole
    }
    norms = colour_norms(panels)
    for k, axes in placed.items():
        panel = cells[k].panel
        if panel is None:
            axes.text(
                0.5, 0.5, cells[k].nothing, ha="center", va="center", transform=axes.transAxes
            )
            axes.set(xticks=[], yticks=[])
            continue
        draw(panel, axes, norms)
        for surface in _surfaces(panel):
            strip = axes.inset_axes(
                (0.0, 1 + 0.8 / plan.height_mm, 1.0, _STRIP_MM / plan.height_mm)
            )
            draw_scale(surface, strip, _numbers_fit(panels, plan.width_mm))
        axes.set_title(" ")
    strips = _set_sides(host, cells, placed, plan)
    for axis, norm in norms.items():
        _draw_colour_bar(host, list(placed.values()), axis, norm)
    _settle(figure, cells, placed, plan, strips, experiment)
    finish(figure)
    for k, axes in placed.items():
        write_cells(cells[k].panel, axes)
    return figure


def _panels(cells: Sequence[Cell]) -> list[Panel]:
    return [cell.panel for cell in cells if cell.panel is not None]


def _surfaces(panel: Panel) -> list[Surface]:
    return [mark for mark in panel.marks if isinstance(mark, Surface)]


def _numbers_fit(panels: Sequence[Panel], room_mm: float) -> bool:
    """Whether the numbers above all surfaces have room beside each other."""
    numbers = [
        map(width_mm, scale_numbers(surface)) for panel in panels for surface in _surfaces(panel)
    ]
    return all(max(low, high) + middle / 2 + 0.8 <= room_mm / 2 for low, middle, high in numbers)


def _settle(
    figure: Figure,
    cells: Sequence[Cell],
    placed: dict[int, Axes],
    plan: _Plan,
    strips: dict[int, bool],
    experiment: Experiment | None,
) -> None:
    """Give axes their height, and write what depends on their widths."""
    lay_out(figure)
    first = next(iter(placed.values()))
    more = plan.height_mm - size_mm(first)[1]
    titles = _write_titles(cells, placed, plan, size_mm(first)[0])
    rows = 0
    if experiment is not None and any(panel.rows for panel in _panels(cells)):
        tiles = tile_rows(experiment)
        rows = max(
            _draw_strip(cells[k].panel, placed[k], named, experiment, tiles)
            for k, named in strips.items()
        )
    more = plan.rows * more + titles * LINE_MM + rows * _ROW_MM
    figure.set_figheight(min(size_mm(figure)[1] + more, HEIGHT_MM) / 25.4)


# Where panels stand


class _Plan(NamedTuple):
    """So many axes beside each other and in rows, each about so large; of them one block a row."""

    across: int
    rows: int
    width_mm: float
    height_mm: float
    block: int = 0


class _About(NamedTuple):
    """About what stands above every panel, below all of them, and right of them, in mm."""

    header: float
    footer: float
    right: float


def _about_mm(panels: Sequence[Panel], legends: Sequence[tuple[str, Any]], strips: int) -> _About:
    lines = sum(bool(heading) + math.ceil(len(found) / 4) for heading, found in legends)
    strip = LINE_MM + _STRIP_MM + 0.8 if any(map(has_surface, panels)) else 0.0
    return _About(
        LINE_MM + 1.8 + strip,
        (lines + 4) * LINE_MM + strips * _ROW_MM,
        15.0 * len(colour_norms(panels)),
    )


def _plan(
    cells: Sequence[Cell], columns: int, about: _About, across: int | None
) -> tuple[list[Cell], _Plan]:
    """Return cells in their places, and the grid with the largest panels that fits on a page.

    Cells with headings fill rows; if these do not fit on a page, each stands for itself.
    """
    block = 1
    if any(cell.heading for cell in cells):
        rows = [list(found) for _, found in groupby(cells, key=lambda cell: cell.heading)]
        block = max(map(len, rows))
        for row in rows:
            row += [Cell("", None, nothing="", heading=row[0].heading)] * (block - len(row))
        header = about.header + LINE_MM
        for beside in range(1, len(rows) + 1):
            found = _grid(len(rows) * block, beside * block, columns, about._replace(header=header))
            if found is not None and found.height_mm >= _FLATTEST * found.width_mm:
                height = min(found.height_mm, _HIGHEST_IN_ROWS_MM)
                flat = [cell for row in rows for cell in row]
                return flat, found._replace(height_mm=height, block=block)
        cells = [
            replace(cell, title=": ".join(filter(None, (cell.heading, cell.title))), heading="")
            for cell in cells
            if not cell.is_hole
        ]
    chosen = _choose_grid(len(cells), columns, about, across)
    if chosen is None:
        fitting = [n for n in range(1, len(cells)) if _choose_grid(n, columns, about, None)]
        observers = max(max(fitting, default=1) // block, 1)
        wider = " or take two columns" if columns == 1 else ""
        raise FechnerError(
            f"{len(cells)} panels do not fit on a page of {COLUMNS_MM[columns]:g} x "
            f"{HEIGHT_MM:g} mm at a size that can be read; choose at most {observers} "
            f"observers{wider}."
        )
    return list(cells), chosen


def _choose_grid(n: int, columns: int, about: _About, across: int | None) -> _Plan | None:
    preferred = _PREFERRED[columns]
    first = n if n <= max(preferred) else min(preferred, key=lambda across: -n % across)
    for beside in range(first, n + 1) if across is None else [across]:
        found = _grid(n, beside, columns, about)
        if found is not None and found.height_mm >= min(0.75 * found.width_mm, _HIGHEST_MM):
            return found
    return None


def _grid(n: int, across: int, columns: int, about: _About) -> _Plan | None:
    width = (check_columns(columns) - _LEFT_MM - about.right) / across - _BETWEEN_MM
    rows = math.ceil(n / across)
    height = min((HEIGHT_MM - about.footer) / rows - about.header, 0.8 * width, _HIGHEST_MM)
    fits = width >= _NARROWEST_MM and height >= _LOWEST_MM
    return _Plan(across, rows, width, height) if fits else None


def _write_titles(cells: Sequence[Cell], placed: dict[int, Axes], plan: _Plan, width: float) -> int:
    """Write titles, in two lines at most, and headings; return how many lines this adds to rows.

    Titles under one heading must differ, or all of them.
    """
    step = plan.block or len(cells)
    lines = [1] * plan.rows
    for start in range(0, len(cells), step):
        own = [k for k in range(start, min(start + step, len(cells))) if k in placed]
        titles = fitted([cells[k].title for k in own], width, TITLE_PT, 2)
        highest = max((title.count("\n") for title in titles), default=0)
        for k, title in zip(own, titles, strict=True):
            above = ""
            if plan.block and k == own[0]:
                (above,) = fitted([cells[k].heading], plan.block * (width + _BETWEEN_MM), TITLE_PT)
                above += "\n" * (highest - title.count("\n") + 1)
            placed[k].set_title(above + title)
            row = k // plan.across
            own_lines = highest + 2 if plan.block else title.count("\n") + 1
            lines[row] = max(lines[row], own_lines)
    return sum(lines) - len(lines)


# What stands around panels


def _set_sides(
    host: Figure | SubFigure, cells: Sequence[Cell], placed: dict[int, Axes], plan: _Plan
) -> dict[int, bool]:
    """Put limits, ticks and words on all axes; return where numbers stand below, and in front.

    Numbers and words stand at the outside, and inside only where they change; words that all
    panels have are said once.
    """
    shown = {k: panel for k in placed if (panel := cells[k].panel) is not None}
    together = {k: cells[k].heading for k in shown}
    rooms = {"x": 0.95 * plan.width_mm, "y": plan.height_mm}
    whole = {"x": plan.across * plan.width_mm, "y": plan.rows * (plan.height_mm + 2 * LINE_MM)}
    numbered_below: dict[int, bool] = {}
    for which in _BOTH:
        found = scales(shown, which, together)
        words = {k: units(scale.axis.label) for k, scale in found.items()}
        once = len(set(words.values())) == 1
        if once:
            label = wrapped(next(iter(words.values())), whole[which], LARGE_PT)
            (host.supxlabel if which == "x" else host.supylabel)(label)
        for k, scale in found.items():
            beside = k + plan.across if which == "x" else k - 1 if k % plan.across else -1
            labelled = found.get(beside) != scale
            set_axis(placed[k], which, scale, rooms[which], labelled)
            if not once and words.get(beside) != words[k]:
                text = wrapped(words[k], rooms[which], LARGE_PT)
                placed[k].set(**{f"{which}label": text})
            if which == "x" and labelled:
                numbered_below[k] = k % plan.across == 0
    return numbered_below


def draw_legends(
    figure: Figure, legends: Sequence[tuple[str, dict[str, Any]]]
) -> Figure | SubFigure:
    """Draw legends below each other at the foot of a figure; return what is left of it."""
    from matplotlib.legend_handler import HandlerTuple

    host: Figure | SubFigure = figure
    room = size_mm(figure)[0] - 2.0
    for heading, found in reversed(legends):
        if not found:
            continue
        words = fitted(list(found), room - _SAMPLE_MM)
        host.legend(
            list(found.values()),
            words,
            title=wrapped(heading, room) or None,
            loc="outside lower center",
            ncols=_beside(words, room),
            handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        )
        host = host.add_subfigure(host.add_gridspec(1, 1)[0])
    return host


def _beside(words: Sequence[str], room_mm: float) -> int:
    """Return how many entries fit beside each other; they fill columns from top to bottom."""
    widths = np.array([width_mm(each) + _SAMPLE_MM for each in words])
    for across in range(len(widths), 1, -1):
        if sum(column.max() for column in np.array_split(widths, across)) <= room_mm:
            return across
    return 1


def _draw_colour_bar(host: Figure | SubFigure, axes: list[Axes], axis: Axis, norm: Any) -> None:
    """Draw what colours of points mean, once for all panels."""
    from matplotlib.cm import ScalarMappable

    bar = host.colorbar(ScalarMappable(norm, "viridis"), ax=axes, aspect=18, pad=0.02, shrink=0.9)
    bar.minorticks_off()
    ticks = ticks_of(Scale(axis, float(norm.vmin), float(norm.vmax)), "y", 30.0)
    bar.set_ticks(list(ticks), labels=list(ticks.values()))
    bar.set_label(wrapped(units(axis.label), 30.0, LARGE_PT))


def _draw_strip(
    panel: Panel | None,
    axes: Axes,
    named: bool,
    experiment: Experiment,
    tiles: Sequence[NDArray[np.uint8]],
) -> int:
    """Draw rows of stimuli below the numbers of an axis, each under its abscissa; count them.

    Parameters
    ----------
    named
        Whether several rows have their names beside them.
    """
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    samples = experiment.samples()
    rows = [row for row in panel.rows if row < len(tiles)] if panel and panel.stimuli else []
    point = 72 / 25.4
    down = LINE_MM + 2.6 + _STIMULUS_MM / 2
    for row in rows:
        assert panel is not None
        high, wide = tiles[row].shape[1:3]
        side = _STIMULUS_MM * wide / high
        for k, at in _kept([sample.at for sample in samples[row]], axes, panel.x, side).items():
            picture = AnnotationBbox(
                OffsetImage(tiles[row][k], zoom=_STIMULUS_MM * point / high),
                (at, 0.0),
                (0.0, -down * point),
                xycoords=axes.get_xaxis_transform(),
                boxcoords="offset points",
                frameon=False,
                pad=0.0,
            )
            axes.add_artist(picture)
        if named and len(rows) > 1:
            (name,) = fitted([samples[row][0].y], _ROW_NAME_MM)
            place = (-(side / 2 + 1.0) * point, -down * point)
            how: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
            axes.annotate(name, (0.0, 0.0), place, ha="right", va="center", **how)
        down += _ROW_MM
    if rows and axes.get_xlabel():
        axes.xaxis.labelpad += len(rows) * _ROW_MM * point
    return len(rows)


def _kept(at: Sequence[float], axes: Axes, axis: Axis, side_mm: float) -> dict[int, float]:
    """Return which stimuli have room, and where: the weakest always.

    What has no place on a log axis stands where that names it.
    """
    other = axis.named[0][0] if axis.named else math.nan
    places = [value if value > 0 or not axis.log else other for value in at]
    scale, room = Scale(replace(axis, reversed=False), *sorted(axes.get_xlim())), size_mm(axes)[0]
    found: dict[int, float] = {}
    for k in sorted(range(len(at)), key=lambda k: places[k]):
        place = scale.place(places[k]) * room if math.isfinite(places[k]) else math.nan
        before = max((scale.place(p) * room for p in found.values()), default=-math.inf)
        if -1e-6 <= place <= room + 1e-6 and place - before >= side_mm + 0.6:
            found[k] = places[k]
    return found

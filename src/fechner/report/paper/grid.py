"""Small multiples: panels side by side on a page, with what they share at the outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fechner.errors import FechnerError
from fechner.report.paper.cells import Cell, Guide, each_by_itself, in_rows, with_same_axes
from fechner.report.paper.drawing import colour_norms, draw
from fechner.report.paper.keys import ColourBar, Keys, keys_of
from fechner.report.paper.layout import Grid, Layout, Room, Side, choose_grid, choose_rows, lay_out
from fechner.report.paper.lettering import (
    LARGE_PT,
    LINE_MM,
    TITLE_PT,
    fitted,
    plain,
    units,
    width_mm,
    wrapped,
)
from fechner.report.paper.scales import Scale, Which, scales, set_scale, ticks_of
from fechner.report.paper.strips import Strips, draw_strip
from fechner.report.paper.style import (
    COLUMNS_MM,
    HEIGHT_MM,
    INK,
    axes_at,
    check_columns,
    settle,
    sheet,
    write_title,
)
from fechner.report.paper.surfaces import draw_scale, has_surface, numbers_fit
from fechner.scores.panels import Panel, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Cell", "Guide", "draw_grid"]

#: The strip of colours above a surface.
_STRIP_MM = 1.4
#: A heading above the panels of a row, with its rule and the space around it.
_HEADING_MM = LINE_MM + 2.2


class _Plan(NamedTuple):
    """Cells in their places.

    Parameters
    ----------
    lines
        How many lines titles may have.
    block
        How many cells beside each other have one heading; 0 where there are none.
    """

    cells: list[Cell]
    grid: Grid
    room: Room
    lines: int
    block: int = 0


def draw_grid(
    cells: Sequence[Cell], columns: int, dpi: float, strips: Strips | None = None
) -> Figure:
    """Draw small multiples over so many columns of a page; their axes come first in the figure.

    Parameters
    ----------
    strips
        Stimuli that stand below the panels that ask for them.
    """
    width = check_columns(columns)
    strips = strips or Strips()
    cells = with_same_axes(cells)
    panels = [cell.panel for cell in cells if cell.panel is not None]
    guides = dict.fromkeys((g.words, g.dashes) for cell in cells for g in cell.guides)
    key = keys_of(panels, list(guides), width)
    norms = colour_norms(panels)
    bars = [ColourBar(axis, norm) for axis, norm in norms.items()]
    strip = LINE_MM + _STRIP_MM + 0.8 if any(map(has_surface, panels)) else 0.0
    foot = max((strips.height_mm(panel) for panel in panels), default=0.0)
    plan = _plan(cells, columns, strip, key, sum(bar.width_mm for bar in bars), foot)
    cells, grid, room = plan.cells, plan.grid, plan.room
    sides, words = _sides(cells, grid, strips)
    names = strips.names_mm(panels)
    layout = lay_out(sides, grid, width, room, words, key.height_mm, beside_mm=names)
    titles = _titles(plan, layout)
    highest = [
        max(title.count("\n") for title in titles[k : k + grid.across])
        for k in range(0, len(titles), grid.across)
    ]
    headers = [room.header - LINE_MM * (plan.lines - 1 - breaks) for breaks in highest]
    layout = lay_out(sides, grid, width, room, words, key.height_mm, headers, names)
    figure = sheet(width, layout.height_mm, dpi)
    axes = []
    for cell, title, both, place in zip(cells, titles, sides, layout.axes, strict=True):
        if cell.is_hole:
            continue
        axes.append(on := axes_at(figure, *place))
        left, bottom, _, height = place
        write_title(figure, title, left, bottom + height + strip + 0.6)
        if cell.panel is None or both is None:
            on.text(0.5, 0.5, cell.nothing, ha="center", va="center", transform=on.transAxes)
            on.set(xticks=[], yticks=[])
            continue
        draw(cell.panel, on, norms)
        for guide in cell.guides:
            on.axhline(guide.value, color=INK, linewidth=0.7, linestyle=guide.dashes, zorder=0.5)
        _set_side(on, "x", both[0])
        _set_side(on, "y", both[1])
    above = [strip + 1.4 + (breaks + 1) * LINE_MM for breaks in highest]
    _write_headings(figure, plan, layout, above)
    _draw_scales(figure, cells, layout)
    _draw_stimuli(figure, plan, sides, layout, strips)
    _say_once(figure, axes, words, layout.words_bottom_mm)
    left, top = width - room.right - 1.5, layout.axes[0][1] + layout.axes[0][3]
    for bar in bars:
        bar.draw(figure, left, top, top - layout.axes[-1][1])
        left += bar.width_mm
    key.draw(figure)
    return settle(figure)


def _titles(plan: _Plan, layout: Layout) -> list[str]:
    """Return titles that fit; those under one heading must differ, or all of them."""
    step = plan.block or len(plan.cells)
    found: list[str] = []
    for k in range(0, len(plan.cells), step):
        own, rooms = plan.cells[k : k + step], layout.title_mm[k : k + step]
        fitting = iter(
            fitted(
                [cell.title for cell in own if not cell.is_hole],
                [room for cell, room in zip(own, rooms, strict=True) if not cell.is_hole],
                TITLE_PT,
                plan.lines,
            )
        )
        found += ["" if cell.is_hole else next(fitting) for cell in own]
    return found


def _write_headings(figure: Figure, plan: _Plan, layout: Layout, above_mm: Sequence[float]) -> None:
    """Write headings over a rule along the panels they are for, so far above these, by row."""
    from matplotlib.lines import Line2D

    if not plan.block:
        return
    starts = range(0, len(plan.cells), plan.block)
    spans = []
    for k in starts:
        # Holes at the end belong to nobody.
        shown = [k + i for i in range(plan.block) if not plan.cells[k + i].is_hole] or [k]
        (left, bottom, _, height), last = layout.axes[k], layout.axes[shown[-1]]
        spans.append((left, last[0] + last[2], bottom + height + above_mm[k // plan.grid.across]))
    rooms = [right - left for left, right, _ in spans]
    headings = fitted([plan.cells[k].heading for k in starts], rooms, LARGE_PT)
    across, up = (float(side) * 25.4 for side in figure.get_size_inches())
    for heading, (left, right, bottom) in zip(headings, spans, strict=True):
        at = bottom / up
        rule = Line2D([left / across, right / across], [at, at], color=INK, linewidth=0.4)
        figure.add_artist(rule)
        figure.text(left / across, (bottom + 1.2) / up, heading, fontsize=LARGE_PT, va="baseline")


def _draw_stimuli(
    figure: Figure,
    plan: _Plan,
    sides: Sequence[tuple[Side, Side] | None],
    layout: Layout,
    strips: Strips,
) -> None:
    """Draw stimuli below the axes that have numbers; their rows are named once in each row."""
    for k, (cell, both) in enumerate(zip(plan.cells, sides, strict=True)):
        if cell.panel is None or both is None or not both[0].strip_mm:
            continue
        left, bottom, width, _ = layout.axes[k]
        top, named = bottom - both[0].numbers_mm, k % plan.grid.across == 0
        draw_strip(figure, strips.of(cell.panel), both[0].scale, left, top, width, named)


def _draw_scales(figure: Figure, cells: Sequence[Cell], layout: Layout) -> None:
    """Draw the scale of each observer's responses above its surface."""
    surfaces = {k: _surfaces(cell.panel) for k, cell in enumerate(cells) if cell.panel is not None}
    every = [surface for found in surfaces.values() for surface in found]
    ends = all(numbers_fit(surface, layout.axes[0][2]) for surface in every)
    for k, found in surfaces.items():
        left, bottom, width, height = layout.axes[k]
        for surface in found:
            strip = axes_at(figure, left, bottom + height + 0.8, width, _STRIP_MM)
            draw_scale(surface, strip, ends)


def _surfaces(panel: Panel) -> list[Surface]:
    return [mark for mark in panel.marks if isinstance(mark, Surface)]


def _plan(
    cells: Sequence[Cell],
    columns: int,
    strip_mm: float,
    key: Keys,
    right_mm: float,
    foot_mm: float,
) -> _Plan:
    """Return the grid, what stands around panels, and how many lines their titles may have.

    Titles that are too long take two lines if panels need not shrink for it. Cells with headings
    fill rows; if these do not fit on a page, each stands for itself.
    """
    one, two = (
        Room(lines * LINE_MM + 1.8 + strip_mm, key.height_mm + foot_mm + 4 * LINE_MM, right_mm)
        for lines in (1, 2)
    )
    block = 1
    if any(cell.heading for cell in cells):
        rows = in_rows(cells)
        block = len(rows[0])
        flat = [cell for row in rows for cell in row]
        for lines, room in ((1, one), (2, two)):
            room = room._replace(header=room.header + _HEADING_MM)
            found = choose_rows(len(rows), block, columns, room)
            if found is not None and (lines == 2 or not _too_long(cells, found)):
                return _Plan(flat, found, room, lines, block)
        cells = each_by_itself(cells)
    grid = choose_grid(len(cells), columns, one)
    if grid is None:
        raise FechnerError(_too_many(len(cells), columns, one, block))
    roomier = choose_grid(len(cells), columns, two)
    if _too_long(cells, grid) and roomier is not None and roomier.across == grid.across:
        return _Plan(list(cells), roomier, two, 2)
    return _Plan(list(cells), grid, one, 1)


def _too_long(cells: Sequence[Cell], grid: Grid) -> bool:
    return any(width_mm(plain(cell.title), TITLE_PT) > grid.width_mm for cell in cells)


def _sides(
    cells: Sequence[Cell], grid: Grid, strips: Strips
) -> tuple[list[tuple[Side, Side] | None], tuple[str, str]]:
    """Return the axes of every panel, and what is said once for all of them.

    Numbers and words stand at the outside, and inside only where they change.
    """
    shown = {k: cell.panel for k, cell in enumerate(cells) if cell.panel is not None}
    panels = list(shown.values())
    within = [[guide.value for guide in cells[k].guides] for k in shown]
    together = [cells[k].heading for k in shown]
    across = dict(zip(shown, scales(panels, "x", together=together), strict=True))
    up = dict(zip(shown, scales(panels, "y", within, together), strict=True))
    wide, high = grid.width_mm, grid.height_mm
    for_all = (
        _said_once(across, grid.across * wide),
        _said_once(up, grid.rows * (high + 2 * LINE_MM)),
    )
    sides: list[tuple[Side, Side] | None] = [None] * len(cells)
    for k in shown:
        x, y = across[k], up[k]
        below = across.get(k + grid.across)
        left = up.get(k - 1) if k % grid.across else None
        x_words = (
            "" if for_all[0] or _words(below) == _words(x) else wrapped(_words(x), wide, LARGE_PT)
        )
        y_words = (
            "" if for_all[1] or _words(left) == _words(y) else wrapped(_words(y), high, LARGE_PT)
        )
        strip = strips.height_mm(shown[k]) if below != x else 0.0
        sides[k] = (
            Side(x, ticks_of(x, "x", wide), below != x, x_words, strip),
            Side(y, ticks_of(y, "y", high), left != y, y_words),
        )
    return sides, for_all


def _words(scale: Scale | None) -> str:
    return "" if scale is None else units(scale.axis.label)


def _said_once(found: dict[int, Scale], room_mm: float) -> str:
    words = {_words(scale) for scale in found.values()}
    return wrapped(words.pop(), room_mm, LARGE_PT) if len(words) == 1 else ""


def _set_side(axes: Axes, which: Which, side: Side) -> None:
    set_scale(axes, which, side.scale, side.ticks, side.labelled)
    if side.words:
        pad = 2.0 + side.strip_mm / 25.4 * 72
        getattr(axes, f"set_{which}label")(side.words, labelpad=pad)


def _say_once(
    figure: Figure, axes: Sequence[Axes], words: tuple[str, str], bottom_mm: float
) -> None:
    """Write what holds for all panels at the middle of them."""
    boxes = [on.get_position() for on in axes]
    across = (min(box.x0 for box in boxes) + max(box.x1 for box in boxes)) / 2
    up = (min(box.y0 for box in boxes) + max(box.y1 for box in boxes)) / 2
    width, height = (float(side) * 25.4 for side in figure.get_size_inches())
    below = (bottom_mm + 0.4) / height
    figure.text(across, below, words[0], ha="center", va="bottom", fontsize=LARGE_PT)
    figure.text(1 / width, up, words[1], rotation=90, ha="left", va="center", fontsize=LARGE_PT)


def _too_many(n: int, columns: int, room: Room, each: int) -> str:
    """Say how many observers fit who have so many panels each."""
    fitting = [k for k in range(1, n) if choose_grid(k, columns, room) is not None]
    observers = max(max(fitting, default=1) // each, 1)
    wider = " or take two columns" if columns == 1 else ""
    return (
        f"{n} panels do not fit on a page of {COLUMNS_MM[columns]:g} x {HEIGHT_MM:g} mm at a size "
        f"that can be read; choose at most {observers} observers{wider}."
    )

"""Small multiples: panels side by side on a page, with what they share at the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from fechner.errors import FechnerError
from fechner.report.paper.drawing import (
    LineStyle,
    colour_norms,
    draw,
    draw_scale,
    has_surface,
    numbers_fit,
)
from fechner.report.paper.keys import ColourBar, Key, key_of
from fechner.report.paper.layout import Grid, Layout, Room, Side, choose_grid, lay_out
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
from fechner.scores.panels import Panel, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The strip of colours above a surface.
_STRIP_MM = 1.4


class Guide(NamedTuple):
    """A level to compare with, drawn across a panel."""

    value: float
    words: str
    dashes: LineStyle


@dataclass(frozen=True)
class Cell:
    """A place in the grid.

    Parameters
    ----------
    panel
        None where there is nothing to show.
    nothing
        What is said then.
    """

    title: str
    panel: Panel | None
    guides: tuple[Guide, ...] = ()
    nothing: str = "not measured"


def draw_grid(cells: Sequence[Cell], columns: int, dpi: float) -> Figure:
    """Draw small multiples over so many columns of a page; their axes come first in the figure."""
    width = check_columns(columns)
    cells = _alike(cells)
    panels = [cell.panel for cell in cells if cell.panel is not None]
    guides = dict.fromkeys((g.words, g.dashes) for cell in cells for g in cell.guides)
    key = key_of(panels, list(guides), width)
    norms = colour_norms(panels)
    bars = [ColourBar(axis, norm) for axis, norm in norms.items()]
    strip = LINE_MM + _STRIP_MM + 0.8 if any(map(has_surface, panels)) else 0.0
    grid, room, lines = _choose_grid(cells, columns, strip, key, sum(bar.width_mm for bar in bars))
    sides, words = _sides(cells, grid)
    layout = lay_out(sides, grid, width, room, words, key.height_mm)
    titles = fitted([cell.title for cell in cells], layout.title_mm, TITLE_PT, lines)
    headers = [
        room.header - LINE_MM * (lines - 1 - max(title.count("\n") for title in row))
        for row in (titles[k : k + grid.across] for k in range(0, len(titles), grid.across))
    ]
    layout = lay_out(sides, grid, width, room, words, key.height_mm, headers)
    figure = sheet(width, layout.height_mm, dpi)
    axes = [axes_at(figure, *place) for place in layout.axes]
    for cell, title, on, both, place in zip(cells, titles, axes, sides, layout.axes, strict=True):
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
    _draw_strips(figure, cells, layout)
    _say_once(figure, axes, words, layout.words_bottom_mm)
    left, top = width - room.right - 1.5, layout.axes[0][1] + layout.axes[0][3]
    for bar in bars:
        bar.draw(figure, left, top, top - layout.axes[-1][1])
        left += bar.width_mm
    key.draw(figure)
    return settle(figure)


def _draw_strips(figure: Figure, cells: Sequence[Cell], layout: Layout) -> None:
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


def _choose_grid(
    cells: Sequence[Cell], columns: int, strip_mm: float, key: Key, right_mm: float
) -> tuple[Grid, Room, int]:
    """Return the grid, what stands around panels, and how many lines their titles may have.

    Titles that are too long take two lines if panels need not shrink for it.
    """
    one, two = (
        Room(lines * LINE_MM + 1.8 + strip_mm, key.height_mm + 4 * LINE_MM, right_mm)
        for lines in (1, 2)
    )
    grid = choose_grid(len(cells), columns, one)
    if grid is None:
        raise FechnerError(_too_many(len(cells), columns, one))
    roomier = choose_grid(len(cells), columns, two)
    long = any(width_mm(plain(cell.title), TITLE_PT) > grid.width_mm for cell in cells)
    if long and roomier is not None and roomier.across == grid.across:
        return roomier, two, 2
    return grid, one, 1


def _alike(cells: Sequence[Cell]) -> list[Cell]:
    """Make an axis logarithmic on all panels if it is on one and can be on all."""
    for which in ("x", "y"):
        panels = [cell.panel for cell in cells if cell.panel is not None]
        for label in {getattr(panel, which).label for panel in panels}:
            same = [panel for panel in panels if getattr(panel, which).label == label]
            if len({getattr(panel, which).log for panel in same}) > 1 and all(
                not (getattr(mark, which) <= 0).any() for panel in same for mark in panel.marks
            ):
                cells = [_with_log(cell, which, label) for cell in cells]
    return list(cells)


def _with_log(cell: Cell, which: str, label: str) -> Cell:
    if cell.panel is None or getattr(cell.panel, which).label != label:
        return cell
    axis = replace(getattr(cell.panel, which), log=True)
    return replace(cell, panel=replace(cell.panel, **{which: axis}))


def _sides(
    cells: Sequence[Cell], grid: Grid
) -> tuple[list[tuple[Side, Side] | None], tuple[str, str]]:
    """Return the axes of every panel, and what is said once for all of them.

    Numbers and words stand at the outside, and inside only where they change.
    """
    shown = {k: cell.panel for k, cell in enumerate(cells) if cell.panel is not None}
    panels = list(shown.values())
    within = [[guide.value for guide in cells[k].guides] for k in shown]
    across = dict(zip(shown, scales(panels, "x"), strict=True))
    up = dict(zip(shown, scales(panels, "y", within), strict=True))
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
        sides[k] = (
            Side(x, ticks_of(x, "x", wide), below != x, x_words),
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
        getattr(axes, f"set_{which}label")(side.words)


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


def _too_many(n: int, columns: int, room: Room) -> str:
    fitting = [k for k in range(1, n) if choose_grid(k, columns, room) is not None]
    wider = " or take two columns" if columns == 1 else ""
    return (
        f"{n} panels do not fit on a page of {COLUMNS_MM[columns]:g} x {HEIGHT_MM:g} mm at a size "
        f"that can be read; choose at most {max(fitting, default=1)} observers{wider}."
    )

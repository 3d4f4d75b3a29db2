"""Printed pages of receptive fields: layer by layer, with scale bars and fits below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.physiology import Tuning
from fechner.report.fields.words import Section, caption, scale_bar, sections
from fechner.report.paper.lettering import (
    LINE_MM,
    SMALL_PT,
    TITLE_PT,
    fitted,
    number,
    units,
    width_mm,
    wrapped,
)
from fechner.report.paper.style import (
    HEIGHT_MM,
    INK,
    axes_at,
    check_columns,
    paper_style,
    settle,
    sheet,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width of a field with its caption, room between them, margins, and room between layers.
_CELL_MM, _GAP_MM, _MARGIN_MM, _BETWEEN_MM = 28.0, 1.4, 1.0, 3.0
_CAPTION_LINES = 3
_CELL_HEIGHT_MM = _CELL_MM + _CAPTION_LINES * LINE_MM + 2.0


@dataclass(frozen=True)
class _Block:
    """Rows of one layer on one page, below its head."""

    section: Section
    head: tuple[tuple[str, float], ...]
    rows: tuple[tuple[Tuning, ...], ...]

    @property
    def head_mm(self) -> float:
        return len(self.head) * LINE_MM + 1.0

    @property
    def height_mm(self) -> float:
        return self.head_mm + len(self.rows) * _CELL_HEIGHT_MM


def draw_sheets(tunings: Sequence[Tuning], columns: int = 2, dpi: float = 300.0) -> list[Figure]:
    """Draw receptive fields: weights as colours around mid-grey, each at its own full scale.

    Fields of a layer are shown at one scale, or at halves and quarters of it if they are much
    smaller than the largest; a bar below each gives its scale. Silent units are counted only.

    Parameters
    ----------
    columns
        Width: 1 column (85 mm) or 2 (178 mm).

    Returns
    -------
    list
        As many pages as it takes, of 225 mm at most each.
    """
    width = check_columns(columns)
    pages = _paginate(sections(tunings), width)
    with paper_style():
        return [_draw_page(page, width, dpi) for page in pages]


def _paginate(blocks: Sequence[Section], width: float) -> list[list[_Block]]:
    """Share out rows of fields over pages; a layer that goes on has its head again."""
    room = width - 2 * _MARGIN_MM
    across = int((room + _GAP_MM) // (_CELL_MM + _GAP_MM))
    pages: list[list[_Block]] = [[]]
    left = HEIGHT_MM - 2 * _MARGIN_MM
    for section in blocks:
        drawn = section.drawn
        rows = [drawn[k : k + across] for k in range(0, len(drawn), across)]
        begun = False
        while rows or not begun:
            block = _Block(section, _head(section, room, begun), ())
            fits = int((left - block.head_mm) // _CELL_HEIGHT_MM)
            if fits < min(len(rows), 1) and pages[-1]:
                pages.append([])
                left = HEIGHT_MM - 2 * _MARGIN_MM
                continue
            block = _Block(section, block.head, tuple(rows[: max(fits, 1)]))
            del rows[: max(fits, 1)]
            pages[-1].append(block)
            left -= block.height_mm + _BETWEEN_MM
            begun = True
    return pages


def _head(section: Section, room_mm: float, begun: bool) -> tuple[tuple[str, float], ...]:
    """Return the lines above a layer's fields, with their sizes."""
    name = f"{section.observer}  {section.layer}" + (" (continued)" if begun else "")
    (title,) = fitted([name], room_mm, TITLE_PT)
    below = () if begun else (section.counts, section.method)
    lines = [line for text in below for line in wrapped(units(text), room_mm).split("\n")]
    return ((title, TITLE_PT), *((line, SMALL_PT) for line in lines))


def _draw_page(blocks: Sequence[_Block], width: float, dpi: float) -> Figure:
    heights = [block.height_mm for block in blocks]
    height = sum(heights) + (len(blocks) - 1) * _BETWEEN_MM + 2 * _MARGIN_MM
    figure = sheet(width, height, dpi)
    top = height - _MARGIN_MM
    for block in blocks:
        for k, (line, size) in enumerate(block.head):
            _write(figure, _MARGIN_MM, top - k * LINE_MM, line, size)
        for k, row in enumerate(block.rows):
            upper = top - block.head_mm - k * _CELL_HEIGHT_MM
            for place, tuning in enumerate(row):
                left = _MARGIN_MM + place * (_CELL_MM + _GAP_MM)
                _draw_cell(figure, block.section, tuning, left, upper)
        top -= block.height_mm + _BETWEEN_MM
    return settle(figure)


def _draw_cell(
    figure: Figure, section: Section, tuning: Tuning, left_mm: float, top_mm: float
) -> None:
    rows, columns = section.window(tuning).size_px
    pixel = _CELL_MM / max(rows, columns)
    wide, high = columns * pixel, rows * pixel
    axes = axes_at(figure, left_mm, top_mm - high, wide, high)
    axes.set_axis_off()
    axes.imshow(section.picture(tuning), interpolation="nearest", aspect="auto")
    below = top_mm - _CELL_MM - 0.6
    for k, line in enumerate(fitted(caption(tuning), _CELL_MM)):
        _write(figure, left_mm, below - k * LINE_MM, line, SMALL_PT)
    _draw_bar(figure, section.side_deg(tuning), left_mm, below - (_CAPTION_LINES - 1) * LINE_MM)


def _draw_bar(figure: Figure, side_deg: float, left_mm: float, top_mm: float) -> None:
    """Draw a scale bar at the right end of the last line below a field."""
    from matplotlib.lines import Line2D

    across, up = (float(side) * 25.4 for side in figure.get_size_inches())
    length = scale_bar(side_deg)
    label = f"{number(length)}°"
    right = left_mm + _CELL_MM
    start = right - length / side_deg * _CELL_MM
    y = (top_mm - 1.4) / up
    bar = Line2D((start / across, right / across), (y, y), color=INK, linewidth=1.6)
    bar.set_solid_capstyle("butt")
    figure.add_artist(bar)
    _write(figure, start - 0.8 - width_mm(label), top_mm, label, SMALL_PT)


def _write(figure: Figure, x_mm: float, y_mm: float, words: str, size: float) -> None:
    width, height = (float(side) * 25.4 for side in figure.get_size_inches())
    figure.text(x_mm / width, y_mm / height, words, fontsize=size, va="top")

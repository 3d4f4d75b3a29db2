"""A printed sheet of receptive fields: layer by layer, with their fits below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fechner.physiology import Tuning
from fechner.report.fields.words import Section, caption, sections
from fechner.report.paper.lettering import (
    LINE_MM,
    SMALL_PT,
    TITLE_PT,
    fitted,
    units,
    wrapped,
)
from fechner.report.paper.style import axes_at, check_columns, paper_style, settle, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width of a field with its caption, room between them, margins, and room between layers.
_CELL_MM, _GAP_MM, _MARGIN_MM, _BETWEEN_MM = 28.0, 1.4, 1.0, 3.0
_CAPTION_LINES = 3


def draw_sheet(tunings: Sequence[Tuning], columns: int = 2, dpi: float = 300.0) -> Figure:
    """Draw receptive fields: weights as colours around mid-grey, each at its own full scale.

    Parameters
    ----------
    columns
        Width: 1 column (85 mm) or 2 (178 mm); the height is what it takes.
    """
    width = check_columns(columns)
    blocks = sections(tunings)
    across = int((width - 2 * _MARGIN_MM + _GAP_MM) // (_CELL_MM + _GAP_MM))
    heads = [_head(each, width - 2 * _MARGIN_MM) for each in blocks]
    heights = [
        _head_mm(head) + math.ceil(len(block.tunings) / across) * _cell_height_mm(block)
        for block, head in zip(blocks, heads, strict=True)
    ]
    height = sum(heights) + (len(blocks) - 1) * _BETWEEN_MM + 2 * _MARGIN_MM
    with paper_style():
        figure = sheet(width, height, dpi)
        top = height - _MARGIN_MM
        for block, head, high in zip(blocks, heads, heights, strict=True):
            _draw_block(figure, block, head, top, across)
            top -= high + _BETWEEN_MM
        return settle(figure)


def _head(section: Section, room_mm: float) -> list[tuple[str, float]]:
    """Return the lines above a layer's fields, with their sizes."""
    (title,) = fitted([f"{section.observer}  {section.layer}"], room_mm, TITLE_PT)
    below = [line for text in (section.counts, section.method) for line in _lines(text, room_mm)]
    return [(title, TITLE_PT), *((line, SMALL_PT) for line in below)]


def _lines(text: str, room_mm: float) -> list[str]:
    return wrapped(units(text), room_mm).split("\n")


def _head_mm(head: Sequence[tuple[str, float]]) -> float:
    return len(head) * LINE_MM + 1.0


def _picture_mm(section: Section) -> tuple[float, float]:
    """Return width and height of a picture: its longer side is as wide as a cell."""
    rows, columns = section.part.size_px
    pixel = _CELL_MM / max(rows, columns)
    return columns * pixel, rows * pixel


def _cell_height_mm(section: Section) -> float:
    return _picture_mm(section)[1] + _CAPTION_LINES * LINE_MM + 1.5


def _draw_block(
    figure: Figure,
    section: Section,
    head: Sequence[tuple[str, float]],
    top_mm: float,
    across: int,
) -> None:
    width, height = (float(side) * 25.4 for side in figure.get_size_inches())

    def write(x_mm: float, y_mm: float, words: str, size: float) -> None:
        figure.text(x_mm / width, y_mm / height, words, fontsize=size, va="top")

    for k, (line, size) in enumerate(head):
        write(_MARGIN_MM, top_mm - k * LINE_MM, line, size)
    wide, high = _picture_mm(section)
    for k, tuning in enumerate(section.tunings):
        left = _MARGIN_MM + (k % across) * (_CELL_MM + _GAP_MM)
        upper = top_mm - _head_mm(head) - (k // across) * _cell_height_mm(section)
        axes = axes_at(figure, left, upper - high, wide, high)
        axes.set_axis_off()
        axes.imshow(section.picture(tuning), interpolation="nearest", aspect="auto")
        for number, line in enumerate(fitted(caption(tuning), _CELL_MM)):
            write(left, upper - high - 0.6 - number * LINE_MM, line, SMALL_PT)

"""Pictures with captions for print: a block for each observer, in rows as wide as the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from fechner.errors import FechnerError
from fechner.report.gallery import GONE, Pictures
from fechner.report.paper.lettering import (
    LARGE_PT,
    LINE_MM,
    SMALL_PT,
    TITLE_PT,
    fitted,
    plain,
    wrapped,
)
from fechner.report.paper.style import (
    COLUMNS_MM,
    HEIGHT_MM,
    INK,
    axes_at,
    check_columns,
    settle,
    sheet,
)
from fechner.scores.panels import Item, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Space between pictures, at the edges, and between blocks.
_GAP_MM, _EDGE_MM, _BETWEEN_MM = 2.5, 1.0, 3.0
#: Pictures beside each other, the largest ones first; below that, nothing is seen.
_ACROSS = {1: (3, 4, 5), 2: (6, 7, 8, 9, 10)}
_HEADING_MM = LINE_MM + 2.6
_TITLE_LINES, _TEXT_LINES = 1, 3


@dataclass(frozen=True)
class _Page:
    """Blocks of pictures, so many beside each other."""

    blocks: Sequence[tuple[str, Panel]]
    aspect: float
    width_mm: float
    across: int

    @property
    def side_mm(self) -> float:
        """Width of a picture."""
        free = self.width_mm - 2 * _EDGE_MM - (self.across - 1) * _GAP_MM
        return free / self.across

    @cached_property
    def captions(self) -> list[list[tuple[str, list[str]]]]:
        """Titles and lines of text, block by block."""
        return [[self._caption(item) for item in _items(panel)] for _, panel in self.blocks]

    def _caption(self, item: Item) -> tuple[str, list[str]]:
        (title,) = fitted([item.title], self.side_mm, TITLE_PT, _TITLE_LINES)
        lines = wrapped(plain(item.text), self.side_mm).split("\n") if item.text else []
        if len(lines) > _TEXT_LINES:
            rest = " ".join(lines[_TEXT_LINES - 1 :])
            lines = [*lines[: _TEXT_LINES - 1], *fitted([rest], self.side_mm)]
        return title, lines

    def row_mm(self, captions: Sequence[tuple[str, list[str]]]) -> float:
        """Height of a row with its captions."""
        lines = max(1 + len(text) for _, text in captions)
        return self.side_mm * self.aspect + lines * LINE_MM + _GAP_MM

    def rows(self, block: int) -> list[list[int]]:
        """Return the numbers of the items in each row of a block."""
        numbers = iter(range(len(self.captions[block])))
        found = []
        while row := list(islice(numbers, self.across)):
            found.append(row)
        return found

    def block_mm(self, block: int) -> float:
        """Height of a block."""
        captions = self.captions[block]
        rows = ([captions[k] for k in row] for row in self.rows(block))
        return _HEADING_MM + sum(map(self.row_mm, rows))

    @cached_property
    def height_mm(self) -> float:
        """Height of everything."""
        blocks = range(len(self.blocks))
        between = _BETWEEN_MM * (len(self.blocks) - 1)
        return 2 * _EDGE_MM + between + sum(map(self.block_mm, blocks))


def draw_galleries(
    blocks: Sequence[tuple[str, Panel]], pictures: Pictures, columns: int, dpi: float
) -> Figure:
    """Draw the galleries of observers below each other.

    Parameters
    ----------
    blocks
        Names of observers with the panels that hold their pictures.
    """
    width = check_columns(columns)
    field = pictures.scene.field
    pages = [
        _Page(blocks, field.height_px / field.width_px, width, across)
        for across in _ACROSS[columns]
    ]
    page = next((page for page in pages if page.height_mm <= HEIGHT_MM), None)
    if page is None:
        most = max(1, math.floor(len(blocks) * HEIGHT_MM / pages[-1].height_mm))
        wider = " or take two columns" if columns == 1 else ""
        raise FechnerError(
            f"the pictures of {len(blocks)} observers do not fit on a page of "
            f"{COLUMNS_MM[columns]:g} x {HEIGHT_MM:g} mm; choose at most {most}{wider}."
        )
    figure = sheet(width, page.height_mm, dpi)
    top = page.height_mm - _EDGE_MM
    for number, (name, panel) in enumerate(blocks):
        _draw_block(figure, page, number, name, panel, pictures, top)
        top -= page.block_mm(number) + _BETWEEN_MM
    return settle(figure)


def _draw_block(
    figure: Figure,
    page: _Page,
    number: int,
    name: str,
    panel: Panel,
    pictures: Pictures,
    top_mm: float,
) -> None:
    from matplotlib.lines import Line2D

    width, height = page.width_mm, page.height_mm

    def write(left: float, bottom: float, words: str, size: float) -> None:
        figure.text(left / width, bottom / height, words, fontsize=size, va="baseline", ha="left")

    heading = f"{name}: {panel.title}" if panel.title else name
    (heading,) = fitted([heading], width - 2 * _EDGE_MM, LARGE_PT)
    write(_EDGE_MM, top_mm - LINE_MM + 0.6, heading, LARGE_PT)
    rule, ends = (top_mm - LINE_MM - 0.6) / height, [_EDGE_MM / width, 1 - _EDGE_MM / width]
    figure.add_artist(Line2D(ends, [rule, rule], color=INK, linewidth=0.4))
    items, captions = _items(panel), page.captions[number]
    shown = pictures.of(items)
    top = top_mm - _HEADING_MM
    high = page.side_mm * page.aspect
    for row in page.rows(number):
        for column, k in enumerate(row):
            left = _EDGE_MM + column * (page.side_mm + _GAP_MM)
            axes = axes_at(figure, left, top - high, page.side_mm, high)
            axes.set(xticks=[], yticks=[])
            pixels = shown[k]
            if pixels is None:
                words = wrapped(GONE, page.side_mm - 1.0)
                axes.text(0.5, 0.5, words, ha="center", va="center", transform=axes.transAxes)
            else:
                axes.imshow(pixels, interpolation="none", aspect="auto")
                axes.set_axis_off()
            title, text = captions[k]
            write(left, top - high - LINE_MM + 0.6, title, TITLE_PT)
            for line, words in enumerate(text):
                write(left, top - high - (line + 2) * LINE_MM + 0.6, words, SMALL_PT)
        top -= page.row_mm([captions[k] for k in row])


def _items(panel: Panel) -> Sequence[Item]:
    return panel.gallery.items if panel.gallery is not None else ()

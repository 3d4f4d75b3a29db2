"""The stimuli of tests for print, pixel for pixel: resampling would change them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError
from fechner.experiments import Experiment
from fechner.report.paper.lettering import (
    LINE_MM,
    SMALL_PT,
    TITLE_PT,
    fitted,
    plain,
    units,
    width_mm,
    wrapped,
)
from fechner.report.paper.style import HEIGHT_MM, axes_at, check_columns, settle, sheet, write_title
from fechner.report.tiles import View, tile_rows, view_of

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: Millimetres between stimuli and between blocks, and the smallest stimulus that shows anything.
_GAP_MM, _BETWEEN_MM = 0.4, 3.0
_SMALLEST_MM = 5.5
#: How much of their widths blocks may fill, the most first: less where they would be too high.
_FILLED = (1.0, 0.95, 0.9, 0.8, 0.7)


@dataclass(frozen=True)
class _Block:
    """The stimuli of one test."""

    experiment: Experiment

    @cached_property
    def pictures(self) -> list[NDArray[np.uint8]]:
        """Rows of pictures."""
        return tile_rows(self.experiment)

    @cached_property
    def view(self) -> View:
        """What pictures show of the field."""
        return view_of(self.experiment)

    @cached_property
    def columns(self) -> list[str]:
        return [plain(sample.x) for sample in self.experiment.samples()[0]]

    @cached_property
    def rows(self) -> list[str]:
        return [plain(row[0].y) for row in self.experiment.samples()]

    @property
    def width_px(self) -> int:
        """Width of all stimuli beside each other."""
        return len(self.columns) * self.view.width_px

    def down(self, pixel_mm: float) -> str:
        """Return what varies from top to bottom, if pixels are so large."""
        height = len(self.rows) * self.view.height_px * pixel_mm
        return wrapped(units(self.experiment.axes[1]), height)

    def across(self, pixel_mm: float, left_mm: float) -> str:
        """Return what varies from left to right, and what is seen of the field."""
        note = f"; {self.view.note}" if self.view.note else ""
        return wrapped(units(self.experiment.axes[0]) + note, left_mm + self.width_px * pixel_mm)

    def left_mm(self, pixel_mm: float) -> float:
        """Return how much stands left of the stimuli."""
        lines = self.down(pixel_mm).count("\n") + 1
        return lines * LINE_MM + max(map(width_mm, self.rows)) + 2.0


@dataclass(frozen=True)
class _Page:
    """Blocks set so many beside each other, with the size of their pixels.

    Parameters
    ----------
    filled
        How much of its width the widest block fills.
    """

    blocks: Sequence[_Block]
    width_mm: float
    across: int
    filled: float

    @property
    def room_mm(self) -> float:
        """Width of a block."""
        return (self.width_mm - (self.across - 1) * _BETWEEN_MM - 2.0) / self.across

    @cached_property
    def rough_mm(self) -> float:
        """About the size of a pixel, which tells how many lines words take."""
        widest = max(block.width_px for block in self.blocks)
        return 0.7 * self.filled * self.room_mm / widest

    @cached_property
    def left_mm(self) -> float:
        """What stands left of the stimuli: the same in all blocks, so that they are in line."""
        return max(block.left_mm(self.rough_mm) for block in self.blocks)

    @cached_property
    def pixel_mm(self) -> float:
        """Size of a pixel: a whole number of them over the width of the page."""
        sizes = []
        for block in self.blocks:
            n = len(block.columns)
            free = self.room_mm - self.left_mm - (n - 1) * _GAP_MM
            sizes.append(max(free, 1e-3) / block.width_px)
        return self.width_mm / math.ceil(self.width_mm / (self.filled * min(sizes)))

    def in_pixels(self, mm: float) -> int:
        """Return a length in whole pixels."""
        return round(mm / self.pixel_mm)

    def height(self, block: _Block) -> int:
        """Return the height of a block in pixels."""
        cell = block.view.height_px + self.in_pixels(_GAP_MM)
        lines = block.across(self.pixel_mm, self.left_mm).count("\n") + 3
        return len(block.rows) * cell + self.in_pixels(lines * LINE_MM + 2.5)

    @cached_property
    def rows(self) -> list[Sequence[_Block]]:
        """Blocks that stand beside each other."""
        starts = range(0, len(self.blocks), self.across)
        return [self.blocks[start : start + self.across] for start in starts]

    @property
    def height_px(self) -> int:
        """Height of the page."""
        return sum(max(map(self.height, row)) for row in self.rows)

    @property
    def legible(self) -> bool:
        """Whether it fits, with stimuli that are not too small."""
        smallest = min(block.view.width_px for block in self.blocks)
        fits = self.height_px * self.pixel_mm <= HEIGHT_MM
        return fits and smallest * self.pixel_mm >= _SMALLEST_MM


def draw_stimuli(experiments: Sequence[Experiment], columns: int) -> Figure:
    """Draw the stimuli of tests; the resolution of the figure is that of the stimuli."""
    width = check_columns(columns)
    blocks = [_Block(experiment) for experiment in experiments]
    pages = (
        _Page(blocks, width, across, filled)
        for filled in _FILLED
        for across in range(1, len(blocks) + 1)
    )
    page = next((page for page in pages if page.legible), None)
    if page is None:
        raise FechnerError(
            f"the stimuli of {len(blocks)} tests do not fit on a page of {width:g} x "
            f"{HEIGHT_MM:g} mm at a size that can be seen; name one test, or take two columns."
        )
    # A hundredth of a pixel more, lest the last one be lost in rounding.
    margin = 0.01 * page.pixel_mm
    height = page.height_px * page.pixel_mm
    figure = sheet(width + margin, height + margin, dpi=25.4 / page.pixel_mm)
    top = page.height_px
    for row in page.rows:
        for k, block in enumerate(row):
            left = page.in_pixels(1.0 + k * (page.room_mm + _BETWEEN_MM))
            _draw_block(figure, page, block, left, top)
        top -= max(map(page.height, row))
    return settle(figure)


def _draw_block(figure: Figure, page: _Page, block: _Block, left: int, top: int) -> None:
    """Draw a block whose upper left corner is at a pixel, counted from below."""
    view = block.view
    size, gap, line = page.pixel_mm, page.in_pixels(_GAP_MM), page.in_pixels(LINE_MM)
    wide, high = view.width_px + gap, view.height_px + gap
    width, height = (float(side) * 25.4 for side in figure.get_size_inches())

    def write(x: float, y: float, words: str, **how: Any) -> None:
        figure.text(x * size / width, y * size / height, words, fontsize=SMALL_PT, **how)

    first = left + page.in_pixels(page.left_mm)
    upper = top - line - page.in_pixels(1.0)
    room = len(block.columns) * wide
    (title,) = fitted([block.experiment.id], room * size, TITLE_PT)
    write_title(figure, title, first * size, upper * size)
    foot = upper - len(block.rows) * high
    place = (first, foot, room, len(block.rows) * high)
    axes = axes_at(figure, *(size * each for each in place))
    axes.set_axis_off()
    for k, (row, name) in enumerate(zip(block.pictures, block.rows, strict=True)):
        bottom = (len(block.rows) - k) * high - view.height_px
        middle = foot + bottom + view.height_px / 2
        write(first - page.in_pixels(0.8), middle, name, ha="right", va="center")
        for n, picture in enumerate(row):
            sides = (n * wide, n * wide + view.width_px, bottom, bottom + view.height_px)
            axes.imshow(picture, interpolation="none", extent=sides, aspect="auto")
    axes.set(xlim=(0, place[2]), ylim=(0, place[3]))
    for n in _labelled(block.columns, wide * size):
        at = first + n * wide + view.width_px / 2
        write(at, foot, block.columns[n], ha="center", va="top")
    across, down = block.across(size, page.left_mm), block.down(page.rough_mm)
    # Below the stimuli, or as far to the left as the block reaches.
    beyond = max(max(map(width_mm, across.split("\n"))) / size - room, 0.0)
    write(first + (room - beyond) / 2, foot - line, across, ha="center", va="top")
    middle = upper - len(block.rows) * high / 2
    write(left, middle, down, ha="left", va="center", rotation=90, linespacing=1.1)


def _labelled(names: Sequence[str], pitch_mm: float) -> Sequence[int]:
    """Return which columns have their names below: all, or every second and so on, to the last."""
    for every in range(1, len(names)):
        kept = range((len(names) - 1) % every, len(names), every)
        widths = [width_mm(names[k]) for k in kept]
        if all((a + b) / 2 + 1.0 <= every * pitch_mm for a, b in pairwise(widths)):
            return kept
    return [len(names) - 1]

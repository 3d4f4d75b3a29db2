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
from fechner.report.contact_sheet import visible
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
from fechner.stimuli import paint

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: Millimetres between stimuli and between blocks, and the smallest stimulus that shows anything.
_GAP_MM, _BETWEEN_MM = 0.4, 3.0
_SMALLEST_MM = 5.5


@dataclass(frozen=True)
class _Block:
    """The stimuli of one test."""

    experiment: Experiment

    @cached_property
    def pictures(self) -> list[NDArray[np.uint8]]:
        """Rows of pictures."""
        scene = self.experiment.scene
        rows = self.experiment.samples()
        return [
            visible(paint([s.stimulus for s in row], scene.field, scene.display)) for row in rows
        ]

    @cached_property
    def columns(self) -> list[str]:
        return [plain(sample.x) for sample in self.experiment.samples()[0]]

    @cached_property
    def rows(self) -> list[str]:
        return [plain(row[0].y) for row in self.experiment.samples()]

    def words(self, room_mm: float) -> tuple[str, str]:
        """Return what varies from left to right and from top to bottom, if it is so wide."""
        across, down = self.experiment.axes
        field = self.experiment.scene.field
        height = len(self.rows) * 0.7 * room_mm / len(self.columns)
        height *= field.height_px / field.width_px
        return wrapped(units(across), room_mm), wrapped(units(down), height)

    def left_mm(self, room_mm: float) -> float:
        """Return how much stands left of the stimuli."""
        lines = self.words(room_mm)[1].count("\n") + 1
        return lines * LINE_MM + max(map(width_mm, self.rows)) + 2.0


@dataclass(frozen=True)
class _Page:
    """Blocks set so many beside each other, with the size of their pixels."""

    blocks: Sequence[_Block]
    width_mm: float
    across: int

    @property
    def room_mm(self) -> float:
        """Width of a block."""
        return (self.width_mm - (self.across - 1) * _BETWEEN_MM - 2.0) / self.across

    @cached_property
    def left_mm(self) -> float:
        """What stands left of the stimuli: the same in all blocks, so that they are in line."""
        return max(block.left_mm(self.room_mm) for block in self.blocks)

    @cached_property
    def pixel_mm(self) -> float:
        """Size of a pixel: a whole number of them over the width of the page."""
        sizes = []
        for block in self.blocks:
            n = len(block.columns)
            free = self.room_mm - self.left_mm - (n - 1) * _GAP_MM
            sizes.append(max(free, 1e-3) / (n * block.experiment.scene.field.width_px))
        return self.width_mm / math.ceil(self.width_mm / min(sizes))

    def in_pixels(self, mm: float) -> int:
        """Return a length in whole pixels."""
        return round(mm / self.pixel_mm)

    def height(self, block: _Block) -> int:
        """Return the height of a block in pixels."""
        cell = block.experiment.scene.field.height_px + self.in_pixels(_GAP_MM)
        lines = block.words(self.room_mm)[0].count("\n") + 3
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
        smallest = min(block.experiment.scene.field.width_px for block in self.blocks)
        fits = self.height_px * self.pixel_mm <= HEIGHT_MM
        return fits and smallest * self.pixel_mm >= _SMALLEST_MM


def draw_stimuli(experiments: Sequence[Experiment], columns: int) -> Figure:
    """Draw the stimuli of tests; the resolution of the figure is that of the stimuli."""
    width = check_columns(columns)
    blocks = [_Block(experiment) for experiment in experiments]
    pages = (_Page(blocks, width, across) for across in range(1, len(blocks) + 1))
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
    field = block.experiment.scene.field
    size, gap, line = page.pixel_mm, page.in_pixels(_GAP_MM), page.in_pixels(LINE_MM)
    wide, high = field.width_px + gap, field.height_px + gap
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
        bottom = (len(block.rows) - k) * high - field.height_px
        middle = foot + bottom + field.height_px / 2
        write(first - page.in_pixels(0.8), middle, name, ha="right", va="center")
        for n, picture in enumerate(row):
            sides = (n * wide, n * wide + field.width_px, bottom, bottom + field.height_px)
            axes.imshow(picture, interpolation="none", extent=sides, aspect="auto")
    axes.set(xlim=(0, place[2]), ylim=(0, place[3]))
    for n in _labelled(block.columns, wide * size):
        at = first + n * wide + field.width_px / 2
        write(at, foot, block.columns[n], ha="center", va="top")
    across, down = block.words(page.room_mm)
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

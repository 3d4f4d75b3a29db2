"""A contact sheet: the stimuli of a suite as people would see them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fechner.experiments import Experiment, Sample
from fechner.report.tiles import View, tile_rows, view_of

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

_GAP = 4
_MARGIN = 16
_TITLE = 46
_LABEL = 34
#: Room between the words left of a row and its stimuli, and the least there is for both.
_BESIDE, _LEFT = 10, 64


@dataclass(frozen=True)
class _Block:
    """The samples of a test, with what their tiles show."""

    experiment: Experiment

    @cached_property
    def view(self) -> View:
        return view_of(self.experiment)

    @cached_property
    def samples(self) -> Sequence[Sequence[Sample]]:
        return self.experiment.samples()

    @property
    def left(self) -> int:
        """Room that the words beside its rows take."""
        return _BESIDE + max(math.ceil(_font(13).getlength(row[0].y)) for row in self.samples)

    @property
    def width(self) -> int:
        return (self.view.width_px + _GAP) * len(self.samples[0])

    @property
    def height(self) -> int:
        return _TITLE + (self.view.height_px + _GAP) * len(self.samples) + _LABEL

    @property
    def about(self) -> str:
        (across, down), field = self.experiment.axes, self.experiment.scene.field
        parts = [f"across: {across}", f"down: {down}", f"{field.ppd:g} pixels/degree"]
        if field.is_video:
            parts.append("at the moment of largest contrast")
        return "; ".join([*parts, *([self.view.note] if self.view.note else [])])


def contact_sheet(experiments: Sequence[Experiment]) -> Image.Image:
    """Draw one block per experiment, pixel for pixel: resampling would change the stimuli."""
    from PIL import Image, ImageDraw

    blocks = [_Block(experiment) for experiment in experiments]
    left = max(_LEFT, *(block.left for block in blocks))
    width = 2 * _MARGIN + left + max(block.width for block in blocks)
    height = 2 * _MARGIN + sum(block.height for block in blocks)
    sheet = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(sheet)
    top = _MARGIN
    for block in blocks:
        _draw_block(sheet, draw, block, left, top)
        top += block.height
    return sheet


def _draw_block(
    sheet: Image.Image, draw: ImageDraw.ImageDraw, block: _Block, left: int, top: int
) -> None:
    from PIL import Image

    experiment, view = block.experiment, block.view
    draw.text((_MARGIN, top), f"{experiment.id}: {experiment.title}", "black", _font(18))
    draw.text((_MARGIN, top + 24), block.about, "#444444", _font(13))
    lefts = [_MARGIN + left + k * (view.width_px + _GAP) for k in range(len(block.samples[0]))]
    top += _TITLE
    for row, tiles in zip(block.samples, tile_rows(experiment), strict=True):
        draw.text((_MARGIN, top + view.height_px // 2 - 8), row[0].y, "#444444", _font(13))
        for at, tile in zip(lefts, tiles, strict=True):
            sheet.paste(Image.fromarray(tile), (at, top))
        top += view.height_px + _GAP
    for at, sample in zip(lefts, block.samples[-1], strict=True):
        draw.text((at, top - 2), sample.x, "#444444", _font(13))


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)

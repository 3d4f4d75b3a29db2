"""A contact sheet: the stimuli of a suite as people would see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fechner.experiments import Experiment, Sample
from fechner.stimuli import Frames, paint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image, ImageDraw, ImageFont

_THUMBNAIL = 112
_GAP = 4
_MARGIN = 16
_TITLE = 34
_LABEL = 18
_LEFT = 58


def contact_sheet(experiments: Sequence[Experiment]) -> Image.Image:
    """Draw one block per experiment: stimuli over abscissa (across) and contrast (down)."""
    from PIL import Image, ImageDraw

    blocks = [experiment.samples() for experiment in experiments]
    cell = _THUMBNAIL + _GAP
    columns = max(len(row) for block in blocks for row in block)
    width = 2 * _MARGIN + _LEFT + columns * cell
    heights = [_TITLE + len(block) * cell + _LABEL for block in blocks]
    sheet = Image.new("RGB", (width, 2 * _MARGIN + sum(heights)), "white")
    draw = ImageDraw.Draw(sheet)
    top = _MARGIN
    for experiment, block, height in zip(experiments, blocks, heights, strict=True):
        draw.text((_MARGIN, top), f"{experiment.id}: {experiment.title}", "black", _font(16))
        for number, row in enumerate(block):
            _draw_row(sheet, draw, experiment, row, top + _TITLE + number * cell)
        for number, sample in enumerate(block[-1]):
            at = (_MARGIN + _LEFT + number * cell, top + _TITLE + len(block) * cell - 2)
            draw.text(at, sample.x, "#444444", _font(12))
        top += height
    return sheet


def _draw_row(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    experiment: Experiment,
    row: Sequence[Sample],
    top: int,
) -> None:
    from PIL import Image

    scene = experiment.scene
    frames = paint([sample.stimulus for sample in row], scene.field, scene.display)
    draw.text((_MARGIN, top + _THUMBNAIL // 2 - 8), row[0].y, "#444444", _font(12))
    for number, pixels in enumerate(_visible(frames)):
        picture = Image.fromarray(pixels).resize((_THUMBNAIL, _THUMBNAIL), Image.Resampling.LANCZOS)
        sheet.paste(picture, (_MARGIN + _LEFT + number * (_THUMBNAIL + _GAP), top))


def _visible(frames: Frames) -> NDArray[np.uint8]:
    """Return 8-bit pictures [n, h, w, 3], dithered so that low contrasts are not lost."""
    import torch

    noise = torch.rand(frames.pixels.shape[-2:], generator=torch.Generator().manual_seed(0)) - 0.5
    levels = (frames.pixels * 255 + noise).round().clamp(0, 255)
    pictures: NDArray[np.uint8] = levels.to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
    return pictures


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)

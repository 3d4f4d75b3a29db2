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

_GAP = 4
_MARGIN = 16
_TITLE = 46
_LABEL = 34
_LEFT = 64


def contact_sheet(experiments: Sequence[Experiment]) -> Image.Image:
    """Draw one block per experiment, pixel for pixel: resampling would change the stimuli."""
    from PIL import Image, ImageDraw

    blocks = [experiment.samples() for experiment in experiments]
    cells = [experiment.scene.field.height_px + _GAP for experiment in experiments]
    widths = [
        (experiment.scene.field.width_px + _GAP) * len(block[0])
        for experiment, block in zip(experiments, blocks, strict=True)
    ]
    width = 2 * _MARGIN + _LEFT + max(widths)
    heights = [
        _TITLE + len(block) * cell + _LABEL for block, cell in zip(blocks, cells, strict=True)
    ]
    sheet = Image.new("RGB", (width, 2 * _MARGIN + sum(heights)), "white")
    draw = ImageDraw.Draw(sheet)
    top = _MARGIN
    for experiment, block, height, cell in zip(experiments, blocks, heights, cells, strict=True):
        field, (across, down) = experiment.scene.field, experiment.axes
        draw.text((_MARGIN, top), f"{experiment.id}: {experiment.title}", "black", _font(18))
        about = f"across: {across}; down: {down}; {field.ppd:g} pixels/degree"
        draw.text((_MARGIN, top + 24), about, "#444444", _font(13))
        for number, row in enumerate(block):
            _draw_row(sheet, draw, experiment, row, top + _TITLE + number * cell)
        for number, sample in enumerate(block[-1]):
            at = (
                _MARGIN + _LEFT + number * (field.width_px + _GAP),
                top + _TITLE + len(block) * cell - 2,
            )
            draw.text(at, sample.x, "#444444", _font(13))
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
    draw.text((_MARGIN, top + scene.field.height_px // 2 - 8), row[0].y, "#444444", _font(13))
    for number, pixels in enumerate(visible(frames)):
        left = _MARGIN + _LEFT + number * (scene.field.width_px + _GAP)
        sheet.paste(Image.fromarray(pixels), (left, top))


def visible(frames: Frames) -> NDArray[np.uint8]:
    """Return 8-bit pictures [n, h, w, 3], dithered so that low contrasts are not lost."""
    import torch

    noise = torch.rand(frames.pixels.shape[-2:], generator=torch.Generator().manual_seed(0)) - 0.5
    levels = (frames.pixels * 255 + noise).round().clamp(0, 255)
    pictures: NDArray[np.uint8] = levels.to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
    return pictures


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)

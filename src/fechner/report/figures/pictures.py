"""Pictures for print and screen: galleries with captions, and stimuli pixel for pixel."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments import Experiment, Scene
from fechner.report.figures import style
from fechner.report.tiles import GONE, Pixels, draw_picture, tile_rows, view_of
from fechner.scores.panels import Item, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

#: A heading, and what draws the pictures below it.
PictureRow = tuple[str, Sequence["Callable[[Axes], None]"]]

# Galleries

#: Pictures beside each other, the largest ones first; below that, nothing is seen.
_ACROSS = {1: (3, 4, 5), 2: (6, 7, 8, 9, 10)}
_BETWEEN_MM = 2.5


def draw_galleries(
    blocks: Sequence[tuple[str, Panel]], scene: Scene, columns: int, dpi: float
) -> Figure:
    """Draw the galleries of observers below each other, in rows as wide as the page.

    Parameters
    ----------
    blocks
        Names of observers with the panels that hold their pictures.
    """
    page = style.check_columns(columns)
    aspect = scene.field.height_px / scene.field.width_px
    galleries = [
        (f"{name}: {panel.title}" if panel.title else name, panel.gallery.items)
        for name, panel in blocks
        if panel.gallery
    ]
    for across in _ACROSS[columns]:
        side = (page - 2.0) / across - _BETWEEN_MM
        rows = [
            (style.wrapped(name * (k == 0), page), items[k : k + across])
            for name, items in galleries
            for k in range(0, len(items), across)
        ]
        captions = [[_caption(item, side) for item in items] for _, items in rows]
        lines = sum(max(text.count("\n") + 1 for text in row) for row in captions)
        height = len(rows) * (side * aspect + 2.0) + lines * style.LINE_MM + 5.0 * len(blocks)
        if height <= style.HEIGHT_MM:
            break
    else:
        most = max(1, math.floor(len(blocks) * style.HEIGHT_MM / height))
        wider = " or take two columns" if columns == 1 else ""
        raise FechnerError(
            f"the pictures of {len(blocks)} observers do not fit on a page of "
            f"{style.COLUMNS_MM[columns]:g} x {style.HEIGHT_MM:g} mm; choose at most {most}{wider}."
        )
    pixels_of = cache(partial(draw_picture, scene=scene))
    drawn: list[PictureRow] = []
    for (heading, items), texts in zip(rows, captions, strict=True):
        shown = zip((pixels_of(item.picture) for item in items), texts, strict=True)
        draw = [partial(_show, pixels=pixels, words=words, side_mm=side) for pixels, words in shown]
        drawn.append((heading, draw))
    return draw_rows(drawn, across, page, aspect, dpi)


def draw_rows(
    rows: Sequence[PictureRow],
    across: int,
    page: float,
    aspect: float,
    dpi: float,
) -> Figure:
    """Draw pictures in rows with headings above; each draws itself, with its caption as label."""
    figure = style.new_page(page, dpi)
    grid = figure.add_gridspec(len(rows), across)
    for k, (heading, pictures) in enumerate(rows):
        for column in range(max(len(pictures), 1)):
            axes = figure.add_subplot(grid[k, column])
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            if column == 0 and heading:
                # The title keeps room above; the heading may be wider than its picture.
                axes.set_title("\n".join(" " for _ in heading.split("\n")))
                how: Any = {"xycoords": "axes fraction", "textcoords": "offset points"}
                text = axes.annotate(heading, (0, 1), (0, 3), va="bottom", **how)
                text.set_in_layout(False)
            if column < len(pictures):
                pictures[column](axes)
    style.fit_height(figure, len(rows), aspect=aspect)
    return style.finish(figure)


def _caption(item: Item, room_mm: float) -> str:
    lines = textwrap.wrap(
        style.plain(item.text), int(room_mm / style.CHARACTER_MM), max_lines=3, placeholder="…"
    )
    return "\n".join([*style.shortened([item.title], room_mm), *lines])


def _show(axes: Axes, pixels: Pixels | None, words: str, side_mm: float) -> None:
    axes.set_xlabel(words, loc="left", fontsize=style.SMALL_PT)
    if pixels is None:
        axes.spines[:].set_visible(True)
        gone = style.wrapped(GONE, side_mm)
        axes.text(0.5, 0.5, gone, ha="center", va="center", transform=axes.transAxes)
    else:
        axes.imshow(pixels, interpolation="none", aspect="auto")


# Stimuli

#: Pixels between stimuli; the smallest stimulus that shows anything, and room for those of a test.
_GAP_PX, _SMALLEST_MM, _NARROWEST_MM = 4, 5.5, 40.0
#: What stands above a test, and to the left and below without the words.
_ABOVE_MM, _LEFT_MM, _BELOW_MM = 5.0, 9.5, 6.0


def _block(experiment: Experiment) -> Pixels:
    """Return the stimuli of a test as one picture, pixel for pixel: nothing is resampled."""
    rows = [
        np.pad(row, ((0, 0), (0, _GAP_PX), (0, _GAP_PX), (0, 0)), constant_values=255)
        for row in tile_rows(experiment)
    ]
    whole: Pixels = np.concatenate([np.concatenate(list(row), axis=1) for row in rows])
    return whole[:-_GAP_PX, :-_GAP_PX]


def draw_stimuli(experiments: Sequence[Experiment], columns: int) -> Figure:
    """Draw the stimuli of tests; the resolution of the figure is that of the stimuli."""
    page = style.check_columns(columns)
    blocks = [_block(experiment) for experiment in experiments]
    smallest = min(view_of(experiment).width_px for experiment in experiments)
    widest = max(block.shape[1] for block in blocks)
    names = [len(row[0].y) for experiment in experiments for row in experiment.samples()]
    left = _LEFT_MM + max(names) * style.CHARACTER_MM
    for across in range(1, min(len(blocks), int(page / _NARROWEST_MM)) + 1):
        # As many dots as the widest block has pixels; a whole number of them over the page.
        wide = page / across - left - 1.5
        dots = math.ceil(page * widest / wide)
        pixel = page / dots
        words = [_axis_words(experiment, wide) for experiment in experiments]
        below = _BELOW_MM + style.LINE_MM * max(text.count("\n") + 1 for text in words)
        rows = [blocks[k : k + across] for k in range(0, len(blocks), across)]
        heights = [max(block.shape[0] for block in row) * pixel for row in rows]
        height = math.ceil((sum(heights) + len(rows) * (_ABOVE_MM + below)) / pixel)
        if smallest * pixel >= _SMALLEST_MM and height * pixel <= style.HEIGHT_MM:
            break
    else:
        raise FechnerError(
            f"the stimuli of {len(blocks)} tests do not fit on a page of {page:g} x "
            f"{style.HEIGHT_MM:g} mm at a size that can be seen; name one test, or take two "
            "columns."
        )
    figure = style.new_page((dots + 0.01) * pixel, 25.4 / pixel, (height + 0.01) * pixel)
    figure.set_layout_engine("none")
    for k, (experiment, block) in enumerate(zip(experiments, blocks, strict=True)):
        row, column = divmod(k, across)
        top = sum(heights[:row]) + row * (_ABOVE_MM + below) + _ABOVE_MM
        # On whole pixels.
        x, y = (column * page / across + left) // pixel, height - top // pixel - block.shape[0]
        box = np.array([x, y, block.shape[1], block.shape[0]]) / ([dots + 0.01, height + 0.01] * 2)
        axes = figure.add_axes(tuple(box))
        axes.imshow(block, interpolation="none", aspect="auto")
        _name_stimuli(axes, experiment, words[k], pixel)
    return figure


def _axis_words(experiment: Experiment, room_mm: float) -> str:
    """Return what stands below stimuli: what varies, and how they differ from those shown."""
    note = view_of(experiment).note
    return style.wrapped("; ".join(filter(None, (style.units(experiment.axes[0]), note))), room_mm)


def _name_stimuli(axes: Axes, experiment: Experiment, below: str, pixel_mm: float) -> None:
    """Write the names of rows and columns, of columns as many as have room, to the last."""
    samples, view = experiment.samples(), view_of(experiment)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=1.5)
    wide, high = view.width_px + _GAP_PX, view.height_px + _GAP_PX
    columns = [style.plain(sample.x) for sample in samples[0]]
    longest = (max(map(len, columns)) + 0.5) * style.CHARACTER_MM
    every = min(math.ceil(longest / (wide * pixel_mm)), len(columns))
    kept = range((len(columns) - 1) % every, len(columns), every)
    axes.set_xticks([k * wide + view.width_px / 2 for k in kept], [columns[k] for k in kept])
    middles = [k * high + view.height_px / 2 for k in range(len(samples))]
    axes.set_yticks(middles, [style.plain(row[0].y) for row in samples])
    axes.set_xlabel(below, fontsize=style.SMALL_PT)
    room = max(len(samples) * high * pixel_mm, 10.0)
    axes.set_ylabel(style.wrapped(style.units(experiment.axes[1]), room), fontsize=style.SMALL_PT)
    axes.set_title(style.shortened([experiment.id], len(columns) * wide * pixel_mm)[0])


#: Space around a contact sheet; room for the title of a block, and for names below it.
_MARGIN, _TITLE, _LABEL = 16, 46, 34
#: Room between the words left of a row and its stimuli, and the least there is for both.
_BESIDE, _LEFT = 10, 64


def contact_sheet(experiments: Sequence[Experiment]) -> Image.Image:
    """Draw the stimuli of tests as people would see them, a block for each, pixel for pixel."""
    from PIL import Image, ImageDraw, ImageFont

    small, large = ImageFont.load_default(13), ImageFont.load_default(18)
    blocks = [_block(experiment) for experiment in experiments]
    names = [row[0].y for experiment in experiments for row in experiment.samples()]
    left = max(_LEFT, *(_BESIDE + math.ceil(small.getlength(name)) for name in names)) + _MARGIN
    width = left + max(block.shape[1] for block in blocks) + _GAP_PX + _MARGIN
    height = sum(_TITLE + block.shape[0] + _GAP_PX + _LABEL for block in blocks) + 2 * _MARGIN
    sheet = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(sheet)
    top = _MARGIN
    for experiment, block in zip(experiments, blocks, strict=True):
        view, samples = view_of(experiment), experiment.samples()
        draw.text((_MARGIN, top), f"{experiment.id}: {experiment.title}", "black", large)
        draw.text((_MARGIN, top + 24), _about(experiment, view.note), "#444444", small)
        top += _TITLE
        sheet.paste(Image.fromarray(block), (left, top))
        for k, row in enumerate(samples):
            at = top + k * (view.height_px + _GAP_PX) + view.height_px // 2 - 8
            draw.text((_MARGIN, at), row[0].y, "#444444", small)
        top += block.shape[0] + _GAP_PX
        for k, sample in enumerate(samples[-1]):
            at = left + k * (view.width_px + _GAP_PX)
            draw.text((at, top - 2), sample.x, "#444444", small)
        top += _LABEL
    return sheet


def _about(experiment: Experiment, note: str) -> str:
    (across, down), field = experiment.axes, experiment.scene.field
    moment = "at the moment of largest contrast" if field.is_video else ""
    parts = (f"across: {across}", f"down: {down}", f"{field.ppd:g} pixels/degree", moment, note)
    return "; ".join(filter(None, parts))

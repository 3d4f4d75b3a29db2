"""Pictures for print and screen: galleries with captions, and stimuli pixel for pixel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import FechnerError
from fechner.experiments import Experiment
from fechner.report.figures.style import (
    COLUMNS_MM,
    HEIGHT_MM,
    LINE_MM,
    SMALL_PT,
    TITLE_PT,
    check_columns,
    finish,
    fit_height,
    fitted,
    lay_out,
    new_page,
    plain,
    size_mm,
    units,
    width_mm,
    wrapped,
)
from fechner.report.tiles import GONE, Pictures, Pixels, tile_rows, view_of
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
_BETWEEN_MM, _TEXT_LINES = 2.5, 3


def draw_galleries(
    blocks: Sequence[tuple[str, Panel]], pictures: Pictures, columns: int, dpi: float
) -> Figure:
    """Draw the galleries of observers below each other, in rows as wide as the page.

    Parameters
    ----------
    blocks
        Names of observers with the panels that hold their pictures.
    """
    page = check_columns(columns)
    aspect = pictures.scene.field.height_px / pictures.scene.field.width_px
    galleries = [
        (f"{name}: {panel.title}" if panel.title else name, panel.gallery.items)
        for name, panel in blocks
        if panel.gallery
    ]
    for across in _ACROSS[columns]:
        side = (page - 2.0) / across - _BETWEEN_MM
        rows = [
            (fitted([name * (k == 0)], page - 2.0, TITLE_PT)[0], items[k : k + across])
            for name, items in galleries
            for k in range(0, len(items), across)
        ]
        captions = [[_caption(item, side) for item in items] for _, items in rows]
        lines = sum(max(text.count("\n") + 1 for text in row) for row in captions)
        height = len(rows) * (side * aspect + 2.0) + lines * LINE_MM + 5.0 * len(blocks)
        if height <= HEIGHT_MM:
            break
    else:
        most = max(1, math.floor(len(blocks) * HEIGHT_MM / height))
        wider = " or take two columns" if columns == 1 else ""
        raise FechnerError(
            f"the pictures of {len(blocks)} observers do not fit on a page of "
            f"{COLUMNS_MM[columns]:g} x {HEIGHT_MM:g} mm; choose at most {most}{wider}."
        )
    drawn: list[PictureRow] = []
    for (heading, items), texts in zip(rows, captions, strict=True):
        shown = zip(pictures.of(items), texts, strict=True)
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
    figure = new_page(page, len(rows) * (page / across * aspect + 4 * LINE_MM), dpi)
    grid = figure.add_gridspec(len(rows), across)
    for k, (heading, pictures) in enumerate(rows):
        for column in range(max(len(pictures), 1)):
            axes = figure.add_subplot(grid[k, column])
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            if column == 0:
                axes.set_title(heading)
            if column < len(pictures):
                pictures[column](axes)
    fit_height(figure, len(rows), aspect=aspect)
    return finish(figure)


def _caption(item: Item, room_mm: float) -> str:
    (title,) = fitted([item.title], room_mm, SMALL_PT)
    lines = wrapped(item.text, room_mm).split("\n") if item.text else []
    if len(lines) > _TEXT_LINES:
        lines[_TEXT_LINES - 1 :] = fitted([" ".join(lines[_TEXT_LINES - 1 :])], room_mm)
    return "\n".join([title, *lines])


def _show(axes: Axes, pixels: Pixels | None, words: str, side_mm: float) -> None:
    axes.set_xlabel(words, loc="left", fontsize=SMALL_PT)
    if pixels is None:
        axes.spines[:].set_visible(True)
        gone = wrapped(GONE, side_mm - 1.0)
        axes.text(0.5, 0.5, gone, ha="center", va="center", transform=axes.transAxes)
    else:
        axes.imshow(pixels, interpolation="none", aspect="auto")


# Stimuli

#: Pixels between stimuli; the smallest stimulus that shows anything, and room for those of a test.
_GAP_PX, _SMALLEST_MM, _NARROWEST_MM = 4, 5.5, 40.0


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
    page = check_columns(columns)
    blocks = [_block(experiment) for experiment in experiments]
    smallest = min(view_of(experiment).width_px for experiment in experiments)
    for across in range(1, min(len(blocks), int(page / _NARROWEST_MM)) + 1):
        figure, axes = _lay_out_stimuli(experiments, blocks, across, page)
        legible = smallest / figure.dpi * 25.4 >= _SMALLEST_MM
        if legible and size_mm(figure)[1] <= HEIGHT_MM:
            break
    else:
        raise FechnerError(
            f"the stimuli of {len(blocks)} tests do not fit on a page of {page:g} x "
            f"{HEIGHT_MM:g} mm at a size that can be seen; name one test, or take two columns."
        )
    finish(figure)
    width, height = figure.get_size_inches() * figure.dpi
    for on, block in zip(axes, blocks, strict=True):
        # Where matplotlib put them, on whole pixels.
        box = on.get_window_extent()
        left, top = math.floor(box.x0), math.floor(box.y1)
        high, wide = block.shape[:2]
        on.set_position((left / width, (top - high) / height, wide / width, high / height))
    return figure


def _lay_out_stimuli(
    experiments: Sequence[Experiment], blocks: Sequence[Pixels], across: int, page: float
) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many blocks beside each other, whose resolution is theirs."""
    rows = [blocks[k : k + across] for k in range(0, len(blocks), across)]
    tallest = [max(block.shape[0] for block in row) for row in rows]
    widest = max(block.shape[1] for block in blocks)
    figure = new_page(page, HEIGHT_MM, dpi=100.0)
    grid = figure.add_gridspec(len(rows), across, height_ratios=tallest)
    placed = []
    about = page / across - 20.0
    for k, (experiment, block) in enumerate(zip(experiments, blocks, strict=True)):
        axes = figure.add_subplot(grid[divmod(k, across)])
        _show_stimuli(axes, experiment, block, about / widest)
        placed.append(axes)
    lay_out(figure)
    # As many dots as the widest block has pixels; a whole number of them over the page.
    dots = math.ceil(page * widest / min(size_mm(axes)[0] for axes in placed))
    figure.set_dpi(dots / page * 25.4)
    millimetres = 25.4 / figure.dpi
    decoration = size_mm(figure)[1] - sum(
        size_mm(placed[k])[1] for k in range(0, len(blocks), across)
    )
    height = decoration + sum(tallest) * millimetres
    figure.set_size_inches(
        (dots + 0.01) / figure.dpi, (math.ceil(height / millimetres) + 0.01) / figure.dpi
    )
    return figure, placed


def _show_stimuli(axes: Axes, experiment: Experiment, block: Pixels, pixel_mm: float) -> None:
    """Draw the stimuli of a test with the names of rows and columns."""
    samples, view = experiment.samples(), view_of(experiment)
    axes.imshow(block, interpolation="none", aspect="auto")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=1.5)
    wide, high = view.width_px + _GAP_PX, view.height_px + _GAP_PX
    columns = [plain(sample.x) for sample in samples[0]]
    kept = _labelled(columns, wide * pixel_mm)
    axes.set_xticks([k * wide + view.width_px / 2 for k in kept], [columns[k] for k in kept])
    middles = [k * high + view.height_px / 2 for k in range(len(samples))]
    axes.set_yticks(middles, [plain(row[0].y) for row in samples])
    room = block.shape[1] * pixel_mm, block.shape[0] * pixel_mm
    note = f"; {view.note}" if view.note else ""
    how: dict[str, Any] = {"fontsize": SMALL_PT}
    axes.set_xlabel(wrapped(units(experiment.axes[0]) + note, room[0]), **how)
    axes.set_ylabel(wrapped(units(experiment.axes[1]), max(room[1], 10.0)), **how)
    axes.set_title(fitted([experiment.id], room[0], TITLE_PT)[0])


def _labelled(names: Sequence[str], pitch_mm: float) -> Sequence[int]:
    """Return which columns have their names below: all, or every second and so on, to the last."""
    for every in range(1, len(names)):
        kept = range((len(names) - 1) % every, len(names), every)
        if max(width_mm(names[k]) for k in kept) + 1.0 <= every * pitch_mm:
            return kept
    return [len(names) - 1]


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

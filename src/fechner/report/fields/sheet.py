"""Printed pages of receptive fields: layer by layer, with scale bars and fits below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fechner.physiology import Tuning
from fechner.report.fields.words import Section, caption, scale_bar, sections
from fechner.report.figures.style import (
    HEIGHT_MM,
    INK,
    LINE_MM,
    SMALL_PT,
    check_columns,
    finish,
    fit_height,
    fitted,
    new_page,
    number,
    paper_style,
    units,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: From one line of a caption to the next, as matplotlib sets them.
_LINE_MM = 1.2 * SMALL_PT / 72 * 25.4
#: Side of a field, and the height of a row with captions; room around rows.
_SIDE_MM, _ROW_MM, _BETWEEN_MM = 27.5, 27.5 + 3 * LINE_MM + 3.0, 1.5


class _Row(NamedTuple):
    """Fields of one layer beside each other, below its head where they are the first."""

    section: Section
    head: str
    fields: tuple[Tuning, ...]

    @property
    def height_mm(self) -> float:
        """About how high it is."""
        return bool(self.fields) * _ROW_MM + (self.head.count("\n") + 1) * LINE_MM * bool(self.head)


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
    across = int(width // (_SIDE_MM + _BETWEEN_MM))
    pages: list[list[_Row]] = [[]]
    for section in sections(tunings):
        drawn = section.drawn
        for start in range(0, max(len(drawn), 1), across):
            row = _Row(
                section,
                _head(section, width - 4.0, False) * (start == 0),
                drawn[start : start + across],
            )
            if sum(each.height_mm for each in pages[-1]) + row.height_mm > HEIGHT_MM - 4.0:
                pages.append([])
                row = row._replace(head=row.head or _head(section, width - 4.0, True))
            pages[-1].append(row)
    with paper_style():
        return [_draw_page(page, width, across, dpi) for page in pages]


def _head(section: Section, room_mm: float, again: bool) -> str:
    """Return the lines above a layer's fields; one that goes on is named again."""
    (name,) = fitted([f"{section.observer}  {section.layer}{' (continued)' * again}"], room_mm)
    more = () if again else (section.counts, section.method)
    return "\n".join([name, *(wrapped(units(text), room_mm) for text in more)])


def _draw_page(rows: Sequence[_Row], width: float, across: int, dpi: float) -> Figure:
    figure = new_page(width, sum(row.height_mm for row in rows) + 4.0, dpi)
    grid = figure.add_gridspec(len(rows), across)
    for number_of_row, row in enumerate(rows):
        for column in range(across):
            axes = figure.add_subplot(grid[number_of_row, column])
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            if column == 0 and row.head:
                axes.set_title(row.head)
            if column < len(row.fields):
                _draw_field(axes, row.section, row.fields[column])
    fit_height(figure, len(rows), aspect=1.0)
    return finish(figure)


def _draw_field(axes: Axes, section: Section, tuning: Tuning) -> None:
    """Draw a field at the upper left of its place, with a caption and a scale bar below."""
    high, wide = section.window(tuning).size_px
    side = max(high, wide)
    axes.imshow(
        section.picture(tuning),
        interpolation="nearest",
        aspect="auto",
        extent=(0, wide, side - high, side),
    )
    axes.set(xlim=(0, side), ylim=(0, side))
    axes.set_xlabel("\n".join(fitted(caption(tuning), _SIDE_MM)), loc="left", fontsize=SMALL_PT)
    # At the right end of the last line of the caption.
    side_deg = section.side_deg(tuning)
    length = scale_bar(side_deg)
    down = -(2.5 * _LINE_MM + 0.8) / _SIDE_MM
    ends = [1 - length / side_deg, 1.0]
    axes.plot(ends, [down] * 2, color=INK, lw=1.6, clip_on=False, transform=axes.transAxes)
    axes.annotate(
        f"{number(length)}°",
        (ends[0], down),
        (-2, 0),
        "axes fraction",
        "offset points",
        ha="right",
        va="center",
    )

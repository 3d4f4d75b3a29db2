"""Printed pages of receptive fields: layer by layer, with scale bars and fits below them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from fechner.physiology import Tuning
from fechner.report.fields.words import Section, caption, scale_bar, sections
from fechner.report.figures.pictures import PictureRow, draw_rows
from fechner.report.figures.style import (
    HEIGHT_MM,
    INK,
    LINE_MM,
    SMALL_PT,
    TITLE_PT,
    check_columns,
    fitted,
    number,
    paper_style,
    units,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of a field with the space to the next, and its side.
_FIELD_MM, _SIDE_MM = 29.0, 27.5
#: From one line of a caption to the next, as matplotlib sets them.
_SET_MM = 1.2 * SMALL_PT / 72 * 25.4


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
    page = check_columns(columns)
    across = int(page / _FIELD_MM)
    pages: list[list[PictureRow]] = [[]]
    left, above = HEIGHT_MM, ""
    every = sections(tunings)
    for section in every:
        drawn = section.drawn
        if not drawn and section is not every[-1]:  # it has its place above the next
            above += _head(section, page - 4.0) + "\n\n"
            continue
        for start in range(0, max(len(drawn), 1), across):
            head = "" if start else above + _head(section, page - 4.0)
            height = _SIDE_MM - 1.0 + (bool(head) + head.count("\n") + 4) * LINE_MM
            if height > left and pages[-1]:
                pages.append([])
                left, head = HEIGHT_MM, head or _head(section, page - 4.0, again=True)
            left -= height
            fields = drawn[start : start + across]
            row = [partial(_draw_field, section=section, tuning=each) for each in fields]
            pages[-1].append((head, row))
        above = ""
    with paper_style():
        return [draw_rows(rows, across, page, 1.0, dpi) for rows in pages]


def _head(section: Section, room_mm: float, again: bool = False) -> str:
    """Return the lines above a layer's fields; one that goes on is named again."""
    (name,) = fitted(
        [f"{section.observer}  {section.layer}{' (continued)' * again}"], room_mm, TITLE_PT
    )
    more = () if again else (section.counts, section.method)
    return "\n".join([name, *(wrapped(units(text), room_mm, TITLE_PT) for text in more)])


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
    down = -(2.5 * _SET_MM + 0.8) / _SIDE_MM
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

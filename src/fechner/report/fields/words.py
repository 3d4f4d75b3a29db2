"""Receptive fields in words and pictures, and printed pages of them, layer by layer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from fechner.physiology import KINDS, ReceptiveField, Tuning, Window
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
    from numpy.typing import NDArray

_BY = {
    "jacobian": "derivatives at the grey",
    "jacobians": "derivatives at {pictures:,} pictures of noise of contrast {contrast:g}",
    "deltas": "increments and decrements of single pixels by {contrast:g} of the grey",
    "noise": "reverse correlation with {pictures:,} pictures of noise of contrast {contrast:g}",
}


#: Weights of at least this share of a field's largest one can be seen on a sheet.
_VISIBLE = 0.05
#: Weights beyond this many standard errors are more than noise in a field of 50,000 of them.
_BEYOND_ERRORS = 5.0
#: Room around what can be seen, relative to it, and the smallest side of a picture in pixels.
_MARGIN, _LEAST_PX = 0.1, 5

#: Width of a field with the space to the next, and its side.
_FIELD_MM, _SIDE_MM = 29.0, 27.5
#: From one line of a caption to the next, as matplotlib sets them.
_SET_MM = 1.2 * SMALL_PT / 72 * 25.4


@dataclass(frozen=True)
class Section:
    """The receptive fields of one layer of one observer."""

    observer: str
    layer: str
    tunings: tuple[Tuning, ...]

    @property
    def drawn(self) -> tuple[Tuning, ...]:
        """The fields that there is something to see of."""
        return tuple(each for each in self.tunings if each.kind != "silent")

    @cached_property
    def _sides_px(self) -> dict[Tuning, int]:
        """Side of each picture: one for all, or halves of it for smaller fields."""
        needed = {each: _side_px(each.field) for each in self.drawn}
        largest = max(needed.values(), default=_LEAST_PX)
        sides = {}
        for tuning, side in needed.items():
            halvings = math.floor(math.log2(largest / side))
            sides[tuning] = math.ceil(largest / 2**halvings)
        return sides

    def window(self, tuning: Tuning) -> Window:
        """Return which pixels of the field are shown of one: a square around what can be seen."""
        field = tuning.field.field
        seen, side = _seen(tuning.field), self._sides_px[tuning]
        (top, bottom), (left, right) = (
            _placed(first + last, side, whole)
            for first, last, whole in (
                (seen.top, seen.bottom, field.height_px),
                (seen.left, seen.right, field.width_px),
            )
        )
        return Window(top, bottom, left, right)

    def side_deg(self, tuning: Tuning) -> float:
        """Return the longer side of a picture."""
        return max(self.window(tuning).size_px) / tuning.field.field.ppd

    def picture(self, tuning: Tuning) -> NDArray[np.uint8]:
        """Return one of its fields as it is shown, [h, w, 3]; grey where it has no weights."""
        shown, own = self.window(tuning), tuning.field.window
        canvas = np.full((*shown.size_px, 3), 128, dtype=np.uint8)
        top, left = max(shown.top, own.top), max(shown.left, own.left)
        bottom, right = min(shown.bottom, own.bottom), min(shown.right, own.right)
        common = Window(top, bottom, left, right)
        rows, columns = common.within(own).slices
        canvas[common.within(shown).slices] = picture(tuning.field)[rows, columns]
        return canvas

    @property
    def counts(self) -> str:
        """How many there are of each kind."""
        n, all_of = len(self.tunings), self.tunings[0].field.channels
        of = f" of {all_of}" if all_of > n else ""
        silent = "" if len(self.drawn) == n else " (not drawn)"
        return f"{n}{of} unit{'s' if n != 1 or of else ''}: {count_kinds(self.tunings)}{silent}"

    @property
    def method(self) -> str:
        """How they were found, and at which scale they are shown."""
        field = self.tunings[0].field
        by = "jacobians" if field.by == "jacobian" and field.pictures > 1 else field.by
        how = _BY[by].format(contrast=field.contrast or 0.0, pictures=field.pictures)
        of = "linear light" if field.conditions.of == "light" else "display-encoded values"
        return (
            f"weights of {of} by {how}; grey of {field.conditions.luminance_cdm2:g} cd/m2 on "
            f"display '{field.conditions.display.name}'; scale bars in degrees "
            f"({field.field.ppd:g} px/deg)"
        )


def _seen(field: ReceptiveField) -> Window:
    """Return where weights can be seen, in pixels of the whole field."""
    sizes = np.abs(field.weights)
    least = np.full(sizes.shape, _VISIBLE * sizes.max())
    if field.errors is not None:
        least = np.maximum(least, _BEYOND_ERRORS * field.errors)
    inside = Window.around(np.asarray(((sizes >= least) & (sizes > 0)).any(axis=0)))
    own = field.window
    return Window(
        own.top + inside.top,
        own.top + inside.bottom,
        own.left + inside.left,
        own.left + inside.right,
    )


def _side_px(field: ReceptiveField) -> int:
    """Return the side of a square that shows a field with a margin."""
    longest = max(_seen(field).size_px)
    side = longest + 2 * max(1, round(_MARGIN * longest))
    return max(_LEAST_PX, min(side, max(field.field.height_px, field.field.width_px)))


def _placed(twice_centre: int, side: int, whole: int) -> tuple[int, int]:
    """Return first and last of as many pixels around a place, inside a field where they fit.

    Examples
    --------
    >>> _placed(20, 6, 64), _placed(4, 6, 64), _placed(64, 80, 64)
    ((7, 13), (0, 6), (0, 64))
    """
    side = min(side, whole)
    first = min(max((twice_centre - side) // 2, 0), whole - side)
    return first, first + side


def scale_bar(side_deg: float) -> float:
    """Return the length of a scale bar: 1, 2 or 5 times a power of ten, a third of a side at most.

    Examples
    --------
    >>> scale_bar(0.172), scale_bar(2.0), scale_bar(0.08)
    (0.05, 0.5, 0.02)
    """
    power = 10.0 ** math.floor(math.log10(side_deg / 3))
    return max(round(k * power, 9) for k in (1, 2, 5) if k * power <= side_deg / 3 * (1 + 1e-9))


def sections(tunings: Iterable[Tuning]) -> list[Section]:
    """Return receptive fields by observer and layer, in the order in which they come."""
    groups = groupby(tunings, key=lambda each: (each.field.observer, each.field.layer))
    return [Section(observer, layer, tuple(some)) for (observer, layer), some in groups]


def count_kinds(tunings: Sequence[Tuning]) -> str:
    """Return how many fields there are of each kind, in words."""
    counts = Counter(tuning.kind for tuning in tunings)
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])


def picture(field: ReceptiveField) -> NDArray[np.uint8]:
    """Return weights as colours around mid-grey, the largest weight at full scale: [h, w, 3]."""
    largest = float(np.abs(field.weights).max())
    scaled = 0.5 + 0.5 * field.weights / (largest or 1.0)
    shown: NDArray[np.uint8] = np.moveaxis((255 * scaled).round().astype(np.uint8), 0, -1)
    return shown


def caption(tuning: Tuning) -> tuple[str, str, str]:
    """Return three short lines: unit and kind, what describes it, and the share that explains.

    Frequency and orientation of a Gabor describe an oriented field; the centre of a difference of
    Gaussians (its standard deviation) describes centre-surround fields and blobs.
    """
    first = f"{tuning.field.unit.channel} {tuning.kind}"
    gabor, dog, axis = tuning.gabor, tuning.dog, tuning.colour.axis
    if gabor is None or dog is None:
        return first, "not fitted", axis
    if tuning.kind == "oriented":
        angle = round(gabor.orientation_deg) % 180
        return first, f"{gabor.peak_cpd:.3g} cpd, {angle}°, {axis}", f"R² {gabor.r2:.2f}"
    if tuning.kind == "other":
        return first, axis, f"R² {max(gabor.r2, dog.r2):.2f}"
    pixel = 1 / tuning.field.field.ppd
    # A centre within one pixel has no size that could be told.
    narrow = dog.centre_sigma_deg < pixel / 2
    size = "1 px" if narrow else f"σ {dog.centre_sigma_deg:.2g}°"
    of = "centre " if tuning.kind == "centre-surround" else ""
    return first, f"{of}{size}, {axis}", f"R² {dog.r2:.2f}"


# Printed pages


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

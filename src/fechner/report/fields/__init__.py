"""Sheets of receptive fields: figures, one self-contained page, or a table of fits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fechner
from fechner.arrays import pd
from fechner.errors import FechnerError
from fechner.physiology import KINDS, RULES, DogFit, GaborFit, ReceptiveField, Tuning, Window
from fechner.report.figures import style
from fechner.report.figures.pictures import PictureRow, draw_rows
from fechner.report.html import as_uri, templates
from fechner.runs.store import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "SUFFIXES",
    "caption",
    "check_sheet_path",
    "draw_sheets",
    "make_fields_page",
    "sections",
    "to_csv",
    "write_sheet",
]

SUFFIXES = (*style.SUFFIXES, ".html", ".csv")


def check_sheet_path(path: Path | str) -> Path:
    """Return where a sheet can be written, by its suffix."""
    path = style.check_path(path, SUFFIXES, "kind of sheet")
    if not path.parent.is_dir():
        raise FechnerError(f"{path} cannot be written: there is no folder '{path.parent}'.")
    return path


def write_sheet(tunings: Sequence[Tuning], path: Path | str) -> str:
    """Write receptive fields by the suffix of a file, and say what was written.

    A figure of several pages is one PDF, or several PNG or SVG files, numbered from the second on.
    """
    path = check_sheet_path(path)
    suffix = path.suffix.lower()
    if suffix in style.SUFFIXES:
        pages = draw_sheets(tunings)
        paths = style.save_pages(pages, path)
        size = style.size_in_words(pages)
        if len(pages) == 1:
            return f"{path}: {size}"
        to = "" if len(paths) == 1 else f" to {paths[-1]}"
        return f"{path}{to}: {len(pages)} pages of {size} at most"
    text = to_csv(tunings) if suffix == ".csv" else make_fields_page(tunings)
    write_atomically(path, text.encode())
    return f"{path}: {len(tunings)} units"


# Fields of a layer

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
        needed = {}
        for each in self.drawn:
            longest, field = max(_seen(each.field).size_px), each.field.field
            side = longest + 2 * max(1, round(_MARGIN * longest))
            needed[each] = max(_LEAST_PX, min(side, max(field.height_px, field.width_px)))
        largest = max(needed.values(), default=_LEAST_PX)
        halvings = {each: math.floor(math.log2(largest / side)) for each, side in needed.items()}
        return {each: math.ceil(largest / 2**times) for each, times in halvings.items()}

    def window(self, tuning: Tuning) -> Window:
        """Return which pixels of the field are shown of one: a square around what can be seen."""
        field, seen = tuning.field.field, _seen(tuning.field)
        ends = []
        for first, last, whole in (
            (seen.top, seen.bottom, field.height_px),
            (seen.left, seen.right, field.width_px),
        ):
            side = min(self._sides_px[tuning], whole)
            start = min(max((first + last - side) // 2, 0), whole - side)
            ends += [start, start + side]
        return Window(*ends)

    def scale_bar(self, tuning: Tuning) -> tuple[float, float]:
        """Return the length of a picture's scale bar in degrees, and relative to its side."""
        side = max(self.window(tuning).size_px) / tuning.field.field.ppd
        return scale_bar(side), scale_bar(side) / side

    def picture(self, tuning: Tuning) -> NDArray[np.uint8]:
        """Return one of its fields as it is shown, [h, w, 3]; grey where it has no weights."""
        field = tuning.field.field
        canvas = np.full((field.height_px, field.width_px, 3), 128, dtype=np.uint8)
        canvas[tuning.field.window.slices] = picture(tuning.field)
        shown: NDArray[np.uint8] = canvas[self.window(tuning).slices]
        return shown

    @property
    def counts(self) -> str:
        """How many there are of each kind."""
        n, channels = len(self.tunings), self.tunings[0].field.channels
        of = f" of {channels}" if channels > n else ""
        by_kind = Counter(tuning.kind for tuning in self.tunings)
        kinds = ", ".join(f"{by_kind[kind]} {kind}" for kind in KINDS if by_kind[kind])
        silent = " (not drawn)" if by_kind["silent"] else ""
        return f"{n}{of} unit{'s' if n > 1 or of else ''}: {kinds}{silent}"

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


def sections(tunings: Iterable[Tuning]) -> list[Section]:
    """Return receptive fields by observer and layer, in the order in which they come."""
    groups = groupby(tunings, key=lambda each: (each.field.observer, each.field.layer))
    return [Section(observer, layer, tuple(some)) for (observer, layer), some in groups]


def _seen(field: ReceptiveField) -> Window:
    """Return where weights can be seen, in pixels of the whole field."""
    sizes = np.abs(field.weights)
    least = np.full(sizes.shape, _VISIBLE * sizes.max())
    if field.errors is not None:
        least = np.maximum(least, _BEYOND_ERRORS * field.errors)
    inside = Window.around(np.asarray(((sizes >= least) & (sizes > 0)).any(axis=0)))
    top, left = field.window.top, field.window.left
    return Window(top + inside.top, top + inside.bottom, left + inside.left, left + inside.right)


def scale_bar(side_deg: float) -> float:
    """Return the length of a scale bar: 1, 2 or 5 times a power of ten, a third of a side at most.

    Examples
    --------
    >>> scale_bar(0.172), scale_bar(2.0), scale_bar(0.08)
    (0.05, 0.5, 0.02)
    """
    power = 10.0 ** math.floor(math.log10(side_deg / 3))
    return max(round(k * power, 9) for k in (1, 2, 5) if k * power <= side_deg / 3 * (1 + 1e-9))


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
    # A centre within one pixel has no size that could be told.
    narrow = dog.centre_sigma_deg < 0.5 / tuning.field.field.ppd
    size = "1 px" if narrow else f"σ {dog.centre_sigma_deg:.2g}°"
    of = "centre " if tuning.kind == "centre-surround" else ""
    return first, f"{of}{size}, {axis}", f"R² {dog.r2:.2f}"


# Printed pages

#: The least width of a field with the space to the next, and that space.
_FIELD_MM, _BETWEEN_MM = 29.0, 1.5
#: From one line of a caption to the next, as matplotlib sets them.
_SET_MM = 1.2 * style.SMALL_PT / 72 * 25.4


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
    page = style.check_columns(columns)
    across = int(page / _FIELD_MM)
    side = page / across - _BETWEEN_MM
    pages: list[list[PictureRow]] = [[]]
    left = style.HEIGHT_MM
    for section in sections(tunings):
        for start in range(0, max(len(section.drawn), 1), across):
            head = "" if start else _head(section, page)
            height = side + (bool(head) + head.count("\n") + 4) * style.LINE_MM
            if height > left and pages[-1]:
                pages.append([])
                left, head = style.HEIGHT_MM, head or f"{_name(section, page)} (continued)"
            left -= height
            fields = section.drawn[start : start + across]
            row = [
                partial(_draw_field, section=section, tuning=each, side_mm=side) for each in fields
            ]
            pages[-1].append((head, row))
    with style.paper_style():
        return [draw_rows(rows, across, page, 1.0, dpi) for rows in pages]


def _name(section: Section, page: float) -> str:
    return style.shortened([f"{section.observer}  {section.layer}"], 0.8 * page)[0]


def _head(section: Section, page: float) -> str:
    """Return the lines above a layer's fields."""
    about = (style.wrapped(style.units(text), page) for text in (section.counts, section.method))
    return "\n".join([_name(section, page), *about])


def _draw_field(axes: Axes, section: Section, tuning: Tuning, side_mm: float) -> None:
    """Draw a field at the upper left of its place, with a caption and a scale bar below."""
    high, wide = section.window(tuning).size_px
    side = max(high, wide)
    extent = (0, wide, side - high, side)
    axes.imshow(section.picture(tuning), interpolation="nearest", aspect="auto", extent=extent)
    axes.set(xlim=(0, side), ylim=(0, side))
    axes.set_xlabel("\n".join(caption(tuning)), loc="left", fontsize=style.SMALL_PT)
    # At the right end of the last line of the caption.
    length, share = section.scale_bar(tuning)
    down = -(2.5 * _SET_MM + 0.8) / side_mm
    ends = [1 - share, 1.0]
    axes.plot(ends, [down] * 2, color=style.INK, lw=1.6, clip_on=False, transform=axes.transAxes)
    how: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center"}
    axes.annotate(f"{style.number(length)}°", (ends[0], down), (-2, 0), ha="right", **how)


# Fits as a page and as a table

#: Columns of the table on the page.
_SHOWN = (
    *("channel", "kind", "gabor_frequency_cpd", "gabor_peak_cpd", "gabor_bandwidth_octaves"),
    *("gabor_orientation_deg", "gabor_phase_deg", "gabor_n_x", "gabor_n_y", "gabor_aspect"),
    *("gabor_r2", "dog_centre_sigma_deg", "dog_surround_sigma_deg", "dog_antagonism", "dog_r2"),
    *("colour_axis", *"atdlms", "azimuth_deg", "elevation_deg", "separable"),
)

_GABOR = (
    *("frequency_cpd", "peak_cpd", "bandwidth_octaves", "orientation_deg", "phase_deg"),
    *("sigma_deg", "sigma_along_deg", "aspect", "n_x", "n_y", "x_deg", "y_deg", "amplitude"),
)
_DOG = (
    *("centre_sigma_deg", "surround_sigma_deg", "centre_weight", "surround_weight"),
    *("x_deg", "y_deg"),
)


def make_fields_page(tunings: Sequence[Tuning]) -> str:
    """Return receptive fields as HTML that needs nothing else."""
    environment = templates("fields/template")
    environment.filters |= {
        "picture": lambda tuning, section: as_uri(section.picture(tuning), "PNG"),
        "caption": caption,
        "row": lambda tuning: [_cell(row(tuning)[name]) for name in _SHOWN],
    }
    return environment.get_template("fields.html").render(
        sections=sections(tunings),
        columns=[name.replace("_", " ") for name in _SHOWN],
        rules=RULES,
        version=fechner.__version__,
    )


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else "0" if abs(value) < 1e-9 else f"{value:.3g}"


def row(tuning: Tuning) -> dict[str, Any]:
    """Return what is known of a receptive field, by column; missing is nan."""
    field, colour = tuning.field, tuning.colour
    return {
        "observer": field.observer,
        "layer": field.layer,
        "channel": field.unit.channel,
        "place": " ".join(map(str, field.unit.place)),
        "by": field.by,
        "kind": tuning.kind,
        "ceiling": tuning.ceiling,
        "linear": math.nan if field.linear is None else field.linear,
        "pixels": field.window.size_px[0] * field.window.size_px[1],
        **_fit("gabor", tuning.gabor, _GABOR),
        **_fit("dog", tuning.dog, _DOG),
        "dog_antagonism": math.nan if tuning.dog is None else tuning.dog.antagonism,
        "colour_axis": colour.axis,
        **dict(zip("atd", colour.atd, strict=True)),
        **dict(zip("lms", colour.cones, strict=True)),
        "azimuth_deg": colour.azimuth_deg,
        "elevation_deg": colour.elevation_deg,
        "separable": colour.separable,
    }


def _fit(kind: str, fit: GaborFit | DogFit | None, names: Iterable[str]) -> dict[str, float]:
    """Return the goodness of a fit, and each parameter with its standard error."""
    found = {f"{kind}_r2": math.nan if fit is None else fit.r2}
    for name in names:
        found[f"{kind}_{name}"] = math.nan if fit is None else float(getattr(fit, name))
        error = None if fit is None else fit.errors.get(name)
        found[f"{kind}_{name}_error"] = math.nan if error is None else error
    return found


def to_csv(tunings: Iterable[Tuning]) -> str:
    """Return fits as CSV, a unit on each row; what was not found is empty."""
    text: str = pd.DataFrame(map(row, tunings)).to_csv(index=False, lineterminator="\n")
    return text

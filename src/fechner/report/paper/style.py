"""The printed page: widths, type, colours, and writing a figure so that it is always the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.paper.lettering import FONT, LARGE_PT, LINE_MM, SMALL_PT, TITLE_PT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of a figure over one and two columns, and the height of a page without its caption.
COLUMNS_MM = {1: 85.0, 2: 178.0}
HEIGHT_MM = 225.0

#: Okabe & Ito's colours, told apart by the colour-blind; grey in the place of yellow, which
#: vanishes on white.
PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8A8A8A",
)
#: One more than there are colours: 72 pairs before any comes again.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*")

INK = "#222222"
SUFFIXES = (".pdf", ".png", ".svg")

_STYLE: dict[str, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelpad": 2.0,
    "axes.labelsize": LARGE_PT,
    "axes.linewidth": 0.6,
    "axes.titlepad": 3.0,
    "axes.titlesize": LARGE_PT,
    "axes.unicode_minus": True,
    "font.family": [FONT],
    "font.size": SMALL_PT,
    "hatch.linewidth": 0.5,
    "image.cmap": "viridis",
    # Each picture by itself: put together they would be resampled.
    "image.composite_image": False,
    "legend.borderpad": 0.2,
    "legend.columnspacing": 1.4,
    "legend.fontsize": SMALL_PT,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.handletextpad": 0.5,
    "legend.labelspacing": 0.35,
    "legend.title_fontsize": SMALL_PT,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.0,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "fechner",
    "text.color": INK,
    # Letters as wide in a PNG as they are measured, at any resolution.
    "text.hinting": "no_hinting",
    # Names may hold dollar signs.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
    **{
        f"{axis}tick.{key}": value
        for axis in "xy"
        for key, value in {
            "labelsize": SMALL_PT,
            "major.pad": 2.0,
            "major.size": 2.5,
            "major.width": 0.6,
            "minor.size": 1.3,
            "minor.width": 0.4,
        }.items()
    },
}

# matplotlib's settings belong to the whole process.
_LOCK = threading.RLock()


@contextmanager
def paper_style() -> Iterator[None]:
    """Use the style of these figures, whatever the user's own is, and put that back."""
    import matplotlib

    with _LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _STYLE.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]
        yield


def inches(mm: float) -> float:
    """Return millimetres in inches.

    Examples
    --------
    >>> inches(25.4)
    1.0
    """
    return mm / 25.4


def sheet(width_mm: float, height_mm: float, dpi: float) -> Figure:
    """Return an empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(inches(width_mm), inches(height_mm)), dpi=dpi)


def axes_at(
    figure: Figure, left_mm: float, bottom_mm: float, width_mm: float, height_mm: float
) -> Axes:
    """Return new axes at a place on a figure."""
    across, up = (float(side) * 25.4 for side in figure.get_size_inches())
    return figure.add_axes((left_mm / across, bottom_mm / up, width_mm / across, height_mm / up))


def write_title(figure: Figure, title: str, left_mm: float, bottom_mm: float) -> None:
    """Write a title; lines stand upon each other, the last one always at the same height."""
    across, up = (float(side) * 25.4 for side in figure.get_size_inches())
    for k, line in enumerate(reversed(title.split("\n"))):
        at = left_mm / across, (bottom_mm + k * LINE_MM + 0.8) / up
        figure.text(*at, line, fontsize=TITLE_PT, va="baseline")


def check_columns(columns: int) -> float:
    """Return the width of so many columns in mm."""
    if columns not in COLUMNS_MM:
        raise FechnerError(f"a figure is 1 or 2 columns wide, not {columns}.")
    return COLUMNS_MM[columns]


def settle(figure: Figure) -> Figure:
    """Make labels of ticks now, while the style holds: later they would be read as maths."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            axis.get_ticklabels()
    return figure


def check_path(path: Path | str) -> Path:
    """Return where a figure can be written, by its suffix."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UnknownNameError(
            "figure format",
            path.suffix,
            SUFFIXES,
            f"'{path}' should end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
        )
    return path


def save(figure: Figure, path: Path | str) -> Path:
    """Write a figure as PDF, PNG or SVG by its suffix; the same figure gives the same bytes.

    Fonts are embedded in a PDF and turned into outlines in an SVG.
    """
    return save_pages([figure], path)[0]


def save_pages(figures: Sequence[Figure], path: Path | str) -> list[Path]:
    """Write figures as pages of one PDF, or as PNG or SVG files numbered from the second on."""
    from matplotlib.backends.backend_pdf import PdfPages

    path = check_path(path)
    format = path.suffix.lower()[1:]
    paths = [path]
    try:
        with paper_style():
            if format == "pdf":
                with PdfPages(path, metadata={"CreationDate": None}) as file:
                    for figure in figures:
                        file.savefig(figure, dpi=figure.dpi)
                return paths
            undated = {"Date": None} if format == "svg" else {}
            paths += [
                path.with_name(f"{path.stem}-{k}{path.suffix}") for k in range(2, len(figures) + 1)
            ]
            for figure, file_path in zip(figures, paths, strict=True):
                figure.savefig(file_path, format=format, dpi=figure.dpi, metadata=undated)
    except OSError as error:
        raise FechnerError(f"{path} cannot be written: {error}.") from error
    return paths

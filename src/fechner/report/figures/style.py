"""The printed page: a style sheet, colours, text that fits, and files that are always the same."""

from __future__ import annotations

import math
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import FechnerError, UnknownNameError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of a figure over one and two columns, and the height of a page without its caption.
COLUMNS_MM = {1: 85.0, 2: 178.0}
HEIGHT_MM = 225.0

#: Comes with matplotlib, so that a figure is the same on every machine.
FONT = "DejaVu Sans"
#: The smallest type that journals print.
SMALL_PT, TITLE_PT, LARGE_PT = 7.0, 7.5, 8.0
#: Millimetres from one line of type to the next.
LINE_MM = 3.4

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

LineStyle = tuple[float, tuple[float, ...]]
#: Dashes of what people did, and dots of what answers at random do.
PEOPLE: LineStyle = (0.0, (3.2, 1.6))
CHANCE: LineStyle = (0.0, (1.0, 1.4))

SUFFIXES = (".pdf", ".png", ".svg")

_SHEET = Path(__file__).with_name("paper.mplstyle")

# matplotlib's settings belong to the whole process.
_LOCK = threading.RLock()


@contextmanager
def paper_style() -> Iterator[None]:
    """Use the style of these figures, whatever the user's own is, and put that back."""
    import matplotlib

    with _LOCK, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(matplotlib.rc_params_from_file(_SHEET, False, False))
        yield


# The page


def check_columns(columns: int) -> float:
    """Return the width of one or two columns in mm."""
    if columns not in COLUMNS_MM:
        raise FechnerError(f"a figure is 1 or 2 columns wide, not {columns}.")
    return COLUMNS_MM[columns]


def new_page(width_mm: float, height_mm: float, dpi: float) -> Figure:
    """Return an empty figure that matplotlib lays out."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_mm / 25.4, height_mm / 25.4), dpi=dpi, layout="constrained")


def size_mm(of: Figure | Axes) -> tuple[float, float]:
    """Return width and height of a figure, or of axes, as printed."""
    figure: Any = of.get_figure(root=True)
    box = of.get_window_extent()
    return box.width / figure.dpi * 25.4, box.height / figure.dpi * 25.4


def lay_out(figure: Figure) -> None:
    """Let matplotlib find a place for everything, with the figure's present size.

    Titles may be wider than their axes: what they reach over is not made wider for them.
    """
    engine = figure.get_layout_engine()
    assert engine is not None
    titles = {axes: axes.get_title("left") for axes in figure.axes}
    for axes, title in titles.items():
        axes.set_title("\n".join(" " for _ in title.split("\n")) if title else "", loc="left")
    engine.execute(figure)
    for axes, title in titles.items():
        axes.set_title(title, loc="left")


def fit_height(
    figure: Figure, rows: int, *, height_mm: float = 0.0, aspect: float = 0.0, more_mm: float = 0.0
) -> None:
    """Make a figure as high as its rows of axes need, and at most as high as a page.

    Parameters
    ----------
    height_mm, aspect
        How high axes are to be, or how much higher than wide.
    more_mm
        What is added to the figure before it is laid out again.
    """
    lay_out(figure)
    width, height = size_mm(figure.axes[0])
    more_mm += rows * ((height_mm or width * aspect) - height)
    figure.set_figheight(min(size_mm(figure)[1] + more_mm, HEIGHT_MM) / 25.4)


def finish(figure: Figure) -> Figure:
    """Lay a figure out for the last time: nothing moves when it is written."""
    lay_out(figure)
    figure.set_layout_engine("none")
    # Labels of ticks are made now, while the style holds: later they would be read as maths.
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            axis.get_ticklabels()
    return figure


# Text


def plain(text: str) -> str:
    r"""Return text that the font can set: one line, no control characters, no missing glyphs.

    Examples
    --------
    >>> plain("a\tb\N{ZERO WIDTH JOINER}c")
    'a bc'
    """
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont(FONT)).get_charmap()
    kept = []
    for character in text:
        kind = unicodedata.category(character)
        if character != "\xa0" and (character.isspace() or kind == "Cc"):
            kept.append(" ")
        elif kind == "Cf" or "\ufe00" <= character <= "\ufe0f":
            continue  # these say how others look
        elif ord(character) in known:
            kept.append(character)
        elif kind not in ("Me", "Mn"):  # a mark upon another character has no place of its own
            kept.append("\N{REPLACEMENT CHARACTER}")
    return "".join(kept)


def units(label: str) -> str:
    """Return the label of an axis with its powers raised.

    Examples
    --------
    >>> units("luminance (cd/m2)"), units("area (degree2)")
    ('luminance (cd/m²)', 'area (degree²)')
    """
    return plain(label).replace("/m2", "/m²").replace("degree2", "degree²")


def number(value: float, digits: int = 6) -> str:
    """Return a number as it is printed on an axis.

    Examples
    --------
    >>> number(0.25), number(-30.0), number(1e-5), number(2.5e6), number(0.012345, 2)
    ('0.25', '−30', '10⁻⁵', '2.5×10⁶', '0.012')
    """
    if not math.isfinite(value):
        return "n/a"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if value == 0 or -4 <= int(exponent) < 5:
        text = f"{value:.{max(digits - 1 - int(exponent), 0)}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    mantissa = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return mantissa.removesuffix("1") + power if mantissa in ("1", "−1") else f"{mantissa}×{power}"


@cache
def width_mm(text: str, size_pt: float = SMALL_PT) -> float:
    """Return how wide text is when printed.

    Examples
    --------
    >>> round(width_mm("pixels"), 1)
    7.1
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, size=size_pt)
    widths = (
        text_to_path.get_text_width_height_descent(line, font, False)[0]
        for line in text.split("\n")
    )
    return float(max(widths)) / 72 * 25.4


def wrapped(text: str, room_mm: float, size_pt: float = SMALL_PT) -> str:
    r"""Return text broken into lines that fit, after hyphens and at spaces.

    Examples
    --------
    >>> wrapped("masking-incoherent ↑", room_mm=17)
    'masking-\nincoherent ↑'
    """
    lines = [""]
    for piece in plain(text).replace("-", "-\0").replace(" ", " \0").split("\0"):
        if lines[-1] and width_mm((lines[-1] + piece).rstrip(), size_pt) > room_mm:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def fitted(
    names: Sequence[str], room_mm: float, size_pt: float = SMALL_PT, lines: int = 1
) -> list[str]:
    """Return names that fit, shortened in the middle where they do not, and still tell apart.

    Parameters
    ----------
    lines
        Into how many lines they may be broken first.

    Examples
    --------
    >>> fitted(["pixels", "timm/vit_small_patch16_224.dino"], room_mm=30)
    ['pixels', 'timm/vi…h16_224.dino']
    """
    wanted = [plain(name) for name in names]
    found = [
        _fit(name, [other for other in wanted if other != name], room_mm, size_pt, lines)
        for name in wanted
    ]
    # Whatever still looks the same is numbered.
    twins = [k for k, each in enumerate(found) if found.count(each) > 1]
    for count, k in enumerate(twins, start=1):
        room = room_mm - width_mm(f" ({count})", size_pt)
        found[k] = f"{_fit(wanted[k], [], room, size_pt, lines)} ({count})"
    return found


def _fit(name: str, others: Sequence[str], room_mm: float, size_pt: float, lines: int) -> str:
    def fits(text: str) -> bool:
        return width_mm(text, size_pt) <= room_mm

    if fits(name):
        return name
    if lines > 1:
        most = max((k for k in range(1, len(name)) if fits(name[:k])), default=1)
        breaks = [k + 1 for k in range(most) if name[k] in " /:@_-."]
        head = name[: breaks[-1] if breaks and breaks[-1] > most / 2 else most]
        rivals = [other[len(head) :] for other in others if other.startswith(head)]
        return head + "\n" + _fit(name[len(head) :], rivals, room_mm, size_pt, lines - 1)
    # What is left must tell a name from all others, if the cut can be moved so that it does.
    rivals = list(others)
    for share in (0.35, 0.5, 0.2, 0.65, 0.8):
        cuts = ((max(round(n * share), 1), n) for n in range(len(name) - 1, 1, -1))
        parts = ((name[:first], name[len(name) - max(n - first, 1) :]) for first, n in cuts)
        head, tail = next((each for each in parts if fits("…".join(each))), (name[:1], ""))
        rivals = [other for other in others if other.startswith(head) and other.endswith(tail)]
        if not rivals:
            return f"{head}…{tail}"
    # Else what is around the place where it differs from the one most like it.
    alike = [[a == b for a, b in zip(name, rival, strict=False)] for rival in rivals]
    place = max([*same, False].index(False) for same in alike)
    starts = ((max(0, min(place - n // 2, len(name) - n)), n) for n in range(len(name), 0, -1))
    return next((each for at, n in starts if fits(each := f"…{name[at : at + n]}…")), "…")


# Files


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

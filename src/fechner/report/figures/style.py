"""The printed page: a style sheet, colours, text that fits, and files that are always the same."""

from __future__ import annotations

import math
import operator
import textwrap
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
SMALL_PT = 7.0
#: From one line of type to the next, and about the width of a character.
LINE_MM, CHARACTER_MM = 3.4, 1.45

#: Okabe & Ito's colours, told apart by the colour-blind; grey in the place of yellow, which
#: vanishes on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A8A")
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


def new_page(width_mm: float, dpi: float, height_mm: float = HEIGHT_MM) -> Figure:
    """Return an empty figure that matplotlib lays out."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_mm / 25.4, height_mm / 25.4), dpi=dpi, layout="constrained")


def size_mm(of: Figure | Axes) -> tuple[float, float]:
    """Return width and height of a figure, or of axes, as printed."""
    figure: Any = of.get_figure(root=True)
    box = of.get_window_extent()
    return box.width / figure.dpi * 25.4, box.height / figure.dpi * 25.4


def fit_height(figure: Figure, rows: int, *, height_mm: float = 0.0, aspect: float = 0.0) -> None:
    """Make a figure as high as its rows of axes need, and at most as high as a page.

    Parameters
    ----------
    height_mm, aspect
        How high axes are to be, or how much higher than wide.
    """
    for _ in range(2):  # what stands around axes may depend on their size
        figure.draw_without_rendering()
        width, height = size_mm(figure.axes[0])
        more_mm = rows * ((height_mm or width * aspect) - height)
        figure.set_figheight(min(size_mm(figure)[1] + more_mm, HEIGHT_MM) / 25.4)


def finish(figure: Figure) -> Figure:
    """Lay a figure out for the last time: nothing moves when it is written."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
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

    def printed(character: str) -> str:
        kind = unicodedata.category(character)
        if kind == "Cc" or (character.isspace() and character != "\xa0"):
            return " "
        if kind == "Cf" or "\ufe00" <= character <= "\ufe0f":
            return ""  # these say how others look
        if ord(character) in known:
            return character
        # A mark upon another character has no place of its own.
        return "" if kind in ("Me", "Mn") else "\N{REPLACEMENT CHARACTER}"

    return "".join(map(printed, text))


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


def wrapped(text: str, room_mm: float) -> str:
    r"""Return text broken into lines that fit, at spaces and after hyphens if possible.

    Examples
    --------
    >>> wrapped("masking-incoherent ↑", room_mm=20)
    'masking-\nincoherent ↑'
    """
    width = max(int(room_mm / CHARACTER_MM), 3)
    lines = textwrap.wrap(plain(text), width, break_long_words=False)
    # A word is broken only if it is much too long.
    if max(map(len, lines), default=0) > 1.15 * width:
        lines = textwrap.wrap(plain(text), width)
    return "\n".join(lines)


def shortened(names: Sequence[str], room_mm: float) -> list[str]:
    """Return names of which those that are too long are cut where they do not differ.

    Examples
    --------
    >>> shortened(["pixels", "timm/vit_small_patch16_224.dino"], room_mm=30)
    ['pixels', 'timm/v…ch16_224.dino']
    """
    most = max(int(room_mm / CHARACTER_MM), 3)
    every = list(dict.fromkeys(map(plain, names)))
    short: dict[str, str] = {}
    for name in every:
        head, tail = name[: most // 3], name[most // 3 + 1 - most :]
        rivals = [each for each in every if each.startswith(head) and each.endswith(tail)]
        rivals.remove(name)
        if len(name) <= most:
            short[name] = name
        elif not rivals:
            short[name] = f"{head}…{tail}"
        else:
            # What is around the place where it differs from the one most like it.
            alike = [[*map(operator.eq, name, rival), False].index(False) for rival in rivals]
            start = max(min(max(alike) - most // 3, len(name) - most + 2), 0)
            short[name] = f"…{name[start : start + most - 2]}…"
    # Whatever still looks the same is numbered.
    looks = list(short.values())
    for k, look in enumerate(looks):
        if looks.count(look) > 1:
            short[every[k]] = f"{look[: most - 4]} ({looks[: k + 1].count(look)})"
    return [short[plain(name)] for name in names]


# Files


def check_path(
    path: Path | str, suffixes: Sequence[str] = SUFFIXES, kind: str = "figure format"
) -> Path:
    """Return where a figure, or another kind of file, can be written, by its suffix."""
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        known = f"'{path}' should end in {', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise UnknownNameError(kind, path.suffix, suffixes, known)
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


def size_in_words(figures: Sequence[Figure]) -> str:
    """Return the size of the largest of some figures as printed, such as ``178 x 90 mm``."""
    width, height = (round(max(size_mm(each)[side] for each in figures)) for side in (0, 1))
    return f"{width} x {height} mm"

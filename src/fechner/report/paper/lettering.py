"""Words and numbers on figures: plain text in one font, measured before it is set."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

#: Comes with matplotlib, so that a figure is the same on every machine.
FONT = "DejaVu Sans"
#: The smallest type that journals print.
SMALL_PT, TITLE_PT, LARGE_PT = 7.0, 7.5, 8.0
#: Millimetres from one line of type to the next.
LINE_MM = 3.4

#: A space at which words are not parted.
NO_BREAK = "\N{NO-BREAK SPACE}"

Fits = Callable[[str], bool]

_EM = 100.0
_MISSING = "\N{REPLACEMENT CHARACTER}"
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(text: str) -> str:
    r"""Return text that the font can set: one line, no control characters, no missing glyphs.

    Examples
    --------
    >>> plain("a\tb\N{ZERO WIDTH JOINER}c")
    'a bc'
    """
    known = _glyphs()
    kept = []
    for character in text:
        kind = unicodedata.category(character)
        if character != NO_BREAK and (character.isspace() or kind == "Cc"):
            kept.append(" ")
        elif kind == "Cf" or "\ufe00" <= character <= "\ufe0f":
            continue  # these say how others look, which is not for this font
        elif ord(character) in known:
            kept.append(character)
        elif kind not in ("Me", "Mn"):  # a mark upon another character has no place of its own
            kept.append(_MISSING)
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
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{abs(value):.{digits - 1}e}".partition("e")
    sign = "−" if value < 0 else ""
    if -4 <= int(exponent) < 5:
        places = max(digits - 1 - int(exponent), 0)
        text = f"{abs(value):.{places}f}"
        return sign + (text.rstrip("0").rstrip(".") if "." in text else text)
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return sign + (power if mantissa == "1" else f"{mantissa}×{power}")


def width_mm(text: str, size_pt: float = SMALL_PT) -> float:
    """Return how wide a line of plain text is when printed, without kerning.

    Examples
    --------
    >>> round(width_mm("pixels"), 2)
    7.21
    """
    return sum(map(_advance, text)) * size_pt / 72 * 25.4


def fitted(
    names: Sequence[str],
    room_mm: float | Sequence[float],
    size_pt: float = SMALL_PT,
    lines: int = 1,
) -> list[str]:
    """Return names that fit, shortened in the middle where they do not, and still tell apart.

    Parameters
    ----------
    room_mm
        Room for all of them, or for each.
    lines
        Into how many lines they may be broken first.

    Examples
    --------
    >>> fitted(["pixels", "timm/vit_small_patch16_224.dino"], room_mm=30)
    ['pixels', 'timm/vi…h16_224.dino']
    """
    rooms = [room_mm] * len(names) if isinstance(room_mm, float | int) else room_mm
    wanted = [plain(name) for name in names]
    fits = [partial(_fits, room_mm=room, size_pt=size_pt) for room in rooms]
    found = [
        _fit(name, fit, [other for other in wanted if other != name], lines)
        for name, fit in zip(wanted, fits, strict=True)
    ]
    # Whatever still looks the same is numbered.
    twins = [k for k, each in enumerate(found) if found.count(each) > 1]
    for count, k in enumerate(twins, start=1):
        ending = f" ({count})"
        found[k] = _fit(wanted[k], partial(fits[k], ending=ending), [], lines) + ending
    return found


def _fits(text: str, room_mm: float, size_pt: float, ending: str = "") -> bool:
    return width_mm(text + ending, size_pt) <= room_mm


def _fit(name: str, fits: Fits, others: Sequence[str], lines: int) -> str:
    if fits(name):
        return name
    if lines > 1:
        head = _first_line(name, fits)
        rivals = [other[len(head) :] for other in others if other.startswith(head)]
        return head + "\n" + _fit(name[len(head) :], fits, rivals, lines - 1)
    # What is left must tell a name from all others, if the cut can be moved so that it does.
    for share in (0.35, 0.5, 0.2, 0.65, 0.8):
        head, tail = _cut(name, fits, share)
        rivals = [other for other in others if other.startswith(head) and other.endswith(tail)]
        if not rivals:
            return head + _ELLIPSIS + tail
    return _around_difference(name, fits, rivals)


def _first_line(name: str, fits: Fits) -> str:
    """Return the beginning of a name that fills a line, up to a sign between words if it can."""
    most = max((k for k in range(1, len(name)) if fits(name[:k])), default=1)
    breaks = [k + 1 for k in range(most) if name[k] in " /:@_-."]
    return name[: breaks[-1] if breaks and breaks[-1] > most / 2 else most]


def _cut(text: str, fits: Fits, share: float) -> tuple[str, str]:
    """Return beginning and end of the longest version that fits, parted at this share of it."""
    for left in range(len(text) - 1, 1, -1):
        head = min(max(round(left * share), 1), left - 1)
        parts = text[:head], text[len(text) - (left - head) :]
        if fits(_ELLIPSIS.join(parts)):
            return parts
    return text[:1], ""


def _around_difference(name: str, fits: Fits, rivals: Sequence[str]) -> str:
    """Return the part of a name around the place where it differs from the one most like it."""
    alike = [[a == b for a, b in zip(name, rival, strict=False)] for rival in rivals]
    place = max([*same, False].index(False) for same in alike)
    for around in range(len(name), 0, -1):
        start = max(0, min(place - around // 2, len(name) - around))
        part = _ELLIPSIS + name[start : start + around] + _ELLIPSIS
        if fits(part):
            return part
    return _ELLIPSIS


def wrapped(text: str, room_mm: float, size_pt: float = SMALL_PT) -> str:
    r"""Return text broken into lines that fit, after hyphens and at spaces.

    Examples
    --------
    >>> wrapped("masking-incoherent ↑", room_mm=17)
    'masking-\nincoherent ↑'
    """
    pieces = plain(text).replace("-", "-\0").replace(" ", " \0").split("\0")
    lines = [""]
    for piece in pieces:
        if lines[-1] and width_mm((lines[-1] + piece).rstrip(), size_pt) > room_mm:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


@cache
def _font() -> FT2Font:
    """Return the font for measuring."""
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    font = FT2Font(findfont(FontProperties(family=FONT)))
    font.set_size(_EM, 72.0)
    return font


@cache
def _glyphs() -> frozenset[int]:
    return frozenset(_font().get_charmap())


@cache
def _advance(character: str) -> float:
    # In 16.16 fixed point, whatever hinting does to the glyph itself.
    return float(_font().load_char(ord(character)).linearHoriAdvance) / 65536 / _EM

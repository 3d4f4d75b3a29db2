"""Colours of groups that stand for something: the same on pages and in figures for papers.

As in Vila-Tomás et al. (2026): channels in ink, red and blue; curves by adaptor from blue, without
one, over greys to red; curves on coloured backgrounds from one end of their channel over ink to the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from fechner.scores.panels import Bars, Line, Panel, Points

Ground = Literal["light", "dark"]

#: Grounds in the order in which pages have colours for them.
GROUNDS: tuple[Ground, Ground] = ("light", "dark")

#: From below 0 to above: red, white and blue, which any kind of colour vision tells apart
#: (ColorBrewer's RdBu).
DIVERGING = (
    "#67001f",
    "#b2182b",
    "#d6604d",
    "#f4a582",
    "#fddbc7",
    "#f7f7f7",
    "#d1e5f0",
    "#92c5de",
    "#4393c3",
    "#2166ac",
    "#053061",
)


class _Tones(NamedTuple):
    """Colours that stand out on a ground; greys from the one nearest to ink on."""

    ink: str
    pale: str
    red: str
    green: str
    blue: str
    yellow: str


_TONES: dict[Ground, _Tones] = {
    "light": _Tones("#222222", "#b0b0b0", "#d4351c", "#008a63", "#0072b2", "#c48800"),
    "dark": _Tones("#eeeef2", "#7c808c", "#ff6a4d", "#2fc79a", "#56b4e9", "#e8b94a"),
}


def group_colours(panel: Panel, ground: Ground = "light") -> tuple[str, ...]:
    """Return a colour for each group of a panel; none where groups are told apart in other ways.

    Examples
    --------
    >>> from fechner.scores.panels import Axis
    >>> lines = tuple(Line(np.zeros(2), np.zeros(2), "", group=k) for k in range(4))
    >>> panel = Panel("curves", "", Axis(""), Axis(""), lines, palette="adaptors")
    >>> group_colours(panel)
    ('#0072b2', '#222222', '#b0b0b0', '#d4351c')
    """
    if not panel.palette:
        return ()
    tones = _TONES[ground]
    marks = [mark for mark in panel.marks if isinstance(mark, Line | Points | Bars)]
    n = 1 + max((mark.group for mark in marks), default=0)
    match panel.palette:
        case "channels":
            return tones.ink, tones.red, tones.blue
        case "adaptors":
            greys = _between([tones.ink, tones.pale], n - 2) if n > 3 else [tones.pale] * (n - 2)
            return (tones.blue, *greys, tones.red)[:n]
        case "red-green":
            return tuple(_between([tones.green, tones.ink, tones.red], n))
        case "yellow-blue":
            return tuple(_between([tones.blue, tones.ink, tones.yellow], n))


def _between(stops: Sequence[str], n: int) -> list[str]:
    """Return so many colours in equal steps from the first stop over the others to the last."""
    values = [np.array([int(stop[i : i + 2], 16) for i in (1, 3, 5)]) for stop in stops]
    found = []
    for at in np.linspace(0, len(stops) - 1, n):
        first, second = list(pairwise(values))[min(int(at), len(stops) - 2)]
        share = at - min(int(at), len(stops) - 2)
        mixed = np.rint(first + share * (second - first)).astype(int)
        found.append("#" + "".join(f"{value:02x}" for value in mixed))
    return found

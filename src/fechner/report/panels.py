"""What pages and figures for papers share: extents of panels, colours of groups, scores by depth.

Colours of groups that stand for something are those of Vila-Tomás et al. (2026): channels in ink,
red and blue; curves by adaptor from blue, without one, over greys to red; curves on coloured
backgrounds from one end of their channel over ink to the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from fechner.arrays import Floats
from fechner.runs import Result
from fechner.scores import Score
from fechner.scores.panels import Axis, Bars, Gallery, Line, Mark, Panel, Points, Surface, Vertical

Which = Literal["x", "y"]
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


# Extents


def axis_of(panel: Panel, which: Which) -> Axis:
    """Return one axis of a panel."""
    return panel.x if which == "x" else panel.y


def has_cells(panel: Panel) -> bool:
    """Whether a surface of a panel has cells of their own: what has names has nothing between."""
    return bool(panel.x.ticks or panel.y.ticks)


def has_surface(panel: Panel) -> bool:
    """Whether a panel shows a surface."""
    return any(isinstance(mark, Surface) for mark in panel.marks)


def values_of(panel: Panel, which: Which) -> Floats:
    """Return the values that lie on an axis; those of a surface alone where there is one.

    Those that the axis has no place for are left out.
    """
    axis = axis_of(panel, which)
    surfaces = [mark for mark in panel.marks if isinstance(mark, Surface)]
    parts = [part for mark in surfaces or panel.marks for part in _parts(mark, which)]
    if surfaces and has_cells(panel) and not axis.ticks:
        parts = [edges_of(part, axis.log) for part in parts]
    values = np.concatenate([np.ravel(part) for part in parts]) if parts else np.empty(0)
    known: Floats = values[np.isfinite(values) & ((values > 0) | (not axis.log))]
    return known


def is_positive(panel: Panel, which: Which) -> bool:
    """Whether every mark has a place on a logarithmic axis."""
    parts = (part for mark in panel.marks for part in _parts(mark, which)[:1])
    return not any((part <= 0).any() for part in parts)


def _parts(mark: Mark, which: Which) -> list[Floats]:
    match mark:
        case Gallery():
            return []
        case Vertical():
            return [np.array([mark.x])] if which == "x" else []
        case Bars() if which == "y":
            return [mark.y, mark.low, mark.high, np.zeros(1)]
        case Line() | Points() if which == "y":
            return [mark.y, *(ends for ends in (mark.low, mark.high) if ends is not None)]
        case _:
            return [mark.x if which == "x" else mark.y]


def numbered(panel: Panel, which: Which) -> tuple[float, float]:
    """Return between which values an axis has numbers: half-way to a name outside they end.

    Examples
    --------
    >>> line = Line(np.array([0.1, 1.0, 10.0]), np.zeros(3), "")
    >>> axis = Axis("level", log=True, named=((0.1, "original"),))
    >>> numbered(Panel("curve", "", axis, Axis("share"), (line,)), "x")
    (0.31622776601683794, 10.0)
    """
    axis = axis_of(panel, which)
    places = [place for place, _ in axis.named]
    values = [v for v in values_of(panel, which) if not np.isclose(v, places, rtol=1e-6).any()]
    if not places or not values:
        return -math.inf, math.inf
    low, high = float(min(values)), float(max(values))

    def half_way(place: float, end: float) -> float:
        return math.sqrt(place * end) if axis.log else (place + end) / 2

    return (
        min([low, *(half_way(place, low) for place in places if place < low)]),
        max([high, *(half_way(place, high) for place in places if place > high)]),
    )


def edges_of(centres: Floats, log: bool) -> Floats:
    """Return where cells meet that have these centres, and where the outer ones end.

    Examples
    --------
    >>> edges_of(np.array([1.0, 100.0]), log=True).round(6).tolist()
    [0.1, 10.0, 1000.0]
    >>> edges_of(np.array([3.0]), log=False).tolist()
    [2.5, 3.5]
    """
    if len(centres) == 0:
        return np.empty(0)
    at = np.log(centres) if log else np.asarray(centres, float)
    steps = np.diff(at) / 2 if len(at) > 1 else np.array([0.5])
    edges: Floats = np.array([at[0] - steps[0], *(at[:-1] + np.diff(at) / 2), at[-1] + steps[-1]])
    return np.exp(edges) if log else edges


# Colours


#: Ink, the palest grey, red, green, blue and yellow that stand out on a ground.
_TONES: dict[Ground, tuple[str, str, str, str, str, str]] = {
    "light": ("#222222", "#b0b0b0", "#d4351c", "#008a63", "#0072b2", "#c48800"),
    "dark": ("#eeeef2", "#7c808c", "#ff6a4d", "#2fc79a", "#56b4e9", "#e8b94a"),
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
    ink, pale, red, green, blue, yellow = _TONES[ground]
    marks = [mark for mark in panel.marks if isinstance(mark, Line | Points | Bars)]
    n = 1 + max((mark.group for mark in marks), default=0)
    match panel.palette:
        case "":
            return ()
        case "channels":
            return ink, red, blue
        case "adaptors":
            greys = _between([ink, pale], n - 2) if n > 3 else [pale] * (n - 2)
            return (blue, *greys, red)[:n]
        case "red-green":
            return tuple(_between([green, ink, red], n))
        case "yellow-blue":
            return tuple(_between([blue, ink, yellow], n))


def _between(stops: Sequence[str], n: int) -> list[str]:
    """Return so many colours in equal steps from the first stop over the others to the last."""
    values = np.array([list(bytes.fromhex(stop[1:])) for stop in stops])
    at = np.linspace(0, len(stops) - 1, n)
    mixed = [np.interp(at, range(len(stops)), part) for part in values.T]
    return [f"#{bytes(each).hex()}" for each in np.rint(mixed).astype(np.uint8).T.tolist()]


# Scores by depth


def depth_panel(labelled: Sequence[tuple[str, Result]]) -> Panel | None:
    """Return a line for each observer and read-out that has several layers, None if none has.

    Parameters
    ----------
    labelled
        The results of one test with the label of their observer, layers in order.
    """
    lines: dict[tuple[str, str], list[Score]] = {}
    for label, result in labelled:
        if result.main:
            lines.setdefault((label, result.score.readout), []).append(result.score)
    deep = {key: scores for key, scores in lines.items() if len(scores) > 1}
    if not deep:
        return None
    several = len({readout for _, readout in deep}) > 1
    layers = {key: tuple(each.layer for each in scores) for key, scores in deep.items()}
    alike = len(set(layers.values())) == 1
    marks = []
    for number, ((label, readout), scores) in enumerate(deep.items()):
        y, low, high = np.array([(each.value, each.low, each.high) for each in scores]).T
        x = np.arange(float(len(y))) if alike else np.linspace(0, 1, len(y))
        name = f"{label} {readout}" if several else label
        own = layers[label, readout]
        marks.append(Line(x, y, name, group=number, low=low, high=high, names=own))
    depth = Axis("depth (share of the layers measured)")
    if alike:
        depth = Axis("layer", ticks=next(iter(layers.values())))
    score = next(iter(deep.values()))[0]
    return Panel("depth", "Score by depth", depth, Axis(_named(score)), tuple(marks))


def readout_panels(
    labelled: Sequence[tuple[str, Result]], ends: tuple[float, float] | None = None
) -> dict[str, Panel]:
    """Return a heat map over layers and read-outs for each observer that has several of both.

    Parameters
    ----------
    labelled
        The results of one test with the label of their observer, layers in order.
    ends
        Ends of the scale of colours; those of all these heat maps if None.
    """
    by_label: dict[str, list[Score]] = {}
    for label, result in labelled:
        if result.main:
            by_label.setdefault(label, []).append(result.score)
    tables = {}
    for label, scores in by_label.items():
        layers = tuple(dict.fromkeys(each.layer for each in scores))
        readouts = tuple(dict.fromkeys(each.readout for each in scores))
        if len(layers) > 1 and len(readouts) > 1:
            cells = {(each.layer, each.readout): each.value for each in scores}
            values = np.array([[cells.get((a, b), np.nan) for b in readouts] for a in layers])
            tables[label] = layers, readouts, values
    low, high = ends or ends_of(value for *_, values in tables.values() for value in values.flat)
    found = {}
    for label, (layers, readouts, values) in tables.items():
        x, y = (np.arange(float(n)) for n in values.shape)
        surface = Surface(x, y, values, _named(by_label[label][0]), low=low, high=high)
        axes = Axis("layer", ticks=layers), Axis("read-out", ticks=readouts)
        title = "Score by layer and read-out"
        found[label] = Panel("readouts", title, *axes, (surface,), stimuli=False)
    return found


def ends_of(values: Iterable[float]) -> tuple[float, float]:
    """Return the smallest and largest of numbers; NaN where there are none."""
    known = [value for value in values if np.isfinite(value)]
    return (min(known), max(known)) if known else (np.nan, np.nan)


def _named(score: Score) -> str:
    return f"{score.name} {score.arrow}".rstrip()

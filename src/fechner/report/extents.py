"""What of an axis is used: the values that marks have on it, and where its numbers end.

Pages and figures for papers draw the same panels, so both ask here.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from fechner.scores.panels import (
    Axis,
    Bars,
    Floats,
    Gallery,
    Line,
    Mark,
    Panel,
    Points,
    Surface,
    Vertical,
)

Which = Literal["x", "y"]


def axis_of(panel: Panel, which: Which) -> Axis:
    """Return one axis of a panel."""
    return panel.x if which == "x" else panel.y


def has_cells(panel: Panel) -> bool:
    """Whether a surface of a panel has cells of their own: what has names has nothing between."""
    return bool(panel.x.ticks or panel.y.ticks)


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
    values = [v for v in values_of(panel, which).tolist() if not _is_one_of(v, places)]
    if not places or not values:
        return -math.inf, math.inf
    low, high = min(values), max(values)
    return (
        min([low, *(_half_way(place, low, axis.log) for place in places if place < low)]),
        max([high, *(_half_way(place, high, axis.log) for place in places if place > high)]),
    )


def _half_way(one: float, other: float, log: bool) -> float:
    return math.sqrt(one * other) if log else (one + other) / 2


def _is_one_of(value: float, places: list[float]) -> bool:
    return any(math.isclose(value, place, rel_tol=1e-6) for place in places)


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
    if len(at) == 1:
        edges: Floats = at[0] + np.array([-0.5, 0.5])
    else:
        inner = (at[:-1] + at[1:]) / 2
        edges = np.array([2 * at[0] - inner[0], *inner, 2 * at[-1] - inner[-1]])
    back: Floats = np.exp(edges) if log else edges
    return back

"""Scales of printed axes: their limits, which panels share them, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fechner.report.figures.marks import has_surface
from fechner.report.figures.style import LINE_MM, fitted, number, plain, width_mm
from fechner.report.panels import Which, axis_of, is_positive, numbered, values_of
from fechner.scores.panels import Axis, Bars, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Panels share an axis if each of them fills at least this part of it.
_FILLED = 0.35
#: Free room around points and lines, as a part of the axis, and beyond a fixed end.
_MARGIN, _FIXED_MARGIN = 0.05, 0.02
#: What labels of ticks keep free before the next, and the longest name of a tick.
_CLEAR_MM, _LONGEST_MM = 1.5, 30.0


@dataclass(frozen=True)
class Scale:
    """An axis with its limits: equal scales are shared ones.

    Parameters
    ----------
    first, last
        Between which values it has numbers; beyond, only names.
    """

    axis: Axis
    low: float
    high: float
    first: float = -math.inf
    last: float = math.inf

    def place(self, value: float) -> float:
        """Return where a value stands along the axis, from 0 to 1."""
        low, at, high = (math.log(v) if self.axis.log else v for v in (self.low, value, self.high))
        share = (at - low) / (high - low)
        return 1 - share if self.axis.reversed else share


def scales(
    panels: Mapping[int, Panel], which: Which, together: Mapping[int, str]
) -> dict[int, Scale]:
    """Return a scale for every panel; one and the same where panels can share it.

    An axis is logarithmic on all panels if it is on one and can be on all.

    Parameters
    ----------
    together
        What each panel belongs to, such as an observer: those of one share a scale if they can
        where not all do. Empty for a panel that stands for itself.
    """
    axes = {k: axis_of(panel, which) for k, panel in panels.items()}
    for label in {axis.label for axis in axes.values()}:
        same = [k for k, axis in axes.items() if axis.label == label]
        if any(axes[k].log for k in same) and all(is_positive(panels[k], which) for k in same):
            axes |= {k: replace(axes[k], log=True) for k in same}
    spans = {k: _span(panel, which, axes[k]) for k, panel in panels.items()}
    numbers = {k: numbered(panel, which) for k, panel in panels.items()}
    found: dict[int, Scale] = {}
    for k, axis in axes.items():
        alike = [i for i in axes if axes[i] == axis]
        near = [i for i in alike if together[k] and together[i] == together[k]]
        for shared in (alike, near or [k], [k]):
            low, high = min(spans[i][0] for i in shared), max(spans[i][1] for i in shared)
            whole = Scale(replace(axis, reversed=False), low, high)
            parts = (whole.place(spans[i][1]) - whole.place(spans[i][0]) for i in shared)
            if all(part >= _FILLED for part in parts):
                break
        first, last = min(numbers[i][0] for i in shared), max(numbers[i][1] for i in shared)
        found[k] = Scale(axis, *_padded(low, high, panels[k], axis), first, last)
    return found


def _span(panel: Panel, which: Which, axis: Axis) -> tuple[float, float]:
    """Return the smallest and largest value on an axis; a surface's own where there is one."""
    if axis.ticks:
        return -0.5, len(axis.ticks) - 0.5
    values = [*values_of(panel, which).tolist(), *(place for place, _ in axis.named)]
    known = [v for v in values if math.isfinite(v) and (v > 0 or not axis.log)]
    low, high = (min(known), max(known)) if known else (0.1 if axis.log else 0.0, 1.0)
    if low == high:
        low, high = (low / 2, high * 2) if axis.log else (low - 0.5, high + 0.5)
    # Ends that an axis has in any case.
    if math.isfinite(axis.low) and (axis.low > 0 or not axis.log):
        low = axis.low
    if math.isfinite(axis.high) and axis.high > low:
        high = axis.high
    if low < high:
        return low, high
    return (low / 2, low) if axis.log else (low, low + 1)


def _padded(low: float, high: float, panel: Panel, axis: Axis) -> tuple[float, float]:
    if axis.ticks or has_surface(panel):
        return low, high
    below, above = (
        _FIXED_MARGIN if end == fixed else _MARGIN
        for end, fixed in ((low, axis.low), (high, axis.high))
    )
    if axis.log:
        return low / (high / low) ** below, high * (high / low) ** above
    standing = low == 0 and any(isinstance(mark, Bars) for mark in panel.marks)
    return low - (0 if standing else (high - low) * below), high + (high - low) * above


def set_axis(axes: Axes, which: Which, scale: Scale, room_mm: float, labelled: bool) -> None:
    """Put limits and ticks on an axis that is about so long, with or without their labels."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    if scale.axis.log:
        getattr(axes, f"set_{which}scale")("log")
    ends = (scale.high, scale.low) if scale.axis.reversed else (scale.low, scale.high)
    getattr(axes, f"set_{which}lim")(*ends)
    turned = False
    if scale.axis.ticks:
        ticks, turned = _names(scale.axis.ticks, which, room_mm)
    else:
        ticks = ticks_of(scale, which, room_mm)
    axis.set_ticks(list(ticks), list(ticks.values()) if labelled else [""] * len(ticks))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(NullLocator())
    if scale.axis.log and scale.high < 1e5 * scale.low:
        fine = LogLocator(subs=range(1, 10), numticks=99).tick_values(scale.low, scale.high)
        axis.set_ticks([v for v in fine if _is_within(v, scale)], minor=True)
    axis.set_tick_params(which="both", labelrotation=90.0 if turned else 0.0)


def ticks_of(scale: Scale, which: Which, room_mm: float) -> dict[float, str]:
    """Return ticks with numbers, as many as have room, and with names beside them."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    named = {place: plain(name) for place, name in scale.axis.named}

    def clear(ticks: dict[float, str]) -> bool:
        sizes = (
            (scale.place(p) * room_mm, width_mm(t) if which == "x" else LINE_MM)
            for p, t in ticks.items()
        )
        return all(y - x - (w + v) / 2 >= _CLEAR_MM for (x, w), (y, v) in pairwise(sorted(sizes)))

    locators: list[Any] = [MaxNLocator(n, steps=[1, 2, 5, 10]) for n in range(6, 0, -1)]
    if scale.axis.log:
        fine = [LogLocator(subs=subs, numticks=99) for subs in ((1, 2, 5), (1, 3), (1,))]
        locators = [*fine, *(LogLocator(numticks=n) for n in range(6, 1, -1)), *locators]
    found: dict[float, str] = {}
    for locator in locators:
        places = (float(f"{v:.12g}") for v in locator.tick_values(scale.low, scale.high))
        ticks = {place: number(place) for place in places if _is_within(place, scale)}
        # A name stands where it does; numbers beside it may stand elsewhere.
        ticks = {
            p: t for p, t in ticks.items() if all(clear({p: t, **{n: named[n]}}) for n in named)
        }
        if len(found) < min(len(ticks), 2) and len(ticks) <= 6 and clear(ticks):
            found = ticks
    return dict(sorted((found | named).items()))


def _is_within(value: float, scale: Scale) -> bool:
    low, high = scale.low, scale.high
    if scale.axis.named:
        low, high = max(low, scale.first), min(high, scale.last)
    slack = 1e-6 * (high - low) if not scale.axis.log else 1e-3 * abs(value)
    return low - slack <= value <= high + slack


def _names(names: Sequence[str], which: Which, room_mm: float) -> tuple[dict[float, str], bool]:
    """Return names of places, and whether they are turned; some are left out for want of room."""
    labels = fitted(names, _LONGEST_MM)
    slot = room_mm / len(names)
    turned = which == "x" and max(map(width_mm, labels)) + _CLEAR_MM > slot
    # A line of type is three millimetres high.
    every = max(1, math.ceil(3.0 / slot)) if turned or which == "y" else 1
    kept = range((len(labels) - 1) % every, len(labels), every)
    return {float(k): labels[k] for k in kept}, turned

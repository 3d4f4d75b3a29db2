"""Scales of printed axes: their limits, which panels share them, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.report.figures.style import CHARACTER_MM, LINE_MM, number, plain, shortened
from fechner.report.panels import Which, axis_of, has_surface, is_positive, numbered, values_of
from fechner.scores.panels import Axis, Bars, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Panels share an axis if each of them fills at least this part of it.
_FILLED = 0.35
#: Free room around points and lines, as a part of the axis, and beyond a fixed end.
_MARGIN, _FIXED_MARGIN = 0.05, 0.02
#: The longest name of a tick, and what is kept free around a name among numbers.
_LONGEST_MM, _NAME_MM = 29.0, 10.0


class Scale(NamedTuple):
    """An axis with its limits: equal scales are shared ones."""

    axis: Axis
    low: float
    high: float


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
    found = {}
    for k, axis in axes.items():
        alike = [i for i in axes if axes[i] == axis]
        near = [i for i in alike if together[i] == together[k] != ""]
        for shared in (alike, near or [k], [k]):
            ends = np.array([spans[i] for i in shared])
            low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
            lengths = np.ptp(np.log(ends) if axis.log else ends, axis=1)
            if lengths.min() >= _FILLED * (math.log(high / low) if axis.log else high - low):
                break
        found[k] = Scale(axis, *_padded(low, high, panels[k], axis))
    return found


def _span(panel: Panel, which: Which, axis: Axis) -> tuple[float, float]:
    """Return the smallest and largest value on an axis; a surface's own where there is one."""
    if axis.ticks:
        return -0.5, len(axis.ticks) - 0.5
    values = [*values_of(panel, which), *(place for place, _ in axis.named)]
    known = [v for v in values if v > 0 or not axis.log] or [0.1 if axis.log else 0.0, 1.0]
    # Some axes have fixed ends.
    low = axis.low if math.isfinite(axis.low) and (axis.low > 0 or not axis.log) else min(known)
    high = axis.high if math.isfinite(axis.high) and axis.high > low else max(known)
    if low < high:
        return low, high
    return (low / 2, low * 2) if axis.log else (low - 0.5, low + 0.5)


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


def set_axis(
    axes: Axes, which: Which, scale: Scale, room_mm: float, panel: Panel | None = None
) -> None:
    """Put limits and ticks on an axis that is about so long.

    Parameters
    ----------
    panel
        Whose axis it is, if places on it have names.
    """
    if scale.axis.log:
        getattr(axes, f"set_{which}scale")("log")
    ends = (scale.high, scale.low) if scale.axis.reversed else (scale.low, scale.high)
    getattr(axes, f"set_{which}lim")(*ends)
    axis = axes.xaxis if which == "x" else axes.yaxis
    if scale.axis.ticks:
        _name_ticks(axis, scale.axis.ticks, room_mm)
        return
    between = numbered(panel, which) if panel else (-math.inf, math.inf)
    number_ticks(axis, scale, room_mm, between)


def number_ticks(
    axis: Any, scale: Scale, room_mm: float, between: tuple[float, float] = (-math.inf, math.inf)
) -> None:
    """Give an axis of matplotlib as many round numbers as have room, and the names of places.

    Parameters
    ----------
    between
        Which values have numbers; beyond, there are only names.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    log, named = scale.axis.log, scale.axis.named
    locators: list[Any] = [MaxNLocator(n, steps=[1, 2, 5, 10]) for n in range(6, 0, -1)]
    if log:
        fine = [LogLocator(subs=subs, numticks=99) for subs in ((1, 2, 5), (1, 3), (1,))]
        locators = [*fine, *(LogLocator(numticks=n) for n in range(6, 1, -1)), *locators]
    low, high = max(scale.low, between[0]), min(scale.high, between[1])
    at = np.log if log else np.asarray
    per_mm = (at(scale.high) - at(scale.low)) / room_mm
    for locator in locators:
        found = np.array([float(f"{v:.12g}") for v in locator.tick_values(scale.low, scale.high)])
        slack = 1e-3 * np.abs(found) if log else 1e-6 * (high - low)
        found = found[(found >= low - slack) & (found <= high + slack)]
        for place, _ in named:
            found = found[np.abs(at(found) - at(place)) >= _NAME_MM * per_mm]
        longest = max((len(number(value)) for value in found), default=0)
        clear = (longest + 1) * CHARACTER_MM if axis.axis_name == "x" else 1.5 * LINE_MM
        if 2 <= len(found) <= 7 and np.diff(at(found)).min() >= clear * per_mm:
            break
    else:
        found = found[:1]
    ticks = {value: number(value) for value in found} | {v: plain(name) for v, name in named}
    axis.set_ticks(sorted(ticks), [ticks[value] for value in sorted(ticks)])
    axis.set_minor_formatter(NullFormatter())
    if named or not log:
        axis.set_minor_locator(NullLocator())


def _name_ticks(axis: Any, names: Sequence[str], room_mm: float) -> None:
    """Name positions; names are turned where they are too wide, some left out where too many."""
    labels = shortened(names, _LONGEST_MM)
    slot = room_mm / len(names)
    if axis.axis_name == "x" and (max(map(len, labels)) + 1) * CHARACTER_MM > slot:
        axis.set_tick_params(labelrotation=90)
    kept = range(0, len(names), math.ceil(0.9 * LINE_MM / slot))
    axis.set_ticks(list(kept), [labels[k] for k in kept])

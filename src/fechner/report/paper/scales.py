"""Scales of printed axes: their limits, which panels share them, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from fechner.report.paper.lettering import LINE_MM, fitted, number, width_mm
from fechner.scores.panels import Axis, Bars, Floats, Line, Panel, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Which = Literal["x", "y"]

#: Panels share an axis if each of them fills at least this part of it.
_FILLED = 0.6
#: Free room around points and lines, as a part of the axis.
_MARGIN = 0.05
#: Millimetres that a tick label keeps free before the next.
_BETWEEN_MM = 1.5
_LONGEST_NAME_MM = 24.0


@dataclass(frozen=True)
class Scale:
    """An axis with its limits: equal scales are shared ones."""

    axis: Axis
    low: float
    high: float

    @property
    def log(self) -> bool:
        """Whether it is logarithmic."""
        return self.axis.log


@dataclass(frozen=True)
class Ticks:
    """Ticks with their labels, which are turned where they would not fit beside each other."""

    places: tuple[float, ...]
    labels: tuple[str, ...]
    turned: bool = False

    @property
    def depth_mm(self) -> float:
        """How far labels reach away from a horizontal axis."""
        return self.widest_mm if self.turned else LINE_MM

    @property
    def widest_mm(self) -> float:
        """Length of the longest label."""
        return max(map(width_mm, self.labels), default=0.0)


def scales(
    panels: Sequence[Panel], which: Which, within: Sequence[Sequence[float]] = ()
) -> list[Scale]:
    """Return a scale for every panel; one and the same where panels can share it.

    Parameters
    ----------
    within
        For every panel, values that lie within the limits whatever is drawn.
    """
    within = within or [()] * len(panels)
    spans = [_span(panel, which, more) for panel, more in zip(panels, within, strict=True)]
    axes = [_axis(panel, which) for panel in panels]
    found: list[Scale] = []
    for axis, span, panel in zip(axes, spans, panels, strict=True):
        others = [s for a, s in zip(axes, spans, strict=True) if a == axis]
        low, high = min(s[0] for s in others), max(s[1] for s in others)
        if not all(_part(s, (low, high), axis.log) >= _FILLED for s in others):
            low, high = span
        found.append(Scale(axis, *_padded(low, high, panel, axis)))
    return found


def _axis(panel: Panel, which: Which) -> Axis:
    return panel.x if which == "x" else panel.y


def _span(panel: Panel, which: Which, within: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and largest value on an axis; a surface's own where there is one."""
    axis = _axis(panel, which)
    if axis.ticks:
        return -0.5, len(axis.ticks) - 0.5
    surfaces = [mark for mark in panel.marks if isinstance(mark, Surface)]
    parts: list[Floats] = [getattr(mark, which) for mark in surfaces or panel.marks]
    if which == "y" and not surfaces:
        for line in (mark for mark in panel.marks if isinstance(mark, Line)):
            parts += [band for band in (line.low, line.high) if band is not None]
        for bars in (mark for mark in panel.marks if isinstance(mark, Bars)):
            parts += [bars.low, bars.high, np.zeros(1)]
    values = np.concatenate([np.ravel(part) for part in parts] + [np.array(within)])
    values = values[np.isfinite(values) & ((values > 0) | (not axis.log))]
    if len(values) == 0:
        return (0.1, 1.0) if axis.log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if low == high:
        return (low / 2, high * 2) if axis.log else (low - 0.5, high + 0.5)
    return low, high


def _part(span: tuple[float, float], of: tuple[float, float], log: bool) -> float:
    low, high, lowest, highest = (math.log(v) if log else v for v in (*span, *of))
    return (high - low) / (highest - lowest)


def _padded(low: float, high: float, panel: Panel, axis: Axis) -> tuple[float, float]:
    if axis.ticks or any(isinstance(mark, Surface) for mark in panel.marks):
        return low, high
    if axis.log:
        more = (high / low) ** _MARGIN
        return low / more, high * more
    more = (high - low) * _MARGIN
    standing = low == 0 and any(isinstance(mark, Bars) for mark in panel.marks)
    return low - (0 if standing else more), high + more


def ticks_of(scale: Scale, which: Which, room_mm: float) -> Ticks:
    """Return the ticks of an axis that is printed so long."""
    if scale.axis.ticks:
        return _named_ticks(scale.axis.ticks, which, room_mm)
    for most in range(6, 1, -1):
        places = ticks_between(scale.low, scale.high, scale.log, most)
        labels = [number(place) for place in places]
        sizes = [width_mm(label) if which == "x" else LINE_MM for label in labels]
        if most == 2 or _apart(scale, places, sizes, room_mm):
            break
    return Ticks(tuple(places), tuple(labels))


def _apart(scale: Scale, places: Sequence[float], sizes: Sequence[float], room_mm: float) -> bool:
    """Whether labels so large keep clear of each other on an axis that is printed so long."""
    whole = (scale.low, scale.high)
    at = [_part((scale.low, place), whole, scale.log) * room_mm for place in places]
    labels = pairwise(zip(at, sizes, strict=True))
    return all(y - x - (w + v) / 2 >= _BETWEEN_MM for (x, w), (y, v) in labels)


def set_scale(axes: Axes, which: Which, scale: Scale, ticks: Ticks, labelled: bool) -> None:
    """Put limits and ticks on an axis, with or without their labels."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    on = axes.xaxis if which == "x" else axes.yaxis
    if scale.log:
        getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"set_{which}lim")(scale.low, scale.high)
    on.set_major_locator(FixedLocator(ticks.places))
    on.set_major_formatter(FixedFormatter(ticks.labels if labelled else [""] * len(ticks.labels)))
    minor = _minor(scale) if scale.log else []
    on.set_minor_locator(FixedLocator(minor) if minor else NullLocator())
    on.set_minor_formatter(FixedFormatter([""] * len(minor)))
    on.set_tick_params(which="both", labelrotation=90.0 if ticks.turned else 0.0)


def ticks_between(low: float, high: float, log: bool, most: int) -> list[float]:
    """Return round numbers within limits, at most so many, and two if there are any.

    Examples
    --------
    >>> ticks_between(0.5, 32, True, 5), ticks_between(0.5, 2, True, 5)
    ([1.0, 3.0, 10.0, 30.0], [0.5, 1.0, 2.0])
    >>> ticks_between(-0.1, 1.05, False, 5)
    [0.0, 0.5, 1.0]
    """
    if log and high / low > 2:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        choices = [
            _inside([m * 10.0**p for p in range(first, last + 1) for m in within], low, high)
            for within in ((1, 2, 5), (1, 3), (1,))
        ]
        # The finest that has room; sparser decades where none has.
        for ticks in choices:
            if len(ticks) <= most:
                break
        else:
            every = math.ceil(len(ticks) / most)
            ticks = ticks[(len(ticks) - 1) % every :: every]
        if len(ticks) >= 2:
            return ticks
    finest = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    steps = [m * 10**power * finest for power in range(3) for m in (1, 2, 5)]
    lines = [_multiples(step, low, high) for step in steps]
    enough = [ticks for ticks in lines if len(ticks) >= 2]
    sparse = enough[-1][:: math.ceil(len(enough[-1]) / most)]
    return next((ticks for ticks in enough if len(ticks) <= most), sparse)


def _multiples(step: float, low: float, high: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _inside(values: Sequence[float], low: float, high: float) -> list[float]:
    return [float(f"{v:.12g}") for v in values if low * 0.999 <= v <= high * 1.001]


def _minor(scale: Scale) -> list[float]:
    first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
    if last - first > 5:
        return []
    every = [m * 10.0**p for p in range(first, last + 1) for m in range(1, 10)]
    return _inside(every, scale.low, scale.high)


def _named_ticks(names: Sequence[str], which: Which, room_mm: float) -> Ticks:
    labels = fitted(names, _LONGEST_NAME_MM)
    slot = room_mm / len(names)
    turned = which == "x" and max(map(width_mm, labels)) + _BETWEEN_MM > slot
    # A line of type is three millimetres high.
    every = max(1, math.ceil(3.0 / slot)) if turned or which == "y" else 1
    kept = range((len(labels) - 1) % every, len(labels), every)
    return Ticks(tuple(map(float, kept)), tuple(labels[k] for k in kept), turned)

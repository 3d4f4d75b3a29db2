"""Scales of printed axes: their limits, which panels share them, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from fechner.report.extents import Which, axis_of, numbered, values_of
from fechner.report.paper.lettering import LINE_MM, fitted, number, plain, width_mm
from fechner.scores.panels import Axis, Bars, Panel, Surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Scale", "Ticks", "Which", "scales", "set_scale", "ticks_between", "ticks_of"]

#: Panels share an axis if each of them fills at least this part of it.
_FILLED = 0.35
#: Free room around points and lines, as a part of the axis, and beyond a fixed end.
_MARGIN, _FIXED_MARGIN = 0.05, 0.02
#: Millimetres that a tick label keeps free before the next.
_BETWEEN_MM = 1.5
_LONGEST_NAME_MM = 24.0


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

    @property
    def log(self) -> bool:
        """Whether it is logarithmic."""
        return self.axis.log

    def place(self, value: float) -> float:
        """Return where a value stands along the axis, from 0 to 1."""
        share = _part((self.low, value), (self.low, self.high), self.log)
        return 1 - share if self.axis.reversed else share


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

    def beyond_mm(self, scale: Scale, room_mm: float) -> tuple[float, float]:
        """Return how far labels reach beyond both ends of a horizontal axis that is so long."""
        before = after = 0.0
        for place, label in zip(self.places, self.labels, strict=True):
            at = scale.place(place) * room_mm
            half = (LINE_MM if self.turned else width_mm(label)) / 2
            before, after = max(before, half - at), max(after, at + half - room_mm)
        return before, after


def scales(
    panels: Sequence[Panel],
    which: Which,
    within: Sequence[Sequence[float]] = (),
    together: Sequence[str] = (),
) -> list[Scale]:
    """Return a scale for every panel; one and the same where panels can share it.

    Parameters
    ----------
    within
        For every panel, values that lie within the limits whatever is drawn.
    together
        What each panel belongs to, such as an observer: those of one share a scale if they can
        where not all do. Empty for a panel that stands for itself.
    """
    within = within or [()] * len(panels)
    together = together or [""] * len(panels)
    spans = [_span(panel, which, more) for panel, more in zip(panels, within, strict=True)]
    axes = [axis_of(panel, which) for panel in panels]
    numbers = [numbered(panel, which) for panel in panels]
    found: list[Scale] = []
    for k, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
        alike = [i for i, other in enumerate(axes) if other == axis]
        near = [i for i in alike if together[k] and together[i] == together[k]]
        shared = next(
            each for each in (alike, near or [k], [k]) if _share([spans[i] for i in each], axis.log)
        )
        low, high = min(spans[i][0] for i in shared), max(spans[i][1] for i in shared)
        first, last = min(numbers[i][0] for i in shared), max(numbers[i][1] for i in shared)
        found.append(Scale(axis, *_padded(low, high, panel, axis), first, last))
    return found


def _share(spans: Sequence[tuple[float, float]], log: bool) -> bool:
    """Whether each of some panels fills enough of an axis that holds them all."""
    whole = min(low for low, _ in spans), max(high for _, high in spans)
    return all(_part(span, whole, log) >= _FILLED for span in spans)


def _span(panel: Panel, which: Which, within: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and largest value on an axis; a surface's own where there is one."""
    axis = axis_of(panel, which)
    if axis.ticks:
        return -0.5, len(axis.ticks) - 0.5
    values = [*values_of(panel, which).tolist(), *within, *(place for place, _ in axis.named)]
    known = [v for v in values if math.isfinite(v) and (v > 0 or not axis.log)]
    if not known:
        return (0.1, 1.0) if axis.log else (0.0, 1.0)
    low, high = min(known), max(known)
    if low == high:
        low, high = (low / 2, high * 2) if axis.log else (low - 0.5, high + 0.5)
    return _fixed(axis, low, high)


def _fixed(axis: Axis, low: float, high: float) -> tuple[float, float]:
    """Return limits with the ends that an axis has in any case."""
    if math.isfinite(axis.low) and (axis.low > 0 or not axis.log):
        low = axis.low
    if math.isfinite(axis.high) and axis.high > low:
        high = axis.high
    if low < high:
        return low, high
    return (low / 2, low) if axis.log else (low, low + 1)


def _part(span: tuple[float, float], of: tuple[float, float], log: bool) -> float:
    low, high, lowest, highest = (math.log(v) if log else v for v in (*span, *of))
    return (high - low) / (highest - lowest)


def _padded(low: float, high: float, panel: Panel, axis: Axis) -> tuple[float, float]:
    if axis.ticks or any(isinstance(mark, Surface) for mark in panel.marks):
        return low, high
    below, above = (
        _FIXED_MARGIN if end == fixed else _MARGIN
        for end, fixed in ((low, axis.low), (high, axis.high))
    )
    if axis.log:
        return low / (high / low) ** below, high * (high / low) ** above
    standing = low == 0 and any(isinstance(mark, Bars) for mark in panel.marks)
    span = high - low
    return low - (0 if standing else span * below), high + span * above


def ticks_of(scale: Scale, which: Which, room_mm: float) -> Ticks:
    """Return the ticks of an axis that is printed so long."""
    if scale.axis.ticks:
        return _named_ticks(scale.axis.ticks, which, room_mm)
    named = [(place, plain(name)) for place, name in scale.axis.named]

    def clear(ticks: Sequence[tuple[float, str]]) -> bool:
        sizes = [width_mm(label) if which == "x" else LINE_MM for _, label in ticks]
        return _apart(scale, [place for place, _ in ticks], sizes, room_mm)

    for most in range(6, 1, -1):
        places = _within(scale, ticks_between(scale.low, scale.high, scale.log, most))
        numbers = [(place, number(place)) for place in places]
        # A name stands where it does; numbers beside it may stand elsewhere.
        numbers = [tick for tick in numbers if all(clear((tick, name)) for name in named)]
        if most == 2 or clear(numbers):
            break
    ticks = sorted([*numbers, *named])
    return Ticks(tuple(place for place, _ in ticks), tuple(label for _, label in ticks))


def _within(scale: Scale, places: Sequence[float]) -> list[float]:
    """Return those of some places that numbers may stand at."""
    if not scale.axis.named:
        return list(places)
    slack = 1e-6 * max(map(abs, places), default=0.0)
    return [p for p in places if scale.first - slack <= p <= scale.last + slack]


def _apart(scale: Scale, places: Sequence[float], sizes: Sequence[float], room_mm: float) -> bool:
    """Whether labels so large keep clear of each other on an axis that is printed so long."""
    at = [scale.place(place) * room_mm for place in places]
    labels = pairwise(sorted(zip(at, sizes, strict=True)))
    return all(y - x - (w + v) / 2 >= _BETWEEN_MM for (x, w), (y, v) in labels)


def set_scale(axes: Axes, which: Which, scale: Scale, ticks: Ticks, labelled: bool) -> None:
    """Put limits and ticks on an axis, with or without their labels."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    on = axes.xaxis if which == "x" else axes.yaxis
    if scale.log:
        getattr(axes, f"set_{which}scale")("log")
    ends = (scale.high, scale.low) if scale.axis.reversed else (scale.low, scale.high)
    getattr(axes, f"set_{which}lim")(*ends)
    on.set_major_locator(FixedLocator(ticks.places))
    on.set_major_formatter(FixedFormatter(ticks.labels if labelled else [""] * len(ticks.labels)))
    minor = _within(scale, _minor(scale)) if scale.log else []
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

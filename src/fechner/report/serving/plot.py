"""A small plot on logarithmic axes, as numbers that a template makes an SVG of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fechner.report.serving.thresholds import Curve

WIDTH, HEIGHT = 360, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 10, 40


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from ``low`` at pixel ``start`` to ``high`` at pixel ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value; what lies outside is put on the edge.

        Examples
        --------
        >>> Axis(1, 100, 0, 200).at(10)
        100.0
        """
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + (self.end - self.start) * min(max(share, 0.0), 1.0), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Pixels and labels of the powers of ten."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high))
        return [(self.at(10.0**power), f"{10.0**power:g}") for power in range(first, last + 1)]


@dataclass(frozen=True)
class Plot:
    """A curve, the side of it on which people see, a dot, and what stands at the axes."""

    x: Axis
    y: Axis
    path: str
    area: str
    seen_at: tuple[float, float]
    marks: list[tuple[float, float]]
    dot: tuple[float, float]
    x_label: str
    y_label: str
    width: int = WIDTH
    height: int = HEIGHT


def plot(curve: Curve) -> Plot:
    """Lay out a curve: sensitivity upwards for models, thresholds for data on masks."""
    across = (_LEFT, WIDTH - _RIGHT)
    upwards = (HEIGHT - _BOTTOM, _TOP)
    if curve.measured:
        x, y = Axis(0.001, 1, *across), Axis(0.001, 1, *upwards)
        values, value, label = curve.thresholds, curve.contrast, "contrast"
    else:
        x = Axis(float(curve.x[0]), float(curve.x[-1]), *across)
        y = Axis(1, 2000, *upwards)
        values, value, label = 1 / curve.thresholds, 1 / curve.contrast, "1 / contrast"
    # A curve ends where it leaves the plot; a flat line along its edge would say something else.
    inside = (values >= y.low) & (values <= y.high)
    places = [
        (x.at(float(a)), y.at(float(b)))
        for a, b in zip(curve.x[inside], np.asarray(values)[inside], strict=True)
    ]
    path = " ".join(f"{'L' if number else 'M'}{a:g} {b:g}" for number, (a, b) in enumerate(places))
    # More contrast is downwards where sensitivity is upwards.
    edge = y.end if curve.measured else y.start
    area = f"{path} L{places[-1][0]:g} {edge:g} L{places[0][0]:g} {edge:g} Z" if places else ""
    middle = (places[0][0] + places[-1][0]) / 2 if places else (x.start + x.end) / 2
    return Plot(
        x,
        y,
        path,
        area,
        (middle, edge + 16 if curve.measured else edge - 8),
        places if curve.measured else [],
        (x.at(curve.at), y.at(value)),
        curve.label,
        label,
    )

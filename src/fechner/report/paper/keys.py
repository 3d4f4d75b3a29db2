"""What explains the marks of a figure: the legend below it and the bar of colours beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.report.paper.drawing import (
    CASING,
    HATCH,
    ON_SURFACE_PT,
    OWN,
    PEOPLE,
    LineStyle,
    bar_style,
    has_surface,
    line_style,
    point_style,
    tones_of,
)
from fechner.report.paper.lettering import (
    LARGE_PT,
    LINE_MM,
    fitted,
    number,
    plain,
    units,
    width_mm,
    wrapped,
)
from fechner.report.paper.scales import ticks_between
from fechner.report.paper.style import INK, axes_at, inches
from fechner.scores.panels import Axis, Bars, Line, Panel, Points, Surface

if TYPE_CHECKING:
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

#: Room that a sample and the space after its words take, in mm.
_SAMPLE_MM = 11.0
#: A bar of colours, and what lies between it and the panels.
_BAR_MM, _BAR_GAP_MM, _BAR_WORDS_MM, _HIGHEST_BAR_MM = 2.5, 2.5, 30.0, 60.0


@dataclass(frozen=True)
class Key:
    """A legend.

    Parameters
    ----------
    samples, words
        What is explained, and how.
    beside
        How many stand beside each other.
    """

    samples: tuple[Any, ...]
    words: tuple[str, ...]
    beside: int
    heading: str = ""

    @classmethod
    def of(cls, found: Mapping[str, Any], room_mm: float, heading: str = "") -> Key:
        """Return a legend of samples by their words that is so wide at most."""
        words = fitted(list(found), room_mm - _SAMPLE_MM)
        return cls(
            tuple(found.values()),
            tuple(words),
            _beside(words, room_mm),
            wrapped(heading, room_mm) if heading else "",
        )

    @property
    def lines(self) -> int:
        """How many lines of type it takes."""
        heading = self.heading.count("\n") + 1 if self.heading else 0
        return math.ceil(len(self.words) / self.beside) + heading

    @property
    def height_mm(self) -> float:
        """How high it is, with a space above."""
        return self.lines * LINE_MM + 1.2 if self.words else 0.0

    def draw(self, figure: Figure, bottom_mm: float = 0.8) -> None:
        """Draw it at the foot of a figure."""
        from matplotlib.legend_handler import HandlerTuple

        if self.words:
            figure.legend(
                self.samples,
                self.words,
                title=self.heading or None,
                loc="lower center",
                bbox_to_anchor=(0.5, inches(bottom_mm) / figure.get_figheight()),
                borderaxespad=0.0,
                ncols=self.beside,
                handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
            )


def key_of(panels: Sequence[Panel], guides: Sequence[tuple[str, LineStyle]], room_mm: float) -> Key:
    """Return the legend of panels.

    Parameters
    ----------
    guides
        Words and dashes of levels drawn across panels.
    """
    marks = [mark for panel in panels for mark in panel.marks]
    found: dict[str, Any] = {}
    lines = [mark for mark in marks if isinstance(mark, Line)]
    people = {line.group for line in lines if line.human}
    measured = {line.group for line in lines if not line.human}
    both = bool(people & measured)
    for panel in panels:
        look = (has_surface(panel), tones_of(panel))
        # Lines that look the same are named together.
        named: dict[int, dict[str, Line]] = {}
        for line in (mark for mark in panel.marks if isinstance(mark, Line)):
            # Where people and observer did the same, colours are named once, and dashes too.
            if line.label and not (both and line.human and line.group in measured):
                same = line.group if panel.palette else len(named)
                named.setdefault(same, {}).setdefault(line.label, line)
        for same_look in (named[group] for group in (sorted(named) if panel.palette else named)):
            words, line = ", ".join(same_look), next(iter(same_look.values()))
            found.setdefault(words, line_sample(**line_style(line, *look)))
    if both:
        found.setdefault("people", line_sample(color=INK, linestyle=PEOPLE))
        found.setdefault("observer", line_sample(color=INK))
    if any(line.doubtful is not None and line.doubtful.any() for line in lines):
        hollow = {"marker": "o", "markerfacecolor": CASING, "markeredgewidth": 0.5}
        found["out of the range tested"] = line_sample(color=INK, linestyle="", **hollow)
    for points in (mark for mark in marks if isinstance(mark, Points)):
        if points.label and points.colour is None:
            style = point_style(points)
            found.setdefault(points.label, line_sample(linestyle="", markeredgewidth=0.0, **style))
    for bars in (mark for mark in marks if isinstance(mark, Bars)):
        found.setdefault(bars.label, _patch(**bar_style(bars)))
    found.update(_of_surfaces([mark for mark in marks if isinstance(mark, Surface)]))
    for words, dashes in guides:
        found[words] = line_sample(color=INK, linewidth=0.7, linestyle=dashes)
    steps = both or any(panel.ordered for panel in panels)
    several = steps and len({line.group for line in lines}) > 1
    return Key.of(found, room_mm, heading=panels[0].groups or panels[0].title if several else "")


def _of_surfaces(surfaces: Sequence[Surface]) -> dict[str, Any]:
    from matplotlib import colormaps
    from matplotlib.patches import Patch

    found: dict[str, Any] = {}
    if any(np.isfinite(surface.criterion) for surface in surfaces):
        found["observer, at its criterion (number above)"] = line_sample(
            color=OWN, linewidth=ON_SURFACE_PT
        )
    for name in dict.fromkeys(surface.label for surface in surfaces):
        own = [surface for surface in surfaces if surface.label == name]
        logs = {surface.log for surface in own}
        given = {(surface.low, surface.high) for surface in own if np.isfinite(surface.low)}
        whose = "on one scale" if len(given) == 1 else "each on its own scale"
        how = " (log or linear)" if len(logs) > 1 else " (log)" if True in logs else ""
        shades = colormaps["viridis"](np.linspace(0, 1, 6))
        found[f"{plain(name)}, {whose}{how}"] = tuple(
            Patch(facecolor=shade, linewidth=0.0) for shade in shades
        )
    if any(surface.doubtful is not None and surface.doubtful.any() for surface in surfaces):
        found["could not be shown as meant"] = Patch(
            facecolor="#B4C8CE", edgecolor=INK, hatch=HATCH, linewidth=0.0
        )
    return found


def _patch(**style: Any) -> Any:
    from matplotlib.patches import Patch

    return Patch(**style)


def line_sample(**style: Any) -> Any:
    """Return a piece of a line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def _beside(labels: Sequence[str], room_mm: float) -> int:
    """Return how many entries fit beside each other; they fill columns from top to bottom."""
    widths = np.array([width_mm(label) + _SAMPLE_MM for label in labels])
    for across in range(len(widths), 1, -1):
        if sum(column.max() for column in np.array_split(widths, across)) <= room_mm:
            return across
    return 1


class ColourBar:
    """What colours of points mean, once for all panels."""

    def __init__(self, axis: Axis, norm: Normalize) -> None:
        self.norm = norm
        self.words = wrapped(units(axis.label), _BAR_WORDS_MM, LARGE_PT)
        self.ticks = ticks_between(float(norm.vmin or 0), float(norm.vmax or 1), axis.log, 5)
        self.labels = [number(tick) for tick in self.ticks]

    @property
    def width_mm(self) -> float:
        """How much room it takes to the right of panels."""
        words = (self.words.count("\n") + 1) * LINE_MM
        return _BAR_GAP_MM + _BAR_MM + 2.0 + max(map(width_mm, self.labels), default=0.0) + words

    def draw(self, figure: Figure, left_mm: float, top_mm: float, room_mm: float) -> None:
        """Draw it beside the uppermost panels."""
        from matplotlib.cm import ScalarMappable

        height = min(room_mm, _HIGHEST_BAR_MM)
        axes = axes_at(figure, left_mm + _BAR_GAP_MM, top_mm - height, _BAR_MM, height)
        bar = figure.colorbar(ScalarMappable(self.norm, "viridis"), cax=axes)
        bar.minorticks_off()
        bar.set_ticks(self.ticks, labels=self.labels)
        bar.set_label(self.words)

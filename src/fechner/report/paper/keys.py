"""What explains the marks of a figure: the legend below it and the bar of colours beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.report.paper.drawing import (
    PEOPLE,
    LineStyle,
    bar_style,
    line_style,
    point_style,
    tones_of,
    vertical_style,
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
from fechner.report.paper.surfaces import CASING, HATCH, ON_SURFACE_PT, OWN, colours_of, has_surface
from fechner.scores.panels import Axis, Bars, Line, Panel, Points, Surface, Vertical

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


@dataclass(frozen=True)
class Keys:
    """Legends below each other: several where panels give one name different colours."""

    parts: tuple[Key, ...]

    @property
    def height_mm(self) -> float:
        """How high they are together."""
        return sum(part.height_mm for part in self.parts)

    def draw(self, figure: Figure) -> None:
        """Draw them at the foot of a figure, the first one uppermost."""
        bottom = 0.8 + self.height_mm
        for part in self.parts:
            bottom -= part.height_mm
            part.draw(figure, bottom)


def keys_of(
    panels: Sequence[Panel], guides: Sequence[tuple[str, LineStyle]], room_mm: float
) -> Keys:
    """Return what explains the marks of panels.

    Parameters
    ----------
    guides
        Words and dashes of levels drawn across panels.
    """
    lines = [line for panel in panels for line in _curves(panel)]
    people = {line.group for line in lines if line.human}
    measured = {line.group for line in lines if not line.human}
    both = bool(people & measured)
    # Where people and observer did the same, colours are named once, and dashes too.
    left_out = measured if both else set()
    alike = _alike(panels)
    steps = both or any(panel.ordered for panel in panels)
    several = steps and len({line.group for line in lines}) > 1
    common = _common(panels, guides, both)
    if len(alike) < 2:
        heading = panels[0].groups or panels[0].title if several else ""
        return Keys((Key.of(_of_lines(panels, left_out) | common, room_mm, heading),))
    parts = [
        Key.of(_of_lines(own, left_out), room_mm, _heading(own, several)) for own in alike.values()
    ]
    return Keys((*parts, Key.of(common, room_mm)) if common else tuple(parts))


def _curves(panel: Panel) -> list[Line]:
    """Return the lines of a panel that legends name by their colour."""
    return [mark for mark in panel.marks if isinstance(mark, Line) and not mark.style]


def _alike(panels: Sequence[Panel]) -> dict[int, list[Panel]]:
    """Return panels together that draw every name in one way."""
    looks: list[dict[str, Any]] = []
    found: dict[int, list[Panel]] = {}
    for panel in panels:
        look = (has_surface(panel), tones_of(panel))
        own: dict[str, Any] = {}
        for line in (line for line in _curves(panel) if line.label):
            style = line_style(line, *look)
            own.setdefault(line.label, (style.get("color"), line.group))
        same = (
            k
            for k, known in enumerate(looks)
            if all(known.get(label, style) == style for label, style in own.items())
        )
        place = next(same, len(looks))
        if place == len(looks):
            looks.append({})
        looks[place].update(own)
        found.setdefault(place, []).append(panel)
    return found


def _heading(panels: Sequence[Panel], several: bool) -> str:
    """Say which panels a legend is for."""
    names = ", ".join(dict.fromkeys(panel.name or panel.title for panel in panels))
    what = panels[0].groups if several else ""
    return f"{what} ({names})" if what else names


def _of_lines(panels: Sequence[Panel], left_out: set[int]) -> dict[str, Any]:
    """Return samples of lines, without people's of some groups."""
    found: dict[str, Any] = {}
    for panel in panels:
        look = (has_surface(panel), tones_of(panel))
        # Lines that look the same are named together.
        named: dict[int, dict[str, Line]] = {}
        for line in _curves(panel):
            if line.label and not (line.human and line.group in left_out):
                same = line.group if panel.palette else len(named)
                named.setdefault(same, {}).setdefault(line.label, line)
        for same_look in (named[group] for group in (sorted(named) if panel.palette else named)):
            words, line = ", ".join(same_look), next(iter(same_look.values()))
            found.setdefault(words, line_sample(**line_style(line, *look)))
    return found


def _common(
    panels: Sequence[Panel], guides: Sequence[tuple[str, LineStyle]], both: bool
) -> dict[str, Any]:
    """Return samples of what means the same on all panels."""
    marks = [mark for panel in panels for mark in panel.marks]
    found: dict[str, Any] = {}
    if both:
        found["people"] = line_sample(color=INK, linestyle=PEOPLE)
        found["observer"] = line_sample(color=INK)
    lines = [mark for mark in marks if isinstance(mark, Line)]
    if any(line.doubtful is not None and line.doubtful.any() for line in lines):
        hollow = {"marker": "o", "markerfacecolor": CASING, "markeredgewidth": 0.5}
        found["out of the range tested"] = line_sample(color=INK, linestyle="", **hollow)
    for line in (line for line in lines if line.style == "guide" and line.label):
        found.setdefault(line.label, line_sample(**line_style(line, cased=False)))
    for panel in panels:
        found = _of_points(panel) | found
    for bars in (mark for mark in marks if isinstance(mark, Bars)):
        found.setdefault(bars.label, patch(**bar_style(bars)))
    found.update(_of_surfaces([mark for mark in marks if isinstance(mark, Surface)]))
    for words, dashes in guides:
        found[words] = line_sample(color=INK, linewidth=0.7, linestyle=dashes)
    return found


def _of_points(panel: Panel) -> dict[str, Any]:
    """Return samples of points and of places on the abscissa."""
    tones = tones_of(panel)
    found: dict[str, Any] = {}
    for mark in panel.marks:
        if isinstance(mark, Points) and mark.label and mark.colour is None:
            style = point_style(mark, tones)
            edge = {"markeredgewidth": 0.8, "markeredgecolor": INK} if mark.human else {"mew": 0.0}
            found.setdefault(mark.label, line_sample(linestyle="", **edge, **style))
        elif isinstance(mark, Vertical) and mark.label and np.isfinite(mark.x):
            style = vertical_style(mark, tones)
            if not mark.human:
                style |= {"linestyle": "", "marker": "|", "markersize": 7.0, "mew": 0.9}
            found.setdefault(mark.label, line_sample(**style))
    return found


def _of_surfaces(surfaces: Sequence[Surface]) -> dict[str, Any]:
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
        if all(surface.diverging for surface in own) and not given:
            given = {(-1.0, 1.0)}
        whose = "on one scale" if len(given) == 1 else "each on its own scale"
        how = " (log or linear)" if len(logs) > 1 else " (log)" if True in logs else ""
        shades = colours_of(own[0])(np.linspace(0, 1, 6))
        found[f"{plain(name)}, {whose}{how}"] = tuple(
            Patch(facecolor=shade, linewidth=0.0) for shade in shades
        )
    if any(surface.doubtful is not None and surface.doubtful.any() for surface in surfaces):
        found["could not be shown as meant"] = Patch(
            facecolor="#B4C8CE", edgecolor=INK, hatch=HATCH, linewidth=0.0
        )
    return found


def patch(**style: Any) -> Any:
    """Return a piece of a bar for a legend."""
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

"""Panels: what there is to see in the answers to a test, without saying how it is drawn.

A panel has two axes and marks on them. A suite binds a test to the function that makes its panels
from stored answers; the page and the figures for papers draw the same panels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from fechner.arrays import Flags, Floats, xr

if TYPE_CHECKING:
    from fechner.stimuli import Picture, Stimulus


#: What colours of groups stand for: channels (achromatic, red-green, yellow-blue), adaptors from
#: the one that changes least to the one that changes most, or backgrounds from one end of a
#: chromatic channel over grey to the other.
Palette = Literal["", "channels", "adaptors", "red-green", "yellow-blue"]

#: How a line is drawn where it is not the curve itself: one of a fan of thin lines, such as a run
#: with other random numbers, which no legend names, or a level to compare with, such as chance.
Style = Literal["", "fan", "guide"]


@dataclass(frozen=True)
class Axis:
    """One axis.

    Parameters
    ----------
    label
        What varies, with its unit.
    ticks
        Names of the positions 0, 1, 2..., where values have none of their own.
    reversed
        Whether values grow to the left, or downwards.
    named
        Further places with names: what has no place on a logarithmic axis, such as 0, is drawn at
        one beside the others. Only values between the other ones then have numbers.
    low, high
        Fixed ends; infinite where the values tell them.
    """

    label: str
    log: bool = False
    ticks: tuple[str, ...] = ()
    reversed: bool = False
    named: tuple[tuple[float, str], ...] = ()
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Surface:
    """Responses z [x, y] over a plane; where an axis has names for positions, cells of their own.

    Parameters
    ----------
    log
        Whether colours follow the logarithm of the response.
    doubtful
        Cells whose stimulus could not be shown as meant, [x, y].
    criterion
        The response whose contour is drawn as the observer's own threshold; NaN for none.
    low, high
        Ends of the scale of colours, the same on several panels; NaN for those of the responses.
    diverging
        Whether 0 is in the middle of the colours, which then go from -1 to 1 unless said otherwise.
    """

    x: Floats
    y: Floats
    z: Floats
    label: str = "response"
    log: bool = False
    doubtful: Flags | None = None
    criterion: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    diverging: bool = False


@dataclass(frozen=True)
class Line:
    """A curve, with a band from ``low`` to ``high`` where there is one.

    Parameters
    ----------
    group
        Lines of the same group have the same colour.
    human
        Whether it is what people did: dashed.
    names
        Names of its points, where they have any.
    doubtful
        Points that stand for something out of range.
    marked
        Points with a marker, such as those that are scored; if None, all where they are few.
    """

    x: Floats
    y: Floats
    label: str
    group: int = 0
    human: bool = False
    low: Floats | None = None
    high: Floats | None = None
    names: tuple[str, ...] = ()
    doubtful: Flags | None = None
    style: Style = ""
    marked: Flags | None = None


@dataclass(frozen=True)
class Points:
    """Single points, coloured by a third quantity where there is one, else by group.

    Parameters
    ----------
    low, high
        Ends of their intervals; NaN where a point has none.
    human
        Whether they are what people did: outlined.
    names
        Names of the points, where they have any.
    """

    x: Floats
    y: Floats
    label: str = ""
    colour: Floats | None = None
    colour_axis: Axis = field(default_factory=lambda: Axis(""))
    group: int = 0
    low: Floats | None = None
    high: Floats | None = None
    human: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bars:
    """Bars from 0 on, one for each name on the abscissa, with intervals; NaN where there is none.

    Bars of the same group have the same colour, and stand side by side with those of others.
    """

    x: Floats
    y: Floats
    low: Floats
    high: Floats
    label: str
    group: int = 0


@dataclass(frozen=True)
class Vertical:
    """A place on the abscissa, such as a threshold; NaN draws nothing.

    Its interval is NaN where there is none, infinite where it is open.
    """

    x: float
    label: str
    low: float = float("nan")
    high: float = float("nan")
    group: int = 0
    human: bool = False


@dataclass(frozen=True)
class Item:
    """A picture with a caption: what it shows in a word or two, and a line about it."""

    picture: Picture | Stimulus
    title: str
    text: str = ""


@dataclass(frozen=True)
class Gallery:
    """Pictures with captions: a panel that has one has neither axes nor other marks."""

    items: tuple[Item, ...]


Mark = Surface | Line | Points | Bars | Vertical | Gallery


@dataclass(frozen=True)
class Panel:
    """Two axes and what is on them.

    Parameters
    ----------
    kind
        Short name; panels of one kind are set side by side and share their axes.
    groups
        What lines or points of one group have in common, such as a contrast.
    stimuli
        Whether the abscissa is that of the stimuli, so that these can be shown below it.
    ordered
        Whether groups are steps of one quantity, from the least on, rather than kinds.
    row
        Which row of the stimuli is shown below the abscissa.
    rows
        Several of them, one below the other with their names; empty for the one of ``row``. Those
        that are named here stand below printed panels, too, where they may be resampled.
    name
        What tells it from the other panels of its kind, in a word or two.
    """

    kind: str
    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    groups: str = ""
    stimuli: bool = True
    ordered: bool = False
    palette: Palette = ""
    row: int = 0
    name: str = ""
    rows: tuple[int, ...] = ()

    @property
    def gallery(self) -> Gallery | None:
        """The pictures that it has in the place of axes, None where it has axes."""
        return next((mark for mark in self.marks if isinstance(mark, Gallery)), None)

    @property
    def strips(self) -> tuple[int, ...]:
        """Which rows of the stimuli are shown below the abscissa."""
        return (self.rows or (self.row,)) if self.stimuli else ()


class MakesPanels(Protocol):
    """Turns the answers of one layer and read-out into panels."""

    def __call__(self, experiment: Any, data: xr.Dataset) -> Sequence[Panel]:
        """Return the panels that the stored answers allow, the most telling first."""
        ...


#: Accuracies, and other shares.
ACCURACY = Axis("accuracy", low=0.0, high=1.0)


def guide(first: float, last: float, level: float, label: str = "chance") -> Line:
    """Return a level to compare with, from one place on the abscissa to another."""
    return Line(np.array([first, last]), np.full(2, level), label, style="guide")


def gallery_panel(kind: str, title: str, items: Sequence[Item]) -> Panel:
    """Return a panel of pictures with captions."""
    return Panel(kind, title, Axis(""), Axis(""), (Gallery(tuple(items)),), stimuli=False)


def spans_decades(values: Floats) -> bool:
    """Whether values are better seen on a logarithmic scale: none negative, a tenfold range.

    Examples
    --------
    >>> spans_decades(np.array([0.0, 0.01, 1.0])), spans_decades(np.array([-1.0, 0.01, 1.0]))
    (True, False)
    """
    known = values[np.isfinite(values)]
    positive = known[known > 0]
    return bool(len(positive) and (known >= 0).all() and positive.max() > 10 * positive.min())

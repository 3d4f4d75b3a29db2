"""Panels: what there is to see in the answers to a test, without saying how it is drawn.

A panel has two axes and marks on them. A suite binds a test to the function that makes its panels
from stored answers; the page and the figures for papers draw the same panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: What colours of groups stand for: channels (achromatic, red-green, yellow-blue), adaptors from
#: the one that changes least to the one that changes most, or backgrounds from one end of a
#: chromatic channel over grey to the other.
Palette = Literal["", "channels", "adaptors", "red-green", "yellow-blue"]


@dataclass(frozen=True)
class Axis:
    """One axis.

    Parameters
    ----------
    label
        What varies, with its unit.
    log
        Whether it is logarithmic.
    ticks
        Names of the positions 0, 1, 2..., where values have none of their own.
    """

    label: str
    log: bool = False
    ticks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Surface:
    """Responses over a plane.

    Parameters
    ----------
    z
        Responses, [x, y].
    log
        Whether colours follow the logarithm of the response.
    doubtful
        Cells whose stimulus could not be shown as meant, [x, y].
    criterion
        The response whose contour is drawn as the observer's own threshold; NaN for none.
    low, high
        Ends of the scale of colours, the same on several panels; NaN for those of the responses.
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


@dataclass(frozen=True)
class Points:
    """Single points, coloured by a third quantity where there is one.

    Parameters
    ----------
    group
        Otherwise, points of the same group have the same colour and shape.
    """

    x: Floats
    y: Floats
    label: str = ""
    colour: Floats | None = None
    colour_axis: Axis = field(default_factory=lambda: Axis(""))
    group: int = 0


@dataclass(frozen=True)
class Bars:
    """Bars from 0 on, one for each name on the abscissa, with intervals.

    Parameters
    ----------
    x
        Places of the names.
    low, high
        Ends of the intervals; NaN where there is none.
    group
        Bars of the same group have the same colour, and stand side by side with those of others.
    """

    x: Floats
    y: Floats
    low: Floats
    high: Floats
    label: str
    group: int = 0


Mark = Surface | Line | Points | Bars


@dataclass(frozen=True)
class Panel:
    """Two axes and what is on them.

    Parameters
    ----------
    kind
        Short name; panels of one kind are set side by side and share their axes.
    title
        What is to be seen, in a line.
    groups
        What lines or points of one group have in common, such as a contrast.
    stimuli
        Whether the abscissa is that of the stimuli, so that these can be shown below it.
    ordered
        Whether groups are steps of one quantity, from the least on, rather than kinds.
    palette
        What colours of groups stand for, where these have colours of their own.
    row
        Which row of the stimuli is shown below the abscissa.
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


class MakesPanels(Protocol):
    """Turns the answers of one layer and read-out into panels."""

    def __call__(self, experiment: Any, data: xr.Dataset) -> Sequence[Panel]:
        """Return the panels that the stored answers allow, the most telling first."""
        ...


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

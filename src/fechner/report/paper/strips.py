"""Strips of stimuli below printed axes: each under its abscissa, in rows with their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from fechner.experiments import Experiment
from fechner.report.paper.lettering import SMALL_PT, fitted, plain, width_mm
from fechner.report.paper.scales import Scale
from fechner.report.paper.style import axes_at
from fechner.report.tiles import tile_rows
from fechner.scores.panels import Axis, Panel

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: Height of a stimulus, what lies between two, and what lies above the first row.
_HIGH_MM, _GAP_MM, _ABOVE_MM = 7.5, 0.6, 0.8
#: The longest name of a row.
_LONGEST_MM = 16.0


class Row(NamedTuple):
    """Stimuli beside each other, with their abscissae."""

    name: str
    at: tuple[float, ...]
    pictures: NDArray[np.uint8]


class Strips:
    """The stimuli of a test, for panels that say which rows of them stand below.

    Photographs may be resampled, patterns may not: panels without ``rows`` have none in print.
    """

    def __init__(self, experiment: Experiment | None = None) -> None:
        self.experiment = experiment

    @cached_property
    def _every(self) -> list[Row]:
        assert self.experiment is not None
        samples, tiles = self.experiment.samples(), tile_rows(self.experiment)
        return [
            Row(plain(row[0].y), tuple(sample.at for sample in row), pictures)
            for row, pictures in zip(samples, tiles, strict=True)
        ]

    def of(self, panel: Panel) -> list[Row]:
        """Return the rows that stand below a panel."""
        if self.experiment is None or not (panel.stimuli and panel.rows):
            return []
        return [self._every[row] for row in panel.rows if row < len(self._every)]

    def height_mm(self, panel: Panel | None) -> float:
        """How much room rows take below the numbers of an axis."""
        rows = 0 if panel is None else len(self.of(panel))
        return _ABOVE_MM + rows * (_HIGH_MM + _GAP_MM) if rows else 0.0

    def names_mm(self, panels: Sequence[Panel]) -> float:
        """How much room the names of rows take left of the axes; one row needs none."""
        names = [row.name for panel in panels for row in self.of(panel) if len(panel.rows) > 1]
        # Half a stimulus may stand left of the axis.
        return min(_LONGEST_MM, max(map(width_mm, names))) + _HIGH_MM / 2 if names else 0.0


def draw_strip(
    figure: Figure,
    rows: Sequence[Row],
    scale: Scale,
    left_mm: float,
    top_mm: float,
    width_mm: float,
    named: bool,
) -> None:
    """Draw rows of stimuli below an axis that starts there and is so wide.

    Parameters
    ----------
    named
        Whether the rows have their names beside them.
    """
    across, up = (float(side) * 25.4 for side in figure.get_size_inches())
    top = top_mm - _ABOVE_MM
    for row in rows:
        high, wide = row.pictures.shape[1:3]
        side = _HIGH_MM * wide / high
        kept = _kept(row.at, scale, width_mm, side + _GAP_MM)
        for k, at in kept:
            axes = axes_at(figure, left_mm + at - side / 2, top - _HIGH_MM, side, _HIGH_MM)
            axes.imshow(row.pictures[k], aspect="auto")
            axes.set_axis_off()
        if named and len(rows) > 1:
            (name,) = fitted([row.name], _LONGEST_MM)
            first = left_mm + min((at - side / 2 for _, at in kept), default=0.0)
            place = (min(left_mm, first) - 1.0) / across, (top - _HIGH_MM / 2) / up
            figure.text(*place, name, fontsize=SMALL_PT, ha="right", va="center")
        top -= _HIGH_MM + _GAP_MM


def _kept(
    at: Sequence[float], scale: Scale, width_mm: float, pitch_mm: float
) -> list[tuple[int, float]]:
    """Return which stimuli have room, and where: the weakest always, on whichever side it is."""
    known = [(k, placed(value, scale.axis)) for k, value in enumerate(at)]
    places = [(k, scale.place(value) * width_mm) for k, value in known if math.isfinite(value)]
    found: list[tuple[int, float]] = []
    for k, place in sorted(places, key=lambda each: each[1], reverse=scale.axis.reversed):
        if not -1e-6 <= place <= width_mm + 1e-6:
            continue
        if not found or abs(place - found[-1][1]) >= pitch_mm:
            found.append((k, place))
    return found


def placed(value: float, axis: Axis) -> float:
    """Return where a stimulus stands: what has no place on a log axis, where that names it.

    Examples
    --------
    >>> axis = Axis("level", log=True, named=((0.05, "original"),))
    >>> placed(0.0, axis), placed(2.0, axis), placed(0.0, Axis("level", log=True))
    (0.05, 2.0, nan)
    """
    if value > 0 or not axis.log:
        return value
    return axis.named[0][0] if axis.named else math.nan

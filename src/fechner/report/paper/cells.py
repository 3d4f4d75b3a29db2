"""What stands in the places of a grid, and which of them belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from fechner.report.extents import Which, is_positive
from fechner.report.paper.drawing import LineStyle
from fechner.scores.panels import Panel


class Guide(NamedTuple):
    """A level to compare with, drawn across a panel."""

    value: float
    words: str
    dashes: LineStyle


@dataclass(frozen=True)
class Cell:
    """A place in the grid.

    Parameters
    ----------
    panel
        None where there is nothing to show.
    nothing
        What is said then; a place of which nothing is said stays empty.
    heading
        What panels that stand in one row have in common, such as their observer; it is written
        above them. Empty where each stands for itself.
    """

    title: str
    panel: Panel | None
    guides: tuple[Guide, ...] = ()
    nothing: str = "not measured"
    heading: str = ""

    @property
    def is_hole(self) -> bool:
        """Whether the place stays empty."""
        return self.panel is None and not self.nothing


def cells_of(heading: str, panels: Sequence[Panel], names: Sequence[str]) -> list[Cell]:
    """Return the cells of panels that belong together, in the order of the names of all."""
    own = {name_of(panel): panel for panel in panels}
    if len(own) == len(panels) and set(own) <= set(names):
        return [Cell(name, own.get(name), nothing="", heading=heading) for name in names]
    return [Cell(name_of(panel), panel, heading=heading) for panel in panels]


def name_of(panel: Panel) -> str:
    """Return what a panel is called beside others of its kind."""
    return panel.name or panel.title


def in_rows(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return cells that have a heading in common together, all as many, with holes at the end."""
    rows = [list(found) for _, found in groupby(cells, key=lambda cell: cell.heading)]
    most = max(map(len, rows))
    return [
        [*row, *[Cell("", None, nothing="", heading=row[0].heading)] * (most - len(row))]
        for row in rows
    ]


def each_by_itself(cells: Sequence[Cell]) -> list[Cell]:
    """Return cells without headings: these are part of their titles."""
    return [
        replace(cell, title=": ".join(filter(None, (cell.heading, cell.title))), heading="")
        for cell in cells
        if not cell.is_hole
    ]


def with_same_axes(cells: Sequence[Cell]) -> list[Cell]:
    """Make an axis logarithmic on all panels if it is on one and can be on all."""
    both: tuple[Which, Which] = ("x", "y")
    for which in both:
        panels = [cell.panel for cell in cells if cell.panel is not None]
        for label in {getattr(panel, which).label for panel in panels}:
            same = [panel for panel in panels if getattr(panel, which).label == label]
            several = len({getattr(panel, which).log for panel in same}) > 1
            if several and all(is_positive(panel, which) for panel in same):
                cells = [_with_log(cell, which, label) for cell in cells]
    return list(cells)


def _with_log(cell: Cell, which: str, label: str) -> Cell:
    if cell.panel is None or getattr(cell.panel, which).label != label:
        return cell
    axis = replace(getattr(cell.panel, which), log=True)
    return replace(cell, panel=replace(cell.panel, **{which: axis}))

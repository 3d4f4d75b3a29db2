"""Where panels stand on a page, in millimetres: labels are measured, so nothing overlaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fechner.report.paper.lettering import LINE_MM
from fechner.report.paper.scales import Scale, Ticks
from fechner.report.paper.style import HEIGHT_MM, check_columns

#: Ticks with the space to their labels; space between axes; at the edges of the figure.
_TICK_MM, _BETWEEN_MM, _EDGE_MM = 1.7, 2.5, 1.0
#: The smallest axes in which there is anything to see, and the highest.
_NARROWEST_MM, _LOWEST_MM, _HIGHEST_MM = 19.0, 14.0, 70.0
#: About what stands left of axes.
_LEFT_MM = 14.0
#: Panels beside each other, before smaller ones are tried: whatever leaves the fewest holes.
_PREFERRED = {1: (2,), 2: (4, 3)}
#: Panels that belong together may be flatter than others, since they fill a row, and less high.
_FLATTEST, _HIGHEST_IN_ROWS_MM = 0.4, 45.0


class Room(NamedTuple):
    """What stands above every panel, below all of them, and right of them, in mm."""

    header: float
    footer: float
    right: float = 0.0


class Grid(NamedTuple):
    """So many axes beside each other and in rows, each about so large."""

    across: int
    rows: int
    width_mm: float
    height_mm: float


def choose_grid(n: int, columns: int, room: Room) -> Grid | None:
    """Return the grid with the largest panels that fits on a page, None if there is none.

    Examples
    --------
    >>> choose_grid(6, 2, Room(4, 12))[:2], choose_grid(30, 2, Room(4, 12))[:2]
    ((3, 2), (5, 6))
    """
    preferred = _PREFERRED[columns]
    first = n if n <= max(preferred) else min(preferred, key=lambda across: -n % across)
    for across in range(max(first, 1), n + 1):
        width = (check_columns(columns) - _LEFT_MM - room.right) / across - _BETWEEN_MM
        rows = math.ceil(n / across)
        height = (HEIGHT_MM - room.footer) / rows - room.header
        if width < _NARROWEST_MM:
            return None
        if height >= max(_LOWEST_MM, min(0.75 * width, _HIGHEST_MM)):
            return Grid(across, rows, width, min(0.8 * width, height, _HIGHEST_MM))
    return None


def choose_rows(n: int, block: int, columns: int, room: Room) -> Grid | None:
    """Return the grid in which panels that belong together stand in one row, None if none fits.

    Parameters
    ----------
    n
        How many blocks there are.
    block
        How many panels belong together; as few blocks as can be stand beside each other.

    Examples
    --------
    >>> choose_rows(3, 2, 2, Room(8, 12))[:2], choose_rows(7, 2, 2, Room(8, 12))[:2]
    ((2, 3), (4, 4))
    """
    for beside in range(1, n + 1):
        across, rows = beside * block, math.ceil(n / beside)
        width = (check_columns(columns) - _LEFT_MM - room.right) / across - _BETWEEN_MM
        height = (HEIGHT_MM - room.footer) / rows - room.header
        if width < _NARROWEST_MM:
            return None
        if height >= max(_LOWEST_MM, _FLATTEST * width):
            return Grid(across, rows, width, min(0.8 * width, height, _HIGHEST_IN_ROWS_MM))
    return None


@dataclass(frozen=True)
class Side:
    """One axis of a panel as it is labelled.

    Parameters
    ----------
    labelled
        Whether its ticks have labels.
    words
        What it shows, where that is not said once for all panels.
    strip_mm
        Room between the labels of its ticks and its words.
    """

    scale: Scale
    ticks: Ticks
    labelled: bool
    words: str = ""
    strip_mm: float = 0.0

    @property
    def numbers_mm(self) -> float:
        """How far the labels of its ticks reach below a horizontal axis."""
        return _TICK_MM + self.ticks.depth_mm if self.labelled else 0.6

    @property
    def lines_mm(self) -> float:
        """Height of its words."""
        return lines_mm(self.words)


def lines_mm(words: str) -> float:
    """Return the height of words that stand beside an axis."""
    return (words.count("\n") + 1) * LINE_MM + 0.6 if words else 0.0


@dataclass(frozen=True)
class Layout:
    """A page: the places of axes (left, bottom, width, height), and of words for all of them.

    Parameters
    ----------
    title_mm
        Room for the title of each panel: up to the next.
    """

    height_mm: float
    axes: tuple[tuple[float, float, float, float], ...]
    title_mm: tuple[float, ...]
    words_bottom_mm: float


def lay_out(
    sides: Sequence[tuple[Side, Side] | None],
    grid: Grid,
    width_mm: float,
    room: Room,
    words: tuple[str, str],
    key_mm: float,
    headers: Sequence[float] = (),
    beside_mm: float = 0.0,
) -> Layout:
    """Return where everything stands.

    Parameters
    ----------
    sides
        Both axes of every panel, None where there is nothing to show.
    words
        What all horizontal and all vertical axes show, where it is the same.
    key_mm
        Height of the legend.
    headers
        What stands above each row, where that is less than there is room for.
    beside_mm
        The least room left of the first axes.
    """
    headers = headers or [room.header] * grid.rows
    before = [
        max((_left_of(y) for _, y in filter(None, sides[k :: grid.across])), default=0.0)
        for k in range(grid.across)
    ]
    below = [
        max((_below(x) for x, _ in filter(None, _row(sides, k, grid))), default=0.0)
        for k in range(grid.rows)
    ]
    left = _EDGE_MM + lines_mm(words[1])
    beyond = [_beyond(sides[k :: grid.across], 0.9 * grid.width_mm) for k in range(grid.across)]
    gaps = [max(before[0], beyond[0][0], beside_mm - left + _EDGE_MM)]
    for k in range(1, grid.across):
        gaps.append(max(before[k] + _BETWEEN_MM, beyond[k - 1][1] + beyond[k][0] + _EDGE_MM))
    # What stands right of the last axes, with the names that reach beyond them.
    right = max(room.right, beyond[-1][1] - 1.0) + 2 * _EDGE_MM + 1.0
    width = (width_mm - left - sum(gaps) - right) / grid.across
    foot = _EDGE_MM + key_mm
    bottom = foot + lines_mm(words[0])
    rows: list[float] = []
    for k in reversed(range(grid.rows)):
        bottom += below[k]
        rows.insert(0, bottom)
        bottom += grid.height_mm + headers[k]
    if bottom + _EDGE_MM > HEIGHT_MM:
        # Labels within the grid need more room than was thought.
        lower = grid.height_mm - (bottom + _EDGE_MM - HEIGHT_MM) / grid.rows - 1e-6
        lower_grid = grid._replace(height_mm=lower)
        return lay_out(sides, lower_grid, width_mm, room, words, key_mm, headers, beside_mm)
    starts = [left + sum(gaps[: k + 1]) + k * width for k in range(grid.across)]
    ends = [*(start - _BETWEEN_MM for start in starts[1:]), starts[-1] + width]
    at = [divmod(k, grid.across) for k in range(len(sides))]
    return Layout(
        bottom + _EDGE_MM,
        tuple((starts[column], rows[row], width, grid.height_mm) for row, column in at),
        tuple(ends[column] - starts[column] for _, column in at),
        foot,
    )


def _row(
    sides: Sequence[tuple[Side, Side] | None], k: int, grid: Grid
) -> Sequence[tuple[Side, Side] | None]:
    return sides[k * grid.across : (k + 1) * grid.across]


def _beyond(column: Sequence[tuple[Side, Side] | None], room_mm: float) -> tuple[float, float]:
    """Return how far labels below axes that are so wide reach beyond them on both sides."""
    found = [x.ticks.beyond_mm(x.scale, room_mm) for x, _ in filter(None, column) if x.labelled]
    before, after = zip(*found, strict=True) if found else ((0.0,), (0.0,))
    return max(before), max(after)


def _left_of(side: Side) -> float:
    return (_TICK_MM + side.ticks.widest_mm if side.labelled else 0.6) + side.lines_mm


def _below(side: Side) -> float:
    return side.numbers_mm + side.strip_mm + side.lines_mm

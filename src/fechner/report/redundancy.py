"""Redundancy along the layers: a table, a figure for papers and a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fechner.arrays import pd
from fechner.physiology.redundancy import Redundancy, mean_interval
from fechner.report.figures import style
from fechner.report.figures.grid import Cell, draw_grid
from fechner.runs.store import write_atomically
from fechner.scores.panels import Axis, Line, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (*style.SUFFIXES, ".csv")

COLUMNS = ("layer", "px apart", "places", "picture", "channels")

#: What each kind of pairs is called in a figure.
_PAIRS = {
    "places": "one channel at two places",
    "picture": "pixels as far apart",
    "channels": "two channels at one place",
}


def rows(found: Redundancy) -> list[tuple[str, ...]]:
    """Return a table: bits per pair with 95 % intervals over photographs, a layer on each row."""
    table = []
    for each in found.layers:
        cells = []
        for kind in _PAIRS:
            value, low, high = mean_interval(getattr(each, kind))
            cells.append("" if np.isnan(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]")
        table.append((each.layer, f"{each.apart_px:.3g}", *cells))
    return table


def check_redundancy_path(path: Path | str) -> Path:
    """Return where redundancies can be written, by the suffix."""
    return style.check_path(path, SUFFIXES, "kind of file")


def write_redundancy(found: Sequence[Redundancy], path: Path | str) -> str:
    """Write a figure or a CSV file by its suffix, and say what was written."""
    path = check_redundancy_path(path)
    if path.suffix.lower() == ".csv":
        write_atomically(path, to_csv(found).encode())
        return f"{path}: {sum(len(each.layers) for each in found)} layers"
    figure = draw_redundancy(found)
    style.save(figure, path)
    return f"{path}: {style.size_in_words([figure])}"


def to_csv(found: Sequence[Redundancy]) -> str:
    """Return bits per pair as CSV: a photograph of a layer of an observer on each row."""
    frames = [
        pd.DataFrame(
            {
                "observer": each.observer,
                "layer": layer.layer,
                "apart_px": f"{layer.apart_px:g}",
                "photograph": each.photographs,
                **{kind: getattr(layer, kind) for kind in _PAIRS},
            }
        )
        for each in found
        for layer in each.layers
    ]
    text: str = pd.concat(frames).to_csv(index=False, lineterminator="\n", float_format="%.6g")
    return text


def draw_redundancy(found: Sequence[Redundancy], columns: int = 2, dpi: float = 300.0) -> Figure:
    """Draw redundancy by layer, a panel for each observer."""
    with style.paper_style():
        return draw_grid([Cell(each.observer, _panel(each)) for each in found], columns, dpi)


def _panel(found: Redundancy) -> Panel:
    x = np.arange(float(len(found.layers)))
    lines = []
    for number, (kind, name) in enumerate(_PAIRS.items()):
        y, low, high = np.array([mean_interval(getattr(each, kind)) for each in found.layers]).T
        if np.isfinite(y).any():
            lines.append(Line(x, y, name, group=number, low=low, high=high))
    return Panel(
        "redundancy",
        "Redundancy by layer",
        Axis("layer", ticks=tuple(each.layer for each in found.layers)),
        Axis("mutual information (bits per pair)"),
        tuple(lines),
        groups="pairs",
    )

"""Redundancy along the layers: a table, a figure for papers and a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import UnknownNameError
from fechner.physiology.redundancy import Estimate, LayerRedundancy, Redundancy, mean_interval
from fechner.report.figures.grid import Cell, draw_grid
from fechner.report.figures.style import SUFFIXES as FIGURES
from fechner.report.figures.style import paper_style, save
from fechner.runs.store import write_atomically
from fechner.scores.panels import Axis, Line, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (*FIGURES, ".csv")

COLUMNS = ("layer", "px apart", "places", "picture", "channels")


def rows(found: Redundancy) -> list[tuple[str, ...]]:
    """Return a table: bits per pair with 95 % intervals over photographs, a layer on each row."""
    return [
        (
            each.layer,
            f"{each.apart_px:.3g}",
            *(_in_words(mean_interval(v)) for v in (each.places, each.picture, each.channels)),
        )
        for each in found.layers
    ]


def _in_words(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return ""
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def check_redundancy_path(path: Path | str) -> Path:
    """Return where redundancies can be written, by the suffix."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        known = f"'{path}' should end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise UnknownNameError("kind of file", path.suffix, SUFFIXES, known)
    return path


def write_redundancy(found: Sequence[Redundancy], path: Path | str) -> str:
    """Write a figure or a CSV file by its suffix, and say what was written."""
    path = check_redundancy_path(path)
    if path.suffix.lower() == ".csv":
        write_atomically(path, to_csv(found).encode())
        return f"{path}: {sum(len(each.layers) for each in found)} layers"
    figure = draw_redundancy(found)
    save(figure, path)
    width, height = (round(float(side) * 25.4) for side in figure.get_size_inches())
    return f"{path}: {width} x {height} mm"


def to_csv(found: Sequence[Redundancy]) -> str:
    """Return bits per pair as CSV: a photograph of a layer of an observer on each row."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ("observer", "layer", "apart_px", "photograph", "places", "picture", "channels")
    )
    for each, layer in [(one, layer) for one in found for layer in one.layers]:
        for k, name in enumerate(each.photographs):
            values = (layer.places[k], layer.picture[k], layer.channels[k])
            known = ("" if np.isnan(value) else f"{value:.6g}" for value in values)
            writer.writerow((each.observer, layer.layer, f"{layer.apart_px:g}", name, *known))
    return file.getvalue()


def draw_redundancy(found: Sequence[Redundancy], columns: int = 2, dpi: float = 300.0) -> Figure:
    """Draw redundancy by layer, a panel for each observer."""
    with paper_style():
        return draw_grid([Cell(each.observer, _panel(each)) for each in found], columns, dpi)


def _panel(found: Redundancy) -> Panel:
    return Panel(
        "redundancy",
        "Redundancy by layer",
        Axis("layer", ticks=tuple(each.layer for each in found.layers)),
        Axis("mutual information (bits per pair)"),
        tuple(_lines(found.layers)),
        groups="pairs",
    )


def _lines(layers: Sequence[LayerRedundancy]) -> Iterator[Line]:
    x = np.arange(float(len(layers)))
    series = {
        "one channel at two places": [each.places for each in layers],
        "pixels as far apart": [each.picture for each in layers],
        "two channels at one place": [each.channels for each in layers],
    }
    for number, (name, values) in enumerate(series.items()):
        estimates = np.array([mean_interval(each) for each in values])
        if np.isfinite(estimates[:, 0]).any():
            y, low, high = estimates.T
            yield Line(x, y, name, group=number, low=low, high=high)

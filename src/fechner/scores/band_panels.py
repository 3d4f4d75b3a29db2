"""Panels of recognition by band: sensitivity, accuracy under noise, accuracy under suppression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.band_robustness import BandAccuracy, Changes
from fechner.scores.bootstrap import around
from fechner.scores.panels import Axis, Line, Panel
from fechner.scores.sensitivity_of_bands import log_sensitivity

if TYPE_CHECKING:
    import xarray as xr

_FREQUENCY = Axis("spatial frequency (cpd)", log=True)
_KINDS = {"noise": "accuracy with noise", "suppressed": "accuracy without a band"}
_TITLES = {
    "noise": "Accuracy with noise in one band",
    "suppressed": "Accuracy with one band suppressed",
}


class BandPanels:
    """Draws what a scorer found.

    Parameters
    ----------
    scorer
        The one whose accuracies are shown.
    """

    def __init__(self, scorer: BandAccuracy) -> None:
        self.scorer = scorer

    def __call__(self, experiment: Any, data: xr.Dataset, *others: Any) -> list[Panel]:
        """Return sensitivity, where known, and the change of accuracy by each kind, noise first."""
        detection, other = (*others, None, None)[:2]
        layer, readout = str(data["layer"].values), str(data["readout"].values)
        parts = [data]
        if other is not None:
            other = other if not other["layer"].ndim else other.sel(layer=layer, readout=readout)
            parts.append(other)
        found = sorted((Changes(part) for part in parts), key=lambda each: each.kind)
        panels = [_panel(each) for each in found]
        return [*self._sensitivity(detection, found[0], layer, readout), *panels]

    def _sensitivity(self, detection: Any, found: Changes, layer: str, readout: str) -> list[Panel]:
        if detection is None:
            return []
        known = log_sensitivity(self.scorer.sensitivity, detection, found.bands_cpd, layer, readout)
        there = np.isfinite(known.value)
        if not there.any():
            return []
        low, high = np.percentile(known.draws[:, there], (2.5, 97.5), axis=0)
        line = Line(
            found.bands_cpd[there],
            10 ** known.value[there],
            "observer",
            low=10**low,
            high=10**high,
        )
        return [
            Panel(
                "csf of bands",
                "Contrast sensitivity at the centres of bands",
                _FREQUENCY,
                Axis("sensitivity (1 / RMS contrast)", log=True),
                (line,),
            )
        ]


def _panel(found: Changes) -> Panel:
    """Return the change of accuracy by band, a line for each RMSE, and that of guessing."""
    lines = []
    for level, rmse in enumerate(found.rmse):
        there = np.asarray(np.isfinite(found.changes[:, level]).any(axis=1))
        if not there.any():
            continue
        alone = np.arange(len(found.rmse)) == level
        change = found.averaged(there, alone)
        others = found.averaged(there, alone, found.counts)
        ends = [
            around(float(value), others[:, band], len(found.names))
            for band, value in enumerate(change)
        ]
        low, high = np.array(ends).T
        lines.append(
            Line(
                found.bands_cpd[there],
                change,
                f"RMSE {rmse:g}",
                group=level,
                low=low,
                high=high,
                doubtful=~found.enough[there, level],
            )
        )
    edges = found.bands_cpd[[0, -1]]
    guessing = np.full(2, found.chance - found.accuracy)
    lines.append(Line(edges, guessing, "guessing", group=len(found.rmse)))
    return Panel(
        _KINDS[found.kind],
        _TITLES[found.kind],
        _FREQUENCY,
        Axis("change of accuracy"),
        tuple(lines),
        groups="lines",
    )

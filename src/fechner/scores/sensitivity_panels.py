"""Panels of questions in words: the sensitivity curve, and the psychometric functions behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import Asking
from fechner.experiments.tasks import ABSCISSAE
from fechner.scores.panels import Axis, Floats, Line, Panel, Points, Surface
from fechner.scores.sensitivity import ContrastSensitivity
from fechner.scores.thresholds import Thresholds

if TYPE_CHECKING:
    import xarray as xr

#: Contrasts at which a fitted curve is drawn.
_DRAWN = 60


class SensitivityPanels:
    """Draws what a scorer found.

    Parameters
    ----------
    scorer
        The one whose thresholds are shown.
    """

    def __init__(self, scorer: ContrastSensitivity) -> None:
        self.scorer = scorer

    def __call__(self, experiment: Asking, data: xr.Dataset) -> list[Panel]:
        """Return the curve, the share of yes over the plane, and one panel for each abscissa."""
        found = self.scorer.measured(data)
        over = ABSCISSAE[experiment.task.over].label
        plane = [_plane(found, over)] if _is_full(found) else []
        return [self._curve(found, over), *plane, *_functions(found)]

    def _curve(self, found: Thresholds, over: str) -> Panel:
        own = self.scorer.curve(found)
        low, high = self.scorer.band(found)
        known = np.isfinite(own)
        unsure = (found.censored != "").mean(axis=1) >= 0.5
        marks: list[Line | Points] = [
            Line(found.abscissae, 1 / found.human, "Standard Spatial Observer", human=True),
            Line(found.abscissae, 1 / found.castle, "castleCSF", human=True, group=1),
            Line(
                found.abscissae[known],
                own[known],
                "observer",
                low=low[known],
                high=high[known],
                doubtful=(unsure | ~found.usable)[known],
            ),
        ]
        if found.log10.shape[1] > 1:
            x = np.broadcast_to(found.abscissae[:, None], found.log10.shape)
            there = np.isfinite(found.log10)
            marks.append(Points(x[there], 10 ** -found.log10[there], "single prompts"))
        return Panel(
            "csf",
            "Contrast sensitivity",
            Axis(over, log=True),
            Axis("sensitivity (1 / RMS contrast)", log=True),
            tuple(marks),
        )


def _is_full(found: Thresholds) -> bool:
    """Whether every contrast was shown at every abscissa."""
    return bool((found.n.sum(axis=1) > 0).all())


def _plane(found: Thresholds, over: str) -> Panel:
    seen = found.contrasts.min(axis=0) > 0
    share = found.k.sum(axis=1) / found.n.sum(axis=1)
    return Panel(
        "share of yes",
        "Share of yes over the whole plane",
        Axis(over, log=True),
        Axis("RMS contrast", log=True),
        (
            Surface(
                found.abscissae,
                found.contrasts[:, seen].mean(axis=0),
                share[:, seen],
                label="share of yes",
                criterion=0.5,
            ),
            Line(found.abscissae, found.human, "people", human=True),
        ),
    )


def _functions(found: Thresholds) -> list[Panel]:
    """Return the share of yes over contrast with the fitted curve, pooled over prompts."""
    panels = []
    for point, x in enumerate(found.abscissae):
        n, k = found.n[point].sum(axis=0), found.k[point].sum(axis=0)
        contrast = found.contrasts[point]
        shown = (n > 0) & (contrast > 0)
        marks: list[Line | Points] = [
            Points(contrast[shown], k[shown] / n[shown], "share of yes"),
        ]
        if found.fitted is not None and shown.any():
            grid = np.geomspace(contrast[shown].min(), contrast[shown].max(), _DRAWN)
            marks.append(_fitted(found, point, grid))
        at = np.nanmean(found.log10[point]) if np.isfinite(found.log10[point]).any() else np.nan
        if np.isfinite(at):
            marks.append(_upright(10**at, "threshold"))
        panels.append(
            Panel(
                "psychometric functions",
                f"{x:.3g}",
                Axis("RMS contrast", log=True),
                Axis("share of yes"),
                tuple(marks),
            )
        )
    return panels


def _fitted(found: Thresholds, point: int, grid: Floats) -> Line:
    """Return the mean over prompts of the fitted curves."""
    assert found.fitted is not None
    curve = found.fitted[point].probability(grid)
    return Line(
        grid,
        curve.probability.mean(axis=0),
        "fitted",
        low=curve.low.mean(axis=0),
        high=curve.high.mean(axis=0),
    )


def _upright(x: float, label: str) -> Line:
    return Line(np.array([x, x]), np.array([0.0, 1.0]), label, human=False, group=1)

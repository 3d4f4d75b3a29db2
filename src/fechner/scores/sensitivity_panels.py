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
        return [self._curve(found, over), *plane, _functions(found, over)]

    def _curve(self, found: Thresholds, over: str) -> Panel:
        own = self.scorer.curve(found)
        low, high = self.scorer.band(found)
        known = np.isfinite(own)
        unsure = (found.censored != "").mean(axis=1) >= 0.5
        marks: list[Line | Points] = [
            Line(found.abscissae, 1 / found.human, "Standard Spatial Observer", human=True),
            Line(found.abscissae, 1 / found.castle, "people by castleCSF", group=1),
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
            marks.append(Points(x[there], 10 ** -found.log10[there], "single prompts", group=2))
        return Panel(
            "csf",
            "Contrast sensitivity",
            Axis(over, log=True),
            Axis("sensitivity (1 / RMS contrast)", log=True),
            tuple(marks),
            groups="curves",
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


def _functions(found: Thresholds, over: str) -> Panel:
    """Return the share of yes over contrast, and the fitted curves, over all prompts."""
    marks: list[Line | Points] = []
    for point, x in enumerate(found.abscissae):
        n, k = found.n[point].sum(axis=0), found.k[point].sum(axis=0)
        contrast = found.contrasts[point]
        shown = (n > 0) & (contrast > 0)
        if not shown.any():
            continue
        marks.append(Points(contrast[shown], k[shown] / n[shown], group=point))
        if found.fitted is not None:
            grid = np.geomspace(contrast[shown].min(), contrast[shown].max(), _DRAWN)
            marks.append(_fitted(found, point, grid, f"{x:.3g}"))
    return Panel(
        "psychometric functions",
        "Share of yes over contrast",
        Axis("RMS contrast", log=True),
        Axis("share of yes"),
        tuple(marks),
        groups=over,
        stimuli=False,
    )


def _fitted(found: Thresholds, point: int, grid: Floats, label: str) -> Line:
    """Return the mean over prompts of the fitted curves."""
    assert found.fitted is not None
    curve = found.fitted[point].probability(grid)
    return Line(grid, curve.probability.mean(axis=0), label, group=point)

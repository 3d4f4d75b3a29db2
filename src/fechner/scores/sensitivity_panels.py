"""Panels of questions in words: sensitivity, the functions behind it, d', and wording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import Asking
from fechner.experiments.abscissae import abscissa
from fechner.scores.detectability import CONTRASTS, d_prime_of, hits_at
from fechner.scores.panels import Axis, Bars, Line, Panel, Points, Surface
from fechner.scores.rates import wilson
from fechner.scores.sensitivity import ContrastSensitivity
from fechner.scores.thresholds import Thresholds

if TYPE_CHECKING:
    import xarray as xr

#: Contrasts at which a fitted curve is drawn.
_DRAWN = 60

#: What is drawn of how answers depend on wording, by the names of scores, and where.
_WORDING = {
    "prompt-entropy": "entropy",
    "prompt-consistency": "consistency",
    "draw-consistency": "between draws",
}
_WHERE = {"": "all", "-near": "near threshold"}


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
        """Return the curve, the plane, psychometric functions, d', and the effect of wording."""
        found = self.scorer.measured(data)
        over = abscissa(experiment.task.over).label
        said = "share of yes" if self.scorer.guess is None else "share of right answers"
        # Half of what can be detected, above guessing.
        half = (1 + (self.scorer.guess or 0.0)) / 2
        return [
            self._curve(experiment, found, over),
            *([_plane(found, over, said, half)] if _is_full(found) else []),
            *self._functions(found, abscissa(experiment.task.over).unit, said, half),
            *self._d_prime(found, over),
            *self._wording(found),
        ]

    def _curve(self, experiment: Asking, found: Thresholds, over: str) -> Panel:
        low, high = self.scorer.band(found)
        known = np.isfinite(found.curve.log10)
        marks: list[Line | Points] = [
            Line(found.abscissae, 1 / thresholds, getattr(people, "name", "people"), n, human=True)
            for n, people, thresholds in (
                (1, experiment.human, found.human),
                (2, experiment.task.human, found.castle),
            )
            if people is not None
        ]
        if found.log10.shape[1] > 1:
            x = np.broadcast_to(found.abscissae[:, None], found.log10.shape)
            there = np.isfinite(found.log10) & (found.censored == "")
            marks.append(Points(x[there], 10 ** -found.log10[there], "single prompts"))
        marks.append(
            Line(
                found.abscissae[known],
                10 ** found.curve.log10[known],
                "observer",
                low=low[known],
                high=high[known],
                doubtful=~found.known[known],
            )
        )
        return Panel(
            "csf",
            "Contrast sensitivity",
            Axis(over, log=True),
            Axis("sensitivity (1 / RMS contrast)", log=True),
            tuple(marks),
            groups="curves",
        )

    def _functions(self, found: Thresholds, unit: str, said: str, half: float) -> Iterator[Panel]:
        """Yield a panel for each abscissa: answers over contrast, and the function fitted to them.

        All prompts are taken together, in the points, in the function and in its threshold.
        """
        for point, x in enumerate(found.abscissae):
            n, k = found.n[point].sum(axis=0), found.k[point].sum(axis=0)
            contrast = found.contrasts[point]
            shown = (n > 0) & (contrast > 0)
            if not shown.any():
                continue
            n, k, contrast = n[shown], k[shown], contrast[shown]
            grid = np.geomspace(contrast.min(), contrast.max(), _DRAWN)
            fitted = self.scorer.pooled(found, point, grid)
            ends = np.array([wilson(*each) for each in zip(k, n, strict=True)]).T
            edge = contrast[[contrast.argmin(), contrast.argmax()]]
            names = tuple(f"{yes:.4g} of {asked:g}" for yes, asked in zip(k, n, strict=True))
            yield Panel(
                "psychometric functions",
                f"{said.capitalize()} over contrast",
                Axis("RMS contrast", log=True),
                Axis(said, low=0.0, high=1.0),
                (
                    Line(edge, np.full(2, half), f"{half:g}", group=1, style="guide"),
                    Points(contrast, k / n, "answers", low=ends[0], high=ends[1], names=names),
                    Line(grid, fitted.probability, "fit", low=fitted.low, high=fitted.high),
                ),
                stimuli=False,
                name=f"{x:.3g}{unit}",
            )

    def _d_prime(self, found: Thresholds, over: str) -> list[Panel]:
        """Return d' over the abscissa, a line for each of the stated contrasts."""
        lines = []
        for number, contrast in enumerate(CONTRASTS):
            hits, signals = hits_at(found, contrast)
            there = np.flatnonzero(found.shown & (signals.sum(axis=1) > 0))
            own = [d_prime_of(found, hits[p], signals[p], self.scorer.guess) for p in there]
            value, low, high = np.array([each[:3] for each in own]).reshape(-1, 3).T
            known = np.isfinite(value)
            if known.any():
                x, label = found.abscissae[there][known], f"{contrast:g}"
                ends = {"low": low[known], "high": high[known]}
                lines.append(Line(x, value[known], label, group=number, **ends))
        if not lines:
            return []
        axes = Axis(over, log=True), Axis("d'")
        title = "How well something is told from nothing"
        return [Panel("d-prime", title, *axes, tuple(lines), groups="RMS contrast", ordered=True)]

    def _wording(self, found: Thresholds) -> list[Panel]:
        """Return entropy and consistency over prompts, everywhere and near threshold, as bars."""
        every = self.scorer.wording(found)
        scores = {score.name: score for score in every if np.isfinite(score.value)}
        bars = []
        for group, (end, label) in enumerate(_WHERE.items()):
            own = [(at, scores.get(f"{name}{end}")) for at, name in enumerate(_WORDING)]
            there = [(at, score) for at, score in own if score is not None]
            if there:
                x, y, low, high = np.array([(at, s.value, s.low, s.high) for at, s in there]).T
                bars.append(Bars(x, y, low, high, label, group))
        if not bars:
            return []
        return [
            Panel(
                "wording",
                "How much answers depend on the wording of the question",
                Axis("", ticks=tuple(_WORDING.values())),
                Axis("entropy, or consistency"),
                tuple(bars),
                groups="contrasts",
                stimuli=False,
            )
        ]


def _is_full(found: Thresholds) -> bool:
    """Whether every contrast was shown at every abscissa."""
    return bool((found.n.sum(axis=1) > 0).all())


def _plane(found: Thresholds, over: str, said: str, half: float) -> Panel:
    seen = found.contrasts.min(axis=0) > 0
    share = found.k.sum(axis=1) / found.n.sum(axis=1)
    return Panel(
        said,
        f"{said.capitalize()} over the whole plane",
        Axis(over, log=True),
        Axis("RMS contrast", log=True),
        (
            Surface(
                found.abscissae,
                found.contrasts[:, seen].mean(axis=0),
                share[:, seen],
                label=said,
                criterion=half,
            ),
            Line(found.abscissae, found.human, "people", human=True),
        ),
    )

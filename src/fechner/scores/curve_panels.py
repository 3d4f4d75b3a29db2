"""Panels of curves: responses over the abscissa, people's dashed, on one scale for all.

Where stimuli are drawn at random, bands are 95 % intervals of the mean over draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import Curves, NoiseCurves
from fechner.scores.curve_set import CurveSet, curves_of, draws_resampled
from fechner.scores.panels import Axis, Line, Palette, Panel
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

#: Channels in the order of their colours.
_CHANNELS = ("ach", "rg", "yb")


@dataclass(frozen=True)
class CurvePanels:
    """Makes a panel for each group of curves.

    Parameters
    ----------
    log
        Whether both axes are logarithmic, as of sensitivities.
    elevation
        Whether curves are shown as threshold elevations, in their own units.
    """

    log: bool = False
    elevation: bool = False

    def __call__(self, experiment: Curves, data: xr.Dataset) -> list[Panel]:
        """Return the panels of one layer and read-out."""
        curves, drawn = curves_of(data), draws_resampled(data)
        if self.elevation:
            curves, drawn = curves.elevations(), drawn.elevations()
        # Elevations have a scale of their own.
        scale = 1.0 if self.elevation else _scale(curves)
        error = _error(drawn.response, data.sizes["seed"])
        return [
            self._panel(experiment, curves, error, curves.group == group, scale)
            for group in dict.fromkeys(curves.group)
        ]

    def _panel(
        self,
        experiment: Curves,
        curves: CurveSet,
        error: NDArray[np.float64] | None,
        rows: NDArray[np.bool_],
        scale: float,
    ) -> Panel:
        channels = dict.fromkeys(curves.channel[rows])
        several = len(channels) > 1
        places, palette = self._colours(curves, rows)
        # People are drawn where an observer is compared with them; alone, if there is nothing else.
        answered = np.asarray(np.isfinite(curves.response).any(axis=1))
        compared = answered if answered[rows].any() else rows
        lines: list[Line] = []
        # In the order of their colours.
        for number, row in sorted(zip(places, np.flatnonzero(rows), strict=True)):
            name = DIRECTION_NAMES[curves.channel[row]] if several else curves.condition[row]
            response, human = curves.response[row], scale * curves.human[row]
            if answered[row]:
                low, high = (None, None) if error is None else self._band(response, error[row])
                own = self._drawn(response)
                lines.append(
                    Line(curves.abscissae, own, name, group=int(number), low=low, high=high)
                )
            if compared[row] and np.isfinite(human).any():
                lines.append(
                    Line(curves.abscissae, self._drawn(human), name, group=int(number), human=True)
                )
        of = _name(experiment, curves.group[rows][0])
        what = "Threshold elevation by adaptation" if self.elevation else "Response"
        return Panel(
            "elevations" if self.elevation else "curves",
            f"{what}, {of}" if of else what,
            Axis(experiment.task.label, log=self.log or self.elevation),
            Axis(
                "threshold elevation (factor - 1)" if self.elevation else "response", log=self.log
            ),
            tuple(lines),
            groups="channel" if several else "condition",
            ordered=not several,
            palette=palette,
            row=self._row(experiment, curves, rows),
            name=of,
        )

    def _row(self, experiment: Curves, curves: CurveSet, rows: NDArray[np.bool_]) -> int:
        """Return which row of the samples stands for a group: its first curve that people have."""
        # A gallery, and curves that show the same, have other rows.
        if len(experiment.samples()) != len(rows):
            return 0
        known = rows & np.isfinite(curves.human).any(axis=1)
        return int(np.flatnonzero(known if known.any() else rows)[0])

    def _colours(
        self, curves: CurveSet, rows: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], Palette]:
        """Return the place of each curve in the order of colours, and what these stand for.

        As in Vila-Tomás et al. (2026): from the curve that should lie highest to the lowest, where
        that is the same everywhere; curves of one rank have one colour.
        """
        channel, level, ideal = curves.channel[rows], curves.level[rows], curves.ideal[rows]
        if len(set(channel)) > 1:
            return np.array([_CHANNELS.index(each) for each in channel]), "channels"
        if self.elevation:
            return _ranks(level), "adaptors"
        # A curve without a place is shown on nothing: what the others are held against.
        ranked = np.isfinite(ideal).any(axis=1)
        place = np.where(ranked, np.where(np.isnan(ideal), -np.inf, ideal).max(axis=1), np.inf)
        fixed = (np.isnan(ideal) | (ideal == place[:, None])).all() and len(set(place)) > 1
        if not fixed:
            return _ranks(level), ""
        both_sides = level.min() < 0 < level.max()
        sides: dict[str, Palette] = {"rg": "red-green", "yb": "yellow-blue"}
        return _ranks(-place), sides.get(channel[0], "adaptors") if both_sides else "adaptors"

    def _band(
        self, values: NDArray[np.float64], error: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return both ends of an interval, on the scale of the axis."""
        if not self.log:
            least = 0.0 if self.elevation else -np.inf
            return np.maximum(values - error, least), values + error
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            factor = np.exp(error / values)
        return self._drawn(values / factor), self._drawn(values * factor)

    def _drawn(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(values > 0, values, np.nan) if self.log else values


def _name(experiment: Curves, group: str) -> str:
    """Return what a group is called, with the frequency of its tests where they have but one."""
    if group in DIRECTION_NAMES:
        return DIRECTION_NAMES[group]
    task = experiment.task
    if not isinstance(task, NoiseCurves) or task.over == "frequency_cpd":
        return group
    cpd = {condition.frequency_cpd for condition in task.conditions if condition.group == group}
    return f"{group}: {cpd.pop():g} cpd" if group and len(cpd) == 1 else group


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return places from the smallest on, equal ones for equal values."""
    return np.unique(values, return_inverse=True)[1]


def _error(drawn: NDArray[np.float64], draws: int) -> NDArray[np.float64] | None:
    """Return how far 95 % intervals of a mean over draws go to either side; None without draws.

    Parameters
    ----------
    drawn
        Curves on bootstrap samples of the draws, [curves, samples, abscissae].
    """
    from scipy.special import stdtrit

    if draws < 2:
        return None
    error = drawn.std(axis=1) * np.sqrt(draws / (draws - 1))
    return np.asarray(float(stdtrit(draws - 1, 0.975)) * error)


def _scale(curves: CurveSet) -> float:
    """Return the factor that brings people's curves closest to the responses."""
    both = np.isfinite(curves.human) & np.isfinite(curves.response)
    human, response = curves.human[both], curves.response[both]
    square = float(human @ human)
    factor = float(human @ response) / square if square else 1.0
    # Of curves that go the other way, at least the size is shown.
    if factor > 0:
        return factor
    return float(np.sqrt((response @ response) / square)) if square else 1.0

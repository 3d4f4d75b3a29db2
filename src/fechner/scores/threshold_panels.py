"""Panels of experiments near threshold: the response surface, and responses at the human curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import NearThreshold
from fechner.experiments.abscissae import abscissa, is_log
from fechner.scores.alignment import criterion
from fechner.scores.panels import Axis, Floats, Line, Panel, Points, Surface, spans_decades

if TYPE_CHECKING:
    import xarray as xr


def threshold_panels(experiment: NearThreshold, data: xr.Dataset) -> list[Panel]:
    """Return the surface, where it was measured, and responses over multiples of the threshold.

    Without human thresholds there is the surface alone.
    """
    panels = [_surface(experiment, data)] if "surface" in data else []
    return [*panels, _responses(experiment, data)] if "response" in data else panels


def _surface(experiment: NearThreshold, data: xr.Dataset) -> Panel:
    task = experiment.task
    ordinate = _Ordinate(task.detects, experiment.unit_name)
    responses = data["surface"].values
    surface = Surface(
        data["surface_abscissa"].values,
        ordinate(data["surface_contrast"].values),
        responses,
        log=spans_decades(responses),
        doubtful=data["surface_flags"].values > 0,
        criterion=criterion(data),
    )
    human = [
        Line(x.values, ordinate(data["human_threshold"].values), "people", human=True)
        for x in ([data["abscissa"]] if "human_threshold" in data else [])
    ]
    return Panel(
        "surface",
        f"Response over the whole plane{_blank(responses)}",
        Axis(abscissa(task.over).label, log=is_log(surface.x)),
        Axis(ordinate.label, log=True),
        (surface, *human),
    )


def _blank(responses: Floats) -> str:
    """Say what blank cells of a surface mean, if there are any."""
    undefined = int(np.isnan(responses).sum())
    cells = f"{undefined} of {responses.size} cells"
    return f"; blank: the read-out is undefined in {cells}, use --readout l2" if undefined else ""


class _Ordinate:
    """Contrast, or sensitivity where a target is detected on nothing."""

    def __init__(self, detects: bool, unit: str) -> None:
        self.detects = detects
        self.label = f"sensitivity (1 / {unit} contrast)" if detects else f"contrast ({unit})"

    def __call__(self, contrast: Floats) -> Floats:
        return 1 / contrast if self.detects else contrast


def _responses(experiment: NearThreshold, data: xr.Dataset) -> Panel:
    responses = data["response"].values
    kept = (data["dropped"].values == 0) & np.isfinite(responses)
    ratios = np.broadcast_to(data["ratio"].values, responses.shape)
    abscissae = np.broadcast_to(data["abscissa"].values[:, None], responses.shape)
    over = abscissa(experiment.task.over).label
    return Panel(
        "responses",
        "Response at multiples of the human threshold",
        Axis("contrast over the human threshold", log=True),
        Axis("response", log=bool((responses[kept] > 0).all())),
        (
            Points(
                ratios[kept],
                responses[kept],
                colour=abscissae[kept],
                colour_axis=Axis(over, log=is_log(abscissae)),
            ),
        ),
        stimuli=False,
    )

"""Panels of matching across colour directions: lines that should be level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import ColourMatching
from fechner.scores.panels import Axis, Line, Panel, spans_decades
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    import xarray as xr


def colour_matching_panels(experiment: ColourMatching, data: xr.Dataset) -> list[Panel]:
    """Return one panel: responses to gratings that people find equal in contrast."""
    directions = [str(name) for name in data["direction"].values]
    places = np.arange(len(directions), dtype=np.float64)
    responses = data["response"].values
    known = responses[np.isfinite(responses)]
    lines: list[Line] = []
    for number, contrast in enumerate(data["contrast"].values):
        name = f"{contrast:.3g}"
        level = np.full(len(places), responses[number].mean())
        lines += [
            Line(places, level, name, group=number, human=True),
            Line(places, responses[number], name, group=number),
        ]
    return [
        Panel(
            "directions",
            "Response to contrasts that people match across colour directions",
            Axis("", ticks=tuple(DIRECTION_NAMES[name] for name in directions)),
            Axis("response", log=spans_decades(known) and bool((known > 0).all())),
            tuple(lines),
            groups="achromatic contrast",
            ordered=True,
        )
    ]

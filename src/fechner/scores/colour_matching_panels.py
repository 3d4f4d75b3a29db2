"""Panels of matching across colour directions: matches, and lines that should be level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import ColourMatching
from fechner.scores.colour_matching import colour_matches
from fechner.scores.panels import Axis, Line, Panel, spans_decades
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    import xarray as xr


def colour_matching_panels(experiment: ColourMatching, data: xr.Dataset) -> list[Panel]:
    """Return matches where they were sought, and responses to gratings that people match."""
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
        *([_matches(data)] if "sought_response" in data else []),
        Panel(
            "directions",
            "Response to contrasts that people match across colour directions",
            Axis("", ticks=tuple(DIRECTION_NAMES[name] for name in directions)),
            Axis("response", log=spans_decades(known) and bool((known > 0).all())),
            tuple(lines),
            groups="achromatic contrast",
            ordered=True,
        ),
    ]


def _matches(data: xr.Dataset) -> Panel:
    """Return the contrasts that match an achromatic one, a colour per direction, people dashed."""
    shown = data.isel(contrast=data["dropped"].values == 0)
    found, candidates = colour_matches(shown)
    contrasts, human = shown["contrast"].values, shown["human_matched"].values
    lines: list[Line] = []
    for number, direction in enumerate(shown["chromatic"].values):
        name = DIRECTION_NAMES[str(direction)]
        beyond = candidates[:, number] == 0
        lines += [
            Line(contrasts, human[:, number], name, group=number, human=True),
            Line(contrasts, found[:, number], name, group=number, doubtful=beyond),
        ]
    return Panel(
        "matches",
        "Chromatic contrast that matches an achromatic one",
        Axis("achromatic contrast (Michelson)", log=True),
        Axis("matched contrast (DKL amplitude)", log=True),
        tuple(lines),
        groups="colour direction",
    )

"""Panels of matching experiments: matched contrasts beside those that people set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fechner.experiments import FrequencyMatching
from fechner.scores.matching import matches
from fechner.scores.panels import Axis, Line, Panel

if TYPE_CHECKING:
    import xarray as xr


def matching_panels(experiment: FrequencyMatching, data: xr.Dataset) -> list[Panel]:
    """Return one panel: a colour per reference contrast, people dashed, the observer solid."""
    frequencies, references = data["frequency"].values, data["reference"].values
    found, _ = matches(data)
    human = data["human_matched"].values
    lines = [
        Line(frequencies, row, f"{contrast:.3g}", group=number, human=is_human)
        for number, contrast in enumerate(references)
        for row, is_human in ((human[number], True), (found[number], False))
    ]
    over, _ = experiment.axes
    return [
        Panel(
            "matches",
            "Contrast that matches a grating of "
            f"{experiment.reference_frequency_cpd:g} cycles/degree",
            Axis(over, log=True),
            Axis("matched contrast (michelson)", log=True),
            tuple(lines),
        )
    ]

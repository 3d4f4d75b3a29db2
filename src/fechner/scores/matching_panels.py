"""Panels of matching experiments: matched contrasts beside those that people set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import FrequencyMatching
from fechner.scores.matching import matches
from fechner.scores.panels import Axis, Line, Panel

if TYPE_CHECKING:
    import xarray as xr


def matching_panels(
    experiment: FrequencyMatching, data: xr.Dataset, gaps: bool = False
) -> list[Panel]:
    """Return one panel: a colour per reference contrast, people dashed, the observer solid.

    Parameters
    ----------
    gaps
        Whether lines are broken where nothing in the tested range matches, as the scorer may have
        it; otherwise the match is the end of the range.
    """
    frequencies, references = data["frequency"].values, data["reference"].values
    found, candidates = matches(data)
    human = data["human_matched"].values
    lines: list[Line] = []
    for number, contrast in enumerate(references):
        name = f"{contrast:.3g}"
        beyond = candidates[number] == 0
        matched = np.where(beyond, np.nan, found[number]) if gaps else found[number]
        lines += [
            Line(frequencies, human[number], name, group=number, human=True),
            Line(frequencies, matched, name, group=number, doubtful=None if gaps else beyond),
        ]
    over, _ = experiment.axes
    return [
        Panel(
            "matches",
            "Contrast that matches a grating of "
            f"{experiment.reference_frequency_cpd:g} cycles/degree",
            Axis(over, log=True),
            Axis("matched contrast (Michelson)", log=True),
            tuple(lines),
            groups="contrast of the reference",
            ordered=True,
        )
    ]

"""Panels of matching experiments: matched contrasts beside those that people set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.experiments import FrequencyMatching
from fechner.scores.matching import matches
from fechner.scores.panels import Axis, Flags, Floats, Line, Panel
from fechner.stimuli.patterns import in_words

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray


def matching_panels(
    experiment: FrequencyMatching, data: xr.Dataset, gaps: bool = False
) -> list[Panel]:
    """Return one panel: a colour per reference contrast, people dashed, the observer solid.

    Curves that were measured for figures join the matches that are scored, which are marked.

    Parameters
    ----------
    gaps
        Whether lines are broken where nothing in the tested range matches, as the scorer may have
        it; otherwise the match is the end of the range.
    """
    tested, human = data["frequency"].values, data["human_matched"].values
    frequencies, found, candidates, scored = _all_matches(data)
    lines: list[Line] = []
    for number, contrast in enumerate(data["reference"].values):
        name = f"{contrast:.3g}"
        beyond = candidates[number] == 0
        matched = np.where(beyond, np.nan, found[number]) if gaps else found[number]
        lines += [
            Line(tested, human[number], name, group=number, human=True),
            Line(
                frequencies,
                matched,
                name,
                group=number,
                doubtful=None if gaps else beyond & scored,
                marked=None if scored.all() else scored,
            ),
        ]
    over, _ = experiment.axes
    return [
        Panel(
            "matches",
            f"Contrast that matches {in_words(experiment.pattern)}",
            Axis(over, log=True),
            Axis(f"matched contrast ({experiment.unit_name})", log=True),
            tuple(lines),
            groups="contrast of the reference",
            ordered=True,
        )
    ]


def _all_matches(data: xr.Dataset) -> tuple[Floats, Floats, NDArray[np.intp], Flags]:
    """Return frequencies, matches, numbers of candidates, and which frequencies are scored.

    There is a gap at frequencies of figures that pixels cannot hold.
    """
    tested = data["frequency"].values
    found, candidates = matches(data)
    if "curve_frequency" not in data:
        return tested, found, candidates, np.ones(len(tested), bool)
    between, more = matches(data, of="curve_")
    answers = data["curve_difference" if "difference" in data else "curve_response"]
    shown = answers.notnull().any([dim for dim in answers.dims if dim != "curve_frequency"])
    frequencies = np.concatenate([tested, data["curve_frequency"].values])
    order = frequencies.argsort()
    return (
        frequencies[order],
        np.concatenate([found, np.where(shown, between, np.nan)], axis=1)[:, order],
        np.concatenate([candidates, more], axis=1)[:, order],
        (np.arange(len(frequencies)) < len(tested))[order],
    )

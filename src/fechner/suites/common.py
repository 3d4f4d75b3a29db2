"""What suites share: grids, constants, and options."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fechner.experiments import MatchBy
from fechner.suites.options import DisplayOptions, Options, option


def spaced(low: float, high: float, n: int) -> tuple[float, ...]:
    """Return values equally spaced on a logarithmic scale, both ends included.

    Examples
    --------
    >>> spaced(0.5, 2, 3)
    (0.5, 1.0, 2.0)
    """
    return tuple(float(value) for value in np.geomspace(low, high, n))


@dataclass(frozen=True, kw_only=True)
class MatchOptions(DisplayOptions):
    """Options of suites in which contrast is matched across frequency."""

    match: MatchBy = option(
        "response",
        help="Match contrast across frequency by equal responses against a uniform field, or by "
        "direct comparison of the gratings.",
        words="gratings matched by {}",
        text={"response": "response", "direct": "direct comparison"}.__getitem__,
        comparable=False,
    )


@dataclass(frozen=True, kw_only=True)
class PlacementOptions(Options):
    """Options of suites that choose contrasts or levels trial by trial, or show every one."""

    adaptive: bool | None = option(
        None,
        help="Choose contrasts or levels trial by trial, or show every one; the suite's own way if "
        "left out.",
        negative="constant",
        words="{}",
        text={True: "adaptive levels", False: "constant levels"}.__getitem__,
    )
    trials: int | None = option(
        None,
        help="Trials of each prompt, or of each class; with --constant, draws of each contrast.",
        low=1,
        words="{} trials",
    )
    width: float | None = option(
        None,
        help="Stop once the threshold's 95% interval is narrower than this (log10 units).",
        above=0,
        words="stopped at intervals of {} log10 units",
    )

"""Curves of responses as they are compared with people's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fechner.scores.order import EQUAL

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class CurveSet(NamedTuple):
    """Curves of one layer and read-out: responses, people's, ideal order, [curves, abscissae]."""

    abscissae: Floats
    response: Floats
    human: Floats
    ideal: Floats
    channel: NDArray[np.str_]
    condition: NDArray[np.str_]
    level: Floats
    group: NDArray[np.str_]


def curves_of(data: xr.Dataset, elevation: bool = False, floor: float = 0.0) -> CurveSet:
    """Return the curves of one layer and read-out: means over draws, NaN where not shown."""
    kept = data["dropped"].values == 0
    response = np.where(kept, data["response"].mean("seed").values, np.nan)
    found = CurveSet(
        data["abscissa"].values,
        response,
        data["human"].values,
        data["ideal"].values,
        data["channel"].values.astype(str),
        data["condition"].values.astype(str),
        data["level"].values,
        data["group"].values.astype(str),
    )
    return _as_elevations(found, floor) if elevation else found


def _as_elevations(curves: CurveSet, floor: float) -> CurveSet:
    """Compare every curve with the first: how much higher a threshold is, largest 1."""

    def elevated(values: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            raised = np.maximum(values[:1] / values[1:] - 1, 0)
        # Where there is no response at all, nothing can be said of it.
        raised = np.where(np.isfinite(raised), np.where(raised > EQUAL, raised, floor), np.nan)
        largest = np.nanmax(np.where(np.isnan(raised), 0, raised), axis=1, keepdims=True)
        return np.asarray(raised / np.where(largest > floor, largest, 1.0))

    return CurveSet(
        curves.abscissae,
        elevated(curves.response),
        elevated(curves.human),
        elevated(curves.ideal),
        curves.channel[1:],
        curves.condition[1:],
        curves.level[1:],
        curves.group[1:],
    )

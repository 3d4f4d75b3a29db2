"""Curves of responses as they are compared with people's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.scores.bootstrap import cluster_counts
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

    def rows(self, chosen: NDArray[np.bool_]) -> CurveSet:
        """Return some of the curves."""
        some: dict[str, Any] = {
            name: getattr(self, name)[chosen] for name in self._fields if name != "abscissae"
        }
        return self._replace(**some)

    def elevations(self, floor: float = 0.0, least: float = EQUAL) -> CurveSet:
        """Compare every curve with the first of its group: how much higher a threshold is.

        The response of the first over that of another, less 1. What is not above the least counts
        as the floor.
        """
        first = np.array([np.flatnonzero(self.group == group)[0] for group in self.group])
        others = first != np.arange(len(first))

        def elevated(values: Floats) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                raised = np.maximum(values[first] / values - 1, 0)
            # Where there is no response at all, nothing can be said of it.
            return np.where(np.isfinite(raised), np.where(raised > least, raised, floor), np.nan)

        return self._replace(
            response=elevated(self.response),
            human=elevated(self.human),
            ideal=elevated(self.ideal),
        ).rows(others)

    def over_largest(self) -> CurveSet:
        """Divide each curve by its largest value: what is left is its shape."""

        def shape(values: Floats) -> Floats:
            largest = np.nanmax(np.where(np.isnan(values), 0, values), axis=-1, keepdims=True)
            return np.asarray(values / np.where(largest > EQUAL, largest, 1.0))

        return self._replace(
            response=shape(self.response), human=shape(self.human), ideal=shape(self.ideal)
        )


def curves_of(data: xr.Dataset) -> CurveSet:
    """Return the curves of one layer and read-out: means over draws, NaN where not shown."""
    kept = data["dropped"].values == 0
    return CurveSet(
        data["abscissa"].values,
        np.where(kept, data["response"].mean("seed").values, np.nan),
        data["human"].values,
        data["ideal"].values,
        data["channel"].values.astype(str),
        data["condition"].values.astype(str),
        data["level"].values,
        data["group"].values.astype(str),
    )


def draws_resampled(data: xr.Dataset) -> CurveSet:
    """Return the curves on bootstrap samples of the draws: responses are [curves, samples, x].

    All curves and abscissae of a draw are taken together, since they share its noise. Samples
    follow from the number of draws alone, so that those of two observers are the same. There are
    none where nothing is drawn.
    """
    curves, draws = curves_of(data), data.sizes["seed"]
    counts = cluster_counts(draws)[: None if draws > 1 else 0]
    each = data["response"].transpose("curve", "seed", "x").values
    means = np.einsum("rs,csx->crx", counts / draws, each)
    return curves._replace(response=np.where(np.isnan(curves.response[:, None]), np.nan, means))

"""Two observers in one test: what both were asked, and the difference of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fechner.scores.bootstrap import Source, difference_interval
from fechner.scores.score import Resampled, Score, Scorer

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

#: Digits in which places on an axis are compared.
_DIGITS = 9


@dataclass(frozen=True)
class Difference:
    """How far apart two observers are in one test, on what both were asked.

    Parameters
    ----------
    first, second
        Their scores there.
    value
        The first minus the second; NaN where one of them cannot be computed.
    low, high
        95 % interval over clusters, both observers resampled together.
    p
        Of a difference at least as large if there were none; below 0.05 where the interval leaves
        out 0.
    clusters
        How many clusters both have.
    """

    first: Score
    second: Score
    value: float
    low: float
    high: float
    p: float
    clusters: int

    @property
    def favours(self) -> int:
        """Who is closer to people: 1 for the first, -1 for the second, 0 for neither."""
        sign = 1 if self.first.higher_is_better else -1
        return 0 if np.isnan(self.value) else int(np.sign(self.value)) * sign


def paired(scorer: Scorer, first: xr.Dataset, second: xr.Dataset) -> Difference:
    """Compare two observers' answers to a test, each at one layer by one read-out."""
    a, b = scorer.shared(first, second)
    return difference(scorer.resample(a), scorer.resample(b))


def difference(first: Resampled, second: Resampled) -> Difference:
    """Compare two scores that were resampled over the same clusters.

    Examples
    --------
    >>> score = Score("alignment", 0.5, 0.3, 0.7, True, best=1.0, chance=0.0, resampled="x", n=80)
    >>> draws, places = 0.1 * np.random.default_rng(0).standard_normal(1000), np.arange(8.0)
    >>> same = Resampled(score, 0.5 + draws, places, "correlation")
    >>> difference(same, same).p
    1.0
    """
    if _rounded(first.clusters).tolist() != _rounded(second.clusters).tolist():
        raise ValueError("scores of other clusters cannot be paired; use Scorer.shared.")
    values = (first.score.value, second.score.value)
    clusters = len(first.clusters)
    if np.isnan(values).any():  # nothing was resampled
        nothing = float("nan")
        return Difference(first.score, second.score, nothing, nothing, nothing, nothing, clusters)
    further = [
        Source(np.stack([a.values, b.values]), a.clusters)
        for a, b in zip(first.further, second.further, strict=True)
    ]
    low, high, p = difference_interval(
        values,
        np.stack([first.values, second.values]),
        clusters,
        first.scale,
        max(first.most, second.most),
        further,
    )
    return Difference(first.score, second.score, values[0] - values[1], low, high, p, clusters)


def in_common(first: xr.Dataset, second: xr.Dataset, **along: str) -> tuple[xr.Dataset, xr.Dataset]:
    """Leave what two data sets have in common, in the same order.

    Parameters
    ----------
    along
        The coordinate whose values are compared, for every dimension.

    Returns
    -------
    tuple of xarray.Dataset
        The data sets themselves where they have everything in common.
    """
    chosen: tuple[dict[str, NDArray[np.intp]], dict[str, NDArray[np.intp]]] = ({}, {})
    for dimension, name in along.items():
        a, b = _rounded(first[name].values), _rounded(second[name].values)
        if not np.array_equal(a, b):
            _, chosen[0][dimension], chosen[1][dimension] = np.intersect1d(
                a, b, return_indices=True
            )
    if not chosen[0]:
        return first, second
    return first.isel(chosen[0]), second.isel(chosen[1])


def _rounded(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places on an axis with rounding errors taken away."""
    return np.array([float(f"{place:.{_DIGITS}g}") for place in places])

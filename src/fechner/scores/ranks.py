"""Spearman's rank correlation for many weightings of the same points at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def weighted_ranks(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return average ranks of ``values`` when point i occurs ``weights[..., i]`` times.

    A bootstrap sample is a vector of counts, so one sort serves all samples.

    Examples
    --------
    >>> weighted_ranks(np.array([3.0, 1.0, 1.0]), np.ones(3)).tolist()
    [3.0, 1.5, 1.5]
    """
    _, group = np.unique(values, return_inverse=True)
    totals = np.zeros((*weights.shape[:-1], group.max() + 1))
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
    totals[...] = np.add.reduceat(weights[..., order], starts, axis=-1)
    below = np.cumsum(totals, axis=-1) - totals
    ranks: NDArray[np.float64] = (below + (totals + 1) / 2)[..., group]
    return ranks


class Spearman:
    """Spearman's correlation of the same x with one y after another.

    Parameters
    ----------
    weights
        How often each point occurs, [..., points]; the correlation is computed for each row.

    Examples
    --------
    >>> float(Spearman(np.array([1.0, 2.0, 3.0]))(np.array([10.0, 30.0, 20.0])))
    0.5
    """

    def __init__(self, x: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> None:
        self._weights = np.ones(x.shape) if weights is None else weights
        self._count = self._weights.sum(axis=-1, keepdims=True)
        self._x = self._centred(x)
        self._spread = (self._weights * self._x**2).sum(axis=-1)

    def _centred(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        ranks = weighted_ranks(values, self._weights)
        mean = (self._weights * ranks).sum(axis=-1, keepdims=True) / self._count
        centred: NDArray[np.float64] = ranks - mean
        return centred

    def __call__(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the correlation for each row of weights; NaN if x or y is constant."""
        centred = self._centred(y)
        weighted = self._weights * centred
        return _over(
            (weighted * self._x).sum(axis=-1), self._spread * (weighted * centred).sum(axis=-1)
        )


class SpearmanOfRows:
    """Spearman's correlation of every row of x, which has no ties, with one y after another.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    >>> SpearmanOfRows(rows)(np.array([1.0, 5.0, 9.0]))
    array([ 1., -1.])
    """

    def __init__(self, x: NDArray[np.float64]) -> None:
        self._x = np.argsort(np.argsort(x, axis=-1), axis=-1) - (x.shape[-1] - 1) / 2
        self._spread = np.square(self._x).sum(axis=-1)

    def __call__(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the correlation for each row; NaN if y is constant."""
        ranks = weighted_ranks(y, np.ones(y.shape))
        centred = ranks - ranks.mean()
        return _over(self._x @ centred, self._spread * np.square(centred).sum())


def _over(covariance: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    correlation: NDArray[np.float64] = np.divide(
        covariance,
        np.sqrt(spread),
        out=np.full(np.shape(covariance), np.nan),
        where=spread > 0,
    )
    return correlation

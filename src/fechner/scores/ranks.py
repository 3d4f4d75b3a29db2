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


def spearman(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return Spearman's correlation, for each row of ``weights``; NaN if either is constant.

    Examples
    --------
    >>> float(spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0])))
    0.5
    """
    weights = np.ones(x.shape) if weights is None else weights
    rank_x, rank_y = weighted_ranks(x, weights), weighted_ranks(y, weights)
    count = weights.sum(axis=-1, keepdims=True)
    dx = rank_x - (weights * rank_x).sum(axis=-1, keepdims=True) / count
    dy = rank_y - (weights * rank_y).sum(axis=-1, keepdims=True) / count
    covariance = (weights * dx * dy).sum(axis=-1)
    spread = np.sqrt((weights * dx**2).sum(axis=-1) * (weights * dy**2).sum(axis=-1))
    correlation: NDArray[np.float64] = np.divide(
        covariance, spread, out=np.full(np.shape(covariance), np.nan), where=spread > 0
    )
    return correlation


def spearman_rows(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's correlation of every row of ``x`` with ``y``; ties only in ``y``.

    Examples
    --------
    >>> spearman_rows(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), np.array([1.0, 5.0, 9.0]))
    array([ 1., -1.])
    """
    rank_x = np.argsort(np.argsort(x, axis=-1), axis=-1) - (x.shape[-1] - 1) / 2
    rank_y = weighted_ranks(y, np.ones(y.shape))
    dy = rank_y - rank_y.mean()
    spread = np.sqrt(np.square(rank_x).sum(axis=-1) * np.square(dy).sum())
    correlation: NDArray[np.float64] = np.divide(
        rank_x @ dy, spread, out=np.full(len(x), np.nan), where=spread > 0
    )
    return correlation

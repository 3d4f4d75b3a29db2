"""Intervals by resampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Resamples for a 95 % interval; the ends move by about a tenth of its width.
RESAMPLES = 1000

#: Intervals are part of the result, so the resampling itself is fixed.
_SEED = 20250614


def cluster_counts(clusters: int, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Return how often each cluster occurs in each bootstrap sample, [resamples, clusters].

    Examples
    --------
    >>> cluster_counts(5, resamples=3).sum(axis=1).tolist()
    [5.0, 5.0, 5.0]
    """
    generator = np.random.default_rng(_SEED)
    return generator.multinomial(clusters, np.full(clusters, 1 / clusters), resamples).astype(float)


def normal_errors(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return standard normal numbers for simulated errors."""
    return np.random.default_rng(_SEED + 1).standard_normal(shape)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 2.5 and 97.5 % points, ignoring resamples that could not be computed."""
    kept = values[np.isfinite(values)]
    if len(kept) == 0:
        return float("nan"), float("nan")
    low, high = np.percentile(kept, (2.5, 97.5))
    return float(low), float(high)

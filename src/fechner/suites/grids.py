"""Grids and constants that suites share."""

from __future__ import annotations

import numpy as np


def spaced(low: float, high: float, n: int) -> tuple[float, ...]:
    """Return values equally spaced on a logarithmic scale, both ends included.

    Examples
    --------
    >>> spaced(0.5, 2, 3)
    (0.5, 1.0, 2.0)
    """
    return tuple(float(value) for value in np.geomspace(low, high, n))


#: Contrasts of scores, as multiples of the human threshold.
RATIOS = spaced(0.5, 2, 10)

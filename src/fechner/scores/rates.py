"""Intervals of rates."""

from __future__ import annotations

import numpy as np


def wilson(k: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's (1927) 95 % interval of a rate.

    ``k`` may be fractional, as the sum of graded answers is; SciPy's takes whole numbers only.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(1, 10)]
    [0.0179, 0.4042]
    """
    centre = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(k * (n - k) / n + z * z / 4)
    return float(centre - half), float(centre + half)

"""How scores go with an outside figure: correlation and slope, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: With fewer points than this, intervals say nothing.
FEWEST = 4


@dataclass(frozen=True)
class Regression:
    """A straight line through points, and how well they lie on it.

    Parameters
    ----------
    x, y
        The points that entered.
    r, low, high
        Pearson's correlation with its 95 % interval: on Fisher's z, as wide as the test for no
        correlation is at 5 %, so that it leaves out 0 just where ``p`` is below that.
    p
        Of a correlation at least as strong if there were none (t).
    slope, slope_low, slope_high
        Of y on x, with its 95 % interval (t).
    note
        Why something cannot be computed.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    r: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    slope: float = float("nan")
    slope_low: float = float("nan")
    slope_high: float = float("nan")
    note: str = ""

    @property
    def n(self) -> int:
        """How many points there are."""
        return len(self.x)

    def line(
        self, at: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the line at places on x, and the 95 % band of the line.

        Examples
        --------
        >>> found = regress([1, 2, 3, 4, 5], [1.1, 1.9, 3.2, 3.8, 5.0])
        >>> [[round(float(v), 2) for v in part] for part in found.line(np.array([1.0, 3.0]))]
        [[1.06, 3.0], [0.63, 2.75], [1.49, 3.25]]
        """
        from scipy.special import stdtrit

        centre = self.x.mean()
        y = self.y.mean() + self.slope * (at - centre)
        if self.n < FEWEST:
            return y, np.full_like(y, np.nan), np.full_like(y, np.nan)
        left = self.y - self.y.mean() - self.slope * (self.x - centre)
        variance = np.square(left).sum() / (self.n - 2)
        spread = np.square(self.x - centre).sum()
        error = np.sqrt(variance * (1 / self.n + np.square(at - centre) / spread))
        half = float(stdtrit(self.n - 2, 0.975)) * error
        return y, y - half, y + half


def regress(x: Sequence[float], y: Sequence[float]) -> Regression:
    """Return the regression of y on x; points that lack one of them do not count.

    Examples
    --------
    >>> found = regress([1, 2, 3, 4, 5], [1.1, 1.9, 3.2, 3.8, 5.0])
    >>> [round(v, 3) for v in (found.r, found.low, found.high, found.slope)]
    [0.995, 0.928, 1.0, 0.97]
    """
    from scipy.special import stdtr, stdtrit

    a, b = np.array(x, dtype=float), np.array(y, dtype=float)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    n = len(a)
    if n < 2:
        return Regression(a, b, note="not computable: fewer than 2 observers")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        which = "the figure" if np.ptp(a) == 0 else "the score"
        return Regression(a, b, note=f"not computable: {which} is the same for all {n} observers")
    da, db = a - a.mean(), b - b.mean()
    slope = float(da @ db / (da @ da))
    r = float(np.clip(da @ db / np.sqrt((da @ da) * (db @ db)), -1, 1))
    if n < FEWEST:
        return Regression(a, b, r, slope=slope, note=f"{n} observers are too few for an interval")
    t = float(stdtrit(n - 2, 0.975))
    # Fisher's own 1.96 / sqrt(n - 3) is nearly the same, but few points then have intervals
    # that hold 0 beside p-values that do not.
    z, half = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12)), np.arcsinh(t / np.sqrt(n - 2))
    error = np.sqrt(max(1 - r * r, 0.0) / (n - 2)) * np.sqrt((db @ db) / (da @ da))
    wide = t * float(error)
    p = float(2 * stdtr(n - 2, -abs(slope) / error)) if error > 0 else 0.0
    return Regression(
        a,
        b,
        r,
        float(np.tanh(z - half)),
        float(np.tanh(z + half)),
        p,
        slope,
        slope - wide,
        slope + wide,
    )

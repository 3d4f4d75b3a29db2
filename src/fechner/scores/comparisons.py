"""Many comparisons at once: corrected p-values, and whether two sets of scores are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Correction = Literal["holm", "bh", "none"]

#: Corrections as they are named in tables.
NAMES: dict[Correction, str] = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": ""}

#: Corrected p-values below this are called significant.
LEVEL = 0.05


def corrected(p: Sequence[float], correction: Correction = "holm") -> NDArray[np.float64]:
    """Return p-values corrected for being a family; those that are NaN are not of it.

    Parameters
    ----------
    correction
        ``"holm"`` keeps the chance of any false finding below the level (Holm 1979); ``"bh"`` the
        expected share of false ones among the findings (Benjamini & Hochberg 1995).

    Examples
    --------
    >>> corrected([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    >>> corrected([0.01, 0.04, 0.03], "bh").tolist()
    [0.03, 0.04, 0.04]
    """
    from scipy.stats import false_discovery_control

    found = np.array(p, dtype=float)
    known = np.isfinite(found)
    if correction == "none" or not known.any():
        return found
    if correction == "bh":
        found[known] = false_discovery_control(found[known])
        return found
    values = found[known]
    order = np.argsort(values)
    stepped = values[order] * np.arange(len(values), 0, -1)
    values[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    found[known] = values
    return found


class Alike(NamedTuple):
    """Kolmogorov and Smirnov's test of two samples.

    Parameters
    ----------
    statistic
        The largest distance between the shares of both samples below a value.
    n
        The sizes of the samples.
    """

    statistic: float
    p: float
    n: tuple[int, int]


def alike(first: Sequence[float], second: Sequence[float]) -> Alike:
    """Test whether two observers' distances from human come from one distribution.

    Over tests, as in Vila-Tomás et al. (2026). Tests are not paired here, so it finds less than
    the differences test by test. What is NaN does not count.

    Examples
    --------
    >>> found = alike([0.1, 0.2, 0.3, 0.4], [0.35, 0.5, 0.6, 0.7])
    >>> found.statistic, round(found.p, 3)
    (0.75, 0.229)
    """
    from scipy.stats import ks_2samp

    a, b = (np.array([v for v in values if np.isfinite(v)]) for values in (first, second))
    if not len(a) or not len(b):
        return Alike(float("nan"), float("nan"), (len(a), len(b)))
    found = ks_2samp(a, b, method="exact")
    return Alike(float(found.statistic), float(found.pvalue), (len(a), len(b)))

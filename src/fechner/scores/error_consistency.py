"""Whether two observers err on the same trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError
from fechner.scores.bootstrap import RESAMPLES, cluster_counts, interval
from fechner.scores.rates import wilson

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ErrorConsistency:
    """Agreement of two observers on the same trials (Geirhos et al. 2020).

    Parameters
    ----------
    kappa
        Cohen's: 1 if they are right and wrong on the same trials, 0 if no more often than their
        accuracies make expect. NaN if both are always right, or both always wrong.
    low, high
        95 % interval over classes; NaN with one. Where both agree on all trials, as many classes
        as Wilson's interval allows may still be found on which they do not.
    observed, expected
        Share of trials on which both are right or both are wrong, and what two independent
        observers of the same accuracies would have.
    accuracies
        Of both.
    trials, classes
        How many both answered.
    """

    kappa: float
    low: float
    high: float
    observed: float
    expected: float
    accuracies: tuple[float, float]
    trials: int
    classes: int


def error_consistency(
    first: ArrayLike, second: ArrayLike, class_of: ArrayLike, *, resamples: int = RESAMPLES
) -> ErrorConsistency:
    """Return Cohen's kappa between right and wrong of two observers.

    In `benchmarks/item_response.py --kappa` (10 to 1,000 classes of 20 independent trials, true
    kappa 0 and 0.27, 1,000 pairs of each) the interval held the true one in 93.4 to 96.0 %.

    Parameters
    ----------
    first, second
        Right (1) or wrong (0) on the same trials, [trials]; NaN where one did not answer, which
        leaves out the trial.
    class_of
        Class of each trial: what is resampled.

    Examples
    --------
    >>> found = error_consistency([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0], [0, 1, 2, 0, 1, 2])
    >>> round(found.observed, 3), round(found.expected, 3), round(found.kappa, 3)
    (0.667, 0.556, 0.25)
    """
    a, b = (np.asarray(each, dtype=float) for each in (first, second))
    of = np.asarray(class_of)
    if not a.shape == b.shape == of.shape or a.ndim != 1:
        raise FechnerError(
            f"error consistency needs the same trials of both: {a.shape}, {b.shape}, {of.shape}."
        )
    there = np.isfinite(a) & np.isfinite(b)
    a, b, of = a[there], b[there], of[there]
    if not (np.isin(a, (0, 1)) & np.isin(b, (0, 1))).all():
        raise FechnerError("error consistency takes answers that are right (1) or wrong (0).")
    names, place = np.unique(of, return_inverse=True)
    # Both right, only the first, only the second, neither: of every class.
    cell = np.where(a > 0, np.where(b > 0, 0, 1), np.where(b > 0, 2, 3))
    table = np.bincount(place * 4 + cell, minlength=4 * len(names)).reshape(-1, 4).astype(float)
    observed, expected, kappa, accuracies = kappa_of(table.sum(axis=0))
    low = high = float("nan")
    if len(names) > 1:
        drawn = kappa_of(cluster_counts(len(names), resamples) @ table)[2]
        low, high = interval(float(kappa), drawn, len(names), "correlation")
        if observed == 1 and np.isfinite(kappa):
            low = (wilson(len(names), len(names))[0] - float(expected)) / (1 - float(expected))
    return ErrorConsistency(
        kappa=float(kappa),
        low=low,
        high=high,
        observed=float(observed),
        expected=float(expected),
        accuracies=(float(accuracies[0]), float(accuracies[1])),
        trials=len(a),
        classes=len(names),
    )


def kappa_of(table: Floats) -> tuple[Floats, Floats, Floats, tuple[Floats, Floats]]:
    """Return observed and expected consistency, kappa and accuracies from tables [.., 4]."""
    total = table.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        both, one, other, neither = np.moveaxis(table / total[..., None], -1, 0)
        accuracies = both + one, both + other
        observed = both + neither
        expected = accuracies[0] * accuracies[1] + (1 - accuracies[0]) * (1 - accuracies[1])
        room = 1 - expected
        kappa = np.where(room > 1e-12, (observed - expected) / room, np.nan)
    return observed, expected, kappa, accuracies

"""Whether answers and rates make sense, before anything is fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.errors import FechnerError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fechner.psychometrics.functions import Scale


def checked_answers(
    levels: ArrayLike, n: ArrayLike, k: ArrayLike, scale: Scale
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return levels, trials and yes answers in one shape, or say what is wrong with them."""
    arrays = [np.asarray(each, dtype=float) for each in (levels, n, k)]
    try:
        levels, n, k = (np.array(each) for each in np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in arrays)
        raise FechnerError(f"levels, n and k do not fit together: {shapes}.") from None
    if n.ndim == 0 or n.size == 0:
        raise FechnerError("a psychometric function needs at least one level.")
    if not ((n >= 0) & (k >= 0) & (k <= n) & np.isfinite(n)).all():
        raise FechnerError("every k must lie between 0 and its n: count yes answers of n trials.")
    asked = levels[n > 0]
    if not np.isfinite(asked).all() or (scale == "log" and (asked < 0).any()):
        raise FechnerError(
            "levels must be finite, and 0 or more on the log scale; use scale='linear' for others."
        )
    return levels, n, k


def check_rates(guess: float | None, lapse: float | None) -> None:
    """Raise an error unless both rates can be: at least 0 and together below 1."""
    rates = [0.0 if rate is None else rate for rate in (guess, lapse)]
    if not (min(rates) >= 0 and sum(rates) < 1):
        raise FechnerError(
            f"guess and lapse rates are at least 0 and add up to less than 1, not {guess}, {lapse}."
        )


def check_coverage(coverage: float) -> None:
    """Raise an error unless an interval can have this probability."""
    if not 0 < coverage < 1:
        raise FechnerError(f"coverage lies between 0 and 1, not {coverage}: 0.95 is usual.")

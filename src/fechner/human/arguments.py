"""Numbers as the models take them: float64, finite and in range."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fechner.human.castle_mechanisms import Floats


def checked(
    name: str,
    value: ArrayLike,
    *,
    above: float = 0.0,
    or_zero: bool = False,
    at_most: float = np.inf,
) -> Floats:
    """Return an argument as an array.

    Parameters
    ----------
    name
        How the caller knows the argument.
    value
        What the caller gave.
    above
        Every number must be larger than this.
    or_zero
        Whether 0 is allowed too.
    at_most
        No number may be larger than this.

    Raises
    ------
    ValueError
        If a number is not finite or out of range; the first such is named.

    Examples
    --------
    >>> checked("radius_deg", [1, 2]).tolist()
    [1.0, 2.0]
    >>> checked("radius_deg", 0)
    Traceback (most recent call last):
    ...
    ValueError: radius_deg is 0; it must be finite and above 0.
    """
    array = np.asarray(value, dtype=np.float64)
    large_enough = (array >= 0) if or_zero else (array > above)
    good = np.isfinite(array) & large_enough & (array <= at_most)
    if not good.all():
        bad = array[~good].flat[0]
        need = "0 or more" if or_zero else f"above {above:g}"
        limit = f" and at most {at_most:g}" if at_most < np.inf else ""
        raise ValueError(f"{name} is {bad:g}; it must be finite and {need}{limit}.")
    return array

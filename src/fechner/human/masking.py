"""Thresholds on masks by a response that is divided by what is around it (Foley 1994)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.human.arguments import checked

__all__ = ["foley_response", "foley_threshold"]

Floats = NDArray[np.float64]

# Fitted to the data set foley1994, 0 deg together with 45 and 90 deg; the exponents are free and
# land on the 2.4 and 2.0 of Foley (1994) and of Watson & Solomon (1997).
_GAIN = 9.07
_EXCITING = 2.402
_INHIBITING = 2.020
_HALF = 0.02624

_HALVINGS = 60


def foley_response(
    contrast: ArrayLike,
    mask_contrast: ArrayLike = 0.0,
    *,
    excitation: ArrayLike = 1.0,
    inhibition: ArrayLike = 1.0,
) -> Floats:
    """Return the response to a pattern of 2 cpd on a mask, in just noticeable differences.

    A power of contrast is divided by another: R = a E^p / (Z^q + I^q), where both E and I are the
    contrast of the pattern and, weighted, that of the mask.

    Parameters
    ----------
    contrast, mask_contrast : array_like
        Contrasts of pattern and mask, 0 or more.
    excitation, inhibition : array_like
        What the mask counts in E and in I; both are 1 for a mask that is like the pattern.

    Returns
    -------
    ndarray of float64
        The response; 1 more is just noticeable.

    References
    ----------
    The form of Foley (1994), key ``foley1994``, fitted to that data set.

    Examples
    --------
    >>> foley_response([0.0, 0.02, 0.2]).round(3).tolist()
    [0.0, 0.745, 4.825]
    """
    pattern = checked("contrast", contrast, or_zero=True)
    mask = checked("mask_contrast", mask_contrast, or_zero=True)
    exciting = pattern + checked("excitation", excitation, or_zero=True) * mask
    inhibiting = pattern + checked("inhibition", inhibition, or_zero=True) * mask
    divisor = _HALF**_INHIBITING + inhibiting**_INHIBITING
    return np.asarray(_GAIN * exciting**_EXCITING / divisor)[()]


def foley_threshold(
    mask_contrast: ArrayLike, *, excitation: ArrayLike = 1.0, inhibition: ArrayLike = 1.0
) -> Floats:
    """Return the contrast of a pattern of 2 cpd that is just seen on a mask.

    It dips below the threshold without a mask where the mask is weak, and rises as a power of the
    mask's contrast where it is strong.

    Parameters
    ----------
    mask_contrast, excitation, inhibition : array_like
        As in `foley_response`; about 1.1 and 1.8 for a mask at 45 deg, 0.14 and 0.54 at 90 deg.

    Returns
    -------
    ndarray of float64
        Contrast at which the response to pattern and mask is 1 above that to the mask.

    References
    ----------
    Foley (1994), key ``foley1994``.

    Examples
    --------
    >>> foley_threshold([0.0, 0.0127, 0.32]).round(4).tolist()
    [0.0241, 0.0168, 0.1598]
    """
    mask = checked("mask_contrast", mask_contrast, or_zero=True)
    weights = {"excitation": excitation, "inhibition": inhibition}
    goal = 1 + foley_response(0.0, mask, **weights)
    # The response rises from the goal's foot to above it only once: halving finds where.
    low, high = np.zeros(np.shape(goal)), np.full(np.shape(goal), 1e3)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        seen = foley_response(middle, mask, **weights) >= goal
        low, high = np.where(seen, low, middle), np.where(seen, middle, high)
    return np.asarray(high)[()]

"""What people match in contrast, across colour directions and across frequencies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.human.arguments import checked
from fechner.human.datasets import load


def colour_matching_ratios() -> dict[str, float]:
    """Return by how much a colour needs more or less amplitude to look as contrasty as grey.

    Returns
    -------
    dict of str to float
        For ``"ach"``, ``"rg"`` and ``"yv"``, the DKL amplitude over luminance that looks like an
        achromatic grating of contrast 1, from the data set ``"switkes_crognale1999"``. One ratio
        holds at all contrasts there; ``"ach"`` is 1.

    References
    ----------
    Switkes & Crognale (1999), key ``switkes_crognale1999``, as given by Hammou et al. (2025), key
    ``hammou2025``.

    Examples
    --------
    >>> {direction: round(ratio, 6) for direction, ratio in colour_matching_ratios().items()}
    {'ach': 1.0, 'rg': 0.610649, 'yv': 4.203636}
    """
    table = load("switkes_crognale1999")
    directions = table["direction"]
    log_ratio = np.log(table["dkl_amplitude"] / table["achromatic_contrast"])
    names = dict.fromkeys(directions.tolist())  # in the order of the file
    return {name: float(np.exp(np.mean(log_ratio[directions == name]))) for name in names}


def kulikowski_match(
    contrast: ArrayLike, threshold: ArrayLike, other_threshold: ArrayLike
) -> NDArray[np.float64]:
    """Return the contrast of another pattern that looks as contrasty: equal steps above threshold.

    Contrasts look alike that lie as far above their thresholds; what is below its threshold matches
    the other's threshold.

    Parameters
    ----------
    contrast, threshold : array_like
        Of the pattern that is to be matched.
    other_threshold : array_like
        Of the pattern that is to match it.

    References
    ----------
    Kulikowski (1976), key ``kulikowski1976``.

    Examples
    --------
    >>> kulikowski_match([0.005, 0.3], 0.0071, 0.0902).round(4).tolist()
    [0.0902, 0.3831]
    """
    above = checked("contrast", contrast, or_zero=True) - checked("threshold", threshold)
    return np.asarray(np.maximum(above, 0.0) + checked("other_threshold", other_threshold))[()]

"""What people match in contrast across colour directions."""

from __future__ import annotations

import numpy as np

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

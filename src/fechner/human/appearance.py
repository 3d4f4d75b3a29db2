"""How bright and how coloured a patch looks on a background: colour differences from it.

CIELAB takes the background as its white, which makes the eye adapt to it: brightness saturates,
and colours shift with their surround. It has no crispening: the slope is not steepest where the
patch is as bright as the background.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.human.arguments import checked
from fechner.stimuli.colour import ATD, Triple, as_triple, inverse, transform, xyz_to_lab
from fechner.stimuli.colour_difference import delta_e_2000

__all__ = ["brightness", "colour_difference_2000", "colour_response", "von_kries_gain"]

Floats = NDArray[np.float64]

#: Chroma below this is no colour: what is left of it after rounding has no sign.
_NO_CHROMA = 1e-9


def brightness(
    luminances_cdm2: ArrayLike,
    background_cdm2: float,
    darkest_cdm2: float | None = None,
    formula: Literal["lightness", "ciede2000"] = "lightness",
) -> Floats:
    """Return how much brighter patches look than the darkest, on a background.

    Parameters
    ----------
    luminances_cdm2 : array_like
        Luminance of each patch, cd/m2.
    background_cdm2 : float
        Luminance around it, to which the eye is adapted.
    darkest_cdm2 : float or None
        What they are compared with; None is the darkest of them.
    formula
        The difference in CIELAB's lightness, or CIEDE2000 as in the public code of Vila-Tomás et
        al. (2026). That is made for surfaces darker than white: of patches much lighter than
        their background it says that they look the same on all backgrounds, or darker on a dark
        one.

    Returns
    -------
    ndarray of float64
        The difference from the darkest, with the background as white.

    References
    ----------
    CIE 015; Vila-Tomás et al. (2026), key ``vila_tomas2026``; CIE 142, key ``cie142_2001``.

    Examples
    --------
    >>> brightness([0.1, 6.410526, 120.0], 1.0).round(3).tolist()
    [0.0, 161.645, 518.319]
    >>> brightness([0.1, 6.410526, 120.0], 1.0, formula="ciede2000").round(3).tolist()
    [0.0, 79.715, 110.177]
    """
    luminance = checked("luminances_cdm2", luminances_cdm2, or_zero=True)
    background = float(checked("background_cdm2", background_cdm2))
    darkest = (
        luminance.min()
        if darkest_cdm2 is None
        else checked("darkest_cdm2", darkest_cdm2, or_zero=True)
    )
    white = (background,) * 3
    patches = xyz_to_lab(np.stack([luminance] * 3, axis=-1), white)
    least = xyz_to_lab(np.stack([darkest] * 3, axis=-1), white)
    if formula == "lightness":
        return np.asarray(np.abs(patches[..., 0] - least[..., 0]))[()]
    return colour_difference_2000(patches, least)


def colour_response(tests_xyz: ArrayLike, background_xyz: ArrayLike, channel: str) -> Floats:
    """Return how different from its background a patch looks, and to which side.

    Parameters
    ----------
    tests_xyz : array_like
        XYZ of each patch along the last axis.
    background_xyz : array_like
        XYZ around them.
    channel : str
        ``"rg"``: positive is reddish, negative greenish; ``"yb"``: yellowish and bluish.

    Returns
    -------
    ndarray of float64
        CIEDE2000 from the background, which is white, with the sign of a* or b*; 0 where that is 0.

    References
    ----------
    Vila-Tomás et al. (2026), key ``vila_tomas2026``, in the form of their public code; CIE 142,
    key ``cie142_2001``.

    Examples
    --------
    >>> patches = [[60.0, 70.0, 70.0], [70.0, 70.0, 70.0], [80.0, 70.0, 70.0]]
    >>> colour_response(patches, (70.0, 70.0, 70.0), "rg").round(2).tolist()
    [-20.03, 0.0, 19.07]
    """
    tests = checked("tests_xyz", tests_xyz, or_zero=True)
    background = checked("background_xyz", background_xyz)
    if channel not in ("rg", "yb"):
        raise ValueError(f"channel is '{channel}'; use rg or yb.")
    lab = xyz_to_lab(tests, as_triple(background))
    side = lab[..., 1 if channel == "rg" else 2]
    sign = np.where(np.abs(side) < _NO_CHROMA, 0.0, np.sign(side))
    return np.asarray(sign * colour_difference_2000(lab, np.array([100.0, 0.0, 0.0])))[()]


def von_kries_gain(channel: str, white_xyz: Triple) -> float:
    """Return how much larger a modulation of A, T or D is to eyes that are adapted to a light.

    Each cone is divided by its response to the light (von Kries, as in Fairchild 2013), and brought
    back to the equal-energy white. An achromatic modulation has the colour of the light.

    Parameters
    ----------
    channel : str
        ``"ach"``, ``"rg"`` or ``"yb"``: modulations of A, T or D (Jameson & Hurvich 1957).
    white_xyz : tuple of float
        The light, at Y = 1.

    Returns
    -------
    float
        A, T or D after adaptation over that of the same modulation in equal-energy white.

    References
    ----------
    Fairchild (2013), key ``fairchild2013``; cones of Smith & Pokorny (1975), key
    ``smith_pokorny1975``.

    Examples
    --------
    >>> from fechner.stimuli.colour import daylight_xyz
    >>> [round(von_kries_gain(each, daylight_xyz(4000.0)), 2) for each in ("ach", "rg", "yb")]
    [1.0, 1.02, 1.64]
    """
    white = np.asarray(white_xyz, dtype=np.float64)
    to_cones, axes = ATD.xyz_to_lms, np.asarray(ATD.axes)
    added = white if channel == "ach" else np.asarray(ATD.modulation_xyz(channel, 1.0))
    gains = transform(to_cones, np.asarray(ATD.white_xyz)) / transform(to_cones, white)
    adapted = transform(inverse(to_cones), gains * transform(to_cones, added))
    return float((axes @ adapted)[ATD.directions.index(channel)])


def colour_difference_2000(lab: ArrayLike, other_lab: ArrayLike) -> Floats:
    """Return CIEDE2000 of colours in CIELAB, all parametric factors 1.

    References
    ----------
    CIE 142, key ``cie142_2001``; in the steps of Sharma, Wu & Dalal (2005), key ``sharma2005``.

    Examples
    --------
    >>> float(colour_difference_2000([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485]).round(4))
    2.0425
    """
    import torch

    one, other = np.broadcast_arrays(
        np.asarray(lab, dtype=np.float64), np.asarray(other_lab, dtype=np.float64)
    )
    # Colours lie along dimension 1 there.
    pictures = (torch.as_tensor(each.copy()).reshape(-1, 3, 1, 1) for each in (one, other))
    found: Floats = delta_e_2000(*pictures).numpy()
    return found.reshape(one.shape[:-1])[()]

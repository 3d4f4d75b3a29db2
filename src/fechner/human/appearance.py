"""How bright and how coloured a patch looks on a background.

Brightness follows Whittle: it saturates away from the background on both sides, and is steepest
where the patch is as bright as the background (crispening). Colour is a difference in CIELAB with
the background as white: it saturates, and shifts with the surround.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fechner.arrays import Floats, torch
from fechner.human.inputs import checked
from fechner.stimuli.colour import ATD, Triple, as_triple, inverse, transform, xyz_to_lab
from fechner.stimuli.colour_difference import delta_e_2000

#: Slope of Whittle's brightness at the background, see `whittle_brightness`.
_WHITTLE_K = 7.0

#: Chroma below this is no colour: what is left of it after rounding has no sign.
_NO_CHROMA = 1e-9


def brightness(
    luminances_cdm2: ArrayLike,
    background_cdm2: float,
    darkest_cdm2: float | None = None,
    formula: Literal["whittle", "ciede2000"] = "whittle",
) -> Floats:
    """Return how much brighter patches look than the darkest, on a background.

    The difference from the darkest. References: Whittle (1992, ``whittle1992``); Vila-Tomás et al.
    (2026, ``vila_tomas2026``); CIE 142 (``cie142_2001``).

    Parameters
    ----------
    background_cdm2 : float
        Luminance around the patches, to which the eye is adapted.
    darkest_cdm2 : float or None
        What they are compared with; None is the darkest of them.
    formula
        ``"whittle"`` counts steps of equal brightness, `whittle_brightness`, from the darkest.
        ``"ciede2000"`` is the colour difference with the background as white, as in the public
        code of Vila-Tomás et al. (2026). It is made for surfaces darker than white: patches much
        lighter than their background differ little, or in the wrong direction.

    Examples
    --------
    >>> brightness([0.1, 6.410526, 120.0], 1.0).round(3).tolist()
    [0.0, 7.819, 10.885]
    >>> brightness([0.1, 6.410526, 120.0], 1.0, formula="ciede2000").round(3).tolist()
    [0.0, 79.715, 110.177]
    """
    luminance = checked("luminances_cdm2", luminances_cdm2)
    background = float(checked("background_cdm2", background_cdm2))
    darkest = luminance.min() if darkest_cdm2 is None else checked("darkest_cdm2", darkest_cdm2)
    if formula == "whittle":
        steps = whittle_brightness(luminance, background)
        return np.asarray(np.abs(steps - whittle_brightness(darkest, background)))[()]
    white = (background,) * 3
    patches, least = (xyz_to_lab(np.stack([y] * 3, axis=-1), white) for y in (luminance, darkest))
    return colour_difference_2000(patches, least)


def whittle_brightness(luminances_cdm2: ArrayLike, background_cdm2: float) -> Floats:
    """Return the brightness of patches against their background: 0 where they are equal.

    With W = (L - Lb) / min(L, Lb), equal steps of brightness are those of sign(W) log(1 + k
    abs(W)). Of the constant, k = 7, only the order of magnitude is known: fits to discrimination
    and brightness give 5 to 10. Over the tests of suite ``decalogue`` any k in that range, or two
    different ones for increments and decrements, gives curves that correlate above 0.997 with those
    of k = 7. References: Whittle (1986, ``whittle1986``); Whittle (1992, ``whittle1992``).

    Examples
    --------
    >>> whittle_brightness([10.0, 38.0, 40.0, 42.0, 160.0], 40.0).round(3).tolist()
    [-3.091, -0.314, 0.0, 0.3, 3.091]
    """
    luminance = checked("luminances_cdm2", luminances_cdm2)
    background = float(checked("background_cdm2", background_cdm2))
    w = (luminance - background) / np.minimum(luminance, background)
    return np.asarray(np.sign(w) * np.log1p(_WHITTLE_K * np.abs(w)))[()]


def colour_response(tests_xyz: ArrayLike, background_xyz: ArrayLike, channel: str) -> Floats:
    """Return how different from its background a patch looks, and to which side.

    CIEDE2000 from the background, which is white, with the sign of a* or b*; 0 where that is 0.
    References: Vila-Tomás et al. (2026, ``vila_tomas2026``), in the form of their public code; CIE
    142 (``cie142_2001``).

    Parameters
    ----------
    tests_xyz, background_xyz : array_like
        XYZ of each patch along the last axis, and around them.
    channel : str
        ``"rg"``: positive is reddish, negative greenish; ``"yb"``: yellowish and bluish.

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
    back to the equal-energy white. An achromatic modulation has the colour of the light. The gain
    is A, T or D after adaptation over that of the same modulation in equal-energy white.
    References: Fairchild (2013, ``fairchild2013``); cones of Smith & Pokorny (1975,
    ``smith_pokorny1975``).

    Parameters
    ----------
    channel : str
        ``"ach"``, ``"rg"`` or ``"yb"``: modulations of A, T or D (Jameson & Hurvich 1957).
    white_xyz : tuple of float
        The light, at Y = 1.

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

    References: CIE 142 (``cie142_2001``); in the steps of Sharma, Wu & Dalal (2005,
    ``sharma2005``).

    Examples
    --------
    >>> float(colour_difference_2000([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485]).round(4))
    2.0425
    """
    one, other = np.broadcast_arrays(
        np.asarray(lab, dtype=np.float64), np.asarray(other_lab, dtype=np.float64)
    )
    # Colours lie along dimension 1 there.
    pictures = (torch.as_tensor(each.copy()).reshape(-1, 3, 1, 1) for each in (one, other))
    found: Floats = delta_e_2000(*pictures).numpy()
    return found.reshape(one.shape[:-1])[()]

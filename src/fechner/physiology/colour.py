"""The colour of a receptive field: opponent and cone weights, from the display's matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fechner.physiology.conditions import Conditions
from fechner.physiology.least_squares import Profile
from fechner.physiology.receptive_field import ReceptiveField
from fechner.stimuli import OPPONENT, OpponentSpace, gamut_limit
from fechner.stimuli.colour import XYZ_TO_ATD, as_triple, inverse, transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fechner.stimuli.colour import Triple

#: The Jameson-Hurvich axes.
AXES = ("ach", "rg", "yb")


@dataclass(frozen=True)
class ColourWeights:
    """What a unit says to colours, of its main colour direction.

    The field is taken as one colour direction times one profile over space, the pair that
    explains most of its squares.

    Parameters
    ----------
    rgb
        Direction in linear RGB, of unit length.
    atd
        Response to a modulation of A, T and D (Jameson & Hurvich 1957) by the luminance of the
        grey, one at a time; absolute values add up to 1.
    cones
        Response to contrast of L, M and S cones, one at a time; absolute values add up to 1.
    azimuth_deg, elevation_deg
        Direction in DKL space (Derrington, Krauskopf & Lennie 1984) whose axes are in amplitudes as
        stimuli have them: azimuth 0 is reddish (L - M), 90 violet (S), elevation 90 lighter.
    separable
        Share of the squared weights that one colour direction explains.
    axis
        ``ach``, ``rg`` or ``yb`` if more than half of what it says to the largest modulations that
        the display can show, summed over the three axes, is said to that one; else ``mixed``.
    """

    rgb: Triple
    atd: Triple
    cones: Triple
    azimuth_deg: float
    elevation_deg: float
    separable: float
    axis: str


def in_light(field: ReceptiveField, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights of a field, or their errors, per cd/m2 of linear R, G and B."""
    if field.conditions.of == "light":
        return weights
    return weights * _slopes_of_display(field.conditions)[:, None, None]


def _slopes_of_display(conditions: Conditions) -> NDArray[np.float64]:
    """Return how fast encoded values grow with light, at the grey."""
    import torch

    grey = torch.full((3, 1, 1), conditions.luminance_cdm2, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        encoded = conditions.display.encode(grey)
        (slopes,) = torch.autograd.grad(encoded.sum(), grey)
    found: NDArray[np.float64] = slopes.flatten().numpy()
    return found


def colour_and_profile(field: ReceptiveField) -> tuple[ColourWeights, Profile]:
    """Split a receptive field into a colour direction and a profile over space.

    The sign of the direction is such that the axis it says most to is positive: lighter, redder or
    yellower; the profile has the rest.
    """
    weights = in_light(field, field.weights)
    x, y = field.grid()
    flat = weights.reshape(3, -1)
    sides, sizes, rows = np.linalg.svd(flat, full_matrices=False)
    total = float((sizes**2).sum())
    if total == 0:
        nothing = (math.nan, math.nan, math.nan)
        empty = Profile(np.zeros(weights.shape[1:]), x, y, field.field.ppd)
        return ColourWeights(nothing, nothing, nothing, *nothing, "none"), empty
    direction, profile = sides[:, 0], sizes[0] * rows[0].reshape(weights.shape[1:])
    weights_of_axes = axis_weights(direction, field.conditions)
    if weights_of_axes[int(np.argmax(np.abs(weights_of_axes)))] < 0:
        direction, profile = -direction, -profile
    colour = colour_weights(direction, field.conditions, float(sizes[0] ** 2) / total)
    return colour, Profile(profile, x, y, field.field.ppd)


def _said_to(
    direction: NDArray[np.float64], xyz: NDArray[np.float64], conditions: Conditions
) -> NDArray[np.float64]:
    """Return what a unit says to modulations, [n, 3] in XYZ."""
    said: NDArray[np.float64] = conditions.display.linear_rgb(xyz) @ direction
    return said


def _grey_xyz(conditions: Conditions) -> NDArray[np.float64]:
    white = np.asarray(conditions.display.rgb_to_xyz, dtype=np.float64).sum(axis=1)
    grey: NDArray[np.float64] = conditions.luminance_cdm2 * white
    return grey


def _axis_modulations(conditions: Conditions) -> NDArray[np.float64]:
    """Return what A, T and D of the grey's luminance add, in XYZ: [3 axes, 3]."""
    added: NDArray[np.float64] = conditions.luminance_cdm2 * np.asarray(inverse(XYZ_TO_ATD)).T
    return added


def axis_weights(direction: NDArray[np.float64], conditions: Conditions) -> NDArray[np.float64]:
    """Return what a unit says to the largest modulations of A, T and D that can be shown."""
    modulations = _axis_modulations(conditions)
    background = as_triple(_grey_xyz(conditions))
    room = [gamut_limit(conditions.display, background, as_triple(each)) for each in modulations]
    said: NDArray[np.float64] = _said_to(direction, modulations, conditions) * np.asarray(room)
    return said


def colour_weights(
    direction: NDArray[np.float64], conditions: Conditions, separable: float = 1.0
) -> ColourWeights:
    """Return the colour weights of a direction in linear RGB.

    Examples
    --------
    >>> from fechner.stimuli import display
    >>> luminance = np.asarray(display("encoders").rgb_to_xyz[1])
    >>> found = colour_weights(luminance, Conditions(display=display("encoders")))
    >>> found.axis, [abs(round(each, 3)) for each in found.atd]
    ('ach', [1.0, 0.0, 0.0])
    """
    luminance = conditions.luminance_cdm2
    grey = _grey_xyz(conditions)
    space = OpponentSpace(as_triple(grey / grey[1]), OPPONENT.xyz_to_lms)
    said = _said_to(direction, _axis_modulations(conditions), conditions)
    cones = np.diag(space.background_lms(luminance))
    to_cones = _said_to(direction, transform(inverse(space.xyz_to_lms), cones), conditions)
    dkl = np.array([space.modulation_xyz(each, luminance) for each in ("ach", "rg", "yv")])
    ach, rg, yv = _said_to(direction, dkl, conditions)
    shown = np.abs(axis_weights(direction, conditions))
    strongest = int(np.argmax(shown))
    one = shown[strongest] > shown.sum() / 2
    return ColourWeights(
        rgb=as_triple(direction / np.linalg.norm(direction)),
        atd=as_triple(said / np.abs(said).sum()),
        cones=as_triple(to_cones / np.abs(to_cones).sum()),
        azimuth_deg=math.degrees(math.atan2(yv, rg)) % 360,
        elevation_deg=math.degrees(math.atan2(ach, math.hypot(rg, yv))),
        separable=separable,
        axis=AXES[strongest] if one else "mixed",
    )

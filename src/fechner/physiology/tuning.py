"""What a receptive field is like: its colour, its fits, and a kind by stated rules.

Colour is told by opponent and cone weights, from the display's matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from fechner.arrays import Floats, torch
from fechner.physiology.conditions import Conditions
from fechner.physiology.fits import DogFit, GaborFit, Profile, fit_dog, fit_gabor
from fechner.physiology.receptive_field import ReceptiveField
from fechner.stimuli import OPPONENT, OpponentSpace, gamut_limit
from fechner.stimuli.colour import XYZ_TO_ATD, as_triple, inverse, transform

if TYPE_CHECKING:
    from fechner.stimuli.colour import Triple


#: The Jameson-Hurvich axes.
AXES = ("ach", "rg", "yb")

Kind = Literal["oriented", "centre-surround", "blob", "other", "small", "silent"]

KINDS: tuple[Kind, ...] = get_args(Kind)

#: A fit that explains this share of what can be explained describes the field.
GOOD_R2 = 0.75
#: A Gabor must explain this much more than a difference of Gaussians to make a field oriented.
BETTER_BY = 0.05
#: A surround that takes at least this share of its centre away is one.
ANTAGONISM = 0.2
#: Pixels that a fit needs: three for each parameter of a Gabor.
LEAST_PX = 24

RULES: dict[Kind, str] = {
    "oriented": f"a Gabor explains at least {GOOD_R2:.0%} of the squared weights, and at least "
    f"{BETTER_BY:.0%} more than a difference of Gaussians",
    "centre-surround": f"not oriented; a difference of Gaussians explains at least {GOOD_R2:.0%}, "
    f"and the surround takes away at least {ANTAGONISM:.0%} of the centre",
    "blob": "the same with a weaker surround, or none",
    "other": "neither formula describes it",
    "small": f"fewer than {LEAST_PX} pixels have any weight, too few to fit",
    "silent": "nothing changes its response, or nothing beyond the errors of the weights",
}


@dataclass(frozen=True)
class ColourWeights:
    """Responses of a unit to colours, by its main colour direction.

    The field is taken as one colour direction times one profile over space, the pair that
    explains most of its squares.

    Parameters
    ----------
    rgb
        Direction in linear RGB, of unit length.
    atd, cones
        Response to a modulation of A, T and D (Jameson & Hurvich 1957) by the luminance of the
        grey, and to contrast of L, M and S cones, one at a time; absolute values add up to 1.
    azimuth_deg, elevation_deg
        Direction in DKL space (Derrington, Krauskopf & Lennie 1984) whose axes are in amplitudes as
        stimuli have them: azimuth 0 is reddish (L - M), 90 violet (S), elevation 90 lighter.
    separable
        Share of the squared weights that one colour direction explains.
    axis
        ``ach``, ``rg`` or ``yb`` if more than half of the responses to the largest modulations that
        the display can show, summed over the three axes, is to that one; else ``mixed``.
    """

    rgb: Triple
    atd: Triple
    cones: Triple
    azimuth_deg: float
    elevation_deg: float
    separable: float
    axis: str


@dataclass(frozen=True)
class Tuning:
    """A receptive field described: its fits, where there is enough to fit, and one of `KINDS`.

    The ceiling is the share of the squared weights that is not due to their errors, 1 where weights
    have none; the `RULES` of kinds are on shares of that.
    """

    field: ReceptiveField
    colour: ColourWeights
    gabor: GaborFit | None
    dog: DogFit | None
    kind: Kind
    ceiling: float = 1.0


def describe(field: ReceptiveField) -> Tuning:
    """Fit a receptive field and describe it."""
    colour, profile = colour_and_profile(field)
    says_something, ceiling = bool(field.weights.any()), 1.0
    if field.errors is not None and field.errors.all():
        # The mean square of weights in units of their errors is 1 where they are nothing else.
        squares = (field.weights / field.errors) ** 2
        says_something = float(squares.mean()) > 1 + 3 * math.sqrt(2 / squares.size)
    if not says_something:
        return Tuning(field, colour, None, None, "silent")
    if field.errors is not None:
        errors = (in_light(field, field.errors) ** 2).sum(axis=(1, 2))
        of_errors = float(np.asarray(colour.rgb) ** 2 @ errors)
        ceiling = max(0.01, 1 - of_errors / float((profile.values**2).sum()))
    if np.count_nonzero(profile.values) < LEAST_PX or min(profile.values.shape) < 2:
        return Tuning(field, colour, None, None, "small", ceiling)
    gabor, dog = fit_gabor(profile), fit_dog(profile)
    return Tuning(field, colour, gabor, dog, kind_of(gabor, dog, ceiling), ceiling)


def kind_of(gabor: GaborFit, dog: DogFit, ceiling: float = 1.0) -> Kind:
    """Return the kind of a field by its fits.

    Examples
    --------
    >>> gabor = GaborFit(1.0, 4.0, 30.0, 90.0, 0.14, 0.2, 0.0, 0.0, r2=0.9)
    >>> dog = DogFit(0.1, 0.3, 2.0, -1.5, 0.0, 0.0, r2=0.88)
    >>> kind_of(gabor, dog)
    'centre-surround'
    """
    by_gabor, by_dog = gabor.r2 / ceiling, dog.r2 / ceiling
    if by_gabor >= GOOD_R2 and by_gabor >= by_dog + BETTER_BY:
        return "oriented"
    if by_dog >= GOOD_R2:
        return "centre-surround" if dog.antagonism >= ANTAGONISM else "blob"
    return "other"


def in_light(field: ReceptiveField, weights: Floats) -> Floats:
    """Return weights of a field, or their errors, per cd/m2 of linear R, G and B."""
    conditions = field.conditions
    if conditions.of == "light":
        return weights
    # How fast encoded values grow with light, at the grey.
    grey = torch.full((3, 1, 1), conditions.luminance_cdm2, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        (slopes,) = torch.autograd.grad(conditions.display.encode(grey).sum(), grey)
    return np.asarray(weights * slopes.numpy())


def colour_and_profile(field: ReceptiveField) -> tuple[ColourWeights, Profile]:
    """Split a receptive field into a colour direction and a profile over space.

    The sign of the direction is such that the axis with the largest response is positive: lighter,
    redder or yellower; the profile has the rest.
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
    of_axes = _atd_weights(direction, field.conditions)[1]
    if of_axes[np.argmax(np.abs(of_axes))] < 0:
        direction, profile = -direction, -profile
    colour = colour_weights(direction, field.conditions, float(sizes[0] ** 2) / total)
    return colour, Profile(profile, x, y, field.field.ppd)


def _atd_weights(direction: Floats, conditions: Conditions) -> tuple[Floats, Floats]:
    """Return responses to A, T and D of the grey's luminance, and of all the display can show."""
    display, luminance = conditions.display, conditions.luminance_cdm2
    modulations = luminance * np.asarray(inverse(XYZ_TO_ATD)).T
    grey = as_triple(luminance * np.asarray(display.rgb_to_xyz).sum(axis=1))
    room = [gamut_limit(display, grey, as_triple(each)) for each in modulations]
    said = display.linear_rgb(modulations) @ direction
    return said, said * np.asarray(room)


def colour_weights(
    direction: Floats, conditions: Conditions, separable: float = 1.0
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
    luminance, display = conditions.luminance_cdm2, conditions.display
    grey = luminance * np.asarray(display.rgb_to_xyz, dtype=np.float64).sum(axis=1)
    space = OpponentSpace(as_triple(grey / grey[1]), OPPONENT.xyz_to_lms)
    cones = transform(inverse(space.xyz_to_lms), np.diag(space.background_lms(luminance)))
    dkl = np.array([space.modulation_xyz(each, luminance) for each in ("ach", "rg", "yv")])
    to_cones, (ach, rg, yv) = (display.linear_rgb(each) @ direction for each in (cones, dkl))
    said, shown = _atd_weights(direction, conditions)
    shown = np.abs(shown)
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

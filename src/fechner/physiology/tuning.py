"""What a receptive field is like: its fits, its colour, and a kind by stated rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fechner.physiology.colour import ColourWeights, colour_and_profile, in_light
from fechner.physiology.dog import DogFit, fit_dog
from fechner.physiology.gabor import GaborFit, fit_gabor
from fechner.physiology.least_squares import Profile
from fechner.physiology.receptive_field import ReceptiveField

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
class Tuning:
    """A receptive field described.

    Parameters
    ----------
    gabor, dog
        Fits to the profile over space; None where there is too little to fit.
    kind
        One of `KINDS`, by the rules in `RULES`. Shares are of what can be explained.
    ceiling
        What can be explained: the share of the squared weights that is not due to their errors; 1
        where weights have none.
    """

    field: ReceptiveField
    colour: ColourWeights
    gabor: GaborFit | None
    dog: DogFit | None
    kind: Kind
    ceiling: float = 1.0


def describe(field: ReceptiveField) -> Tuning:
    """Fit a receptive field and say what it is like."""
    colour, profile = colour_and_profile(field)
    if not _says_something(field):
        return Tuning(field, colour, None, None, "silent")
    ceiling = _ceiling(field, colour, profile)
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


def _says_something(field: ReceptiveField) -> bool:
    """Whether weights are more than their errors: their mean square in units of those is 1 if not.

    Three standard deviations of that mean are asked for.
    """
    if field.errors is None:
        return bool(field.weights.any())
    if not field.errors.all():
        return bool(field.weights.any())
    squares = (field.weights / field.errors) ** 2
    return float(squares.mean()) > 1 + 3 * math.sqrt(2 / squares.size)


def _ceiling(field: ReceptiveField, colour: ColourWeights, profile: Profile) -> float:
    """Return the share of a profile's squares that is not due to the errors of the weights."""
    if field.errors is None:
        return 1.0
    errors = (in_light(field, field.errors) ** 2).sum(axis=(1, 2))
    of_errors = float(np.asarray(colour.rgb) ** 2 @ errors)
    return max(0.01, 1 - of_errors / float((profile.values**2).sum()))

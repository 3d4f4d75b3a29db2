"""Manipulations of pictures, by name; a new one is a module beside this and a line in it."""

from fechner.errors import UnknownNameError
from fechner.stimuli.manipulations.added_noise import BAND_NOISE, UNIFORM_NOISE
from fechner.stimuli.manipulations.base import Manipulation, OfPixels
from fechner.stimuli.manipulations.blur import BLUR
from fechner.stimuli.manipulations.corrupted_digital import (
    C_BRIGHTNESS,
    C_CONTRAST,
    C_ELASTIC,
    C_JPEG,
    C_PIXELATE,
    C_SATURATE,
)
from fechner.stimuli.manipulations.corrupted_focus import (
    C_DEFOCUS_BLUR,
    C_GAUSSIAN_BLUR,
    C_GLASS_BLUR,
    C_MOTION_BLUR,
    C_ZOOM_BLUR,
)
from fechner.stimuli.manipulations.corrupted_noise import (
    C_GAUSSIAN_NOISE,
    C_IMPULSE_NOISE,
    C_SHOT_NOISE,
    C_SPECKLE_NOISE,
)
from fechner.stimuli.manipulations.corrupted_weather import C_FOG, C_FROST, C_SNOW, C_SPATTER
from fechner.stimuli.manipulations.enhancement import (
    BRIGHTNESS_DOWN,
    BRIGHTNESS_UP,
    CONTRAST_DOWN,
    CONTRAST_UP,
    SHARPNESS_DOWN,
    SHARPNESS_UP,
)
from fechner.stimuli.manipulations.geometry import (
    ROTATION_DOWN,
    ROTATION_UP,
    SCALE_DOWN,
    SCALE_UP,
)
from fechner.stimuli.manipulations.occlusion import OCCLUSION
from fechner.stimuli.manipulations.passbands import HIGH_PASS, LOW_PASS
from fechner.stimuli.manipulations.phase import PHASE_SCRAMBLE
from fechner.stimuli.manipulations.salt_pepper import SALT_PEPPER

#: Those of RichardWebster et al. (2018), in the paper's order.
PUBLISHED: tuple[OfPixels, ...] = (
    BLUR,
    OCCLUSION,
    SALT_PEPPER,
    BRIGHTNESS_UP,
    BRIGHTNESS_DOWN,
    CONTRAST_UP,
    CONTRAST_DOWN,
    SHARPNESS_UP,
    SHARPNESS_DOWN,
)

#: ImageNet-C: the 15 and, after them, the four that were set aside for validation.
IMAGENET_C: tuple[OfPixels, ...] = (
    C_GAUSSIAN_NOISE,
    C_SHOT_NOISE,
    C_IMPULSE_NOISE,
    C_DEFOCUS_BLUR,
    C_GLASS_BLUR,
    C_MOTION_BLUR,
    C_ZOOM_BLUR,
    C_SNOW,
    C_FROST,
    C_FOG,
    C_BRIGHTNESS,
    C_CONTRAST,
    C_ELASTIC,
    C_PIXELATE,
    C_JPEG,
    C_SPECKLE_NOISE,
    C_GAUSSIAN_BLUR,
    C_SPATTER,
    C_SATURATE,
)

_ALL: tuple[OfPixels, ...] = (
    *PUBLISHED,
    ROTATION_UP,
    ROTATION_DOWN,
    SCALE_UP,
    SCALE_DOWN,
    LOW_PASS,
    HIGH_PASS,
    PHASE_SCRAMBLE,
    BAND_NOISE,
    UNIFORM_NOISE,
    *IMAGENET_C,
)

#: All manipulations of pixels, by name.
MANIPULATIONS: dict[str, Manipulation] = {each.name: each for each in _ALL}


def manipulation(name: str) -> Manipulation:
    """Return a manipulation by name.

    Examples
    --------
    >>> manipulation("blur").axis
    'standard deviation (px)'
    """
    if name not in MANIPULATIONS:
        hint = "see fechner.stimuli.manipulations.MANIPULATIONS for all"
        raise UnknownNameError("manipulation", name, MANIPULATIONS, hint)
    return MANIPULATIONS[name]


__all__ = ["IMAGENET_C", "MANIPULATIONS", "PUBLISHED", "Manipulation", "OfPixels", "manipulation"]

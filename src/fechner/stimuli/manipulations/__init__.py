"""Manipulations of pictures, by name; a new one is a function in a module beside this, and a line.

`PUBLISHED` are those of RichardWebster et al. (2018), `IMAGENET_C` those of Hendrycks & Dietterich
(2019).
"""

from fechner.errors import UnknownNameError
from fechner.stimuli.manipulations import blur, geometry, noise, spectra, tone
from fechner.stimuli.manipulations.base import Manipulation, pixel_manipulation

_ALL: tuple[Manipulation, ...] = (
    blur.blur,
    geometry.occlusion,
    noise.SALT_PEPPER,
    tone.BRIGHTNESS_UP,
    tone.BRIGHTNESS_DOWN,
    tone.CONTRAST_UP,
    tone.CONTRAST_DOWN,
    tone.SHARPNESS_UP,
    tone.SHARPNESS_DOWN,
    geometry.ROTATION_UP,
    geometry.ROTATION_DOWN,
    geometry.SCALE_UP,
    geometry.SCALE_DOWN,
    spectra.low_pass,
    spectra.high_pass,
    spectra.phase_scramble,
    noise.BAND_NOISE,
    noise.uniform_noise,
    noise.gaussian_noise,
    noise.shot_noise,
    noise.impulse_noise,
    blur.defocus_blur,
    blur.glass_blur,
    blur.motion_blur,
    blur.zoom_blur,
    noise.snow,
    noise.frost,
    noise.fog,
    tone.value,
    tone.contrast_per_channel,
    geometry.elastic,
    geometry.pixelate,
    tone.jpeg,
    noise.speckle_noise,
    blur.gaussian_blur,
    noise.spatter,
    tone.saturation,
)

#: Those of RichardWebster et al. (2018), in the paper's order.
PUBLISHED = _ALL[:9]

#: ImageNet-C: the 15 and, after them, the four that were set aside for validation.
IMAGENET_C = tuple(each for each in _ALL if each.reference == "hendrycks_dietterich2019")

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


__all__ = [
    "IMAGENET_C",
    "MANIPULATIONS",
    "PUBLISHED",
    "Manipulation",
    "manipulation",
    "pixel_manipulation",
]

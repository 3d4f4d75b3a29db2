"""What a person's screen shows of another display.

Encoded values mean other colours on other displays: the light of a display with its own primaries
and exponents is turned into values for an sRGB screen. White of the display is white of the screen
in luminance; on HDR displays, the reference white of ITU-R BT.2408 is. What looks grey on the
display is grey on the screen, by scaling cone responses (von Kries).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fechner.stimuli import Display, Frames
from fechner.stimuli.colour import (
    D65_XYZ,
    SRGB_TO_XYZ,
    XYZ_TO_LMS2006,
    Matrix,
    Triple,
    as_matrix,
    as_triple,
    inverse,
    transform,
)

if TYPE_CHECKING:
    from torch import Tensor

#: What is said of pictures that are not what the display was sent.
OTHER_SCREEN = (
    "for an sRGB screen: white is the display's, 203 cd/m2 at most; grey is neutral, and what is "
    "beyond the screen is cut"
)

#: Luminance of HDR reference white (ITU-R BT.2408).
_REFERENCE_WHITE_CDM2 = 203.0


def shows_srgb(display: Display) -> bool:
    """Whether a display shows what any screen shows of the same values.

    Examples
    --------
    >>> from fechner.stimuli import display
    >>> shows_srgb(display("metrics-published")), shows_srgb(display("decalogue"))
    (True, False)
    """
    return display.eotf == "srgb" and display.primaries == "bt709"


def adaptation(grey_xyz: Triple) -> Matrix:
    """Return what turns XYZ seen by somebody adapted to a grey into XYZ on a D65 screen.

    Examples
    --------
    >>> (transform(adaptation((2.0, 2.0, 2.0)), (1.0, 1.0, 1.0)) / D65_XYZ).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    grey = np.asarray(grey_xyz) / grey_xyz[1]
    cones, wanted = (transform(XYZ_TO_LMS2006, each) for each in (grey, D65_XYZ))
    scaled = (wanted / cones)[:, None] * np.asarray(XYZ_TO_LMS2006)
    return as_matrix(np.asarray(inverse(XYZ_TO_LMS2006)) @ scaled)


def on_screen(frames: Frames, grey_xyz: Triple | None = None) -> Tensor:
    """Return values for an sRGB screen, 0..1, that look as the frames do on their display.

    Parameters
    ----------
    grey_xyz
        What looks grey on the display; None takes its white.
    """
    import torch

    display = frames.display
    if frames.light == "display" and shows_srgb(display):
        return frames.pixels
    white = as_triple(np.sum(display.rgb_to_xyz, axis=1))
    matrix = (
        np.asarray(inverse(SRGB_TO_XYZ))
        @ np.asarray(adaptation(grey_xyz or white))
        @ np.asarray(display.rgb_to_xyz)
    )
    light = frames.cdm2() / min(display.peak_cdm2, _REFERENCE_WHITE_CDM2)
    linear = torch.einsum("ij,njhw->nihw", light.new_tensor(matrix), light)
    return Display("screen", peak_cdm2=1.0).encode(linear)

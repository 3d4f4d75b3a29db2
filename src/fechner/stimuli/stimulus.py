"""A stimulus: background + sum of contrast x pattern x direction, in linear light.

And whether a display can show it, and up to which contrast, pixel by pixel. `gamut_limit` answers
for patterns between -1 and 1 without drawing them. Noise goes beyond, and where several layers are
added it matters whether their peaks meet, so here they are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fechner.stimuli.colour import Triple
from fechner.stimuli.display import Display
from fechner.stimuli.field import Field
from fechner.stimuli.patterns import Pattern, drawn


@dataclass(frozen=True)
class Flicker:
    """A sine over time: sin(2 pi f t + phase); ``phase_deg=90`` is a cosine.

    Examples
    --------
    >>> Flicker(8.0, phase_deg=90)(0.0)
    1.0
    """

    frequency_hz: float
    phase_deg: float = 0.0

    def __call__(self, time_s: float) -> float:
        """Return the value at a time."""
        return math.sin(2 * math.pi * self.frequency_hz * time_s + math.radians(self.phase_deg))


@dataclass(frozen=True)
class Layer:
    """One pattern along one direction: ``modulation_xyz`` is what contrast 1 adds at its peak.

    Parameters
    ----------
    flicker
        How its contrast goes over time; None is steady.
    """

    pattern: Pattern
    modulation_xyz: Triple
    contrast: float
    flicker: Flicker | None = None

    def at(self, time_s: float) -> Layer:
        """Return the steady layer that it is for a moment."""
        if self.flicker is None:
            return self
        return replace(self, contrast=self.contrast * self.flicker(time_s), flicker=None)


@dataclass(frozen=True)
class Stimulus:
    """A recipe without pixels: a uniform background and the layers that modulate it.

    Parameters
    ----------
    overlay
        What is added after both were encoded for a display, less its mean. Light does not add up
        like that; it is for stimuli that were published so.

    Examples
    --------
    >>> from fechner.stimuli import OPPONENT, Gabor
    >>> gabor = Layer(Gabor(4.0, sigma_deg=0.5), OPPONENT.modulation_xyz("ach", 40), contrast=0.1)
    >>> round(Stimulus(OPPONENT.background_xyz(40), (gabor,)).background_xyz[1], 6)
    40.0
    """

    background_xyz: Triple
    layers: tuple[Layer, ...] = ()
    overlay: Stimulus | None = None

    def at(self, time_s: float) -> Stimulus:
        """Return the still picture that it is for a moment.

        Examples
        --------
        >>> from fechner.stimuli import Grating
        >>> disk = Layer(Grating(1.0), (1.0, 1.0, 1.0), 0.5, Flicker(8.0))
        >>> round(Stimulus((9.5, 10.0, 10.9), (disk,)).at(1 / 32).layers[0].contrast, 6)
        0.5
        """
        return replace(self, layers=tuple(layer.at(time_s) for layer in self.layers))


Floats = NDArray[np.float64]


def fits_gamut(stimulus: Stimulus, field: Field, display: Display) -> bool:
    """Say whether every pixel of a still stimulus can be shown as meant.

    Examples
    --------
    >>> from fechner.stimuli import ATD, OrientedNoise, display
    >>> screen, field = display("decalogue"), Field.of(degrees=2, ppd=64)
    >>> red_green = ATD.modulation_xyz("rg", 40.0)
    >>> for contrast in (0.05, 0.3):
    ...     layer = Layer(OrientedNoise(6.0), red_green, contrast)
    ...     fits_gamut(Stimulus(ATD.background_xyz(40.0), (layer,)), field, screen)
    True
    False
    """
    low, high = _range(display)
    light = asked_light(stimulus, field, display)
    return bool(light.min() >= low and light.max() <= high)


def contrast_limit(reference: Stimulus, target: Layer, field: Field, display: Display) -> float:
    """Return the highest contrast of a target, added to a reference, that can be shown as meant.

    Its own contrast does not matter. Minus infinity where the reference itself, background and
    masks, cannot be shown, so that no contrast is below it.

    Examples
    --------
    >>> from fechner.stimuli import ATD, Grating, display
    >>> grey = Stimulus(ATD.background_xyz(40.0))
    >>> grating = Layer(Grating(4.0, phase_deg=90), ATD.modulation_xyz("yb", 40.0), 1.0)
    >>> round(contrast_limit(grey, grating, Field.of(pixels=65, ppd=64), display("decalogue")), 4)
    0.3602
    """
    low, high = _range(display)
    light = asked_light(reference, field, display)
    if light.min() < low or light.max() > high:
        return -math.inf
    full = Layer(target.pattern, target.modulation_xyz, 1.0)
    added = asked_light(Stimulus((0.0, 0.0, 0.0), (full,)), field, display)
    room = np.where(added > 0, high - light, light - low)
    changes = added != 0
    return float((room[changes] / np.abs(added[changes])).min(initial=np.inf))


def _range(display: Display) -> tuple[float, float]:
    """Return what a display can show; missing it by a millionth of the peak is rounding."""
    low, high = display.limits_cdm2()
    return low - 1e-6 * high, high + 1e-6 * high


def asked_light(stimulus: Stimulus, field: Field, display: Display) -> Floats:
    """Return linear RGB as asked for, [3, h, w], before the display cuts any of it.

    Examples
    --------
    >>> from fechner.stimuli import display
    >>> light = asked_light(Stimulus((40.0, 40.0, 40.0)), Field.of(pixels=2, ppd=64),
    ...                     display("encoders"))
    >>> light[:, 0, 0].round(1).tolist()
    [48.2, 37.9, 36.4]
    """
    background = np.asarray(display.linear_rgb(stimulus.background_xyz))
    light: Floats = background[:, None, None] + np.zeros((3, field.height_px, field.width_px))
    for layer in stimulus.layers:
        modulation = layer.contrast * np.asarray(display.linear_rgb(layer.modulation_xyz))
        light = light + modulation[:, None, None] * drawn(layer.pattern, field).numpy()
    return light

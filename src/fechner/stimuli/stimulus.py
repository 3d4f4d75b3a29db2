"""A stimulus: background + sum of contrast x pattern x direction, in linear light."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from fechner.stimuli.colour import Triple
from fechner.stimuli.patterns import Pattern


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

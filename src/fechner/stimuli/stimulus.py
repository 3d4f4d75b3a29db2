"""A stimulus: background + sum of contrast x pattern x direction, in linear light."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np

from fechner.stimuli.colour import Triple
from fechner.stimuli.display import Display
from fechner.stimuli.field import Field
from fechner.stimuli.patterns import Pattern

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: ``display``: encoded values as in a picture file, 0..1; ``cdm2``: linear RGB in cd/m2.
Light = Literal["display", "cdm2"]


@dataclass(frozen=True)
class Layer:
    """One pattern along one direction: ``modulation_xyz`` is what contrast 1 adds at its peak."""

    pattern: Pattern
    modulation_xyz: Triple
    contrast: float


@dataclass(frozen=True)
class Stimulus:
    """A recipe without pixels: a uniform background and the layers that modulate it."""

    background_xyz: Triple
    layers: tuple[Layer, ...] = ()


@dataclass(frozen=True)
class Frames:
    """Pixels with what they mean.

    Parameters
    ----------
    pixels
        [n, 3, h, w].
    light
        Whether the pixels are display-encoded or cd/m2.
    """

    pixels: Tensor
    field: Field
    display: Display
    light: Light

    def __len__(self) -> int:
        return len(self.pixels)

    def luminance(self) -> Tensor:
        """Return luminance in cd/m2, [n, h, w]."""
        linear = self.pixels if self.light == "cdm2" else self.display.decode(self.pixels)
        weights = linear.new_tensor(self.display.rgb_to_xyz[1])
        return (linear * weights[:, None, None]).sum(dim=1)


def paint(
    stimuli: Sequence[Stimulus],
    field: Field,
    display: Display,
    *,
    light: Light = "display",
    dtype: torch.dtype | None = None,
    device: str = "cpu",
) -> Frames:
    """Paint stimuli on a display.

    Neighbours that differ in contrast only share their drawn patterns: the contrast axis
    is one multiply-add.

    Examples
    --------
    >>> from fechner.stimuli import Field, Stimulus, display
    >>> grey = Stimulus(background_xyz=(95.047, 100.0, 108.883))
    >>> frames = paint([grey], Field.of(pixels=4, ppd=60), display("encoders"), light="cdm2")
    >>> round(float(frames.luminance()[0, 0, 0]), 3)
    100.0
    """
    import torch

    dtype = dtype or torch.float32
    shape = (len(stimuli), 3, field.height_px, field.width_px)
    pixels = torch.empty(shape, dtype=dtype, device=device)
    start = 0
    for recipe, group in groupby(stimuli, key=_without_contrast):
        contrasts = np.array([[layer.contrast for layer in stimulus.layers] for stimulus in group])
        part = pixels[start : start + len(contrasts)]
        start += len(contrasts)
        part.copy_(pixels.new_tensor(display.linear_rgb(recipe.background_xyz))[:, None, None])
        for index, layer in enumerate(recipe.layers):
            basis = _basis(layer, field, display, dtype, device)
            part.addcmul_(pixels.new_tensor(contrasts[:, index])[:, None, None, None], basis)
    shown = display.encode(pixels) if light == "display" else display.show(pixels)
    return Frames(shown, field, display, light)


def _without_contrast(stimulus: Stimulus) -> Stimulus:
    layers = tuple(Layer(layer.pattern, layer.modulation_xyz, 1.0) for layer in stimulus.layers)
    return Stimulus(stimulus.background_xyz, layers)


@lru_cache(maxsize=8)
def _basis(
    layer: Layer, field: Field, display: Display, dtype: torch.dtype, device: str
) -> Tensor:
    """Return what one unit of contrast adds to each pixel, [3, h, w]."""
    pattern = layer.pattern.draw(field, device)
    direction = pattern.new_tensor(display.linear_rgb(layer.modulation_xyz))
    drawn = direction[:, None, None] * pattern
    return drawn.to(dtype).expand(3, field.height_px, field.width_px)

"""A stimulus: background + sum of contrast x pattern x direction, in linear light."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from fechner.errors import GamutError
from fechner.stimuli.colour import Triple
from fechner.stimuli.display import Display
from fechner.stimuli.field import Field
from fechner.stimuli.patterns import Pattern

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: ``display``: encoded values as in a picture file, 0..1; ``cdm2``: linear RGB in cd/m2.
Light = Literal["display", "cdm2"]

_FEW_VALUES = 1 << 18


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
    strict: bool = False,
) -> Frames:
    """Paint stimuli on a display.

    Neighbours that differ in contrast only share their drawn patterns: the contrast axis
    is one multiply-add. Light that the display cannot show is cut, and frequencies that the pixels
    cannot hold alias, as they would; with ``strict=True`` both raise a `GamutError` instead.

    Examples
    --------
    >>> from fechner.stimuli import Field, Stimulus, display
    >>> grey = Stimulus(background_xyz=(95.047, 100.0, 108.883))
    >>> frames = paint([grey], Field.of(pixels=4, ppd=60), display("encoders"), light="cdm2")
    >>> round(float(frames.luminance()[0, 0, 0]), 3)
    100.0
    """
    import torch

    if not stimuli:
        raise ValueError("there is nothing to paint: give at least one stimulus.")
    if light not in get_args(Light):
        raise ValueError(f"light is one of {', '.join(get_args(Light))}, not '{light}'.")
    dtype = dtype or torch.float32
    # Grey pictures on a neutral display are painted in one channel.
    channels = (
        1
        if all(_is_grey(stimulus, display) for stimulus in set(map(_without_contrast, stimuli)))
        else 3
    )
    shape = (len(stimuli), channels, field.height_px, field.width_px)
    pixels = torch.empty(shape, dtype=dtype, device=device)
    start = 0
    for recipe, group in groupby(stimuli, key=_without_contrast):
        contrasts = np.array([[layer.contrast for layer in stimulus.layers] for stimulus in group])
        part = pixels[start : start + len(contrasts)]
        start += len(contrasts)
        background = display.linear_rgb(recipe.background_xyz)[:channels]
        part.copy_(pixels.new_tensor(background)[:, None, None])
        for index, layer in enumerate(recipe.layers):
            basis = _basis(layer, field, display, dtype, device)[:channels]
            part.addcmul_(pixels.new_tensor(contrasts[:, index])[:, None, None, None], basis)
    if strict:
        _check_gamut(pixels, display)
        _check_frequencies(stimuli, field)
    show = display.encode_ if light == "display" else display.show
    # A few frames at a time: what is computed in between stays in cache and is soon reused.
    few = max(1, _FEW_VALUES // pixels[0].numel())
    for first in range(0, len(pixels), few):
        part = pixels[first : first + few]
        shown = show(part)
        if shown.data_ptr() != part.data_ptr():
            part.copy_(shown)
    return Frames(pixels.expand(-1, 3, -1, -1).contiguous(), field, display, light)


def _check_gamut(pixels: Tensor, display: Display) -> None:
    low, high = display.limits_cdm2()
    slack = 1e-6 * high
    outside = ((pixels < low - slack) | (pixels > high + slack)).flatten(1).any(dim=1)
    if outside.any():
        raise GamutError(
            f"{int(outside.sum())} of {len(pixels)} stimuli ask for light outside "
            f"{low:g}-{high:g} cd/m2 of display '{display.name}' (first: number "
            f"{int(outside.nonzero()[0])}); lower the contrast, `gamut_limit` gives the largest."
        )


def _check_frequencies(stimuli: Sequence[Stimulus], field: Field) -> None:
    highest = max(
        (layer.pattern.highest_cpd for stimulus in stimuli for layer in stimulus.layers), default=0
    )
    if highest > field.nyquist_cpd:
        raise GamutError(
            f"{highest:g} cpd is above the {field.nyquist_cpd:g} cpd that {field.ppd:g} pixels per "
            "degree can hold; raise the ppd or lower the frequency."
        )


def _without_contrast(stimulus: Stimulus) -> Stimulus:
    layers = tuple(Layer(layer.pattern, layer.modulation_xyz, 1.0) for layer in stimulus.layers)
    return Stimulus(stimulus.background_xyz, layers)


@lru_cache(maxsize=64)
def _is_grey(recipe: Stimulus, display: Display) -> bool:
    """Say whether R = G = B in all pixels, light and encoded."""
    colours = [recipe.background_xyz, *(layer.modulation_xyz for layer in recipe.layers)]
    rgb = display.linear_rgb(np.array(colours))
    neutral = display.eotf != "gamma" or len(set(display.gamma)) == 1
    return neutral and bool((np.ptp(rgb, axis=1) <= 1e-6 * np.abs(rgb).max(axis=1)).all())


@lru_cache(maxsize=8)
def _basis(layer: Layer, field: Field, display: Display, dtype: torch.dtype, device: str) -> Tensor:
    """Return what one unit of contrast adds to each pixel, [3, h, w]."""
    pattern = drawn(layer.pattern, field, device)
    direction = pattern.new_tensor(display.linear_rgb(layer.modulation_xyz))
    basis = direction[:, None, None] * pattern
    return basis.to(dtype).expand(3, field.height_px, field.width_px)


@lru_cache(maxsize=8)
def drawn(pattern: Pattern, field: Field, device: str = "cpu") -> Tensor:
    """Draw a pattern, or remember it; [h, w]."""
    return pattern.draw(field, device).expand(field.height_px, field.width_px)

"""Weather of ImageNet-C: snow, frost, fog, and spatter of water or mud."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import corruption, normal, over_pixels, parameter, uniform
from fechner.stimuli.manipulations.blur import blurred, trails
from fechner.stimuli.manipulations.geometry import zoomed
from fechner.stimuli.manipulations.spectra import (
    convolve,
    filtered_noise,
    fourier_frequencies,
    fractal_noise,
)
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor

_SNOW_MEAN = (0.1, 0.2, 0.55, 0.55, 0.55)
_SNOW_SD = 0.3
_SNOW_ZOOM = (3.0, 2.0, 4.0, 4.5, 2.5)
_SNOW_FROM = (0.5, 0.5, 0.9, 0.85, 0.85)
_SNOW_RADIUS_PX = (10.0, 12.0, 12.0, 12.0, 12.0)
_SNOW_SIGMA_PX = (4.0, 4.0, 8.0, 8.0, 12.0)
_SNOW_CLEAR = (0.8, 0.7, 0.7, 0.65, 0.55)

_FROST_PICTURE = (1.0, 0.8, 0.7, 0.65, 0.6)
_FROST_ICE = (0.4, 0.6, 0.7, 0.7, 0.75)
#: Its colour, from dark to bright.
_ICE = ((0.10, 0.16, 0.24), (0.93, 0.97, 1.0))

_FOG = (1.5, 2.0, 2.5, 2.5, 3.0)
#: By how much each octave of the fog's texture is weaker than the one below it.
_FOG_DECAY = (2.0, 2.0, 1.7, 1.5, 1.4)

_SPATTER_MEAN = (0.65, 0.65, 0.65, 0.65, 0.67)
_SPATTER_SD = (0.3, 0.3, 0.3, 0.3, 0.4)
_SPATTER_SIGMA_PX = (4.0, 3.0, 2.0, 1.0, 1.0)
_SPATTER_FROM = (0.69, 0.68, 0.68, 0.65, 0.65)
_WATER = (0.6, 0.6, 0.5, 0.0, 0.0)
_WATER_COLOUR = (175 / 255, 238 / 255, 238 / 255)
_MUD = (0.0, 0.0, 0.0, 1.0, 1.0)
_MUD_COLOUR = (63 / 255, 42 / 255, 20 / 255)
_MUD_SIGMA_PX = 1.5
_MUD_FROM = 0.8


@corruption("c-snow", "Snow", "is seen through falling snow", random=True)
def snow(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Let flakes fall in streaks before a whitened picture."""
    import torch

    height, width = pixels.shape[-2:]
    # Below severity 1 there are its flakes, only fainter.
    at = levels.clamp(min=1)
    flakes = normal(seeds, "c-snow", (1, height, width), pixels).mul_(_SNOW_SD)
    flakes = flakes + over_pixels(parameter(at, _SNOW_MEAN, 0))
    zoom = parameter(at, _SNOW_ZOOM, 1)
    flakes = zoomed(flakes, zoom)
    cut = over_pixels(parameter(at, _SNOW_FROM, 0))
    flakes = torch.where(flakes < cut, torch.zeros_like(flakes), flakes.clamp(0, 1))
    angle = (uniform(seeds, "c-snow angle", (1,), pixels)[:, 0] + 0.5) * (math.pi / 2)
    radius, sigma = parameter(at, _SNOW_RADIUS_PX, 0), parameter(at, _SNOW_SIGMA_PX, 0)
    flakes = convolve(flakes, trails(radius, sigma, angle)).clamp(min=0)
    flakes = flakes * over_pixels(levels.clamp(max=1))
    clear = over_pixels(parameter(levels, _SNOW_CLEAR, 1))
    grey = (pixels * pixels.new_tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, True)
    whitened = torch.maximum(pixels, grey * 1.5 + 0.5)
    return clear * pixels + (1 - clear) * whitened + flakes + flakes.flip(2, 3)


@corruption(
    "c-frost",
    "Frost",
    "is seen through ice on a window, mixed as in ImageNet-C at this severity; the ice is "
    "procedural",
    random=True,
)
def frost(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Put ice on a window.

    The ice is made of noise: needles in three directions, where another noise lets them grow.
    """
    height, width = pixels.shape[-2:]
    texture = ice(seeds, (height, width), pixels)[:, None]
    dark, bright = (pixels.new_tensor(colour)[:, None, None] for colour in _ICE)
    shown = dark + texture * (bright - dark)
    picture = over_pixels(parameter(levels, _FROST_PICTURE, 1))
    return picture * pixels + over_pixels(parameter(levels, _FROST_ICE, 0)) * shown


def ice(seeds: Sequence[Seed], size: tuple[int, int], like: Tensor) -> Tensor:
    """Return the texture of ice, from 0 to 1, [n, h, w]."""
    import torch

    height, width = size
    radius = fourier_frequencies(height, width, like).clamp(min=1 / max(size))
    fy = torch.fft.fftfreq(height, dtype=torch.float64, device=like.device)[:, None]
    fx = torch.fft.rfftfreq(width, dtype=torch.float64, device=like.device)[None, :]
    angle = torch.atan2(fy, fx)
    turn = uniform(seeds, "frost turn", (1,), like)[:, 0].double() * math.pi
    needles = like.new_zeros(len(seeds), height, width)
    for number in range(3):
        across = angle - (turn + number * math.pi / 3)[:, None, None]
        gains = torch.exp(40 * (torch.cos(across).square() - 1)) / radius.sqrt()
        noise = filtered_noise(seeds, f"frost {number}", size, gains, like)
        # Ridges: bright where the noise goes through 0.
        needles = torch.maximum(needles, torch.exp(-8 * noise.abs()))
    powers = like.new_full((len(seeds),), 1.8)
    grown = torch.sigmoid(2.5 * fractal_noise(seeds, "frost growth", size, powers, like))
    rough = 0.12 * fractal_noise(seeds, "frost grain", size, powers * 0.5, like)
    return (grown * (0.35 + 0.65 * needles) + rough).clamp(0, 1)


@corruption("c-fog", "Fog", "is seen through fog", random=True)
def fog(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add fractal noise, and lower contrast so that the brightest value stays."""
    size = (pixels.shape[-2], pixels.shape[-1])
    # An octave of two dimensions has as much amplitude as a fall by the power 1 leaves it.
    decay = parameter(levels, _FOG_DECAY, 2)
    noise = fractal_noise(seeds, "c-fog", size, 1 + decay.log2(), pixels)
    lowest, highest = noise.amin((1, 2), keepdim=True), noise.amax((1, 2), keepdim=True)
    texture = ((noise - lowest) / (highest - lowest).clamp(min=1e-6))[:, None]
    fog = over_pixels(parameter(levels, _FOG, 0))
    brightest = pixels.amax(dim=(1, 2, 3), keepdim=True)
    return (pixels + fog * texture) * brightest / (brightest + fog)


@corruption("c-spatter", "Spatter", "is spattered with water, then with mud", random=True)
def spatter(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add drops of water up to severity 3, mud from 4 on; in between one gives way."""
    height, width = pixels.shape[-2:]
    # Below severity 1 there are its drops, only fainter.
    at = levels.clamp(min=1)
    liquid = normal(seeds, "c-spatter", (1, height, width), pixels)
    sigma, spread = parameter(at, _SPATTER_SIGMA_PX, 0), parameter(at, _SPATTER_SD, 0)
    liquid = blurred(liquid, sigma) * over_pixels(spread)
    above = liquid + over_pixels(parameter(at, _SPATTER_MEAN, 0) - parameter(at, _SPATTER_FROM, 0))
    # What is left of the noise's standard deviation after the blur.
    depth = over_pixels(spread / (2 * sigma * math.sqrt(math.pi)))
    drops = (above / depth).clamp(0, 1)
    mud = blurred((above > 0).to(pixels.dtype), sigma * 0 + _MUD_SIGMA_PX)
    mud = mud * (mud >= _MUD_FROM) * over_pixels(parameter(levels, _MUD, 0))
    # Drops are lit from one side.
    light = drops * 0.4 + (drops - drops.roll((2, 2), (2, 3))) * 0.6
    water = over_pixels(parameter(levels, _WATER, 0)) * light
    clear, brown = (
        pixels.new_tensor(colour)[:, None, None] for colour in (_WATER_COLOUR, _MUD_COLOUR)
    )
    wet = (pixels + water * clear).clamp(0, 1)
    return wet * (1 - mud) + brown * mud

"""Noise, and weather that is made of it.

Salt and pepper, uniform noise and noise in a band of frequencies; and of ImageNet-C four kinds of
noise, snow, frost, fog, and spatter of water or mud.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import (
    Manipulation,
    as_uniform,
    corruption,
    hashes,
    normal,
    over_pixels,
    parameter,
    pixel_manipulation,
    uniform,
)
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

_GAUSSIAN_SD = (0.08, 0.12, 0.18, 0.26, 0.38)
_SPECKLE_SD = (0.15, 0.2, 0.35, 0.45, 0.6)
_IMPULSES = (0.03, 0.06, 0.09, 0.17, 0.27)
#: What one photon counts; white is so many photons that they add up to 1.
_PHOTON = tuple(1 / photons for photons in (60, 25, 12, 5, 3))

#: Below so many photons they are counted one by one, up to so many.
_FEW_PHOTONS = 6.0
_COUNTED = 26


@dataclass(frozen=True, kw_only=True)
class SaltPepper(Manipulation):
    """Pixels that are white or black, either as likely; the level is scikit-image's ``amount``.

    Pixels that are changed at one level are changed in the same way at all higher ones.

    Parameters
    ----------
    per_channel
        Whether each channel of a pixel has a chance of its own, which makes coloured dots, as
        scikit-image does with colour pictures.
    """

    name: str = "salt-pepper"
    title: str = "Salt and pepper"
    axis: str = "changed part of the pixels"
    reference: str = "richardwebster2018"
    range: tuple[float, float] = (0.002, 1.0)
    words: str = (
        "has white and black pixels, either as likely, in random places: the level is the part of "
        "all pixels"
    )
    random: bool = True
    most: float = 1.0
    per_channel: bool = False

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Change pixels here and there."""
        return salt_and_pepper(pixels, levels, seeds, self.per_channel)


def salt_and_pepper(
    pixels: Tensor, parts: Tensor, seeds: Sequence[Seed], per_channel: bool
) -> Tensor:
    """Make a part of all pixels, or of all values, white or black."""
    import torch

    channels, height, width = pixels.shape[1:]
    shape = (channels if per_channel else 1, height, width)
    bits = hashes(seeds, "salt and pepper", shape, pixels.device)
    changed = as_uniform(bits, pixels) < over_pixels(parts)
    salt = bits.bitwise_and_(1).to(pixels.dtype)
    return torch.where(changed, salt, pixels)


SALT_PEPPER = SaltPepper()


@pixel_manipulation(
    "uniform-noise",
    title="Uniform noise",
    axis="half width (of the range from black to white)",
    reference="geirhos2018",
    range=(0.01, 5.0),
    words="has grey noise added to it, for each pixel even between minus and plus the level, where "
    "1 is from black to white; what leaves these is cut",
    random=True,
)
def uniform_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add white noise, even between minus and plus the level."""
    noise = uniform(seeds, "uniform noise", (1, *pixels.shape[-2:]), pixels).mul_(2).sub_(1)
    return pixels + noise.mul_(over_pixels(levels))


@dataclass(frozen=True, kw_only=True)
class NoiseInBand(Manipulation):
    """Gaussian noise in a ring of frequencies with hard edges; what leaves 0..1 is cut.

    Parameters
    ----------
    centre
        In cycles per width of the picture.
    octaves
        Width of the ring; by default that of the channel by which people recognise objects.
    """

    name: str = "band-noise"
    title: str = "Noise in a band"
    axis: str = "rms (of the range from black to white)"
    reference: str = "subramanian2023"
    range: tuple[float, float] = (0.005, 2.0)
    words: str = (
        "has grey Gaussian noise added to it, in the octave around 16 cycles per width, whose root "
        "mean square is the level, where 1 is from black to white; what leaves these is cut"
    )
    random: bool = True
    centre: float = 16.0
    octaves: float = 1.0

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Add noise."""
        height, width = pixels.shape[-2:]
        frequency = fourier_frequencies(height, width, pixels) * width
        half = 2 ** (self.octaves / 2)
        kept = (frequency >= self.centre / half) & (frequency <= self.centre * half)
        noise = filtered_noise(seeds, "band noise", (height, width), kept, pixels)
        return pixels + (noise * levels[:, None, None])[:, None]


BAND_NOISE = NoiseInBand()


@corruption(
    "c-gaussian-noise", "Gaussian noise", "has Gaussian noise added to each channel", random=True
)
def gaussian_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add Gaussian noise."""
    noise = normal(seeds, "c-gaussian-noise", tuple(pixels.shape[1:]), pixels)
    return pixels + noise.mul_(over_pixels(parameter(levels, _GAUSSIAN_SD, 0)))


@corruption(
    "c-speckle-noise",
    "Speckle noise",
    "has Gaussian noise added to each channel in proportion to its value",
    random=True,
)
def speckle_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Add Gaussian noise in proportion to the pixel."""
    noise = normal(seeds, "c-speckle-noise", tuple(pixels.shape[1:]), pixels)
    return pixels * (1 + noise.mul_(over_pixels(parameter(levels, _SPECKLE_SD, 0))))


@corruption(
    "c-impulse-noise",
    "Impulse noise",
    "has values set to black or white at random in each channel",
    random=True,
)
def impulse_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Set values to black or white, in each channel apart."""
    return salt_and_pepper(pixels, parameter(levels, _IMPULSES, 0), seeds, per_channel=True)


@corruption(
    "c-shot-noise", "Shot noise", "is seen by few photons", random=True, differentiable=False
)
def shot_noise(pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
    """Count photons: whole numbers, so that they have no gradient."""
    chance = uniform(seeds, "c-shot-noise", tuple(pixels.shape[1:]), pixels)
    photon = over_pixels(parameter(levels, _PHOTON, 0))
    return poisson(pixels / photon, chance) * photon


def poisson(means: Tensor, chances: Tensor) -> Tensor:
    """Return Poisson numbers: the quantiles of uniform numbers.

    Large ones by the expansion of Cornish & Fisher (1938), which is off by one in few cases.

    Examples
    --------
    >>> import torch
    >>> poisson(torch.tensor([1.0, 100.0]), torch.tensor([0.5, 0.9772])).tolist()
    [1.0, 120.0]
    """
    import torch

    means = means.detach()
    few = means.clamp(max=_FEW_PHOTONS)
    term = torch.exp(-few)
    total = term.clone()
    counted = torch.zeros_like(means)
    for number in range(1, _COUNTED + 1):
        counted += chances > total
        term.mul_(few).div_(number)
        total += term
    z = torch.erfinv(2 * chances - 1) * math.sqrt(2)
    spread = means.clamp(min=_FEW_PHOTONS).sqrt()
    large = means + spread * z + (z.square() - 1) / 6 + z * (1 - z.square()) / (72 * spread)
    return torch.where(means < _FEW_PHOTONS, counted, large.round().clamp_(min=0))


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

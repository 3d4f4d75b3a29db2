"""Noise, and weather that is made of it.

Salt and pepper, uniform noise and noise in a band of frequencies; and of ImageNet-C four kinds of
noise, snow, frost, fog, and spatter of water or mud.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fechner.arrays import Tensor, torch
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
from fechner.stimuli.pictures import Seeds


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

    def change(self, pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
        """Make a part of all pixels, or of all values, white or black."""
        channels, height, width = pixels.shape[1:]
        shape = (channels if self.per_channel else 1, height, width)
        bits = hashes(seeds, "salt and pepper", shape, pixels.device)
        changed = as_uniform(bits, pixels) < over_pixels(levels)
        return torch.where(changed, bits.bitwise_and_(1).to(pixels.dtype), pixels)


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
def uniform_noise(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
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

    def change(self, pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
        """Add noise."""
        size = (pixels.shape[-2], pixels.shape[-1])
        frequency = fourier_frequencies(*size, pixels) * size[1]
        half = 2 ** (self.octaves / 2)
        kept = (frequency >= self.centre / half) & (frequency <= self.centre * half)
        noise = filtered_noise(seeds, "band noise", size, kept, pixels)
        return pixels + (noise * levels[:, None, None])[:, None]


BAND_NOISE = NoiseInBand()


@corruption(
    "c-gaussian-noise", "Gaussian noise", "has Gaussian noise added to each channel", random=True
)
def gaussian_noise(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Add Gaussian noise."""
    noise = normal(seeds, "c-gaussian-noise", tuple(pixels.shape[1:]), pixels)
    sd = parameter(levels, (0.08, 0.12, 0.18, 0.26, 0.38), 0)
    return pixels + noise.mul_(over_pixels(sd))


@corruption(
    "c-speckle-noise",
    "Speckle noise",
    "has Gaussian noise added to each channel in proportion to its value",
    random=True,
)
def speckle_noise(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Add Gaussian noise in proportion to the pixel."""
    noise = normal(seeds, "c-speckle-noise", tuple(pixels.shape[1:]), pixels)
    sd = parameter(levels, (0.15, 0.2, 0.35, 0.45, 0.6), 0)
    return pixels * (1 + noise.mul_(over_pixels(sd)))


@corruption(
    "c-impulse-noise",
    "Impulse noise",
    "has values set to black or white at random in each channel",
    random=True,
)
def impulse_noise(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Set values to black or white, in each channel apart."""
    parts = parameter(levels, (0.03, 0.06, 0.09, 0.17, 0.27), 0)
    return SaltPepper(per_channel=True).change(pixels, parts, seeds)


@corruption(
    "c-shot-noise", "Shot noise", "is seen by few photons", random=True, differentiable=False
)
def shot_noise(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Count photons: whole numbers, so that they have no gradient."""
    chance = uniform(seeds, "c-shot-noise", tuple(pixels.shape[1:]), pixels)
    # What one photon counts; white is so many photons that they add up to 1.
    photon = over_pixels(parameter(levels, (1 / 60, 1 / 25, 1 / 12, 1 / 5, 1 / 3), 0))
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
    means = means.detach()
    most = 6.0  # up to so many on average, they are counted one by one
    few = means.clamp(max=most)
    term = torch.exp(-few)
    total = term.clone()
    counted = torch.zeros_like(means)
    for number in range(1, 27):
        counted += chances > total
        term.mul_(few).div_(number)
        total += term
    z = torch.erfinv(2 * chances - 1) * math.sqrt(2)
    spread = means.clamp(min=most).sqrt()
    large = means + spread * z + (z.square() - 1) / 6 + z * (1 - z.square()) / (72 * spread)
    return torch.where(means < most, counted, large.round().clamp_(min=0))


@corruption("c-snow", "Snow", "is seen through falling snow", random=True)
def snow(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Let flakes fall in streaks before a whitened picture."""
    height, width = pixels.shape[-2:]
    # Below severity 1 there are its flakes, only fainter.
    at = levels.clamp(min=1)
    flakes = normal(seeds, "c-snow", (1, height, width), pixels).mul_(0.3)
    flakes = flakes + over_pixels(parameter(at, (0.1, 0.2, 0.55, 0.55, 0.55), 0))
    flakes = zoomed(flakes, parameter(at, (3, 2, 4, 4.5, 2.5), 1))
    cut = over_pixels(parameter(at, (0.5, 0.5, 0.9, 0.85, 0.85), 0))
    flakes = torch.where(flakes < cut, torch.zeros_like(flakes), flakes.clamp(0, 1))
    angle = (uniform(seeds, "c-snow angle", (1,), pixels)[:, 0] + 0.5) * (math.pi / 2)
    radius, sigma = parameter(at, (10, 12, 12, 12, 12), 0), parameter(at, (4, 4, 8, 8, 12), 0)
    flakes = convolve(flakes, trails(radius, sigma, angle)).clamp(min=0)
    flakes = flakes * over_pixels(levels.clamp(max=1))
    clear = over_pixels(parameter(levels, (0.8, 0.7, 0.7, 0.65, 0.55), 1))
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
def frost(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Put ice on a window.

    The ice is made of noise: needles in three directions, where another noise lets them grow.
    """
    texture = ice(seeds, (pixels.shape[-2], pixels.shape[-1]), pixels)[:, None]
    colours = (0.10, 0.16, 0.24), (0.93, 0.97, 1.0)
    dark, bright = (pixels.new_tensor(colour)[:, None, None] for colour in colours)
    shown = dark + texture * (bright - dark)
    picture = over_pixels(parameter(levels, (1, 0.8, 0.7, 0.65, 0.6), 1))
    return picture * pixels + over_pixels(parameter(levels, (0.4, 0.6, 0.7, 0.7, 0.75), 0)) * shown


def ice(seeds: Seeds, size: tuple[int, int], like: Tensor) -> Tensor:
    """Return the texture of ice, from 0 to 1, [n, h, w]."""
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
def fog(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Add fractal noise, and lower contrast so that the brightest value stays."""
    size = (pixels.shape[-2], pixels.shape[-1])
    # By how much each octave of the texture is weaker than the one below it. An octave of two
    # dimensions has as much amplitude as a fall by the power 1 leaves it.
    decay = parameter(levels, (2, 2, 1.7, 1.5, 1.4), 2)
    noise = fractal_noise(seeds, "c-fog", size, 1 + decay.log2(), pixels)
    lowest, highest = noise.amin((1, 2), keepdim=True), noise.amax((1, 2), keepdim=True)
    texture = ((noise - lowest) / (highest - lowest).clamp(min=1e-6))[:, None]
    fog = over_pixels(parameter(levels, (1.5, 2, 2.5, 2.5, 3), 0))
    brightest = pixels.amax(dim=(1, 2, 3), keepdim=True)
    return (pixels + fog * texture) * brightest / (brightest + fog)


@corruption("c-spatter", "Spatter", "is spattered with water, then with mud", random=True)
def spatter(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Add drops of water up to severity 3, mud from 4 on; in between one gives way."""
    # Below severity 1 there are its drops, only fainter.
    at = levels.clamp(min=1)
    liquid = normal(seeds, "c-spatter", (1, *pixels.shape[-2:]), pixels)
    sigma = parameter(at, (4, 3, 2, 1, 1), 0)
    spread = parameter(at, (0.3, 0.3, 0.3, 0.3, 0.4), 0)
    mean = parameter(at, (0.65, 0.65, 0.65, 0.65, 0.67), 0)
    least = parameter(at, (0.69, 0.68, 0.68, 0.65, 0.65), 0)
    above = blurred(liquid, sigma) * over_pixels(spread) + over_pixels(mean - least)
    # What is left of the noise's standard deviation after the blur.
    depth = over_pixels(spread / (2 * sigma * math.sqrt(math.pi)))
    drops = (above / depth).clamp(0, 1)
    mud = blurred((above > 0).to(pixels.dtype), sigma * 0 + 1.5)
    mud = mud * (mud >= 0.8) * over_pixels(parameter(levels, (0, 0, 0, 1, 1), 0))
    # Drops are lit from one side.
    light = drops * 0.4 + (drops - drops.roll((2, 2), (2, 3))) * 0.6
    water = over_pixels(parameter(levels, (0.6, 0.6, 0.5, 0, 0), 0)) * light
    colours = (175 / 255, 238 / 255, 238 / 255), (63 / 255, 42 / 255, 20 / 255)
    clear, brown = (pixels.new_tensor(colour)[:, None, None] for colour in colours)
    wet = (pixels + water * clear).clamp(0, 1)
    return wet * (1 - mud) + brown * mud

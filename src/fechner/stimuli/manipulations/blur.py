"""Blur: Gaussian, and the five of ImageNet-C: defocus, glass, motion, zoom and Gaussian."""

from __future__ import annotations

import math

from fechner.arrays import Tensor, torch
from fechner.stimuli.manipulations.base import (
    corruption,
    over_pixels,
    parameter,
    pixel_manipulation,
    uniform,
)
from fechner.stimuli.manipulations.geometry import along_both, zoomed
from fechner.stimuli.manipulations.spectra import convolve
from fechner.stimuli.pictures import Seeds

#: What a Gaussian has beyond so many standard deviations is nothing in double precision.
_WIDEST_SD = 8.0


def blurred(pixels: Tensor, sigmas_px: Tensor) -> Tensor:
    """Blur pictures by Gaussians; beyond its edges a picture is continued by its mirror image.

    Examples
    --------
    >>> import torch
    >>> point = torch.zeros(1, 1, 9, 9, dtype=torch.float64)
    >>> point[0, 0, 4, 4] = 1
    >>> shown = blurred(point, torch.tensor([1.0]))
    >>> round(float(shown[0, 0, 4, 4]), 4), round(float(shown.sum()), 4)
    (0.1592, 1.0)
    """
    return along_both(pixels, lambda n: gaussian_matrices(sigmas_px, n).to(pixels.dtype))


def gaussian_matrices(sigmas_px: Tensor, n: int) -> Tensor:
    """Return matrices [rows, n, n] that blur n pixels with their mirror images; all symmetric."""
    # The picture and its mirror image repeat every 2 n pixels; where a Gaussian is as wide as two
    # of these, it is as good as flat.
    sigmas = sigmas_px.double().clamp(max=4.0 * n)[:, None]
    steps = torch.arange(2 * n, dtype=torch.float64, device=sigmas.device)[None]
    repeats = math.ceil(_WIDEST_SD * float(sigmas.max()) / (2 * n)) + 1
    kernel = torch.zeros(len(sigmas), 2 * n, dtype=torch.float64, device=sigmas.device)
    for repeat in range(-repeats, repeats):
        distance = (steps + repeat * 2 * n) / sigmas
        # Cut, so that how often it is repeated for a wide one does not matter for a narrow one.
        kernel += torch.where(distance.abs() <= _WIDEST_SD, torch.exp(-distance.square() / 2), 0.0)
    kernel = (kernel / kernel.sum(dim=1, keepdim=True)).to(sigmas_px.dtype)
    # The distance of each pixel from each, and from each one's mirror image.
    here, there = steps[0, :n, None].long(), steps[0, None, :n].long()
    return kernel[:, (here - there) % (2 * n)] + kernel[:, (here + there + 1) % (2 * n)]


@pixel_manipulation(
    "blur",
    title="Gaussian blur",
    axis="standard deviation (px)",
    reference="richardwebster2018",
    range=(0.3, 40.0),
    words="is blurred by a Gaussian whose standard deviation in pixels is the level; beyond its "
    "edges it is continued by its mirror image",
)
def blur(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Blur display-encoded values, as picture programs do.

    The Gaussian is sampled at pixels and as wide as it is, not cut after a few standard deviations.
    """
    return blurred(pixels, levels)


@corruption("c-gaussian-blur", "Gaussian blur", "is blurred by a Gaussian", range=(0.4, 5.0))
def gaussian_blur(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Blur by a Gaussian."""
    return blurred(pixels, parameter(levels, (1, 2, 3, 4, 6), 0))


@corruption(
    "c-defocus-blur", "Defocus blur", "is out of focus, blurred by a disk", range=(0.2, 5.0)
)
def defocus_blur(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Blur by a disk, as of a lens out of focus."""
    radius = parameter(levels, (3, 4, 6, 8, 10), 0).double()[:, None, None]
    # The disk's own edge is blurred, so that it does not alias.
    edge = parameter(levels, (0.1, 0.5, 0.5, 0.5, 0.5), 0.1).double()
    steps = torch.arange(-13, 14, dtype=torch.float64, device=pixels.device)
    far = torch.hypot(steps[:, None], steps[None, :])
    # A pixel belongs to the disk as far as its own length reaches into it.
    disk = blurred((radius + 0.5 - far).clamp(0, 1)[:, None], edge)[:, 0]
    return convolve(pixels, disk / disk.sum(dim=(1, 2), keepdim=True))


@corruption(
    "c-glass-blur", "Glass blur", "is seen through frosted glass", range=(0.4, 5.0), random=True
)
def glass_blur(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Exchange pixels with others nearby, up to three times, between two slight blurs.

    A part of a time is that part of the distance.
    """
    n, channels, height, width = pixels.shape
    sigma = parameter(levels, (0.7, 0.9, 1.0, 1.1, 1.5), 0)
    farthest_px = parameter(levels, (1, 2, 2, 3, 4), 0)
    times = parameter(levels, (2, 1, 3, 2, 2), 2)
    rows, columns = (torch.arange(size, device=pixels.device) for size in (height, width))
    shown = blurred(pixels, sigma)
    for time in range(3):
        reach = (times - time).clamp(0, 1) * farthest_px
        # So that the last whole number is as likely as all others.
        reach = over_pixels(reach + reach.clamp(max=1) / 2)
        own = [(*seed, time) for seed in seeds]
        moves = uniform(own, "c-glass-blur", (2, height, width), pixels) * 2 - 1
        moves = moves.mul_(reach).round_().long()
        y = (rows[:, None] + moves[:, 0]).clamp(0, height - 1)
        x = (columns + moves[:, 1]).clamp(0, width - 1)
        places = (y * width + x).reshape(n, 1, -1).expand(-1, channels, -1)
        shown = shown.reshape(n, channels, -1).gather(2, places).reshape(pixels.shape)
    return blurred(shown, sigma)


@corruption(
    "c-motion-blur",
    "Motion blur",
    "is blurred by motion in a random direction near the horizontal",
    range=(0.2, 5.0),
    random=True,
)
def motion_blur(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Blur by a trail that fades, within 45 deg of the horizontal."""
    angle = (uniform(seeds, "c-motion-blur", (1,), pixels)[:, 0] * 2 - 1) * (math.pi / 4)
    radius = parameter(levels, (10, 15, 15, 15, 20), 0)
    return convolve(pixels, trails(radius, parameter(levels, (3, 5, 8, 12, 15), 0), angle))


def trails(radius_px: Tensor, sigma_px: Tensor, angle_rad: Tensor) -> Tensor:
    """Return trails from the middle of a square, [n, k, k]: half a Gaussian, cut at its length."""
    reach = 41  # twice the largest radius, and a pixel
    steps = torch.arange(reach, dtype=torch.float64, device=radius_px.device)[None]
    sigma, radius, angle = (
        each.double()[:, None] for each in (sigma_px.clamp(min=1e-3), radius_px, angle_rad)
    )
    weights = torch.exp(-((steps / sigma).square()) / 2) * (2 * radius + 1 - steps).clamp(0, 1)
    places = torch.arange(-reach, reach + 1, dtype=torch.float64, device=radius_px.device)

    def near(along: Tensor) -> Tensor:
        return (1 - (places[None, :, None] - along[:, None, :]).abs()).clamp(min=0)

    # Each step lies between four pixels.
    down = near(steps * torch.sin(angle)) * weights[:, None, :]
    trail = torch.bmm(down, near(steps * torch.cos(angle)).transpose(1, 2))
    return trail / trail.sum(dim=(1, 2), keepdim=True)


@corruption("c-zoom-blur", "Zoom blur", "is blurred by zooming in")
def zoom_blur(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Average the picture and itself, more and more enlarged.

    There are as many steps from 1 to the largest zoom as at the published severities 1, 3 and 5.
    """
    largest = parameter(levels, (1.10, 1.15, 1.20, 1.24, 1.30), 1)
    steps = 11
    # Once as it is, and once at zoom 1.
    total = pixels * 2
    for step in range(1, steps):
        total = total + zoomed(pixels, 1 + (largest - 1) * (step / (steps - 1)))
    return total / (steps + 1)

"""Blur of ImageNet-C: defocus, frosted glass, motion, zoom and Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.randomness import uniform
from fechner.stimuli.manipulations.separable import along_both, gaussian_blur, zoom_matrices
from fechner.stimuli.manipulations.severity import Corruption, parameter
from fechner.stimuli.manipulations.spectra import convolve
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor

_SIGMA_PX = (1.0, 2.0, 3.0, 4.0, 6.0)

_DISK_RADIUS_PX = (3.0, 4.0, 6.0, 8.0, 10.0)
#: The disk's own edge is blurred, so that it does not alias.
_DISK_SIGMA_PX = (0.1, 0.5, 0.5, 0.5, 0.5)
_DISK_REACH_PX = 13

_GLASS_SIGMA_PX = (0.7, 0.9, 1.0, 1.1, 1.5)
_GLASS_REACH_PX = (1.0, 2.0, 2.0, 3.0, 4.0)
_GLASS_TIMES = (2.0, 1.0, 3.0, 2.0, 2.0)

_TRAIL_RADIUS_PX = (10.0, 15.0, 15.0, 15.0, 20.0)
_TRAIL_SIGMA_PX = (3.0, 5.0, 8.0, 12.0, 15.0)
#: A trail is twice its radius long, and a pixel.
_TRAIL_REACH_PX = 41

_LARGEST_ZOOM = (1.10, 1.15, 1.20, 1.24, 1.30)
#: Steps from 1 to the largest zoom, as at severities 1, 3 and 5; 16 and 13 at the other two.
_ZOOMS = 11


@dataclass(frozen=True, kw_only=True)
class GaussianBlur(Corruption):
    """Gaussian blur."""

    name: str = "c-gaussian-blur"
    title: str = "Gaussian blur (ImageNet-C)"
    range: tuple[float, float] = (0.4, 5.0)
    words: str = "is blurred by a Gaussian, as in ImageNet-C at this severity"

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Blur pictures."""
        return gaussian_blur(pixels, parameter(levels, _SIGMA_PX, 0))


@dataclass(frozen=True, kw_only=True)
class DefocusBlur(Corruption):
    """Blur by a disk, as of a lens out of focus."""

    name: str = "c-defocus-blur"
    title: str = "Defocus blur (ImageNet-C)"
    range: tuple[float, float] = (0.2, 5.0)
    words: str = "is out of focus, blurred by a disk, as in ImageNet-C at this severity"

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Blur pictures."""
        radius = parameter(levels, _DISK_RADIUS_PX, 0)
        return convolve(pixels, _disks(radius, parameter(levels, _DISK_SIGMA_PX, 0.1)))


def _disks(radius_px: Tensor, sigma_px: Tensor) -> Tensor:
    """Return disks with soft edges, [n, k, k]; those of radius 0 are a pixel."""
    import torch

    reach = _DISK_REACH_PX
    steps = torch.arange(-reach, reach + 1, dtype=torch.float64, device=radius_px.device)
    far = torch.hypot(steps[:, None], steps[None, :])
    # A pixel belongs to the disk as far as its own length reaches into it.
    disk = (radius_px.double()[:, None, None] + 0.5 - far).clamp(0, 1)
    disk = gaussian_blur(disk[:, None], sigma_px.double())[:, 0]
    return disk / disk.sum(dim=(1, 2), keepdim=True)


@dataclass(frozen=True, kw_only=True)
class GlassBlur(Corruption):
    """Every pixel shows another one nearby, up to three times in a row, between two slight blurs.

    A part of a time is that part of the distance.
    """

    name: str = "c-glass-blur"
    title: str = "Glass blur (ImageNet-C)"
    range: tuple[float, float] = (0.4, 5.0)
    words: str = "is seen through frosted glass, as in ImageNet-C at this severity"
    random: bool = True

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Exchange pixels."""
        sigma = parameter(levels, _GLASS_SIGMA_PX, 0)
        reach = parameter(levels, _GLASS_REACH_PX, 0)
        times = parameter(levels, _GLASS_TIMES, 2)
        shown = gaussian_blur(pixels, sigma)
        for time in range(3):
            part = (times - time).clamp(0, 1) * reach
            shown = _elsewhere(shown, part, [(*seed, time) for seed in seeds], self.name)
        return gaussian_blur(shown, sigma)


def _elsewhere(pixels: Tensor, reach_px: Tensor, seeds: Sequence[Seed], stream: str) -> Tensor:
    """Show at each pixel one at most so far away, all as likely if that is a whole number."""
    import torch

    n, channels, height, width = pixels.shape
    # So that the last whole number is as likely as all others.
    wide = (reach_px + reach_px.clamp(max=1) / 2)[:, None, None, None]
    moves = (uniform(seeds, stream, (2, height, width), pixels) * 2 - 1).mul_(wide).round_().long()
    rows = torch.arange(height, device=pixels.device)[:, None]
    columns = torch.arange(width, device=pixels.device)[None, :]
    y = (rows + moves[:, 0]).clamp(0, height - 1)
    x = (columns + moves[:, 1]).clamp(0, width - 1)
    places = (y * width + x).reshape(n, 1, -1).expand(-1, channels, -1)
    return pixels.reshape(n, channels, -1).gather(2, places).reshape(pixels.shape)


@dataclass(frozen=True, kw_only=True)
class MotionBlur(Corruption):
    """A trail that fades, in a random direction within 45 deg of the horizontal."""

    name: str = "c-motion-blur"
    title: str = "Motion blur (ImageNet-C)"
    range: tuple[float, float] = (0.2, 5.0)
    words: str = (
        "is blurred by motion in a random direction near the horizontal, as in ImageNet-C at this "
        "severity"
    )
    random: bool = True

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Blur pictures."""
        angle = (uniform(seeds, self.name, (1,), pixels)[:, 0] * 2 - 1) * (math.pi / 4)
        radius = parameter(levels, _TRAIL_RADIUS_PX, 0)
        return convolve(pixels, trails(radius, parameter(levels, _TRAIL_SIGMA_PX, 0), angle))


def trails(radius_px: Tensor, sigma_px: Tensor, angle_rad: Tensor) -> Tensor:
    """Return trails from the middle of a square, [n, k, k]: half a Gaussian, cut at its length."""
    import torch

    reach = _TRAIL_REACH_PX
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


@dataclass(frozen=True, kw_only=True)
class ZoomBlur(Corruption):
    """The mean of the picture and of itself more and more enlarged."""

    name: str = "c-zoom-blur"
    title: str = "Zoom blur (ImageNet-C)"
    words: str = "is blurred by zooming in, as in ImageNet-C at this severity"

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Blur pictures."""
        height, width = pixels.shape[-2:]
        largest = parameter(levels, _LARGEST_ZOOM, 1)
        # Once as it is, and once at zoom 1.
        total = pixels * 2
        for step in range(1, _ZOOMS):
            factors = 1 + (largest - 1) * (step / (_ZOOMS - 1))
            down = zoom_matrices(factors, height)
            across = down if height == width else zoom_matrices(factors, width)
            total = total + along_both(pixels, down, across)
        return total / (_ZOOMS + 1)


C_DEFOCUS_BLUR = DefocusBlur()
C_GLASS_BLUR = GlassBlur()
C_MOTION_BLUR = MotionBlur()
C_ZOOM_BLUR = ZoomBlur()
C_GAUSSIAN_BLUR = GaussianBlur()

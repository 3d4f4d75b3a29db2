"""Digital corruptions of ImageNet-C: brightness, contrast, saturation, elastic, pixels, JPEG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import over_pixels
from fechner.stimuli.manipulations.geometry import sampled
from fechner.stimuli.manipulations.randomness import uniform
from fechner.stimuli.manipulations.separable import along_both, block_matrices, gaussian_blur
from fechner.stimuli.manipulations.severity import Corruption, parameter
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor

_VALUE = (0.1, 0.2, 0.3, 0.4, 0.5)
_CONTRAST = (0.4, 0.3, 0.2, 0.1, 0.05)
#: Factor of saturation, and what is added to it: less up to severity 2, more from 3 on. On a
#: straight line from 2 to 3 the picture itself would come by, so that up to where it turns one goes
#: on to fall, and from there on it is what it is at 3.
_SATURATION_LESS = (0.3, 0.1, -0.1, -0.1, -0.1)
_SATURATION_MORE = (2.0, 2.0, 2.0, 5.0, 20.0)
_SATURATION_TURNS = 2.5
_SATURATION_ADDED = (0.0, 0.0, 0.0, 0.1, 0.2)
_ELASTIC_PX = (488.0, 488.0, 12.2, 17.08, 29.28)
_ELASTIC_SIGMA_PX = (170.8, 19.52, 2.44, 2.44, 2.44)
_ELASTIC_CORNERS_PX = (24.4, 48.8, 4.88, 4.88, 4.88)
_PIXELS = (0.6, 0.5, 0.4, 0.3, 0.25)
_QUALITY = (25.0, 18.0, 15.0, 10.0, 7.0)
_BEST_QUALITY = 100.0


@dataclass(frozen=True, kw_only=True)
class Value(Corruption):
    """Brightness: the value of hue, saturation and value, raised."""

    name: str = "c-brightness"
    title: str = "Brightness (ImageNet-C)"
    words: str = "is brightened in its HSV value, as in ImageNet-C at this severity"

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Brighten pictures."""
        import torch

        value = pixels.amax(dim=1, keepdim=True)
        raised = (value + over_pixels(parameter(levels, _VALUE, 0))).clamp(max=1)
        # Hue and saturation stay if all channels are multiplied alike; black becomes grey.
        black = value <= 0
        factor = raised / torch.where(black, torch.ones_like(value), value)
        return torch.where(black, raised.expand_as(pixels), pixels * factor)


@dataclass(frozen=True, kw_only=True)
class ContrastPerChannel(Corruption):
    """Contrast: distances from the mean of each channel, made smaller."""

    name: str = "c-contrast"
    title: str = "Contrast (ImageNet-C)"
    words: str = "has less contrast, as in ImageNet-C at this severity"

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Lower contrast."""
        mean = pixels.double().mean(dim=(2, 3), keepdim=True).to(pixels.dtype)
        return mean + (pixels - mean) * over_pixels(parameter(levels, _CONTRAST, 1))


@dataclass(frozen=True, kw_only=True)
class Saturation(Corruption):
    """Saturation: less of it up to severity 2, more from 3 on.

    On a straight line from 2 to 3 the picture itself would come by; instead saturation goes on to
    fall up to 2.5, and from there on is what it is at 3.
    """

    name: str = "c-saturate"
    title: str = "Saturation (ImageNet-C)"
    words: str = (
        "is less saturated up to severity 2.5, and more above it, as in ImageNet-C at this severity"
    )

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Change saturation."""
        import torch

        factor = torch.where(
            levels <= _SATURATION_TURNS,
            parameter(levels, _SATURATION_LESS, 1),
            parameter(levels, _SATURATION_MORE, 1),
        )
        added = over_pixels(parameter(levels, _SATURATION_ADDED, 0))
        value = pixels.amax(dim=1, keepdim=True)
        away = value - pixels
        chroma = away.amax(dim=1, keepdim=True)
        grey = chroma <= 0
        one = torch.ones_like(value)
        saturation = chroma / torch.where(value > 0, value, one)
        wanted = (saturation * over_pixels(factor) + added).clamp(0, 1)
        ratio = wanted * value / torch.where(grey, one, chroma)
        # Grey has hue 0, which is red.
        red = value * (1 - wanted * pixels.new_tensor([0.0, 1.0, 1.0])[:, None, None])
        return torch.where(grey, red, value - away * ratio)


@dataclass(frozen=True, kw_only=True)
class Elastic(Corruption):
    """Stretched: three corners move at random, and every pixel with its neighbours.

    Severities 1 and 2 of the published ones move far and smoothly, 3 to 5 little but roughly.
    """

    name: str = "c-elastic"
    title: str = "Elastic transform (ImageNet-C)"
    words: str = "is stretched at random, as in ImageNet-C at this severity"
    random: bool = True
    ordered: bool = False

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Stretch pictures."""
        import torch

        height, width = pixels.shape[-2:]
        far = over_pixels(parameter(levels, _ELASTIC_CORNERS_PX, 0))
        corners = (uniform(seeds, f"{self.name} corners", (3, 2, 1), pixels) * 2 - 1) * far
        y, x = (
            torch.arange(n, dtype=pixels.dtype, device=pixels.device) - (n - 1) / 2
            for n in (height, width)
        )
        arm = max(min(height, width) // 3, 1)
        first, second, third = corners.unbind(1)
        down = (y[:, None] + arm) / (2 * arm)
        across = (arm - x[None, :]) / (2 * arm)
        moved = [
            second[:, i, :, None]
            + (first - second)[:, i, :, None] * down
            + (third - second)[:, i, :, None] * across
            for i in range(2)
        ]
        rough = uniform(seeds, self.name, (2, height, width), pixels) * 2 - 1
        rough = gaussian_blur(rough, parameter(levels, _ELASTIC_SIGMA_PX, _ELASTIC_SIGMA_PX[0]))
        rough = rough * over_pixels(parameter(levels, _ELASTIC_PX, 0))
        from_x = x[None, None, :] + moved[0] + rough[:, 0]
        from_y = y[None, :, None] + moved[1] + rough[:, 1]
        return sampled(pixels, from_x, from_y, "reflection")


@dataclass(frozen=True, kw_only=True)
class Pixelate(Corruption):
    """Fewer pixels."""

    name: str = "c-pixelate"
    title: str = "Pixelate (ImageNet-C)"
    words: str = "has fewer pixels, as in ImageNet-C at this severity"

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Average over blocks."""
        height, width = pixels.shape[-2:]
        block = 1 / parameter(levels, _PIXELS, 1)
        down = block_matrices(block, height)
        across = down if height == width else block_matrices(block, width)
        return along_both(pixels, down, across)


@dataclass(frozen=True, kw_only=True)
class Jpeg(Corruption):
    """JPEG compression by Pillow, of quality 100 near severity 0; it has no gradient."""

    name: str = "c-jpeg"
    title: str = "JPEG compression (ImageNet-C)"
    words: str = (
        "is compressed by JPEG, as in ImageNet-C at this severity; quality is a whole number"
    )
    differentiable: bool = False

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Compress pictures, one after the other."""
        import numpy as np
        import torch
        from PIL import Image

        qualities = parameter(levels, _QUALITY, _BEST_QUALITY).round().int().tolist()
        whole = pixels.detach().clamp(0, 1).mul(255).round().byte().cpu().permute(0, 2, 3, 1)
        shown = torch.empty_like(pixels)
        for row, quality in enumerate(qualities):
            file = io.BytesIO()
            Image.fromarray(whole[row].numpy()).save(file, "JPEG", quality=quality)
            with Image.open(file) as image:
                values = np.asarray(image.convert("RGB")) / 255
            shown[row].copy_(torch.from_numpy(values).permute(2, 0, 1))
        return shown


C_BRIGHTNESS = Value()
C_CONTRAST = ContrastPerChannel()
C_SATURATE = Saturation()
C_ELASTIC = Elastic()
C_PIXELATE = Pixelate()
C_JPEG = Jpeg()

"""Tone and compression: brightness, contrast, sharpness and saturation, and JPEG.

Brightness, contrast and sharpness, up and down, are as ImageEnhance of Pillow (PIL) does them: each
goes from a picture that lacks a property (black; its mean grey; smoothed) through the picture
itself, at factor 1, beyond it; values that leave 0..1 are cut. Pillow rounds to 8 bits, here values
stay what they are until the display rounds them.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from fechner.arrays import Tensor, torch
from fechner.stimuli.manipulations.base import Directed, corruption, over_pixels, parameter
from fechner.stimuli.pictures import Seeds

#: Luma of ITU-R BT.601 in 16 bits, as Pillow makes pictures grey.
_GREY = (19595 / 65536, 38470 / 65536, 7471 / 65536)


@dataclass(frozen=True, kw_only=True)
class Enhancement(Directed):
    """A property of pictures multiplied by a factor: 1 + level upwards, 1 - level downwards."""

    reference: str = "richardwebster2018"

    def setting(self, level: float) -> float:
        """Return the factor."""
        return float(1 + self.signed(level))

    def level_of(self, setting: float) -> float:
        """Return how far a factor is from 1."""
        return float(self.signed(setting - 1))

    def change(self, pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
        """Go away from the picture that lacks the property, or towards it."""
        factor = 1 + over_pixels(self.signed(levels))
        return torch.lerp(self.lacking(pixels).expand_as(pixels), pixels, factor)

    def lacking(self, pixels: Tensor) -> Tensor:
        """Return pictures without the property, of a shape that fits."""
        raise NotImplementedError


class Brightness(Enhancement):
    """Every value multiplied by the factor."""

    def change(self, pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
        """Multiply."""
        return pixels * (1 + over_pixels(self.signed(levels)))


class Contrast(Enhancement):
    """Distances from the mean of the grey picture, a whole number of 255, times the factor."""

    def lacking(self, pixels: Tensor) -> Tensor:
        """Return the mean of the grey picture."""
        return mean_grey(pixels)


class Sharpness(Enhancement):
    """Differences from the picture smoothed by Pillow's kernel, times the factor.

    All neighbours count 1/13, the pixel itself 5/13; pixels at the edge stay as they are.
    """

    def lacking(self, pixels: Tensor) -> Tensor:
        """Return the picture, smoothed."""
        if min(pixels.shape[-2:]) < 3:
            return pixels
        three = pixels[..., :-2, :] + pixels[..., 1:-1, :] + pixels[..., 2:, :]
        nine = three[..., :-2] + three[..., 1:-1] + three[..., 2:]
        inner = slice(1, -1)
        smooth = pixels.clone()
        smooth[..., inner, inner] = (nine + 4 * pixels[..., inner, inner]) / 13
        return smooth


def mean_grey(pixels: Tensor) -> Tensor:
    """Return the mean of each picture in grey, [n, 1, 1, 1], rounded to 8 bits as in Pillow.

    Grey values are rounded as well before they are averaged. No gradient goes through it.

    Examples
    --------
    >>> import torch
    >>> picture = torch.tensor([1.0, 0.0, 0.0]).reshape(1, 3, 1, 1)
    >>> round(float(mean_grey(picture)) * 255, 3)
    76.0
    """
    whole = pixels.detach().mul(255).round_()
    red, green, blue = (whole[:, c] * weight for c, weight in enumerate(_GREY))
    grey = (red + green).add_(blue).add_(0.5).floor_()
    mean = grey.mean(dim=(1, 2), keepdim=True, dtype=torch.float64)[:, None]
    return mean.add_(0.5).floor_().div_(255).to(pixels.dtype)


def _both_ways(
    kind: type[Enhancement], weakest: float, up: str, down: str
) -> tuple[Enhancement, Enhancement]:
    """Return a property increased and decreased, from what either does in words."""
    what = kind.__name__
    name = what.lower()
    more = {"title": f"{what}, increased", "axis": f"{name} factor - 1", "words": up}
    less = {"title": f"{what}, decreased", "axis": f"1 - {name} factor", "words": down}
    return kind.both(
        name, {**more, "range": (weakest, 100.0)}, {**less, "range": (0.02, 1.0), "most": 1.0}
    )


BRIGHTNESS_UP, BRIGHTNESS_DOWN = _both_ways(
    Brightness,
    0.02,
    "is brightened: every value is multiplied by 1 + the level and cut at white",
    "is darkened: every value is multiplied by 1 - the level",
)
CONTRAST_UP, CONTRAST_DOWN = _both_ways(
    Contrast,
    0.02,
    "has more contrast: the distance of every value from the mean of the grey picture is "
    "multiplied by 1 + the level and cut at black and white",
    "has less contrast: the distance of every value from the mean of the grey picture is "
    "multiplied by 1 - the level",
)
SHARPNESS_UP, SHARPNESS_DOWN = _both_ways(
    Sharpness,
    0.1,
    "is sharpened: its difference from itself smoothed over 3 x 3 pixels is multiplied by 1 + the "
    "level, and what leaves black and white is cut",
    "is softened: its difference from itself smoothed over 3 x 3 pixels is multiplied by 1 - the "
    "level",
)


@corruption("c-brightness", "Brightness", "is brightened in its HSV value")
def value(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Raise the value of hue, saturation and value."""
    value = pixels.amax(dim=1, keepdim=True)
    added = over_pixels(parameter(levels, (0.1, 0.2, 0.3, 0.4, 0.5), 0))
    raised = (value + added).clamp(max=1)
    # Hue and saturation stay if all channels are multiplied alike; black becomes grey.
    black = value <= 0
    factor = raised / torch.where(black, torch.ones_like(value), value)
    return torch.where(black, raised.expand_as(pixels), pixels * factor)


@corruption("c-contrast", "Contrast", "has less contrast")
def contrast_per_channel(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Lower distances from the mean of each channel."""
    mean = pixels.double().mean(dim=(2, 3), keepdim=True).to(pixels.dtype)
    return mean + (pixels - mean) * over_pixels(parameter(levels, (0.4, 0.3, 0.2, 0.1, 0.05), 1))


@corruption("c-saturate", "Saturation", "is less saturated up to severity 2.5, and more above it")
def saturation(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Change saturation: less of it up to severity 2, more from 3 on."""
    # On a straight line from severity 2 to 3 the picture itself would come by, so that up to where
    # it turns saturation goes on to fall, and from there on it is what it is at 3.
    less = parameter(levels, (0.3, 0.1, -0.1, -0.1, -0.1), 1)
    more = parameter(levels, (2, 2, 2, 5, 20), 1)
    factor = torch.where(levels <= 2.5, less, more)
    added = over_pixels(parameter(levels, (0, 0, 0, 0.1, 0.2), 0))
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


@corruption(
    "c-jpeg",
    "JPEG compression",
    "is compressed by JPEG, as in ImageNet-C at this severity; quality is a whole number",
    differentiable=False,
)
def jpeg(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Compress pictures by Pillow, of quality 100 near severity 0; it has no gradient."""
    import numpy as np
    from PIL import Image

    qualities = parameter(levels, (25, 18, 15, 10, 7), 100).round().int().tolist()
    whole = pixels.detach().clamp(0, 1).mul(255).round().byte().cpu().permute(0, 2, 3, 1)
    shown = torch.empty_like(pixels)
    for row, quality in enumerate(qualities):
        file = io.BytesIO()
        Image.fromarray(whole[row].numpy()).save(file, "JPEG", quality=quality)
        with Image.open(file) as image:
            values = np.asarray(image.convert("RGB")) / 255
        shown[row].copy_(torch.from_numpy(values).permute(2, 0, 1))
    return shown

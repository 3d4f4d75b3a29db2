"""Brightness, contrast and sharpness, up and down, as ImageEnhance of Pillow (PIL) does them.

Each goes from a picture that lacks a property (black; its mean grey; smoothed) through the picture
itself, at factor 1, beyond it; values that leave 0..1 are cut. Pillow rounds to 8 bits, here values
stay what they are until the display rounds them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fechner.stimuli.manipulations.base import OfPixels, over_pixels
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor

#: Luma of ITU-R BT.601 in 16 bits, as Pillow makes pictures grey.
_GREY = (19595 / 65536, 38470 / 65536, 7471 / 65536)


@dataclass(frozen=True, kw_only=True)
class Enhancement(OfPixels):
    """A property of pictures multiplied by a factor: 1 + level upwards, 1 - level downwards."""

    reference: str = "richardwebster2018"
    direction: Literal["up", "down"]

    def setting(self, level: float) -> float:
        """Return the factor."""
        return 1 + level if self.direction == "up" else 1 - level

    def level_of(self, setting: float) -> float:
        """Return how far a factor is from 1."""
        return setting - 1 if self.direction == "up" else 1 - setting

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Go away from the picture that lacks the property, or towards it."""
        import torch

        lacking = self.lacking(pixels)
        steps = over_pixels(levels if self.direction == "up" else -levels)
        if lacking is None:
            return pixels * (1 + steps)
        return torch.lerp(lacking.expand_as(pixels), pixels, 1 + steps)

    @abstractmethod
    def lacking(self, pixels: Tensor) -> Tensor | None:
        """Return pictures without the property, of a shape that fits; None if they are black."""


@dataclass(frozen=True, kw_only=True)
class Brightness(Enhancement):
    """Every value multiplied by the factor."""

    def lacking(self, pixels: Tensor) -> None:
        """Return nothing: it is black."""
        return


@dataclass(frozen=True, kw_only=True)
class Contrast(Enhancement):
    """Distances from the mean of the grey picture, a whole number of 255, times the factor."""

    def lacking(self, pixels: Tensor) -> Tensor:
        """Return the mean of the grey picture."""
        return mean_grey(pixels)


@dataclass(frozen=True, kw_only=True)
class Sharpness(Enhancement):
    """Differences from the smoothed picture times the factor."""

    def lacking(self, pixels: Tensor) -> Tensor:
        """Return the picture, smoothed."""
        return smoothed(pixels)


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
    import torch

    whole = pixels.detach().mul(255).round_()
    red, green, blue = (whole[:, c] * weight for c, weight in enumerate(_GREY))
    grey = (red + green).add_(blue).add_(0.5).floor_()
    mean = grey.mean(dim=(1, 2), keepdim=True, dtype=torch.float64)[:, None]
    return mean.add_(0.5).floor_().div_(255).to(pixels.dtype)


def smoothed(pixels: Tensor) -> Tensor:
    """Smooth by Pillow's 3 x 3 kernel: all neighbours 1/13, the pixel itself 5/13.

    As in Pillow, pixels at the edge stay as they are.
    """
    height, width = pixels.shape[-2:]
    if min(height, width) < 3:
        return pixels
    three = pixels[..., :-2, :] + pixels[..., 1:-1, :] + pixels[..., 2:, :]
    nine = three[..., :-2] + three[..., 1:-1] + three[..., 2:]
    inner = slice(1, -1)
    smooth = pixels.clone()
    smooth[..., inner, inner] = (nine + 4 * pixels[..., inner, inner]) / 13
    return smooth


BRIGHTNESS_UP = Brightness(
    name="brightness-up",
    title="Brightness, increased",
    axis="brightness factor - 1",
    words="is brightened: every value is multiplied by 1 + the level and cut at white",
    range=(0.02, 100.0),
    opposite="brightness-down",
    direction="up",
)
BRIGHTNESS_DOWN = Brightness(
    name="brightness-down",
    title="Brightness, decreased",
    axis="1 - brightness factor",
    words="is darkened: every value is multiplied by 1 - the level",
    range=(0.02, 1.0),
    most=1.0,
    opposite="brightness-up",
    direction="down",
)
CONTRAST_UP = Contrast(
    name="contrast-up",
    title="Contrast, increased",
    axis="contrast factor - 1",
    words=(
        "has more contrast: the distance of every value from the mean of the grey picture is "
        "multiplied by 1 + the level and cut at black and white"
    ),
    range=(0.02, 100.0),
    opposite="contrast-down",
    direction="up",
)
CONTRAST_DOWN = Contrast(
    name="contrast-down",
    title="Contrast, decreased",
    axis="1 - contrast factor",
    words=(
        "has less contrast: the distance of every value from the mean of the grey picture is "
        "multiplied by 1 - the level"
    ),
    range=(0.02, 1.0),
    most=1.0,
    opposite="contrast-up",
    direction="down",
)
SHARPNESS_UP = Sharpness(
    name="sharpness-up",
    title="Sharpness, increased",
    axis="sharpness factor - 1",
    words=(
        "is sharpened: its difference from itself smoothed over 3 x 3 pixels is multiplied by 1 + "
        "the level, and what leaves black and white is cut"
    ),
    range=(0.1, 100.0),
    opposite="sharpness-down",
    direction="up",
)
SHARPNESS_DOWN = Sharpness(
    name="sharpness-down",
    title="Sharpness, decreased",
    axis="1 - sharpness factor",
    words=(
        "is softened: its difference from itself smoothed over 3 x 3 pixels is multiplied by 1 - "
        "the level"
    ),
    range=(0.02, 1.0),
    most=1.0,
    opposite="sharpness-up",
    direction="down",
)

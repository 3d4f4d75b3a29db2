"""Rotation in the plane and size; around the picture there is middle grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fechner.stimuli.manipulations.base import OfPixels
from fechner.stimuli.manipulations.separable import along_both, zoom_matrices
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor

#: Display-encoded grey of what lies outside of the picture. Black would be an object with edges
#: stronger than those of most pictures.
OUTSIDE = 0.5


@dataclass(frozen=True, kw_only=True)
class Rotation(OfPixels):
    """Rotation about the middle, interpolated between four pixels."""

    axis: str = "angle (deg)"
    reference: str = "geirhos2018"
    range: tuple[float, float] = (0.5, 180.0)
    most: float = 180.0
    direction: Literal["up", "down"]

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Turn pictures."""
        import torch

        height, width = pixels.shape[-2:]
        angle = torch.deg2rad(levels if self.direction == "up" else -levels)[:, None, None]
        cos, sin = torch.cos(angle), torch.sin(angle)
        y, x = (
            torch.arange(n, dtype=pixels.dtype, device=pixels.device) - (n - 1) / 2
            for n in (height, width)
        )
        across, down = x[None, None, :], y[None, :, None]
        # Rows count downwards, so that this is where an anticlockwise turn brings pixels from.
        return sampled(pixels, across * cos - down * sin, across * sin + down * cos, "zeros")


def sampled(
    pixels: Tensor, x_px: Tensor, y_px: Tensor, outside: Literal["zeros", "reflection"]
) -> Tensor:
    """Look pictures up at places counted from their middle, [n, h, w], between four pixels.

    Parameters
    ----------
    outside
        ``zeros``: there is `OUTSIDE` around the picture; ``reflection``: its mirror image.
    """
    import torch

    height, width = pixels.shape[-2:]
    places = torch.stack([x_px * (2 / width), y_px * (2 / height)], dim=-1)
    shift = OUTSIDE if outside == "zeros" else 0.0
    found = torch.nn.functional.grid_sample(
        pixels - shift, places, mode="bilinear", padding_mode=outside, align_corners=False
    )
    return found + shift


@dataclass(frozen=True, kw_only=True)
class Scale(OfPixels):
    """Size about the middle, in octaves: one is twice as large, or half as large.

    Enlarged pictures are interpolated linearly and lose what leaves the field; those that are made
    smaller are averaged first, so that nothing aliases.
    """

    axis: str = "size (octaves)"
    reference: str = "richardwebster2018"
    direction: Literal["up", "down"]

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Enlarge pictures, or make them smaller."""
        height, width = pixels.shape[-2:]
        factors = (levels if self.direction == "up" else -levels).exp2()
        down = zoom_matrices(factors, height)
        across = down if height == width else zoom_matrices(factors, width)
        return along_both(pixels - OUTSIDE, down, across) + OUTSIDE


ROTATION_UP = Rotation(
    name="rotation-up",
    title="Rotation, anticlockwise",
    words="is turned anticlockwise in its plane by the level in degrees; around it there is grey",
    opposite="rotation-down",
    direction="up",
)
ROTATION_DOWN = Rotation(
    name="rotation-down",
    title="Rotation, clockwise",
    words="is turned clockwise in its plane by the level in degrees; around it there is grey",
    opposite="rotation-up",
    direction="down",
)
SCALE_UP = Scale(
    name="scale-up",
    title="Size, increased",
    words="is enlarged about its middle by the level in octaves",
    range=(0.02, 6.0),
    most=16.0,
    opposite="scale-down",
    direction="up",
)
SCALE_DOWN = Scale(
    name="scale-down",
    title="Size, decreased",
    words="is made smaller about its middle by the level in octaves; around it there is grey",
    range=(0.02, 7.0),
    most=16.0,
    opposite="scale-up",
    direction="down",
)

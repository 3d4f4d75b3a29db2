"""Geometry: rotation in the plane, size, occlusion, and two of ImageNet-C: elastic and pixelate.

Around a picture that is turned or made smaller there is middle grey. What acts on rows and columns
is two products of matrices, one matrix for each picture: on a CPU that is several times as quick as
a convolution, whatever the width of its kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fechner.arrays import Tensor, torch
from fechner.stimuli.manipulations.base import (
    Directed,
    corruption,
    over_pixels,
    parameter,
    pixel_manipulation,
    uniform,
)
from fechner.stimuli.pictures import Seeds

#: Display-encoded grey of what lies outside of the picture. Black would be an object with edges
#: stronger than those of most pictures.
OUTSIDE = 0.5


@dataclass(frozen=True, kw_only=True)
class Rotation(Directed):
    """Rotation about the middle, interpolated between four pixels."""

    axis: str = "angle (deg)"
    reference: str = "geirhos2018"
    range: tuple[float, float] = (0.5, 180.0)
    most: float = 180.0

    def change(self, pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
        """Turn pictures."""
        angle = torch.deg2rad(self.signed(levels))[:, None, None]
        cos, sin = torch.cos(angle), torch.sin(angle)
        down, across = from_middle(pixels)
        # Rows count downwards, so that this is where an anticlockwise turn brings pixels from.
        return sampled(pixels, across * cos - down * sin, across * sin + down * cos, "zeros")


def from_middle(pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Return places of pixels counted from the middle: y [h, 1] downwards and x [w]."""
    y, x = (
        torch.arange(n, dtype=pixels.dtype, device=pixels.device) - (n - 1) / 2
        for n in pixels.shape[-2:]
    )
    return y[:, None], x


def sampled(
    pixels: Tensor, x_px: Tensor, y_px: Tensor, outside: Literal["zeros", "reflection"]
) -> Tensor:
    """Look pictures up at places counted from their middle, [n, h, w], between four pixels.

    ``zeros``: there is `OUTSIDE` around the picture; ``reflection``: its mirror image.
    """
    height, width = pixels.shape[-2:]
    places = torch.stack([x_px * (2 / width), y_px * (2 / height)], dim=-1)
    shift = OUTSIDE if outside == "zeros" else 0.0
    found = torch.nn.functional.grid_sample(
        pixels - shift, places, mode="bilinear", padding_mode=outside, align_corners=False
    )
    return found + shift


@dataclass(frozen=True, kw_only=True)
class Scale(Directed):
    """Size about the middle, in octaves: one is twice as large, or half as large.

    Enlarged pictures are interpolated linearly and lose what leaves the field; those that are made
    smaller are averaged first, so that nothing aliases.
    """

    axis: str = "size (octaves)"
    reference: str = "richardwebster2018"
    most: float = 16.0

    def change(self, pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
        """Enlarge pictures, or make them smaller."""
        return zoomed(pixels - OUTSIDE, self.signed(levels).exp2()) + OUTSIDE


ROTATION_UP, ROTATION_DOWN = Rotation.both(
    "rotation",
    *(
        {
            "title": f"Rotation, {way}",
            "words": f"is turned {way} in its plane by the level in degrees; around it there is "
            "grey",
        }
        for way in ("anticlockwise", "clockwise")
    ),
)
SCALE_UP, SCALE_DOWN = Scale.both(
    "scale",
    {
        "title": "Size, increased",
        "words": "is enlarged about its middle by the level in octaves",
        "range": (0.02, 6.0),
    },
    {
        "title": "Size, decreased",
        "words": "is made smaller about its middle by the level in octaves; around it there is "
        "grey",
        "range": (0.02, 7.0),
    },
)


def zoomed(pixels: Tensor, factors: Tensor) -> Tensor:
    """Enlarge pictures about their middle, or make them smaller; see `zoom_matrices`."""
    return along_both(pixels, lambda n: zoom_matrices(factors, n))


def along_both(pixels: Tensor, matrices: Callable[[int], Tensor]) -> Tensor:
    """Multiply columns and rows of pictures by matrices for their length, [n, length, length]."""
    n, channels, height, width = pixels.shape
    down = matrices(height)
    across = down if width == height else matrices(width)
    rows = torch.bmm(pixels.reshape(n, channels * height, width), across.transpose(1, 2))
    rows = rows.reshape(pixels.shape)
    # One product a channel, for one product of all would need copies of the matrix.
    return torch.stack([torch.bmm(down, rows[:, c]) for c in range(channels)], dim=1)


def zoom_matrices(factors: Tensor, n: int) -> Tensor:
    """Return matrices [rows, n, n] that enlarge n pixels about their middle, or make them smaller.

    Pixels are interpolated linearly if enlarged and averaged under a triangle as wide as two new
    pixels if made smaller. What comes from outside counts as 0.
    """
    middle = (n - 1) / 2
    here = torch.arange(n, dtype=torch.float64, device=factors.device)
    factor = factors.double()[:, None, None]
    from_px = middle + (here[:, None] - middle) / factor
    reach = (1 / factor).clamp(min=1.0)
    # All pixels under the triangle count in its sum, also those outside of the picture.
    weights = (1 - (from_px - here[None, :]).abs() / reach).clamp(min=0)
    # The sum of a triangle of height 1 over all integers: of both sides, that over k of
    # 1 - (k + side) / reach while it is positive.
    rest = from_px - from_px.floor()
    total = rest * 0
    for side in (rest, 1 - rest):
        terms = ((reach - side).floor() + 1).clamp(min=0)
        total = total + terms * (1 - side / reach) - terms * (terms - 1) / (2 * reach)
    return (weights / total).to(factors.dtype)


@pixel_manipulation(
    "occlusion",
    title="Linear occlusion",
    axis="covered part of the area",
    reference="richardwebster2018",
    range=(0.01, 1.0),
    words="is black behind a straight line of random direction and side, which covers the part of "
    "its area that is the level",
    random=True,
    most=1.0,
)
def occlusion(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Cover pictures from a side that follows from the seed.

    The line is where the covered area is exactly the level. Pixels on it are covered in part, by as
    much of them as lies behind it, so that the sum over pixels is exact as well. More is covered of
    every pixel at a higher level of the same seed.
    """
    angles = uniform(seeds, "occlusion", (1,), levels.double())[:, 0] * (2 * math.pi)
    covered = covered_parts(levels, angles, (pixels.shape[-2], pixels.shape[-1]))
    return pixels * (1 - covered)[:, None]


def covered_parts(parts: Tensor, angles_rad: Tensor, size: tuple[int, int]) -> Tensor:
    """Return how much of each pixel lies behind a line, [n, h, w], from the part of the area.

    Examples
    --------
    >>> import torch
    >>> covered = covered_parts(torch.tensor([0.3]), torch.tensor([1.0]), (10, 20))
    >>> round(float(covered.mean()), 6)
    0.3
    """
    height, width = size
    x, y = torch.cos(angles_rad.double()), torch.sin(angles_rad.double())
    # Seen from a side, the depth of a rectangle is the sum of two lengths: what lies before a line
    # grows as a square, then evenly, then as a square again.
    sides = width * x.abs(), height * y.abs()
    long, short = torch.maximum(*sides), torch.minimum(*sides)
    part = parts.double()
    lower = torch.minimum(part, 1 - part)
    corner = torch.sqrt(2 * long * short * lower) - (long + short) / 2
    place = torch.where(lower < short / (2 * long), corner, (lower - 0.5) * long)
    # All, whatever rounding says.
    line = torch.where(parts >= 1, math.inf, torch.where(part > 0.5, -place, place))
    ahead_y, ahead_x = from_middle(line.new_empty(size))
    down = (line[:, None] - y[:, None] * ahead_y[:, 0]).to(parts.dtype)
    across = (x[:, None] * ahead_x).to(parts.dtype)
    behind = down[:, :, None] - across[:, None, :]
    # The other way round for a pixel: the part of it behind a line so far from its middle.
    long, short = (f(x.abs(), y.abs())[:, None, None] for f in (torch.maximum, torch.minimum))
    long, short = long.to(parts.dtype), short.clamp(min=1e-9).to(parts.dtype)
    far = behind.abs()
    corner = ((long + short) / 2 - far).clamp_(min=0).square_().div_(2 * long * short)
    less = torch.where(far < (long - short) / 2, 0.5 - far / long, corner)
    return torch.where(behind > 0, 1 - less, less)


@corruption("c-elastic", "Elastic transform", "is stretched at random", random=True, ordered=False)
def elastic(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Stretch pictures: corners move at random, and every pixel with its neighbours.

    Severities 1 and 2 of the published ones move far and smoothly, 3 to 5 little but roughly.
    """
    from fechner.stimuli.manipulations.blur import blurred

    height, width = pixels.shape[-2:]
    far = over_pixels(parameter(levels, (24.4, 48.8, 4.88, 4.88, 4.88), 0))[..., None]
    corners = (uniform(seeds, "c-elastic corners", (3, 2, 1, 1), pixels) * 2 - 1) * far
    y, x = from_middle(pixels)
    arm = max(min(height, width) // 3, 1)
    first, second, third = corners.unbind(1)
    down, across = (y + arm) / (2 * arm), (arm - x) / (2 * arm)
    moved = second + (first - second) * down + (third - second) * across
    rough = uniform(seeds, "c-elastic", (2, height, width), pixels) * 2 - 1
    rough = blurred(rough, parameter(levels, (170.8, 19.52, 2.44, 2.44, 2.44), 170.8))
    rough = rough * over_pixels(parameter(levels, (488, 488, 12.2, 17.08, 29.28), 0))
    from_x, from_y = x + moved[:, 0] + rough[:, 0], y + moved[:, 1] + rough[:, 1]
    return sampled(pixels, from_x, from_y, "reflection")


@corruption("c-pixelate", "Pixelate", "has fewer pixels")
def pixelate(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Average over blocks."""
    block = 1 / parameter(levels, (0.6, 0.5, 0.4, 0.3, 0.25), 1)
    return along_both(pixels, lambda n: block_matrices(block, n))


def block_matrices(sizes_px: Tensor, n: int) -> Tensor:
    """Return matrices [rows, n, n] that give each pixel the mean of the block its middle is in.

    Blocks are so many pixels long, not necessarily a whole number of them, from the first pixel on.
    """
    here = torch.arange(n, dtype=torch.float64, device=sizes_px.device)
    size = sizes_px.double()[:, None, None]
    block = ((here[:, None] + 0.5) / size).floor()
    start, end = block * size, ((block + 1) * size).clamp(max=float(n))
    inside = torch.minimum(end, here[None, :] + 1) - torch.maximum(start, here[None, :])
    return (inside.clamp(min=0) / (end - start)).to(sizes_px.dtype)

"""Linear occlusion: everything behind a straight line is black."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import OfPixels
from fechner.stimuli.manipulations.randomness import uniform
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Occlusion(OfPixels):
    """Black behind a line of random direction that moves in from one side.

    The line is where the covered area is exactly the level. Pixels on it are covered in part, by as
    much of them as lies behind it, so that the sum over pixels is exact as well. More is covered of
    every pixel at a higher level of the same seed.
    """

    name: str = "occlusion"
    title: str = "Linear occlusion"
    axis: str = "covered part of the area"
    reference: str = "richardwebster2018"
    range: tuple[float, float] = (0.01, 1.0)
    words: str = (
        "is black behind a straight line of random direction and side, which covers the part of "
        "its area that is the level"
    )
    random: bool = True
    most: float = 1.0

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Cover pictures from a side that follows from the seed."""
        height, width = pixels.shape[-2:]
        covered = covered_parts(levels, direction(seeds, levels), (height, width))
        return pixels * (1 - covered)[:, None]


def direction(seeds: Sequence[Seed], like: Tensor) -> Tensor:
    """Return the angle towards which what is seen lies, in radians, [n]."""
    return uniform(seeds, "occlusion", (1,), like.double())[:, 0] * (2 * math.pi)


def covered_parts(parts: Tensor, angles_rad: Tensor, size: tuple[int, int]) -> Tensor:
    """Return how much of each pixel lies behind a line, [n, h, w].

    Parameters
    ----------
    parts
        Of the area that lies behind it.

    Examples
    --------
    >>> import torch
    >>> covered = covered_parts(torch.tensor([0.3]), torch.tensor([1.0]), (10, 20))
    >>> round(float(covered.mean()), 6)
    0.3
    """
    import torch

    height, width = size
    x, y = torch.cos(angles_rad.double()), torch.sin(angles_rad.double())
    line = _quantile(parts.double(), width * x.abs(), height * y.abs())
    # All, whatever rounding says.
    line = torch.where(parts >= 1, math.inf, line)
    ahead = [
        (torch.arange(n, dtype=torch.float64, device=parts.device) - (n - 1) / 2)
        for n in (height, width)
    ]
    down = (line[:, None] - y[:, None] * ahead[0]).to(parts.dtype)
    across = (x[:, None] * ahead[1]).to(parts.dtype)
    long, short = (f(x.abs(), y.abs())[:, None, None] for f in (torch.maximum, torch.minimum))
    behind = down[:, :, None] - across[:, None, :]
    return _share(behind, long.to(parts.dtype), short.clamp(min=1e-9).to(parts.dtype))


def _quantile(parts: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return where so large a part of a rectangle, seen from a side, lies before.

    Its depth is the sum of two lengths, so that it grows as a square, then evenly, then as a square
    again.
    """
    import torch

    long, short = torch.maximum(first, second), torch.minimum(first, second)
    lower = torch.minimum(parts, 1 - parts)
    corner = torch.sqrt(2 * long * short * lower) - (long + short) / 2
    even = (lower - 0.5) * long
    place = torch.where(lower < short / (2 * long), corner, even)
    return torch.where(parts > 0.5, -place, place)


def _share(behind: Tensor, long: Tensor, short: Tensor) -> Tensor:
    """Return the part of a pixel that lies behind a line so far from its middle: no `_quantile`."""
    import torch

    far = behind.abs()
    corner = ((long + short) / 2 - far).clamp_(min=0).square_().div_(2 * long * short)
    less = torch.where(far < (long - short) / 2, 0.5 - far / long, corner)
    return torch.where(behind > 0, 1 - less, less)


OCCLUSION = Occlusion()

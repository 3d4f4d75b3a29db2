"""ImageNet-C with continuous severity: published numbers at 1 to 5, in between a straight line.

Hendrycks & Dietterich (2019) give five severities of each of their 15 + 4 corruptions. Here each of
their parameters runs through the five published values, and at severity 0 reaches the one that
leaves a picture as it is. Pictures are theirs in kind, not to the bit: their random numbers were
others, frost is procedural since theirs is cut out of photographs, and filters continue a picture
by its mirror image. Lengths are in pixels, as theirs, for pictures of 224 pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import OfPixels

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Corruption(OfPixels):
    """A corruption of ImageNet-C; its level is the severity."""

    axis: str = "severity"
    reference: str = "hendrycks_dietterich2019"
    range: tuple[float, float] = (0.1, 5.0)
    most: float = 5.0


def parameter(severities: Tensor, published: Sequence[float], identity: float) -> Tensor:
    """Return a parameter at severities from 0 to 5.

    Parameters
    ----------
    published
        At severity 1 to 5.
    identity
        At severity 0.

    Examples
    --------
    >>> import torch
    >>> parameter(torch.tensor([0.5, 1.0, 4.5]), (1, 2, 3, 4, 6), 0).tolist()
    [0.5, 1.0, 5.0]
    """
    import torch

    knots = severities.new_tensor([identity, *published])
    below = severities.floor().clamp(max=len(published) - 1)
    return torch.lerp(knots[below.long()], knots[below.long() + 1], severities - below)

"""Gaussian blur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import OfPixels
from fechner.stimuli.manipulations.separable import gaussian_blur
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Blur(OfPixels):
    """Gaussian blur of display-encoded values, as picture programs do it.

    The Gaussian is sampled at pixels and as wide as it is, not cut after a few standard deviations;
    beyond its edges the picture is continued by its mirror image.
    """

    name: str = "blur"
    title: str = "Gaussian blur"
    axis: str = "standard deviation (px)"
    reference: str = "richardwebster2018"
    range: tuple[float, float] = (0.3, 40.0)
    words: str = (
        "is blurred by a Gaussian whose standard deviation in pixels is the level; beyond its "
        "edges it is continued by its mirror image"
    )

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Blur pictures."""
        return gaussian_blur(pixels, levels)


BLUR = Blur()

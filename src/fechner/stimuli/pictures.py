"""Pictures: stimuli that are no sum of patterns, and changes that are made to them.

They are recipes as well: hashable, without pixels until they are drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from fechner.stimuli.field import Field

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.stimuli.manipulations.base import Manipulation
    from fechner.stimuli.stimulus import Layer

#: Why a picture is not shown; the first stands for one that is.
Problem = Literal["", "unreadable", "unreachable", "clipped", "aliased"]

#: What random numbers are drawn from; several are mixed.
Seed = tuple[int, ...]

#: Pictures that are remembered once drawn: a batch is looked at before it is shown.
_KEPT = 64

Same = TypeVar("Same", bound="Picture")


class Picture(ABC):
    """A still picture that was not made of patterns."""

    #: It has none; what it shows does not move.
    layers: ClassVar[tuple[Layer, ...]] = ()

    def at(self: Same, time_s: float) -> Same:
        """Return what it is at a moment: itself."""
        return self

    @property
    def source(self) -> Picture:
        """The picture that has to be read before this one can be drawn: itself, or another."""
        return self

    @abstractmethod
    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Return display-encoded values in 0..1 and double precision, [3, h, w].

        Raises `PictureError` where there is nothing to draw.

        Parameters
        ----------
        bits
            Values are rounded to what so many bits can hold; None keeps them.
        """


@lru_cache(maxsize=_KEPT)
def picture_drawn(picture: Picture, field: Field, bits: int | None, device: str = "cpu") -> Tensor:
    """Draw a picture, or remember it."""
    return picture.draw(field, bits, device)


@dataclass(frozen=True)
class Manipulated(Picture):
    """A picture at a distance from itself; neighbours of one manipulation are painted at once.

    Parameters
    ----------
    level
        The distance, in the unit of the manipulation; 0 is the picture itself.
    """

    picture: Picture
    manipulation: Manipulation
    level: float
    seed: Seed = ()

    @property
    def source(self) -> Picture:
        """The picture that has to be read, or this one if it may turn out that it cannot be had."""
        return self if self.manipulation.may_fail else self.picture.source

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw the picture and manipulate it."""
        import torch

        shown = self.manipulation.show(
            [self.picture], [self.level], [self.seed], field, bits, device, torch.float64
        )
        return shown[0]


def rounded(pixels: Tensor, bits: int | None) -> Tensor:
    """Return values in 0..1 as so many bits hold them."""
    pixels = pixels.clamp(0, 1)
    if bits is None:
        return pixels
    steps = 2.0**bits - 1
    return pixels.mul(steps).round().div(steps)

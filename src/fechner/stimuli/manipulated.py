"""A picture with a manipulation of stated strength, as a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.field import Field
from fechner.stimuli.pictures import Picture, Seed

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.stimuli.manipulations.base import Manipulation


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
        """The picture that has to be read."""
        return self.picture.source

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw the picture and manipulate it."""
        import torch

        shown = self.manipulation.show(
            [self.picture], [self.level], [self.seed], field, bits, device, torch.float64
        )
        return shown[0]

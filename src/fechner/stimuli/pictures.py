"""Pictures: stimuli that are no sum of patterns, and changes that are made to them.

They are recipes as well: hashable, without pixels until they are drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, TypeVar

from fechner.errors import PictureError
from fechner.stimuli.field import Field

if TYPE_CHECKING:
    from torch import Tensor

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


class Changed(NamedTuple):
    """What became of pictures.

    Parameters
    ----------
    pixels
        [n, 3, h, w], in 0..1 and rounded; as near as could be where there is a problem.
    problems
        Why a picture could not be changed as asked; empty where it was.
    """

    pixels: Tensor
    problems: tuple[Problem, ...]


class Perturbation(Protocol):
    """A change of pictures, of a stated strength; strength 0 is the identity, to the bit."""

    def __call__(
        self, pixels: Tensor, field: Field, seeds: Sequence[Seed], bits: int | None
    ) -> Changed:
        """Change pictures, [n, 3, h, w], each with random numbers of its own seed."""
        ...

    @property
    def words(self) -> str:
        """What it does, to be read after "cannot be"."""
        ...


@dataclass(frozen=True)
class Perturbed(Picture):
    """A picture with a change made to it.

    Parameters
    ----------
    nearest
        Whether to come as near as possible where the change cannot be made as asked, for people to
        look at; otherwise that is an error.
    """

    picture: Picture
    perturbation: Perturbation
    seed: Seed = ()
    nearest: bool = False

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw the picture and change it."""
        original = picture_drawn(self.picture, field, bits, device)
        changed = self.perturbation(original[None], field, [self.seed], bits)
        problem = changed.problems[0]
        if problem and not self.nearest:
            raise PictureError(f"{self.picture} cannot be {self.perturbation.words}.", problem)
        return changed.pixels[0]


def rounded(pixels: Tensor, bits: int | None) -> Tensor:
    """Return values in 0..1 as so many bits hold them."""
    pixels = pixels.clamp(0, 1)
    if bits is None:
        return pixels
    steps = 2.0**bits - 1
    return pixels.mul(steps).round().div(steps)

"""What a manipulation is: a change of pictures whose strength is a distance from the picture."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from fechner.errors import FechnerError
from fechner.stimuli.field import Field
from fechner.stimuli.pictures import Picture, Seed, picture_drawn, rounded

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: What can be manipulated: any picture, or views of 3D objects alone.
AppliesTo = Literal["pictures", "objects"]

#: Values that are changed at a time on a CPU.
_FEW_VALUES = 1 << 20


class Manipulation(Protocol):
    """A change of pictures, of a stated level; level 0 is the picture itself, to the bit.

    Manipulations are hashed and compared by value, as pictures are. What a row becomes depends on
    its own picture, level and seed, not on other rows.
    """

    @property
    def name(self) -> str:
        """What it is called, as in ``brightness-up``; also the end of a test's id."""
        ...

    @property
    def title(self) -> str:
        """What it is called in a heading."""
        ...

    @property
    def axis(self) -> str:
        """What its level is, with the unit."""
        ...

    @property
    def reference(self) -> str:
        """Key of the work it is from, in the bibliography."""
        ...

    @property
    def range(self) -> tuple[float, float]:
        """Weakest and strongest level that are shown unless others are asked for."""
        ...

    @property
    def most(self) -> float:
        """The strongest level that there can be."""
        ...

    @property
    def random(self) -> bool:
        """Whether it depends on seeds."""
        ...

    def setting(self, level: float) -> float:
        """Return what a program sets for a level: a standard deviation, a factor, an angle."""
        ...

    def level_of(self, setting: float) -> float:
        """Return the level that a setting stands for."""
        ...

    @property
    def opposite(self) -> str:
        """Name of the same in the other direction; empty if there is none."""
        ...

    @property
    def applies_to(self) -> AppliesTo:
        """What can be manipulated."""
        ...

    @property
    def words(self) -> str:
        """What it does, as a sentence without its subject, which is the picture."""
        ...

    def show(
        self,
        pictures: Sequence[Picture],
        levels: Sequence[float],
        seeds: Sequence[Seed],
        field: Field,
        bits: int | None,
        device: str,
        dtype: torch.dtype,
    ) -> Tensor:
        """Return pictures as they look at their levels, [n, 3, h, w], in 0..1."""
        ...


@dataclass(frozen=True, kw_only=True)
class OfPixels(ABC):
    """A manipulation that needs nothing but pixels, whatever they show.

    Parameters
    ----------
    most
        The strongest level there is.
    differentiable
        Whether the gradient of what it returns, with respect to pixels, says something.
    ordered
        Whether pixels change the more, the stronger the level.
    """

    name: str
    title: str
    axis: str
    reference: str
    range: tuple[float, float]
    words: str
    random: bool = False
    opposite: str = ""
    applies_to: AppliesTo = "pictures"
    most: float = math.inf
    differentiable: bool = True
    ordered: bool = True

    def __post_init__(self) -> None:
        weakest, strongest = self.range
        if not 0 < weakest < strongest <= self.most:
            raise ValueError(
                f"{self.name} goes from above 0 to something stronger, {self.most:g} at most, not "
                f"from {weakest:g} to {strongest:g}."
            )

    def setting(self, level: float) -> float:
        """Return what a program sets for a level; the same, unless said otherwise."""
        return level

    def level_of(self, setting: float) -> float:
        """Return the level that a setting stands for."""
        return setting

    @abstractmethod
    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Change pictures, [n, 3, h, w] in 0..1, by levels above 0, [n]; values may leave 0..1."""

    def apply(
        self,
        pixels: Tensor,
        levels: Sequence[float],
        seeds: Sequence[Seed],
        bits: int | None = None,
    ) -> Tensor:
        """Change pixels that are there already; those of level 0 stay as they are.

        Parameters
        ----------
        pixels
            [n, 3, h, w], in 0..1; they are not written to.
        bits
            What is changed is rounded to what so many bits can hold; None keeps it.
        """
        import torch

        if not len(pixels) == len(levels) == len(seeds):
            raise ValueError(
                f"each picture needs a level and a seed: there are {len(pixels)} pictures, "
                f"{len(levels)} levels and {len(seeds)} seeds."
            )
        for level in levels:
            if not 0 <= level <= self.most or math.isinf(level):
                limit = "" if math.isinf(self.most) else f" and {self.most:g} or less"
                raise FechnerError(
                    f"{level:g} is no level of {self.name}: give one that is 0 or more{limit}."
                )
        strengths = torch.tensor(levels, dtype=pixels.dtype, device=pixels.device)
        rows = strengths.nonzero()[:, 0].tolist()
        if len(rows) == len(levels):
            return rounded(self.change(pixels, strengths, seeds), bits)
        if not rows:
            return pixels
        changed = self.change(pixels[rows], strengths[rows], [seeds[row] for row in rows])
        where = torch.tensor(rows, device=pixels.device)
        return pixels.index_copy(0, where, rounded(changed, bits))

    def show(
        self,
        pictures: Sequence[Picture],
        levels: Sequence[float],
        seeds: Sequence[Seed],
        field: Field,
        bits: int | None,
        device: str,
        dtype: torch.dtype,
    ) -> Tensor:
        """Draw pictures, or remember them, and change them.

        Parameters
        ----------
        bits
            Both the pictures and what becomes of them are rounded to so many bits.
        """
        import torch

        if not pictures:
            raise ValueError("there is nothing to show: give at least one picture.")
        drawn = {each: picture_drawn(each, field, bits, device) for each in dict.fromkeys(pictures)}
        size = drawn[pictures[0]].shape
        shown = torch.empty((len(pictures), *size), dtype=dtype, device=device)
        for row, picture in zip(shown, pictures, strict=True):
            row.copy_(drawn[picture])
        # A few at a time: what is computed in between stays in cache and its memory is reused.
        few = max(1, _FEW_VALUES // shown[0].numel())
        for first in range(0, len(shown), few):
            some = slice(first, first + few)
            changed = self.apply(shown[some], levels[some], seeds[some], bits)
            if changed.data_ptr() != shown[some].data_ptr():
                shown[some] = changed
        return shown


def over_pixels(levels: Tensor) -> Tensor:
    """Return levels [n] as [n, 1, 1, 1], to be used with pixels."""
    return levels[:, None, None, None]

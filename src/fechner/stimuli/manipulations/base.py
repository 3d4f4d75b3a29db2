"""What a manipulation is: a change of pictures whose strength is a distance from the picture.

Random numbers are hashes of a pixel's place and the row's seed: the same in any batch, on any
device, and drawn for all rows at once, in 32-bit integers. Generators would draw one number after
the other, so that rows of a batch would need one each.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError
from fechner.stimuli.field import Field
from fechner.stimuli.pictures import Manipulated, Seed, Seeds, picture_drawn, rounded

#: What can be manipulated: any picture, or views of 3D objects alone.
AppliesTo = Literal["pictures", "objects"]

#: Multipliers between three shifts, found by search for the least bias of any output bit
#: (C. Wellons, hash-prospector, 2018); the second is negative in 32 bits with a sign.
_MULTIPLIERS = (0x7FEB352D, 0x846CA68B - (1 << 32))

#: Bits of a uniform number: with half a step added, single precision still holds it.
_BITS = 23


@dataclass(frozen=True, kw_only=True)
class Manipulation:
    """A change of pictures, of a stated level; level 0 is the picture itself, to the bit.

    Manipulations are hashed and compared by value, as pictures are. What a row becomes depends on
    its own picture, level and seed, not on other rows. One without parameters of its own is a
    function that `pixel_manipulation` decorates; others derive from this class and define `change`.

    Parameters
    ----------
    name
        What it is called, as in ``brightness-up``; also the end of a test's id.
    title
        What it is called in a heading.
    axis
        What its level is, with the unit.
    reference
        Key of the work it is from, in the bibliography.
    range
        Weakest and strongest level that are shown unless others are asked for.
    words
        What it does, as a sentence without its subject, which is the picture.
    random
        Whether it depends on seeds.
    opposite
        Name of the same in the other direction; empty if there is none.
    applies_to
        What can be manipulated.
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

    #: Whether each picture is drawn by itself (`shown`), not many at once from their pixels.
    alone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        weakest, strongest = self.range
        if not 0 < weakest < strongest <= self.most:
            given = f"{weakest:g} to {strongest:g}"
            raise ValueError(f"{self.name} has levels in 0..{self.most:g}, not from {given}.")

    def setting(self, level: float) -> float:
        """Return what a program sets for a level; the same, unless said otherwise."""
        return level

    def level_of(self, setting: float) -> float:
        """Return the level that a setting stands for."""
        return setting

    def change(self, pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
        """Change pictures, [n, 3, h, w] in 0..1, by levels above 0, [n]; values may leave 0..1."""
        raise NotImplementedError(f"{type(self).__name__} has to define how it changes pixels.")

    def shown(self, recipe: Manipulated, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw a picture and change it, [3, h, w]; a `PictureError` where that cannot be done."""
        return self.show([recipe], field, bits, device, torch.float64)[0]

    def apply(
        self, pixels: Tensor, levels: Sequence[float], seeds: Seeds, bits: int | None = None
    ) -> Tensor:
        """Change pixels in 0..1, [n, 3, h, w], into others; those of level 0 stay as they are.

        What is changed is rounded to what so many bits can hold; None keeps it.
        """
        if not len(pixels) == len(levels) == len(seeds):
            raise ValueError("each picture needs a level and a seed.")
        for level in levels:
            self.check_level(level)
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
        recipes: Sequence[Manipulated],
        field: Field,
        bits: int | None,
        device: str,
        dtype: torch.dtype,
    ) -> Tensor:
        """Draw pictures, or remember them, and change them; both are rounded to so many bits."""
        pictures = {recipe.picture for recipe in recipes}
        drawn = {each: picture_drawn(each, field, bits, device) for each in pictures}
        shown = torch.stack([drawn[recipe.picture].to(dtype) for recipe in recipes])
        levels, seeds = [each.level for each in recipes], [each.seed for each in recipes]
        # A few at a time: what is computed in between stays in cache and its memory is reused.
        few = max(1, (1 << 20) // shown[0].numel())
        for first in range(0, len(shown), few):
            some = slice(first, first + few)
            changed = self.apply(shown[some], levels[some], seeds[some], bits)
            if changed.data_ptr() != shown[some].data_ptr():
                shown[some] = changed
        return shown

    def check_level(self, level: float) -> None:
        """Refuse what is no level."""
        if not 0 <= level <= self.most or math.isinf(level):
            limit = "" if math.isinf(self.most) else f" and {self.most:g} or less"
            raise FechnerError(f"a level of {self.name} is 0 or more{limit}, not {level:g}.")


@dataclass(frozen=True, kw_only=True)
class Directed(Manipulation):
    """A manipulation of a property that can be raised or lowered."""

    direction: Literal["up", "down"]

    @classmethod
    def both(cls, what: str, up: dict[str, Any], down: dict[str, Any]) -> tuple[Self, Self]:
        """Return both directions, called after what they change, from their other fields."""
        return (
            cls(name=f"{what}-up", opposite=f"{what}-down", direction="up", **up),
            cls(name=f"{what}-down", opposite=f"{what}-up", direction="down", **down),
        )

    def signed(self, level: Any) -> Any:
        """Return a level upwards, or minus one downwards."""
        return level if self.direction == "up" else -level


#: Changes pictures, [n, 3, h, w], by levels above 0, [n], with a seed for each.
Change = Callable[["Tensor", "Tensor", Sequence[Seed]], "Tensor"]


def pixel_manipulation(name: str, **declared: Any) -> Callable[[Change], Manipulation]:
    """Make a manipulation of a function that changes pixels: a decorator.

    Parameters
    ----------
    declared
        The fields of `Manipulation`.

    Examples
    --------
    >>> @pixel_manipulation("fade", title="Fading", axis="lost part", reference="geirhos2018",
    ...                     range=(0.01, 1.0), most=1.0, words="fades to black")
    ... def fade(pixels, levels, seeds):
    ...     return pixels * (1 - over_pixels(levels))
    >>> import torch
    >>> fade.apply(torch.ones(1, 3, 1, 1), [0.25], [()])[0, 0].tolist()
    [[0.75]]
    """

    def made(change: Change) -> Manipulation:
        # A class of its own, whose name keys of results have: `low_pass` is a `LowPass`. Pickles
        # find it in the module of the function.
        kind = "".join(word.capitalize() for word in change.__name__.split("_"))
        own = {"change": staticmethod(change)}
        own |= {name: getattr(change, name) for name in ("__doc__", "__module__")}
        found = type(kind, (Manipulation,), own)
        setattr(sys.modules[change.__module__], kind, found)
        manipulation: Manipulation = found(name=name, **declared)
        return manipulation

    return made


def corruption(name: str, title: str, words: str, **more: Any) -> Callable[[Change], Manipulation]:
    """Make a corruption of ImageNet-C of a function; its level is the severity, from 0 to 5.

    Hendrycks & Dietterich (2019) give five severities of each of their 15 + 4 corruptions. Here
    each of their parameters runs through the five published values on straight lines, and at
    severity 0 reaches the one that leaves a picture as it is. Pictures are theirs in kind, not to
    the bit: their random numbers were others, frost is procedural since theirs is cut out of
    photographs, and filters continue a picture by its mirror image. Lengths are in pixels, as
    theirs, for pictures of 224 pixels.
    """
    if "ImageNet-C" not in words:
        words += ", as in ImageNet-C at this severity"
    return pixel_manipulation(
        name,
        title=f"{title} (ImageNet-C)",
        axis="severity",
        reference="hendrycks_dietterich2019",
        words=words,
        most=5.0,
        **{"range": (0.1, 5.0), **more},
    )


def parameter(severities: Tensor, published: Sequence[float], identity: float) -> Tensor:
    """Return a parameter at severities from 0 to 5, published ones from 1 on.

    Examples
    --------
    >>> import torch
    >>> parameter(torch.tensor([0.5, 1.0, 4.5]), (1, 2, 3, 4, 6), 0).tolist()
    [0.5, 1.0, 5.0]
    """
    knots = severities.new_tensor([identity, *published])
    below = severities.floor().clamp(max=len(published) - 1)
    return torch.lerp(knots[below.long()], knots[below.long() + 1], severities - below)


def over_pixels(levels: Tensor) -> Tensor:
    """Return levels [n] as [n, 1, 1, 1], to be used with pixels."""
    return levels[:, None, None, None]


def hashes(seeds: Seeds, stream: str, shape: tuple[int, ...], device: torch.device | str) -> Tensor:
    """Return 32 random bits for each place, as integers with a sign, [n, *shape].

    ``stream`` is what the numbers are for; those of another stream are others.

    Examples
    --------
    >>> hashes([(1,), (2,)], "example", (2,), "cpu").tolist()
    [[1436672159, 1595957271], [124425017, -1558826926]]
    """
    texts = (f"{stream}:{','.join(str(int(each)) for each in seed)}" for seed in seeds)
    digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
    keys = torch.from_numpy(np.frombuffer(digests, "<i4").astype(np.int32))
    keys = keys.to(device).reshape(len(seeds), 2, 1)
    places = _places(math.prod(shape), str(device))
    mixed = _mix_((places ^ keys[:, 0]).add_(keys[:, 1]))
    return mixed.reshape(len(seeds), *shape)


def uniform(seeds: Seeds, stream: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return uniform numbers between 0 and 1, neither included, [n, *shape].

    ``like`` has the device and the precision that are wanted.
    """
    return as_uniform(hashes(seeds, stream, shape, like.device), like)


def normal(seeds: Seeds, stream: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return standard normal numbers, [n, *shape]; none is beyond 5.3."""
    between = uniform(seeds, stream, shape, like).mul_(2).sub_(1)
    return torch.erfinv(between).mul_(math.sqrt(2))


def as_uniform(hashed: Tensor, like: Tensor) -> Tensor:
    """Return the upper bits of hashes as uniform numbers; the lower ones are free for a coin."""
    steps = 1 << _BITS
    upper = (hashed >> (32 - _BITS)).bitwise_and_(steps - 1)
    return upper.to(like.dtype).add_(0.5).div_(steps)


@lru_cache(maxsize=8)
def _places(count: int, device: str) -> Tensor:
    return _mix_(torch.arange(1, count + 1, dtype=torch.int32, device=device))


def _mix_(x: Tensor) -> Tensor:
    """Mix bits in place: one that differs changes half of all others."""
    first, second = _MULTIPLIERS
    # Shifts of integers with a sign bring in copies of it, which are masked.
    x.bitwise_xor_((x >> 16).bitwise_and_(0xFFFF)).mul_(first)
    x.bitwise_xor_((x >> 15).bitwise_and_(0x1FFFF)).mul_(second)
    return x.bitwise_xor_((x >> 16).bitwise_and_(0xFFFF))

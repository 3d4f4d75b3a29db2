"""Pictures that are made by a function of class and number: sets of any size that need no disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from fechner.errors import FechnerError
from fechner.stimuli.picture_sets.base import Missing, PictureSet
from fechner.stimuli.picture_sets.given import GivenPicture
from fechner.stimuli.pictures import Picture


@dataclass(frozen=True, eq=False, repr=False)
class VirtualPictures(PictureSet):
    """Pictures that a function makes.

    Parameters
    ----------
    make
        Of a class (its place among all) and a number within it; None if it is gone.
    called
        What the set is called.
    """

    make: Callable[[int, int], Any] | None = field(default=None, compare=False)
    called: str = field(default="", compare=False)

    kind: ClassVar[str] = "pictures"

    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of a class, made when it is drawn."""
        self._check(label, index)
        if self.make is None:
            return Missing(f"what makes the pictures of {self.called} is gone; give it again.")
        get = _Made(self.make, label, index)
        return GivenPicture(self.digest, label, index, self.name(label, index), get)

    def name(self, label: int, index: int) -> str:
        """Return class and number."""
        return f"{self.classes[label]}, picture {index}"

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values."""
        return {**super().plain(), "called": self.called}

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set whose pictures cannot be made any more."""
        return cls(**cls._fields(plain), called=plain["called"])


@dataclass(frozen=True)
class _Made:
    """Makes a picture."""

    make: Callable[[int, int], Any]
    label: int
    index: int

    def __call__(self) -> Any:
        return self.make(self.label, self.index)


def virtual_pictures(
    make: Callable[[int, int], Any], classes: Sequence[str], counts: int | Sequence[int], name: str
) -> VirtualPictures:
    """Return a set of pictures that a function makes when they are shown.

    Parameters
    ----------
    make
        Of a class (its place in ``classes``) and a number: an image of Pillow, an array, a tensor,
        a path or a `Picture`. The same numbers must give the same picture.
    classes
        Their names.
    counts
        Pictures of each class.
    name
        What the set is called, with a version: sets of one name, classes and counts are taken for
        the same.

    Examples
    --------
    >>> import numpy as np
    >>> virtual_pictures(lambda label, index: np.full((8, 8), label / 2), "abc", 1000, "grey 1")
    VirtualPictures(3,000 pictures in 3 classes, c4517dd9819c)
    """
    names = tuple(classes)
    numbers = (counts,) * len(names) if isinstance(counts, int) else tuple(counts)
    if len(numbers) != len(names) or min(numbers, default=0) < 1:
        raise FechnerError("each class of a virtual set has at least one picture: give counts.")
    if len(set(names)) < len(names):
        raise FechnerError("the classes of a virtual set have different names.")
    if not name:
        raise FechnerError("a virtual set needs a name, by which it is known again.")
    listed = json.dumps([name, names, numbers]).encode()
    digest = hashlib.sha256(listed).hexdigest()
    return VirtualPictures(digest, names, numbers, make=make, called=name)

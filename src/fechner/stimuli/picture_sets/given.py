"""Pictures given in Python: a sequence of pairs of a picture and its class, looked at when needed.

A data set of torchvision is one, and so is a list of arrays.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.picture_sets.base import Missing, PictureSet, need_two, set_digest
from fechner.stimuli.picture_sets.files import PictureFile
from fechner.stimuli.picture_sets.pixels import fitted, stored
from fechner.stimuli.pictures import Picture, rounded

if TYPE_CHECKING:
    from torch import Tensor

#: Of a data set that says which class each picture has, so many pictures are looked at to know it
#: again.
_LOOKED_AT = 16

#: Where data sets say which class each picture has.
_TARGETS = ("targets", "labels")


@dataclass(frozen=True)
class GivenPicture(Picture):
    """A picture that Python has, or makes when it is asked.

    Parameters
    ----------
    digest, label, index
        Which it is: of which set, and of which class.
    name
        What it is called in sentences.
    get
        Returns it: an image of Pillow, an array, a tensor, the path of a file, or a `Picture`.
    """

    digest: str
    label: int
    index: int
    name: str = field(compare=False)
    get: Callable[[], Any] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Get it and scale it, [3, h, w]."""
        import torch

        try:
            thing = self.get()
        except Exception as error:  # it is the user's code
            raise PictureError(
                f"{self.name} could not be had ({type(error).__name__}: {first_line(error)}).",
                "unreadable",
            ) from None
        if isinstance(thing, Picture):
            return thing.draw(field, bits, device)
        if (path := file_of(thing)) is not None:
            return as_file(path).draw(field, bits, device)
        values = fitted(thing, self.name, (field.height_px, field.width_px))
        pixels = torch.as_tensor(values, device=device).permute(2, 0, 1).contiguous()
        return rounded(pixels, bits)


@dataclass(frozen=True, eq=False, repr=False)
class GivenPictures(PictureSet):
    """The pictures of a sequence; it is kept as it is, and asked for one at a time.

    Parameters
    ----------
    source
        Gives a picture and its class for each number; None if it is gone.
    positions
        The numbers of the pictures of each class.
    """

    source: Any = field(default=None, compare=False)
    positions: tuple[array[int], ...] = field(default=(), compare=False)

    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of a class."""
        self._check(label, index)
        if self.source is None:
            return Missing(
                f"the pictures of {self.classes[label]} were given in Python and are gone; give "
                "them again."
            )
        position = self.positions[label][index]
        get = _Item(self.source, position)
        return GivenPicture(self.digest, label, index, called(position), get)

    def name(self, label: int, index: int) -> str:
        """Return which picture of the sequence it is."""
        if self.source is None:
            return f"{self.classes[label]}, picture {index}"
        return called(self.positions[label][index])

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set whose pictures are gone."""
        return cls(**cls._fields(plain))


@dataclass(frozen=True)
class _Item:
    """Gets a picture of a sequence."""

    source: Any
    position: int

    def __call__(self) -> Any:
        return pair(self.source[self.position], self.position)[0]


def open_sequence(source: Any) -> GivenPictures:
    """Sort the pictures of a sequence by class.

    Where it says itself which class each has (``targets``, as data sets of torchvision do), only a
    few pictures are looked at; otherwise each is, once, and none is kept.
    """
    count = len(source)
    targets = _targets(source, count)
    looked_at = range(count)
    positions: dict[str, array[int]] = {}
    if targets is not None:
        looked_at = range(0, count, max(1, count // _LOOKED_AT))
        for position, target in enumerate(targets):
            positions.setdefault(class_name(target, source), array("q")).append(position)
    contents = hashlib.sha256()
    for position in looked_at:
        picture, target = _item(source, position)
        contents.update(f"{position} {content_mark(picture)}\n".encode())
        if targets is None:
            positions.setdefault(class_name(target, source), array("q")).append(position)
    classes = sorted(positions)
    need_two(classes, "what was given", "give pictures of another.")
    marks = [hashlib.sha256(positions[label].tobytes()).hexdigest() for label in classes]
    return GivenPictures(
        set_digest([*classes, "contents"], [*marks, contents.hexdigest()]),
        tuple(classes),
        tuple(len(positions[label]) for label in classes),
        source=source,
        positions=tuple(positions[label] for label in classes),
    )


def _targets(source: Any, count: int) -> Iterable[Any] | None:
    """Return the class of each picture where a data set says it."""
    for name in _TARGETS:
        found = getattr(source, name, None)
        if isinstance(found, Iterable) and isinstance(found, Sized) and len(found) == count:
            return found
    return None


def pair(item: Any, position: int) -> tuple[Any, Any]:
    """Return picture and class of an item, or say that it is no pair.

    Parameters
    ----------
    item
        Both, or a mapping that has them as ``image`` and ``label``.
    """
    if isinstance(item, Mapping) and {"image", "label"} <= set(item):
        return item["image"], item["label"]
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise FechnerError(
        f"{called(position)} is a {type(item).__name__}; give pairs of a picture and the name or "
        "number of its class."
    )


def class_name(target: Any, source: Any = None) -> str:
    """Return the name of a class: its own, or that which a data set has for a number.

    Examples
    --------
    >>> class_name(3), class_name("tench")
    ('3', 'tench')
    """
    if math.prod(getattr(target, "shape", ())) != 1:
        raise FechnerError("a class is a name or a number, not an array: give (picture, class).")
    if hasattr(target, "item"):  # of NumPy and torch
        target = target.item()
    if isinstance(target, str) and target.strip():
        return target.strip()
    if isinstance(target, bool) or not isinstance(target, int):
        raise FechnerError(f"a class is a name or a number, not {target!r}.")
    names = getattr(source, "classes", None)
    if isinstance(names, Sequence) and 0 <= target < len(names):
        name = names[target]
        return ", ".join(map(str, name)) if isinstance(name, tuple | list) else str(name)
    return str(target)


def content_mark(thing: Any) -> str:
    """Return what a picture is known again by: a hash of its values, or name and size of a file."""
    from PIL import Image

    if (path := file_of(thing)) is not None:
        found = as_file(path)
        return f"{found.name} {found.size_bytes}"
    try:
        if isinstance(thing, Image.Image):
            thing = np.asarray(thing)
        values = stored(thing, "")
    except Exception as error:  # it is said when it is shown
        return type(error).__name__
    running = hashlib.sha256(f"{values.shape} {values.dtype}".encode())
    running.update(values.tobytes())
    return running.hexdigest()[:16]


def file_of(thing: Any) -> Path | None:
    """Return the path of a picture that is a file; None if it is none.

    An image of Pillow that was opened and not decoded is read from its file, so that not all of
    them end up in memory.
    """
    if isinstance(thing, str | Path):
        return Path(thing)
    name = getattr(thing, "filename", "")
    if name and isinstance(name, str) and getattr(thing, "fp", None) is not None:
        return Path(name)
    return None


def as_file(path: Path) -> PictureFile:
    """Return a file as it is now; one that is not there says so when it is drawn."""
    try:
        size_bytes = path.stat().st_size
    except OSError:
        size_bytes = -1
    return PictureFile(str(path), size_bytes, path.name)


def _item(source: Any, position: int) -> tuple[Any, Any]:
    try:
        item = source[position]
    except Exception as error:  # it is the user's code
        raise FechnerError(
            f"{called(position)} could not be had ({type(error).__name__}: {first_line(error)})."
        ) from error
    return pair(item, position)


def called(position: int) -> str:
    """Return what a picture without a name is called."""
    return f"picture {position} of those given"


def first_line(error: Exception) -> str:
    """Return what an error of the user's code says, cut to a line."""
    return (str(error).splitlines() or ["without a word"])[0][:200]

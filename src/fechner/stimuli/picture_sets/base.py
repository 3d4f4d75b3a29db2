"""Picture sets: pictures in classes, listed but not decoded before they are shown."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.pictures import Picture

if TYPE_CHECKING:
    from torch import Tensor

#: What parts of a data set are called in the names of folders and files.
_SPLITS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
}


@dataclass(frozen=True, eq=False)
class PictureSet(ABC):
    """Pictures in classes; two are the same if what they list is.

    Of a set of any size only counts are held in memory: a picture is a recipe that is made when it
    is asked for. Sets can be pickled and restored from plain values (`known_pictures`) when their
    files are gone, as long as nobody has to see them.

    Parameters
    ----------
    digest
        The sha256 of what is listed; the only thing that answers depend on.
    classes
        As the folder or the list names them, sorted.
    counts
        Pictures of each class.
    place
        Where they are; empty if nowhere. They may be moved.
    notes
        What was left out, in sentences.
    split
        The part of a data set that it is, as its path says: ``"train"``, ``"val"``, ``"test"`` or
        empty.
    """

    digest: str
    classes: tuple[str, ...] = field(compare=False)
    counts: tuple[int, ...] = field(compare=False)
    place: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    split: str = field(default="", compare=False)

    #: What they are, in a word for people.
    kind: ClassVar[str] = "photographs"
    #: How one comes to have the size of the field, in a sentence.
    fitted: ClassVar[str] = "The largest part of the field's shape in its middle is scaled to it."

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PictureSet) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __len__(self) -> int:
        return sum(self.counts)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self):,} pictures in {len(self.classes):,} classes, "
            f"{self.digest[:12]})"
        )

    @abstractmethod
    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of a class, not decoded.

        Where there is none any more, it says so when it is drawn.
        """

    @abstractmethod
    def name(self, label: int, index: int) -> str:
        """Return what a picture is called."""

    @property
    def experiments(self) -> Sequence[PictureSet]:
        """Parts whose pictures come in conditions, each an experiment of its own; mostly none."""
        return ()

    def shown(self, label: int, index: int) -> Picture:
        """Return the picture that curves are measured with; the same, for photographs."""
        return self.picture(label, index)

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values, without its place and its pictures."""
        return {
            "set": type(self).__name__,
            "kind": self.kind,
            "digest": self.digest,
            "classes": list(self.classes),
            "counts": list(self.counts),
            "notes": list(self.notes),
            "split": self.split,
        }

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set from its plain values."""
        return cls(**cls._fields(plain), place=place)

    @staticmethod
    def _fields(plain: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that every set has, but for its place."""
        return {
            "digest": plain["digest"],
            "classes": tuple(plain["classes"]),
            "counts": tuple(plain["counts"]),
            "notes": tuple(plain["notes"]),
            "split": plain["split"],
        }

    def _check(self, label: int, index: int) -> None:
        if not (0 <= label < len(self.classes) and 0 <= index < self.counts[label]):
            raise IndexError(f"there is no picture {index} of class {label} in {self!r}")


@dataclass(frozen=True)
class Missing(Picture):
    """A picture that is not there any more.

    Parameters
    ----------
    why
        What is said when it is to be drawn, a sentence.
    """

    why: str

    def __str__(self) -> str:
        return self.why

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Say why it cannot be drawn."""
        raise PictureError(self.why, "unreadable")


def class_mark(pictures: Iterable[tuple[str, int | str]]) -> str:
    """Return a hash of the pictures of a class: their names in order, with size or content.

    Examples
    --------
    >>> class_mark([("a.png", 10)])
    '0bc238c2b2fd6bc6'
    """
    running = hashlib.sha256()
    for name, content in pictures:
        running.update(b"%s\0%s\n" % (name.encode("utf-8", "surrogateescape"), _bytes(content)))
    return running.hexdigest()[:16]


def set_digest(classes: Sequence[str], marks: Sequence[str]) -> str:
    """Return the sha256 of a set, from its classes and their marks."""
    running = hashlib.sha256()
    for label, mark in zip(classes, marks, strict=True):
        running.update(b"%s\0%s\n" % (label.encode("utf-8", "surrogateescape"), mark.encode()))
    return running.hexdigest()


def split_of(place: Path) -> str:
    """Return the part of a data set that a path names, empty if it names none.

    Examples
    --------
    >>> split_of(Path("imagenette2-320/train")), split_of(Path("ILSVRC2012_img_val"))
    ('train', 'val')
    """
    words = re.split(r"[^a-z]+", place.stem.lower())
    named = [word for word in (place.parent.name.lower(), *words) if word in _SPLITS]
    return _SPLITS[named[-1]] if named else ""


def need_two(classes: Sequence[str], what: str, how: str) -> None:
    """Refuse a set in which there is nothing to choose between."""
    if len(classes) < 2:
        number = "1 class" if classes else "no class"
        raise FechnerError(f"{what} has pictures of {number}, and two are needed: {how}")


def _bytes(content: int | str) -> bytes:
    return str(content).encode()

"""Pictures in files: recipes that are read when they are shown, and sets of them."""

from __future__ import annotations

import stat
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fechner.errors import PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.photographs import decoded
from fechner.stimuli.picture_sets.base import Missing, PictureSet, class_mark
from fechner.stimuli.picture_sets.pixels import fitted
from fechner.stimuli.pictures import Picture, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

#: Pictures that are kept as arrays.
ARRAY = ".npy"

#: Names that are written out in a sentence.
_NAMED = 5


@dataclass(frozen=True)
class PictureFile(Picture):
    """A picture file, known by where it is and how large.

    It is shown as a `Photograph` is, but its content is not hashed beforehand, and large JPEGs are
    decoded at a part of their size.

    Parameters
    ----------
    path
        Where it is.
    size_bytes
        When it was listed; a file that has another size is not shown.
    name
        What it is called in sentences.
    """

    path: str
    size_bytes: int
    name: str = field(compare=False)

    def __str__(self) -> str:
        return self.name

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Decode it, [3, h, w]."""
        import torch

        try:
            values = self._values((field.height_px, field.width_px))
        except OSError as error:
            raise self._refused(f"cannot be read: {error.strerror or error}") from None
        pixels = torch.as_tensor(values, device=device).permute(2, 0, 1).contiguous()
        return rounded(pixels, bits)

    def _values(self, size_px: tuple[int, int]) -> NDArray[Any]:
        import numpy as np

        found = Path(self.path).stat()  # before it is opened, for a pipe would never end
        if not stat.S_ISREG(found.st_mode):
            raise self._refused("is no file")
        if found.st_size == 0:
            raise self._refused("is empty")
        if found.st_size != self.size_bytes:
            raise self._refused("has changed since it was listed")
        with Path(self.path).open("rb") as file:
            if not self.path.endswith(ARRAY):
                return decoded(file, self.name, size_px, sparing=True)
            try:
                values = np.load(file, allow_pickle=False)
            except (ValueError, EOFError) as error:
                raise self._refused(f"is damaged ({type(error).__name__})") from None
        return fitted(values, self.name, size_px)

    def _refused(self, why: str) -> PictureError:
        return PictureError(f"{self.name} {why}.", "unreadable")


@dataclass(frozen=True)
class Files:
    """The files of a class.

    Parameters
    ----------
    folder
        Where names begin.
    names, sizes
        In order, with how many bytes each has.
    """

    folder: str
    names: Sequence[str]
    sizes: Sequence[int]

    @property
    def mark(self) -> str:
        """A hash of what is listed."""
        return class_mark(zip(self.names, self.sizes, strict=True))

    def file(self, index: int, called: str = "") -> PictureFile:
        """Return one of them.

        Parameters
        ----------
        called
            What its name begins with in sentences.
        """
        name = self.names[index]
        return PictureFile(str(Path(self.folder, name)), self.sizes[index], called + as_text(name))


@dataclass(frozen=True, eq=False, repr=False)
class FileSet(PictureSet):
    """Pictures in files.

    Parameters
    ----------
    marks
        A hash of the names and sizes of each class, to know it again when it is listed anew.
    """

    marks: tuple[str, ...] = field(default=(), compare=False)

    @abstractmethod
    def _file(self, label: int, index: int) -> PictureFile:
        """Return a file, or raise `PictureError`."""

    def picture(self, label: int, index: int) -> Picture:
        """Return a file of a class."""
        self._check(label, index)
        if not self.place:
            return Missing(f"nobody knows where the pictures of {self.classes[label]} are.")
        try:
            return self._file(label, index)
        except PictureError as error:
            return Missing(str(error))

    def name(self, label: int, index: int) -> str:
        """Return the name of a file; a number, if it is not there any more."""
        found = self.picture(label, index)
        if isinstance(found, PictureFile):
            return found.name
        return f"{self.classes[label]}, picture {index}"

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values."""
        return {**super().plain(), "marks": list(self.marks)}

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set from its plain values."""
        return cls(**cls._fields(plain), place=place, marks=tuple(plain["marks"]))


def as_text(name: str) -> str:
    r"""Return a name of a file as text; bytes that are none are written out.

    Examples
    --------
    >>> as_text("caf\udce9.png")
    'caf\\xe9.png'
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def changed(label: str, count: int, now: int) -> PictureError:
    """Say that the files of a class are not those that were listed.

    Parameters
    ----------
    count, now
        How many there were, and are.
    """
    again = "; show the same pictures, or start a new run."
    what = (
        f"files of {label} have changed since they were listed"
        if now == count
        else f"{label} had {count:,} pictures when it was listed and has {now:,} now"
    )
    return PictureError(what + again, "unreadable")


@dataclass
class Named:
    """Things in a sentence: the names of the first few, and how many there are.

    Examples
    --------
    >>> found = Named()
    >>> for name in "abcdefg":
    ...     found.add(name)
    >>> found.say("is left out", "are left out")
    'a, b, c, d, e and 2 more are left out.'
    """

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str, times: int = 1) -> None:
        """Add one, or several of one name."""
        self.count += times
        if len(self.first) < _NAMED:
            self.first.append(name)

    @property
    def names(self) -> str:
        """The names, as far as they are written out."""
        more = self.count - len(self.first)
        return ", ".join(self.first) + (f" and {more:,} more" if more else "")

    def say(self, one: str, many: str) -> str:
        """Return a sentence about one or many."""
        return f"{self.names} {one if self.count == 1 else many}."

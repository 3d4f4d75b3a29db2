"""Pictures: stimuli that are no sum of patterns, such as files, and changes made to them.

They are recipes as well: hashable, without pixels until they are drawn. A file is read when its
picture is shown, and not before; what cannot be read is a `PictureError`.
"""

from __future__ import annotations

import hashlib
import stat
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from dataclasses import field as field_
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, PictureError
from fechner.stimuli.decoding import decoded, fitted, unreadable
from fechner.stimuli.field import Field

if TYPE_CHECKING:
    from fechner.stimuli.manipulations.base import Manipulation
    from fechner.stimuli.stimulus import Layer

#: Why a picture is not shown; the first stands for one that is.
Problem = Literal["", "unreadable", "unreachable", "clipped", "aliased"]

#: What random numbers are drawn from; several are mixed.
Seed = tuple[int, ...]
Seeds = Sequence[Seed]

#: How names of files end that are taken for pictures.
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")

#: By package: photographs in colour of scenes, animals and people.
_PACKAGED = {
    "matplotlib": "mpl-data/sample_data/ grace_hopper.jpg",
    "skimage": "data/ astronaut.png chelsea.png coffee.png motorcycle_left.png rocket.jpg",
    "sklearn": "datasets/images/ china.jpg flower.jpg",
}

#: How names of pictures that are kept as arrays end.
ARRAY = ".npy"

Same = TypeVar("Same", bound="Picture")
Thing = TypeVar("Thing")


class Recent(Generic[Thing]):
    """Remembers things up to a total size; those not used for longest are forgotten first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._known: OrderedDict[Hashable, tuple[Thing, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: Hashable) -> Thing | None:
        """Return what is remembered by a key, None if nothing is."""
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key][0]

    def keep(self, key: Hashable, thing: Thing, size: int) -> Thing:
        """Remember a thing, and return it."""
        with self._lock:
            self._known[key] = (thing, size)
            while len(self._known) > 1 and sum(n for _, n in self._known.values()) > self.most:
                self._known.popitem(last=False)
        return thing

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()


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

        They are rounded to what so many bits can hold; None keeps them. Raises `PictureError` where
        there is nothing to draw.
        """


@lru_cache(maxsize=64)
def picture_drawn(picture: Picture, field: Field, bits: int | None, device: str = "cpu") -> Tensor:
    """Draw a picture, or remember it: a batch is looked at before it is shown."""
    return picture.draw(field, bits, device)


@dataclass(frozen=True)
class Manipulated(Picture):
    """A picture at a distance from itself, in the unit of the manipulation; 0 is itself."""

    picture: Picture
    manipulation: Manipulation
    level: float
    seed: Seed = ()

    @property
    def source(self) -> Picture:
        """The picture that has to be read, or this one if it is drawn by itself."""
        return self if self.manipulation.alone else self.picture.source

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw the picture and manipulate it."""
        return self.manipulation.shown(self, field, bits, device)


def rounded(pixels: Tensor, bits: int | None) -> Tensor:
    """Return values in 0..1 as so many bits hold them."""
    pixels = pixels.clamp(0, 1)
    if bits is None:
        return pixels
    steps = 2.0**bits - 1
    return pixels.mul(steps).round().div(steps)


def as_drawn(values: NDArray[np.float64], bits: int | None, device: str) -> Tensor:
    """Return decoded values, [h, w, 3], as `Picture.draw` does."""
    pixels = torch.as_tensor(values, device=device).permute(2, 0, 1).contiguous()
    return rounded(pixels, bits)


@dataclass(frozen=True)
class Photograph(Picture):
    """A picture file and the class of what it shows.

    Parameters
    ----------
    name
        Its path inside the folder, with ``/``. The folder may be moved.
    sha256
        Of the file; a file that has changed since is not shown. Empty if it could not be read.
    """

    name: str
    label: str
    sha256: str
    folder: str = field_(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path:
        """Where the file is."""
        return Path(self.folder) / self.name

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Decode it, [3, h, w]."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise unreadable(self.name, f"cannot be read: {error.strerror or error}") from None
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise unreadable(self.name, "has changed since it was listed")
        values = decoded(content, self.name, (field.height_px, field.width_px))
        return as_drawn(values, bits, device)


@dataclass(frozen=True)
class Album:
    """Photographs chosen from a set, by class and name, and all its classes to choose from.

    ``notes`` say what was left out.
    """

    classes: tuple[str, ...]
    photographs: tuple[Photograph, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.photographs)

    @property
    def labels(self) -> tuple[int, ...]:
        """The place of each photograph's class."""
        places = {name: place for place, name in enumerate(self.classes)}
        return tuple(places[each.label] for each in self.photographs)

    @property
    def folder(self) -> str:
        """Where its files are."""
        return self.photographs[0].folder if self.photographs else ""

    @classmethod
    def known(cls, plain: dict[str, Any], folder: str) -> Album:
        """Return an album from its own fields as plain values, as a run keeps them."""
        photographs = tuple(
            Photograph(each["name"], each["label"], each["sha256"], folder)
            for each in plain["photographs"]
        )
        return cls(tuple(plain["classes"]), photographs, tuple(plain["notes"]))


def photograph(path: Path | str, label: str) -> Photograph:
    """Return a single file as a photograph."""
    path = Path(path)
    return Photograph(path.name, label, hash_content(path), str(path.parent))


def hash_content(path: Path) -> str:
    """Return the sha256 of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def file_size(path: Path) -> int:
    """Return the bytes of a file; -1 where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return -1
    return found.st_size if stat.S_ISREG(found.st_mode) else -1


def packaged_photographs() -> tuple[Photograph, ...]:
    """Return the photographs that matplotlib, scikit-image and scikit-learn bring along.

    The first is required by fechner; of the others, those that are installed are taken.

    Examples
    --------
    >>> "grace_hopper.jpg" in [each.name for each in packaged_photographs()]
    True
    """
    found = []
    for package, where in _PACKAGED.items():
        folder, *names = where.split()
        # Found, not imported, for that takes seconds.
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            paths = (Path(spec.origin).parent / folder / name for name in names)
            found += [photograph(path, package) for path in paths if path.is_file()]
    return tuple(found)


def photographs_in(folder: Path | str, most: int | None = None) -> tuple[Photograph, ...]:
    """Return the pictures of a folder and of the folders in it, sorted by their paths."""
    place = Path(folder)
    if not place.is_dir():
        raise FechnerError(f"there is no folder '{place}' of pictures.")
    paths = sorted(each for each in place.rglob("*") if each.name.lower().endswith(SUFFIXES))
    if not paths:
        raise FechnerError(f"'{place}' has no pictures ({', '.join(SUFFIXES)}).")
    return tuple(photograph(path, path.parent.name) for path in paths[:most])


@dataclass(frozen=True)
class PictureFile(Picture):
    """A picture file, known by where it is and how large; one of another size is not shown.

    It is shown as a `Photograph` is, but its content is not hashed beforehand, and large JPEGs are
    decoded at a part of their size.
    """

    path: str
    size_bytes: int
    name: str = field_(compare=False)

    def __str__(self) -> str:
        return self.name

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Decode it, [3, h, w]."""
        size_px = (field.height_px, field.width_px)
        # Before it is opened, for a pipe would never end.
        if self.size_bytes < 0 or file_size(Path(self.path)) != self.size_bytes:
            raise unreadable(self.name, "is no file, or has changed since it was listed")
        try:
            with Path(self.path).open("rb") as file:
                if self.path.endswith(ARRAY):
                    values = fitted(np.load(file, allow_pickle=False), self.name, size_px)
                else:
                    values = decoded(file, self.name, size_px, sparing=True)
        except OSError as error:
            raise unreadable(self.name, f"cannot be read: {error.strerror or error}") from None
        except (ValueError, EOFError) as error:
            raise unreadable(self.name, f"is damaged ({type(error).__name__})") from None
        return as_drawn(values, bits, device)


@dataclass(frozen=True)
class Missing(Picture):
    """A picture that is not there any more; ``why`` is a sentence for whoever wants to see it."""

    why: str

    def __str__(self) -> str:
        return self.why

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Say why it cannot be drawn."""
        raise PictureError(self.why, "unreadable")

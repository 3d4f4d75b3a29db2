"""Picture sets: pictures in classes, listed but not decoded before they are shown.

They come from folders and lists (`picture_files`), from Python (`given_pictures`), in conditions
(`conditions`) or as views of 3D objects (`objects`); `open_pictures` opens whatever a user has.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from fechner.errors import FechnerError
from fechner.stimuli.pictures import (
    SUFFIXES,
    Album,
    Missing,
    Photograph,
    Picture,
    PictureFile,
    hash_content,
)

#: Sets that a run may have kept, and the modules that they are in.
_KNOWN = {
    "ExperimentPictures": "conditions",
    "FolderPictures": "picture_files",
    "GivenPictures": "given_pictures",
    "ListPictures": "picture_files",
    "NoPictures": "picture_sets",
    "ObjectSet": "objects.sets",
    "SpooledPictures": "given_pictures",
    "VirtualPictures": "given_pictures",
}

_HOW = (
    "give a folder with one folder of pictures for each class, a CSV file with the columns path "
    "and class, or pairs of a picture and its class"
)


@dataclass(frozen=True, eq=False)
class PictureSet:
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
    #: Fields that a run keeps, beside those of every set.
    kept: ClassVar[tuple[str, ...]] = ()

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

    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of a class, not decoded.

        Where there is none any more, it says so when it is drawn.
        """
        if not (0 <= label < len(self.classes) and 0 <= index < self.counts[label]):
            raise IndexError(f"there is no picture {index} of class {label} in {self!r}")
        return self._picture(label, index)

    def _picture(self, label: int, index: int) -> Picture:
        """Return a picture that is listed."""
        raise NotImplementedError

    def name(self, label: int, index: int) -> str:
        """Return what a picture is called; a number, if it is not there any more."""
        found = self.picture(label, index)
        missing = isinstance(found, Missing)
        return f"{self.classes[label]}, picture {index}" if missing else str(found)

    @property
    def experiments(self) -> Sequence[PictureSet]:
        """Parts whose pictures come in conditions, each an experiment of its own; mostly none."""
        return ()

    def shown(self, label: int, index: int) -> Picture:
        """Return the picture that curves are measured with; the same, for photographs."""
        return self.picture(label, index)

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as plain values, without its place and its pictures."""
        names = ("kind", "digest", "classes", "counts", "notes", "split", *self.kept)
        return {"set": type(self).__name__, **{name: getattr(self, name) for name in names}}

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set from its plain values, which may have come through JSON."""
        names = ("digest", "classes", "counts", "notes", "split", *cls.kept)
        return cls(place=place, **{name: _as_tuples(plain[name]) for name in names})


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True, eq=False, repr=False)
class SomePictures(PictureSet):
    """At most so many pictures of each class, by a seed and the name of the class.

    Another class or another place changes nothing.
    """

    of: PictureSet = field(kw_only=True, compare=False)
    per_class: int = field(default=1, compare=False)
    seed: int = field(default=0, compare=False)

    kept: ClassVar[tuple[str, ...]] = ("per_class", "seed")

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.of.kind)

    def _there(self, label: int, index: int) -> tuple[int, int]:
        """Return class and place of a picture in the whole set."""
        total, some = self.of.counts[label], self.counts[label]
        return label, sorted(shuffled(self.seed, self.classes[label], total, some))[index]

    def _picture(self, label: int, index: int) -> Picture:
        return self.of.picture(*self._there(label, index))

    def shown(self, label: int, index: int) -> Picture:
        """Return the picture that curves are measured with."""
        return self.of.shown(*self._there(label, index))

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as plain values."""
        return {**super().plain(), "of": self.of.plain()}


@dataclass(frozen=True, eq=False, repr=False)
class SomeClasses(SomePictures):
    """Some of the classes, with all their pictures; ``labels`` are their places in the whole."""

    labels: tuple[int, ...] = field(default=(), compare=False)

    kept: ClassVar[tuple[str, ...]] = ()

    def _there(self, label: int, index: int) -> tuple[int, int]:
        return self.labels[label], index


@lru_cache(maxsize=1024)
def shuffled(seed: int, label: str, count: int, some: int | None = None) -> tuple[int, ...]:
    """Return the first pictures of a class in an order that follows from the seed and the class."""
    generator = np.random.default_rng((seed, zlib.crc32(label.encode("utf-8", "surrogateescape"))))
    return tuple(generator.permutation(count)[:some].tolist())


def some_of(pictures: PictureSet, per_class: int, seed: int = 0) -> PictureSet:
    """Return at most so many pictures of each class; more are a superset."""
    if per_class < 1:
        raise FechnerError(f"there is at least one picture of each class, not {per_class}.")
    if all(count <= per_class for count in pictures.counts):
        return pictures
    counts = tuple(min(count, per_class) for count in pictures.counts)
    own = _part(pictures, per_class, seed)
    return SomePictures(
        **own, classes=pictures.classes, counts=counts, per_class=per_class, seed=seed
    )


def classes_of(pictures: PictureSet, chosen: Sequence[str]) -> PictureSet:
    """Return the pictures of some classes, in the order of the whole set."""
    labels = tuple(place for place, name in enumerate(pictures.classes) if name in set(chosen))
    if len(labels) == len(pictures.classes):
        return pictures
    names = tuple(pictures.classes[place] for place in labels)
    counts = tuple(pictures.counts[place] for place in labels)
    return SomeClasses(**_part(pictures, *names), classes=names, counts=counts, labels=labels)


def _part(pictures: PictureSet, *how: object) -> dict[str, Any]:
    """Return what a part has of the whole, and its digest."""
    listed = " ".join(map(str, (pictures.digest, *how)))
    digest = hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()
    same = {name: getattr(pictures, name) for name in ("place", "notes", "split")}
    return {"digest": digest, "of": pictures, **same}


@dataclass(frozen=True, eq=False, repr=False)
class NoPictures(PictureSet):
    """A set without pictures, for lists of tests before anybody gives some."""

    def picture(self, label: int, index: int) -> Picture:
        """Return nothing to show."""
        return Missing("there are no pictures yet: give --images FOLDER.")

    _picture = picture


#: The set without pictures.
NO_PICTURES = NoPictures(hashlib.sha256(b"").hexdigest(), (), ())


def open_pictures(
    images: Any, *, per_class: int | None = None, seed: int = 0, spool: Path | None = None
) -> PictureSet:
    """Open a set of pictures in classes, of any size; nothing is decoded but what is given so.

    Parameters
    ----------
    images
        A folder with one folder for each class, as ImageNet's or Imagenette's ``train`` or
        ``val``; experiments as model-vs-human has them; a CSV file with the columns ``path`` (from
        its own folder on) and ``class``; a sequence of pairs of a picture and its class, such as a
        data set of torchvision; an iterator of such pairs, which are written to disk as they come;
        or a set itself.
        A picture is an image of Pillow, an array [h, w, 3], a tensor [3, h, w] or a path.
    per_class, seed
        At most so many of each class, drawn by the seed and the name of the class.
    spool
        Folder for the pictures of an iterator; None is a temporary one.
    """
    from fechner.stimuli.given_pictures import open_iterator, open_sequence

    sized = hasattr(images, "__len__") and hasattr(images, "__getitem__")
    if isinstance(images, PictureSet):
        found = images
    elif isinstance(images, str | Path):
        found = _open_place(Path(images).expanduser())
    elif isinstance(images, bytes | Mapping) or not (sized or isinstance(images, Iterable)):
        raise FechnerError(f"a {type(images).__name__} is no set of pictures; {_HOW}.")
    else:
        found = open_sequence(images) if sized else open_iterator(images, spool)
    return found if per_class is None else some_of(found, per_class, seed)


def _open_place(place: Path) -> PictureSet:
    from fechner.stimuli.conditions import open_experiments
    from fechner.stimuli.picture_files import open_folder, open_list

    if place.is_dir():
        return open_experiments(place) or open_folder(place)
    if not place.is_file():
        raise FechnerError(f"there is no {place}; {_HOW}.")
    if place.suffix.lower() in SUFFIXES:
        raise FechnerError(f"{place} is a single picture; {_HOW}.")
    return open_list(place)


def open_album(
    images: Any, *, per_class: int | None = None, most: int | None = None, seed: int = 0
) -> Album:
    """Choose among the files of a set, and hash them; nothing is decoded.

    Which are chosen depends on their names and the seed alone.

    Parameters
    ----------
    images
        A folder or a CSV file as `open_pictures` takes them, or a set of files.
    per_class, most
        At most so many of each class, and altogether, as evenly over classes as can be.
    """
    pictures = open_pictures(images)
    labels = pictures.classes
    order = [
        shuffled(seed, label, count, per_class)
        for label, count in zip(labels, pictures.counts, strict=True)
    ]
    # One picture of each class after the other until there are enough.
    rounds = (
        (label, order[label][turn])
        for turn in range(max(pictures.counts))
        for label in shuffled(seed, "", len(labels))
        if turn < len(order[label])
    )
    photographs = []
    for label, index in sorted(islice(rounds, most)):
        file = pictures.picture(label, index)
        if not isinstance(file, PictureFile):
            raise FechnerError(f"an album has files, and {file} is none: give a folder or a list.")
        folder = file.path.removesuffix(file.name).rstrip(os.sep)
        photographs.append(
            Photograph(file.name, labels[label], hash_content(Path(file.path)), folder)
        )
    return Album(labels, tuple(photographs), pictures.notes)


def known_pictures(plain: dict[str, Any], place: str) -> PictureSet:
    """Return a set from what its `plain` returned, and where it was; empty if nobody knows.

    Its pictures need not be there any more, as long as nobody has to see them.
    """
    name = plain["set"]
    if "of" in plain:
        whole = known_pictures(plain["of"], place)
        part = (
            classes_of(whole, plain["classes"])
            if name == SomeClasses.__name__
            else some_of(whole, plain["per_class"], plain["seed"])
        )
        return replace(part, notes=tuple(plain["notes"]))
    if name not in _KNOWN:
        raise FechnerError(f"this version of fechner does not know pictures of the kind '{name}'.")
    kind: type[PictureSet] = getattr(import_module(f"fechner.stimuli.{_KNOWN[name]}"), name)
    return kind.known(plain, place)


def class_mark(files: Mapping[str, int]) -> str:
    """Return a hash of the pictures of a class: their names in order, with their sizes.

    Examples
    --------
    >>> class_mark({"a.png": 10})
    '0bc238c2b2fd6bc6'
    """
    running = hashlib.sha256()
    for name, size in files.items():
        running.update(b"%s\0%d\n" % (name.encode("utf-8", "surrogateescape"), size))
    return running.hexdigest()[:16]


def set_digest(classes: Sequence[str], marks: Sequence[str]) -> str:
    """Return the sha256 of a set, from its classes and their marks."""
    running = hashlib.sha256()
    for label, mark in zip(classes, marks, strict=True):
        running.update(b"%s\0%s\n" % (label.encode("utf-8", "surrogateescape"), mark.encode()))
    return running.hexdigest()


def need_two(classes: Sequence[str], what: str, how: str) -> None:
    """Refuse a set in which there is nothing to choose between."""
    if len(classes) < 2:
        raise FechnerError(f"two classes are needed, and {what} has {len(classes)}: {how}")


def first_names(names: Sequence[str], most: int = 5) -> str:
    """Return the names of the first few, and how many more there are.

    Examples
    --------
    >>> first_names("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")

"""Folders with one folder of pictures for each class, as ImageNet and Imagenette have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, TypeVar

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.listing import SUFFIXES, Listing, files, listed
from fechner.stimuli.picture_sets.base import set_digest, split_of
from fechner.stimuli.picture_sets.files import (
    Files,
    FileSet,
    Named,
    PictureFile,
    as_text,
    changed,
)

#: Classes whose files are remembered, and files.
_KEPT_CLASSES, _KEPT_FILES = 32, 1 << 14

#: Where the folders of classes may be instead.
_INSIDE = ("train", "val", "test")


@dataclass(frozen=True, eq=False, repr=False)
class FolderPictures(FileSet):
    """The pictures in a folder; a class is listed again when one of its pictures is asked for."""

    #: How names of pictures end.
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES

    @staticmethod
    def folder_of(label: str) -> str:
        """Return the name of the folder of a class: its own."""
        return label

    @staticmethod
    def label_of(folder: str) -> str:
        """Return the class that a folder is of."""
        return folder

    def _file(self, label: int, index: int) -> PictureFile:
        folder = str(Path(self.place, self.folder_of(self.classes[label])))
        own = (self.classes[label], self.marks[label], self.counts[label])
        return _file(folder, *own, self.suffixes, index)


Kind = TypeVar("Kind", bound=FolderPictures)


def open_folder(folder: Path, kind: type[Kind]) -> Kind:
    """List a folder: names and sizes, one class after the other."""
    folder = folder.absolute()
    left = _LeftOut()
    classes, counts, marks = [], [], []
    try:
        top = listed(folder)
    except OSError as error:
        raise FechnerError(f"{folder} cannot be looked into: {error.strerror}.") from None
    for label, name in sorted((kind.label_of(name), name) for name in top.folders):
        if as_text(label) != label:
            left.unnamed.add(as_text(label))
            continue
        try:
            found = listed(folder / name, kind.suffixes)
        except OSError as error:
            left.closed.add(f"{label} ({error.strerror})")
            continue
        pictures = _pictures(folder / name, found, kind.suffixes)
        left.add(label, found, len(pictures.names))
        if pictures.names:
            classes.append(label)
            counts.append(len(pictures.names))
            marks.append(pictures.mark)
    left.beside = len(_pictures(folder, top, kind.suffixes).names)
    for name in top.broken:
        left.broken.add(as_text(name))
    if len(classes) < 2:
        inside = next((each for each in _INSIDE if each in top.folders), None)
        hint = f"; did you mean {folder / inside}?" if inside else "."
        number = "1 folder" if classes else "no folders"
        raise FechnerError(
            f"{folder} has {number} of pictures, and two are needed: give a folder with one folder "
            f"of pictures for each class, named after it{hint}"
        )
    return kind(
        set_digest(classes, marks),
        tuple(classes),
        tuple(counts),
        str(folder),
        left.sentences(),
        split_of(folder),
        tuple(marks),
    )


@lru_cache(maxsize=_KEPT_FILES)
def _file(
    folder: str, label: str, mark: str, count: int, suffixes: tuple[str, ...], index: int
) -> PictureFile:
    return _class(folder, label, mark, count, suffixes).file(index, f"{label}/")


@lru_cache(maxsize=_KEPT_CLASSES)
def _class(folder: str, label: str, mark: str, count: int, suffixes: tuple[str, ...]) -> Files:
    """List a class again; it must have what it had."""
    try:
        found = listed(folder, suffixes)
    except OSError as error:
        raise PictureError(
            f"the pictures in {folder} cannot be read: {error.strerror or error}.", "unreadable"
        ) from None
    pictures = _pictures(Path(folder), found, suffixes)
    if pictures.mark != mark:
        raise changed(label, count, len(pictures.names))
    return pictures


def _pictures(folder: Path, found: Listing, suffixes: tuple[str, ...]) -> Files:
    """Return those of its files that are named as pictures are."""
    places = [i for i, name in enumerate(found.files) if name.lower().endswith(suffixes)]
    return Files(str(folder), [found.files[i] for i in places], [found.sizes[i] for i in places])


@dataclass
class _LeftOut:
    """What is in a folder and not shown, by reason."""

    empty: Named = field(default_factory=Named)
    unnamed: Named = field(default_factory=Named)
    closed: Named = field(default_factory=Named)
    nested: Named = field(default_factory=Named)
    broken: Named = field(default_factory=Named)
    other: Named = field(default_factory=Named)
    others: int = 0
    beside: int = 0

    def add(self, label: str, found: Listing, pictures: int) -> None:
        """Keep what a class has besides its pictures."""
        if not pictures:
            self.empty.add(label)
        elif others := len(found.files) - pictures:
            self.other.add(label)
            self.others += others
        for name in found.folders:
            self.nested.add(as_text(f"{label}/{name}"))
        for name in found.broken:
            self.broken.add(as_text(f"{label}/{name}"))

    def sentences(self) -> tuple[str, ...]:
        """Say it, a sentence for each reason, however much there is."""
        reasons = [
            (self.empty, "has no pictures and is no class", "have no pictures and are no classes"),
            (
                self.unnamed,
                "is not named in UTF-8 and is no class",
                "are not named in UTF-8 and are no classes",
            ),
            (
                self.closed,
                "cannot be looked into and is no class",
                "cannot be looked into and are no classes",
            ),
            (
                self.nested,
                "is a folder inside of a class and was not looked into",
                "are folders inside of classes and were not looked into",
            ),
            (self.broken, "leads to no file", "lead to no file"),
        ]
        found = [names.say(one, many) for names, one, many in reasons if names.count]
        if self.others:
            are = "is" if self.others == 1 else "are"
            found.append(
                f"{files(self.others)} in {self.other.names} {are} not named as pictures are."
            )
        if self.beside:
            lie = "lies" if self.beside == 1 else "lie"
            found.append(f"{files(self.beside)} {lie} beside the folders of classes.")
        return tuple(found)

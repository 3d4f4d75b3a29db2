"""Pictures in files: folders with one folder for each class, and CSV lists.

Names and sizes are listed, nothing is decoded. A class is listed again when one of its pictures is
asked for, and must then have what it had.
"""

from __future__ import annotations

import csv
import os
import re
import stat
import zlib
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.picture_sets import (
    Named,
    PictureSet,
    class_mark,
    need_two,
    set_digest,
)
from fechner.stimuli.pictures import (
    SUFFIXES,
    Missing,
    Picture,
    PictureFile,
)

#: Classes whose files are remembered, files, and lists.
_KEPT_CLASSES, _KEPT_FILES, _KEPT_LISTS = 32, 1 << 14, 2

#: Where the folders of classes may be instead.
_INSIDE = ("train", "val", "test")

#: The size of a file that is not there.
_GONE = -1

#: What parts of a data set are called in the names of folders and files.
_SPLITS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "test": "test",
}


class Listing(NamedTuple):
    """What a folder has, sorted and without what is hidden.

    Parameters
    ----------
    files
        Names and sizes of files; of those whose size was not looked up it is 0.
    folders
        Names of folders.
    broken
        Names of what is neither: links that lead nowhere or in a circle, pipes.
    """

    files: list[tuple[str, int]]
    folders: list[str]
    broken: list[str]

    def named(self, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
        """Return files whose names end so."""
        return [each for each in self.files if each[0].lower().endswith(suffixes)]


def list_folder(folder: Path | str, suffixes: tuple[str, ...] = ()) -> Listing:
    """List a folder; raise `OSError` if it cannot be looked into.

    Parameters
    ----------
    suffixes
        Only of files named so are sizes looked up, since each takes a system call.
    """
    found = Listing([], [], [])
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            try:
                if entry.is_file():
                    wanted = bool(suffixes) and name.lower().endswith(suffixes)
                    found.files.append((name, entry.stat().st_size if wanted else 0))
                elif entry.is_dir():
                    found.folders.append(name)
                else:
                    found.broken.append(name)
            except OSError:  # a link in a circle
                found.broken.append(name)
    for names in found:
        names.sort()
    return found


def closed(folder: Path, error: OSError) -> FechnerError:
    """Return the error that says that a folder cannot be looked into."""
    return FechnerError(f"{folder} cannot be looked into: {error.strerror}.")


def read_list(path: Path) -> Iterator[tuple[str, str]]:
    """Read a CSV file with the columns ``path`` and ``class``: these two, row after row."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = (line for line in file if line.strip() and not line.startswith("#"))
            reader = csv.DictReader(lines)
            if not {"path", "class"} <= set(reader.fieldnames or ()):
                raise FechnerError(f"{path} needs the columns path and class in its first line.")
            for number, row in enumerate(reader, 1):
                name, label = ((row[column] or "").strip() for column in ("path", "class"))
                if not name or not label:
                    raise FechnerError(f"picture {number} of {path} has no path or no class.")
                yield Path(name).as_posix(), label
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FechnerError(f"the list of pictures in {path} cannot be read: {why}.") from None


class Files(NamedTuple):
    """The files of a class: names from a folder on, in order, with how many bytes each has.

    Parameters
    ----------
    called
        What names begin with in sentences.
    """

    folder: str
    names: Sequence[str]
    sizes: Sequence[int]
    called: str = ""

    @classmethod
    def of(cls, folder: Path, listed: Sequence[tuple[str, int]], called: str) -> Files:
        """Return files from pairs of name and size."""
        return cls(str(folder), [name for name, _ in listed], [n for _, n in listed], called)

    @property
    def mark(self) -> str:
        """A hash of what is listed."""
        return class_mark(zip(self.names, self.sizes, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class FileSet(PictureSet):
    """Pictures in files.

    Parameters
    ----------
    marks
        A hash of the names and sizes of each class, to know it again when it is listed anew.
    """

    marks: tuple[str, ...] = field(default=(), compare=False)

    kept: ClassVar[tuple[str, ...]] = ("marks",)

    @classmethod
    @abstractmethod
    def list_class(cls, place: str, label: str) -> Files:
        """List a class as it is now; an `OSError` or a `FechnerError` if it cannot be read."""

    def picture(self, label: int, index: int) -> Picture:
        """Return a file of a class."""
        self._check(label, index)
        if not self.place:
            return Missing(f"nobody knows where the pictures of {self.classes[label]} are.")
        try:
            return _file(type(self), *self._class(label), index)
        except PictureError as error:
            return Missing(str(error))

    def name(self, label: int, index: int) -> str:
        """Return the name of a file; a number, if it is not there any more."""
        found = self.picture(label, index)
        return found.name if isinstance(found, PictureFile) else super().name(label, index)

    def _class(self, label: int) -> tuple[str, str, str, int]:
        return self.place, self.classes[label], self.marks[label], self.counts[label]


@lru_cache(maxsize=_KEPT_FILES)
def _file(
    kind: type[FileSet], place: str, label: str, mark: str, count: int, index: int
) -> PictureFile:
    found = files_of(kind, place, label, mark, count)
    name = found.names[index]
    path = str(Path(found.folder, name))
    return PictureFile(path, found.sizes[index], found.called + as_text(name))


@lru_cache(maxsize=_KEPT_CLASSES)
def files_of(kind: type[FileSet], place: str, label: str, mark: str, count: int) -> Files:
    """List a class again; it must have what it had."""
    try:
        found = kind.list_class(place, label)
    except OSError as error:
        why = (
            f"the pictures in {error.filename or place} cannot be read: {error.strerror or error}."
        )
        raise PictureError(why, "unreadable") from None
    except FechnerError as error:
        raise PictureError(str(error), "unreadable") from None
    if found.mark != mark:
        now = len(found.names)
        what = (
            f"files of {label} have changed since they were listed"
            if now == count
            else f"{label} had {count:,} pictures when it was listed and has {now:,} now"
        )
        again = "; show the same pictures, or start a new run."
        raise PictureError(what + again, "unreadable")
    return found


@dataclass(frozen=True, eq=False, repr=False)
class FolderPictures(FileSet):
    """The pictures in a folder with a folder for each class."""

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

    @classmethod
    def list_class(cls, place: str, label: str) -> Files:
        """List the folder of a class."""
        folder = Path(place, cls.folder_of(label))
        found = list_folder(folder, cls.suffixes).named(cls.suffixes)
        return Files.of(folder, found, f"{label}/")


Kind = TypeVar("Kind", bound=FolderPictures)


def open_folder(folder: Path, kind: type[Kind]) -> Kind:
    """List a folder: names and sizes, one class after the other."""
    folder = folder.absolute()
    left: dict[str, Named] = {reason: Named() for reason in (*_LEFT_OUT, "other")}
    others = 0
    classes, counts, marks = [], [], []
    try:
        top = list_folder(folder)
    except OSError as error:
        raise closed(folder, error) from None
    for label, name in sorted((kind.label_of(name), name) for name in top.folders):
        if as_text(label) != label:
            left["unnamed"].add(as_text(label))
            continue
        try:
            found = list_folder(folder / name, kind.suffixes)
        except OSError as error:
            left["closed"].add(f"{label} ({error.strerror})")
            continue
        pictures = found.named(kind.suffixes)
        if not pictures:
            left["empty"].add(label)
        elif rest := len(found.files) - len(pictures):
            left["other"].add(label)
            others += rest
        for reason, names in (("nested", found.folders), ("broken", found.broken)):
            for each in names:
                left[reason].add(as_text(f"{label}/{each}"))
        if pictures:
            classes.append(label)
            counts.append(len(pictures))
            marks.append(class_mark(pictures))
    for name in top.broken:
        left["broken"].add(as_text(name))
    if len(classes) < 2:
        inside = next((each for each in _INSIDE if each in top.folders), None)
        hint = f"; did you mean {folder / inside}?" if inside else "."
        number = "1 folder" if classes else "no folders"
        raise FechnerError(
            f"{folder} has {number} of pictures, and two are needed: give a folder with one folder "
            f"of pictures for each class, named after it{hint}"
        )
    notes = [left[reason].say(*words) for reason, words in _LEFT_OUT.items() if left[reason].count]
    if others:
        are = "is" if others == 1 else "are"
        notes.append(f"{_files(others)} in {left['other'].names} {are} not named as pictures are.")
    if beside := len(top.named(kind.suffixes)):
        lie = "lies" if beside == 1 else "lie"
        notes.append(f"{_files(beside)} {lie} beside the folders of classes.")
    return kind(
        set_digest(classes, marks),
        tuple(classes),
        tuple(counts),
        str(folder),
        tuple(notes),
        split_of(folder),
        tuple(marks),
    )


#: What is in a folder and not shown, by reason, in words for one and for many.
_LEFT_OUT = {
    "empty": ("has no pictures and is no class", "have no pictures and are no classes"),
    "unnamed": (
        "is not named in UTF-8 and is no class",
        "are not named in UTF-8 and are no classes",
    ),
    "closed": (
        "cannot be looked into and is no class",
        "cannot be looked into and are no classes",
    ),
    "nested": (
        "is a folder inside of a class and was not looked into",
        "are folders inside of classes and were not looked into",
    ),
    "broken": ("leads to no file", "lead to no file"),
}


def _files(n: int) -> str:
    return "a file" if n == 1 else f"{n} files"


@dataclass(frozen=True, eq=False, repr=False)
class ListPictures(FileSet):
    """The pictures in a list, sorted by class and path; `place` is the CSV file."""

    @classmethod
    def list_class(cls, place: str, label: str) -> Files:
        """Return the rows of a class."""
        names, sizes = _read(place, *_version(Path(place))).classes.get(label, (b"", ()))
        unpacked = zlib.decompress(names).decode("utf-8").split("\n") if names else ()
        return Files(str(Path(place).parent), unpacked, sizes)


class _List(NamedTuple):
    """What a list has: names, compressed, and sizes of the files of each class; and notes."""

    classes: dict[str, tuple[bytes, Sequence[int]]]
    marks: tuple[str, ...]
    notes: tuple[str, ...]


def open_list(path: Path) -> ListPictures:
    """Read a list, and look up the sizes of its files."""
    path = path.absolute()
    found = _read(str(path), *_version(path))
    classes = tuple(found.classes)
    need_two(classes, str(path), "list pictures of another.")
    return ListPictures(
        set_digest(classes, found.marks),
        classes,
        tuple(len(sizes) for _, sizes in found.classes.values()),
        str(path),
        found.notes,
        split_of(path),
        found.marks,
    )


def _version(path: Path) -> tuple[int, int]:
    """Return size and time of a list: where it has been written since, it is read again."""
    try:
        found = path.stat()
    except OSError as error:
        raise FechnerError(
            f"the list of pictures in {path} cannot be read: {error.strerror}."
        ) from None
    return found.st_size, found.st_mtime_ns


@lru_cache(maxsize=_KEPT_LISTS)
def _read(place: str, size: int, time_ns: int) -> _List:
    path = Path(place)
    listed: dict[str, dict[str, int]] = {}
    for name, label in read_list(path):
        of_class = listed.setdefault(label, {})
        of_class[name] = of_class.get(name, 0) + 1
    classes: dict[str, tuple[bytes, Sequence[int]]] = {}
    marks = []
    twice, gone = Named(), Named()
    for label in sorted(listed):
        names = sorted(listed[label])
        sizes = array("q", [_size(path.parent / name) for name in names])
        classes[label] = (zlib.compress("\n".join(names).encode()), sizes)
        marks.append(Files("", names, sizes).mark)
        for name, size_bytes in zip(names, sizes, strict=True):
            if listed[label][name] > 1:
                twice.add(name)
            if size_bytes == _GONE:
                gone.add(name)
    notes = []
    if twice.count:
        once = "listed more than once and shown once"
        notes.append(twice.say(f"is {once}", f"are {once}"))
    if gone.count:
        notes.append(gone.say("is no file", "are no files"))
    if several := sum(map(len, listed.values())) - len(set().union(*listed.values())):
        pictures = "a picture is" if several == 1 else f"{several:,} pictures are"
        notes.append(f"{pictures} listed in more than one class.")
    return _List(classes, tuple(marks), tuple(notes))


def _size(path: Path) -> int:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return _GONE
    return found.st_size if stat.S_ISREG(found.st_mode) else _GONE


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


def as_text(name: str) -> str:
    r"""Return a name of a file as text; bytes that are none are written out.

    Examples
    --------
    >>> as_text("caf\udce9.png")
    'caf\\xe9.png'
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

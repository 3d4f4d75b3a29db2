"""Pictures in files: folders with one folder for each class, and CSV lists.

Names and sizes are listed, nothing is decoded. A class is listed again when one of its pictures is
asked for, and must then have what it had.
"""

from __future__ import annotations

import csv
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NamedTuple, Self, TypeAlias

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.picture_sets import PictureSet, class_mark, first_names, need_two, set_digest
from fechner.stimuli.pictures import SUFFIXES, Missing, Picture, PictureFile, file_size

#: What parts of a data set are called in the names of folders and files.
_SPLITS = {name: name for name in ("train", "val", "test")}
_SPLITS |= {"training": "train", "valid": "val", "validation": "val"}


class Listing(NamedTuple):
    """What a folder has, sorted and without what is hidden.

    Files that are looked for, with their sizes; folders; and the names of all else.
    """

    files: dict[str, int]
    folders: list[str]
    others: list[str]


def list_folder(folder: Path | str, suffixes: tuple[str, ...] = SUFFIXES) -> Listing:
    """List a folder and the files in it whose names end so; an `OSError` if that cannot be done."""
    files, folders, others = {}, [], []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.startswith("."):
                continue
            try:
                if entry.is_dir():
                    folders.append(entry.name)
                elif entry.is_file() and entry.name.lower().endswith(suffixes):
                    files[entry.name] = entry.stat().st_size
                else:
                    others.append(entry.name)
            except OSError:  # a link in a circle
                others.append(entry.name)
    return Listing(files, folders, others)


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


#: Returns a folder, what names begin with in sentences, and sizes of files by their names from the
#: folder on, for a place and a class.
ListClass: TypeAlias = Callable[[str, str], tuple[Path, str, Mapping[str, int]]]


@dataclass(frozen=True, eq=False, repr=False)
class FileSet(PictureSet):
    """Pictures in files.

    ``marks`` are hashes of the names and sizes of each class, which is known again by them.
    """

    marks: tuple[str, ...] = field(default=(), compare=False)

    kept: ClassVar[tuple[str, ...]] = ("marks",)

    @classmethod
    def of(
        cls, counts: Mapping[str, int], marks: Sequence[str], place: Path, notes: Sequence[str] = ()
    ) -> Self:
        """Return a set from the number of pictures and the mark of each class."""
        digest = set_digest(list(counts), marks)
        own = (tuple(counts), tuple(counts.values()), str(place), tuple(notes), split_of(place))
        return cls(digest, *own, tuple(marks))

    @staticmethod
    def list_class(place: str, label: str) -> tuple[Path, str, Mapping[str, int]]:
        """List a class as it is now; an `OSError` or a `FechnerError` if it cannot be read."""
        raise NotImplementedError

    def _picture(self, label: int, index: int) -> Picture:
        if not self.place:
            return Missing(f"nobody knows where the pictures of {self.classes[label]} are.")
        try:
            return _file(*self._class(label), index)
        except PictureError as error:
            return Missing(str(error))

    def _class(self, label: int) -> tuple[ListClass, str, str, str, int]:
        """Return what a class is listed by."""
        own = (self.classes[label], self.marks[label], self.counts[label])
        return self.list_class, self.place, *own


@lru_cache(maxsize=1 << 14)
def _file(
    list_class: ListClass, place: str, label: str, mark: str, count: int, index: int
) -> PictureFile:
    folder, called, names, sizes = files_of(list_class, place, label, mark, count)
    path = str(folder / names[index])
    return PictureFile(path, sizes[index], called + as_text(names[index]))


@lru_cache(maxsize=32)
def files_of(
    list_class: ListClass, place: str, label: str, mark: str, count: int
) -> tuple[Path, str, Sequence[str], Sequence[int]]:
    """List a class again, names and sizes apart; it must have what it had."""
    why = ""
    try:
        folder, called, files = list_class(place, label)
    except OSError as error:
        where, reason = error.filename or place, error.strerror or error
        why = f"the pictures in {where} cannot be read: {reason}."
    except FechnerError as error:
        why = str(error)
    else:
        if class_mark(files) != mark:
            why = (
                f"the files of {label} have changed since they were listed ({count:,} then, "
                f"{len(files):,} now); show the same pictures, or start a new run."
            )
    if why:
        raise PictureError(why, "unreadable")
    return folder, called, tuple(files), tuple(files.values())


@dataclass(frozen=True, eq=False, repr=False)
class FolderPictures(FileSet):
    """The pictures in a folder with a folder for each class, named after it."""

    @staticmethod
    def list_class(place: str, label: str) -> tuple[Path, str, Mapping[str, int]]:
        """List the folder of a class."""
        folder = Path(place, label)
        return folder, f"{label}/", list_folder(folder).files


def open_folder(folder: Path) -> FolderPictures:
    """List a folder: names and sizes, one class after the other."""
    folder = folder.absolute()
    top = list_folder(folder)
    no_classes, no_pictures = [], []
    counts, marks = {}, []
    for label in top.folders:
        if as_text(label) != label:
            no_classes.append(f"{as_text(label)} (not named in UTF-8)")
            continue
        try:
            inside = list_folder(folder / label)
        except OSError as error:
            no_classes.append(f"{label} ({error.strerror})")
            continue
        if inside.files:
            counts[label] = len(inside.files)
            marks.append(class_mark(inside.files))
            no_pictures += [f"{label}/{name}" for name in (*inside.folders, *inside.others)]
        else:
            no_classes.append(f"{label} (no pictures)")
    no_pictures += [*top.others, *top.files]
    likely = next((each for each in ("train", "val", "test") if each in top.folders), None)
    hint = f"; did you mean {folder / likely}?" if likely else "."
    need_two(list(counts), str(folder), f"give a folder with one folder for each class{hint}")
    left_out = {"left out as classes": no_classes, "left out as pictures": no_pictures}
    return FolderPictures.of(counts, marks, folder, _notes(left_out))


def _notes(left_out: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return a sentence for each reason why something is not shown."""
    return tuple(
        f"{why}: {first_names([as_text(name) for name in names])}."
        for why, names in left_out.items()
        if names
    )


@dataclass(frozen=True, eq=False, repr=False)
class ListPictures(FileSet):
    """The pictures of a CSV list, sorted by class and path; ``place`` is the CSV file."""

    @staticmethod
    def list_class(place: str, label: str) -> tuple[Path, str, Mapping[str, int]]:
        """Look up the files of a class."""
        folder, names = Path(place).parent, _names(place)[0].get(label, b"")
        files = zlib.decompress(names).decode("utf-8").split("\n") if names else ()
        return folder, "", {name: file_size(folder / name) for name in files}


def open_list(path: Path) -> ListPictures:
    """Read a list, and look up the sizes of its files."""
    place = str(path.absolute())
    by_class, twice, several = _names(place)
    need_two(list(by_class), place, "list pictures of another.")
    counts, marks, gone = {}, [], []
    for label in by_class:
        files = ListPictures.list_class(place, label)[2]
        marks.append(class_mark(files))
        counts[label] = len(files)
        gone += [name for name, size in files.items() if size < 0]
    left_out = {
        "listed more than once and shown once": twice,
        "no files": gone,
        "listed in more than one class": several,
    }
    return ListPictures.of(counts, marks, Path(place), _notes(left_out))


#: Names of the pictures of each class, compressed, and names listed twice or in several classes.
_Names: TypeAlias = tuple[dict[str, bytes], list[str], list[str]]


def _names(place: str) -> _Names:
    """Read a list; where it has been written since, again."""
    found = Path(place).stat() if Path(place).exists() else None
    return _read_names(place, found and (found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=2)
def _read_names(place: str, version: tuple[int, int] | None) -> _Names:
    rows = Counter(read_list(Path(place)))
    by_class: dict[str, list[str]] = {}
    for name, label in sorted(rows):
        by_class.setdefault(label, []).append(name)
    compressed = {
        label: zlib.compress("\n".join(names).encode()) for label, names in sorted(by_class.items())
    }
    twice = sorted({name for (name, _), number in rows.items() if number > 1})
    classes = Counter(name for name, _ in rows)
    return compressed, twice, sorted(name for name, number in classes.items() if number > 1)


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

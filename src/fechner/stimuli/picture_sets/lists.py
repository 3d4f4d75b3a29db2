"""Lists of pictures: CSV files with the columns ``path`` and ``class``.

Of each row only where it begins and the size of its picture are held in memory, 16 bytes.
"""

from __future__ import annotations

import stat
from array import array
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.listing import columns_of, row_at, rows
from fechner.stimuli.picture_sets.base import need_two, set_digest, split_of
from fechner.stimuli.picture_sets.files import Files, FileSet, Named, PictureFile, changed

#: Lists that are remembered, classes whose names are, and files.
_KEPT_LISTS, _KEPT_CLASSES, _KEPT_FILES = 2, 32, 1 << 14
#: The size of a file that is not there.
_GONE = -1


@dataclass(frozen=True, eq=False, repr=False)
class ListPictures(FileSet):
    """The pictures in a list, sorted by class and path; `place` is the CSV file."""

    def _file(self, label: int, index: int) -> PictureFile:
        return _file(self.place, self.classes[label], self.marks[label], self.counts[label], index)


def open_list(path: Path) -> ListPictures:
    """Read a list, and look up the sizes of its files."""
    path = path.absolute()
    found = _read(str(path), *_version(path))
    need_two(found.classes, str(path), "list pictures of another.")
    return ListPictures(
        set_digest(found.classes, found.marks),
        found.classes,
        tuple(len(found.starts[label]) for label in found.classes),
        str(path),
        found.notes,
        split_of(path),
        found.marks,
    )


@dataclass(frozen=True)
class _List:
    """Where the rows of a list are.

    Parameters
    ----------
    starts
        Where the row of each picture begins, by class and in the order of names.
    sizes
        Of the files, in bytes.
    """

    classes: tuple[str, ...]
    marks: tuple[str, ...]
    starts: dict[str, array[int]]
    sizes: dict[str, array[int]]
    columns: tuple[int, int]
    notes: tuple[str, ...]


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
    starts: dict[str, array[int]] = {}
    for row in rows(path):
        starts.setdefault(row.label, array("Q")).append(row.start)
    columns = columns_of(path)
    classes = tuple(sorted(starts))
    sizes: dict[str, array[int]] = {}
    marks, seen = [], array("Q")
    twice, gone = Named(), Named()
    with path.open("rb") as file:
        for label in classes:
            # Pictures of one class at a time: sorted, and each once.
            first: dict[str, int] = {}
            again: set[str] = set()
            for start in starts[label]:
                name, _ = row_at(file, start, columns)
                if first.setdefault(name, start) != start:
                    again.add(name)
            names = sorted(first)
            starts[label] = array("Q", [first[name] for name in names])
            sizes[label] = array("q", [_size(path.parent / name) for name in names])
            marks.append(Files("", names, sizes[label]).mark)
            seen.extend(map(_short_hash, names))
            for name in sorted(again):
                twice.add(name)
            for name, size_bytes in zip(names, sizes[label], strict=True):
                if size_bytes == _GONE:
                    gone.add(name)
    return _List(classes, tuple(marks), starts, sizes, columns, _notes(twice, gone, seen))


@lru_cache(maxsize=_KEPT_FILES)
def _file(place: str, label: str, mark: str, count: int, index: int) -> PictureFile:
    return _class(place, label, mark, count).file(index)


@lru_cache(maxsize=_KEPT_CLASSES)
def _class(place: str, label: str, mark: str, count: int) -> Files:
    """Read the rows of a class again; it must have what it had."""
    path = Path(place)
    try:
        found = _read(place, *_version(path))
    except FechnerError as error:
        raise PictureError(str(error), "unreadable") from None
    starts = found.starts.get(label, array("Q"))
    if dict(zip(found.classes, found.marks, strict=True)).get(label) != mark:
        raise changed(label, count, len(starts))
    with path.open("rb") as file:
        names = [row_at(file, start, found.columns)[0] for start in starts]
    return Files(str(path.parent), names, found.sizes[label])


def _size(path: Path) -> int:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return _GONE
    return found.st_size if stat.S_ISREG(found.st_mode) else _GONE


def _short_hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest())


def _notes(twice: Named, gone: Named, seen: array[int]) -> tuple[str, ...]:
    import numpy as np

    found = []
    if twice.count:
        once = "listed more than once and shown once"
        found.append(twice.say(f"is {once}", f"are {once}"))
    if gone.count:
        found.append(gone.say("is no file", "are no files"))
    if several := len(seen) - len(np.unique(np.frombuffer(seen, np.uint64))):
        pictures = "a picture is" if several == 1 else f"{several:,} pictures are"
        found.append(f"{pictures} listed in more than one class.")
    return tuple(found)

"""Which pictures a folder or a list has: names and sizes, nothing decoded."""

from __future__ import annotations

import csv
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fechner.errors import FechnerError

#: Names of files that are taken for pictures.
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class Listing:
    """What a folder has, without what is hidden.

    Parameters
    ----------
    files, sizes
        Names of files, sorted, and how many bytes they have.
    folders
        Names of folders, sorted.
    broken
        Names of what is neither: links that lead nowhere or in a circle, pipes.
    """

    files: tuple[str, ...]
    sizes: tuple[int, ...]
    folders: tuple[str, ...]
    broken: tuple[str, ...]


def listed(folder: Path | str, suffixes: Sequence[str] = ()) -> Listing:
    """List a folder.

    Parameters
    ----------
    suffixes
        Only of files named so are sizes looked up, since each takes a system call; those of others
        are 0.

    Raises
    ------
    OSError
        If it cannot be looked into.
    """
    files: list[tuple[str, int]] = []
    folders, broken = [], []
    ends = tuple(suffixes)
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            try:
                if entry.is_file():
                    wanted = name.lower().endswith(ends) if ends else False
                    files.append((name, entry.stat().st_size if wanted else 0))
                elif entry.is_dir():
                    folders.append(name)
                else:
                    broken.append(name)
            except OSError:  # a link in a circle
                broken.append(name)
    files.sort()
    return Listing(
        tuple(name for name, _ in files),
        tuple(size for _, size in files),
        tuple(sorted(folders)),
        tuple(sorted(broken)),
    )


def entries(folder: Path, folders: bool) -> list[str]:
    """Return the names of folders in a folder, or of all else, sorted, without hidden ones."""
    try:
        found = listed(folder)
    except OSError as error:
        raise FechnerError(f"{folder} cannot be looked into: {error.strerror}.") from None
    return list(found.folders) if folders else sorted((*found.files, *found.broken))


@dataclass(frozen=True)
class Row:
    """A row of a list of pictures.

    Parameters
    ----------
    start
        Where it begins in the file, in bytes.
    """

    name: str
    label: str
    start: int


def rows(path: Path) -> Iterator[Row]:
    """Read a CSV file with the columns ``path`` and ``class``, row after row."""
    try:
        with path.open("rb") as file:
            yield from _rows(file, path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FechnerError(f"the list of pictures in {path} cannot be read: {why}.") from None


def row_at(file: BinaryIO, start: int, columns: tuple[int, int]) -> tuple[str, str]:
    """Return path and class of the row that begins at a byte.

    Parameters
    ----------
    columns
        Which are path and class (`columns_of`).
    """
    file.seek(start)
    line = file.readline()
    if b'"' not in line and b"\r" not in line[:-2]:  # as most are, and quicker
        values = line.decode().rstrip("\r\n").split(",")
    else:
        file.seek(start)
        values = next(csv.reader(text for text, _ in _lines(file, start)))
    name, label = (values[column].strip() for column in columns)
    return _posix(name), label


def columns_of(path: Path) -> tuple[int, int]:
    """Return which columns of a list are path and class."""
    with path.open("rb") as file:
        header = next(csv.reader(line for line, _ in _lines(file, 0)))
    return header.index("path"), header.index("class")


def _rows(file: BinaryIO, path: Path) -> Iterator[Row]:
    # A row may go on over several lines; it begins where the first of them does.
    begins: list[int] = []

    def lines() -> Iterator[str]:
        for line, start in _lines(file, 0):
            begins.append(start)
            yield line

    reader = csv.DictReader(lines())
    if not {"path", "class"} <= set(reader.fieldnames or ()):
        raise FechnerError(f"{path} needs the columns path and class in its first line.")
    begins.clear()
    for number, row in enumerate(reader, 1):
        name, label = ((row[column] or "").strip() for column in ("path", "class"))
        if not name or not label:
            raise FechnerError(f"picture {number} of {path} has no path or no class.")
        yield Row(_posix(name), label, begins[0])
        begins.clear()


def _lines(file: BinaryIO, start: int) -> Iterator[tuple[str, int]]:
    """Return lines that are neither empty nor comments, and where each begins."""
    for chunk in file:
        # Some programs end lines in \r alone.
        for line in chunk.splitlines(keepends=True):
            text = line.decode("utf-8-sig" if start == 0 else "utf-8")
            if text.strip() and not text.startswith("#"):
                yield text.rstrip("\r\n"), start
            start += len(line)


def _posix(name: str) -> str:
    """Return a path with ``/`` and without needless parts."""
    if "//" in name or "./" in name or "\\" in name or name.endswith(("/", ".")):
        return Path(name).as_posix()
    return name


def shuffled(names: Sequence[str], seed: int, label: str) -> list[str]:
    """Return names in an order that follows from the seed and the class."""
    generator = np.random.default_rng((seed, zlib.crc32(label.encode())))
    return [names[i] for i in generator.permutation(len(names))]


def files(n: int) -> str:
    """Return a number of files in words."""
    return "a file" if n == 1 else f"{n} files"

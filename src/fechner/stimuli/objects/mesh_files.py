"""Files of meshes: what they name, what they hold, and what they lack, before they are read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

#: Names of files that are taken for meshes.
SUFFIXES = (".glb", ".obj", ".ply")

#: Bytes at the beginning of a file that say what it holds.
_HEAD_BYTES = 1 << 16


def hash_mesh(path: Path) -> str:
    """Return the sha256 of a mesh and of the files that it names; empty if it cannot be read."""
    digest = hashlib.sha256()
    try:
        for each in (path, *_named_by(path)):
            content = each.read_bytes() if each is path or each.is_file() else b""
            digest.update(f"{len(content)} ".encode())
            digest.update(content)
    except OSError:
        return ""
    return digest.hexdigest()


def companions(path: Path) -> list[Path]:
    """Return the files that a mesh names, materials and textures, as far as they are there."""
    return [each for each in _named_by(path) if each.is_file()]


def lacking(path: Path, name: str) -> tuple[str, ...]:
    """Say in sentences what a mesh lacks to look as it should.

    Parameters
    ----------
    name
        What to call it.
    """
    try:
        gone = [each.name for each in _named_by(path) if not each.is_file()]
        found = [f"{name} names {each}, which is not there." for each in gone]
        if _has_faces(path) and not _has_materials(path):
            found.append(f"{name} has no materials and is shown in grey.")
    except OSError:
        return ()
    return tuple(found)


def _has_faces(path: Path) -> bool:
    """Return whether a mesh may have any: what has none is told when it is to be drawn."""
    if path.suffix.lower() == ".obj":
        return any(_lines(path, b"f"))
    with path.open("rb") as file:
        return file.read(4).startswith((b"glTF", b"ply"))


def _has_materials(path: Path) -> bool:
    kind = path.suffix.lower()
    if kind == ".obj":
        return any(each.suffix.lower() == ".mtl" for each in companions(path)) or _coloured(path)
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if kind == ".glb":
        return b'"materials"' in head or b"COLOR_0" in head
    return b" red\n" in head or b" red\r" in head or b"TextureFile" in head


def _coloured(path: Path) -> bool:
    """Return whether corners of an OBJ have colours, which come after their places."""
    return any(len(line.split()) >= 6 for line in _lines(path, b"v "))


def _named_by(path: Path) -> list[Path]:
    if path.suffix.lower() != ".obj":
        return []
    libraries = [_rest(line, b"mtllib") for line in _lines(path, b"mtllib")][:1]
    textures = [
        _rest(line, b"map_kd")
        for each in libraries
        for line in _lines(path.parent / each, b"map_kd")
    ]
    # A name may not lead out of the folder, whatever the file says.
    names = dict.fromkeys((*libraries, *textures))
    return [path.parent / name for name in names if ".." not in Path(name).parts]


def _lines(path: Path, word: bytes) -> Iterator[bytes]:
    """Return lines that begin with a word, in small letters or large."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in file:
            if line.lstrip()[: len(word)].lower() == word:
                yield line.strip()


def _rest(line: bytes, word: bytes) -> str:
    return line[len(word) :].strip().decode("utf-8", "replace")

"""Finding run folders, again at every request, and giving each a name for addresses.

What stands in an address is looked up among the folders found and never becomes part of a path.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fechner.runs.lock import LOCK
from fechner.runs.manifest import FILE
from fechner.runs.store import slug

LEDGER = "ledger.sqlite"
LOG = "log.txt"

#: How deep below a given folder runs are looked for, and in how many folders at most.
DEPTH = 4
MOST_FOLDERS = 5000

_MOST_FILES = 50_000
_LOG_BYTES = 1 << 15
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Found:
    """A run folder.

    Parameters
    ----------
    id
        Its name in addresses.
    label
        Its name for people: as much of the path as was given on the command line.
    """

    id: str
    label: str
    folder: Path


def find_runs(roots: Sequence[Path]) -> list[Found]:
    """Return the run folders among and below some folders, each once, sorted by label."""
    found: dict[Path, Found] = {}
    for root in roots:
        shown = _shown(root)
        for folder in _below(root):
            place = Path(os.path.realpath(folder))
            if place not in found:
                label = (shown / folder.relative_to(root)).as_posix()
                digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
                stem = slug(_printable(place.name)).strip("-") or "run"
                found[place] = Found(f"{stem}-{digest}", _printable(label), folder)
    return sorted(found.values(), key=lambda run: run.label)


def _shown(root: Path) -> Path:
    """Return a given folder as it is shown: an absolute path loses its parents."""
    if root.name and ".." not in root.parts:
        return Path(root.name) if root.is_absolute() else root
    return Path(Path(os.path.realpath(root)).name)


def _printable(label: str) -> str:
    """Replace what no page can show: names of files need not be text."""
    return "".join(letter if letter.isprintable() else "�" for letter in label)


def _below(root: Path) -> Iterator[Path]:
    """Go through a folder tree, level by level, without leaving it through a link."""
    top = os.path.realpath(root)
    seen = {top}
    level = [root]
    looked_at = 0
    for depth in range(DEPTH + 1):
        following: list[Path] = []
        for folder in level:
            looked_at += 1
            if looked_at > MOST_FOLDERS:
                return
            names, folders = _inside(folder)
            if _is_run(names) or (depth == 0 and FILE in names):
                yield folder
                continue
            for child in folders:
                place = os.path.realpath(child)
                if place not in seen and os.path.commonpath([top, place]) == top:
                    seen.add(place)
                    following.append(child)
        level = following


def _inside(folder: Path) -> tuple[set[str], list[Path]]:
    """Return the names in a folder, and the folders in it that are not hidden."""
    try:
        with os.scandir(folder) as entries:
            every = list(entries)
    except OSError:
        return set(), []
    names = {entry.name for entry in every}
    folders = [
        folder / entry.name
        for entry in every
        if not entry.name.startswith(".") and _is_folder(entry)
    ]
    return names, sorted(folders)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_run(names: set[str]) -> bool:
    """Whether a folder with these names in it is a run, be it begun or damaged.

    Examples
    --------
    >>> _is_run({"manifest.json", "results"}), _is_run({"manifest.json", "index.html"})
    (True, False)
    """
    if LEDGER in names or (FILE in names and names & {LOCK, "results"}):
        return True
    # A run that was just begun, or killed before its manifest.
    return LOCK in names and all(name == LOCK or name.endswith(".tmp") for name in names)


def size_bytes(folder: Path) -> int:
    """Return how much a folder holds, without following links."""
    total = looked_at = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            looked_at += 1
            if looked_at > _MOST_FILES:
                return total
            with suppress(OSError):
                total += Path(parent, name).lstat().st_size
    return total


def last_changed(folder: Path) -> float | None:
    """Return when the files of a run were last written, in seconds since 1970."""
    times = []
    for name in (FILE, LEDGER, LOG, LOCK):
        with suppress(OSError):
            times.append((folder / name).stat().st_mtime)
    return max(times, default=None)


def last_lines(folder: Path, lines: int = 40) -> list[str]:
    """Return the end of a run's log, without what terminals make colours of."""
    path = folder / LOG
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            begin = max(0, file.seek(0, os.SEEK_END) - _LOG_BYTES)
            file.seek(begin)
            text = file.read(_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    found = _COLOURS.sub("", text).replace("\r\n", "\n").splitlines()
    return [_printable(line.expandtabs(4)) for line in found[1 if begin else 0 :][-lines:]]

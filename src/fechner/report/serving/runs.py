"""Run folders: found again at every request, and read without writing or trusting anything in them.

What stands in an address is looked up among the folders found and never becomes part of a path.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fechner.errors import RunFolderError
from fechner.runs import Run
from fechner.runs.ledger import Entry
from fechner.runs.manifest import FILE, Manifest
from fechner.runs.store import LOCK, Writer, last_writer, slug

#: ``elsewhere``: on another machine, as far as anyone here can tell.
Writing = Literal["now", "elsewhere", "stopped", "ended"]

LEDGER = "ledger.sqlite"
LOG = "log.txt"

#: How deep below a given folder runs are looked for, and in how many folders at most.
DEPTH = 4
MOST_FOLDERS = 5000

_MOST_FILES = 50_000
_LOG_BYTES = 1 << 15
#: A writer holds its ledger for milliseconds; who waits longer waits for something else.
_LEDGER_TIMEOUT_S = 0.3
_LARGEST_MANIFEST_BYTES = 64 << 20
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
    names, folders = set(), []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            names.add(entry.name)
            with suppress(OSError):
                if not entry.name.startswith(".") and entry.is_dir():
                    folders.append(folder / entry.name)
    return names, sorted(folders)


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


class Snapshot(Run):
    """A run with the ledger as it was at one moment, read without writing."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.folder)
        self._entries = read_entries(found, writing_of(last_writer(found.folder)))

    def entries(self) -> list[Entry]:
        """Return what the ledger said."""
        return self._entries


def writing_of(writer: Writer | None) -> Writing:
    """Say whether a run is being written."""
    if writer is None:
        return "ended"
    lives = writer.lives
    return "elsewhere" if lives is None else "now" if lives else "stopped"


def without_path(sentence: str, found: Found) -> str:
    """Name a run in a sentence as it was given on the command line."""
    for path in (os.path.realpath(found.folder), str(found.folder)):
        sentence = sentence.replace(path, found.label)
    return sentence


def read_manifest(found: Found, writing: Writing) -> Manifest:
    """Return the manifest of a run, or say why there is none."""
    path = found.folder / FILE
    if not path.is_file():
        raise RunFolderError(
            "it is just beginning: nothing is written yet."
            if writing == "now"
            else f"it has no {FILE}: it was stopped before it began; run the same command again."
        )
    if path.stat().st_size > _LARGEST_MANIFEST_BYTES:
        raise RunFolderError(f"its {FILE} is too large to be one.")
    try:
        return Manifest.read(found.folder)
    except OSError as error:
        raise RunFolderError(f"its {FILE} cannot be read: {error.strerror}.") from error


def read_entries(found: Found, writing: Writing) -> list[Entry]:
    """Return what a ledger says; the file is neither created nor changed."""
    path = found.folder / LEDGER
    if not path.is_file():
        # It is made with the first piece, just after that piece's file.
        if writing in ("now", "elsewhere") or not (found.folder / "results").is_dir():
            return []
        raise RunFolderError(
            f"its {LEDGER} is missing; run the same command again: pieces are measured anew."
        )
    if path.stat().st_size == 0:  # SQLite writes nothing before the first piece is recorded
        return []
    columns = ", ".join(Entry.__dataclass_fields__)
    address = f"{Path(os.path.realpath(path)).as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_LEDGER_TIMEOUT_S)) as connection:
            rows = connection.execute(
                f"SELECT {columns} FROM pieces ORDER BY observer, test, piece"
            ).fetchall()
    except sqlite3.Error as error:
        raise RunFolderError(_why_unreadable(error)) from error
    return [Entry(*row) for row in rows]


def _why_unreadable(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"its {LEDGER} is held by another process just now; look again in a moment."
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        # A writer that was killed while it wrote leaves a journal that only a writer can undo.
        return f"its {LEDGER} was left half-written; run the same command again to go on."
    return (
        f"its {LEDGER} is damaged ({error}); delete that file and run the same command again: "
        "pieces are measured anew."
    )

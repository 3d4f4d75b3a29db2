"""Run folders: found again at every request, with nothing in them written or trusted.

What stands in an address is looked up among the folders found and never becomes part of a path.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fechner.runs.manifest import FILE as MANIFEST
from fechner.runs.store import LEDGER, LOCK, PEOPLE, slug

#: How deep below a given folder runs are looked for, and in how many folders at most.
DEPTH = 4
MOST_FOLDERS = 5000

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

    @property
    def version(self) -> tuple[int, ...]:
        """What tells a state of the run from a later one."""
        changed: list[int] = []
        for name in (LEDGER, MANIFEST, PEOPLE):
            with suppress(OSError):
                file = (self.folder / name).stat()
                changed += [file.st_mtime_ns, file.st_size]
        return tuple(changed)

    def without_path(self, sentence: str) -> str:
        """Return a sentence with the name for people in place of the folder's path."""
        for path in (os.path.realpath(self.folder), str(self.folder)):
            sentence = sentence.replace(path, self.label)
        return sentence


def find_runs(roots: Sequence[Path]) -> list[Found]:
    """Return the run folders among and below some folders, each once, sorted by label."""
    found: dict[Path, Found] = {}
    for root in roots:
        shown = root  # an absolute path loses its parents
        if root.is_absolute() or not root.name or ".." in root.parts:
            shown = Path(root.name.strip(".") or Path(os.path.realpath(root)).name)
        for folder in _below(root):
            place = Path(os.path.realpath(folder))
            if place not in found:
                label = (shown / folder.relative_to(root)).as_posix()
                digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
                stem = slug(_printable(place.name)).strip("-") or "run"
                found[place] = Found(f"{stem}-{digest}", _printable(label), folder)
    return sorted(found.values(), key=lambda run: run.label)


def _printable(text: str) -> str:
    """Replace what no page can show: names of files need not be text."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def _below(root: Path) -> Iterator[Path]:
    """Go through a folder tree for runs, be they finished, begun or damaged; links are left."""
    for parent, folders, files in itertools.islice(os.walk(root), MOST_FOLDERS):
        depth = len(Path(parent).relative_to(root).parts)
        names = {*folders, *files}
        begun = LOCK in names and all(name == LOCK or name.endswith(".tmp") for name in names)
        # Other programs have manifests, too: beside nothing else, it has to be given by name.
        known = MANIFEST in names and (depth == 0 or names & {LOCK, "results"})
        if LEDGER in names or known or begun:
            yield Path(parent)
            folders.clear()
        inside = sorted(name for name in folders if not name.startswith("."))
        folders[:] = inside if depth < DEPTH else []


def size_and_change(folder: Path) -> tuple[int, float]:
    """Return how many bytes a folder holds, and when a file in it was last written."""
    size, changed = 0, 0.0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # gone meanwhile
                file = Path(parent, name).lstat()
                size, changed = size + file.st_size, max(changed, file.st_mtime)
    return size, changed


def last_lines(folder: Path, lines: int = 40) -> list[str]:
    """Return the end of a run's log, without what terminals make colours of."""
    path = folder / "log.txt"
    try:
        if not path.is_file():
            return []
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            text = file.read(_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    found = _COLOURS.sub("", text).replace("\r\n", "\n").splitlines()
    return [_printable(line.expandtabs(4)) for line in found[-lines:]]

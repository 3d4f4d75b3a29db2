"""Where exports go: files and folders that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from fechner.errors import FechnerError
from fechner.runs import Run
from fechner.runs.manifest import FILE


def suffix_of(out: str, known: Sequence[str]) -> str:
    """Return the suffix of a file, empty for a folder.

    Examples
    --------
    >>> suffix_of("Scores.CSV", [".csv"]), suffix_of("answers/", [".csv"])
    ('.csv', '')
    """
    if not out:
        raise FechnerError(f"name a file to write, ending in one of {', '.join(known)}.")
    path = Path(out)
    suffix = path.suffix.lower()
    if out.endswith(("/", os.sep)) or not suffix:
        return ""
    if suffix in known:
        return suffix
    if path.is_dir():
        return ""
    raise FechnerError(
        f"'{path.name}' ends in none of {', '.join(known)}; a folder, for netCDF files, has a name "
        "without a suffix."
    )


def checked_file(out: str, runs: Sequence[Run]) -> Path:
    """Return where a file is to be written, or say why it is not."""
    path = Path(out).resolve()  # a link stays one
    _check(out, path, runs)
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "no ordinary file"
        raise FechnerError(f"{out} is {kind}; choose another name.")
    return path


@contextmanager
def replaced_file(out: str, runs: Sequence[Run]) -> Iterator[IO[bytes]]:
    """Give a file to write, which takes its place when it is complete."""
    path = checked_file(out, runs)
    temporary = path.with_name(f".export.{os.getpid()}.tmp")
    with _in_a_sentence(out):
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def filled_folder(out: str, runs: Sequence[Run], names: Sequence[Path]) -> Iterator[Path]:
    """Give a folder to write these files into, which takes its place when it is complete.

    One that exists may hold nothing but an earlier export of the same.
    """
    path = Path(out).resolve()
    _check(out, path, runs)
    if path.exists() and not path.is_dir():
        raise FechnerError(f"{out} is a file; a folder is needed for netCDF files.")
    inside = [each.relative_to(path) for each in path.rglob("*") if not each.is_dir()]
    others = sorted(str(name) for name in set(inside) - set(names))
    if others:
        raise FechnerError(
            f"{out} holds other things ({others[0]}); choose a folder that is new or empty."
        )
    temporary = (path if path.is_dir() else path.parent) / f".export.{os.getpid()}.tmp"
    with _in_a_sentence(out):
        try:
            temporary.mkdir()
            yield temporary
            if path.is_dir():
                for name in names:
                    (path / name).parent.mkdir(parents=True, exist_ok=True)
                    if (temporary / name).exists():
                        (temporary / name).replace(path / name)
                    else:  # complete when it was exported before, and no longer
                        (path / name).unlink(missing_ok=True)
            else:
                temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_folder(out: str, runs: Sequence[Run]) -> Iterator[Path]:
    """Give a folder to fill, which takes its place, new or empty, when it is complete."""
    path = Path(out).resolve()
    _check(out, path, runs)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FechnerError(f"{out} is there already; choose a folder that is new or empty.")
    temporary = path.parent / f".export.{os.getpid()}.tmp"
    with _in_a_sentence(out):
        try:
            temporary.mkdir()
            yield temporary
            if path.exists():
                path.rmdir()
            temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _check(out: str, path: Path, runs: Sequence[Run]) -> None:
    """Keep away from what a run has written, and ask for a place that is there."""
    for run in runs:
        own = run.folder.resolve()
        if path == own / FILE or own / "results" in (path, *path.parents):
            raise FechnerError(f"{out} belongs to the run in {run.folder}; choose another place.")
    if not path.parent.is_dir():
        raise FechnerError(f"{out} cannot be written: there is no folder {path.parent}.")


@contextmanager
def _in_a_sentence(out: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else error.strerror or error
        raise FechnerError(f"{out} cannot be written: {why}.") from error

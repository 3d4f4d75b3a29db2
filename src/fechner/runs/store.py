"""Result files: one per observer and piece, complete or not there at all."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fechner.errors import RunFolderError
from fechner.runs.writer import LOCK, Plan, announce, this_process

try:
    import fcntl
except ImportError:  # Windows has no such lock; there, two processes are not kept apart
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import xarray as xr


def slug(name: str) -> str:
    """Return a name as a folder, distinct for distinct names.

    Examples
    --------
    >>> slug("timm/vit_small")
    'timm-vit_small-045a6d'
    >>> slug("pixels")
    'pixels'
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[-60:]
    if safe == name:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, even if the power fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_disk(path) from error
        raise RunFolderError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def only_writer(folder: Path, plan: Plan | None = None) -> Iterator[None]:
    """Be the only process that writes into a run folder, and clear what a killed one left.

    The lock ends with the process that holds it, however it ends. While it is held, its file says
    who holds it and for what; a process that does not get to its end leaves that there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("ab")  # one that another process holds is left as it is
    except OSError as error:
        raise RunFolderError(f"{folder} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunFolderError(
                f"another process is writing to {folder}; wait for it, or choose another folder "
                "with --out."
            ) from None
        for leftover in folder.rglob(".*.tmp"):
            leftover.unlink(missing_ok=True)
        writer = this_process(plan)
        with suppress(OSError):  # a full disk is met, and named, by the first result
            announce(lock.fileno(), writer)
        try:
            yield
        except BaseException:
            # The process may live on, as a notebook does.
            with suppress(OSError):
                announce(lock.fileno(), replace(writer, pid=0))
            raise
        with suppress(OSError):
            announce(lock.fileno(), None)


def full_disk(path: Path) -> RunFolderError:
    """Return what to say when there is no space left."""
    return RunFolderError(
        f"the disk that holds {path} is full; what is measured is kept: free some space and run "
        "the same command again."
    )


def write_dataset(path: Path, data: xr.Dataset) -> str:
    """Store a dataset and return the hash of the file."""
    return write_content(path, as_file(data))


def write_content(path: Path, content: bytes) -> str:
    """Store what a result file holds and return its hash."""
    write_atomically(path, content)
    return hashlib.sha256(content).hexdigest()


def as_file(data: xr.Dataset) -> bytes:
    """Return a dataset as a result file holds it.

    Variables and attributes are written in sorted order: the same data are the same bytes. The
    classic netCDF format is written and read about 20 times faster than the one on HDF5, at a fifth
    of the size, and a piece is far below its limits.
    """
    buffer = io.BytesIO()
    _sorted(data).to_netcdf(buffer, engine="scipy")
    return buffer.getvalue()


def read_dataset(path: Path, expected_sha256: str) -> xr.Dataset:
    """Read a stored dataset, or say that the file is missing or damaged."""
    import xarray as xr

    again = "run the same command again to measure it anew"
    if not path.is_file():
        raise RunFolderError(f"result file {path} is missing; {again}.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected_sha256:
        raise RunFolderError(f"result file {path} is damaged; {again}.")
    return xr.load_dataset(io.BytesIO(content), engine="scipy")


def _sorted(data: xr.Dataset) -> xr.Dataset:
    import xarray as xr

    def sort(attributes: dict[str, object]) -> dict[str, object]:
        return dict(sorted(attributes.items()))

    variables = {name: data.variables[name].copy() for name in sorted(map(str, data.variables))}
    for variable in variables.values():
        variable.attrs = sort(variable.attrs)
    ordered = xr.Dataset(variables, attrs=sort(data.attrs))
    return ordered.set_coords(sorted(map(str, data.coords)))

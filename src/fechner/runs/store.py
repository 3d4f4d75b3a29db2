"""Result files: one per observer and piece, complete or not there at all."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fechner.errors import RunFolderError

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

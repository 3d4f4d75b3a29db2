"""Files of a run folder: results, whole or not there at all; their ledger; the lock of the writer.

The lock file says who writes and for what, for readers who follow a run and never take the lock. An
empty one means that the last process finished.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import platform
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Literal

from fechner.arrays import xr
from fechner.errors import RunFolderError

try:
    import fcntl
except ImportError:  # Windows has no such lock; there, two processes are not kept apart
    fcntl = None  # type: ignore[assignment]


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


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write that is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # even if the power fails
        temporary.replace(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full_disk(path) from error
        raise RunFolderError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> str:
    """Write a file so that it is there whole or not at all, and return the hash of its content."""
    with whole_file(path) as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def _full_disk(path: Path) -> RunFolderError:
    return RunFolderError(
        f"the disk that holds {path} is full; what is measured is kept: free some space and run "
        "the same command again."
    )


@contextmanager
def database_errors(path: Path, loss: str) -> Iterator[None]:
    """Say what to do where a SQLite file cannot be used, and what is lost without it."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise _full_disk(path) from error
        raise RunFolderError(
            f"{path} cannot be used ({error}); try again in a moment, or else delete that file and "
            f"run the same command again: {loss}."
        ) from error


def write_dataset(path: Path, data: xr.Dataset) -> str:
    """Store a dataset and return the hash of the file."""
    return write_atomically(path, as_file(data))


def as_file(data: xr.Dataset) -> bytes:
    """Return a dataset as a result file holds it.

    Variables and attributes are written in sorted order: the same data are the same bytes. The
    classic netCDF format is written and read about 20 times faster than the one on HDF5, at a fifth
    of the size, and a piece is far below its limits.
    """
    variables = {name: data.variables[name].copy() for name in sorted(map(str, data.variables))}
    for variable in variables.values():
        variable.attrs = dict(sorted(variable.attrs.items()))
    ordered = xr.Dataset(variables, attrs=dict(sorted(data.attrs.items())))
    buffer = io.BytesIO()
    ordered.set_coords(sorted(map(str, data.coords))).to_netcdf(buffer, engine="scipy")
    return buffer.getvalue()


def read_dataset(path: Path, expected_sha256: str) -> xr.Dataset:
    """Read a stored dataset, or say that the file is missing or damaged."""
    content = path.read_bytes() if path.is_file() else None
    if content is None or hashlib.sha256(content).hexdigest() != expected_sha256:
        state = "missing" if content is None else "damaged"
        raise RunFolderError(
            f"result file {path} is {state}; run the same command again to measure it anew."
        )
    return xr.load_dataset(io.BytesIO(content), engine="scipy")


#: Names of files in a run folder: the ledger, and trials of people.
LEDGER, PEOPLE = "ledger.sqlite", "people.csv"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pieces (
    key TEXT PRIMARY KEY,
    observer TEXT NOT NULL,
    test TEXT NOT NULL,
    piece TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    file TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    images INTEGER NOT NULL,
    message TEXT NOT NULL,
    seconds REAL NOT NULL
)
"""


@dataclass(frozen=True)
class Entry:
    """One piece of work. Everything but ``seconds`` is the same however often a run is resumed."""

    key: str
    observer: str
    test: str
    piece: str
    status: Literal["done", "failed"]
    file: str
    sha256: str = ""
    images: int = 0
    message: str = ""
    seconds: float = 0.0


class Ledger:
    """A SQLite file; every call opens, commits and closes, so nothing is lost with the process.

    Parameters
    ----------
    folder
        That of the run.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER

    @contextmanager
    def _open(self, read_only: bool = False) -> Iterator[sqlite3.Connection]:
        address = f"{self.path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
        # Who only looks does not wait: a writer holds the file for milliseconds.
        timeout_s = 0.3 if read_only else 30
        with (
            database_errors(self.path, "pieces are measured anew"),
            closing(sqlite3.connect(address, timeout_s, uri=True)) as connection,
            connection,
        ):
            if not read_only:
                connection.execute(_SCHEMA)
            yield connection

    def record(self, entry: Entry) -> None:
        """Write an entry, replacing an earlier one of the same key or file."""
        values = tuple(vars(entry).values())
        with self._open() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO pieces VALUES ({','.join('?' * len(values))})", values
            )

    def entries(self, read_only: bool = False) -> list[Entry]:
        """Return all entries, ordered by observer, test and piece.

        Parameters
        ----------
        read_only
            Whether to leave the file as it is, even one that was left half-written.
        """
        # SQLite writes nothing before the first piece is recorded.
        if not self.path.is_file() or self.path.stat().st_size == 0:
            return []
        columns = ", ".join(Entry.__dataclass_fields__)
        with self._open(read_only) as connection:
            rows = connection.execute(
                f"SELECT {columns} FROM pieces ORDER BY observer, test, piece"
            ).fetchall()
        return [Entry(*row) for row in rows]


LOCK = ".lock"

#: A process of the same number that started this long before or after is another one. Clocks that
#: are set while it runs move the start time that the system states.
_SAME_START_S = 30.0

#: A lock file longer than this was not written here.
_LONGEST_BYTES = 1 << 20


@dataclass(frozen=True)
class Plan:
    """What a process set out to measure: observers and tests by name."""

    observers: list[str]
    tests: list[str]
    scores_only: bool


@dataclass(frozen=True)
class Writer:
    """The process that wrote last and did not get to its end.

    Parameters
    ----------
    pid, started
        Its number and when it started (seconds since 1970); a ``pid`` of 0 is a process that gave
        up in order.
    machine
        Tells machines that share a disk apart, without naming them.
    """

    pid: int
    started: float
    machine: str
    plan: Plan | None = None

    @property
    def lives(self) -> bool | None:
        """Whether it still runs; None if it ran on another machine, so that nobody here knows."""
        import psutil

        if self.pid <= 0:
            return False
        if self.machine != _machine():
            return None
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < _SAME_START_S
            return bool(same and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False


@contextmanager
def only_writer(folder: Path, plan: Plan | None = None) -> Iterator[None]:
    """Be the only process that writes into a run folder, and clear what a killed one left.

    The lock ends with the process that holds it, however it ends. While it is held, its file says
    who holds it and for what; a process that does not get to its end leaves that there.
    """
    import psutil

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
        own = psutil.Process()
        writer = Writer(own.pid, own.create_time(), _machine(), plan)
        _announce(lock.fileno(), writer)
        try:
            yield
        except BaseException:
            # The process may live on, as a notebook does.
            _announce(lock.fileno(), replace(writer, pid=0))
            raise
        _announce(lock.fileno(), None)


def _announce(lock: int, writer: Writer | None) -> None:
    """Write who writes into a lock file that is open for appending, or empty it."""
    with suppress(OSError):  # a full disk is met, and named, by the first result
        os.ftruncate(lock, 0)
        if writer is not None:
            os.write(lock, json.dumps(asdict(writer)).encode())


def last_writer(folder: Path) -> Writer | None:
    """Return the process that writes into a run folder, or that stopped before its end.

    Nothing is locked or changed, and whatever cannot be read counts as nobody.
    """
    try:
        with (folder / LOCK).open("rb") as file:
            content = json.loads(file.read(_LONGEST_BYTES))
        plan = content.pop("plan")
        return Writer(**content, plan=plan and Plan(**plan))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:12]

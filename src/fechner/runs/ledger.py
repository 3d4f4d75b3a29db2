"""The ledger of a run: which pieces are done, which failed and why. One process writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fechner.errors import RunFolderError
from fechner.runs.store import full_disk

#: Its name in a run folder.
FILE = "ledger.sqlite"

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
        self.path = folder / FILE

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=30)) as connection, connection:
                connection.execute(_SCHEMA)
                yield connection
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise full_disk(self.path) from error
            raise RunFolderError(
                f"the ledger {self.path} cannot be used ({error}); delete that file and run the "
                "same command again: finished pieces are measured anew."
            ) from error

    def record(self, entry: Entry) -> None:
        """Write an entry, replacing an earlier one of the same key or file."""
        values = tuple(vars(entry).values())
        with self._open() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO pieces VALUES ({','.join('?' * len(values))})", values
            )

    def entries(self) -> list[Entry]:
        """Return all entries, ordered by observer, test and piece."""
        if not self.path.exists():
            return []
        columns = ", ".join(Entry.__dataclass_fields__)
        with self._open() as connection:
            rows = connection.execute(
                f"SELECT {columns} FROM pieces ORDER BY observer, test, piece"
            ).fetchall()
        return [Entry(*row) for row in rows]

"""The ledger of a run: which pieces are done, which failed and why; and the answers in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fechner.runs.manifest import ObserverRecord
from fechner.runs.plan import piece_keys
from fechner.runs.store import database_errors, read_dataset
from fechner.suites.base import Test

if TYPE_CHECKING:
    import xarray as xr

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


def read_answers(
    folder: Path,
    test: Test,
    among: Mapping[str, Test],
    record: ObserverRecord,
    entries: Iterable[Entry],
    for_scores: bool | None = None,
) -> xr.Dataset | None:
    """Return the raw answers of an observer in a test, None if they are not complete.

    Parameters
    ----------
    among
        Tests by name, with those that this one comes after.
    entries
        What the ledger has.
    for_scores
        True for what scores need alone, False for what is for figures only; if None, both, where
        the latter was measured.
    """
    import xarray as xr

    keys = piece_keys(test, among, record)
    done = {entry.key: entry for entry in entries if entry.status == "done"}
    found = []
    for part in (True, False) if for_scores is None else (for_scores,):
        own = [keys[piece.name] for piece in test.experiment.pieces() if piece.for_scores == part]
        if own and all(key in done for key in own):
            parts = [read_dataset(folder / done[key].file, done[key].sha256) for key in own]
            if len(parts) > 1:  # put together along the dimension they say they were cut along
                along = parts[0].attrs["along"]
                how: Any = {"data_vars": "minimal", "coords": "minimal", "compat": "equals"}
                parts = [xr.concat(parts, dim=along, join="exact", **how)]
            found += parts
        elif part or for_scores is False:
            return None
    return xr.merge(found, combine_attrs="override", join="exact", compat="equals")

"""Reports of runs, made one at a time beside the server and kept until a run changes."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from fechner.errors import FechnerError
from fechner.report.serving.runs import LEDGER, Found
from fechner.report.serving.state import Snapshot, without_path
from fechner.runs.manifest import FILE
from fechner.runs.people import FILE as PEOPLE

#: Pages of a few megabytes each.
_KEPT = 4

_Key: TypeAlias = tuple[tuple[str | tuple[int, int], ...], ...]


class Reports:
    """The reports made last, by the state of the runs they are about."""

    def __init__(self) -> None:
        self._pages: OrderedDict[_Key, bytes] = OrderedDict()
        self._making = asyncio.Lock()

    async def page(self, runs: Sequence[Found]) -> bytes:
        """Return the report of some runs as HTML; the server goes on answering meanwhile."""
        key: _Key = tuple(
            (run.id, *(_state(run.folder / file) for file in (LEDGER, FILE, PEOPLE)))
            for run in runs
        )
        if key not in self._pages:
            # Whoever waits for the same page finds it made.
            async with self._making:
                if key not in self._pages:
                    self._pages[key] = await _beside(lambda: _make(runs))
        self._pages.move_to_end(key)
        page = self._pages[key]
        while len(self._pages) > _KEPT:
            self._pages.popitem(last=False)
        return page


def _state(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


async def _beside(make: Callable[[], bytes]) -> bytes:
    """Make a page in a thread that does not keep the server from ending."""
    loop = asyncio.get_running_loop()
    made: asyncio.Future[bytes] = loop.create_future()

    def settle(page: bytes | None, error: BaseException | None) -> None:
        if made.cancelled():
            return
        if error is not None:
            made.set_exception(error)
        else:
            made.set_result(page or b"")

    def work() -> None:
        page, error = None, None
        try:
            page = make()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(settle, page, error)

    threading.Thread(target=work, name="report", daemon=True).start()
    return await made


def _make(runs: Sequence[Found]) -> bytes:
    from fechner.report.page import make_page

    try:
        page = make_page([Snapshot(run) for run in runs])
    except FechnerError as error:
        sentence = str(error)
        for run in runs:
            sentence = without_path(sentence, run)
        raise FechnerError(sentence) from error
    return page.encode("utf-8", "replace")

"""Several processes that measure pieces; this one hands them out and takes the results.

Each process of our own is an executor by itself, so that when one ends (killed, or out of memory)
one piece is lost and no more. Instead, any `concurrent.futures.Executor` of a user does, such as
Dask's for many machines.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fechner.errors import WorkerError
from fechner.observers.memory import keep_freed_memory
from fechner.runs.store import write_atomically
from fechner.runs.worker import Parcel


class Workers:
    """As many pieces under way as there are workers.

    Parameters
    ----------
    folder
        Where parcels for processes of our own lie while they are needed.
    executor
        A user's; processes of our own are started, when they are needed, if None.
    """

    def __init__(self, number: int, folder: Path, executor: Executor | None = None) -> None:
        self.number = number
        self._folder = folder
        self._executor = executor
        self._ours: list[_Process] = []
        self._idle: list[_Process] = []
        self._under_way: dict[Future[Any], tuple[int, _Process | None]] = {}
        self._parcels: dict[str, Path] = {}
        self._ends = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for future in self._under_way:
            future.cancel()
        for process in self._ours:
            process.end(at_once=error is not None)
        for process in self._ours:
            process.wait()
        for path in self._parcels.values():
            path.unlink(missing_ok=True)

    @property
    def free(self) -> bool:
        """Whether another piece can be begun."""
        return len(self._under_way) < self.number

    @property
    def busy(self) -> bool:
        """Whether there are pieces under way."""
        return bool(self._under_way)

    def parcel(self, thing: Any) -> Parcel:
        """Make something ready to be sent; raises what pickling raises."""
        content = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        sha256 = hashlib.sha256(content).hexdigest()
        if self._executor is not None:
            return Parcel(sha256, content=content)
        path = self._folder / f".{sha256}.tmp"
        if sha256 not in self._parcels:
            write_atomically(path, content)
            self._parcels[sha256] = path
        return Parcel(sha256, str(path.absolute()))

    def begin(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Have a function called, with a number that its result comes back with."""
        if self._executor is not None:
            self._under_way[self._executor.submit(function, *arguments)] = (number, None)
            return
        while self._idle:
            process = self._idle.pop()
            with suppress(BrokenExecutor):  # it ended while it had nothing to do
                self._under_way[process.executor.submit(function, *arguments)] = (number, process)
                return
        process = _Process()
        self._ours.append(process)  # before it has a piece: an interrupt may come at any time
        self._under_way[process.executor.submit(function, *arguments)] = (number, process)

    def finished(self) -> Iterator[tuple[int, Any]]:
        """Wait for results, in the order of their numbers; what went wrong is an exception."""
        done, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda each: self._under_way[each][0]):
            number, process = self._under_way.pop(future)
            error = future.exception()
            if error is not None and not isinstance(error, Exception):
                raise error  # such as an interrupt
            self._look_after(process, error)
            yield number, error or future.result()

    def _look_after(self, process: _Process | None, error: Exception | None) -> None:
        """Keep a process for the next piece, or say what to do if none comes up."""
        self._ends = 0 if error is None else self._ends + 1
        if process is not None and not isinstance(error, BrokenExecutor):
            self._idle.append(process)
        if process is not None and error is not None and not process.started:
            raise WorkerError(
                "worker processes end as soon as they start; a script that has some needs the line "
                "`if __name__ == '__main__':` before it starts a run."
            )
        # All may end at once, when memory runs out.
        if self._ends > self.number + 1 or (process is None and isinstance(error, BrokenExecutor)):
            raise WorkerError(
                "workers end one after the other, killed or out of memory; what is measured is "
                "kept: run the same command again with fewer --workers."
            )


class _Process:
    """One process of our own."""

    def __init__(self) -> None:
        before = {child.pid for child in multiprocessing.active_children()}
        context = multiprocessing.get_context("spawn")
        self.executor = ProcessPoolExecutor(1, context, initializer=_begin)
        with _interrupts_held_back():  # an interrupt is this process's business
            self._first = self.executor.submit(os.getpid)
        self._children = [
            child for child in multiprocessing.active_children() if child.pid not in before
        ]

    @property
    def started(self) -> bool:
        """Whether it got as far as to do something."""
        return self._first.done() and self._first.exception() is None

    def end(self, at_once: bool) -> None:
        """End it: when its piece is finished, or at once."""
        if at_once:
            for child in self._children:
                child.kill()
        self.executor.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Wait until it has ended."""
        for child in self._children:
            child.join()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let processes that are started meanwhile ignore Ctrl-C, which a terminal sends to all."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """End this process when the one that started it is no more, however it ended."""
    keep_freed_memory()
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

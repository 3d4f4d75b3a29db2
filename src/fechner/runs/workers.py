"""Worker processes that measure pieces; this process submits them and takes the results.

Each process of our own is an executor by itself, so that when one ends (killed, or out of memory)
one piece is lost and no more. Instead, any `concurrent.futures.Executor` of a user does, such as
Dask's for many machines. Whatever many pieces need travels as a payload, which each process loads
once.
"""

from __future__ import annotations

import hashlib
import io
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from fechner.errors import FechnerError, ObserverError, RunFolderError, WorkerError
from fechner.experiments import Piece
from fechner.observers.abilities import Ability
from fechner.observers.devices import keep_freed_memory, limited_memory
from fechner.runs.backends import Answers, Measurement, Outcome, in_words, logged
from fechner.runs.plan import Job
from fechner.runs.setup import Setup
from fechner.runs.store import write_atomically

#: Tells processes apart, on any machine.
PROCESS = uuid.uuid4().hex

#: Executors of users may call from several threads of a process; what models print, and how many
#: threads they compute with, concerns the whole process.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Payload:
    """Something pickled: in a file, or inline for workers that share no files."""

    sha256: str
    path: str = field(default="", compare=False)
    content: bytes = field(default=b"", compare=False, repr=False)

    def load(self) -> Any:
        """Return what was pickled."""
        return pickle.loads(self.content or Path(self.path).read_bytes())


@dataclass(frozen=True)
class Task:
    """A piece to measure, with all that it takes.

    Parameters
    ----------
    observer
        Payload of a `Setup`, and an observer or the name to make it from.
    experiment, answers
        Payloads: the experiment, and the answers to the tests that it comes after.
    fingerprint
        What the observer's answers depend on; None for bare Python objects.
    sender
        The process that sent it; what is logged there is in its log already.
    """

    name: str
    observer: Payload
    fingerprint: str | None
    experiment: Payload
    answers: tuple[Payload | None, ...]
    asks: Ability
    piece: Piece
    batch_size: int
    device: str
    threads: int
    sender: str = PROCESS


def work(task: Task) -> Outcome:
    """Measure a piece; called in a worker."""
    import torch

    text = io.StringIO()
    with _ONE_AT_A_TIME:
        before = torch.get_num_threads()
        torch.set_num_threads(task.threads)
        try:
            with (
                logged(logging.StreamHandler(text), task.name) as printed,
                limited_memory(task.device),
            ):
                try:
                    observer = _load_for(task)
                    printed.lines = 0  # what it prints while it is loaded does not count
                    answers = [None if each is None else _loaded(each) for each in task.answers]
                    outcome = Measurement(
                        _loaded(task.experiment), observer, task.name, task.batch_size, task.device
                    ).run(task.piece, answers)
                except FechnerError as error:
                    outcome = Outcome("failed", message=str(error))
                lines = printed.lines
        finally:
            torch.set_num_threads(before)
    log = "" if task.sender == PROCESS else text.getvalue()
    return replace(outcome, log=log, printed=lines)


def can_load(payload: Payload) -> str:
    """Return why an observer cannot be loaded in this process, empty if it can."""
    with _ONE_AT_A_TIME:
        try:
            _forget_others(payload)
            _observer(payload)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def _load_for(task: Task) -> Any:
    """Return the observer with the ability that is asked, as this process has it."""
    with in_words(task.name, "it could not be loaded by a worker"):
        _forget_others(task.observer)
        found = _lifted(task.observer, task.asks)
    if task.fingerprint is not None and found.fingerprint != task.fingerprint:
        raise ObserverError(
            f"{task.name} has changed since the run was started; run the same command again."
        )
    return found


@lru_cache(maxsize=1)
def _observer(payload: Payload) -> tuple[Setup, Any]:
    setup, given = payload.load()
    return setup, setup.made(given)


@lru_cache(maxsize=4)
def _lifted(payload: Payload, asks: Ability) -> Any:
    setup, observer = _observer(payload)
    return setup.lifted(observer, asks)


@lru_cache(maxsize=3)  # an experiment, and answers to tests that it comes after
def _loaded(payload: Payload) -> Any:
    return payload.load()


_last_observer: list[Payload] = []


def _forget_others(payload: Payload) -> None:
    """Let go of the last observer before the next is loaded: two may not fit into memory."""
    if _last_observer != [payload]:
        _lifted.cache_clear()
        _observer.cache_clear()
        _last_observer[:] = [payload]


class RemoteBackend:
    """Measures one observer in the processes of a pool.

    Parameters
    ----------
    name
        As results call it.
    given
        The observer, or the name to make it from.
    lifted
        The observer with every ability that is asked.
    """

    def __init__(
        self,
        pool: WorkerPool,
        setup: Setup,
        name: str,
        given: Any,
        lifted: Mapping[Ability, Any],
        plan: Iterable[Job],
        threads: int,
        on_images: Callable[[int], None],
    ) -> None:
        if any(getattr(each, "reads", "nothing") != "nothing" for each in lifted.values()):
            raise NotRemoteError("it answers in words")
        self._pool = pool
        self._setup = setup
        self._name = name
        self._threads = threads
        self._on_images = on_images
        self._fingerprints = {asked: each.fingerprint for asked, each in lifted.items()}
        self._answers: dict[str, Payload] = {}
        experiments = {job.test.id: job.experiment for job in plan}
        try:
            self._observer = pool.payload((setup, given))
            self._experiments = {test: pool.payload(each) for test, each in experiments.items()}
        except RunFolderError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            raise NotRemoteError(f"it cannot be sent to another ({why})") from error
        if not isinstance(given, str):
            # What was pickled can be read only where its classes are found.
            pool.submit(0, can_load, self._observer)
            ((_, why),) = pool.results()
            if why:
                raise NotRemoteError(f"another cannot load it ({why})")

    @property
    def free(self) -> bool:
        """Whether a worker is."""
        return self._pool.free

    @property
    def busy(self) -> bool:
        """Whether a worker is."""
        return self._pool.busy

    def submit(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Send a piece to a worker."""
        asks = job.experiment.asks
        for test, data in zip(job.test.after, answers, strict=True):
            if data is not None and test not in self._answers:
                self._answers[test] = self._pool.payload(data)
        task = Task(
            self._name,
            self._observer,
            self._fingerprints[asks],
            self._experiments[job.test.id],
            tuple(self._answers.get(test) for test in job.test.after),
            asks,
            job.piece,
            batch_size,
            self._setup.device,
            self._threads,
        )
        self._pool.submit(number, work, task)

    def outcomes(self) -> Iterable[tuple[int, Outcome]]:
        """Wait for outcomes, and return them."""
        for number, found in self._pool.results():
            if isinstance(found, Exception):
                ended = "a worker ended while it measured it (killed, or out of memory)"
                what = ended if isinstance(found, BrokenExecutor) else f"a worker said {found!r}"
                yield number, Outcome("lost", message=what)
            else:
                self._on_images(found.images)
                yield number, found


class NotRemoteError(Exception):
    """Why an observer can be measured in this process only."""


class WorkerPool:
    """As many pieces under way as there are workers.

    Parameters
    ----------
    folder
        Where payloads for processes of our own lie while they are needed.
    executor
        A user's; processes of our own are started, when they are needed, if None.
    """

    def __init__(self, number: int, folder: Path, executor: Executor | None = None) -> None:
        self.number = number
        self._folder = folder
        self._executor = executor
        self._ours: list[_Process] = []
        self._idle: list[_Process] = []
        self._running: dict[Future[Any], tuple[int, _Process | None]] = {}
        self._payloads: dict[str, Path] = {}
        self._ends = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        for future in self._running:
            future.cancel()
        for process in self._ours:
            process.end(at_once=error is not None)
        for process in self._ours:
            process.wait()
        for path in self._payloads.values():
            path.unlink(missing_ok=True)

    @property
    def free(self) -> bool:
        """Whether another call can be submitted."""
        return len(self._running) < self.number

    @property
    def busy(self) -> bool:
        """Whether there are results to wait for."""
        return bool(self._running)

    def payload(self, thing: Any) -> Payload:
        """Make something ready to be sent; raises what pickling raises."""
        content = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        sha256 = hashlib.sha256(content).hexdigest()
        if self._executor is not None:
            return Payload(sha256, content=content)
        path = self._folder / f".{sha256}.tmp"
        if sha256 not in self._payloads:
            write_atomically(path, content)
            self._payloads[sha256] = path
        return Payload(sha256, str(path.absolute()))

    def submit(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in a worker, with a number that its result comes back with."""
        if self._executor is not None:
            self._running[self._executor.submit(function, *arguments)] = (number, None)
            return
        while self._idle:
            process = self._idle.pop()
            with suppress(BrokenExecutor):  # it ended while it had nothing to do
                self._running[process.executor.submit(function, *arguments)] = (number, process)
                return
        process = _Process()
        self._ours.append(process)  # before it has a piece: an interrupt may come at any time
        self._running[process.executor.submit(function, *arguments)] = (number, process)

    def results(self) -> Iterator[tuple[int, Any]]:
        """Wait for results, in the order of their numbers; what went wrong is an exception."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda each: self._running[each][0]):
            number, process = self._running.pop(future)
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

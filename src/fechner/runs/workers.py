"""Worker processes that measure pieces; this process submits them and takes the results.

A backend measures by any `concurrent.futures.Executor`: the pool of processes here, or a user's,
such as Dask's for many machines. Whatever many pieces need travels as a payload, which each process
loads once.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from fechner.arrays import torch
from fechner.errors import FechnerError, ObserverError, RunFolderError, WorkerError
from fechner.experiments import Piece
from fechner.observers.abilities import Ability
from fechner.observers.devices import keep_freed_memory, limited_memory
from fechner.runs.backends import Answers, Measurement, Outcome, Setup, in_words, logged
from fechner.runs.plan import Job
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

    @classmethod
    def of(cls, thing: Any, folder: Path | None) -> Payload:
        """Pickle something, into a file of a folder or inline; raises what pickling raises."""
        content = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        sha256 = hashlib.sha256(content).hexdigest()
        if folder is None:
            return cls(sha256, content=content)
        path = folder / f".{sha256}.tmp"
        write_atomically(path, content)
        return cls(sha256, str(path.absolute()))

    def load(self) -> Any:
        """Return what was pickled."""
        return pickle.loads(self.content or Path(self.path).read_bytes())


def work(
    setup: Setup,
    name: str,
    given: Payload,
    fingerprint: str | None,
    experiment: Payload,
    answers: Sequence[Payload | None],
    piece: Piece,
    batch_size: int,
    sender: str,
) -> Outcome:
    """Measure a piece; called in a worker.

    Parameters
    ----------
    given, name
        An observer or the name to make it from; and as results call it.
    fingerprint
        What the observer's answers depend on; None for bare Python objects.
    answers
        Those to the tests that the experiment comes after.
    sender
        The process that sent it; what is logged there is in its log already.
    """
    text = io.StringIO()
    with (
        _ONE_AT_A_TIME,
        logged(logging.StreamHandler(text), name) as printed,
        limited_memory(setup.device),
    ):
        before = torch.get_num_threads()
        torch.set_num_threads(setup.threads)
        try:
            with in_words(name, "it could not be loaded by a worker"):
                task = _loaded(experiment)
                observer = _observer(setup, given, task.asks)
                earlier = [None if each is None else _loaded(each) for each in answers]
            if fingerprint is not None and observer.fingerprint != fingerprint:
                raise ObserverError(
                    f"{name} has changed since the run was started; run the same command again."
                )
            printed.lines = 0  # what it prints while it is loaded does not count
            measurement = Measurement(task, observer, name, batch_size, setup.device)
            try:
                data = task.measure(piece, measurement.presenter, *earlier)
                outcome = measurement.done(data)
            except (Exception, SystemExit) as error:
                outcome = measurement.failed(error)
        except FechnerError as error:
            outcome = Outcome("failed", message=str(error))
        finally:
            torch.set_num_threads(before)
    log = "" if sender == PROCESS else text.getvalue()
    return replace(outcome, log=log, printed=printed.lines)


def can_load(setup: Setup, payload: Payload) -> str:
    """Return why an observer cannot be loaded in this process, empty if it can."""
    with _ONE_AT_A_TIME:
        try:
            _observer(setup, payload)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


#: The observer that this process measured last: as it was made, and with each ability.
_last_observer: dict[tuple[Setup, Payload], dict[Ability | None, Any]] = {}


def _observer(setup: Setup, payload: Payload, asks: Ability | None = None) -> Any:
    """Return an observer with the ability that is asked, as this process has it."""
    if (setup, payload) not in _last_observer:
        _last_observer.clear()  # before the next is loaded: two may not fit into memory
        _last_observer[setup, payload] = {None: setup.make(payload.load())}
    found = _last_observer[setup, payload]
    if asks is not None and asks not in found:
        found[asks] = setup.lift(found[None], asks)
    return found[asks]


@lru_cache(maxsize=3)  # an experiment, and answers to tests that it comes after
def _loaded(payload: Payload) -> Any:
    return payload.load()


class NotRemoteError(Exception):
    """Why an observer can be measured in this process only."""


class RemoteBackend:
    """Measures one observer by an executor.

    Parameters
    ----------
    folder
        Where payloads for processes of our own lie while they are needed.
    name
        As results call it.
    given
        The observer, or the name to make it from.
    lifted
        The observer with every ability that is asked.
    """

    def __init__(
        self,
        executor: Executor,
        slots: int,
        folder: Path,
        setup: Setup,
        name: str,
        given: Any,
        lifted: Mapping[Ability, Any],
        plan: Iterable[Job],
        on_images: Callable[[int], None],
    ) -> None:
        if any(getattr(each, "reads", "nothing") != "nothing" for each in lifted.values()):
            raise NotRemoteError("it answers in words")
        self.slots = slots
        self._executor = executor
        self._folder = folder if isinstance(executor, WorkerPool) else None
        self._setup = setup
        self._name = name
        self._on_images = on_images
        self._fingerprints = {asked: each.fingerprint for asked, each in lifted.items()}
        self._payloads: dict[str, Payload] = {}
        self._running: dict[Future[Outcome], int] = {}
        self._failed_in_a_row = 0
        try:
            self._observer = self._payload("observer", given)
            for job in plan:
                self._payload(f"experiment {job.test.id}", job.experiment)
        except RunFolderError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            raise NotRemoteError(f"it cannot be sent to another ({why})") from error
        if not isinstance(given, str):
            # What was pickled can be read only where its classes are found.
            loading = executor.submit(can_load, setup, self._observer)
            problem = loading.exception() or loading.result()
            if isinstance(problem, BaseException):
                self._check(problem)
            if problem:
                raise NotRemoteError(f"another cannot load it ({problem})")

    def _payload(self, name: str, thing: Any) -> Payload:
        if name not in self._payloads:
            self._payloads[name] = Payload.of(thing, self._folder)
        return self._payloads[name]

    def submit(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Send a piece to a worker."""
        arguments = (
            self._setup,
            self._name,
            self._observer,
            self._fingerprints[job.experiment.asks],
            self._payload(f"experiment {job.test.id}", job.experiment),
            tuple(
                None if data is None else self._payload(f"answers {test}", data)
                for test, data in zip(job.test.after, answers, strict=True)
            ),
            job.piece,
            batch_size,
            PROCESS,
        )
        self._running[self._executor.submit(work, *arguments)] = number

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Wait for outcomes, and return them in the order of their numbers."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=self._running.__getitem__):
            number = self._running.pop(future)
            if (error := future.exception()) is None:
                self._failed_in_a_row = 0
                outcome = future.result()
                self._on_images(outcome.images)
                yield number, outcome
            else:
                self._check(error)
                ended = "a worker ended while it measured it (killed, or out of memory)"
                what = ended if isinstance(error, BrokenExecutor) else f"a worker said {error!r}"
                yield number, Outcome("lost", message=what)

    def _check(self, error: BaseException) -> None:
        """Raise where it is of no use to go on after an error."""
        if not isinstance(error, Exception):
            raise error  # such as an interrupt
        ours = self._executor if isinstance(self._executor, WorkerPool) else None
        if ours is not None and ours.cannot_start:
            raise WorkerError(
                "worker processes end as soon as they start; a script that has some needs the line "
                "`if __name__ == '__main__':` before it starts a run."
            )
        self._failed_in_a_row += 1
        # All may end at once, when memory runs out.
        broken = isinstance(error, BrokenExecutor) and ours is None
        if broken or self._failed_in_a_row > self.slots + 1:
            raise WorkerError(
                "workers end one after the other, killed or out of memory; what is measured is "
                "kept: run the same command again with fewer --workers."
            )

    def close(self) -> None:
        """Give up what is under way, and remove payloads."""
        for future in self._running:
            future.cancel()
        for payload in self._payloads.values():
            if payload.path:
                Path(payload.path).unlink(missing_ok=True)


class WorkerPool(Executor):
    """Processes, each an executor by itself: when one is killed, one call is lost and no more.

    They are started when they are needed; as many as there are calls under way.
    """

    def __init__(self) -> None:
        self._processes: list[_Process] = []

    @property
    def cannot_start(self) -> bool:
        """Whether a process ended before it got as far as to do something."""
        return any(each.first.done() and each.first.exception() for each in self._processes)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Call a function in a process that has nothing to do, or in a new one."""
        for process in self._processes:
            if process.last.done():
                try:
                    process.last = process.submit(function, *arguments, **named)
                    return process.last
                except BrokenExecutor:  # it ended while it had nothing to do
                    continue
        process = _Process()
        self._processes.append(process)  # before its call: an interrupt may come at any time
        process.last = process.submit(function, *arguments, **named)
        return process.last

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes: when their calls are finished, or at once."""
        for process in self._processes:
            for child in process.children if cancel_futures else ():
                child.kill()
            process.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            for child in process.children if wait else ():
                child.join()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.shutdown(cancel_futures=error is not None)


class _Process(ProcessPoolExecutor):
    """One process, with the future of the last call."""

    def __init__(self) -> None:
        before = {child.pid for child in multiprocessing.active_children()}
        super().__init__(1, multiprocessing.get_context("spawn"), initializer=_begin)
        # Ctrl-C, which a terminal sends to all, is the business of the process that starts it.
        can_mask = hasattr(signal, "pthread_sigmask")  # not on Windows
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_mask else ()
        try:
            self.first = self.last = self.submit(os.getpid)
        finally:
            if can_mask:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        children = multiprocessing.active_children()
        self.children = [child for child in children if child.pid not in before]


def _begin() -> None:
    """End this process when the one that started it is no more, however it ended."""
    keep_freed_memory()
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

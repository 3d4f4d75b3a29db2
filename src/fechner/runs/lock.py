"""The lock of a run folder: one process writes, and its lock file says who, for what.

The lock itself keeps writers apart; the content of the file is for readers, who follow a run and
never take the lock. An empty file means that the last process finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fechner.errors import RunFolderError

try:
    import fcntl
except ImportError:  # Windows has no such lock; there, two processes are not kept apart
    fcntl = None  # type: ignore[assignment]

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
        writer = _this_process(plan)
        with suppress(OSError):  # a full disk is met, and named, by the first result
            _announce(lock.fileno(), writer)
        try:
            yield
        except BaseException:
            # The process may live on, as a notebook does.
            with suppress(OSError):
                _announce(lock.fileno(), replace(writer, pid=0))
            raise
        with suppress(OSError):
            _announce(lock.fileno(), None)


def _this_process(plan: Plan | None) -> Writer:
    """Return what there is to say of this process."""
    import psutil

    own = psutil.Process()
    return Writer(own.pid, own.create_time(), _machine(), plan)


def _announce(lock: int, writer: Writer | None) -> None:
    """Write who writes into a lock file that is open for appending, or empty it."""
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
        plan = content["plan"]
        return Writer(
            int(content["pid"]),
            float(content["started"]),
            str(content["machine"]),
            plan
            and Plan(
                [str(name) for name in plan["observers"]],
                [str(name) for name in plan["tests"]],
                bool(plan["scores_only"]),
            ),
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:12]

"""Who writes into a run folder: said in its lock file, so that others can follow a run.

The lock itself keeps writers apart (`only_writer` in ``store.py``); what is written into the file
is for readers, who never take the lock. An empty file means that the last process got to its end.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

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


def this_process(plan: Plan | None) -> Writer:
    """Return what there is to say of this process."""
    import psutil

    own = psutil.Process()
    return Writer(own.pid, own.create_time(), _machine(), plan)


def announce(lock: int, writer: Writer | None) -> None:
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

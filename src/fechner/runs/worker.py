"""What another process does: it loads an observer once, and measures pieces of its tests.

Whatever is needed for many pieces comes as a parcel, which every process opens once.
"""

from __future__ import annotations

import io
import logging
import pickle
import threading
import uuid
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from fechner.errors import FechnerError, ObserverError
from fechner.experiments import Piece
from fechner.observers.abilities import Ability
from fechner.observers.memory import limited_memory
from fechner.runs.log import in_words, logged
from fechner.runs.measuring import Outcome, measure
from fechner.runs.preparing import Setup

#: Tells processes apart, on any machine.
PROCESS = uuid.uuid4().hex

#: Executors of users may call from several threads of a process; what models print, and how many
#: threads they compute with, is a matter of the whole process.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Parcel:
    """Something pickled: in a file, or right here for those who see no common files."""

    sha256: str
    path: str = field(default="", compare=False)
    content: bytes = field(default=b"", compare=False, repr=False)

    def open(self) -> Any:
        """Return what is in it."""
        return pickle.loads(self.content or Path(self.path).read_bytes())


@dataclass(frozen=True)
class Task:
    """A piece to measure, with all that it takes.

    Parameters
    ----------
    observer
        A parcel with a `Setup`, and an observer or the name to make it from.
    experiment, answers
        Parcels: the experiment, and the answers to the tests that it comes after.
    fingerprint
        What the observer's answers depend on; None for bare Python objects.
    sender
        The process that sent it, which hears by itself what is logged in it.
    """

    name: str
    observer: Parcel
    fingerprint: str | None
    experiment: Parcel
    answers: tuple[Parcel | None, ...]
    asks: Ability
    piece: Piece
    batch_size: int
    device: str
    threads: int
    sender: str = PROCESS


@lru_cache(maxsize=1)
def _observer(parcel: Parcel) -> tuple[Setup, Any]:
    setup, given = parcel.open()
    return setup, setup.made(given)


@lru_cache(maxsize=4)
def _lifted(parcel: Parcel, asks: Ability) -> Any:
    setup, observer = _observer(parcel)
    return setup.lifted(observer, asks)


@lru_cache(maxsize=1)
def _experiment(parcel: Parcel) -> Any:
    return parcel.open()


@lru_cache(maxsize=2)
def _answers(parcel: Parcel) -> Any:
    return parcel.open()


def can_open(parcel: Parcel) -> str:
    """Return why an observer cannot be had in this process, empty if it can."""
    with _ONE_AT_A_TIME:
        try:
            _forget_others(parcel)
            _observer(parcel)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def work(task: Task) -> Outcome:
    """Measure a piece."""
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
                    found = _load(task)
                    printed.lines = 0  # what it says while it is loaded is nobody's business
                    answers = [None if each is None else _answers(each) for each in task.answers]
                    outcome = measure(
                        _experiment(task.experiment),
                        task.piece,
                        answers,
                        found,
                        name=task.name,
                        batch_size=task.batch_size,
                        device=task.device,
                    )
                except FechnerError as error:
                    outcome = Outcome("failed", message=str(error))
                lines = printed.lines
        finally:
            torch.set_num_threads(before)
    log = "" if task.sender == PROCESS else text.getvalue()
    return replace(outcome, log=log, printed=lines)


def _load(task: Task) -> Any:
    """Return the observer with the ability that is asked, as this process has it."""
    with in_words(task.name, "it could not be loaded by a worker"):
        _forget_others(task.observer)
        found = _lifted(task.observer, task.asks)
    if task.fingerprint is not None and found.fingerprint != task.fingerprint:
        raise ObserverError(
            f"{task.name} has changed since the run was started; run the same command again."
        )
    return found


_loaded: list[Parcel] = []


def _forget_others(parcel: Parcel) -> None:
    """Let go of the last observer before the next is loaded: two may not fit into memory."""
    if _loaded != [parcel]:
        _lifted.cache_clear()
        _observer.cache_clear()
        _loaded[:] = [parcel]

"""Sending an observer and its tests to workers, and pieces after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from typing import Any

from fechner.errors import RunFolderError
from fechner.observers.abilities import Ability
from fechner.runs.measuring import Answers, Outcome
from fechner.runs.plan import Job
from fechner.runs.preparing import Setup
from fechner.runs.worker import Parcel, Task, can_open, work
from fechner.runs.workers import Workers


@dataclass(frozen=True)
class Sent:
    """An observer and its tests, ready for workers.

    Parameters
    ----------
    name
        As results call it.
    fingerprints
        By the ability that is asked; None for bare Python objects.
    experiments
        By the names of tests.
    """

    name: str
    observer: Parcel
    fingerprints: Mapping[Ability, str | None]
    experiments: Mapping[str, Parcel]
    device: str
    threads: int


class Elsewhere:
    """Measures in other processes, as many pieces at a time as there are workers."""

    def __init__(self, workers: Workers, sent: Sent, on_images: Callable[[int], None]) -> None:
        self._workers = workers
        self._sent = sent
        self._on_images = on_images
        self._answers: dict[str, Parcel] = {}

    @property
    def free(self) -> bool:
        """Whether a worker is."""
        return self._workers.free

    @property
    def busy(self) -> bool:
        """Whether a worker is."""
        return self._workers.busy

    def begin(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Send a piece to a worker."""
        asks = job.experiment.asks
        for test, data in zip(job.test.after, answers, strict=True):
            if data is not None and test not in self._answers:
                self._answers[test] = self._workers.parcel(data)
        task = Task(
            self._sent.name,
            self._sent.observer,
            self._sent.fingerprints[asks],
            self._sent.experiments[job.test.id],
            tuple(self._answers.get(test) for test in job.test.after),
            asks,
            job.piece,
            batch_size,
            self._sent.device,
            self._sent.threads,
        )
        self._workers.begin(number, work, task)

    def finished(self) -> Iterable[tuple[int, Outcome]]:
        """Take what came of pieces."""
        for number, found in self._workers.finished():
            if isinstance(found, Exception):
                ended = "a worker ended while it measured it (killed, or out of memory)"
                what = ended if isinstance(found, BrokenExecutor) else f"a worker said {found!r}"
                yield number, Outcome("lost", message=what)
            else:
                self._on_images(found.images)
                yield number, found


def send(
    workers: Workers,
    setup: Setup,
    name: str,
    given: Any,
    lifted: Mapping[Ability, Any],
    plan: Iterable[Job],
    threads: int,
) -> Sent | str:
    """Make an observer and its tests ready for workers, or say why it is measured in this process.

    Parameters
    ----------
    given
        The observer, or the name to make it from.
    lifted
        The observer with every ability that is asked.
    """
    if any(getattr(each, "reads", "nothing") != "nothing" for each in lifted.values()):
        return "it answers in words"
    try:
        observer = workers.parcel((setup, given))
        experiments = {
            test: workers.parcel(experiment)
            for test, experiment in {job.test.id: job.experiment for job in plan}.items()
        }
    except RunFolderError:
        raise
    except Exception as error:
        return f"it cannot be sent to another ({_one_line(error)})"
    if not isinstance(given, str):
        # What was pickled can be read only where its classes are found.
        workers.begin(0, can_open, observer)
        ((_, why),) = workers.finished()
        if why:
            return f"another cannot load it ({why})"
    fingerprints = {asked: each.fingerprint for asked, each in lifted.items()}
    return Sent(name, observer, fingerprints, experiments, setup.device, threads)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]

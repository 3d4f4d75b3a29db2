"""Measuring pieces: a backend takes pieces and returns what came of each.

This module has the protocol, how observers are made in any process, and the backend that measures
in this one; ``workers.py`` has the one for other processes. What models print, log or warn goes to
the log of the run.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fechner.arrays import xr
from fechner.errors import (
    BudgetError,
    FechnerError,
    ObserverError,
    RunFolderError,
    UnansweredError,
)
from fechner.experiments import Experiment, Presenter, TrialLog
from fechner.observers import LIFTS, abilities, lift, resolve
from fechner.observers.abilities import Ability, AnswersStream
from fechner.observers.devices import is_out_of_memory
from fechner.runs.manifest import Manifest
from fechner.runs.plan import Job
from fechner.runs.store import as_file

#: Answers to the tests that one comes after, None where an observer cannot be asked.
Answers = tuple["xr.Dataset | None", ...]

LOG = "log.txt"


@dataclass(frozen=True)
class Outcome:
    """What came of a piece.

    Parameters
    ----------
    status
        ``too large``: that many pictures at a time do not fit into memory; ``lost``: the process
        that measured it ended.
    content
        The result file.
    images
        Pictures or questions that were counted.
    message
        What went wrong.
    log, printed
        What was logged in another process, and how many lines its observer printed.
    """

    status: Literal["done", "failed", "too large", "lost"]
    content: bytes = b""
    images: int = 0
    seconds: float = 0.0
    message: str = ""
    log: str = ""
    printed: int = 0


@dataclass(frozen=True)
class Setup:
    """How observers are made and read out in a run, here and in other processes."""

    device: str
    suite: str
    published: bool
    readouts: tuple[str, ...]
    layers: tuple[str, ...] | None
    trust_remote_code: bool
    threads: int = 1

    @classmethod
    def of(cls, manifest: Manifest, trust_remote_code: bool) -> Setup:
        """Return what a manifest says."""
        return cls(
            manifest.device,
            manifest.suite,
            manifest.mode == "published",
            tuple(manifest.readouts),
            None if manifest.layers is None else tuple(manifest.layers),
            trust_remote_code,
            manifest.threads,
        )

    def make(self, given: Any) -> Any:
        """Return the observer that a name stands for, or the observer itself."""
        if not isinstance(given, str):
            return given
        with in_words(given, "it could not be made"):
            return resolve(
                given,
                device=self.device,
                suite=self.suite,
                published=self.published,
                trust_remote_code=self.trust_remote_code,
            )

    def lift(self, observer: Any, asked: Ability) -> Any:
        """Return the observer with an ability that is asked."""
        return lift(observer, asked, self.readouts, self.layers)

    def lift_all(
        self, observer: Any, wanted: Iterable[Ability]
    ) -> tuple[dict[Ability, Any], list[Ability]]:
        """Return the observer with every ability that is asked, and the abilities it cannot have.

        An observer that can be asked nothing at all is an error.
        """
        found: dict[Ability, Any] = {}
        cannot: dict[Ability, ObserverError] = {}
        with in_words(observer.name, "it could not be looked into"):
            for asked in wanted:
                can = any(LIFTS[has][asked].make is not None for has in abilities(observer))
                try:
                    found[asked] = self.lift(observer, asked)
                except ObserverError as error:
                    if can:
                        raise
                    cannot[asked] = error
        if not found:
            raise next(iter(cannot.values()))
        return found, list(cannot)


class Backend(Protocol):
    """Measures the pieces of one observer; ``slots`` is how many may be under way."""

    slots: int

    def submit(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Take a piece, with a number that its outcome comes back with."""

    def outcomes(self) -> Iterable[tuple[int, Outcome]]:
        """Wait for outcomes, and return them with their numbers."""

    def close(self) -> None:
        """Give up what is under way, and clean up."""


@dataclass
class Measurement:
    """A piece under way: the presenter to measure with, and how to put the outcome.

    Parameters
    ----------
    observer, name
        With the ability that is asked; and as results call it.
    on_images
        Called with the number of pictures, or of questions about them, after every batch.
    log
        Where answers in words go.
    """

    experiment: Experiment
    observer: Any
    name: str
    batch_size: int
    device: str
    on_images: Callable[[int], None] = lambda images: None
    log: TrialLog | None = None

    def __post_init__(self) -> None:
        self._shown = 0
        self._started = time.perf_counter()
        self.presenter = Presenter(
            self.observer,
            batch_size=self.batch_size,
            device=self.device,
            on_images=self._count,
            log=self.log,
            test=self.experiment.id,
        )

    def _count(self, images: int) -> None:
        self._shown += images
        self.on_images(images)

    def done(self, data: xr.Dataset) -> Outcome:
        """Return the outcome with its result file."""
        seconds = time.perf_counter() - self._started
        return Outcome("done", as_file(data), self._shown, seconds)

    def failed(self, error: BaseException) -> Outcome:
        """Return what went wrong, or raise what concerns the whole run."""
        if isinstance(error, BudgetError | RunFolderError):
            raise error
        if is_out_of_memory(error) and self.batch_size > 1:
            return Outcome("too large", images=self._shown)
        logging.getLogger("fechner").error("%s %s", self.name, self.experiment.id, exc_info=error)
        message = str(error)
        if not isinstance(error, FechnerError):
            message = f"observer '{self.name}' raised {type(error).__name__}: {error} (see {LOG})"
        if isinstance(error, UnansweredError):
            message = (
                f"{message.rstrip('.')}; answers are kept, and the same command asks the rest."
            )
        return Outcome("failed", images=self._shown, message=message)


@dataclass
class LocalBackend:
    """Measures in this process: one piece after the other, or questions of many pieces at once.

    Observers that take many questions at a time (`AnswersStream`) have as many pieces under way;
    all others have one.
    """

    lifted: dict[Ability, Any]
    device: str
    on_images: Callable[[int], None]
    log: TrialLog | None
    slots: int = 1

    def __post_init__(self) -> None:
        self._waiting: list[tuple[int, Job, Answers, Measurement]] = []
        self._asked: dict[int, Measurement] = {}
        self._failed: list[tuple[int, Outcome]] = []
        self._conversation: Any = None
        for stream in self.lifted.values():
            if isinstance(stream, AnswersStream):
                from fechner.experiments.interview import Conversation

                self._conversation = self._conversation or Conversation(stream)
                self.slots = stream.most_under_way
                if hasattr(stream, "batch_log"):
                    stream.batch_log = self.log

    def submit(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Take a piece; questions about it are asked together with those about others."""
        measurement = Measurement(
            job.experiment,
            self.lifted[job.experiment.asks],
            job.observer,
            batch_size,
            self.device,
            self.on_images,
            self.log,
        )
        interview = getattr(job.experiment, "interview", None)
        if interview is None or self._conversation is None:
            self._waiting.append((number, job, answers, measurement))
            return
        try:
            asked = interview(job.piece, measurement.presenter)
        except Exception as error:
            self._failed.append((number, measurement.failed(error)))
            return
        self._asked[number] = measurement
        self._conversation.begin(number, measurement.presenter, asked)

    def outcomes(self) -> Iterable[tuple[int, Outcome]]:
        """Measure one piece, or ask until an interview is over."""
        if self._failed:
            return [self._failed.pop()]
        if self._waiting:
            number, job, answers, measurement = self._waiting.pop(0)
            try:
                data = job.experiment.measure(job.piece, measurement.presenter, *answers)
                return [(number, measurement.done(data))]
            except (Exception, SystemExit) as error:
                return [(number, measurement.failed(error))]
        found = []
        for number, answer in self._conversation.finished():
            measurement = self._asked.pop(number)
            is_error = isinstance(answer, BaseException)
            outcome = measurement.failed(answer) if is_error else measurement.done(answer)
            found.append((number, outcome))
        return found

    def close(self) -> None:
        """Nothing is left behind."""


class Lines:
    """A stream that logs complete lines, and counts them."""

    def __init__(self) -> None:
        self._begun = ""
        self.lines = 0

    def write(self, text: str) -> int:
        """Log the lines that are complete."""
        *lines, self._begun = (self._begun + text).split("\n")
        self.lines += len(lines)
        for line in lines:
            logging.getLogger("stdout").warning("%s", line)
        return len(text)

    def flush(self) -> None:
        """Wait for the end of the line."""


@contextmanager
def logged(handler: logging.Handler, observer: str) -> Iterator[Lines]:
    """Send whatever an observer prints, logs or warns to a handler, which is closed after."""
    handler.setFormatter(logging.Formatter(f"{observer.replace('%', '%%')}: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    printed = Lines()
    try:
        with redirect_stdout(printed), warnings.catch_warnings():
            logging.captureWarnings(True)
            yield printed
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        handler.close()


@contextmanager
def in_words(name: str, what: str) -> Iterator[None]:
    """Turn whatever an observer's own code raises into one sentence, so that the others go on."""
    try:
        yield
    except FechnerError:
        raise
    except (Exception, SystemExit) as error:
        logging.getLogger("fechner").error("%s", name, exc_info=error)
        why = f"{type(error).__name__}: {error}"
        raise ObserverError(f"{what}: {why} (see {LOG}).") from error

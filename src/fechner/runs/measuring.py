"""Measuring one piece, in this process or in another."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from fechner.errors import BudgetError, FechnerError, RunFolderError, UnansweredError
from fechner.experiments import Experiment, Piece, Presenter, TrialLog
from fechner.observers.abilities import Ability, AnswersStream
from fechner.observers.memory import is_out_of_memory
from fechner.runs.plan import Job
from fechner.runs.store import as_file

if TYPE_CHECKING:
    import xarray as xr

    from fechner.experiments.conversation import Conversation

#: Answers to the tests that one comes after, None where an observer cannot be asked.
Answers = tuple["xr.Dataset | None", ...]


@dataclass(frozen=True)
class Outcome:
    """What came of a piece.

    Parameters
    ----------
    status
        ``too large``: so many pictures at a time do not fit into memory; ``lost``: the process that
        measured it ended.
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


class Measures(Protocol):
    """Whoever measures the pieces of one observer."""

    @property
    def free(self) -> bool:
        """Whether another piece can be begun."""
        ...

    @property
    def busy(self) -> bool:
        """Whether there are pieces under way."""
        ...

    def begin(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Begin with a piece, of a number that it comes back with."""
        ...

    def finished(self) -> Iterable[tuple[int, Outcome]]:
        """Wait for pieces, and return what came of them."""
        ...


class Here:
    """Measures in this process: one piece after the other, or questions of many pieces at once.

    Observers that take many questions at a time (`AnswersStream`) have as many pieces under way;
    all others have one.
    """

    def __init__(
        self,
        lifted: dict[Ability, Any],
        device: str,
        on_images: Callable[[int], None],
        log: TrialLog,
    ) -> None:
        self._lifted = lifted
        self._device = device
        self._on_images = on_images
        self._log = log
        self._finished: list[tuple[int, Outcome]] = []
        self._asked: dict[int, _Measurement] = {}
        streams = [each for each in lifted.values() if isinstance(each, AnswersStream)]
        self._conversation: Conversation | None = None
        if streams:
            from fechner.experiments import conversation

            self._conversation = conversation.Conversation(streams[0])
        self._most = streams[0].most_under_way if streams else 1
        for each in streams:
            if hasattr(each, "batch_log"):
                each.batch_log = log

    @property
    def free(self) -> bool:
        """Whether the last piece was handed over, and there is room for another."""
        return not self._finished and len(self._asked) < self._most

    @property
    def busy(self) -> bool:
        """Whether there is a piece under way, or one to hand over."""
        return bool(self._finished or self._asked)

    def begin(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Begin to ask about a piece, or measure it."""
        observer = self._lifted[job.experiment.asks]
        measurement = _Measurement(
            job.experiment,
            observer,
            job.observer,
            batch_size,
            self._device,
            self._on_images,
            self._log,
        )
        interview = getattr(job.experiment, "interview", None)
        if interview is None or self._conversation is None:
            self._finished.append((number, measurement.whole(job.piece, answers)))
            return
        try:
            asked = interview(job.piece, measurement.presenter)
        except Exception as error:
            self._finished.append((number, measurement.failed(error)))
            return
        self._asked[number] = measurement
        self._conversation.begin(number, measurement.presenter, asked)

    def finished(self) -> Iterable[tuple[int, Outcome]]:
        """Wait for pieces, and hand them over."""
        if not self._finished and self._conversation is not None:
            for number, found in self._conversation.finished():
                measurement = self._asked.pop(number)
                outcome = (
                    measurement.failed(found)
                    if isinstance(found, BaseException)
                    else measurement.done(found)
                )
                self._finished.append((number, outcome))
        found, self._finished = self._finished, []
        return found


def measure(
    experiment: Experiment,
    piece: Piece,
    answers: Sequence[xr.Dataset | None],
    observer: Any,
    *,
    name: str,
    batch_size: int,
    device: str,
    on_images: Callable[[int], None] = lambda images: None,
    log: TrialLog | None = None,
) -> Outcome:
    """Show an observer the stimuli of a piece.

    Parameters
    ----------
    answers
        Those to the tests that this one comes after.
    observer, name
        With the ability that is asked; and as results call it.
    on_images
        Called with the number of pictures, or of questions about them, after every batch.
    log
        Where answers in words go.
    """
    measurement = _Measurement(experiment, observer, name, batch_size, device, on_images, log)
    return measurement.whole(piece, answers)


class _Measurement:
    """A piece under way."""

    def __init__(
        self,
        experiment: Experiment,
        observer: Any,
        name: str,
        batch_size: int,
        device: str,
        on_images: Callable[[int], None],
        log: TrialLog | None,
    ) -> None:
        self._experiment = experiment
        self._name = name
        self._batch_size = batch_size
        self._on_images = on_images
        self._shown = 0
        self._started = time.perf_counter()
        self.presenter = Presenter(
            observer,
            batch_size=batch_size,
            device=device,
            on_images=self._count,
            log=log,
            test=experiment.id,
        )

    def _count(self, images: int) -> None:
        self._shown += images
        self._on_images(images)

    def whole(self, piece: Piece, answers: Sequence[xr.Dataset | None]) -> Outcome:
        """Measure it to the end."""
        try:
            return self.done(self._experiment.measure(piece, self.presenter, *answers))
        except (Exception, SystemExit) as error:
            return self.failed(error)

    def done(self, data: xr.Dataset) -> Outcome:
        """Return what came of it."""
        seconds = time.perf_counter() - self._started
        return Outcome("done", as_file(data), self._shown, seconds)

    def failed(self, error: BaseException) -> Outcome:
        """Return what went wrong, or raise what concerns the whole run."""
        if isinstance(error, BudgetError | RunFolderError):
            raise error
        if is_out_of_memory(error) and self._batch_size > 1:
            return Outcome("too large", images=self._shown)
        logging.getLogger("fechner").error("%s %s", self._name, self._experiment.id, exc_info=error)
        return Outcome("failed", images=self._shown, message=_what_went_wrong(self._name, error))


def _what_went_wrong(name: str, error: BaseException) -> str:
    message = (
        str(error)
        if isinstance(error, FechnerError)
        else f"observer '{name}' raised {type(error).__name__}: {error} (see log.txt)"
    )
    if isinstance(error, UnansweredError):
        return f"{message.rstrip('.')}; answers are kept, and the same command asks the rest."
    return message

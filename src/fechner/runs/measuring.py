"""Measuring one piece, in this process or in another."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from fechner.errors import BudgetError, FechnerError, RunFolderError, UnansweredError
from fechner.experiments import SHOWN_BY, Experiment, Piece, TrialLog
from fechner.observers.abilities import Ability
from fechner.observers.memory import is_out_of_memory
from fechner.runs.plan import Job
from fechner.runs.store import as_file

if TYPE_CHECKING:
    import xarray as xr

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
    """Measures in this process, one piece after the other."""

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

    @property
    def free(self) -> bool:
        """Whether the last piece was handed over."""
        return not self._finished

    @property
    def busy(self) -> bool:
        """Whether there is one to hand over."""
        return bool(self._finished)

    def begin(self, number: int, job: Job, answers: Answers, batch_size: int) -> None:
        """Measure a piece."""
        outcome = measure(
            job.experiment,
            job.piece,
            answers,
            self._lifted[job.experiment.asks],
            name=job.observer,
            batch_size=batch_size,
            device=self._device,
            on_images=self._on_images,
            log=self._log,
        )
        self._finished.append((number, outcome))

    def finished(self) -> Iterable[tuple[int, Outcome]]:
        """Hand it over."""
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
    shown = 0

    def count(images: int) -> None:
        nonlocal shown
        shown += images
        on_images(images)

    started = time.perf_counter()
    presenter = SHOWN_BY[experiment.asks](
        observer, batch_size=batch_size, device=device, on_images=count, log=log
    )
    try:
        data = experiment.measure(piece, presenter, *answers)
    except (BudgetError, RunFolderError):
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error) and batch_size > 1:
            return Outcome("too large", images=shown)
        logging.getLogger("fechner").error("%s %s", name, experiment.id, exc_info=error)
        return Outcome("failed", images=shown, message=_what_went_wrong(name, error))
    content = as_file(data)
    return Outcome("done", content, shown, time.perf_counter() - started)


def _what_went_wrong(name: str, error: BaseException) -> str:
    message = (
        str(error)
        if isinstance(error, FechnerError)
        else f"observer '{name}' raised {type(error).__name__}: {error} (see log.txt)"
    )
    if isinstance(error, UnansweredError):
        return f"{message.rstrip('.')}; answers are kept, and the same command asks the rest."
    return message

"""Asking an observer that answers questions about pictures, batch by batch, and never twice.

Questions come in chains, each of which follows from answers to those before. Every answer goes to
a log the moment it arrives, under a key of everything it depends on; what the log knows already is
not asked again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.errors import ObserverError
from fechner.experiments.base import Scene
from fechner.experiments.presenter import NoLog, Presenter, Trace, TrialLog
from fechner.observers.abilities import AnswersStream
from fechner.observers.questions import Answer, Prompt, Question
from fechner.stimuli import Frames, Picture, Stimulus

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

#: The read-out that holds how probable a choice was, not the choice.
GRADED = "probability"

#: Tells questions apart whose answers are not kept.
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Request:
    """A question about stimuli that are painted when their turn comes.

    Parameters
    ----------
    stimuli
        In the order in which they are shown.
    target
        Which of them is looked at, to find what was really shown.
    trace
        What it is about; test and contrast are filled in when it is asked.
    """

    stimuli: tuple[Stimulus | Picture, ...]
    prompt: Prompt
    repeat: int = 0
    target: int = 0
    trace: Trace = field(default_factory=Trace)


class Heard(NamedTuple):
    """What came of trials.

    Parameters
    ----------
    yes
        How far each answer is the first option: 1, 0, NaN for replies that were none of them; the
        read-out `GRADED` has the probability of the first option. [trials, layers, read-outs]
    contrast
        What was really shown, [trials].
    answers
        Whole answers, those of each trial.
    """

    yes: NDArray[np.float64]
    contrast: NDArray[np.float64]
    answers: list[list[Answer]]

    @classmethod
    def nothing(cls, presenter: Presenter, n: int) -> Heard:
        """Return room for what comes of n trials."""
        shape = (n, len(presenter.layers), len(presenter.readouts))
        return cls(np.full(shape, np.nan), np.full(n, np.nan), [[] for _ in range(n)])

    def enter(self, presenter: Presenter, trial: int, answer: Answer) -> None:
        """Put an answer in its place."""
        layer, readout = answer.place
        if answer.choice is not None:
            self.yes[trial, layer, readout] = float(answer.choice == 0)
        if GRADED in presenter.readouts and answer.probabilities is not None:
            self.yes[trial, layer, presenter.readouts.index(GRADED)] = answer.probabilities[0]
        self.answers[trial].append(answer)


#: Questions that follow from each other: yields some, is sent what came of all of these.
Chain = Generator[Sequence[Request], Heard, None]

#: Measures what a picture shows of a stimulus, from its luminance [h, w].
Look = Callable[["Stimulus | Picture", "Tensor"], float]


def no_look(stimulus: Stimulus | Picture, luminance: Tensor) -> float:
    """Measure nothing."""
    return math.nan


@dataclass(frozen=True)
class Interview:
    """All questions of a piece.

    Parameters
    ----------
    chains
        Made when they are begun. None of them depends on answers to another.
    finish
        Returns the result, when all chains are at their ends.
    """

    scene: Scene
    chains: Iterable[Chain]
    finish: Callable[[], Any]
    look: Look = no_look


def prompts_for(
    presenter: Presenter, questions: Sequence[Prompt], labels: Sequence[Prompt]
) -> list[Prompt]:
    """Return what an observer is asked: of what it reads, or one for those that read nothing.

    Observers that were lifted are asked one question, whatever its words.
    """
    reads = presenter.reads
    found = list(labels if reads == "labels" else questions)
    if reads == "nothing":
        return [*questions, *labels][:1]
    if not found:
        wanted = "pairs of labels, as 'a pattern | nothing'" if reads == "labels" else "questions"
        raise ObserverError(
            f"observer '{presenter.observer.name}' reads {reads}, and there are none among the "
            f"prompts: write {wanted}."
        )
    return found


def calibrate(
    presenter: Presenter, nothing: Stimulus, anchor: Sequence[Stimulus], scene: Scene
) -> None:
    """Show an observer that judges by a criterion what just counts as something."""
    calibrate = getattr(presenter.observer, "calibrate", None)
    if calibrate is not None:
        import torch

        with torch.no_grad():
            calibrate(presenter.frames([nothing], scene), presenter.frames(anchor, scene))


def ask(
    presenter: Presenter, requests: Sequence[Request], scene: Scene, look: Look = no_look
) -> Heard:
    """Ask questions that do not depend on each other."""
    found: list[Heard] = []

    def chain() -> Chain:
        found.append((yield requests))

    hold(presenter, Interview(scene, [chain()], lambda: None, look))
    return found[0]


def hold(presenter: Presenter, interview: Interview) -> Any:
    """Ask all questions of an interview, and return its result."""
    from fechner.experiments.conversation import Conversation

    if isinstance(presenter.observer, AnswersStream):
        conversation = Conversation(presenter.observer)
        conversation.begin(0, presenter, interview)
        ((_, found),) = conversation.finished()
        if isinstance(found, BaseException):
            raise found
        return found
    # Round by round, in large batches: one question of every chain, or all of one.
    going = [(chain, next(chain)) for chain in interview.chains]
    while going:
        requests = [request for _, some in going for request in some]
        heard = _ask_round(presenter, requests, interview)
        start, left = 0, []
        for chain, some in going:
            part = slice(start, start := start + len(some))
            own = Heard(heard.yes[part], heard.contrast[part], heard.answers[part])
            with suppress(StopIteration):
                left.append((chain, chain.send(own)))
        going = left
    return interview.finish()


def _ask_round(presenter: Presenter, requests: Sequence[Request], interview: Interview) -> Heard:
    """Ask questions batch by batch; questions about the same stimuli share a batch."""
    import torch

    look, scene = interview.look, interview.scene
    found = Heard.nothing(presenter, len(requests))
    batches = presenter.batches(
        in_order(requests), scene, stimuli=lambda row: requests[row].stimuli
    )
    with torch.no_grad():
        for batch in batches:
            rows = list(dict.fromkeys(s for i in batch for s in requests[i].stimuli))
            frames = presenter.frames(rows, scene)
            here = {stimulus: place for place, stimulus in enumerate(rows)}
            if look is not no_look:
                luminance = frames.luminance().double()
                targets = [requests[i].stimuli[requests[i].target] for i in batch]
                shown = {each: look(each, luminance[here[each]]) for each in set(targets)}
                found.contrast[batch] = [shown[target] for target in targets]
            _ask_batch(presenter, frames, here, requests, batch, found)
    return found


def _ask_batch(
    presenter: Presenter,
    frames: Frames,
    here: Mapping[Stimulus | Picture, int],
    requests: Sequence[Request],
    batch: Sequence[int],
    found: Heard,
) -> None:
    """Ask what is not known, and put every answer in its place."""
    log = presenter.trial_log
    questions = [
        Question(tuple(here[s] for s in each.stimuli), each.prompt, each.repeat)
        for each in (requests[i] for i in batch)
    ]
    same: dict[str, list[int]] = {}
    for index, key in enumerate(trial_keys(presenter, frames, questions, log)):
        same.setdefault(key, []).append(index)

    def enter(key: str, answer: Answer) -> None:
        for index in same[key]:
            found.enter(presenter, batch[index], answer)

    known = log.known(list(same))
    for key, answer in known.items():
        enter(key, answer)
        presenter.on_images(len(same[key]))
    missing = [key for key in same if key not in known]
    while missing:
        now = missing[: log.allow(len(missing))]
        missing = missing[len(now) :]
        asked = [questions[same[key][0]] for key in now]
        unanswered = set(now)
        for answer in presenter.observer.choose(frames, asked):
            key = now[answer.question]
            place = batch[same[key][0]]
            trace = trace_of(presenter, requests[place], float(found.contrast[place]))
            log.record(key, asked[answer.question], answer, trace)
            enter(key, answer)
            if key in unanswered:
                unanswered.remove(key)
                presenter.on_images(len(same[key]))
        if unanswered:
            raise ObserverError(
                f"observer '{presenter.observer.name}' left {len(unanswered)} of {len(now)} "
                "questions unanswered."
            )


def trace_of(presenter: Presenter, request: Request, contrast: float) -> Trace:
    """Return what a trial was about."""
    return request.trace._replace(test=presenter.test, contrast=contrast)


def trial_keys(
    presenter: Presenter, frames: Frames, questions: Sequence[Question], log: TrialLog
) -> list[str]:
    """Return the hash of all that an answer depends on, for each question."""
    if isinstance(log, NoLog):
        return [f"not kept {next(_NUMBERS)}" for _ in questions]
    pictures = [_digest(row) for row in _rows(frames)]
    return [
        hashlib.sha256(
            json.dumps(
                [
                    presenter.observer.fingerprint,
                    question.prompt.text,
                    question.prompt.options,
                    [pictures[row] for row in question.pictures],
                    question.repeat,
                ]
            ).encode()
        ).hexdigest()
        for question in questions
    ]


def in_order(requests: Sequence[Request]) -> list[int]:
    """Return places of requests so that those about the same stimuli are next to each other."""
    first: dict[Stimulus | Picture, int] = {}
    for request in requests:
        for stimulus in request.stimuli:
            first.setdefault(stimulus, len(first))
    return sorted(range(len(requests)), key=lambda i: [first[s] for s in requests[i].stimuli])


def _rows(frames: Frames) -> Any:
    bits = frames.display.bits
    pixels = frames.pixels
    if bits is not None and frames.light == "display":
        import torch

        # Whole numbers do not depend on how floating point was rounded.
        pixels = (pixels * (2**bits - 1)).round().to(torch.int32)
    return pixels.cpu().contiguous().numpy()


def _digest(row: Any) -> str:
    return hashlib.sha256(str(row.shape).encode() + row.tobytes()).hexdigest()

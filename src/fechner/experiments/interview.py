"""Asking an observer questions about pictures, batch by batch, and never twice.

Every answer goes to a log the moment it arrives, under a key of everything it depends on; what the
log knows already is not asked again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import ObserverError
from fechner.experiments.base import Scene
from fechner.experiments.showing import Showing
from fechner.experiments.trials import (
    Chain,
    Heard,
    Interview,
    Look,
    NoLog,
    Request,
    Trace,
    TrialLog,
    no_look,
)
from fechner.observers.abilities import Answers, AnswersStream
from fechner.observers.questions import Answer, Prompt, Question
from fechner.stimuli import Frames, Picture, Stimulus

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The read-out that holds how probable a choice was, not the choice.
GRADED = "probability"

#: Tells questions apart whose answers are not kept.
_NUMBERS = itertools.count()


class Interviewer(Showing[Answers]):
    """Asks an observer that answers; questions are what it counts.

    Answers of observers that were lifted are not worth a log, and those of bare Python objects hold
    for one process only.
    """

    @property
    def samples(self) -> bool:
        """Whether the observer may answer the same question in another way when asked again."""
        return bool(getattr(self.observer, "samples", False))

    @property
    def trial_log(self) -> TrialLog:
        """Where answers go, if they are worth keeping."""
        worth_keeping = self.observer.reads != "nothing" and self.observer.fingerprint is not None
        return self.log if worth_keeping else NoLog()

    def prompts(self, questions: Sequence[Prompt], labels: Sequence[Prompt]) -> list[Prompt]:
        """Return what the observer is asked: of what it reads, or one for those that read nothing.

        Observers that were lifted are asked one question, whatever its words.
        """
        reads = self.observer.reads
        found = list(labels if reads == "labels" else questions)
        if reads == "nothing":
            return [*questions, *labels][:1]
        if not found:
            wanted = (
                "pairs of labels, as 'a pattern | nothing'" if reads == "labels" else "questions"
            )
            raise ObserverError(
                f"observer '{self.observer.name}' reads {reads}, and there are none among the "
                f"prompts: write {wanted}."
            )
        return found

    def calibrate(self, nothing: Stimulus, anchor: Sequence[Stimulus], scene: Scene) -> None:
        """Show observers that judge by a criterion what just counts as something."""
        calibrate = getattr(self.observer, "calibrate", None)
        if calibrate is not None:
            import torch

            with torch.no_grad():
                calibrate(self.frames([nothing], scene), self.frames(anchor, scene))

    def hold(self, interview: Interview) -> Any:
        """Ask all questions of an interview, and return its result."""
        from fechner.experiments.conversation import Conversation

        if isinstance(self.observer, AnswersStream):
            conversation = Conversation(self.observer)
            conversation.begin(0, self, interview)
            ((_, found),) = conversation.finished()
            if isinstance(found, BaseException):
                raise found
            return found
        # Round by round, in large batches: one question of every chain, or all of one.
        going = [(chain, next(chain)) for chain in interview.chains]
        while going:
            requests = [request for _, some in going for request in some]
            heard = self.ask(requests, interview.scene, interview.look)
            start, left = 0, []
            for chain, some in going:
                part = slice(start, start := start + len(some))
                with suppress(StopIteration):
                    left.append((chain, chain.send(Heard(heard.yes[part], heard.contrast[part]))))
            going = left
        return interview.finish()

    def ask(self, requests: Sequence[Request], scene: Scene, look: Look = no_look) -> Heard:
        """Return how far each answer is the first option, and what was really shown.

        1 is the first option and 0 another; NaN is a reply that was none of them. The read-out
        `GRADED` has the probability of the first option, where it is known.
        """
        import torch

        found = self.nothing_heard(len(requests))
        if isinstance(self.observer, AnswersStream):

            def chain() -> Chain:
                heard = yield requests
                found.yes[:], found.contrast[:] = heard

            self.hold(Interview(scene, [chain()], lambda: None, look))
            return found
        size = self.at_a_time(scene)
        with torch.no_grad():
            for batch in _batches(in_order(requests), requests, size):
                rows = list(dict.fromkeys(s for i in batch for s in requests[i].stimuli))
                frames = self.frames(rows, scene)
                luminance = frames.luminance().double() if look is not no_look else None
                here = {stimulus: place for place, stimulus in enumerate(rows)}
                if luminance is not None:
                    targets = [requests[i].stimuli[requests[i].target] for i in batch]
                    shown = {each: look(each, luminance[here[each]]) for each in set(targets)}
                    found.contrast[batch] = [shown[target] for target in targets]
                self._ask(frames, here, requests, batch, found)
        return found

    def nothing_heard(self, n: int) -> Heard:
        """Return room for what comes of n trials."""
        shape = (n, len(self.layers), len(self.readouts))
        return Heard(np.full(shape, np.nan), np.full(n, np.nan))

    def _ask(
        self,
        frames: Frames,
        here: Mapping[Stimulus | Picture, int],
        requests: Sequence[Request],
        batch: Sequence[int],
        found: Heard,
    ) -> None:
        """Ask what is not known, and put every answer in its place."""
        log = self.trial_log
        questions = [
            Question(tuple(here[s] for s in each.stimuli), each.prompt, each.repeat)
            for each in (requests[i] for i in batch)
        ]
        same: dict[str, list[int]] = {}
        for index, key in enumerate(self.keys(frames, questions, log)):
            same.setdefault(key, []).append(index)

        def enter(key: str, answer: Answer) -> None:
            for index in same[key]:
                self.enter(found.yes, batch[index], answer)

        known = log.known(list(same))
        for key, answer in known.items():
            enter(key, answer)
            self.on_images(len(same[key]))
        missing = [key for key in same if key not in known]
        while missing:
            now = missing[: log.allow(len(missing))]
            missing = missing[len(now) :]
            asked = [questions[same[key][0]] for key in now]
            unanswered = set(now)
            for answer in self.observer.choose(frames, asked):
                key = now[answer.question]
                place = batch[same[key][0]]
                trace = self.trace(requests[place], float(found.contrast[place]))
                log.record(key, asked[answer.question], answer, trace)
                enter(key, answer)
                if key in unanswered:
                    unanswered.remove(key)
                    self.on_images(len(same[key]))
            if unanswered:
                raise ObserverError(
                    f"observer '{self.observer.name}' left {len(unanswered)} of {len(now)} "
                    "questions unanswered."
                )

    def trace(self, request: Request, contrast: float) -> Trace:
        """Return what a trial was about."""
        return request.trace._replace(test=self.test, contrast=contrast)

    def enter(self, yes: NDArray[np.float64], place: int, answer: Answer) -> None:
        """Put an answer in its place."""
        layer, readout = answer.place
        if answer.choice is not None:
            yes[place, layer, readout] = float(answer.choice == 0)
        if GRADED in self.readouts and answer.probabilities is not None:
            yes[place, layer, self.readouts.index(GRADED)] = answer.probabilities[0]

    def frames(self, stimuli: Sequence[Stimulus | Picture], scene: Scene) -> Frames:
        """Paint stimuli for the observer."""
        frames = self.shown(stimuli, scene)
        assert isinstance(frames, Frames)  # nobody is asked about videos
        return frames

    def keys(self, frames: Frames, questions: Sequence[Question], log: TrialLog) -> list[str]:
        """Return the hash of all that an answer depends on."""
        if isinstance(log, NoLog):
            return [f"not kept {next(_NUMBERS)}" for _ in questions]
        pictures = [_digest(row) for row in _rows(frames)]
        return [
            hashlib.sha256(
                json.dumps(
                    [
                        self.observer.fingerprint,
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


def _batches(order: Sequence[int], requests: Sequence[Request], size: int) -> list[list[int]]:
    """Put requests together that are about at most ``size`` stimuli."""
    batches: list[list[int]] = []
    rows: set[Stimulus | Picture] = set()
    for i in order:
        together = rows | set(requests[i].stimuli)
        if not batches or len(together) > max(size, len(requests[i].stimuli)):
            batches.append([])
            together = set(requests[i].stimuli)
        batches[-1].append(i)
        rows = together
    return batches


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

"""Asking an observer questions about pictures, batch by batch, and never twice.

Every answer goes to a log the moment it arrives, under a key of everything it depends on; what the
log knows already is not asked again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import ObserverError
from fechner.experiments.base import Scene
from fechner.experiments.showing import Showing
from fechner.experiments.trials import NoLog, TrialLog
from fechner.observers.abilities import Answers
from fechner.observers.questions import Answer, Prompt, Question
from fechner.stimuli import Frames, Stimulus

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The read-out that holds how probable a choice was, not the choice.
GRADED = "probability"


class Interviewer(Showing[Answers]):
    """Asks an observer that answers; questions are what it counts.

    Answers of observers that were lifted are not worth a log, and those of bare Python objects hold
    for one process only.
    """

    @property
    def _log(self) -> TrialLog:
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
                calibrate(self._frames([nothing], scene), self._frames(anchor, scene))

    def ask(
        self,
        stimuli: Sequence[Stimulus],
        questions: Sequence[Question],
        scene: Scene,
        *,
        look: Callable[[Sequence[int], Frames], None] = lambda rows, frames: None,
    ) -> NDArray[np.float64]:
        """Return how far each answer is the first option, [questions, layers, read-outs].

        1 is the first option and 0 another; NaN is a reply that was none of them. The read-out
        `GRADED` has the probability of the first option, where it is known.

        Parameters
        ----------
        questions
            Their pictures are places in ``stimuli``.
        look
            Called with the places of stimuli and their frames as they were shown.
        """
        import torch

        found = np.full((len(questions), len(self.layers), len(self.readouts)), np.nan)
        size = self.at_a_time(scene)
        order = sorted(range(len(questions)), key=lambda i: questions[i].pictures)
        with torch.no_grad():
            for batch in _batches(order, questions, size):
                rows = sorted({row for i in batch for row in questions[i].pictures})
                frames = self._frames([stimuli[row] for row in rows], scene)
                look(rows, frames)
                here = {row: place for place, row in enumerate(rows)}
                asked = [
                    replace(questions[i], pictures=tuple(here[r] for r in questions[i].pictures))
                    for i in batch
                ]
                self._ask(frames, asked, batch, found)
        return found

    def _ask(
        self,
        frames: Frames,
        questions: Sequence[Question],
        places: Sequence[int],
        found: NDArray[np.float64],
    ) -> None:
        """Ask what is not known, and put every answer in its place."""
        log = self._log
        keys = self._keys(frames, questions, log)
        same: dict[str, list[int]] = {}
        for index, key in enumerate(keys):
            same.setdefault(key, []).append(index)

        def enter(key: str, answer: Answer) -> None:
            for index in same[key]:
                self._enter(found, places[index], answer)

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
                log.record(key, asked[answer.question], answer)
                enter(key, answer)
                if key in unanswered:
                    unanswered.remove(key)
                    self.on_images(len(same[key]))
            if unanswered:
                raise ObserverError(
                    f"observer '{self.observer.name}' left {len(unanswered)} of {len(now)} "
                    "questions unanswered."
                )

    def _enter(self, found: NDArray[np.float64], place: int, answer: Answer) -> None:
        layer, readout = answer.place
        if answer.choice is not None:
            found[place, layer, readout] = float(answer.choice == 0)
        if GRADED in self.readouts and answer.probabilities is not None:
            found[place, layer, self.readouts.index(GRADED)] = answer.probabilities[0]

    def _frames(self, stimuli: Sequence[Stimulus], scene: Scene) -> Frames:
        frames = self.shown(stimuli, scene)
        assert isinstance(frames, Frames)  # nobody is asked about videos
        return frames

    def _keys(self, frames: Frames, questions: Sequence[Question], log: TrialLog) -> list[str]:
        """Return the hash of all that an answer depends on."""
        if isinstance(log, NoLog):
            return [str(i) for i in range(len(questions))]
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


def _batches(order: Sequence[int], questions: Sequence[Question], size: int) -> list[list[int]]:
    """Put questions together that are about no more than so many pictures."""
    batches: list[list[int]] = []
    rows: set[int] = set()
    for i in order:
        together = rows | set(questions[i].pictures)
        if not batches or len(together) > max(size, len(questions[i].pictures)):
            batches.append([])
            together = set(questions[i].pictures)
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

"""A comparer that answers: it says yes where a picture differs enough from one of nothing.

How much is enough is found at one stated stimulus, the anchor; from there on the criterion is the
same for everything it is shown. Without noise of its own such an observer is a step: whatever slope
its psychometric function has comes from the stimuli, which differ from draw to draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fechner.errors import ObserverError
from fechner.observers.abilities import Compares
from fechner.observers.questions import Answer, Question, Reads
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor


class AnswersByCriterion:
    """Says yes, the first option, where the difference from nothing exceeds a criterion.

    Of several pictures it chooses the one that differs most; a tie is a choice of the first. Where
    the difference is undefined (NaN), it gives no answer.

    Parameters
    ----------
    noise
        Standard deviation of Gaussian noise inside it, as a share of the response to the anchor;
        its answers then have probabilities, and the most probable one is chosen.
    """

    reads: Reads = "nothing"

    def __init__(self, comparer: Compares, noise: float = 0.0) -> None:
        self.comparer = comparer
        self.noise = noise
        self.name = comparer.name
        self.wants = comparer.wants
        self.layers = comparer.layers
        self.readouts = comparer.readouts
        self.fingerprint = (
            None
            if comparer.fingerprint is None
            else f"{comparer.fingerprint} by criterion, noise={noise:g}"
        )
        self._memory: Any = None
        self._criterion: Tensor | None = None

    def calibrate(self, nothing: Frames, anchor: Frames) -> None:
        """Set the criterion, by layer and read-out, to the median response to the anchor."""
        self._memory = self.comparer.remember(nothing)
        self._criterion = self._differences(anchor).median(dim=0).values

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Answer each question at every layer and read-out."""
        if self._criterion is None:
            raise ObserverError(f"observer '{self.name}' was not shown what counts as something.")
        responses = self._differences(frames)
        for index, question in enumerate(questions):
            seen = responses[list(question.pictures)]
            if len(question.pictures) > 1:
                for place, response in self._places(seen):
                    choice = None if response.isnan().any() else int(response.argmax())
                    yield Answer(index, choice, place=place)
                continue
            for place, excess in self._places(seen[0] - self._criterion):
                criterion = float(self._criterion[place])
                yield self._judged(index, float(excess), criterion, place)

    def _judged(
        self, index: int, excess: float, criterion: float, place: tuple[int, int]
    ) -> Answer:
        if math.isnan(excess):
            return Answer(index, None, place=place)
        choice = 0 if excess > 0 else 1
        if self.noise == 0:
            return Answer(index, choice, place=place)
        from statistics import NormalDist

        yes = NormalDist(0.0, self.noise * criterion).cdf(excess)
        return Answer(index, choice, (yes, 1 - yes), 1.0, place=place)

    def _differences(self, frames: Frames) -> Tensor:
        """Return differences from nothing, [n, layers, read-outs]."""
        import torch

        which = torch.zeros(len(frames), dtype=torch.long, device=frames.pixels.device)
        return self.comparer.difference(frames, self._memory, which).double()

    def _places(self, values: Tensor) -> Iterator[tuple[tuple[int, int], Tensor]]:
        for layer in range(len(self.layers)):
            for readout in range(len(self.readouts)):
                yield (layer, readout), values[..., layer, readout]

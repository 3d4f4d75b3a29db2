"""Decisions: how what a model sees becomes a choice.

A comparer says yes where a picture differs enough from one of nothing. How much is enough is found
at one stated stimulus, the anchor; from there on the criterion is the same for everything it is
shown. Without noise of its own such an observer is a step: whatever slope its psychometric function
has comes from the stimuli, which differ from draw to draw.

A model with two towers, for pictures and for words, chooses the nearest label.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fechner.errors import ObserverError
from fechner.observers.abilities import Compares, Encodes, Wants
from fechner.observers.devices import is_out_of_memory
from fechner.observers.questions import Answer, Question, Reads, Usage
from fechner.observers.taps import OUTPUT
from fechner.observers.weights import hash_weights
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.observers.network import LoadOptions

Result = TypeVar("Result")

#: Pictures and labels that are looked at in one go; half as many if memory is not enough.
_AT_ONCE = 32


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
                yield self._judged(index, float(excess), place)

    def _judged(self, index: int, excess: float, place: tuple[int, int]) -> Answer:
        if math.isnan(excess):
            return Answer(index, None, place=place)
        choice = 0 if excess > 0 else 1
        if self.noise == 0:
            return Answer(index, choice, place=place)
        from statistics import NormalDist

        assert self._criterion is not None
        yes = NormalDist(0.0, self.noise * float(self._criterion[place])).cdf(excess)
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


class Contrastive:
    """Chooses the label whose embedding has the largest cosine with that of the picture.

    The probability of a label is the softmax of the cosines times the scale the model was trained
    with. SigLIP's is used in the same way, although it was trained on pairs one by one (its bias is
    the same for all labels, and goes away). Two labels at exactly the same distance are no choice.

    Of several pictures it chooses the one with the largest odds of the first label against all
    others; probabilities are those odds, scaled to add up to 1.

    Parameters
    ----------
    encoder
        The tower for pictures, which says what it wants to be shown.
    read
        The tower for words: takes labels, returns embeddings of any length, [n, d].
    scale
        What cosines are multiplied with before the softmax.
    reading
        What the embeddings of words depend on.
    """

    reads: Reads = "labels"
    layers = ("embedding",)
    readouts = ("choice", "probability")

    def __init__(
        self,
        encoder: Encodes,
        read: Callable[[Sequence[str]], Tensor],
        *,
        scale: float,
        reading: str | None,
    ) -> None:
        self.encoder = encoder
        self.name: str = encoder.name
        self.wants: Wants = encoder.wants
        self.scale = scale
        self.batch_size = _AT_ONCE
        self.fingerprint = (
            None
            if encoder.fingerprint is None or reading is None
            else f"{encoder.fingerprint} by labels: {reading}, scale={scale:.9g}"
        )
        self._read = read
        self._known: dict[str, Tensor] = {}

    @classmethod
    def of_tower(
        cls, tower: Any, read: Callable[[Sequence[str]], Tensor], words: str, options: LoadOptions
    ) -> Contrastive:
        """Make one of a tower for words, what reads labels with it, and what that depends on."""
        import torch

        scale = float(tower.logit_scale.detach().exp())
        reading = f"weights={hash_weights(tower)} {words}"
        tower.to(device=options.device, dtype=getattr(torch, options.dtype)).eval()
        return cls(options.see(), read, scale=scale, reading=reading)

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Answer each question; the words of its prompt beside the labels are not read."""
        import torch

        with torch.no_grad():
            self._learn([label for each in questions for label in each.prompt.options])
            pictures = self._look(frames, sorted({row for q in questions for row in q.pictures}))
            for index, question in enumerate(questions):
                labels = torch.stack([self._known[label] for label in question.prompt.options])
                seen = torch.stack([pictures[row] for row in question.pictures])
                # Not by a matrix product, in which equal labels may be rounded differently.
                yield self._answer(index, (seen[:, None] * labels).sum(dim=2))

    def _answer(self, index: int, cosines: Tensor) -> Answer:
        """Choose by cosines, [pictures, labels]."""
        scores = self.scale * cosines
        odds = scores[:, 0] - scores[:, 1:].logsumexp(dim=1)
        scores = odds if len(cosines) > 1 else scores[0]
        best = (scores == scores.max()).nonzero().flatten().tolist()
        choice = best[0] if len(best) == 1 else None
        return Answer(
            index, choice, tuple(scores.softmax(dim=0).tolist()), 1.0, usage=Usage(cost=0.0)
        )

    def _learn(self, labels: Sequence[str]) -> None:
        """Read labels that were not read before."""
        new = [label for label in dict.fromkeys(labels) if label not in self._known]

        def read(places: range) -> Tensor:
            return _directions(self._read([new[place] for place in places]))

        self._known.update(zip(new, in_batches(self, len(new), read), strict=True))

    def _look(self, frames: Frames, rows: Sequence[int]) -> dict[int, Tensor]:
        """Return the direction of each picture's embedding."""

        def look(places: range) -> Tensor:
            some = frames.pixels[[rows[place] for place in places]]
            seen: list[Tensor] = []
            few = Frames(some, frames.field, frames.display, frames.light)
            self.encoder.features(few, {OUTPUT: seen.append})
            return _directions(seen[0])

        return dict(zip(rows, in_batches(self, len(rows), look), strict=True))


def in_batches(observer: Any, n: int, run: Callable[[range], Iterable[Result]]) -> Iterator[Result]:
    """Yield what comes of n things, ``batch_size`` at a time; half as many if memory lacks."""
    start = 0
    while start < n:
        places = range(start, min(start + observer.batch_size, n))
        try:
            found = run(places)
        except Exception as error:
            if not is_out_of_memory(error) or observer.batch_size == 1:
                raise
            observer.batch_size //= 2
            continue
        yield from found
        start = places.stop


def _directions(embeddings: Tensor) -> Tensor:
    """Return embeddings of length 1, in double precision: labels are close to each other."""
    import torch

    return torch.nn.functional.normalize(embeddings.double().cpu(), dim=1)

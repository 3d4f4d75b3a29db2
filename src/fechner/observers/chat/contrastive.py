"""Models with two towers, for pictures and for words, that choose the nearest label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from fechner.arrays import Tensor, torch
from fechner.observers.abilities import Encodes, Wants
from fechner.observers.devices import is_out_of_memory
from fechner.observers.questions import Answer, Question, Reads, Usage
from fechner.observers.taps import OUTPUT
from fechner.observers.weights import hash_weights
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from fechner.observers.network import LoadOptions

Result = TypeVar("Result")

#: Pictures and labels that are looked at in one go; half as many if memory is not enough.
_AT_ONCE = 32


class Contrastive:
    """Chooses the label whose embedding has the largest cosine with that of the picture.

    The probability of a label is the softmax of the cosines times the scale the model was trained
    with. SigLIP's is used in the same way, although it was trained on pairs one by one (its bias is
    the same for all labels, and goes away). Two labels at exactly the same distance are no choice.

    Of several pictures it chooses the one with the largest odds of the first label against all
    others; probabilities are those odds, scaled to add up to 1.

    Parameters
    ----------
    encoder, read
        The towers for pictures and for words; the second takes labels and returns embeddings of any
        length, [n, d].
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
        scale = float(tower.logit_scale.detach().exp())
        reading = f"weights={hash_weights(tower)} {words}"
        tower.to(device=options.device, dtype=getattr(torch, options.dtype)).eval()
        return cls(options.see(), read, scale=scale, reading=reading)

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Answer each question; the words of its prompt beside the labels are not read."""
        every = dict.fromkeys(label for each in questions for label in each.prompt.options)
        new = [label for label in every if label not in self._known]
        rows = sorted({row for each in questions for row in each.pictures})

        def read(places: range) -> Tensor:
            return _directions(self._read([new[place] for place in places]))

        def look(places: range) -> Tensor:
            some = replace(frames, pixels=frames.pixels[[rows[place] for place in places]])
            seen: list[Tensor] = []
            self.encoder.features(some, {OUTPUT: seen.append})
            return _directions(seen[0])

        with torch.no_grad():
            self._known.update(zip(new, in_batches(self, len(new), read), strict=True))
            pictures = dict(zip(rows, in_batches(self, len(rows), look), strict=True))
            for index, question in enumerate(questions):
                labels = torch.stack([self._known[label] for label in question.prompt.options])
                seen = torch.stack([pictures[row] for row in question.pictures])
                # Not by a matrix product, in which equal labels may be rounded differently.
                scores = self.scale * (seen[:, None] * labels).sum(dim=2)
                odds = scores[:, 0] - scores[:, 1:].logsumexp(dim=1)
                scores = odds if len(seen) > 1 else scores[0]
                best = (scores == scores.max()).nonzero().flatten().tolist()
                choice = best[0] if len(best) == 1 else None
                probabilities = tuple(scores.softmax(dim=0).tolist())
                yield Answer(index, choice, probabilities, 1.0, usage=Usage(cost=0.0))


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
    return torch.nn.functional.normalize(embeddings.double().cpu(), dim=1)

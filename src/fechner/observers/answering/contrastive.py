"""Models with two towers, for pictures and for words: they choose the nearest label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from fechner.observers.abilities import Encodes, Wants
from fechner.observers.memory import is_out_of_memory
from fechner.observers.questions import Answer, Question, Reads, Usage
from fechner.observers.taps import OUTPUT
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor

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
        for start in range(0, len(new), self.batch_size):
            some = new[start : start + self.batch_size]
            self._known.update(zip(some, _directions(self._read(some)), strict=True))

    def _look(self, frames: Frames, rows: Sequence[int]) -> dict[int, Tensor]:
        """Return the direction of each picture's embedding."""
        found: dict[int, Tensor] = {}
        while len(found) < len(rows):
            some = rows[len(found) : len(found) + self.batch_size]
            few = Frames(frames.pixels[list(some)], frames.field, frames.display, frames.light)
            seen: list[Tensor] = []
            try:
                self.encoder.features(few, {OUTPUT: seen.append})
            except Exception as error:
                if not is_out_of_memory(error) or self.batch_size == 1:
                    raise
                self.batch_size //= 2
                continue
            found.update(zip(some, _directions(seen[0]), strict=True))
        return found


def _directions(embeddings: Tensor) -> Tensor:
    """Return embeddings of length 1, in double precision: labels are close to each other."""
    import torch

    return torch.nn.functional.normalize(embeddings.double().cpu(), dim=1)

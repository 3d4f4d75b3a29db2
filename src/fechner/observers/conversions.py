"""How an observer with one ability stands in for another: encoders compare, comparers answer.

One table of such lifts, ability x ability; `fechner list tests` prints it per experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import NormalDist
from typing import Any, TypeAlias

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers.abilities import (
    Ability,
    Compares,
    Encodes,
    Recognises,
    Tap,
    Wants,
    abilities,
)
from fechner.observers.classes import matching_classes
from fechner.observers.questions import Answer, Question, Reads
from fechner.observers.readouts import check_readouts, energy_of, read_out
from fechner.observers.taps import choose_layers
from fechner.stimuli import Frames

#: Features of references by layer, and their squared lengths.
Memory: TypeAlias = "dict[str, tuple[Tensor, Tensor]]"


class ComparesFeatures:
    """An encoder that compares: the distance between features, by layer and read-out.

    One forward pass serves all layers and read-outs; activations of tests are reduced inside the
    tap and dropped.

    Parameters
    ----------
    layers
        Names or patterns; the encoder's natural stages if None.
    """

    def __init__(
        self,
        encoder: Encodes,
        readouts: Sequence[str] = ("angle",),
        layers: Sequence[str] | None = None,
    ) -> None:
        self.encoder = encoder
        self.name = encoder.name
        self.wants = encoder.wants
        self.readouts = check_readouts(readouts)
        natural = layers is None
        self.layers = tuple(encoder.layers) if natural else choose_layers(encoder, layers)
        own = encoder.fingerprint
        self.fingerprint = own and f"{own} layers={self.layers} readouts={self.readouts}"

    def remember(self, reference: Frames) -> Memory:
        """Encode references; keep their features and squared lengths."""
        memory: Memory = {}

        def keep(layer: str, activation: Tensor) -> None:
            # A copy: what follows in the network may write over it.
            rows = activation.flatten(1).clone()
            memory[layer] = (rows, energy_of(rows))

        self.encoder.features(reference, {layer: partial(keep, layer) for layer in self.layers})
        return memory

    def difference(self, test: Frames, memory: Memory, which: Tensor) -> Tensor:
        """Encode tests, and compare each with one reference or, by ``which[i, j]``, several."""
        answers: dict[str, Tensor] = {}
        taps: dict[str, Tap] = {}
        for layer in self.layers:
            reference, energy = memory[layer]
            taps[layer] = partial(
                read_out,
                reference=reference,
                reference_energy=energy,
                which=which,
                readouts=self.readouts,
                keep=partial(answers.__setitem__, layer),
            )
        self.encoder.features(test, taps)
        return torch.stack([answers[layer] for layer in self.layers], dim=-2)

    differences = difference


class ComparesChannels(ComparesFeatures):
    """The same of an encoder some of whose layers have opponent channels."""

    encoder: Any

    def channel_changes(self, test: Frames, memory: Memory, which: Tensor, where: Tensor) -> Tensor:
        """Return how the mean of each opponent channel over some pixels changes, [n, layers, 3].

        NaN at layers whose activations have no places, [h, w].
        """
        channels = self.encoder.opponent_layers
        nothing = torch.full((len(test), 3), math.nan, dtype=torch.float64, device=which.device)
        changes = dict.fromkeys(self.layers, nothing)

        def reduce(layer: str, activation: Tensor) -> None:
            if activation.ndim != 4:
                return
            pool = torch.nn.AdaptiveAvgPool2d(tuple(activation.shape[-2:]))
            pooled: Tensor = pool(where[None, None].double()).flatten()
            weights = pooled / pooled.sum()

            def means(rows: Tensor) -> Tensor:
                groups = rows.reshape(len(rows), channels[layer], -1, len(weights))[:, :3]
                return (groups.double() @ weights).mean(2)

            changes[layer] = means(activation) - means(memory[layer][0])[which]

        tapped = [layer for layer in self.layers if layer in channels]
        self.encoder.features(test, {layer: partial(reduce, layer) for layer in tapped})
        return torch.stack([changes[layer] for layer in self.layers], dim=1)


class AnswersByCriterion:
    """Says yes, the first option, where the difference from nothing exceeds a criterion.

    How much is enough is found at one stated stimulus, the anchor; from there on the criterion is
    the same for everything. Without noise of its own such an observer is a step: whatever slope
    its psychometric function has comes from the stimuli, which differ from draw to draw.

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
        own = comparer.fingerprint
        self.fingerprint = own and f"{own} by criterion, noise={noise:g}"
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
        places = list(product(range(len(self.layers)), range(len(self.readouts))))
        for (index, question), place in product(enumerate(questions), places):
            seen = responses[list(question.pictures)][(slice(None), *place)]
            criterion = float(self._criterion[place])
            excess = float(seen[0]) - criterion
            probabilities = mass = None
            if seen.isnan().any() or (len(seen) == 1 and math.isnan(excess)):
                choice = None
            elif len(seen) > 1:
                choice = int(seen.argmax())
            else:
                choice = 0 if excess > 0 else 1
                if self.noise:
                    yes = NormalDist(0.0, self.noise * criterion).cdf(excess)
                    probabilities, mass = (yes, 1 - yes), 1.0
            yield Answer(index, choice, probabilities, mass, place=place)

    def _differences(self, frames: Frames) -> Tensor:
        """Return differences from nothing, [n, layers, read-outs]."""
        which = torch.zeros(len(frames), dtype=torch.long, device=frames.pixels.device)
        return self.comparer.difference(frames, self._memory, which).double()


class _OfClassifier:
    """A classifier that is asked for something else than its class scores."""

    layers = ("class-scores",)

    def __init__(self, classifier: Recognises) -> None:
        self.classifier = classifier
        self.name: str = classifier.name
        self.wants: Wants = classifier.wants
        self.fingerprint: str | None = classifier.fingerprint


class EncodesClassScores(_OfClassifier):
    """A classifier that encodes: its class scores are the features."""

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        """Hand the class scores to the tap."""
        for tap in taps.values():
            tap(self.classifier.class_scores(frames))


class ScoresOwnClasses(_OfClassifier):
    """A classifier that is asked about some of its classes, by whatever name they have."""

    readouts = ("choice",)

    def __init__(self, classifier: Recognises) -> None:
        super().__init__(classifier)
        self.vocabulary: Sequence[str] = classifier.classes
        self._places: dict[tuple[str, ...], list[int]] = {}

    def all_scores(self, frames: Frames) -> Tensor:
        """Return the scores of all its classes, [n, 1, classes]."""
        return self.classifier.class_scores(frames)[:, None]

    def scores_of(self, frames: Frames, classes: Sequence[str]) -> Tensor:
        """Return the scores of these classes, [n, 1, classes]."""
        asked = tuple(classes)
        if asked not in self._places:
            try:
                self._places[asked] = list(matching_classes(self.vocabulary, asked))
            except ObserverError as error:
                raise ObserverError(f"observer '{self.name}' cannot be asked: {error}") from None
        return self.classifier.class_scores(frames)[:, None, self._places[asked]]


@dataclass(frozen=True)
class Lift:
    """One cell of the table: how one ability serves another, or why it cannot."""

    how: str
    make: Callable[[Any, Sequence[str], Sequence[str] | None], Any] | None

    @property
    def kind(self) -> str:
        """Return native, lifted or not applicable."""
        if self.make is None:
            return "not applicable"
        return "native" if not self.how else "lifted"


def _features(encoder: Any, readouts: Sequence[str], layers: Sequence[str] | None) -> Any:
    kind = ComparesChannels if hasattr(encoder, "opponent_layers") else ComparesFeatures
    return kind(encoder, readouts, layers)


def _class_scores(classifier: Any, readouts: Sequence[str], layers: Sequence[str] | None) -> Any:
    return ComparesFeatures(EncodesClassScores(classifier), readouts, layers)


def _answerer(observer: Any, readouts: Sequence[str], layers: Sequence[str] | None) -> Any:
    """Return the observer itself, or what a network that also encodes answers with."""
    return getattr(observer, "answerer", observer)


def _by_criterion(how: str, compare: Callable[..., Any]) -> Lift:
    """Return the lift of what compares to what answers."""
    return Lift(
        f"{how}; yes where it exceeds that to one stated stimulus",
        lambda observer, readouts, layers: AnswersByCriterion(compare(observer, readouts, layers)),
    )


#: LIFTS[has][asked]
LIFTS: dict[Ability, dict[Ability, Lift]] = {
    "compares": {
        "compares": Lift("", lambda observer, readouts, layers: observer),
        "answers": _by_criterion("difference from nothing", lambda observer, *_: observer),
        "recognises": Lift("a difference between two pictures names neither", None),
    },
    "encodes": {
        "compares": Lift("distance between features, by a read-out", _features),
        "answers": _by_criterion(
            "distance of features from those of nothing, by a read-out", ComparesFeatures
        ),
        "recognises": Lift("features have no names without a classifier on them", None),
    },
    "recognises": {
        "compares": Lift("distance between class scores, by a read-out", _class_scores),
        "answers": _by_criterion(
            "distance of class scores from those of nothing, by a read-out", _class_scores
        ),
        "recognises": Lift("", lambda observer, readouts, layers: ScoresOwnClasses(observer)),
    },
    "answers": {
        "compares": Lift("a reply in words has no size to compare", None),
        "answers": Lift("", _answerer),
        "recognises": Lift(
            "asked which of the classes is shown, or by labels that name them", _answerer
        ),
    },
}


def lift(
    observer: Any,
    asked: Ability,
    readouts: Sequence[str],
    layers: Sequence[str] | None = None,
) -> Any:
    """Return the observer with the ability that is asked, natively or lifted.

    Parameters
    ----------
    readouts, layers
        How and where encoders are read out; their natural stages if ``layers`` is None.
    """
    # An ability that needs no lift goes first.
    cells = [LIFTS[has][asked] for has in sorted(abilities(observer), key=lambda has: has != asked)]
    for cell in cells:
        if cell.make is not None:
            return cell.make(observer, readouts, layers)
    why = "; ".join(cell.how for cell in cells) or "it has none of the four abilities"
    name = getattr(observer, "name", type(observer).__name__)
    raise ObserverError(f"observer '{name}' cannot be asked this: {why}.")

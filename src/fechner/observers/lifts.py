"""Lifts: how an observer with one ability stands in for another.

One table, ability x ability; `fechner list tests` prints it per experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fechner.errors import ObserverError
from fechner.observers.abilities import (
    Ability,
    Encodes,
    HasOpponentChannels,
    Recognises,
    Tap,
    Wants,
    abilities,
)
from fechner.observers.classes import matching_classes
from fechner.observers.decisions import AnswersByCriterion
from fechner.observers.network import NetworkThatAnswers
from fechner.observers.readouts import check_readouts, energy_of, read_out
from fechner.observers.taps import choose_layers
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from torch import Tensor


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
        self.layers = choose_layers(encoder, layers)
        self.fingerprint = (
            None
            if encoder.fingerprint is None
            else f"{encoder.fingerprint} layers={self.layers} readouts={self.readouts}"
        )

    def remember(self, reference: Frames) -> dict[str, tuple[Tensor, Tensor]]:
        """Encode references; keep their features and squared lengths."""
        memory: dict[str, tuple[Tensor, Tensor]] = {}

        def keep(layer: str, activation: Tensor) -> None:
            # A copy: what follows in the network may write over it.
            rows = activation.flatten(1).clone()
            memory[layer] = (rows, energy_of(rows))

        self.encoder.features(reference, {layer: partial(keep, layer) for layer in self.layers})
        return memory

    def difference(
        self, test: Frames, memory: dict[str, tuple[Tensor, Tensor]], which: Tensor
    ) -> Tensor:
        """Encode tests and reduce each layer to its read-outs."""
        return self.differences(test, memory, which[:, None])[:, 0]

    def differences(
        self, test: Frames, memory: dict[str, tuple[Tensor, Tensor]], which: Tensor
    ) -> Tensor:
        """Encode tests once and compare each with several references, [n, k, ...]."""
        import torch

        answers: dict[str, Tensor] = {}

        def reduce(layer: str, activation: Tensor) -> None:
            columns = [
                read_out(activation, *memory[layer], column, self.readouts) for column in which.T
            ]
            answers[layer] = torch.stack(columns, dim=1)

        self.encoder.features(test, {layer: partial(reduce, layer) for layer in self.layers})
        return torch.stack([answers[layer] for layer in self.layers], dim=2)


class ComparesChannels(ComparesFeatures):
    """The same of an encoder some of whose layers have opponent channels."""

    encoder: HasOpponentChannels

    def channel_changes(
        self, test: Frames, memory: dict[str, tuple[Tensor, Tensor]], which: Tensor, where: Tensor
    ) -> Tensor:
        """Return how the mean of each opponent channel over some pixels changes, [n, layers, 3].

        NaN at layers whose activations have no places, [h, w].
        """
        import torch

        channels = self.encoder.opponent_layers
        changes: dict[str, Tensor] = {}

        def reduce(layer: str, activation: Tensor) -> None:
            if activation.ndim != 4:
                return
            height, width = activation.shape[-2:]
            pool = torch.nn.AdaptiveAvgPool2d((height, width))
            pooled: Tensor = pool(where[None, None].double()).flatten()
            weights = pooled / pooled.sum()

            def means(rows: Tensor) -> Tensor:
                groups = rows.reshape(len(rows), channels[layer], -1, len(weights))[:, :3]
                return (groups.double() @ weights).mean(2)

            changes[layer] = means(activation) - means(memory[layer][0])[which]

        tapped = [layer for layer in self.layers if layer in channels]
        self.encoder.features(test, {layer: partial(reduce, layer) for layer in tapped})
        nothing = torch.full((len(test), 3), math.nan, dtype=torch.float64, device=which.device)
        return torch.stack([changes.get(layer, nothing) for layer in self.layers], dim=1)


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
        self._places: dict[tuple[str, ...], list[int]] = {}

    @property
    def vocabulary(self) -> Sequence[str]:
        """Names of all classes that it knows."""
        return self.classifier.classes

    def all_scores(self, frames: Frames) -> Tensor:
        """Return the scores of all its classes, [n, 1, classes]."""
        return self.classifier.class_scores(frames)[:, None]

    def scores_of(self, frames: Frames, classes: Sequence[str]) -> Tensor:
        """Return the scores of these classes, [n, 1, classes]."""
        asked = tuple(classes)
        if asked not in self._places:
            try:
                self._places[asked] = list(matching_classes(self.classifier.classes, asked))
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


NATIVE = Lift("", lambda observer, readouts, layers: observer)


def _who_answers(observer: Any, readouts: Sequence[str], layers: Sequence[str] | None) -> Any:
    """Return the observer itself, or what a network that also encodes answers with."""
    return observer.answerer if isinstance(observer, NetworkThatAnswers) else observer


def _features(
    encoder: Encodes, readouts: Sequence[str], layers: Sequence[str] | None
) -> ComparesFeatures:
    kind = ComparesChannels if isinstance(encoder, HasOpponentChannels) else ComparesFeatures
    return kind(encoder, readouts, layers)


def _class_scores(
    classifier: Recognises, readouts: Sequence[str], layers: Sequence[str] | None
) -> ComparesFeatures:
    return ComparesFeatures(EncodesClassScores(classifier), readouts, layers)


def _by_criterion(how: str, compare: Callable[..., Any]) -> Lift:
    """Return the lift of what compares to what answers."""
    return Lift(
        f"{how}; yes where it exceeds that to one stated stimulus",
        lambda observer, readouts, layers: AnswersByCriterion(compare(observer, readouts, layers)),
    )


#: LIFTS[has][asked]
LIFTS: dict[Ability, dict[Ability, Lift]] = {
    "compares": {
        "compares": NATIVE,
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
        "answers": Lift("", _who_answers),
        "recognises": Lift(
            "asked which of the classes is shown, or by labels that name them", _who_answers
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
    reasons = []
    have = abilities(observer)
    # An ability that needs no lift goes first.
    for ability in sorted(have, key=lambda has: has != asked):
        cell = LIFTS[ability][asked]
        if cell.make is not None:
            return cell.make(observer, readouts, layers)
        reasons.append(cell.how)
    why = "; ".join(reasons) or "it has none of the four abilities"
    name = getattr(observer, "name", type(observer).__name__)
    raise ObserverError(f"observer '{name}' cannot be asked this: {why}.")

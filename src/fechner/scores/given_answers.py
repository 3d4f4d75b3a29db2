"""Answers to pictures in conditions: accuracy, shape bias, and errors shared with people.

The figures of Geirhos et al. (2021), with intervals over categories. Errors of two are compared on
the pictures that both saw, in each condition by itself; figures are then averaged over conditions,
over people, and over experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.scores.bootstrap import Scale, cluster_counts, interval
from fechner.scores.error_consistency import kappa_of
from fechner.scores.rates import wilson
from fechner.stimuli.picture_sets.conditions import picture_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fechner.human.trials import HumanTrials

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Texts = NDArray[np.str_]

_NOTHING = float("nan")


class Estimate(NamedTuple):
    """A figure with its bootstrap over categories.

    Parameters
    ----------
    draws
        The figure on samples of other categories; empty where there are none.
    clusters
        How many categories enter.
    least, most
        Ends that its interval reaches at least: Wilson's, since categories that agree do not make a
        share certain.
    """

    value: float
    draws: Floats = np.empty(0)
    clusters: int = 0
    scale: Scale = "share"
    least: float = np.inf
    most: float = -np.inf

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % interval."""
        if np.isnan(self.value):
            return _NOTHING, _NOTHING
        low, high = _NOTHING, _NOTHING
        if self.clusters > 1:
            low, high = interval(self.value, self.draws, self.clusters, self.scale)
        low, high = np.fmin(low, self.least), np.fmax(high, self.most)
        return (max(0.0, low), min(1.0, high)) if self.scale == "share" else (low, high)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of figures that are resampled together, such as those of experiments."""
    known = [each for each in estimates if not np.isnan(each.value)]
    if not known:
        return Estimate(_NOTHING)
    value = float(np.mean([each.value for each in known]))
    draws = [each.draws for each in known if len(each.draws)]
    clusters = min(each.clusters for each in known)
    if len(known) == 1:
        return known[0]
    # Categories that agree in every experiment do not make a mean certain, either.
    ends = np.array([each.ends for each in known])
    away = np.nan_to_num(np.abs(ends - [[each.value] for each in known]))
    half = np.sqrt(np.square(away).sum(axis=0)) / len(known)
    apart = {"least": value - half[0], "most": value + half[1]}
    if not draws:
        return Estimate(value, scale=known[0].scale, **apart)
    return Estimate(value, _mean(np.array(draws), axis=0), clusters, known[0].scale, **apart)


def _mean(values: Floats, axis: Any) -> Floats:
    """Return the mean of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    n = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


@dataclass(frozen=True, eq=False)
class GivenAnswers:
    """What somebody answered in an experiment, an entry for each picture.

    Parameters
    ----------
    category, condition, image
        What was shown.
    response
        The category that was answered, or anything else.
    """

    name: str
    category: Texts
    condition: Texts
    image: Texts
    response: Texts
    chance: float = 1 / 16

    def __len__(self) -> int:
        return len(self.category)

    @cached_property
    def right(self) -> Flags:
        """Whether answers are right."""
        return np.asarray(self.response == self.category)

    @cached_property
    def keys(self) -> Texts:
        """What tells a picture from all others."""
        parts = zip(self.condition, self.category, self.image, strict=True)
        return np.array(["|".join(each) for each in parts], str)

    @cached_property
    def texture(self) -> Texts:
        """The category of the texture, where it is another cue than the shape; empty otherwise."""
        named = (
            picture_name(image, category)
            for image, category in zip(self.image.tolist(), self.category.tolist(), strict=True)
        )
        return np.array([each.texture if each else "" for each in named], str)

    def where(self, chosen: Flags) -> GivenAnswers:
        """Return some of them."""
        return GivenAnswers(
            self.name,
            self.category[chosen],
            self.condition[chosen],
            self.image[chosen],
            self.response[chosen],
            self.chance,
        )

    def within(self, conditions: Sequence[str]) -> GivenAnswers:
        """Return those to pictures in some conditions."""
        return self.where(np.isin(self.condition, list(conditions)))

    def accuracy(self) -> Estimate:
        """Return the share of right answers."""
        return _share(self.right.astype(float), np.ones(len(self)), self.category)

    @property
    def has_conflict(self) -> bool:
        """Whether the texture of some pictures is of another category than their shape."""
        return bool(self._conflict.any())

    @cached_property
    def _conflict(self) -> Flags:
        return np.asarray((self.texture != "") & (self.texture != self.category))

    def shape_bias(self) -> Estimate:
        """Return the share of shape among answers that are shape or texture (Geirhos et al. 2019).

        Only pictures whose shape and texture are of different categories count.
        """
        by_shape = self._conflict & self.right
        by_texture = self._conflict & (self.response == self.texture)
        return _share(by_shape.astype(float), (by_shape | by_texture).astype(float), self.category)


def _share(k: Floats, n: Floats, category: Texts) -> Estimate:
    names, place = np.unique(category, return_inverse=True)
    by = np.array([np.bincount(place, each, len(names)) for each in (k, n)])
    by = by[:, by[1] > 0]
    total = by.sum(axis=1)
    if not total[1]:
        return Estimate(_NOTHING)
    counts = cluster_counts(by.shape[1])
    draws = (counts @ by[0]) / (counts @ by[1])
    return Estimate(float(total[0] / total[1]), draws, by.shape[1], "share", *wilson(*total))


def people_in(trials: HumanTrials) -> list[GivenAnswers]:
    """Return the answers of each person to one test, sorted by name."""
    everybody = GivenAnswers(
        "people",
        np.array(trials.column("label"), str),
        np.array(trials.column("condition"), str),
        np.array(trials.column("picture"), str),
        np.array(trials.column("response"), str),
        trials.rows[0].chance if trials.rows else 1 / 16,
    )
    who = np.array(trials.column("observer"), str)
    return [replace(everybody.where(who == person), name=person) for person in trials.people]


@dataclass(frozen=True)
class Consistency:
    """How far two, or an observer and all people, err on the same pictures.

    Parameters
    ----------
    error
        Cohen's kappa of right and wrong.
    observed
        Share of pictures on which both are right or both wrong.
    difference
        Squared difference of accuracies.
    trials
        Pictures that were compared, over all pairs.
    """

    error: Estimate
    observed: Estimate
    difference: Estimate
    trials: int


def consistency_of(
    pairs: Sequence[tuple[GivenAnswers, GivenAnswers]],
    conditions: Sequence[str],
    undefined: float = _NOTHING,
) -> Consistency:
    """Compare pairs in each condition, and average over conditions and pairs.

    Parameters
    ----------
    undefined
        Kappa of two who are both always right, or both always wrong: NaN leaves them out of means,
        1 is what Geirhos et al. (2021) take.
    """
    names = sorted({name for a, b in pairs for each in (a, b) for name in each.category.tolist()})
    shape = (len(pairs), len(conditions), len(names), 4)
    tables = np.array([_table(a, b, conditions, names) for a, b in pairs]).reshape(shape)
    if not tables.sum():
        nothing = Estimate(_NOTHING)
        return Consistency(nothing, nothing, nothing, 0)
    counts = cluster_counts(len(names))
    drawn = np.tensordot(counts, tables, axes=(1, 2))  # [resamples, pairs, conditions, 4]
    value, draws = (_figures(each, undefined) for each in (tables.sum(axis=2), drawn))
    scales: tuple[Scale, Scale, Scale] = ("correlation", "share", "share")
    error, observed, difference = (
        Estimate(
            float(_mean(_mean(value[i], axis=1), axis=0)),
            _mean(_mean(draws[i], axis=2), axis=1),
            len(names),
            scales[i],
        )
        for i in range(3)
    )
    return Consistency(error, observed, difference, int(tables.sum()))


def _figures(table: Floats, undefined: float) -> tuple[Floats, Floats, Floats]:
    observed, _, kappa, (first, second) = kappa_of(table)
    kappa = np.where((observed == 1) & np.isnan(kappa), undefined, kappa)
    return kappa, observed, (first - second) ** 2


def _table(
    first: GivenAnswers, second: GivenAnswers, conditions: Sequence[str], names: Sequence[str]
) -> Floats:
    """Return how often both, only the first, only the second or neither was right."""
    _, i, j = np.intersect1d(first.keys, second.keys, return_indices=True)
    condition, category = first.condition[i], first.category[i]
    a, b = first.right[i], second.right[j]
    cell = np.where(a, np.where(b, 0, 1), np.where(b, 2, 3))
    place = {name: k for k, name in enumerate(names)}
    label = np.array([place[name] for name in category.tolist()], int)
    return np.array(
        [
            np.bincount(label[own] * 4 + cell[own], minlength=4 * len(names)).reshape(-1, 4)
            for own in (condition == each for each in conditions)
        ],
        float,
    )


def with_people(
    observer: GivenAnswers,
    people: Sequence[GivenAnswers],
    conditions: Sequence[str],
    undefined: float = _NOTHING,
) -> Consistency:
    """Compare an observer with each person."""
    return consistency_of([(observer, each) for each in people], conditions, undefined)


def among_people(
    people: Sequence[GivenAnswers], conditions: Sequence[str], undefined: float = _NOTHING
) -> Consistency:
    """Compare all pairs of people."""
    return consistency_of(list(combinations(people, 2)), conditions, undefined)


def pooled(people: Sequence[GivenAnswers]) -> GivenAnswers:
    """Return the answers of all people as if they were one's."""
    return GivenAnswers(
        "people",
        np.concatenate([each.category for each in people]),
        np.concatenate([each.condition for each in people]),
        np.concatenate([each.image for each in people]),
        np.concatenate([each.response for each in people]),
        people[0].chance,
    )

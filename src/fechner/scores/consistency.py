"""Answers to pictures in conditions: accuracy, shape bias, and errors shared with others.

The figures of Geirhos et al. (2021), with intervals over categories. Errors of two are compared on
the pictures that both saw, in each condition by itself; figures are then averaged over conditions,
over people, and over experiments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.arrays import Flags, Floats
from fechner.scores.statistics import RESAMPLES, Scale, cluster_counts, interval, wilson
from fechner.stimuli.conditions import picture_name

if TYPE_CHECKING:
    from fechner.human.trials import HumanTrials

    Texts = NDArray[np.str_]


class Estimate(NamedTuple):
    """A figure with its bootstrap over categories: draws, of how many clusters, on a scale.

    Its interval reaches at least Wilson's, since categories that agree do not make a share certain.
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
            return np.nan, np.nan
        low, high = interval(self.value, self.draws, self.clusters, self.scale)
        low, high = float(np.fmin(low, self.least)), float(np.fmax(high, self.most))
        return (max(0.0, low), min(1.0, high)) if self.scale == "share" else (low, high)


def share_of(k: NDArray[Any], n: NDArray[Any], category: NDArray[Any]) -> Estimate:
    """Return a share of pictures with its bootstrap over their categories."""
    names, place = np.unique(category, return_inverse=True)
    by = np.array([np.bincount(place, each, len(names)) for each in (k, n)])
    by = by[:, by[1] > 0]
    total = by.sum(axis=1)
    if not total[1]:
        return Estimate(np.nan)
    counts = cluster_counts(by.shape[1])
    draws = (counts @ by[0]) / (counts @ by[1])
    return Estimate(float(total[0] / total[1]), draws, by.shape[1], "share", *wilson(*total))


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of figures that are resampled together, such as those of experiments."""
    known = [each for each in estimates if not np.isnan(each.value)]
    if len(known) < 2:
        return known[0] if known else Estimate(np.nan)
    value = float(np.mean([each.value for each in known]))
    # Categories that agree in every experiment do not make a mean certain, either.
    ends = np.array([each.ends for each in known])
    away = np.nan_to_num(np.abs(ends - [[each.value] for each in known]))
    half = np.sqrt(np.square(away).sum(axis=0)) / len(known)
    least, most = value - half[0], value + half[1]
    draws = [each.draws for each in known if len(each.draws)]
    if not draws:
        return Estimate(value, scale=known[0].scale, least=least, most=most)
    clusters = min(each.clusters for each in known)
    return Estimate(value, _mean(np.array(draws), 0), clusters, known[0].scale, least, most)


def _mean(values: Floats, axis: int) -> Floats:
    """Return the mean of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    n = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


_COLUMNS = ("category", "condition", "image", "response")


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
        """The category of the texture, where it is another than the shape's; empty otherwise."""
        named = map(picture_name, self.image.tolist(), self.category.tolist())
        texture = np.array([each.texture if each else "" for each in named], str)
        return np.where(texture == self.category, "", texture)

    def where(self, chosen: Flags) -> GivenAnswers:
        """Return some of them."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in _COLUMNS})

    def within(self, conditions: Sequence[str]) -> GivenAnswers:
        """Return those to pictures in some conditions."""
        return self.where(np.isin(self.condition, list(conditions)))

    def accuracy(self) -> Estimate:
        """Return the share of right answers."""
        return share_of(self.right, np.ones(len(self)), self.category)

    @property
    def has_conflict(self) -> bool:
        """Whether the texture of some pictures is of another category than their shape."""
        return bool((self.texture != "").any())

    def shape_bias(self) -> Estimate:
        """Return the share of shape among answers that are shape or texture (Geirhos et al. 2019).

        Only pictures whose shape and texture are of different categories count.
        """
        conflict = self.texture != ""
        either = conflict & (self.right | (self.response == self.texture))
        return share_of(conflict & self.right, either, self.category)


def people_in(trials: HumanTrials) -> list[GivenAnswers]:
    """Return the answers of each person to one test, sorted by name."""
    columns = [trials.column(name) for name in ("label", "condition", "picture", "response")]
    category, condition, image, response = (np.array(each, str) for each in columns)
    chance = trials.rows[0].chance if trials.rows else 1 / 16
    everybody = GivenAnswers("people", category, condition, image, response, chance)
    who = np.array(trials.column("observer"), str)
    return [replace(everybody.where(who == person), name=person) for person in trials.people]


def pooled(people: Sequence[GivenAnswers]) -> GivenAnswers:
    """Return the answers of all people as if they were one's."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in people]) for name in _COLUMNS
    }
    return replace(people[0], name="people", **columns)


class Consistency(NamedTuple):
    """How far two, or an observer and all people, err on the same pictures.

    Cohen's kappa of right and wrong; the share of pictures on which both are right or both wrong;
    the squared difference of accuracies; and how many pictures were compared, over all pairs.
    """

    error: Estimate
    observed: Estimate
    difference: Estimate
    trials: int


def consistency_of(
    pairs: Iterable[tuple[GivenAnswers, GivenAnswers]],
    conditions: Sequence[str],
    undefined: float = np.nan,
) -> Consistency:
    """Compare pairs in each condition, and average over conditions and pairs.

    Parameters
    ----------
    undefined
        Kappa of two who are both always right, or both always wrong: NaN leaves them out of means,
        1 is what Geirhos et al. (2021) take.
    """
    pairs = list(pairs)
    names = sorted({name for pair in pairs for each in pair for name in each.category.tolist()})
    shape = (len(pairs), len(conditions), len(names), 4)
    tables = np.array([_table(a, b, conditions, names) for a, b in pairs]).reshape(shape)
    if not tables.sum():
        return Consistency(Estimate(np.nan), Estimate(np.nan), Estimate(np.nan), 0)
    drawn = np.tensordot(cluster_counts(len(names)), tables, axes=(1, 2))
    found = []
    for table in (tables.sum(axis=2), drawn):  # [.., pairs, conditions, 4]
        agreed, _, kappa, (first, second) = kappa_of(table)
        kappa = np.where((agreed == 1) & np.isnan(kappa), undefined, kappa)
        figures = kappa, agreed, (first - second) ** 2
        found.append([_mean(_mean(each, -1), -1) for each in figures])
    scales: tuple[Scale, Scale, Scale] = ("correlation", "share", "share")
    error, observed, difference = (
        Estimate(float(value), draws, len(names), scale)
        for value, draws, scale in zip(*found, scales, strict=True)
    )
    return Consistency(error, observed, difference, int(tables.sum()))


def _table(
    first: GivenAnswers, second: GivenAnswers, conditions: Sequence[str], names: Sequence[str]
) -> Floats:
    """Return how often both, only the first, only the second or neither was right."""
    _, i, j = np.intersect1d(first.keys, second.keys, return_indices=True)
    label = np.searchsorted(names, first.category[i])
    condition, a, b = first.condition[i], first.right[i], second.right[j]
    own = [condition == each for each in conditions]
    return np.array([_cells(a[rows], b[rows], label[rows], len(names)) for rows in own], float)


def _cells(a: Flags, b: Flags, label: NDArray[np.intp], classes: int) -> Floats:
    """Return how often both, only the first, only the second, neither: [classes, 4]."""
    cell = np.where(a, np.where(b, 0, 1), np.where(b, 2, 3))
    return np.bincount(label * 4 + cell, minlength=4 * classes).reshape(-1, 4).astype(float)


def kappa_of(table: Floats) -> tuple[Floats, Floats, Floats, tuple[Floats, Floats]]:
    """Return observed and expected consistency, kappa and accuracies from tables [.., 4]."""
    total = table.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        both, one, other, neither = np.moveaxis(table / total[..., None], -1, 0)
        accuracies = both + one, both + other
        observed = both + neither
        expected = accuracies[0] * accuracies[1] + (1 - accuracies[0]) * (1 - accuracies[1])
        room = 1 - expected
        kappa = np.where(room > 1e-12, (observed - expected) / room, np.nan)
    return observed, expected, kappa, accuracies


@dataclass(frozen=True)
class ErrorConsistency:
    """Agreement of two observers on the same trials (Geirhos et al. 2020).

    Parameters
    ----------
    kappa
        Cohen's: 1 if they are right and wrong on the same trials, 0 if no more often than their
        accuracies make expect. NaN if both are always right, or both always wrong.
    low, high
        95 % interval over classes; NaN with one. Where both agree on all trials, as many classes
        as Wilson's interval allows may still be found on which they do not.
    observed, expected
        Share of trials on which both are right or both are wrong, and what two independent
        observers of the same accuracies would have.
    """

    kappa: float
    low: float
    high: float
    observed: float
    expected: float
    accuracies: tuple[float, float]
    trials: int
    classes: int


def error_consistency(
    first: ArrayLike, second: ArrayLike, class_of: ArrayLike, *, resamples: int = RESAMPLES
) -> ErrorConsistency:
    """Return Cohen's kappa between right and wrong of two observers on the same trials.

    Classes are resampled. In `benchmarks/item_response.py --kappa` (10 to 1,000 classes of 20
    independent trials, true kappa 0 and 0.27, 1,000 pairs of each) the interval held the true one
    in 93.4 to 96.0 %.

    Examples
    --------
    >>> found = error_consistency([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0], [0, 1, 2, 0, 1, 2])
    >>> round(found.observed, 3), round(found.expected, 3), round(found.kappa, 3)
    (0.667, 0.556, 0.25)
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    names, place = np.unique(np.asarray(class_of), return_inverse=True)
    classes = len(names)
    table = _cells(a, b, place, classes)
    observed, expected, kappa, accuracies = kappa_of(table.sum(axis=0))
    low = high = np.nan
    if classes > 1:
        drawn = kappa_of(cluster_counts(classes, resamples) @ table)[2]
        low, high = interval(float(kappa), drawn, classes, "correlation")
        if observed == 1 and np.isfinite(kappa):
            low = (wilson(classes, classes)[0] - float(expected)) / (1 - float(expected))
    both = float(accuracies[0]), float(accuracies[1])
    figures = float(kappa), low, high, float(observed), float(expected)
    return ErrorConsistency(*figures, both, len(a), classes)

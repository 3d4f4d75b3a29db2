"""A score is never a bare number; a scorer makes scores from answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats, xr
from fechner.scores.statistics import Scale, Source, interval, wilson

#: From which share on a check is passed, and passed in part.
YES, PARTLY = 0.8, 0.4

#: What names of checks begin with.
CHECK = "check-"


@dataclass(frozen=True)
class Score:
    """One number with what is needed to read it.

    Parameters
    ----------
    value
        NaN where it cannot be computed; ``note`` says why.
    low, high
        95 % interval over what was ``resampled``.
    human_low, human_high
        Separately, the 95 % range that the error of the human curve itself gives.
    higher_is_better
        None where neither more nor less is.
    best, chance
        The value of a perfect observer, and of one that knows nothing: it answers at random, or was
        measured (`fechner.suites.published`).
    n, of
        Number of points that enter, and that could have; 0 where nothing is left out.
    rule
        When something passes, in words, of an entry of a check list; empty for all others.
    beside
        What must be human, too, such as size beside shape: the distance is the mean of both.
    """

    name: str
    value: float
    low: float
    high: float
    higher_is_better: bool | None
    best: float
    chance: float
    resampled: str
    n: int
    human_low: float = float("nan")
    human_high: float = float("nan")
    layer: str = ""
    readout: str = ""
    note: str = ""
    rule: str = ""
    of: int = 0
    beside: Score | None = None

    def with_value(
        self,
        value: float,
        ends: tuple[float, float] = (math.nan, math.nan),
        n: int = 0,
        note: str = "",
    ) -> Score:
        """Return a score of the same kind that was measured."""
        return replace(self, value=value, low=ends[0], high=ends[1], n=n, note=note)

    def of_share(self, k: float, n: float, note: str = "") -> Score:
        """Return a score of the same kind: the share of ``k`` in ``n``, with Wilson's interval."""
        low, high = wilson(k, n)
        value = float(k / n) if n else math.nan
        return self.with_value(value, (max(low, 0.0), min(high, 1.0)), int(n), note)

    @property
    def arrow(self) -> str:
        """The direction in which it is better, as a sign; empty where there is none."""
        return "" if self.higher_is_better is None else "↑" if self.higher_is_better else "↓"

    @property
    def is_check(self) -> bool:
        """Whether it answers a question by yes, partly or no."""
        return bool(self.rule)

    @property
    def claim(self) -> str:
        """What a check asks for."""
        return self.name.removeprefix(CHECK)

    @property
    def verdict(self) -> str:
        """The answer of a check in a word.

        Examples
        --------
        >>> half = Score("check-rises", 0.5, 0, 1, True, 1, 0, "curves", 4, rule="the end is high")
        >>> half.is_check, half.claim, half.verdict
        (True, 'rises', 'partly')
        """
        if math.isnan(self.value):
            return "unknown"
        return "yes" if self.value >= YES else "partly" if self.value >= PARTLY else "no"


#: Distances end here: in tests that observers who know nothing nearly pass, those that do not are
#: any number of chance levels away.
FARTHEST = 2.0


def distance(score: Score, value: float | None = None) -> float:
    """Return how far a score is from human: 0 is perfect, 1 is chance, more is worse, up to 2.

    Of another value of the same score, such as an end of its interval, where one is given.

    Examples
    --------
    >>> half = Score("alignment", 0.5, 0.4, 0.6, True, best=1.0, chance=0.0, resampled="x", n=9)
    >>> distance(half)
    0.5
    """
    span = score.best - score.chance
    if not span:
        return math.nan
    found = (score.best - (score.value if value is None else value)) / span
    found = found if math.isnan(found) else min(found, FARTHEST)
    return found if score.beside is None else (found + distance(score.beside)) / 2


def unmeasured(
    name: str,
    resampled: str,
    higher_is_better: bool | None = True,
    best: float = 1.0,
    chance: float = 0.0,
) -> Score:
    """Return a score of which only the meaning is known."""
    return Score(name, np.nan, np.nan, np.nan, higher_is_better, best, chance, resampled, 0)


@dataclass(frozen=True)
class Resampled:
    """A score with its values on bootstrap samples of its clusters.

    The samples follow from the number of clusters alone, so two observers that were asked the same
    questions are resampled together.

    Parameters
    ----------
    clusters
        What is resampled, by its place on the abscissa.
    scale, most
        The scale on which errors of the score are symmetric, and its largest value.
    further
        What else was resampled, by itself, such as draws of noise.
    """

    score: Score
    values: Floats
    clusters: Floats
    scale: Scale
    most: float = math.inf
    further: tuple[Source, ...] = ()

    def with_interval(self) -> Resampled:
        """Give the score the interval that the samples tell."""
        low, high = interval(
            self.score.value, self.values, len(self.clusters), self.scale, self.most, self.further
        )
        return replace(self, score=replace(self.score, low=low, high=high))

    def noted(self, note: str) -> Resampled:
        """Give the score its interval and a note."""
        return replace(self, score=replace(self.score, note=note)).with_interval()


class Scorer:
    """Turns the stored answers of one experiment into scores; the first is the main one.

    It says what its main score means (``kind``), scores the answers of one layer and read-out
    (`scores`), and leaves of two observers' answers what both were asked (`shared`).
    """

    #: The main score, of which nothing was measured.
    kind: ClassVar[Score]

    #: Coordinates in which answers of two observers are compared, by dimension.
    along: ClassVar[Mapping[str, str]] = {}

    def scores(self, data: xr.Dataset, *others: Any) -> Iterable[Score | Resampled]:
        """Yield the scores of one layer and read-out; of the main one, also its bootstrap.

        ``others`` are the answers to tests that this one uses, None where they were not measured.
        """
        raise NotImplementedError

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave of two observers' answers what both were asked, clusters in the same order.

        Where that is everything, the answers themselves are returned.
        """
        return in_common(first, second, self.along)

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score all layers and read-outs."""
        return [
            placed(found, part) for part in outputs(data) for found in self.scores(part, *others)
        ]

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the main score of one layer and read-out with its bootstrap."""
        found = next(iter(self.scores(data)))
        assert isinstance(found, Resampled)
        return replace(found, score=placed(found, data))

    def printed(self, value: float, experiment: Any) -> Score:
        """Return a main score of which only the value is known, as from a paper."""
        return self.kind.with_value(value)


def placed(found: Score | Resampled, data: xr.Dataset) -> Score:
    """Return a score that says of which layer and read-out it is."""
    score = found.score if isinstance(found, Resampled) else found
    if score.layer:
        return score
    beside = None if score.beside is None else placed(score.beside, data)
    layer, readout = place(data)
    return replace(score, layer=layer, readout=readout, beside=beside)


def place(data: xr.Dataset) -> tuple[str, str]:
    """Return the layer and the read-out that answers are of."""
    return str(data["layer"].values), str(data["readout"].values)


def outputs(data: xr.Dataset) -> Iterator[xr.Dataset]:
    """Go through the answers of layers and read-outs."""
    for layer in data["layer"].values:
        for readout in data["readout"].values:
            yield data.sel(layer=layer, readout=readout)


def at_place_of(data: xr.Dataset, other: xr.Dataset | None) -> xr.Dataset | None:
    """Return the answers to another test of the same layer and read-out."""
    if other is None or not other["layer"].ndim:
        return other
    layer, readout = place(data)
    return other.sel(layer=layer, readout=readout)


#: Digits in which places on an axis are compared.
_DIGITS = 9


def in_common(
    first: xr.Dataset, second: xr.Dataset, along: Mapping[str, str]
) -> tuple[xr.Dataset, xr.Dataset]:
    """Leave what two data sets have in common, in the same order; themselves if that is all.

    ``along`` names the coordinate whose values are compared, for every dimension.
    """
    chosen: tuple[dict[str, NDArray[np.intp]], dict[str, NDArray[np.intp]]] = ({}, {})
    for dimension, name in along.items():
        a, b = rounded(first[name].values), rounded(second[name].values)
        if not np.array_equal(a, b):
            _, i, j = np.intersect1d(a, b, return_indices=True)
            chosen[0][dimension], chosen[1][dimension] = i, j
    if not chosen[0]:
        return first, second
    return first.isel(chosen[0]), second.isel(chosen[1])


def rounded(places: NDArray[Any]) -> NDArray[Any]:
    """Return places on an axis with rounding errors taken away; names as they are."""
    if places.dtype.kind in "OSU":
        return places
    return np.array([float(f"{place:.{_DIGITS}g}") for place in places])

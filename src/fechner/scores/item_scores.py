"""Scores of item-response curves: how far a picture may be from itself to be recognised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import cluster_counts
from fechner.scores.human_accuracy import SAME_LEVEL, HumanPoint, human_points
from fechner.scores.item_table import ItemTable
from fechner.scores.notes import join_notes
from fechner.scores.rates import wilson
from fechner.scores.response_curves import (
    Located,
    PooledCurve,
    area_interval,
    class_areas,
    pooled_curve,
)
from fechner.scores.response_thresholds import PooledFit, pooled_fit
from fechner.scores.score import Resampled, Score

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.human.trials import HumanTrials
    from fechner.psychometrics.population import Population

    Floats = NDArray[np.float64]

_NOTHING = float("nan")


class Items:
    """What can be said of a table of trials; each part is found when it is first asked for."""

    def __init__(self, data: xr.Dataset) -> None:
        self.table = ItemTable(data)
        self.classes = len(self.table.classes)

    @cached_property
    def curve(self) -> PooledCurve:
        """Mean accuracy over classes."""
        return pooled_curve(*self.table.counts)

    @cached_property
    def fit(self) -> PooledFit:
        """The curve that all classes follow, fitted to raw trials."""
        return pooled_fit(*self.table.counts, chance=self.table.chance)

    @cached_property
    def population(self) -> Population:
        """Classes with thresholds of their own, for levels that were chosen one by one."""
        return self._population(self.table.ends)

    def _population(self, span: tuple[float, float]) -> Population:
        from fechner.psychometrics.population import fit_population

        return fit_population(*self.table.counts, chance=self.table.chance, span=span)

    @property
    def threshold(self) -> Located:
        """The level half-way between top and chance, over classes."""
        if self.table.is_grid:
            return self._possible(self.fit.threshold)
        # Levels chosen one by one gather at the threshold of each class: pooled by level, every
        # one would be half-way.
        found = self.population
        return self._possible(
            Located(found.threshold, found.low, found.high, found.censored, found.bound)
        )

    def level_at(self, accuracy: float) -> Located:
        """Return the level at which the curve over all classes has fallen to an accuracy."""
        return self._possible(self.fit.level_at(accuracy))

    def _possible(self, found: Located) -> Located:
        """Let an interval end where levels do."""
        return found if found.censored else found._replace(high=min(found.high, self.table.most))

    @cached_property
    def areas(self) -> Floats:
        """Chance-corrected accuracy of each class, averaged over log level.

        Of levels that were chosen one by one, what each class adds to the mean.
        """
        return self.areas_over(self.table.ends)

    def areas_over(self, span: tuple[float, float]) -> Floats:
        """Return the same from one level to another."""
        table = self.table
        if table.is_grid:
            return class_areas(*table.counts, chance=table.chance, span=span)
        found = self.population if span == table.ends else self._population(span)
        return found.pseudo_areas

    @property
    def area_clusters(self) -> NDArray[np.intp]:
        """Classes that have an area."""
        return np.flatnonzero(np.isfinite(self.areas))

    @property
    def resampled_area(self) -> Floats:
        """The mean area of other classes."""
        areas = self.areas[self.area_clusters]
        return np.asarray(cluster_counts(len(areas)) @ areas / len(areas))

    def accuracy_at(self, level: float) -> tuple[float, float, float]:
        """Return accuracy at a level and its interval, between levels that were shown."""
        curve = self.curve
        first = curve.levels[curve.levels > 0].min(initial=np.inf)
        x = np.log(np.maximum(curve.levels, first / 2))
        at = np.log(max(level, first / 2))
        value, low, high = (float(np.interp(at, x, y)) for y in (curve.accuracy, *band(curve)))
        return value, low, high


def band(curve: PooledCurve) -> tuple[Floats, Floats]:
    """Return the 95 % interval of every point: over classes, and Wilson's where that is wider.

    Classes that agree do not make a rate certain.
    """
    return (
        np.fmin(curve.low, curve.wilson_low),
        np.fmax(curve.high, curve.wilson_high),
    )


@dataclass(frozen=True)
class ItemScores:
    """Area and threshold of a curve, its ends, and how it differs in the other direction.

    Parameters
    ----------
    window
        Levels over which curves are smoothed to be looked at; scores never are.
    people
        What people answered, of all tests.
    """

    window: int = 1
    people: HumanTrials | None = field(default=None, compare=False)

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        opposite = others[0] if others else None
        return [
            score
            for layer, readout, part in outputs(data)
            for score in self._scores(
                part, None if opposite is None else opposite.sel(layer=layer, readout=readout)
            )
        ]

    def _scores(self, data: xr.Dataset, opposite: xr.Dataset | None) -> Iterator[Score]:
        items = Items(data)
        make = partial(
            Score,
            resampled="classes",
            n=len(items.table),
            layer=items.table.layer,
            readout=items.table.readout,
        )
        yield _area(items)
        if not items.classes:
            return
        yield _threshold(make, "threshold", items.threshold, items.table.ends)
        if items.table.task == "2afc" and items.table.is_grid:
            yield _threshold(make, "threshold-75", items.level_at(0.75), items.table.ends)
        if items.table.is_grid:
            for name, place in (("accuracy-original", 0), ("accuracy-end", -1)):
                low, high = band(items.curve)
                yield make(
                    name,
                    float(items.curve.accuracy[place]),
                    float(low[place]),
                    float(high[place]),
                    True,
                    1.0,
                    items.table.chance,
                    note=f"at level {items.curve.levels[place]:.3g}",
                )
        if items.table.task == "2afc":
            yield _undefined(make, items)
        if len(items.table.runs) > 1:
            yield _spread(make, items)
        if opposite is not None:
            yield _asymmetry(make, items, Items(opposite), data, opposite)
        yield from self._against_people(make, items, str(data.attrs["test"]))

    def points(self, test: str) -> list[HumanPoint]:
        """Return what people did in a test, by level."""
        return human_points(self.people.of_test(test)) if self.people is not None else []

    def _against_people(self, make: Any, items: Items, test: str) -> Iterator[Score]:
        points = self.points(test)
        strongest = items.table.ends[1]
        for point in points:
            name = "people-difference" + (f"-{point.level:.3g}" if len(points) > 1 else "")
            if point.level > strongest * (1 + SAME_LEVEL):
                found = (_NOTHING, _NOTHING, _NOTHING)
                note = f"not computable: nothing beyond {strongest:.3g} was shown"
            else:
                found, note = _difference(items, point)
            yield make(name, *found, None, _NOTHING, _NOTHING, note=note)

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the area of one layer and read-out with its bootstrap over classes."""
        items = Items(data)
        clusters = items.table.classes[items.area_clusters].astype(float)
        return Resampled(_area(items), items.resampled_area, clusters, "share")

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the classes of which both were shown something."""
        ours, theirs = _classes(first), _classes(second)
        if np.array_equal(ours, theirs):
            return first, second
        both = np.intersect1d(ours, theirs)
        a, b = (
            part.isel(trial=np.flatnonzero(np.isin(part["class_of"].values, both)))
            for part in (first, second)
        )
        return a, b

    def printed(self, value: float, experiment: Any) -> Score:
        """Return an area of which only the value is known."""
        return Score("area", value, _NOTHING, _NOTHING, True, 1.0, 0.0, resampled="classes", n=0)


def _classes(data: xr.Dataset) -> NDArray[Any]:
    shown = np.isfinite(data["right"].values)
    return np.unique(data["class_of"].values[shown])


def _area(items: Items) -> Score:
    clusters = len(items.area_clusters) if items.classes else 0
    note = items.table.note
    if not clusters:
        note = join_notes(note, "not computable: nothing could be shown")
    areas = items.areas[items.area_clusters] if clusters else np.empty(0)
    value = float(areas.mean()) if clusters else _NOTHING
    chance = items.table.chance
    low, high = area_interval(areas, least=-chance / (1 - chance))
    return Score(
        "area",
        value,
        low,
        high,
        higher_is_better=True,
        best=1.0,
        chance=0.0,
        resampled="classes",
        n=len(items.table),
        layer=items.table.layer,
        readout=items.table.readout,
        note=note,
    )


def _difference(items: Items, point: HumanPoint) -> tuple[tuple[float, float, float], str]:
    """Return by how much an observer is better than people at their level, and what each does."""
    chance = items.table.chance
    ours, low, high = ((a - chance) / (1 - chance) for a in items.accuracy_at(point.level))
    theirs, their_low, their_high = point.corrected
    value = ours - theirs
    found = (
        value,
        value - float(np.hypot(ours - low, their_high - theirs)),
        value + float(np.hypot(high - ours, theirs - their_low)),
    )
    return found, (
        f"at level {point.level:.3g}: {ours:.3f} and {theirs:.3f} of {point.people} people "
        f"({point.trials} trials, chance {point.chance:.3g}), chance-corrected"
    )


def _threshold(make: Any, name: str, found: Located, ends: tuple[float, float]) -> Score:
    is_inside = ends[0] <= found.low and found.high <= ends[1]
    beyond = f"its interval reaches beyond what was shown, {ends[0]:.3g} to {ends[1]:.3g}"
    words = {
        "": "" if is_inside else beyond,
        "above": f"above {found.bound:.3g}, the strongest level that was shown",
        "below": f"below {found.bound:.3g}, the weakest level that was shown",
        "unknown": "not computable: there is nothing to fall",
    }
    between = (found.low, found.high) if found.censored != "unknown" else (_NOTHING, _NOTHING)
    score: Score = make(
        name, found.value, *between, True, _NOTHING, _NOTHING, note=words[found.censored]
    )
    return score


def _undefined(make: Any, items: Items) -> Score:
    n = len(items.table)
    low, high = wilson(items.table.undefined, n)
    value = items.table.undefined / n
    score: Score = make(
        "undefined",
        value,
        max(0.0, low),
        high,
        False,
        0.0,
        1.0,
        note=f"decisions that could not be made: {items.table.undefined} of {n}",
    )
    return score


def _spread(make: Any, items: Items) -> Score:
    """Return the largest difference between two runs at any level."""
    curves = np.array([pooled_curve(*counts).accuracy for counts in items.table.by_run.values()])
    ranges = np.ptp(curves, axis=0)
    rates = [
        np.where(counts.n > 0, counts.right / np.maximum(counts.n, 1), np.nan)
        for counts in items.table.by_run.values()
    ]
    counts = cluster_counts(items.classes)
    drawn = np.ptp(
        np.array([counts @ np.nan_to_num(rate) / items.classes for rate in rates]), axis=0
    ).max(axis=1)
    low, high = np.percentile(drawn, (2.5, 97.5))
    value = float(np.nanmax(ranges))
    deviation = float(np.nanmean(curves.std(axis=0, ddof=1)))
    score: Score = make(
        "dropout-spread",
        value,
        min(value, float(low)),
        max(value, float(high)),
        False,
        0.0,
        1.0,
        note=f"{len(curves)} runs; standard deviation between them {deviation:.3f} on average",
    )
    return score


def _asymmetry(make: Any, up: Items, down: Items, data: xr.Dataset, opposite: xr.Dataset) -> Score:
    """Return the area in one direction minus that in the other, of the same classes and levels."""
    sign = 1.0
    first, second = str(data.attrs["manipulation"]), str(opposite.attrs["manipulation"])
    if first.endswith("-down"):
        sign, first, second = -1.0, second, first
    (weakest, strongest), (other_weakest, other_strongest) = up.table.ends, down.table.ends
    shared = max(weakest, other_weakest), min(strongest, other_strongest)
    _, i, j = np.intersect1d(up.table.classes, down.table.classes, return_indices=True)
    apart = sign * (up.areas_over(shared)[i] - down.areas_over(shared)[j])
    apart = apart[np.isfinite(apart)]
    score: Score = make(
        "up-minus-down",
        float(apart.mean()) if len(apart) else _NOTHING,
        *area_interval(apart, least=-1.0),
        None,
        _NOTHING,
        _NOTHING,
        note=f"area of {first} minus {second}, over levels {shared[0]:.3g} to {shared[1]:.3g}",
    )
    return score

"""Scores and panels of item-response curves: how far a picture may be from itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats, xr
from fechner.scores import item_curves, notes
from fechner.scores.item_curves import Counts, HumanPoint, Located
from fechner.scores.panels import (
    ACCURACY,
    Axis,
    Item,
    Line,
    Mark,
    Panel,
    Points,
    Surface,
    Vertical,
    gallery_panel,
    guide,
)
from fechner.scores.score import Resampled, Score, Scorer, at_place_of, unmeasured
from fechner.scores.statistics import cluster_counts

if TYPE_CHECKING:
    from fechner.human.trials import HumanTrials
    from fechner.psychometrics.population import Population


class Items:
    """What can be said of the trials of one layer and read-out; found when it is first asked for.

    Attributes
    ----------
    labels, names
        Places of the classes of which a picture was shown, and their names.
    ends, most
        The weakest and the strongest level that may be shown, and the strongest there can be.
    counts
        Levels that were shown, and trials and right answers, [classes, levels]; where levels were
        chosen one by one most cells have none.
    runs
        Counts of each run of dropout; of one without.
    is_grid
        Whether every class was shown at every level.
    """

    def __init__(self, data: xr.Dataset) -> None:
        self.task, self.manipulation = str(data.attrs["task"]), str(data.attrs["manipulation"])
        self.chance, self.most = float(data.attrs["chance"]), float(data.attrs["most"])
        self.ends = float(data.attrs["weakest"]), float(data.attrs["strongest"])
        shown = np.isfinite(data["right"].values)
        right, level, run, self._index, undefined, labels = (
            data[name].values[shown]
            for name in ("right", "level", "dropout_run", "index", "undefined", "class_of")
        )
        self.n, self.undefined = len(right), int(undefined.sum())
        self.labels, self._class = np.unique(labels, return_inverse=True)
        self.classes = len(self.labels)
        self.names = names_of(data, self.labels)

        def counts(chosen: Any) -> Counts:
            trials = self._class[chosen], level[chosen], right[chosen]
            return item_curves.counted(*trials, self.classes)

        self.counts = counts(...)
        self.runs = [counts(run == each) for each in np.unique(run)]
        self.is_grid = bool((self.counts.n > 0).all())
        without = np.setdiff1d(data["class_of"].values, self.labels).size
        more = f"nothing of {without} classes could be shown" if without else ""
        self.note = notes.unshown_pictures(data, "trials", more)

    def picture_of(self, place: int) -> tuple[int, int]:
        """Return class and place of the first picture of a class that was shown."""
        return int(self.labels[place]), int(self._index[np.argmax(self._class == place)])

    @cached_property
    def curve(self) -> item_curves.PooledCurve:
        """Mean accuracy over classes."""
        return item_curves.pooled_curve(*self.counts)

    @cached_property
    def fit(self) -> item_curves.PooledFit:
        """The curve that all classes follow, fitted to raw trials."""
        return item_curves.pooled_fit(*self.counts, chance=self.chance)

    @cached_property
    def population(self) -> Population:
        """Classes with thresholds of their own, for levels that were chosen one by one."""
        return self._population(self.ends)

    def _population(self, span: tuple[float, float]) -> Population:
        from fechner.psychometrics.population import fit_population

        return fit_population(*self.counts, chance=self.chance, span=span)

    def level_at(self, accuracy: float | None = None) -> Located:
        """Return the level at which the curve over all classes has fallen to an accuracy.

        Without one, half-way between top and chance. An interval ends where levels do.
        """
        if self.is_grid:
            found = self.fit.level_at(accuracy)
        else:
            # Levels chosen one by one gather at the threshold of each class: pooled by level, every
            # one would be half-way.
            own = self.population
            found = Located(own.threshold, own.low, own.high, own.censored, own.bound)
        return found if found.censored else found._replace(high=min(found.high, self.most))

    def areas_over(self, span: tuple[float, float]) -> Floats:
        """Return the chance-corrected accuracy of each class, averaged over log level in a span.

        Of levels that were chosen one by one, what each class adds to the mean.
        """
        if self.is_grid:
            return item_curves.class_areas(*self.counts, chance=self.chance, span=span)
        found = self.population if span == self.ends else self._population(span)
        return found.pseudo_areas

    @property
    def area(self) -> Resampled:
        """The mean area with its bootstrap over classes that have one."""
        areas = self.areas_over(self.ends) if self.classes else np.empty(0)
        there = np.isfinite(areas)
        areas, clusters = areas[there], self.labels[there].astype(float)
        if not len(areas):
            note = notes.join(self.note, notes.NOTHING_SHOWN)
            score = replace(ItemScores.kind, n=self.n, note=note)
            return Resampled(score, np.empty(0), clusters, "share")
        ends = item_curves.area_interval(areas, least=-self.chance / (1 - self.chance))
        score = ItemScores.kind.with_value(float(areas.mean()), ends, self.n, self.note)
        resampled = np.asarray(cluster_counts(len(areas)) @ areas / len(areas))
        return Resampled(score, resampled, clusters, "share")

    @cached_property
    def lost_at(self) -> Floats:
        """The level at which each class is lost by a curve of its own; infinite where it is not.

        Half the weakest if it is not recognised as it is.
        """
        levels, n, right = self.counts
        if self.is_grid:
            from fechner.psychometrics.likelihood import fit_falling

            fits = fit_falling(levels, n, right, chance=self.chance)
            original = right[:, levels == 0].sum(axis=1) / n[:, levels == 0].sum(axis=1)
            is_unseen = original <= (1 + self.chance) / 2
            is_never = is_unseen | np.isin(fits.censored, ("below", "unknown"))
            found = np.where(fits.censored == "above", np.inf, fits.threshold)
        else:
            is_never = self.population.never_recognised > 0.5
            found = 10.0**self.population.log_thresholds
            found = np.where(found > self.ends[1], np.inf, found)
        return np.where(is_never, levels[levels > 0].min() / 2, found)

    @cached_property
    def lost_first(self) -> NDArray[np.intp]:
        """Places of classes, those that are lost first before others, then the worse ones."""
        _, n, right = self.counts
        return np.lexsort((right.sum(axis=1) / n.sum(axis=1), self.lost_at))


def names_of(data: xr.Dataset, labels: NDArray[np.int32]) -> list[str]:
    """Return the names of classes."""
    names = str(data["class_of"].attrs["names"]).split("|")
    return [names[label] for label in labels]


@dataclass(frozen=True)
class ItemScores(Scorer):
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

    kind = unmeasured("area", "classes")

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Score | Resampled]:
        """Yield the area first, then thresholds, ends, the other direction, and people."""
        items = Items(data)
        yield items.area
        if not items.classes:
            return
        yield _threshold("threshold", items, items.level_at())
        if items.task == "2afc" and items.is_grid:
            yield _threshold("threshold-75", items, items.level_at(0.75))
        if items.is_grid:
            curve = items.curve
            for name, at in (("accuracy-original", 0), ("accuracy-end", -1)):
                of = unmeasured(name, "classes", chance=items.chance)
                value, low, high = (float(each[at]) for each in (curve.accuracy, *curve.band))
                note = f"at level {curve.levels[at]:.3g}"
                yield of.with_value(value, (low, high), items.n, note)
        if items.task == "2afc":
            of = unmeasured("undefined", "classes", False, best=0.0, chance=1.0)
            note = f"decisions that could not be made: {items.undefined} of {items.n}"
            yield of.of_share(items.undefined, items.n, note)
        if len(items.runs) > 1:
            yield _spread(items)
        opposite = at_place_of(data, others[0] if others else None)
        if opposite is not None:
            yield _asymmetry(items, Items(opposite))
        points = self.points(str(data.attrs["test"]))
        for point in points:
            name = "people-difference" + (f"-{point.level:.3g}" if len(points) > 1 else "")
            yield _difference(unmeasured(name, "classes", None, np.nan, np.nan), items, point)

    def points(self, test: str) -> list[HumanPoint]:
        """Return what people did in a test, by level."""
        return [] if self.people is None else item_curves.human_points(self.people.of_test(test))

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the classes of which both were shown something."""
        parts = first, second
        shown = [part["class_of"].values[np.isfinite(part["right"].values)] for part in parts]
        both = np.intersect1d(*shown)
        if all(np.isin(each, both).all() for each in shown):
            return first, second
        a, b = (part.isel(trial=np.isin(part["class_of"].values, both)) for part in parts)
        return a, b


def _difference(of: Score, items: Items, point: HumanPoint) -> Score:
    """Return by how much an observer is better than people at their level, and what each does.

    Accuracy is interpolated between levels that were shown.
    """
    if point.level > items.ends[1] * (1 + item_curves.SAME_LEVEL):
        note = f"not computable: nothing beyond {items.ends[1]:.3g} was shown"
        return of.with_value(np.nan, n=items.n, note=note)
    levels, chance = items.curve.levels, items.chance
    first = levels[levels > 0].min(initial=np.inf) / 2
    at, x = np.log(max(point.level, first)), np.log(np.maximum(levels, first))
    ours, low, high = (
        (float(np.interp(at, x, y)) - chance) / (1 - chance)
        for y in (items.curve.accuracy, *items.curve.band)
    )
    theirs, their_low, their_high = point.corrected
    value = ours - theirs
    below = float(np.hypot(ours - low, their_high - theirs))
    above = float(np.hypot(high - ours, theirs - their_low))
    note = (
        f"at level {point.level:.3g}: {ours:.3f} and {theirs:.3f} of {point.people} people "
        f"({point.trials} trials, chance {point.chance:.3g}), chance-corrected"
    )
    return of.with_value(value, (value - below, value + above), items.n, note)


def _threshold(name: str, items: Items, found: Located) -> Score:
    first, last = items.ends
    words = {
        "": "",
        "above": f"above {found.bound:.3g}, the strongest level that was shown",
        "below": f"below {found.bound:.3g}, the weakest level that was shown",
        "unknown": "not computable: there is nothing to fall",
    }
    note = words[found.censored]
    if not found.censored and (found.low < first or found.high > last):
        note = f"its interval reaches beyond what was shown, {first:.3g} to {last:.3g}"
    of = unmeasured(name, "classes", best=np.nan, chance=np.nan)
    return of.with_value(found.value, (found.low, found.high), items.n, note)


def _spread(items: Items) -> Score:
    """Return the largest difference between two runs at any level."""
    curves = np.array([item_curves.pooled_curve(*counts).accuracy for counts in items.runs])
    weights = cluster_counts(items.classes) / items.classes
    drawn = np.ptp([weights @ np.nan_to_num(counts.rates) for counts in items.runs], axis=0)
    low, high = np.percentile(drawn.max(axis=1), (2.5, 97.5))
    value = float(np.nanmax(np.ptp(curves, axis=0)))
    deviation = float(np.nanmean(curves.std(axis=0, ddof=1)))
    note = f"{len(curves)} runs; standard deviation between them {deviation:.3f} on average"
    of = unmeasured("dropout-spread", "classes", False, best=0.0, chance=1.0)
    ends = min(value, float(low)), max(value, float(high))
    return of.with_value(value, ends, items.n, note)


def _asymmetry(items: Items, opposite: Items) -> Score:
    """Return the area in one direction minus that in the other, of the same classes and levels."""
    is_down = items.manipulation.endswith("-down")
    up, down = (opposite, items) if is_down else (items, opposite)
    span = max(up.ends[0], down.ends[0]), min(up.ends[1], down.ends[1])
    _, i, j = np.intersect1d(up.labels, down.labels, return_indices=True)
    apart = up.areas_over(span)[i] - down.areas_over(span)[j]
    apart = apart[np.isfinite(apart)]
    note = (
        f"area of {up.manipulation} minus {down.manipulation}, "
        f"over levels {span[0]:.3g} to {span[1]:.3g}"
    )
    value = float(apart.mean()) if len(apart) else np.nan
    of = unmeasured("up-minus-down", "classes", None, np.nan, np.nan)
    return of.with_value(value, item_curves.area_interval(apart, least=-1.0), items.n, note)


_LOST, _MULTIPLES = 12, 16  # pictures of the gallery, and classes with a panel of their own


@dataclass(frozen=True)
class ItemPanels:
    """Draws what a scorer found."""

    scorer: ItemScores

    def __call__(self, experiment: Any, data: xr.Dataset, *others: Any) -> list[Panel]:
        """Return the curve, classes by level, thresholds of classes, and what is lost first."""
        items = Items(data)
        if not items.classes:
            return []
        opposite = at_place_of(data, others[0] if others else None)
        found = [self._curve(experiment, items, opposite)]
        if items.classes > 1:
            axis = _level_axis(experiment, experiment.manipulation.axis)
            x = _shown_at(experiment, items.counts.levels)
            found += [_classes(x, items, axis)] if items.is_grid else []
            found += [*_of_classes(experiment, items, axis), *_lost(experiment, items)]
            found += _multiples(x, items, axis) if items.is_grid else []
        return found

    def _curve(self, experiment: Any, items: Items, opposite: xr.Dataset | None) -> Panel:
        manipulation = experiment.manipulation
        own = manipulation.name.rpartition("-")[2] if manipulation.opposite else "observer"
        marks = self._lines(experiment, items, 0, own)
        label = manipulation.axis
        if opposite is not None:
            other = Items(opposite)
            axis = str(opposite.attrs["axis"])
            label = label if axis == label else f"{label}, or {axis}"
            direction = other.manipulation.rpartition("-")[2]
            marks += self._lines(experiment, other, 1, direction) if other.classes else []
        marks.append(guide(experiment.original_at, experiment.placement.levels[-1], items.chance))
        if points := self.scorer.points(experiment.id):
            # On the scale of an observer who has other choices.
            x = np.array([point.level or experiment.original_at for point in points])
            corrected = np.array([point.corrected for point in points]).T
            y, low, high = items.chance + (1 - items.chance) * corrected
            names = tuple(
                f"{point.people} people, {point.trials} trials of {1 / point.chance:.3g} "
                f"choices, {point.accuracy:.0%} right"
                for point in points
            )
            people = "people, put to the same chance"
            marks.append(Points(x, y, people, low=low, high=high, human=True, names=names))
        return Panel(
            "accuracy",
            f"Accuracy by level: {manipulation.title}",
            _level_axis(experiment, label),
            ACCURACY,
            tuple(marks),
            groups="direction" if opposite is not None else "",
            rows=(0,),
        )

    def _lines(self, experiment: Any, items: Items, group: int, label: str) -> list[Mark]:
        """Return the curve, the fan of its runs, and the threshold."""

        def xy(counts: Counts) -> tuple[Floats, Floats]:
            x = _shown_at(experiment, counts.levels)
            window = min(self.scorer.window, len(x) - 1 + len(x) % 2)
            return x, item_curves.smoothed(item_curves.pooled_curve(*counts).accuracy, window)

        if items.is_grid:
            low, high = items.curve.band
            marks: list[Mark] = [Line(*xy(items.counts), label, group, low=low, high=high)]
        else:
            levels = np.array(experiment.placement.levels[1:])
            marks = [Line(levels, items.population.accuracy(levels), label, group)]
        if len(items.runs) > 1:
            marks += [Line(*xy(counts), label, group, style="fan") for counts in items.runs]
        found = items.level_at()
        return [*marks, Vertical(found.value, f"threshold, {label}", found.low, found.high, group)]


def _shown_at(experiment: Any, levels: Floats) -> Floats:
    """Return where levels are drawn: the original has a place of its own."""
    return np.where(levels > 0, levels, experiment.original_at)


def _level_axis(experiment: Any, label: str) -> Axis:
    """Return levels with the original at the right, as published."""
    return Axis(label, log=True, reversed=True, named=((experiment.original_at, "original"),))


def _classes(x: Floats, items: Items, axis: Axis) -> Panel:
    order = items.lost_first
    places, rates = np.arange(len(order), dtype=float), items.counts.rates[order].T
    surface = Surface(x, places, rates, label="accuracy", low=0.0, high=1.0)
    title = "Accuracy of each class, those that are lost first at the bottom"
    classes = Axis("class", ticks=tuple(items.names[place] for place in order))
    return Panel("classes by level", title, axis, classes, (surface,))


def _of_classes(experiment: Any, items: Items, axis: Axis) -> list[Panel]:
    """Return how many classes are lost by a level; those that never are, are not among them."""
    order = items.lost_first[np.isfinite(items.lost_at[items.lost_first])]
    if not len(order):
        return []
    at = np.maximum(items.lost_at[order], experiment.original_at)
    share = np.arange(1, len(order) + 1) / items.classes
    points = Points(at, share, "classes", names=tuple(items.names[place] for place in order))
    title = "Share of classes that are lost at a level or before"
    y = Axis("share of classes", low=0.0, high=1.0)
    return [Panel("thresholds of classes", title, axis, y, (points,), stimuli=False)]


def _lost(experiment: Any, items: Items) -> list[Panel]:
    """Return pictures of the classes that are lost first; none where none is lost."""
    weakest = experiment.placement.levels[1]
    found: list[Item] = []
    for place in items.lost_first[:_LOST].tolist():
        at = float(items.lost_at[place])
        if np.isfinite(at):
            when = f"lost at about {at:.3g}" if at >= weakest else "lost from the start"
            picture = experiment.pictures.shown(*items.picture_of(place))
            found.append(Item(picture, items.names[place], when))
    title = f"Classes that are lost first, and at which {experiment.manipulation.axis}"
    return [gallery_panel("lost first", title, found)] if found else []


def _multiples(x: Floats, items: Items, axis: Axis) -> list[Panel]:
    """Return the curves of some classes by themselves, from the one that is lost first on."""
    order = items.lost_first
    some = order[np.unique(np.linspace(0, len(order) - 1, _MULTIPLES).round().astype(int))]
    guessing = guide(x.min(), x.max(), items.chance)
    title = "Accuracy of some classes, from the one that is lost first on"
    found = []
    for place in some.tolist():
        marks = (Line(x, items.counts.rates[place], "observer"), guessing)
        name = items.names[place]
        kind = "curves of classes"
        found.append(Panel(kind, title, axis, ACCURACY, marks, stimuli=False, name=name))
    return found

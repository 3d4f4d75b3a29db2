"""Panels of item-response curves: the curve with people beside, classes by level, what is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.item_scores import Items, ItemScores, band
from fechner.scores.panels import (
    Axis,
    Gallery,
    Item,
    Line,
    Mark,
    Panel,
    Points,
    Surface,
    Vertical,
)
from fechner.scores.response_curves import Counts, pooled_curve, smoothed

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ACCURACY = Axis("accuracy", low=0.0, high=1.0)

#: Pictures of the gallery, and classes whose curves are drawn by themselves.
_LOST, _MULTIPLES = 12, 16

_ORIGINAL = "original"


@dataclass(frozen=True)
class ItemPanels:
    """Draws what a scorer found.

    Parameters
    ----------
    scorer
        The one whose curves are shown.
    """

    scorer: ItemScores

    def __call__(self, experiment: Any, data: xr.Dataset, *others: Any) -> list[Panel]:
        """Return the curve, classes by level, thresholds of classes, and what is lost first."""
        items = Items(data)
        if not items.classes:
            return []
        opposite = others[0] if others else None
        if opposite is not None and opposite["layer"].ndim:
            place = {name: str(data[name].values) for name in ("layer", "readout")}
            opposite = opposite.sel(**place)
        axis = _level_axis(experiment, experiment.manipulation.axis)
        lost = _thresholds(items)
        found = [self._curve(experiment, items, opposite, axis)]
        if items.table.is_grid and items.classes > 1:
            found += [_classes(items, lost, axis, experiment)]
        if items.classes > 1:
            found += [
                *_of_classes(items, lost, axis, experiment),
                *_lost(experiment, items, lost),
            ]
        if items.table.is_grid and items.classes > 1:
            found += _multiples(experiment, items, lost, axis)
        return found

    def _curve(
        self, experiment: Any, items: Items, opposite: xr.Dataset | None, axis: Axis
    ) -> Panel:
        marks: list[Mark] = [*self._lines(experiment, items, 0, _direction(experiment))]
        if opposite is not None:
            other = Items(opposite)
            words = str(opposite.attrs["manipulation"]).rpartition("-")[2]
            marks += self._lines(experiment, other, 1, words) if other.classes else []
        ends = np.array([experiment.original_at, experiment.placement.levels[-1]])
        chance = np.full(2, items.table.chance)
        marks.append(Line(ends, chance, "chance", style="guide"))
        points = self.scorer.points(experiment.id)
        if points:
            # On the scale of this observer, who has other choices.
            c = items.table.chance
            value, low, high = (
                c + (1 - c) * np.array([point.corrected[i] for point in points]) for i in range(3)
            )
            marks.append(
                Points(
                    np.array([point.level or experiment.original_at for point in points]),
                    value,
                    "people, put to the same chance",
                    low=low,
                    high=high,
                    human=True,
                    names=tuple(
                        f"{point.people} people, {point.trials} trials of {1 / point.chance:.3g} "
                        f"choices, {point.accuracy:.0%} right"
                        for point in points
                    ),
                )
            )
        if opposite is not None:
            both = dict.fromkeys([axis.label, str(opposite.attrs["axis"])])
            axis = _level_axis(experiment, ", or ".join(both))
        return Panel(
            "accuracy",
            f"Accuracy by level: {experiment.manipulation.title}",
            axis,
            _ACCURACY,
            tuple(marks),
            groups="direction" if opposite is not None else "",
            rows=(0,),
        )

    def _lines(self, experiment: Any, items: Items, group: int, label: str) -> list[Mark]:
        """Return the curve, the fan of its runs, and the threshold."""
        marks: list[Mark] = []
        table = items.table
        if len(table.runs) > 1:
            marks += [
                Line(*self._xy(experiment, counts), label, group=group, style="fan")
                for counts in table.by_run.values()
            ]
        if table.is_grid:
            curve = items.curve
            x, y = self._xy(experiment, table.counts)
            low, high = band(curve)
            marks.insert(0, Line(x, y, label, group=group, low=low, high=high))
        else:
            levels = np.array(experiment.placement.levels[1:])
            marks.insert(0, Line(levels, items.population.accuracy(levels), label, group=group))
        found = items.threshold
        marks.append(
            Vertical(found.value, f"threshold, {label}", found.low, found.high, group=group)
        )
        return marks

    def _xy(self, experiment: Any, counts: Counts) -> tuple[Floats, Floats]:
        curve = pooled_curve(*counts)
        x = np.where(curve.levels > 0, curve.levels, experiment.original_at)
        window = min(self.scorer.window, len(x) - 1 + len(x) % 2)
        return x, smoothed(curve.accuracy, window)


def _level_axis(experiment: Any, label: str) -> Axis:
    """Return levels with the original at the right, as published."""
    return Axis(
        label,
        log=True,
        reversed=True,
        named=((experiment.original_at, _ORIGINAL),),
    )


def _direction(experiment: Any) -> str:
    manipulation = experiment.manipulation
    return manipulation.name.rpartition("-")[2] if manipulation.opposite else "observer"


def _thresholds(items: Items) -> Floats:
    """Return the level at which each class is lost by a curve of its own.

    Half the weakest if it is not recognised as it is, infinite if it is not lost by the strongest.
    """
    levels, n, right = items.table.counts
    chance = items.table.chance
    shown = levels[levels > 0]
    if items.table.is_grid:
        from fechner.psychometrics.likelihood import fit_falling

        fits = fit_falling(levels, n, right, chance=chance)
        original = right[:, levels == 0].sum(axis=1) / n[:, levels == 0].sum(axis=1)
        is_never = (original <= (1 + chance) / 2) | np.isin(fits.censored, ("below", "unknown"))
        found = np.where(fits.censored == "above", np.inf, fits.threshold)
    else:
        fitted = items.population
        is_never = fitted.never_recognised > 0.5
        found = 10.0**fitted.log_thresholds
        found = np.where(found > items.table.ends[1], np.inf, found)
    return np.where(is_never, shown.min() / 2, found)


def _lost_first(items: Items, thresholds: Floats) -> NDArray[np.intp]:
    """Return places of classes, those that are lost first before others, then the worse ones."""
    _, n, right = items.table.counts
    return np.lexsort((right.sum(axis=1) / n.sum(axis=1), thresholds))


def _classes(items: Items, thresholds: Floats, axis: Axis, experiment: Any) -> Panel:
    order = _lost_first(items, thresholds)
    levels, n, right = items.table.counts
    names = tuple(items.table.names[place] for place in order)
    surface = Surface(
        np.where(levels > 0, levels, experiment.original_at),
        np.arange(len(order), dtype=float),
        (right / n)[order].T,
        label="accuracy",
        low=0.0,
        high=1.0,
    )
    return Panel(
        "classes by level",
        "Accuracy of each class, those that are lost first at the bottom",
        axis,
        Axis("class", ticks=names),
        (surface,),
    )


def _of_classes(items: Items, thresholds: Floats, axis: Axis, experiment: Any) -> list[Panel]:
    """Return how many classes are lost by a level; those that never are, are not among them."""
    order = _lost_first(items, thresholds)
    order = order[np.isfinite(thresholds[order])]
    if not len(order):
        return []
    share = np.arange(1, len(order) + 1) / len(thresholds)
    names = tuple(items.table.names[place] for place in order)
    at = np.maximum(thresholds[order], experiment.original_at)
    return [
        Panel(
            "thresholds of classes",
            "Share of classes that are lost at a level or before",
            axis,
            Axis("share of classes", low=0.0, high=1.0),
            (Points(at, share, "classes", names=names),),
            stimuli=False,
        )
    ]


def _lost(experiment: Any, items: Items, thresholds: Floats) -> list[Panel]:
    """Return pictures of the classes that are lost first; none where none is lost."""
    weakest = experiment.placement.levels[1]
    order = _lost_first(items, thresholds)
    found = []
    for place in order[np.isfinite(thresholds[order])][:_LOST].tolist():
        label, index = items.table.picture_of(place)
        at = float(thresholds[place])
        when = f"lost at about {at:.3g}" if at >= weakest else "lost from the start"
        found.append(Item(experiment.pictures.shown(label, index), items.table.names[place], when))
    if not found:
        return []
    return [
        Panel(
            "lost first",
            f"Classes that are lost first, and at which {experiment.manipulation.axis}",
            Axis(""),
            Axis(""),
            (Gallery(tuple(found)),),
            stimuli=False,
        )
    ]


def _multiples(experiment: Any, items: Items, thresholds: Floats, axis: Axis) -> list[Panel]:
    """Return the curves of some classes by themselves, from the one that is lost first on."""
    order = _lost_first(items, thresholds)
    some = order[np.unique(np.linspace(0, len(order) - 1, _MULTIPLES).round().astype(int))]
    levels, n, right = items.table.counts
    x = np.where(levels > 0, levels, experiment.original_at)
    ends = np.array([x.min(), x.max()])
    guessing = Line(ends, np.full(2, items.table.chance), "chance", style="guide")
    return [
        Panel(
            "curves of classes",
            "Accuracy of some classes, from the one that is lost first on",
            axis,
            _ACCURACY,
            (Line(x, right[place] / n[place], "observer"), guessing),
            stimuli=False,
            name=items.table.names[place],
        )
        for place in some.tolist()
    ]

"""How many pictures are recognised as they are, and how surely the best of each class is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import cluster_counts, interval
from fechner.scores.item_table import names_of
from fechner.scores.notes import join_notes, left_out
from fechner.scores.rates import wilson
from fechner.scores.score import Resampled, Score

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Views:
    """Decision scores of the pictures of each class, of one layer and read-out.

    Attributes
    ----------
    classes, names
        Places of the classes of which a picture could be shown, and their names.
    """

    def __init__(self, data: xr.Dataset) -> None:
        self.layer, self.readout = str(data["layer"].values), str(data["readout"].values)
        self.chance = float(data.attrs["chance"])
        right = data["right"].values.astype(float)
        shown = np.isfinite(right)
        self.right: Floats = right[shown]
        self.score: Floats = data["score"].values.astype(float)[shown]
        self.index: NDArray[np.int32] = data["index"].values[shown]
        self.classes, self.cluster = np.unique(data["class_of"].values[shown], return_inverse=True)
        self.names = names_of(data, self.classes)
        self.note = join_notes(
            left_out(data["problem"]).replace("points", "pictures"),
            str(data.attrs.get("unreadable", "")).rstrip("."),
        )

    @cached_property
    def by_class(self) -> tuple[Floats, Floats]:
        """Pictures that are recognised, and pictures, of each class."""
        right, n = np.zeros((2, len(self.classes)))
        np.add.at(right, self.cluster, self.right)
        np.add.at(n, self.cluster, 1.0)
        return right, n

    @cached_property
    def best(self) -> NDArray[np.intp]:
        """The place of a picture with the highest decision score, of each class."""
        order = np.lexsort((-self.score, self.cluster))
        first = np.searchsorted(self.cluster[order], np.arange(len(self.classes)))
        return np.asarray(order[first])

    @cached_property
    def ties(self) -> int:
        """How many classes have several pictures with the highest decision score."""
        highest = self.score[self.best][self.cluster]
        return int((np.bincount(self.cluster, self.score == highest) > 1).sum())

    @property
    def resamples(self) -> Floats:
        """The share that is recognised, of other classes."""
        right, n = self.by_class
        counts = cluster_counts(len(n))
        return np.asarray((counts @ right) / (counts @ n))


@dataclass(frozen=True)
class ViewScores:
    """Accuracy on pictures as they are, and of the best picture of each class."""

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        return [score for _, _, part in outputs(data) for score in self._scores(Views(part))]

    def _scores(self, views: Views) -> Iterator[Score]:
        yield _accuracy(views)
        n = len(views.classes)
        known = float((views.score[views.best] > 0).sum()) if n else float("nan")
        low, high = wilson(known, n) if n else (float("nan"),) * 2
        yield Score(
            "preferred-recognised",
            known / n if n else float("nan"),
            low,
            high,
            higher_is_better=True,
            best=1.0,
            chance=views.chance,
            resampled="classes",
            n=n,
            layer=views.layer,
            readout=views.readout,
            note=f"{views.ties} of {n} classes have ties" if n else "",
        )

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the accuracy of one layer and read-out with its bootstrap over classes."""
        views = Views(data)
        return Resampled(_accuracy(views), views.resamples, views.classes * 1.0, "share")

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the pictures that both were shown."""
        _, i, j = np.intersect1d(_keys(first), _keys(second), return_indices=True)
        shown = [np.flatnonzero(part["problem"].values == 0) for part in (first, second)]
        return first.isel(picture=shown[0][i]), second.isel(picture=shown[1][j])

    def printed(self, value: float, experiment: Any) -> Score:
        """Return an accuracy of which only the value is known."""
        nothing = float("nan")
        return Score("accuracy", value, nothing, nothing, True, 1.0, 0.0, resampled="classes", n=0)


def _keys(data: xr.Dataset) -> NDArray[np.int64]:
    """Return a number for each picture that could be shown."""
    key = (data["class_of"].values.astype(np.int64) << 32) + data["index"].values
    return np.asarray(key[data["problem"].values == 0])


def _accuracy(views: Views) -> Score:
    right, n = views.by_class
    value = float(right.sum() / n.sum()) if len(n) else float("nan")
    unseen = "" if len(n) else "not computable: nothing could be shown"
    low, high = interval(value, views.resamples, len(n), "share") if len(n) > 1 else (np.nan,) * 2
    if len(n):
        # Classes that agree do not make an accuracy certain.
        within = wilson(float(right.sum()), float(n.sum()))
        low, high = np.nanmin([low, within[0]]), np.nanmax([high, within[1]])
    return Score(
        "accuracy",
        value,
        float(np.maximum(0.0, low)),
        float(np.minimum(1.0, high)),
        higher_is_better=True,
        best=1.0,
        chance=views.chance,
        resampled="classes",
        n=int(n.sum()),
        layer=views.layer,
        readout=views.readout,
        note=join_notes(views.note, unseen),
    )

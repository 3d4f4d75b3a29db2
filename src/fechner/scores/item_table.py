"""A table of trials as counts by class and level."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fechner.scores.notes import join_notes, left_out
from fechner.scores.response_curves import Counts, counted

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def names_of(data: xr.Dataset, classes: NDArray[np.int32]) -> list[str]:
    """Return the names of classes."""
    names = str(data["class_of"].attrs["names"]).split("|")
    return [names[label] for label in classes]


class ItemTable:
    """Trials of one layer and read-out.

    Attributes
    ----------
    classes, names
        Places of the classes of which a picture was shown, and their names.
    ends, most
        The weakest and the strongest level that may be shown, and the strongest there can be.
    counts
        Levels that were shown, and trials and right answers, [classes, levels]; where levels were
        chosen one by one most cells have none.
    runs
        Numbers of the runs of dropout; 0 alone without.
    undefined
        Decisions that could not be made.
    """

    def __init__(self, data: xr.Dataset) -> None:
        self.layer, self.readout = str(data["layer"].values), str(data["readout"].values)
        self.task = str(data.attrs["task"])
        self.chance = float(data.attrs["chance"])
        self.most = float(data.attrs["most"])
        self.ends = float(data.attrs["weakest"]), float(data.attrs["strongest"])
        right = data["right"].values.astype(float)
        shown = np.isfinite(right)
        self._right: Floats = right[shown]
        self._level: Floats = data["level"].values[shown]
        self._run = data["dropout_run"].values[shown]
        self._index = data["index"].values[shown]
        self.undefined = int(data["undefined"].values[shown].sum())
        self.classes, self._class = np.unique(data["class_of"].values[shown], return_inverse=True)
        self.names = names_of(data, self.classes)
        self.runs: list[int] = np.unique(self._run).tolist()
        self.counts = self._counted(np.ones(len(self._right), bool))
        without = int(np.setdiff1d(data["class_of"].values, self.classes).size)
        self.note = join_notes(
            left_out(data["problem"]).replace("points", "trials"),
            f"nothing of {without} classes could be shown" if without else "",
            str(data.attrs.get("unreadable", "")).rstrip("."),
        )

    def __len__(self) -> int:
        return len(self._right)

    def _counted(self, chosen: NDArray[np.bool_]) -> Counts:
        return counted(
            self._class[chosen], self._level[chosen], self._right[chosen], len(self.classes)
        )

    @property
    def is_grid(self) -> bool:
        """Whether every class was shown at every level."""
        return bool((self.counts.n > 0).all())

    @cached_property
    def by_run(self) -> dict[int, Counts]:
        """Counts of each run."""
        return {run: self._counted(self._run == run) for run in self.runs}

    def picture_of(self, place: int) -> tuple[int, int]:
        """Return class and place of the first picture of a class that was shown."""
        first = int(np.argmax(self._class == place))
        return int(self.classes[place]), int(self._index[first])

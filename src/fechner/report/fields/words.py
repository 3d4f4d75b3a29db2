"""Receptive fields in words and pictures, for all kinds of sheets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from fechner.physiology import KINDS, ReceptiveField, Tuning, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BY = {
    "jacobian": "derivatives at the grey",
    "jacobians": "derivatives at {pictures:,} pictures of noise of contrast {contrast:g}",
    "deltas": "increments and decrements of single pixels by {contrast:g} of the grey",
    "noise": "reverse correlation with {pictures:,} pictures of noise of contrast {contrast:g}",
}


#: The largest weights that add up to this share of all absolute weights are shown; what is beyond
#: all of them is not.
_SHOWN = 0.95


@dataclass(frozen=True)
class Section:
    """The receptive fields of one layer of one observer."""

    observer: str
    layer: str
    tunings: tuple[Tuning, ...]

    @cached_property
    def part(self) -> Window:
        """What is shown of the layer's window: all that there is much of in any field."""
        seen = np.zeros(self.tunings[0].field.window.size_px, dtype=bool)
        for tuning in self.tunings:
            sizes = np.abs(tuning.field.weights).sum(axis=0)
            falling = -np.sort(-sizes, axis=None)
            held = np.cumsum(falling)
            least = falling[np.searchsorted(held, _SHOWN * held[-1])]
            seen |= (sizes >= least * (1 - 1e-6)) & (sizes > 0)  # all that are as large as that
        return Window.around(seen)

    def picture(self, tuning: Tuning) -> NDArray[np.uint8]:
        """Return one of its fields as it is shown, [h, w, 3]."""
        rows, columns = self.part.slices
        return picture(tuning.field)[rows, columns]

    @property
    def counts(self) -> str:
        """How many there are of each kind."""
        n = len(self.tunings)
        return f"{n} unit{'s' if n != 1 else ''}: {count_kinds(self.tunings)}"

    @property
    def method(self) -> str:
        """How they were found, and how large they are shown."""
        field = self.tunings[0].field
        height, width = (side / field.field.ppd for side in self.part.size_px)
        by = "jacobians" if field.by == "jacobian" and field.pictures > 1 else field.by
        how = _BY[by].format(contrast=field.contrast or 0.0, pictures=field.pictures)
        of = "linear light" if field.conditions.of == "light" else "display-encoded values"
        return (
            f"weights of {of} by {how}; grey of {field.conditions.luminance_cdm2:g} cd/m2 on "
            f"display '{field.conditions.display.name}'; {width:.3g} x {height:.3g} degrees shown"
        )


def sections(tunings: Iterable[Tuning]) -> list[Section]:
    """Return receptive fields by observer and layer, in the order in which they come."""
    groups = groupby(tunings, key=lambda each: (each.field.observer, each.field.layer))
    return [Section(observer, layer, tuple(some)) for (observer, layer), some in groups]


def count_kinds(tunings: Sequence[Tuning]) -> str:
    """Return how many fields there are of each kind, in words."""
    counts = Counter(tuning.kind for tuning in tunings)
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])


def picture(field: ReceptiveField) -> NDArray[np.uint8]:
    """Return weights as colours around mid-grey, the largest weight at full scale: [h, w, 3]."""
    largest = float(np.abs(field.weights).max())
    scaled = 0.5 + 0.5 * field.weights / (largest or 1.0)
    shown: NDArray[np.uint8] = np.moveaxis((255 * scaled).round().astype(np.uint8), 0, -1)
    return shown


def caption(tuning: Tuning) -> tuple[str, str, str]:
    """Return three short lines: unit and kind, frequency and orientation, what fits explain."""
    first = f"{tuning.field.unit.channel} {tuning.kind}"
    if tuning.gabor is None or tuning.dog is None:
        return first, "not fitted", tuning.colour.axis
    gabor = tuning.gabor
    return (
        first,
        f"{gabor.peak_cpd:.3g} cpd, {round(gabor.orientation_deg) % 180}°, {tuning.colour.axis}",
        f"R² {gabor.r2:.2f}, DoG {tuning.dog.r2:.2f}",
    )

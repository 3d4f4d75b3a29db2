"""A receptive field: how a unit's response changes with the light of every pixel and channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fechner.errors import FechnerError
from fechner.physiology.conditions import Conditions
from fechner.physiology.units import Unit
from fechner.stimuli import Field

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: How a receptive field was obtained.
By = Literal["jacobian", "deltas", "noise"]


@dataclass(frozen=True)
class Window:
    """A rectangle of pixels of a field: rows from top to bottom, columns from left to right.

    Examples
    --------
    >>> Window.centred(Field.of(pixels=128, ppd=64), 0.5)
    Window(top=48, bottom=80, left=48, right=80)
    """

    top: int
    bottom: int
    left: int
    right: int

    @classmethod
    def whole(cls, field: Field) -> Window:
        """Return all of a field."""
        return cls(0, field.height_px, 0, field.width_px)

    @classmethod
    def centred(cls, field: Field, size_deg: float) -> Window:
        """Return the middle of a field, a square of this size or what there is of it."""
        side = max(1, round(size_deg * field.ppd))
        top, left = ((n - min(side, n)) // 2 for n in (field.height_px, field.width_px))
        return cls(top, top + min(side, field.height_px), left, left + min(side, field.width_px))

    @classmethod
    def around(cls, there: NDArray[np.bool_]) -> Window:
        """Return the smallest window that holds every pixel that is set; all if none is."""
        rows, columns = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
        if not len(rows):
            return cls(0, there.shape[0], 0, there.shape[1])
        return cls(int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1)

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def size_px(self) -> tuple[int, int]:
        """Height and width."""
        return self.bottom - self.top, self.right - self.left

    def within(self, outer: Window) -> Window:
        """Return the same pixels, counted from the corner of another window."""
        return Window(
            self.top - outer.top,
            self.bottom - outer.top,
            self.left - outer.left,
            self.right - outer.left,
        )

    def joined(self, other: Window) -> Window:
        """Return the smallest window that holds both."""
        return Window(
            min(self.top, other.top),
            max(self.bottom, other.bottom),
            min(self.left, other.left),
            max(self.right, other.right),
        )

    def check(self, field: Field) -> None:
        """Say so if a field does not hold it."""
        inside = 0 <= self.top < self.bottom <= field.height_px
        if not (inside and 0 <= self.left < self.right <= field.width_px):
            raise FechnerError(
                f"rows {self.top} to {self.bottom} and columns {self.left} to {self.right} are no "
                f"window in a field of {field.height_px} x {field.width_px} px."
            )


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """The weights of a unit, with how they were obtained.

    Parameters
    ----------
    by
        ``jacobian``, ``deltas`` or ``noise``.
    weights
        [3, h, w]: response per cd/m2 of linear R, G and B, or per unit of display-encoded value, as
        the conditions say; 0 outside of the window, or not measured there.
    window
        Which pixels of the field the weights are of.
    pictures
        How many pictures were shown to find it.
    contrast
        Of deltas and noise, relative to the grey.
    errors
        Standard error of each weight where it is an estimate: from noise.
    linear
        Share of the variance of responses to noise that the weights explain, corrected for the
        errors of the weights; 1 is a unit that is linear in light.
    channels
        How many channels its layer has, recorded or not; 0 if that is not known.
    """

    observer: str
    layer: str
    unit: Unit
    by: By
    weights: NDArray[np.float64]
    conditions: Conditions
    window: Window
    pictures: int
    contrast: float | None = None
    errors: NDArray[np.float64] | None = None
    linear: float | None = None
    channels: int = 0

    @property
    def field(self) -> Field:
        """The field that was shown."""
        return self.conditions.field

    @property
    def name(self) -> str:
        """Layer, channel and place."""
        place = ",".join(map(str, self.unit.place))
        return f"{self.layer}[{self.unit.channel}]" + (f" at {place}" if place else "")

    def grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return x [1, w] (rightwards) and y [h, 1] (upwards) of its pixels in degrees.

        They are counted from the centre of the field.
        """
        x, y = self.field.grid()
        rows, columns = self.window.slices
        return x[:, columns].numpy(), y[rows].numpy()

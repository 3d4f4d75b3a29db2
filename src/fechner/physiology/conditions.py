"""Under which conditions units are recorded: the field, a window of it, and a grey on a display."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, GamutError
from fechner.observers.abilities import Wants
from fechner.stimuli import Display, Field, Frames, display

#: What weights multiply: linear RGB in cd/m2, or the display-encoded values 0..1.
Of = Literal["light", "pixels"]

#: The conditions of the suite `decalogue`.
FIELD = Field.of(pixels=128, ppd=64)
DISPLAY = display("decalogue")
LUMINANCE_CDM2 = 40.0


@dataclass(frozen=True)
class Conditions:
    """A uniform grey on a display, R = G = B, around which responses are measured.

    Parameters
    ----------
    field
        What the unit is shown; an observer that wants another size gets it at the same ppd.
    of
        What weights are a derivative with respect to: ``light``, linear RGB in cd/m2, in which
        colour weights are defined; or ``pixels``, the display-encoded values. Around a grey the two
        differ by one factor per colour channel, the slope of the display there.

    Examples
    --------
    >>> Conditions().luminance_cdm2, round(Conditions().encoded[1], 3)
    (40.0, 0.516)
    """

    field: Field = FIELD
    display: Display = DISPLAY
    luminance_cdm2: float = LUMINANCE_CDM2
    of: Of = "light"

    def __post_init__(self) -> None:
        if self.of not in get_args(Of):
            raise FechnerError(f"of must be {' or '.join(get_args(Of))}, not '{self.of}'.")
        if self.field.is_video:
            raise FechnerError("receptive fields are measured with still pictures, not with video.")
        if self.display.bits is not None:
            raise GamutError(
                f"display '{self.display.name}' rounds to {self.display.bits} bits, which hides "
                "small steps of light; use a display without bits."
            )
        if self.of != "light" and self.display.eotf == "hlg":
            raise FechnerError(
                f"one HLG value of display '{self.display.name}' depends on the light of all three "
                "channels: use of='light', or another display."
            )
        low, high = self.display.limits_cdm2()
        if not low < self.luminance_cdm2 < high:
            raise GamutError(
                f"a grey of {self.luminance_cdm2:g} cd/m2 leaves no room for increments and "
                f"decrements between {low:g} and {high:g} cd/m2 of display '{self.display.name}'."
            )

    @property
    def encoded(self) -> tuple[float, float, float]:
        """Display-encoded values of the grey."""
        light = torch.full((3, 1, 1), self.luminance_cdm2, dtype=torch.float64)
        red, green, blue = self.display.encode(light).flatten().tolist()
        return red, green, blue

    @property
    def grey(self) -> tuple[float, float, float]:
        """The grey, as light or pixels."""
        luminance = self.luminance_cdm2
        return (luminance, luminance, luminance) if self.of == "light" else self.encoded

    def room(self) -> float:
        """Return the largest contrast, up and down, that the display can show around the grey."""
        low, high = self.display.limits_cdm2() if self.of == "light" else (0.0, 1.0)
        return min(min(value - low, high - value) / value for value in self.grey)

    def check_contrast(self, contrast: float, what: str) -> None:
        """Raise an error if a contrast cannot be shown."""
        room = self.room()
        if not 0 < contrast <= room:
            raise GamutError(
                f"{what} of contrast {contrast:g} cannot be shown on a grey of "
                f"{self.luminance_cdm2:g} cd/m2 on display '{self.display.name}'; take one above 0 "
                f"and at most {room:.3g}."
            )

    def seen_by(self, wants: Wants) -> Conditions:
        """Return the conditions with a field of the size that an observer wants."""
        size = wants.size_px
        return self if size is None else replace(self, field=self.field.resized(size))

    def uniform(self, n: int, dtype: str, device: str = "cpu") -> Tensor:
        """Return n pictures of the grey, as light or pixels: [n, 3, h, w]."""
        grey = torch.tensor(self.grey, dtype=getattr(torch, dtype), device=device)
        size = (self.field.height_px, self.field.width_px)
        return grey[:, None, None].expand(n, 3, *size).clone()

    def frames(self, values: Tensor, wants: Wants) -> Frames:
        """Return pictures, of light or pixels, as frames for an observer; gradients flow."""
        is_light = self.of == "light"
        if wants.light == "display":
            pixels = self.display.encode(values) if is_light else values
        else:
            pixels = self.display.show(values) if is_light else self.display.decode(values)
        return Frames(pixels, self.field, self.display, wants.light)


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
        """Return the window of a whole field."""
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
        y, x = outer.top, outer.left
        return Window(self.top - y, self.bottom - y, self.left - x, self.right - x)

    def check(self, field: Field) -> None:
        """Raise an error unless it lies within a field."""
        inside = 0 <= self.top < self.bottom <= field.height_px
        if not (inside and 0 <= self.left < self.right <= field.width_px):
            raise FechnerError(
                f"rows {self.top} to {self.bottom} and columns {self.left} to {self.right} do not "
                f"lie within a field of {field.height_px} x {field.width_px} px."
            )

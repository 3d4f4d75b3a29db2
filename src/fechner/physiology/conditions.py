"""Under which conditions units are recorded: the field, the display and a uniform grey on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from fechner.errors import FechnerError, GamutError
from fechner.observers.abilities import Wants
from fechner.stimuli import Display, Field, Frames, display

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: What weights multiply: linear RGB in cd/m2, or the display-encoded values 0..1.
Of = Literal["light", "pixels"]

#: The conditions of the suite `decalogue`.
FIELD = Field.of(pixels=128, ppd=64)
DISPLAY = display("decalogue")
LUMINANCE_CDM2 = 40.0


@dataclass(frozen=True)
class Conditions:
    """A uniform grey on a display, around which responses are measured.

    Grey is R = G = B: the display's own white, dimmed.

    Parameters
    ----------
    field
        What the unit is shown; an observer that wants another size gets it at the same ppd.
    luminance_cdm2
        Luminance of the grey.
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
            raise FechnerError(f"weights are of {' or '.join(get_args(Of))}, not '{self.of}'.")
        if self.field.is_video:
            raise FechnerError("receptive fields are measured with still pictures, not with video.")
        if self.display.bits is not None:
            raise GamutError(
                f"display '{self.display.name}' rounds to {self.display.bits} bits, which swallows "
                "small steps of light; take one without."
            )
        if self.of != "light" and self.display.eotf == "hlg":
            raise FechnerError(
                f"one HLG value of display '{self.display.name}' depends on the light of all three "
                "channels: find weights of light, or take another display."
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
        import torch

        light = torch.full((3, 1, 1), self.luminance_cdm2, dtype=torch.float64)
        red, green, blue = self.display.encode(light).flatten().tolist()
        return red, green, blue

    @property
    def grey(self) -> tuple[float, float, float]:
        """The grey in what weights are of."""
        luminance = self.luminance_cdm2
        return (luminance, luminance, luminance) if self.of == "light" else self.encoded

    def room(self) -> float:
        """Return the largest contrast, up and down, that the display can show around the grey."""
        low, high = self.display.limits_cdm2() if self.of == "light" else (0.0, 1.0)
        return min(min(value - low, high - value) / value for value in self.grey)

    def check_contrast(self, contrast: float, what: str) -> None:
        """Say so if a contrast cannot be shown."""
        room = self.room()
        if not 0 < contrast <= room:
            raise GamutError(
                f"{what} of contrast {contrast:g} cannot be shown on a grey of "
                f"{self.luminance_cdm2:g} cd/m2 on display '{self.display.name}'; take one above 0 "
                f"and at most {room:.3g}."
            )

    def seen_by(self, wants: Wants) -> Conditions:
        """Return the conditions with a field of the size that an observer wants."""
        if wants.size_px is None:
            return self
        return replace(self, field=self.field.resized(wants.size_px))

    def uniform(self, n: int, dtype: torch.dtype, device: str = "cpu") -> Tensor:
        """Return n pictures of the grey, in what weights are of: [n, 3, h, w]."""
        import torch

        grey = torch.tensor(self.grey, dtype=dtype, device=device)
        size = (self.field.height_px, self.field.width_px)
        return grey[:, None, None].expand(n, 3, *size).clone()

    def frames(self, values: Tensor, wants: Wants) -> Frames:
        """Put pictures, in what weights are of, before an observer; gradients flow."""
        if wants.light == "display":
            pixels = self.display.encode(values) if self.of == "light" else values
        else:
            pixels = (
                self.display.show(values) if self.of == "light" else self.display.decode(values)
            )
        return Frames(pixels, self.field, self.display, wants.light)

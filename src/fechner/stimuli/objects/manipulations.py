"""Changes of the view of an object: turned about an axis, or scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fechner.errors import FechnerError
from fechner.stimuli.field import Field
from fechner.stimuli.objects.views import View
from fechner.stimuli.pictures import Picture, Seed, picture_drawn

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from fechner.stimuli.manipulations.base import AppliesTo, Manipulation

#: Parameters of a view.
Parameter = Literal["x", "y", "z", "scale"]

_SOURCE = "richardwebster2018"
#: Twice a level further the object has turned to where it was.
_HALF_TURN_DEG = 180.0


@dataclass(frozen=True)
class OfViews:
    """A parameter of a view is changed, and the view is drawn anew.

    Rotations change the angle of the view about one axis, as the paper does; which is not always
    what turning the picture about that axis would be, since the angles follow each other. Levels of
    scale are octaves: each doubles the object's size, or halves it.

    Parameters
    ----------
    parameter
        Which.
    sign
        1 or -1: in which direction.
    """

    parameter: Parameter
    sign: int

    #: Drawn anew, and so nothing is random.
    random: bool = False
    reference: str = _SOURCE
    applies_to: AppliesTo = "objects"

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name(self.sign)

    @property
    def opposite(self) -> str:
        """Name of the same in the other direction."""
        return self._name(-self.sign)

    def _name(self, sign: int) -> str:
        what = "scale3d" if self.parameter == "scale" else f"rotation3d-{self.parameter}"
        return f"{what}-{'up' if sign > 0 else 'down'}"

    @property
    def title(self) -> str:
        """What it is called in a heading."""
        if self.parameter == "scale":
            return f"Scale of the object, {'increased' if self.sign > 0 else 'decreased'}"
        return f"Rotation in depth about {self.parameter}, {self._direction}"

    @property
    def _direction(self) -> str:
        return "positive" if self.sign > 0 else "negative"

    @property
    def axis(self) -> str:
        """What its level is, with the unit."""
        return "size (octaves)" if self.parameter == "scale" else "rotation (deg)"

    @property
    def range(self) -> tuple[float, float]:
        """Weakest and strongest level by default; ours, since the paper gives none."""
        return (0.02, 5.0) if self.parameter == "scale" else (0.5, _HALF_TURN_DEG)

    @property
    def most(self) -> float:
        """The strongest level that there can be: an object has turned back after half a turn."""
        return math.inf if self.parameter == "scale" else _HALF_TURN_DEG

    @property
    def words(self) -> str:
        """What it does, as a sentence without its subject."""
        if self.parameter == "scale":
            what = "enlarged" if self.sign > 0 else "made smaller"
            return f"is rendered anew, {what} by so many octaves"
        return (
            f"is rendered anew, its angle about the {self.parameter} axis changed by so many "
            f"degrees in the {self._direction} direction"
        )

    def setting(self, level: float) -> float:
        """Return the factor of the size, or the angle in degrees."""
        step = self.sign * level
        return float(2.0**step) if self.parameter == "scale" else step

    def level_of(self, setting: float) -> float:
        """Return the octaves of a factor, or the size of an angle."""
        return self.sign * (math.log2(setting) if self.parameter == "scale" else setting)

    def changed(self, view: View, level: float) -> View:
        """Return a view at a level; at level 0, the view itself.

        Examples
        --------
        >>> OBJECT_MANIPULATIONS["scale3d-down"].changed(View("mug.obj", ""), 1.0).scale
        0.5
        """
        if not 0 <= level < math.inf:
            raise FechnerError(f"{level:g} is no level of {self.name}: give one that is 0 or more.")
        step = self.sign * level
        if self.parameter == "x":
            return view.seen(x_deg=view.x_deg + step)
        if self.parameter == "y":
            return view.seen(y_deg=view.y_deg + step)
        if self.parameter == "z":
            return view.seen(z_deg=view.z_deg + step)
        return view.seen(scale=view.scale * 2.0**step)

    def show(
        self,
        pictures: Sequence[Picture],
        levels: Sequence[float],
        seeds: Sequence[Seed],
        field: Field,
        bits: int | None,
        device: str,
        dtype: torch.dtype,
    ) -> Tensor:
        """Draw views at their levels, [n, 3, h, w]."""
        import torch

        shown = []
        for picture, level in zip(pictures, levels, strict=True):
            if not isinstance(picture, View):
                raise FechnerError(
                    f"{self.name} needs views of 3D objects, and {picture} is none: give objects "
                    "instead of pictures, or another manipulation."
                )
            shown.append(picture_drawn(self.changed(picture, level), field, bits, device))
        return torch.stack(shown).to(dtype)


_PARAMETERS: tuple[Parameter, ...] = ("x", "y", "z", "scale")

_ALL = [OfViews(parameter, sign) for parameter in _PARAMETERS for sign in (1, -1)]

#: Changes of view, by name; for objects alone.
OBJECT_MANIPULATIONS: dict[str, OfViews] = {each.name: each for each in _ALL}


def _checked() -> dict[str, Manipulation]:
    """Let the type checker see that they are manipulations."""
    return dict(OBJECT_MANIPULATIONS)

"""Changes of the view of an object: turned about an axis, or scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fechner.errors import FechnerError
from fechner.stimuli.field import Field
from fechner.stimuli.manipulations.base import Manipulation
from fechner.stimuli.objects.views import View
from fechner.stimuli.pictures import Picture, Seed, picture_drawn

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: Parameters of a view.
Parameter = Literal["x", "y", "z", "scale"]


@dataclass(frozen=True, kw_only=True)
class OfViews(Manipulation):
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
        self.check_level(level)
        step = self.sign * level
        if self.parameter == "scale":
            return view.seen(scale=view.scale * 2.0**step)
        angle = f"{self.parameter}_deg"
        return view.seen(**{angle: getattr(view, angle) + step})

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


def _of_views(parameter: Parameter, sign: int) -> OfViews:
    """Return a change in one direction; ranges are ours, since the paper gives none."""
    ways = ("up", "down") if sign > 0 else ("down", "up")
    is_scale = parameter == "scale"
    what = "scale3d" if is_scale else f"rotation3d-{parameter}"
    way = "positive" if sign > 0 else "negative"
    return OfViews(
        name=f"{what}-{ways[0]}",
        opposite=f"{what}-{ways[1]}",
        title=f"Scale of the object, {'increased' if sign > 0 else 'decreased'}"
        if is_scale
        else f"Rotation in depth about {parameter}, {way}",
        axis="size (octaves)" if is_scale else "rotation (deg)",
        reference="richardwebster2018",
        range=(0.02, 5.0) if is_scale else (0.5, 180.0),
        # An object has turned back after half a turn.
        most=math.inf if is_scale else 180.0,
        words=f"is rendered anew, {'enlarged' if sign > 0 else 'made smaller'} by so many octaves"
        if is_scale
        else f"is rendered anew, its angle about the {parameter} axis changed by so many degrees "
        f"in the {way} direction",
        applies_to="objects",
        parameter=parameter,
        sign=sign,
    )


_PARAMETERS: tuple[Parameter, ...] = ("x", "y", "z", "scale")

_ALL = [_of_views(parameter, sign) for parameter in _PARAMETERS for sign in (1, -1)]

#: Changes of view, by name; for objects alone.
OBJECT_MANIPULATIONS: dict[str, OfViews] = {each.name: each for each in _ALL}

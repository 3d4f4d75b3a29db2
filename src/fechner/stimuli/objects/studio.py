"""The studio: camera, lights and background, the same for both engines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Studio:
    """Where objects are shown.

    The camera looks down the z axis at the object in the origin, x to the right and y up. There is
    light from everywhere, and a lamp far away that stays where it is when the object turns. A
    white, matt surface that nothing shades and that faces the lamp is shown as white.

    Parameters
    ----------
    angle_deg
        At which the camera sees a sphere of radius 1, which then just fits the field.
    lamp
        What part of the light comes from the lamp.
    right_deg, up_deg
        How far the lamp is to the right of the camera and above it, seen from the object.
    background
        Grey of what is behind the object, display-encoded.
    """

    angle_deg: float = 30.0
    lamp: float = 0.5
    right_deg: float = -30.0
    up_deg: float = 40.0
    background: float = 0.5

    @property
    def distance(self) -> float:
        """How far away the camera is, in radii.

        Examples
        --------
        >>> round(Studio().distance, 3)
        3.864
        """
        return 1 / math.sin(math.radians(self.angle_deg) / 2)

    @property
    def half_width(self) -> float:
        """Tangent of half the angle that the shorter side of the field spans at scale 1."""
        return math.tan(math.radians(self.angle_deg) / 2)

    @property
    def to_lamp(self) -> Floats:
        """Unit vector from the object to the lamp."""
        right, up = math.radians(self.right_deg), math.radians(self.up_deg)
        return np.array(
            [math.cos(up) * math.sin(right), math.sin(up), math.cos(up) * math.cos(right)]
        )


def rotation(x_deg: float, y_deg: float, z_deg: float) -> Floats:
    """Return the matrix that turns by x about the x axis, then by y, then by z.

    Examples
    --------
    >>> (rotation(0, 0, 90) @ [1, 0, 0]).round(9).tolist()
    [0.0, 1.0, 0.0]
    """
    turned = np.eye(3)
    for axis, degrees in enumerate((x_deg, y_deg, z_deg)):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        cosine, sine = _cos_sin(degrees)
        matrix = np.eye(3)
        matrix[one, one] = matrix[two, two] = cosine
        matrix[two, one], matrix[one, two] = sine, -sine
        turned = matrix @ turned
    return turned


def _cos_sin(degrees: float) -> tuple[float, float]:
    """Return cosine and sine, exact at right angles."""
    quarters = degrees / 90
    if quarters == round(quarters):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(quarters) % 4]
    angle = math.radians(degrees)
    return math.cos(angle), math.sin(angle)

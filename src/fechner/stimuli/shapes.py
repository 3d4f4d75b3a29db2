"""Disks, squares, edges, bars, rings and checks: patterns without a window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fechner.arrays import Tensor
from fechner.stimuli.patterns import OfOneFrequency, check_positive

if TYPE_CHECKING:
    from fechner.stimuli.field import Field


@dataclass(frozen=True)
class Disk:
    """A uniform disk; the edge is smoothed over one pixel."""

    radius_deg: float

    highest_cpd: ClassVar[float] = 0.0

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude."""
        x, y = field.grid(device)
        radius = (x.square() + y.square()).sqrt()
        return ((self.radius_deg - radius) * field.ppd + 0.5).clamp(0, 1)

    @property
    def area_deg2(self) -> float:
        """Area of the disk."""
        return math.pi * self.radius_deg**2

    def share_inside(self, field: Field) -> float:
        """Return the share of its area inside.

        Examples
        --------
        >>> from fechner.stimuli import Field
        >>> round(Disk(2.0).share_inside(Field.of(degrees=2, ppd=60)), 3)  # 1 / pi
        0.318
        """
        x = np.linspace(0, 1, 2001) * min(self.radius_deg, field.width_deg / 2)
        y = np.minimum(np.sqrt(self.radius_deg**2 - x**2), field.height_deg / 2)
        return float(4 * np.trapezoid(y, x) / (math.pi * self.radius_deg**2))


@dataclass(frozen=True)
class Square:
    """A uniform square with upright sides; a pixel that it covers in part takes that part.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> Square(3 / 60).draw(Field.of(pixels=4, ppd=60)).round(decimals=6)[0].tolist()
    [0.25, 0.5, 0.5, 0.25]
    """

    side_deg: float

    highest_cpd: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        check_positive(self, "side_deg")

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude."""
        side_px = self.side_deg * field.ppd
        x, y = (
            (side_px / 2 + 0.5 - axis.abs() * field.ppd).clamp(0, min(1.0, side_px))
            for axis in field.grid(device)
        )
        return x * y

    def share_inside(self, field: Field) -> float:
        """Return the share of its area inside."""
        sides = (field.width_deg, field.height_deg)
        return math.prod(min(1.0, side / self.side_deg) for side in sides)


@dataclass(frozen=True)
class Edge:
    """A step from -1 to 1 through the centre; 0 deg is a vertical edge, 90 deg is bright above.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> Edge().draw(Field.of(pixels=4, ppd=60)).tolist()
    [[-1.0, -1.0, 1.0, 1.0]]
    """

    orientation_deg: float = 0.0

    highest_cpd: ClassVar[float] = 0.0

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude; a pixel on the edge shows the mean of both."""
        across, _ = field.grid(device, self.orientation_deg)
        return (2 * field.ppd * across).clamp(-1, 1)


@dataclass(frozen=True)
class Bar:
    """A line of some thickness, ``offset_deg`` from the centre; 0 deg is vertical.

    Where it covers part of a pixel, the pixel takes part of its amplitude: a thin line has the
    same light at any resolution.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> Bar(width_deg=1.5 / 60).draw(Field.of(pixels=5, ppd=60)).round(decimals=6).tolist()
    [[0.0, 0.25, 1.0, 0.25, 0.0]]
    """

    width_deg: float
    orientation_deg: float = 0.0
    offset_deg: float = 0.0

    highest_cpd: ClassVar[float] = 0.0

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude."""
        across, _ = field.grid(device, self.orientation_deg)
        distance_px = (across - self.offset_deg).abs() * field.ppd
        width_px = self.width_deg * field.ppd
        return (width_px / 2 + 0.5 - distance_px).clamp(0, min(1.0, width_px))


@dataclass(frozen=True)
class Bessel(OfOneFrequency):
    """Rings, J0(2 pi f r): gratings of one frequency and all orientations, added up.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> rings = Bessel(4.0).draw(Field.of(pixels=3, ppd=60))
    >>> round(float(rings[1, 1]), 4), round(float(rings[1, 2]), 4)
    (1.0, 0.9566)
    """

    frequency_cpd: float

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude."""
        from torch.special import bessel_j0

        x, y = field.grid(device)
        radius = (x.square() + y.square()).sqrt()
        rings: Tensor = bessel_j0(2 * math.pi * self.frequency_cpd * radius)
        return rings


@dataclass(frozen=True)
class Checkerboard(OfOneFrequency):
    """Checks of 1 and -1, a bright one at the centre; 0 deg has upright sides.

    ``frequency_cpd`` is that of the two fundamentals, which run along the diagonals of the checks.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> checks = Checkerboard(15.0, orientation_deg=45).draw(Field.of(pixels=5, ppd=60))
    >>> [round(float(value), 6) + 0.0 for value in checks.diag()]
    [-1.0, 0.0, 1.0, 0.0, -1.0]
    """

    frequency_cpd: float
    orientation_deg: float = 0.0

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the pattern with unit amplitude; edges are smoothed over one pixel."""
        side_deg = 1 / (math.sqrt(2) * self.frequency_cpd)
        turn, sharpness = math.pi / side_deg, 2 * field.ppd * side_deg / math.pi
        rows, columns = (
            # The arcsine of a cosine is a triangle wave: the distance to the nearest edge.
            ((field.grid(device, angle)[0] * turn).cos().asin() * sharpness).clamp(-1, 1)
            for angle in (self.orientation_deg, self.orientation_deg + 90)
        )
        return rows * columns

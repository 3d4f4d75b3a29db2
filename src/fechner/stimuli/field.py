"""The piece of the visual field a stimulus fills: pixels, degrees and pixels per degree."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from fechner.arrays import Tensor, torch

Coordinates = Literal["centres", "endpoints"]


@dataclass(frozen=True)
class Field:
    """A rectangular field of view, sampled by pixels.

    Parameters
    ----------
    width_px, height_px
        Size in pixels.
    ppd
        Pixels per degree of visual angle.
    coordinates
        ``"centres"``: pixel ``i`` lies at ``(i - (n - 1)/2) / ppd``. ``"endpoints"``: the first and
        last pixel lie on the edges of the field, as several papers draw them; distances between
        pixels are then too large by ``n/(n - 1)``, and so are times between frames.
    frames, fps
        How many frames are shown, and how many per second; one frame is a still picture.

    Examples
    --------
    >>> Field.of(pixels=224, ppd=60).width_deg
    3.7333333333333334
    >>> Field.of(pixels=256, degrees=4).ppd
    64.0
    """

    width_px: int
    height_px: int
    ppd: float
    coordinates: Coordinates = "centres"
    frames: int = 1
    fps: float = 60.0

    def __post_init__(self) -> None:
        sizes = (self.width_px, self.height_px, self.frames)
        if min(sizes) < 1 or not (self.ppd > 0 and self.fps > 0):
            raise ValueError(f"a field has pixels, frames, and a positive ppd and fps, not {self}.")

    @classmethod
    def of(
        cls,
        *,
        pixels: int | tuple[int, int] | None = None,
        degrees: float | tuple[float, float] | None = None,
        ppd: float | None = None,
        coordinates: Coordinates = "centres",
    ) -> Field:
        """Make a field from any two of pixels, degrees and ppd; pairs are (height, width)."""
        if sum(given is not None for given in (pixels, degrees, ppd)) != 2:
            raise ValueError("give exactly two of pixels, degrees and ppd.")
        sides_px, sides_deg = (
            each if each is None or isinstance(each, tuple) else (each, each)
            for each in (pixels, degrees)
        )
        if sides_deg and not min(sides_deg) > 0:
            raise ValueError(f"a field has a positive size, not {degrees} degrees.")
        if sides_px and sides_deg:
            ppd = sides_px[1] / sides_deg[1]
            if abs(sides_px[0] / sides_deg[0] - ppd) > 1e-6 * ppd:
                raise ValueError(f"pixels are square: {pixels} over {degrees} deg give two ppd.")
        assert ppd is not None
        height, width = sides_px or (side * ppd for side in sides_deg or ())
        return cls(round(width), round(height), float(ppd), coordinates)

    @property
    def width_deg(self) -> float:
        """Width in degrees."""
        return self.width_px / self.ppd

    @property
    def height_deg(self) -> float:
        """Height in degrees."""
        return self.height_px / self.ppd

    @property
    def area_deg2(self) -> float:
        """Area in square degrees."""
        return self.width_deg * self.height_deg

    @property
    def nyquist_cpd(self) -> float:
        """Highest spatial frequency the pixels can hold."""
        return self.ppd / 2

    @property
    def is_video(self) -> bool:
        """Whether more than one frame is shown."""
        return self.frames > 1

    @property
    def times_s(self) -> tuple[float, ...]:
        """When each frame is shown, from 0 on."""
        stretched = self.coordinates == "endpoints" and self.is_video
        step = (self.frames / (self.frames - 1) if stretched else 1.0) / self.fps
        return tuple(frame * step for frame in range(self.frames))

    def still(self) -> Field:
        """Return the field of a single frame."""
        return replace(self, frames=1)

    def resized(self, size_px: tuple[int, int]) -> Field:
        """Return the field of another size (height, width) at the same ppd."""
        return replace(self, height_px=size_px[0], width_px=size_px[1])

    def grid(self, device: str = "cpu", orientation_deg: float = 0.0) -> tuple[Tensor, Tensor]:
        """Return x [1, w] (rightwards) and y [h, 1] (upwards) in degrees from the centre.

        Turned by an orientation, they are the coordinates across and along its bars, [h, w].
        """
        axes = []
        for n in (self.width_px, self.height_px):
            steps = torch.arange(n, dtype=torch.float64, device=device)
            if self.coordinates == "endpoints":
                axes.append((steps * (n / max(n - 1, 1)) - n / 2) / self.ppd)
            else:
                axes.append((steps - (n - 1) / 2) / self.ppd)
        x, y = axes[0][None, :], -axes[1][:, None]
        if orientation_deg == 0:
            return x, y
        cos, sin = math.cos(math.radians(orientation_deg)), math.sin(math.radians(orientation_deg))
        return x * cos + y * sin, y * cos - x * sin


def pixels_per_degree(*, distance_cm: float, screen_width_cm: float, screen_width_px: int) -> float:
    """Return how many pixels of a screen fill the degree of visual angle straight ahead.

    Examples
    --------
    >>> round(pixels_per_degree(distance_cm=57, screen_width_cm=52, screen_width_px=1920), 2)
    36.73
    """
    return 2 * distance_cm * math.tan(math.radians(0.5)) * screen_width_px / screen_width_cm

"""Oriented band-pass noise: gratings of many frequencies and random phases in a soft window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from fechner.arrays import Floats, Tensor, torch
from fechner.stimuli.patterns import check_positive, seed_of

if TYPE_CHECKING:
    from fechner.stimuli.field import Field
    from fechner.stimuli.patterns import ContrastOf


#: The gratings: one in each of these cells of the ring, even in frequency and in orientation.
_RADII, _ANGLES = 20, 14

#: Of so many draws the one of the lowest peak is kept, among those whose centroid misses by less
#: than this (a ratio, radians) or least.
_DRAWS = 3
_NEAR = 0.05

#: Peaks are lowered by moving phases: so many times, what is beyond so many standard deviations is
#: cut, and gratings take the phases of what is left.
_CUTS = 8
_CUT_SD = 1.3

#: The window is 1 up to this part of its radius; from there a raised cosine falls to 0.
_FLAT = 0.75

#: Frequencies and orientations are corrected until the centroid misses by less (a ratio, radians),
#: which takes two corrections where the window holds many periods, up to ten where it holds two.
_MISS = 2e-4
_CORRECTIONS = 20


@dataclass(frozen=True)
class OrientedNoise:
    """Noise of random phase in a ring of frequencies and a band of orientations, in a round window.

    Its contrast is ``rms_sqrt2``: sqrt 2 times its standard deviation over the square is 1, its
    mean there is 0, and outside of it there is nothing. It is a sum of gratings, not of the points
    of a Fourier transform, so that the ring is filled even where the square holds only two periods,
    and that the same noise can be drawn in fields of any size and resolution.

    Power is even over frequency, which makes the mean frequency that of the ring; even over the
    plane of frequencies, it would lie 2 % higher. A window of few periods moves the centroid of one
    particular noise by more, so all its gratings are scaled and turned together until the centroid
    of its power spectrum has the frequency and the orientation that are asked for. This is done to
    the one of several draws that has the lowest peak, among those that miss by little, after their
    phases were moved to lower it: more of its contrasts fit a display's gamut.

    Parameters
    ----------
    frequency_cpd, orientation_deg
        Of the centroid of the power spectrum; 0 deg means vertical bars, as in `Grating`.
    half_width
        Half the width of the ring, over its frequency.
    band_deg
        Width of the band of orientations; 180 has all.
    size_deg
        Side of the square, and diameter of the window in it.
    seed
        One number or several, which are mixed.

    References
    ----------
    After Vila-Tomás et al. (2026), key ``vila_tomas2026``, whose ring is of another width.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> noise = OrientedNoise(6.0, seed=1).draw(Field.of(degrees=2, ppd=64))
    >>> round(float(noise.std(correction=0)) * 2**0.5, 3)
    1.0
    """

    frequency_cpd: float
    orientation_deg: float = 0.0
    half_width: float = 0.25
    band_deg: float = 30.0
    size_deg: float = 2.0
    seed: int | tuple[int, ...] = 0

    contrast_of: ClassVar[ContrastOf] = "rms_sqrt2"
    words: ClassVar[str] = "oriented noise"

    def __post_init__(self) -> None:
        check_positive(self, "frequency_cpd", "band_deg", "size_deg")
        if self.band_deg > 180:
            raise ValueError(f"band_deg is {self.band_deg:g}; 180 are all orientations.")
        if not 0 <= self.half_width < 1:
            raise ValueError(f"half_width is {self.half_width:g}; it must be 0 or more, below 1.")
        if self.frequency_cpd * self.size_deg < 1:
            raise ValueError(
                f"a square of {self.size_deg:g} deg holds less than one period of "
                f"{self.frequency_cpd:g} cpd; give a larger size_deg."
            )

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the noise, of sqrt 2 x standard deviation 1 over its square."""
        if min(field.width_px, field.height_px) < (self.size_deg - 1e-9) * field.ppd:
            raise ValueError(
                f"noise of {self.size_deg:g} deg does not fit a field of {field.width_deg:g} x "
                f"{field.height_deg:g} deg; give the noise a smaller size_deg."
            )
        x, y = (axis.reshape(-1).cpu().numpy() for axis in field.grid(device))
        gratings, offset, scale = _gratings(self)
        drawn = scale * (_added(gratings, x, y) - offset) * _window(self.size_deg, x, y)
        return torch.as_tensor(drawn, device=device)

    @property
    def highest_cpd(self) -> float:
        """Outer edge of the ring."""
        return self.frequency_cpd * (1 + self.half_width)


@dataclass(frozen=True)
class RoundWindow:
    """The window of `OrientedNoise` alone: 1, then a raised cosine that ends at the radius.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> RoundWindow(2.0).draw(Field.of(pixels=9, ppd=4))[4].tolist()
    [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    """

    size_deg: float

    highest_cpd: ClassVar[float] = 0.0

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the window with unit amplitude."""
        x, y = (axis.reshape(-1).cpu().numpy() for axis in field.grid(device))
        return torch.as_tensor(_window(self.size_deg, x, y), device=device)

    def share_inside(self, field: Field) -> float:
        """Return the share of its energy inside."""
        axis = np.linspace(-0.5, 0.5, 401) * self.size_deg
        energy = _window(self.size_deg, axis, axis) ** 2
        across, along = (np.abs(axis) <= side / 2 for side in (field.width_deg, field.height_deg))
        return float(energy[np.ix_(along, across)].sum() / energy.sum())


#: Frequencies across x and along y, and phases in radians.
_Gratings: TypeAlias = tuple[Floats, Floats, Floats]


@lru_cache(maxsize=256)
def _gratings(noise: OrientedNoise) -> tuple[_Gratings, float, float]:
    """Return the gratings of a noise, and the offset and scale that make their sum unit."""
    seeds = seed_of(noise)
    # With their number: NumPy takes (1, 0) for (1,).
    rng = np.random.default_rng((len(seeds), *seeds))
    # On points of its own: the same noise in every field. Above the Nyquist rate and no less than
    # 64, so that neither standard deviation nor centroid depends on them.
    points = max(64, math.ceil(2.5 * noise.highest_cpd * noise.size_deg))
    axis = ((np.arange(points) + 0.5) / points - 0.5) * noise.size_deg
    window = _window(noise.size_deg, axis, axis)
    ppd = points / noise.size_deg
    draws, pictures, corrections = [], [], []
    for _ in range(_DRAWS):
        # One grating in each cell of the ring.
        shape = (_RADII, _ANGLES)
        radius = (np.arange(_RADII)[:, None] + rng.random(shape)) * 2 / _RADII - 1
        angle = (np.arange(_ANGLES)[None, :] + rng.random(shape)) / _ANGLES - 0.5
        frequency = (noise.frequency_cpd * (1 + noise.half_width * radius)).reshape(-1)
        theta = np.radians(noise.orientation_deg + noise.band_deg * angle).reshape(-1)
        phase = 2 * np.pi * rng.random(frequency.size)
        fx, fy = frequency * np.cos(theta), frequency * np.sin(theta)
        across, along = (
            torch.from_numpy(np.exp(-2j * np.pi * axis[:, None] * each)) for each in (fx, fy)
        )
        for _ in range(_CUTS):
            picture = _added((fx, fy, phase), axis, axis, window)
            highest = _CUT_SD * picture.std()
            cut = torch.from_numpy(np.clip(picture, -highest, highest)).to(across.dtype)
            phase = (along * (cut @ across)).sum(0).angle().numpy()
        draws.append((fx, fy, phase))
        pictures.append(_added(draws[-1], axis, axis, window))
        corrections.append(_correction(noise, pictures[-1], ppd))
    peaks = np.array([np.abs(picture).max() / picture.std() for picture in pictures])
    misses = np.array([max(abs(ratio - 1), abs(turn)) for ratio, turn in corrections])
    best = int(np.argmin(np.where(misses <= max(_NEAR, misses.min()), peaks, np.inf)))
    (fx, fy, phase), picture, (ratio, turn) = draws[best], pictures[best], corrections[best]
    for _ in range(_CORRECTIONS):
        if max(abs(ratio - 1), abs(turn)) < _MISS:
            break
        cos, sin = ratio * math.cos(turn), ratio * math.sin(turn)
        fx, fy = cos * fx - sin * fy, sin * fx + cos * fy
        picture = _added((fx, fy, phase), axis, axis, window)
        ratio, turn = _correction(noise, picture, ppd)
    added = _added((fx, fy, phase), axis, axis)
    offset = float((added * window).mean() / window.mean())
    return (fx, fy, phase), offset, 1 / (math.sqrt(2) * float(picture.std()))


def _added(gratings: _Gratings, x: Floats, y: Floats, window: Floats | None = None) -> Floats:
    """Return the sum of gratings, [y, x]; in a window, less as much of it as has the same mean."""
    fx, fy, phase = gratings
    across = 2 * np.pi * x[:, None] * fx
    along = 2 * np.pi * y[:, None] * fy + phase
    # Torch multiplies on as many threads as a run may use; NumPy would take all there are.
    factors = (torch.from_numpy(f(angles)) for f in (np.cos, np.sin) for angles in (along, across))
    cos_y, cos_x, sin_y, sin_x = factors
    added: Floats = (cos_y @ cos_x.T - sin_y @ sin_x.T).numpy()
    if window is not None:
        added = added * window
        added -= window * (added.mean() / window.mean())
    return added


def _window(size_deg: float, x: Floats, y: Floats) -> Floats:
    """Return the round window: 1, then a raised cosine that ends at the sides of the square."""
    radius = np.hypot(x[None, :], y[:, None]) / (size_deg / 2)
    edge = np.clip((radius - _FLAT) / (1 - _FLAT), 0, 1)
    window: Floats = (1 + np.cos(np.pi * edge)) / 2
    return window


def _correction(noise: OrientedNoise, picture: Floats, ppd: float) -> tuple[float, float]:
    """Return the ratio of frequencies and the turn that would bring the centroid to its place."""
    power = np.abs(np.fft.fft2(picture)) ** 2
    fx = np.fft.fftfreq(picture.shape[1], 1 / ppd)[None, :]
    fy = np.fft.fftfreq(picture.shape[0], 1 / ppd)[:, None]
    mean_cpd = float((power * np.hypot(fx, fy)).sum() / power.sum())
    # Opposite directions are one orientation, so angles are doubled before they are averaged.
    doubled = (power * np.exp(2j * np.arctan2(fy, fx))).sum()
    turn = math.radians(noise.orientation_deg) - float(np.angle(doubled)) / 2
    smallest = (turn + np.pi / 2) % np.pi - np.pi / 2
    return noise.frequency_cpd / mean_cpd, smallest if noise.band_deg < 180 else 0.0

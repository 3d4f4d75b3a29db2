"""Bands of spatial frequencies: filled with Gaussian noise, or cut out of photographs.

`RingNoise` is the noise of the public code of Vila-Tomás et al. (2026): a flat ring on the grid of
an FFT.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch
from fechner.errors import GamutError, PictureError
from fechner.stimuli.colour import srgb_decode
from fechner.stimuli.patterns import check_positive, seed_of
from fechner.stimuli.pictures import Seed, picture_drawn

if TYPE_CHECKING:
    from fechner.stimuli.field import Field
    from fechner.stimuli.patterns import ContrastOf
    from fechner.stimuli.pictures import Photograph

#: ``pcg64`` is NumPy's modern generator; the others reproduce published stimuli.
Generator = Literal["pcg64", "numpy-legacy", "torch"]


@dataclass(frozen=True)
class Band:
    """A ring of spatial frequencies, both edges included.

    Examples
    --------
    >>> band = Band.octaves(4.0)
    >>> round(band.low_cpd, 3), round(band.high_cpd, 3)
    (2.828, 5.657)
    """

    low_cpd: float
    high_cpd: float

    def __post_init__(self) -> None:
        if not 0 < self.low_cpd < self.high_cpd < math.inf:
            raise ValueError(f"a band goes from above 0 to something higher, not from {self}.")

    @classmethod
    def octaves(cls, centre_cpd: float, octaves: float = 1.0) -> Band:
        """Return the band of so many octaves around a frequency in cycles per degree."""
        return cls(*octave_edges(centre_cpd, octaves))

    def fits(self, field: Field) -> bool:
        """Whether pixels can hold all of it, and a field some of it."""
        return self.high_cpd <= field.nyquist_cpd and bool(self.mask(field).any())

    def mask(self, field: Field, device: str = "cpu") -> Tensor:
        """Return which terms of a real Fourier transform lie in it, [h, w // 2 + 1]."""
        return _ring(field, self.low_cpd, self.high_cpd, device)[0]

    def __str__(self) -> str:
        return f"{self.low_cpd:.3g} to {self.high_cpd:.3g} cpd"


def _ring(field: Field, low_cpd: float, high_cpd: float, device: str) -> tuple[Tensor, Tensor]:
    """Return which terms of a real Fourier transform lie in a ring, and their squared radii.

    The squared radius avoids that rounding of a square root decides who is on the edge.
    """
    step = 1 / field.ppd
    fx = torch.fft.rfftfreq(field.width_px, step, dtype=torch.float64, device=device)
    fy = torch.fft.fftfreq(field.height_px, step, dtype=torch.float64, device=device)
    radius = fx[None, :].square() + fy[:, None].square()
    return (radius >= low_cpd**2) & (radius <= high_cpd**2), radius


class FilteredNoise:
    """White Gaussian noise, cut to a ring of frequencies with hard edges, divided by its std.

    Its contrast is therefore RMS (std/mean). The draw is made by NumPy on the CPU, so a seed means
    the same picture everywhere.
    """

    low_cpd: float
    high_cpd: float
    seed: int | Seed
    generator: Generator
    keep_mean: bool = False
    halve_edge: bool = False

    contrast_of: ClassVar[ContrastOf] = "rms"

    @property
    def highest_cpd(self) -> float:
        """Upper edge of the band."""
        return self.high_cpd

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the noise with unit standard deviation."""
        shape = (field.height_px, field.width_px)
        if self.generator != "pcg64" and not isinstance(self.seed, int):
            raise ValueError(f"the generator '{self.generator}' takes one seed.")
        if self.generator == "pcg64":
            white = torch.from_numpy(np.random.default_rng(self.seed).standard_normal(shape))
        elif self.generator == "numpy-legacy":
            white = torch.from_numpy(np.random.RandomState(self.seed).randn(*shape))
        else:
            seeded = torch.Generator().manual_seed(int(self.seed))  # type: ignore[arg-type]
            white = torch.randn(shape, generator=seeded).double()
        white = white.to(device)
        within, radius = _ring(field, self.low_cpd, self.high_cpd, device)
        kept = within.to(white.dtype)
        if self.halve_edge:
            kept[radius.isclose(radius.new_tensor(self.high_cpd**2))] = 0.5
        if not self.keep_mean:
            kept[0, 0] = 0
        drawn = torch.fft.irfft2(torch.fft.rfft2(white) * kept, s=white.shape)
        spread = drawn.std(correction=0)
        if not spread > 1e-9:  # rounding alone is below
            raise GamutError(
                f"no frequency of a {field.width_px} px field at {field.ppd:g} ppd lies in "
                f"{self.low_cpd:g}-{self.high_cpd:g} cpd; enlarge the field or move the band."
            )
        unit: Tensor = drawn / spread
        return unit


@dataclass(frozen=True)
class Noise(FilteredNoise):
    """Noise in a ring of frequencies, see `FilteredNoise`.

    Parameters
    ----------
    low_cpd, high_cpd
        The ring that is kept, both edges included; ``low_cpd=0`` is low-pass.
    seed
        One number or several (they are mixed, for ``pcg64``).
    keep_mean
        Whether a low-pass noise keeps its own mean; the right answer is no, since it shifts the
        background, but published masks do.
    halve_edge
        Whether frequencies on the upper edge are kept at half their amplitude. A published mask
        is so: rounding left one of each pair of opposite frequencies.
    """

    low_cpd: float
    high_cpd: float
    seed: int | Seed = 0
    generator: Generator = "pcg64"
    keep_mean: bool = False
    halve_edge: bool = False

    told: ClassVar[tuple[str, ...]] = ("low_cpd", "high_cpd")

    @property
    def words(self) -> str:
        """What it is."""
        low = f"from {self.low_cpd:g}" if self.low_cpd else "up"
        return f"noise {low} to {self.high_cpd:g} cycles/degree"


@dataclass(frozen=True)
class OctaveNoise(FilteredNoise):
    """Noise in a band of some octaves around a frequency; all else is as of `Noise`.

    Examples
    --------
    >>> OctaveNoise(4.0).highest_cpd
    5.656854249492381
    """

    frequency_cpd: float
    octaves: float = 1.0
    seed: int | Seed = 0
    generator: Generator = "pcg64"

    told: ClassVar[tuple[str, ...]] = ("octaves",)

    def __post_init__(self) -> None:
        low_cpd, high_cpd = octave_edges(self.frequency_cpd, self.octaves)
        object.__setattr__(self, "low_cpd", low_cpd)
        object.__setattr__(self, "high_cpd", high_cpd)

    @property
    def words(self) -> str:
        """What it is."""
        return f"noise {_octaves(self.octaves)} wide"


def _octaves(number: float) -> str:
    return "one octave" if number == 1 else f"{number:g} octaves"


def octave_edges(frequency_cpd: float, octaves: float = 1.0) -> tuple[float, float]:
    """Return the edges of a band of some octaves around a frequency."""
    half = math.pow(2.0, octaves / 2)
    return frequency_cpd / half, frequency_cpd * half


@dataclass(frozen=True)
class RingNoise:
    """Points of a Fourier transform with amplitude 1 and random phases, in a small round window.

    Contrast is ``rms_sqrt2`` over the whole square, not over the window: a window of 0.3 deg in a
    square of 2 deg makes the noise in it eight times as strong. `OrientedNoise` is the better
    choice for anything but published numbers.

    Parameters
    ----------
    frequency_cpd, orientation_deg
        Middle of the ring and of the band; angles turn clockwise from vertical bars.
    half_width
        Half the width of the ring, over its frequency. The published code has 3 cpd at the highest
        frequency of a series and less in proportion below.
    band_deg
        Width of the band of orientations.
    size_deg
        Side of the square.
    window_deg
        Radius at which the window, a raised cosine, reaches 0; None has no window.
    window_at_deg
        Its centre, to the right of and below the upper left corner. The published code has 0.5 deg,
        which is the middle of a square of 1 deg.
    seed
        One number or several, of NumPy's legacy generator, which the published code uses.

    References
    ----------
    Vila-Tomás et al. (2026), key ``vila_tomas2026``, in the form of their public code.

    Examples
    --------
    >>> from fechner.stimuli import Field
    >>> noise = RingNoise(6.0, seed=1).draw(Field.of(degrees=2, ppd=64))
    >>> round(float(noise.std(correction=0)) * 2**0.5, 3), round(float(noise[32, 32]), 3)
    (1.0, -6.311)
    """

    frequency_cpd: float
    orientation_deg: float = 0.0
    half_width: float = 0.125
    band_deg: float = 30.0
    size_deg: float = 2.0
    window_deg: float | None = 0.3
    window_at_deg: tuple[float, float] = (0.5, 0.5)
    seed: int | Seed = 0

    contrast_of: ClassVar[ContrastOf] = "rms_sqrt2"
    words: ClassVar[str] = "oriented noise"

    def __post_init__(self) -> None:
        check_positive(self, "frequency_cpd", "band_deg", "size_deg", "half_width", "window_deg")

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the noise, of sqrt 2 x standard deviation 1 over its square."""
        side = round(self.size_deg * field.ppd)
        top, left = (field.height_px - side) // 2, (field.width_px - side) // 2
        if min(top, left) < 0:
            raise ValueError(
                f"noise of {self.size_deg:g} deg does not fit a field of {field.width_deg:g} x "
                f"{field.height_deg:g} deg; give the noise a smaller size_deg."
            )
        drawn = torch.zeros(field.height_px, field.width_px, dtype=torch.float64, device=device)
        square = torch.as_tensor(self._square(side), device=device)
        drawn[top : top + side, left : left + side] = square
        return drawn

    def _square(self, side: int) -> NDArray[np.float64]:
        steps = np.arange(side)
        frequency = (steps - side // 2) / self.size_deg
        radius = np.hypot(frequency[None, :], frequency[:, None])
        angle = np.degrees(np.arctan2(frequency[:, None], frequency[None, :]))
        apart = (angle - self.orientation_deg + 90) % 180 - 90
        there = np.abs(radius - self.frequency_cpd) < self.frequency_cpd * self.half_width
        there &= np.abs(apart) < self.band_deg / 2
        if not there.any():
            raise ValueError(
                f"a square of {self.size_deg:g} deg has no Fourier component within "
                f"{self.half_width:g} of {self.frequency_cpd:g} cpd; give a larger size_deg."
            )
        phase = 2 * math.pi * np.random.RandomState(list(seed_of(self))).rand(side, side)
        picture = np.fft.ifft2(np.fft.ifftshift(there * np.exp(1j * phase))).real
        if self.window_deg is not None:
            x, y = (steps * self.size_deg / side - at for at in self.window_at_deg)
            away = np.hypot(x[None, :], y[:, None]) / self.window_deg
            picture = picture * (1 + np.cos(math.pi * np.minimum(away, 1))) / 2
        picture = picture - picture.mean()
        return np.asarray(picture / (math.sqrt(2) * picture.std()))

    @property
    def highest_cpd(self) -> float:
        """Outer edge of the ring."""
        return self.frequency_cpd * (1 + self.half_width)


#: RMS contrast of a band below which there is nothing in it but rounding.
_NOTHING = 1e-4

#: Luminance of the primaries of sRGB (IEC 61966-2-1), which photographs are taken to be in.
_LUMINANCE = (0.2126, 0.7152, 0.0722)


@dataclass(frozen=True)
class NaturalBand:
    """The luminance of a photograph, cut to a ring of frequencies, divided by its std.

    As for `Noise`, its contrast is RMS. The picture is continued by its mirror images before it is
    filtered, so that edges that do not fit together add nothing to the band. Which photograph it is
    follows from the seed; those that cannot be read or have nothing in the band are passed over.

    Parameters
    ----------
    frequency_cpd, octaves
        Middle and width of the ring that is kept, both edges included.
    photographs
        Those to choose from.

    Examples
    --------
    >>> NaturalBand(4.0, ()).highest_cpd
    5.656854249492381
    """

    frequency_cpd: float
    photographs: tuple[Photograph, ...]
    octaves: float = 1.0
    seed: int | Seed = 0

    contrast_of: ClassVar[ContrastOf] = "rms"
    told: ClassVar[tuple[str, ...]] = ("octaves",)

    @property
    def words(self) -> str:
        """What it is."""
        wide = _octaves(self.octaves)
        return f"{wide} of the luminance of a photograph (of {len(self.photographs)})"

    def draw(self, field: Field, device: str = "cpu") -> Tensor:
        """Draw the band with unit standard deviation."""
        low, high = octave_edges(self.frequency_cpd, self.octaves)
        still, why = field.still(), ""
        mirrored = still.resized((2 * field.height_px, 2 * field.width_px))
        kept, _ = _ring(mirrored, low, high, device)
        weights = torch.tensor(_LUMINANCE, dtype=torch.float64, device=device)
        for place in np.random.default_rng(self.seed).permutation(len(self.photographs)):
            photograph = self.photographs[place]
            try:
                pixels = picture_drawn(photograph, still, None, device)
            except PictureError as error:
                why = why or str(error)
                continue
            light: Tensor = torch.einsum("chw,c->hw", srgb_decode(pixels), weights)
            rows = torch.cat([light, light.flip(0)], dim=0)
            whole = torch.cat([rows, rows.flip(1)], dim=1)
            band = torch.fft.irfft2(torch.fft.rfft2(whole) * kept, s=whole.shape)
            band = band[: light.shape[0], : light.shape[1]]
            band = band - band.mean()
            spread = band.std(correction=0)
            if spread > _NOTHING * light.mean():
                unit: Tensor = band / spread
                return unit
            why = why or f"{photograph} has nothing there."
        lost = f"no photograph has anything from {low:.3g} to {high:.3g} cpd that could be shown"
        raise PictureError(f"{lost}: {why}" if why else f"{lost}.", "unreachable")

    @property
    def highest_cpd(self) -> float:
        """Upper edge of the band."""
        return octave_edges(self.frequency_cpd, self.octaves)[1]

"""Gabors and differences of Gaussians fitted to receptive fields, with standard errors.

Both formulas add two shapes, whose factors follow from linear least squares. A fit starts from
several places, the most promising of which are followed to the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from fechner.arrays import Floats

#: How many of the starts, the best first, are followed to the end.
_FOLLOWED = 3
#: At half amplitude the Gaussian of a spectrum is this far from its peak, times 1/(pi sigma).
_HALF = math.sqrt(math.log(2) / 2)
#: Samples of the spectrum from which starts are taken.
_SPECTRUM = 128
#: Standard deviations of Gabors to start from, in periods.
_PERIODS = ((0.25, 0.25), (0.45, 0.45), (0.45, 0.9), (0.8, 0.8))
#: The surround is at least this much wider than the centre, and at most.
_RATIOS = (1.05, 20.0)
#: Standard deviations of the centre to start from, relative to the size of the profile.
_SIGMAS = (0.03, 0.06, 0.12, 0.25)


@dataclass(frozen=True)
class Profile:
    """Weights over space [h, w], at degrees rightwards [1, w] and upwards [h, 1]."""

    values: Floats
    x: Floats
    y: Floats
    ppd: float

    @property
    def size_deg(self) -> float:
        """The longer side."""
        return float(max(self.values.shape) / self.ppd)

    @property
    def centre(self) -> tuple[float, float]:
        """The middle of its pixels, in degrees."""
        return float(self.x.mean()), float(self.y.mean())

    def place(self, fx: float, fy: float, sigma_deg: float) -> tuple[float, float]:
        """Return where there is most of a frequency, in degrees."""
        blurred = self.values * np.exp(-2j * np.pi * (fx * self.x + fy * self.y))
        for axis, places in ((1, self.x.ravel()), (0, self.y.ravel())):
            away = places[:, None] - places[None, :]
            kernel = np.exp(-0.5 * (away / sigma_deg) ** 2)
            blurred = np.moveaxis(np.tensordot(kernel, blurred, (1, axis)), 0, axis)
        row, column = np.unravel_index(int(np.argmax(np.abs(blurred))), blurred.shape)
        return float(self.x[0, column]), float(self.y[row, 0])


def bandwidth_octaves(frequency_cpd: float, sigma_deg: float) -> float:
    """Return the full width of a Gabor's spectrum at half amplitude; infinite if it is low-pass.

    Examples
    --------
    >>> round(bandwidth_octaves(4.0, 0.14), 2)
    1.0
    """
    n = math.pi * frequency_cpd * sigma_deg
    return math.log2((n + _HALF) / (n - _HALF)) if n > _HALF else math.inf


@dataclass(frozen=True)
class GaborFit:
    """A Gabor fitted to a receptive field, in the conventions of `fechner.stimuli.Gabor`.

    Parameters
    ----------
    orientation_deg
        0 to 180; 0 is vertical bars, and it grows anticlockwise.
    phase_deg
        -180 to 180, of a sine at the centre of the window: 0 is odd, 90 has a bright bar there.
    sigma_deg, sigma_along_deg
        Standard deviations of the window across and along the bars.
    x_deg, y_deg
        Where it is, rightwards and upwards from the centre of the field.
    r2
        Share of the sum of squared weights that it explains.
    errors
        Standard errors by name, of whatever is not r2.

    Examples
    --------
    >>> fit = GaborFit(1.0, 4.0, 30.0, 90.0, 0.14, 0.2, 0.0, 0.0, 1.0)
    >>> round(fit.n_x, 2), round(fit.n_y, 2), round(fit.aspect, 2), round(fit.bandwidth_octaves, 2)
    (0.56, 0.8, 1.43, 1.0)
    """

    amplitude: float
    frequency_cpd: float
    orientation_deg: float
    phase_deg: float
    sigma_deg: float
    sigma_along_deg: float
    x_deg: float
    y_deg: float
    r2: float
    errors: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def peak_cpd(self) -> float:
        """Frequency that it prefers: where its spectrum is highest.

        With less than half a cycle per standard deviation that is not its carrier: the lobes of the
        spectrum around the frequency and its negative meet.
        """
        frequencies = np.linspace(0, self.frequency_cpd + 1 / (math.pi * self.sigma_deg), 2001)
        spread = 2 * (math.pi * self.sigma_deg) ** 2
        near = np.exp(-spread * (frequencies - self.frequency_cpd) ** 2)
        far = np.exp(-spread * (frequencies + self.frequency_cpd) ** 2)
        energy = near**2 + far**2 - 2 * near * far * math.cos(2 * math.radians(self.phase_deg))
        return float(frequencies[int(np.argmax(energy))])

    @property
    def bandwidth_octaves(self) -> float:
        """Full width of its spectrum at half amplitude; infinite if it is low-pass."""
        return bandwidth_octaves(self.frequency_cpd, self.sigma_deg)

    @property
    def n_x(self) -> float:
        """Cycles per standard deviation across the bars (Ringach 2002)."""
        return self.frequency_cpd * self.sigma_deg

    @property
    def n_y(self) -> float:
        """Cycles per standard deviation along the bars."""
        return self.frequency_cpd * self.sigma_along_deg

    @property
    def aspect(self) -> float:
        """Length over width of the window."""
        return self.sigma_along_deg / self.sigma_deg

    def draw(self, x: Floats, y: Floats) -> Floats:
        """Draw it at places in degrees, x [1, w] and y [h, 1]."""
        phase, angle = math.radians(self.phase_deg), math.radians(self.orientation_deg)
        sides = self.amplitude * math.sin(phase), self.amplitude * math.cos(phase)
        sigmas = math.log(self.sigma_deg), math.log(self.sigma_along_deg)
        at = (*sides, self.frequency_cpd, angle, *sigmas, self.x_deg, self.y_deg)
        return _Gabor(x, y)(np.array(at))


@dataclass(frozen=True)
class DogFit:
    """A difference of Gaussians with a common centre (Rodieck 1965).

    Parameters
    ----------
    centre_weight, surround_weight
        What the weights of all pixels add up to, of the centre and of the surround; a surround that
        opposes its centre has the other sign.
    x_deg, y_deg, r2, errors
        As of `GaborFit`.

    Examples
    --------
    >>> DogFit(0.1, 0.3, 2.0, -1.5, 0.0, 0.0, 1.0).antagonism
    0.75
    """

    centre_sigma_deg: float
    surround_sigma_deg: float
    centre_weight: float
    surround_weight: float
    x_deg: float
    y_deg: float
    r2: float
    errors: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def antagonism(self) -> float:
        """How much of the centre its surround takes away; 1 is all, below 0 it adds."""
        return -self.surround_weight / self.centre_weight if self.centre_weight else math.nan


@dataclass(frozen=True)
class _Formula:
    """Two shapes over space, times the first two of the parameters."""

    x: Floats
    y: Floats

    def shapes(self, p: Floats) -> Any:
        raise NotImplementedError

    def __call__(self, p: Floats) -> Floats:
        one, other = self.shapes(p)
        return np.asarray(p[0] * one + p[1] * other)


@dataclass(frozen=True)
class _Gabor(_Formula):
    """Parameters: even and odd part, frequency, angle, two log sigmas, x and y."""

    def _parts(self, p: Floats) -> tuple[Floats, ...]:
        dx, dy = self.x - p[6], self.y - p[7]
        u = dx * math.cos(p[3]) + dy * math.sin(p[3])
        v = dy * math.cos(p[3]) - dx * math.sin(p[3])
        window = np.exp(-0.5 * ((u / math.exp(p[4])) ** 2 + (v / math.exp(p[5])) ** 2))
        angle = 2 * np.pi * p[2] * u
        return u, v, window, np.cos(angle), np.sin(angle)

    def shapes(self, p: Floats) -> tuple[Floats, Floats]:
        _, _, window, even, odd = self._parts(p)
        return window * even, window * odd

    def slopes(self, p: Floats) -> tuple[Floats, ...]:
        """Return derivatives with respect to all parameters, each [h, w]."""
        u, v, window, even, odd = self._parts(p)
        wave = p[0] * even + p[1] * odd
        turned = p[1] * even - p[0] * odd
        narrow, long = math.exp(2 * p[4]), math.exp(2 * p[5])
        by_u = window * (2 * np.pi * p[2] * turned - wave * u / narrow)
        by_v = -window * wave * v / long
        cos, sin = math.cos(p[3]), math.sin(p[3])
        return (
            window * even,
            window * odd,
            window * turned * 2 * np.pi * u,
            by_u * v - by_v * u,
            window * wave * u**2 / narrow,
            window * wave * v**2 / long,
            -by_u * cos + by_v * sin,
            -by_u * sin - by_v * cos,
        )

    @staticmethod
    def named(p: Floats) -> GaborFit:
        orientation, phase = math.degrees(p[3]), math.degrees(math.atan2(p[0], p[1]))
        wave = math.hypot(p[0], p[1]), float(p[2]), orientation, phase
        return GaborFit(*wave, math.exp(p[4]), math.exp(p[5]), float(p[6]), float(p[7]), math.nan)


@dataclass(frozen=True)
class _Dog(_Formula):
    """Parameters: two weights, log sigma, log ratio of sigmas, x and y."""

    ppd: float

    def _parts(self, p: Floats) -> tuple[Floats, Floats, Floats, float, float]:
        squared = (self.x - p[4]) ** 2 + (self.y - p[5]) ** 2
        narrow, wide = math.exp(2 * p[2]), math.exp(2 * (p[2] + p[3]))
        pixel = self.ppd**-2
        centre = pixel / (2 * np.pi * narrow) * np.exp(-squared / (2 * narrow))
        surround = pixel / (2 * np.pi * wide) * np.exp(-squared / (2 * wide))
        return squared, centre, surround, narrow, wide

    def shapes(self, p: Floats) -> tuple[Floats, Floats]:
        return self._parts(p)[1:3]

    def slopes(self, p: Floats) -> tuple[Floats, ...]:
        squared, centre, surround, narrow, wide = self._parts(p)
        wider = p[1] * surround * (squared / wide - 2)
        away = p[0] * centre / narrow + p[1] * surround / wide
        return (
            centre,
            surround,
            p[0] * centre * (squared / narrow - 2) + wider,
            wider,
            away * (self.x - p[4]),
            away * (self.y - p[5]),
        )

    @staticmethod
    def named(p: Floats) -> DogFit:
        sigmas = math.exp(p[2]), math.exp(p[2] + p[3])
        return DogFit(*sigmas, float(p[0]), float(p[1]), float(p[4]), float(p[5]), math.nan)


def fit_gabor(profile: Profile) -> GaborFit:
    """Fit a Gabor by least squares, from the peaks of the spectrum.

    Examples
    --------
    >>> from fechner.stimuli import Field, Gabor
    >>> field = Field.of(pixels=32, ppd=32)
    >>> drawn = Gabor(4.0, sigma_deg=0.15, orientation_deg=30.0).draw(field).numpy()
    >>> x, y = (axis.numpy() for axis in field.grid())
    >>> found = fit_gabor(Profile(drawn, x, y, 32.0))
    >>> round(found.frequency_cpd, 3), round(found.orientation_deg, 2), round(found.r2, 3)
    (4.0, 30.0, 1.0)
    """
    pixel, size = 1 / profile.ppd, profile.size_deg
    (x, y), half = profile.centre, size / 2 + pixel
    smallest, largest = math.log(0.3 * pixel), math.log(2 * size)
    bound = 10 * float(np.abs(profile.values).max()) * math.sqrt(profile.values.size)
    low = np.array([-bound, -bound, 0.0, -20.0, smallest, smallest, x - half, y - half])
    high = np.array([bound, bound, 0.75 / pixel, 20.0, largest, largest, x + half, y + half])
    starts = []
    for fx, fy in _peaks(profile):
        frequency, angle = math.hypot(fx, fy), math.atan2(fy, fx)
        for across, along in _PERIODS:
            sigmas = across / frequency, along / frequency
            place = profile.place(fx, fy, sigmas[0])
            starts.append((frequency, angle, *map(math.log, sigmas), *place))
    derived = ("bandwidth_octaves", "n_x", "n_y", "aspect")
    formula = _Gabor(profile.x, profile.y)
    found: GaborFit = _best_fit(formula, profile, starts, low, high, derived)
    # A sine seen from behind: half a turn of the bars mirrors its phase.
    turned = found.orientation_deg % 360 >= 180
    phase = 180 - found.phase_deg if turned else found.phase_deg
    return replace(
        found, orientation_deg=found.orientation_deg % 180, phase_deg=(phase + 180) % 360 - 180
    )


def fit_dog(profile: Profile) -> DogFit:
    """Fit a difference of Gaussians by least squares.

    Examples
    --------
    >>> x = (np.arange(33) - 16)[None, :] / 32
    >>> values = _Dog(x, -x.T, 32.0)(np.array([1.0, -0.8, np.log(0.08), np.log(2.5), 0.0, 0.0]))
    >>> found = fit_dog(Profile(values, x, -x.T, 32.0))
    >>> round(found.centre_sigma_deg, 3), round(found.antagonism, 3), round(found.r2, 3)
    (0.08, 0.8, 1.0)
    """
    pixel, size = 1 / profile.ppd, profile.size_deg
    (x, y), half = profile.centre, size / 2
    smallest, largest = math.log(0.3 * pixel), math.log(2 * size)
    # A centre and a surround of nearly the same width can take any weight, and cancel.
    bound = 20 * float(np.abs(profile.values).sum())
    low = np.array([-bound, -bound, smallest, math.log(_RATIOS[0]), x - half, y - half])
    high = np.array([bound, bound, largest, math.log(_RATIOS[1]), x + half, y + half])
    starts = []
    for share in _SIGMAS:
        sigma = max(share * size, 0.5 * pixel)
        place = profile.place(0.0, 0.0, sigma)
        starts += [(math.log(sigma), math.log(ratio), *place) for ratio in (1.6, 3.0)]
    found: DogFit = _best_fit(_Dog(profile.x, profile.y, profile.ppd), profile, starts, low, high)
    return found


def _best_fit(
    formula: _Gabor | _Dog,
    profile: Profile,
    starts: Sequence[tuple[float, ...]],
    low: Floats,
    high: Floats,
    derived: tuple[str, ...] = (),
) -> Any:
    """Fit by least squares from the most promising starts, and keep the best.

    Starts are parameters after the first two, which follow from them. Properties of the fit that
    are derived have errors, too.
    """
    from scipy.optimize import least_squares

    values = profile.values
    scale = float(np.sqrt(np.mean(values**2)))
    begun = []
    for start in starts:
        at = np.array([0.0, 0.0, *start])
        matrix = np.stack([shape.ravel() for shape in formula.shapes(at)], axis=1)
        at[:2] = np.linalg.lstsq(matrix, values.ravel(), rcond=None)[0]
        left = values.ravel() - matrix @ at[:2]
        begun.append((float(left @ left), at))

    def slopes(p: Floats) -> Floats:
        return np.stack([each.ravel() for each in formula.slopes(p)], axis=1) / scale

    fits = [
        least_squares(
            lambda p: ((formula(p) - values) / scale).ravel(),
            np.clip(start, low, high),
            slopes,
            bounds=(low - 1e-9, high + 1e-9),
            x_scale="jac",
            ftol=1e-7,
            max_nfev=100,
        )
        for _, start in sorted(begun, key=lambda each: each[0])[:_FOLLOWED]
    ]
    best = min(fits, key=lambda fit: float(fit.cost))
    left = 2 * float(best.cost)
    covariance = np.linalg.pinv(best.jac.T @ best.jac) * left / max(values.size - len(low), 1)
    # Errors of what people call the parameters, to first order.
    found = formula.named(best.x)
    names = [each.name for each in fields(found) if each.name not in ("r2", "errors")]
    names += derived
    by = np.zeros((len(names), len(low)))
    for k, value in enumerate(best.x):
        step = 1e-6 * max(abs(value), 1e-3)
        above, below = (best.x + sign * step * (np.arange(len(low)) == k) for sign in (1, -1))
        above, below = formula.named(above), formula.named(below)
        by[:, k] = [(getattr(above, n) - getattr(below, n)) / (2 * step) for n in names]
    variances = np.einsum("ij,jk,ik->i", by, covariance, by)
    errors = dict(zip(names, np.sqrt(np.maximum(variances, 0.0)).tolist(), strict=True))
    return replace(found, r2=1 - left / values.size, errors=errors)


def _peaks(profile: Profile) -> list[tuple[float, float]]:
    """Return the largest peaks of the spectrum that have half a cycle within the profile."""
    n = max(_SPECTRUM, 2 * max(profile.values.shape))
    spectrum = np.abs(np.fft.rfft2(profile.values, s=(n, n)))
    fx = np.fft.rfftfreq(n, 1 / profile.ppd)[None, :]
    fy = -np.fft.fftfreq(n, 1 / profile.ppd)[:, None]  # rows run downwards
    spectrum[np.hypot(fx, fy) < 0.5 / profile.size_deg] = 0.0
    found = []
    for _ in range(3):
        row, column = np.unravel_index(int(np.argmax(spectrum)), spectrum.shape)
        at = float(fx[0, column]), float(fy[row, 0])
        found.append(at)
        # The next one is elsewhere: as far as the profile's size can tell frequencies apart.
        near = np.hypot(fx - at[0], fy - at[1]) < 0.75 / profile.size_deg
        near |= np.hypot(fx + at[0], fy + at[1]) < 0.75 / profile.size_deg
        spectrum[near] = 0.0
        if not spectrum.any():
            break
    return found

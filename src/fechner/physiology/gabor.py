"""Gabor functions fitted to receptive fields, with Ringach's (2002) numbers of cycles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fechner.physiology.least_squares import Profile, best_fit, errors_of, project

if TYPE_CHECKING:
    from fechner.physiology.least_squares import Floats

#: At half amplitude the Gaussian of a spectrum is this far from its peak, times 1/(pi sigma).
_HALF = math.sqrt(math.log(2) / 2)
#: Samples of the spectrum from which starts are taken.
_SPECTRUM = 128
#: Standard deviations to start from, in periods.
_SIGMAS = ((0.25, 0.25), (0.45, 0.45), (0.45, 0.9), (0.8, 0.8))


def bandwidth_octaves(frequency_cpd: float, sigma_deg: float) -> float:
    """Return the full width of a Gabor's spectrum at half amplitude; infinite if it is low-pass.

    Examples
    --------
    >>> round(bandwidth_octaves(4.0, 0.14), 2)
    1.0
    """
    n = math.pi * frequency_cpd * sigma_deg
    return math.log2((n + _HALF) / (n - _HALF)) if n > _HALF else math.inf


def peak_cpd(frequency_cpd: float, sigma_deg: float, phase_deg: float) -> float:
    """Return the frequency that a Gabor prefers: where its spectrum is highest.

    With less than half a cycle per standard deviation that is not its carrier, which many shapes
    hardly depend on: the spectrum has two lobes, around the frequency and its negative, that meet.

    Examples
    --------
    >>> round(peak_cpd(4.0, 0.2, 90.0), 2), round(peak_cpd(0.1, 0.1, 0.0), 2)
    (4.0, 1.59)
    """
    frequencies = np.linspace(0, frequency_cpd + 1 / (math.pi * sigma_deg), 2001)
    spread = 2 * (math.pi * sigma_deg) ** 2
    near = np.exp(-spread * (frequencies - frequency_cpd) ** 2)
    far = np.exp(-spread * (frequencies + frequency_cpd) ** 2)
    energy = near**2 + far**2 - 2 * near * far * math.cos(2 * math.radians(phase_deg))
    return float(frequencies[int(np.argmax(energy))])


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
        """Frequency that it prefers."""
        return peak_cpd(self.frequency_cpd, self.sigma_deg, self.phase_deg)

    @property
    def bandwidth_octaves(self) -> float:
        """Full width of its spectrum at half amplitude; infinite if it is low-pass."""
        return bandwidth_octaves(self.frequency_cpd, self.sigma_deg)

    @property
    def n_x(self) -> float:
        """Cycles per standard deviation across the bars."""
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
        phase = math.radians(self.phase_deg)
        return _Gabor(x, y)(
            np.array(
                [
                    self.amplitude * math.sin(phase),
                    self.amplitude * math.cos(phase),
                    self.frequency_cpd,
                    math.radians(self.orientation_deg),
                    math.log(self.sigma_deg),
                    math.log(self.sigma_along_deg),
                    self.x_deg,
                    self.y_deg,
                ]
            )
        )


@dataclass(frozen=True)
class _Gabor:
    """The formula. Parameters: even and odd part, frequency, angle, two log sigmas, x and y."""

    x: Floats
    y: Floats

    def _parts(self, p: Floats) -> tuple[Floats, ...]:
        dx, dy = self.x - p[6], self.y - p[7]
        u = dx * math.cos(p[3]) + dy * math.sin(p[3])
        v = dy * math.cos(p[3]) - dx * math.sin(p[3])
        window = np.exp(-0.5 * ((u / math.exp(p[4])) ** 2 + (v / math.exp(p[5])) ** 2))
        angle = 2 * np.pi * p[2] * u
        return u, v, window, np.cos(angle), np.sin(angle)

    def shapes(self, p: Floats) -> list[Floats]:
        """Return the even and the odd Gabor of unit amplitude."""
        _, _, window, even, odd = self._parts(p)
        return [window * even, window * odd]

    def __call__(self, p: Floats) -> Floats:
        even, odd = self.shapes(p)
        drawn: Floats = p[0] * even + p[1] * odd
        return drawn

    def slopes(self, p: Floats) -> Floats:
        """Return derivatives with respect to all parameters, [pixels, 8]."""
        u, v, window, even, odd = self._parts(p)
        wave = p[0] * even + p[1] * odd
        turned = p[1] * even - p[0] * odd
        narrow, long = math.exp(2 * p[4]), math.exp(2 * p[5])
        by_u = window * (2 * np.pi * p[2] * turned - wave * u / narrow)
        by_v = -window * wave * v / long
        cos, sin = math.cos(p[3]), math.sin(p[3])
        columns = (
            window * even,
            window * odd,
            window * turned * 2 * np.pi * u,
            by_u * v - by_v * u,
            window * wave * u**2 / narrow,
            window * wave * v**2 / long,
            -by_u * cos + by_v * sin,
            -by_u * sin - by_v * cos,
        )
        return np.stack([column.ravel() for column in columns], axis=1)


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
    model = _Gabor(profile.x, profile.y)
    pixel, size = 1 / profile.ppd, profile.size_deg
    (x, y), half = profile.centre, size / 2 + pixel
    smallest, largest = math.log(0.3 * pixel), math.log(2 * size)
    bound = 10 * float(np.abs(profile.values).max()) * math.sqrt(profile.values.size)
    low = np.array([-bound, -bound, 0.0, -20.0, smallest, smallest, x - half, y - half])
    high = np.array([bound, bound, 0.75 / pixel, 20.0, largest, largest, x + half, y + half])
    fitted = best_fit(model, model.slopes, profile.values, _starts(profile, model), low, high)
    found = _named(fitted.parameters)
    errors = errors_of(_named, fitted)
    # A sine seen from behind: half a turn of the bars mirrors its phase.
    turned = found["orientation_deg"] % 360 >= 180
    phase = 180 - found["phase_deg"] if turned else found["phase_deg"]
    found["orientation_deg"] %= 180
    found["phase_deg"] = (phase + 180) % 360 - 180
    for name in ("bandwidth_octaves", "n_x", "n_y", "aspect"):
        del found[name]
    return GaborFit(**found, r2=fitted.r2, errors=errors)


def _named(p: Floats) -> dict[str, float]:
    """Return what people call the parameters, and what follows from them."""
    sigma, along, frequency = math.exp(p[4]), math.exp(p[5]), float(p[2])
    return {
        "amplitude": math.hypot(p[0], p[1]),
        "frequency_cpd": frequency,
        "orientation_deg": math.degrees(p[3]),
        "phase_deg": math.degrees(math.atan2(p[0], p[1])),
        "sigma_deg": sigma,
        "sigma_along_deg": along,
        "x_deg": float(p[6]),
        "y_deg": float(p[7]),
        "bandwidth_octaves": bandwidth_octaves(frequency, sigma),
        "n_x": frequency * sigma,
        "n_y": frequency * along,
        "aspect": along / sigma,
    }


def _starts(profile: Profile, model: _Gabor) -> Iterator[tuple[float, Floats]]:
    """Yield what is left and parameters: at peaks of the spectrum, where their energy is."""
    for fx, fy in _peaks(profile):
        frequency, angle = math.hypot(fx, fy), math.atan2(fy, fx)
        for across, along in _SIGMAS:
            sigma = across / frequency
            place = profile.place(profile.local_energy(fx, fy, sigma))
            start = np.array(
                [0, 0, frequency, angle, math.log(sigma), math.log(along / frequency), *place]
            )
            start[:2], left = project(model.shapes(start), profile.values)
            yield left, start


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

"""Spatial frequencies of pictures: filters, phase scrambling, and bands at a stated RMSE.

And what others need of them: kernels of any shape, and noise with a spectrum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from fechner.arrays import Tensor, torch
from fechner.errors import PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.manipulations.base import Manipulation, normal, pixel_manipulation, uniform
from fechner.stimuli.noise import Band, Noise
from fechner.stimuli.pictures import Manipulated, Problem, Seed, Seeds, picture_drawn, rounded

#: The RMSE as shown may differ from the one asked for by this share.
TOLERANCE = 0.01


def filter_cosines(pixels: Tensor, gains: Callable[[Tensor], Tensor]) -> Tensor:
    """Multiply the terms of pictures' cosine transforms by gains.

    It is the Fourier transform of a picture that is continued by its mirror images, so that its
    opposite edges do not meet. Gains, [n, h, w], are a function of the frequency in cycles per
    pixel, [h, w].
    """
    n, channels, height, width = pixels.shape
    down = _cosines(height, str(pixels.device)).to(pixels.dtype)
    across = _cosines(width, str(pixels.device)).to(pixels.dtype)

    def both(values: Tensor, left: Tensor, right: Tensor) -> Tensor:
        lines = values.reshape(n, channels * height, width)
        rows = torch.bmm(lines, right.expand(n, -1, -1)).reshape(n * channels, height, width)
        return torch.bmm(left.expand(n * channels, -1, -1), rows).reshape(values.shape)

    fy, fx = (
        torch.arange(size, dtype=torch.float64, device=pixels.device) / (2 * size)
        for size in (height, width)
    )
    own = gains(torch.hypot(fy[:, None], fx[None, :]))
    return both(both(pixels, down, across.T) * own[:, None].to(pixels.dtype), down.T, across)


@lru_cache(maxsize=8)
def _cosines(n: int, device: str) -> Tensor:
    """Return the orthonormal cosine transform (DCT-II) of n numbers as a matrix."""
    steps = torch.arange(n, dtype=torch.float64, device=device)
    matrix = torch.cos(math.pi / n * steps[:, None] * (steps[None, :] + 0.5)) * math.sqrt(2 / n)
    matrix[0] /= math.sqrt(2)
    return matrix


def convolve(pixels: Tensor, kernels: Tensor) -> Tensor:
    """Convolve each picture with a kernel of its own, [n, k, k] with k odd, which sums to 1.

    Beyond its edges a picture is continued by its mirror image, however small it is.
    """
    from scipy.fft import next_fast_len

    reach = kernels.shape[-1] // 2
    height, width = pixels.shape[-2:]
    places, size = [], []
    for n in (height, width):
        steps = torch.arange(-reach, n + reach, device=pixels.device) % (2 * n)
        places.append(torch.where(steps < n, steps, 2 * n - 1 - steps))
        size.append(next_fast_len(n + 2 * reach, real=True))
    wide = pixels[..., places[0], :][..., places[1]]
    spectrum = fourier(kernels.to(pixels.dtype), size)[:, None]
    done = from_fourier(fourier(wide, size) * spectrum, size)
    return done[..., 2 * reach : 2 * reach + height, 2 * reach : 2 * reach + width]


def fourier(rows: Tensor, size: Sequence[int] | None = None) -> Tensor:
    """Return real Fourier transforms of rows, continued with zeros to a size, one after the other.

    Done together, they would differ in the last bit with the number of rows.
    """
    return torch.stack([torch.fft.rfft2(row, s=size) for row in rows])


def from_fourier(spectra: Tensor, size: Sequence[int]) -> Tensor:
    """Undo `fourier`."""
    return torch.stack([torch.fft.irfft2(row, s=size) for row in spectra])


def fourier_frequencies(height: int, width: int, like: Tensor) -> Tensor:
    """Return the frequency of each term of a real Fourier transform, [h, w // 2 + 1], in c/px."""
    fx = torch.fft.rfftfreq(width, dtype=torch.float64, device=like.device)
    fy = torch.fft.fftfreq(height, dtype=torch.float64, device=like.device)
    return torch.hypot(fy[:, None], fx[None, :])


def filtered_noise(
    seeds: Seeds, stream: str, size: tuple[int, int], gains: Tensor, like: Tensor
) -> Tensor:
    """Return Gaussian noise of mean 0 and standard deviation 1, [n, h, w].

    Gains are those of each term of a real Fourier transform, [h, w // 2 + 1] or one for each row;
    if there is nothing in it, the noise is 0.
    """
    white = normal(seeds, stream, size, like)
    spectrum = fourier(white) * gains.to(like.dtype)
    spectrum[..., 0, 0] = 0
    noise = from_fourier(spectrum, size)
    # In double precision: in which order threads add up a row depends on the number of rows.
    spread = noise.double().square().mean(dim=(1, 2), keepdim=True).sqrt().to(noise.dtype)
    return torch.where(spread > 1e-6, noise / spread.clamp(min=1e-6), torch.zeros_like(noise))


def fractal_noise(
    seeds: Seeds, stream: str, size: tuple[int, int], powers: Tensor, like: Tensor
) -> Tensor:
    """Return noise whose amplitude falls with a power of frequency, one for each row, [n, h, w]."""
    frequency = fourier_frequencies(*size, like).clamp(min=1 / max(size))
    gains = (frequency * max(size)) ** -powers.double()[:, None, None]
    return filtered_noise(seeds, stream, size, gains, like)


@pixel_manipulation(
    "low-pass",
    title="Low-pass filter",
    axis="cut-off (octaves below the highest frequency)",
    reference="geirhos2021",
    range=(0.3, 8.0),
    words="is low-pass filtered: frequencies are kept up to a cut-off that lies the level in "
    "octaves below the highest that pixels hold, and fade out within an octave above it",
)
def low_pass(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Take out high frequencies.

    Above the cut-off the gain falls to 0 within an octave, as a raised cosine of log frequency.
    """
    # The highest frequency that pixels hold is along their diagonal.
    cut_off = math.sqrt(0.5) * levels.double().neg().exp2()
    return filter_cosines(pixels, lambda frequency: 1 - _rise(frequency, cut_off, cut_off * 2))


@pixel_manipulation(
    "high-pass",
    title="High-pass filter",
    axis="cut-off (cycles per width)",
    reference="geirhos2021",
    range=(0.7, 112.0),
    words="is high-pass filtered: frequencies are kept from a cut-off on, which is the level in "
    "cycles per width, and fade out within an octave below it; the mean of each channel is kept, "
    "and what leaves black and white is cut",
)
def high_pass(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Take out low frequencies but for the mean of each channel.

    Below the cut-off the gain falls to 0 within an octave, as a raised cosine of log frequency.
    """
    cut_off = levels.double() / pixels.shape[-1]

    def gains(frequency: Tensor) -> Tensor:
        found = _rise(frequency, cut_off / 2, cut_off)
        found[:, 0, 0] = 1
        return found

    return filter_cosines(pixels, gains)


def _rise(frequency: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Return 0 up to one frequency and 1 from another on, [n, h, w]."""
    octaves = torch.log2(frequency.clamp(min=1e-9))[None]
    low, high = (torch.log2(edge)[:, None, None] for edge in (start, end))
    return (1 - torch.cos(math.pi * ((octaves - low) / (high - low)).clamp(0, 1))) / 2


@pixel_manipulation(
    "phase-scramble",
    title="Phase scrambling",
    axis="largest shift of phase (deg)",
    reference="geirhos2021",
    range=(2.0, 180.0),
    words="has the phases of its Fourier transform shifted at random, by minus to plus the level "
    "in degrees, in all channels alike; the power spectrum is kept, and what leaves black and "
    "white is cut",
    random=True,
    most=180.0,
)
def phase_scramble(pixels: Tensor, levels: Tensor, seeds: Seeds) -> Tensor:
    """Shift phases, even between minus and plus the level: 180 deg leaves nothing of them."""
    height, width = pixels.shape[-2:]
    half = width // 2 + 1
    shifts = uniform(seeds, "phases", (height, half), pixels).mul_(2).sub_(1)
    # Opposite frequencies have opposite shifts, as a real picture has them.
    first = (height - 1) // 2
    for column in {0, width // 2} if width % 2 == 0 else {0}:
        own = shifts[:, :, column]
        own[:, 0] = 0
        if height % 2 == 0:
            own[:, height // 2] = 0
        if first:
            own[:, -first:] = -own[:, 1 : first + 1].flip(1)
    angles = shifts * (levels * (math.pi / 180))[:, None, None]
    turned = fourier(pixels) * torch.polar(torch.ones_like(angles), angles)[:, None]
    return from_fourier(turned, (height, width))


@dataclass(frozen=True, kw_only=True)
class AtRmse(Manipulation):
    """Changes a band of frequencies until a picture differs by a given RMSE, the level.

    After Hernández-Cámara et al. (2025, section 5): whatever the band, the changed picture is as
    far from the original, in the values that are sent to a display, as for any other band. The RMSE
    is over pixels and channels, of display-encoded values in 0..1.

    Parameters
    ----------
    band
        In cycles per degree.
    nearest
        Whether to come as near as possible where that RMSE cannot be had, for people to look at;
        otherwise that is a `PictureError`.
    """

    band: Band = field(kw_only=False)
    nearest: bool = False
    axis: str = "RMSE"
    reference: str = "hernandez2025"
    range: tuple[float, float] = (0.01, 0.16)

    alone: ClassVar[bool] = True
    #: How it is done, in words before the band.
    by: ClassVar[str]
    #: How much more than the RMSE may be added to make up for what is cut off; noise that must be
    #: stronger is noise of another band. None: the whole band may be added, and no more.
    most_gain: ClassVar[float | None] = None

    def direction(self, pixels: Tensor, field: Field, seed: Seed) -> Tensor:
        """Return what is added to a picture, [1, 3, h, w], times a gain."""
        raise NotImplementedError

    def changed(
        self, pixels: Tensor, rmse: float, field: Field, seed: Seed = (), bits: int | None = None
    ) -> tuple[Tensor, Problem]:
        """Return a picture, [3, h, w], at an RMSE or as near as can be, and why it is no nearer."""
        self.check_level(rmse)
        if rmse == 0:
            return pixels, ""
        original = pixels[None]
        direction = self.direction(original, field, seed)
        length = float(direction.square().flatten(1).mean(dim=1).sqrt())
        plain = rmse / max(length, 1e-12)  # the gain that would do if nothing were cut or rounded
        limit = 1.0 if self.most_gain is None else self.most_gain * plain
        # The RMSE only grows with the gain, a little less than in proportion: a secant through 0
        # closes in on it, kept between gains that were too small and too large.
        low, high, gain = 0.0, limit, min(plain, limit)
        best, error = original, math.inf
        for _ in range(24):
            now = rounded(original + gain * direction, bits)
            found = float(rmse_between(now, original))
            off = abs(found / rmse - 1)
            if off < error:
                best, error = now, off
            low, high = (gain, high) if found < rmse else (low, gain)
            if error < 0.001 or high - low <= 1e-9 * limit:
                break
            secant = gain * rmse / max(found, 1e-12)
            # At the limit the largest gain itself is tried before anything in between.
            gain = (
                min(secant, limit) if secant >= limit or low < secant < high else (low + high) / 2
            )
        if error <= TOLERANCE:
            return best[0], ""
        return best[0], "unreachable" if plain > limit else "clipped"

    def shown(self, recipe: Manipulated, field: Field, bits: int | None, device: str) -> Tensor:
        """Draw a picture and change it."""
        original = picture_drawn(recipe.picture, field, bits, device)
        pixels, problem = self.changed(original, recipe.level, field, recipe.seed, bits)
        if problem and not self.nearest:
            how = f"by an RMSE of {recipe.level:g} by {self.by} {self.band}"
            raise PictureError(f"{recipe.picture} cannot be changed {how}.", problem)
        return pixels


@dataclass(frozen=True, kw_only=True)
class Suppressed(AtRmse):
    """Attenuates a band in every channel until pictures differ by a given RMSE.

    A band that has less than that in it, even if it is taken out whole, is unreachable.
    """

    name: str = "band-suppressed"
    title: str = "Band suppressed"
    words: str = "has a band of frequencies attenuated until its RMSE to the original is the level"

    by: ClassVar[str] = "taking out"

    def direction(self, pixels: Tensor, field: Field, seed: Seed) -> Tensor:
        """Return the band, to be taken off."""
        mask = self.band.mask(field, str(pixels.device))
        found: Tensor = -torch.fft.irfft2(torch.fft.rfft2(pixels) * mask, s=pixels.shape[-2:])
        return found


@dataclass(frozen=True, kw_only=True)
class BandNoise(AtRmse):
    """Adds Gaussian noise in a band, the same to all three channels, as grey as in the paper.

    Where pixels would leave 0..1 they are cut, and the noise is made stronger to make up for it, by
    half at most.
    """

    name: str = "band-filled"
    title: str = "Band filled with noise"
    words: str = "has noise added in a band of frequencies until its RMSE is the level"
    random: bool = True

    by: ClassVar[str] = "noise of"
    most_gain: ClassVar[float | None] = 1.5

    def direction(self, pixels: Tensor, field: Field, seed: Seed) -> Tensor:
        """Return noise."""
        noise = Noise(self.band.low_cpd, self.band.high_cpd, seed)
        return noise.draw(field, str(pixels.device))[None, None].expand_as(pixels)


def rmse_between(a: Tensor, b: Tensor) -> Tensor:
    """Return the RMSE of each picture, [n].

    Examples
    --------
    >>> import torch
    >>> rmse_between(torch.zeros(1, 3, 4, 4), torch.full((1, 3, 4, 4), 0.5)).tolist()
    [0.5]
    """
    return (a - b).square().flatten(1).mean(dim=1).sqrt()

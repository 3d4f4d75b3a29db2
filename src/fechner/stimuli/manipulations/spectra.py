"""Spatial frequencies of pictures: filters, kernels of any shape, and noise with a spectrum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.randomness import normal
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor


def cosine_frequencies(pixels: Tensor) -> Tensor:
    """Return the frequency of each term of their cosine transform, in cycles per pixel, [h, w]."""
    import torch

    fy, fx = (
        torch.arange(n, dtype=torch.float64, device=pixels.device) / (2 * n)
        for n in pixels.shape[-2:]
    )
    return torch.hypot(fy[:, None], fx[None, :])


def filter_cosines(pixels: Tensor, gains: Tensor) -> Tensor:
    """Multiply the terms of pictures' cosine transforms by gains, [n, h, w].

    It is the Fourier transform of a picture that is continued by its mirror images, so that its
    opposite edges do not meet.
    """
    import torch

    height, width = pixels.shape[-2:]
    down = _cosines(height, str(pixels.device)).to(pixels.dtype)
    across = _cosines(width, str(pixels.device)).to(pixels.dtype)

    def both(values: Tensor, left: Tensor, right: Tensor) -> Tensor:
        n, channels = values.shape[:2]
        lines = values.reshape(n, channels * height, width)
        rows = torch.bmm(lines, right.expand(n, -1, -1)).reshape(n * channels, height, width)
        return torch.bmm(left.expand(n * channels, -1, -1), rows).reshape(values.shape)

    terms = both(pixels, down, across.T)
    return both(terms * gains[:, None].to(pixels.dtype), down.T, across)


@lru_cache(maxsize=8)
def _cosines(n: int, device: str) -> Tensor:
    """Return the orthonormal cosine transform (DCT-II) of n numbers as a matrix."""
    import torch

    steps = torch.arange(n, dtype=torch.float64, device=device)
    matrix = torch.cos(math.pi / n * steps[:, None] * (steps[None, :] + 0.5)) * math.sqrt(2 / n)
    matrix[0] /= math.sqrt(2)
    return matrix


def mirrored(pixels: Tensor, by_px: int) -> Tensor:
    """Continue pictures by their mirror images on all sides, however small they are."""
    import torch

    height, width = pixels.shape[-2:]

    def places(n: int) -> Tensor:
        steps = torch.arange(-by_px, n + by_px, device=pixels.device) % (2 * n)
        return torch.where(steps < n, steps, 2 * n - 1 - steps)

    return pixels[..., places(height), :][..., places(width)]


def convolve(pixels: Tensor, kernels: Tensor) -> Tensor:
    """Convolve each picture with a kernel of its own, [n, k, k] with k odd, which sums to 1.

    Beyond its edges a picture is continued by its mirror image.
    """
    reach = kernels.shape[-1] // 2
    height, width = pixels.shape[-2:]
    wide = mirrored(pixels, reach)
    size = (_quick(wide.shape[-2]), _quick(wide.shape[-1]))
    spectrum = fourier(kernels.to(pixels.dtype), size)[:, None]
    done = from_fourier(fourier(wide, size) * spectrum, size)
    return done[..., 2 * reach : 2 * reach + height, 2 * reach : 2 * reach + width]


def fourier(rows: Tensor, size: tuple[int, int] | None = None) -> Tensor:
    """Return real Fourier transforms over the last two dimensions, one row after the other.

    Done together, they would differ in the last bit with the number of rows.

    Parameters
    ----------
    size
        Rows are continued with zeros to it.
    """
    import torch

    return torch.stack([torch.fft.rfft2(row, s=size) for row in rows])


def from_fourier(spectra: Tensor, size: tuple[int, int]) -> Tensor:
    """Undo `fourier`."""
    import torch

    return torch.stack([torch.fft.irfft2(row, s=size) for row in spectra])


@lru_cache(maxsize=64)
def _quick(n: int) -> int:
    """Return the next number that has no prime factors but 2, 3 and 5: Fourier transforms like it.

    Examples
    --------
    >>> _quick(241), _quick(1)
    (243, 1)
    """
    while True:
        rest = n
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1


def fourier_frequencies(height: int, width: int, like: Tensor) -> Tensor:
    """Return the frequency of each term of a real Fourier transform, [h, w // 2 + 1], in c/px."""
    import torch

    fx = torch.fft.rfftfreq(width, dtype=torch.float64, device=like.device)
    fy = torch.fft.fftfreq(height, dtype=torch.float64, device=like.device)
    return torch.hypot(fy[:, None], fx[None, :])


def filtered_noise(
    seeds: Sequence[Seed], stream: str, size: tuple[int, int], gains: Tensor, like: Tensor
) -> Tensor:
    """Return Gaussian noise of mean 0 and standard deviation 1, [n, h, w].

    Parameters
    ----------
    gains
        Of each term of a real Fourier transform, [h, w // 2 + 1] or one for each row; if there is
        nothing in it, the noise is 0.
    """
    import torch

    white = normal(seeds, stream, size, like)
    spectrum = fourier(white) * gains.to(like.dtype)
    spectrum[..., 0, 0] = 0
    noise = from_fourier(spectrum, size)
    # In double precision: in which order threads add up a row depends on the number of rows.
    spread = noise.double().square().mean(dim=(1, 2), keepdim=True).sqrt().to(noise.dtype)
    return torch.where(spread > 1e-6, noise / spread.clamp(min=1e-6), torch.zeros_like(noise))


def fractal_noise(
    seeds: Sequence[Seed], stream: str, size: tuple[int, int], powers: Tensor, like: Tensor
) -> Tensor:
    """Return noise whose amplitude falls with a power of frequency, one for each row, [n, h, w]."""
    frequency = fourier_frequencies(*size, like).clamp(min=1 / max(size))
    gains = (frequency * max(size)) ** -powers.double()[:, None, None]
    return filtered_noise(seeds, stream, size, gains, like)

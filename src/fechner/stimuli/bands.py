"""Bands of spatial frequencies taken out of pictures, or filled with noise, at a stated RMSE.

After Hernández-Cámara et al. (2025, section 5): whatever the band, the changed picture is as far
from the original, in the values that are sent to a display, as for any other band.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.field import Field
from fechner.stimuli.noise import Band, Noise
from fechner.stimuli.pictures import Changed, Problem, Seed, rounded

if TYPE_CHECKING:
    from torch import Tensor

#: The RMSE as shown may differ from the one asked for by this share.
TOLERANCE = 0.01

#: A gain is looked for until the RMSE is as near as this, if it can be, in so many steps.
_NEAR = 0.001
_STEPS = 24

#: Noise that must be as much stronger to make up for what is cut off is noise of another band.
_MOST_GAIN = 1.5


@dataclass(frozen=True)
class Suppressed:
    """Attenuates a band in every channel until pictures differ by a given RMSE.

    A band that has less than that in it, even if it is taken out whole, is unreachable.

    Parameters
    ----------
    rmse
        Root mean squared difference over pixels and channels, of display-encoded values in 0..1.
    """

    band: Band
    rmse: float

    @property
    def words(self) -> str:
        """What it does."""
        return f"changed by an RMSE of {self.rmse:g} by taking out {self.band}"

    def __call__(
        self, pixels: Tensor, field: Field, seeds: Sequence[Seed], bits: int | None
    ) -> Changed:
        """Change pictures; there is nothing random in it."""
        import torch

        mask = self.band.mask(field, str(pixels.device))
        content = torch.fft.irfft2(torch.fft.rfft2(pixels) * mask, s=pixels.shape[-2:])
        return _at_rmse(pixels, -content, self.rmse, bits, most=lambda gain: torch.ones_like(gain))


@dataclass(frozen=True)
class BandNoise:
    """Adds Gaussian noise in a band, the same to all three channels, as grey as in the paper.

    Where pixels would leave 0..1 they are cut, and the noise is made stronger to make up for it, by
    half at most.

    Parameters
    ----------
    rmse
        As for `Suppressed`.
    """

    band: Band
    rmse: float

    @property
    def words(self) -> str:
        """What it does."""
        return f"changed by an RMSE of {self.rmse:g} by noise of {self.band}"

    def __call__(
        self, pixels: Tensor, field: Field, seeds: Sequence[Seed], bits: int | None
    ) -> Changed:
        """Change pictures, each by noise of its own seed."""
        import torch

        device = str(pixels.device)
        noise = torch.stack(
            [
                Noise(self.band.low_cpd, self.band.high_cpd, seed).draw(field, device)
                for seed in seeds
            ]
        )
        noise = noise[:, None].expand_as(pixels)
        return _at_rmse(pixels, noise, self.rmse, bits, most=lambda gain: _MOST_GAIN * gain)


def rmse_between(a: Tensor, b: Tensor) -> Tensor:
    """Return the RMSE of each picture, [n].

    Examples
    --------
    >>> import torch
    >>> rmse_between(torch.zeros(1, 3, 4, 4), torch.full((1, 3, 4, 4), 0.5)).tolist()
    [0.5]
    """
    return (a - b).square().flatten(1).mean(dim=1).sqrt()


def _at_rmse(
    pixels: Tensor,
    direction: Tensor,
    rmse: float,
    bits: int | None,
    most: Callable[[Tensor], Tensor],
) -> Changed:
    """Go along a direction until the picture, cut to 0..1 and rounded, is so far from the original.

    Parameters
    ----------
    most
        The largest gain, from the one that would do if nothing were cut or rounded.
    """
    import torch

    if rmse == 0:
        fine: Problem = ""
        return Changed(pixels, (fine,) * len(pixels))
    length = direction.square().flatten(1).mean(dim=1).sqrt()
    plain = rmse / length.clamp(min=1e-12)
    limit = most(plain)

    def shown(gain: Tensor) -> Tensor:
        return rounded(pixels + gain[:, None, None, None] * direction, bits)

    # The RMSE only grows with the gain, a little less than in proportion: a secant through 0 closes
    # in on it, kept between gains that were too small and too large.
    low, high = torch.zeros_like(plain), limit.clone()
    gain = torch.minimum(plain, limit)
    best, error = pixels, torch.full_like(plain, math.inf)
    done = torch.zeros_like(plain, dtype=torch.bool)
    for _ in range(_STEPS):
        now = shown(gain)
        found = rmse_between(now, pixels)
        off = (found / rmse - 1).abs()
        # What is done stays as it is, so that a picture does not depend on its neighbours.
        better = (off < error) & ~done
        best = torch.where(better[:, None, None, None], now, best)
        error = torch.where(better, off, error)
        low = torch.where(found < rmse, gain, low)
        high = torch.where(found < rmse, high, gain)
        done |= (error < _NEAR) | (high - low <= 1e-9 * limit)
        if done.all():
            break
        secant = gain * rmse / found.clamp(min=1e-12)
        inside = (secant > low) & (secant < high)
        # At the limit the largest gain itself is tried before anything in between.
        step = torch.where(secant >= limit, limit, torch.where(inside, secant, (low + high) / 2))
        gain = torch.where(done, gain, step)
    outcomes = zip(error.tolist(), plain.tolist(), limit.tolist(), strict=True)
    return Changed(best, tuple(_problem(*each) for each in outcomes))


def _problem(error: float, plain: float, limit: float) -> Problem:
    if error <= TOLERANCE:
        return ""
    return "unreachable" if plain > limit else "clipped"

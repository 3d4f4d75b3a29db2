"""Normalised Laplacian pyramid distance (Laparra, Ballé, Berardino & Simoncelli 2016).

Each band of a Laplacian pyramid is divided by a weighted sum of its neighbours' sizes, as retina
and thalamus are thought to do; the distance is the root mean square over a band, averaged over
bands. Six levels; weights and constants are those that the authors fitted to photographs and
published with their code. Pictures are luma, [n, h, w], in 0..1. Reference: laparra2016.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fechner.errors import ObserverError
from fechner.observers.metrics.filtering import extend, smooth
from fechner.stimuli.colour import root

if TYPE_CHECKING:
    from torch import Tensor

#: The low-pass filter of Burt & Adelson (1983) with a = 0.4.
_LOW_PASS = (0.05, 0.25, 0.4, 0.25, 0.05)


class Normalisation(NamedTuple):
    """What a level is divided by: a constant, and the weights of the four neighbours."""

    constant: float
    above: float
    left: float
    right: float
    below: float


#: Finest level first; the last is the low-pass residual. The authors' tables are convolved, so that
#: what they print to the right of the centre is the weight of the left neighbour.
NORMALISATION = (
    Normalisation(0.0248, above=0.1015, left=0.1460, right=0.1493, below=0.1011),
    Normalisation(0.0185, above=0.0837, left=0.1846, right=0.1986, below=0.0757),
    Normalisation(0.0179, above=0.0467, left=0.2243, right=0.2138, below=0.0477),
    Normalisation(0.0191, above=0.0, left=0.2616, right=0.2503, below=0.0),
    Normalisation(0.0220, above=0.0, left=0.2552, right=0.2598, below=0.0),
    Normalisation(0.2782, above=0.0, left=0.0717, right=0.2215, below=0.0),
)

#: Below this, the coarsest level would have no pixel of its own.
_SMALLEST_PX = 2 ** (len(NORMALISATION) - 1)


def normalised_pyramid(picture: Tensor) -> tuple[Tensor, ...]:
    """Return the six levels of a picture, finest first, each divided by its neighbourhood.

    Examples
    --------
    >>> import torch
    >>> levels = normalised_pyramid(torch.full((1, 64, 64), 0.5, dtype=torch.float64))
    >>> [tuple(level.shape[1:]) for level in levels[:2]], float(levels[0].abs().max())
    ([(64, 64), (32, 32)], 0.0)
    >>> round(float(levels[-1][0, 0, 0]), 4)
    1.2855
    """
    if min(picture.shape[-2:]) < _SMALLEST_PX:
        height, width = picture.shape[-2:]
        raise ObserverError(
            f"NLPD needs pictures of at least {_SMALLEST_PX} x {_SMALLEST_PX} px, "
            f"not {width} x {height}; show it larger ones."
        )
    # Only the low-pass residual knows the constant; the others keep their digits without it.
    level = picture.mean(dim=(-2, -1), keepdim=True)
    rest, found = picture - level, []
    for around in NORMALISATION[:-1]:
        low = smooth(rest, _LOW_PASS, step=2, border="mirror")
        found.append(_normalise(rest - _enlarge(low, rest.shape[-2], rest.shape[-1]), around))
        rest = low
    found.append(_normalise(rest + level, NORMALISATION[-1]))
    return tuple(found)


def nlpd(test: tuple[Tensor, ...], reference: tuple[Tensor, ...]) -> Tensor:
    """Return the distance of two normalised pyramids, [n] in float64: 0 for identical pictures.

    Examples
    --------
    >>> import torch
    >>> grating = 0.1 * torch.arange(64, dtype=torch.float64).sin().expand(1, 64, 64)
    >>> grey = torch.full_like(grating, 0.5)
    >>> round(float(nlpd(normalised_pyramid(grey + grating), normalised_pyramid(grey))), 5)
    0.46857
    """
    import torch

    distances = [
        root((one - other).square().mean(dim=(-2, -1), dtype=torch.float64))
        for one, other in zip(test, reference, strict=True)
    ]
    return torch.stack(distances, dim=1).mean(dim=1)


def _enlarge(low: Tensor, height: int, width: int) -> Tensor:
    """Double a picture by the low-pass filter, its edge pixels repeated, and cut it to size.

    Zeros put between pixels and filtered with twice the weights: a pixel that was there sees itself
    and two neighbours, a new one the two that it lies between.
    """
    import torch

    outer, inner, centre = (2 * weight for weight in _LOW_PASS[:3])
    for dim, size in ((-2, height), (-1, width)):
        count = low.shape[dim]
        wide = extend(low, dim, 1, 1, "repeat")
        before, here, after = (wide.narrow(dim, start, count) for start in range(3))
        old = (before + after) * outer + here * centre
        new = (here + after) * inner
        low = torch.stack([old, new], dim=dim).flatten(dim - 1, dim)
        low = low.narrow(dim, 0, size)
    return low


def _normalise(band: Tensor, around: Normalisation) -> Tensor:
    """Divide a band by its constant and its neighbours; beyond the edges there is nothing."""
    from torch.nn import functional

    size = functional.pad(band.abs(), (1, 1, 1, 1))
    inside = slice(1, -1)
    pool = size[..., inside, :-2] * around.left + size[..., inside, 2:] * around.right
    if around.above or around.below:
        pool = pool + size[..., :-2, inside] * around.above + size[..., 2:, inside] * around.below
    return band / (around.constant + pool)

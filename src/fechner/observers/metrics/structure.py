"""SSIM (Wang et al. 2004) and MS-SSIM (Wang, Simoncelli & Bovik 2003), exact near threshold.

As everybody writes it, SSIM is 1 minus something tiny near threshold, found from variances
E[x^2] - E[x]^2 that have lost most of their digits on nearly uniform fields. Here the loss 1 - SSIM
is computed itself, from the difference d = x - y, as a sum of terms that are small where d is::

    1 - luminance = E[d]^2 / (mu_x^2 + mu_y^2 + C1)
    1 - contrast structure = var(d) / (var(x) + var(y) + C2)

which is the published formula, since 2 cov(x, y) = var(x) + var(y) - var(x - y). It is done in two
steps, so that the moments of a reference are computed once.

Pictures are one channel, [n, h, w], in 0..1. References: wang2004, wang2003.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from fechner.errors import ObserverError
from fechner.observers.metrics.filtering import gaussian_window, smooth

if TYPE_CHECKING:
    from torch import Tensor

#: Eleven pixels, standard deviation 1.5 (Wang et al. 2004, section III.C).
WINDOW = gaussian_window(11, 1.5)

#: (K1 L)^2 and (K2 L)^2 for a data range L of 1.
C1, C2 = 0.01**2, 0.03**2

#: Exponents of the scales, finest first (Wang, Simoncelli & Bovik 2003, section 3.2).
SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)

#: What a picture of odd size is continued with before it is halved: its last row or column again
#: (as in Wang's own code), or a black line on either side, as some packages do, which makes a dark
#: rim.
Odd = Literal["edge", "black"]


class Moments(NamedTuple):
    """A picture with its local moments where the window fits.

    Moments are taken around a constant of each picture: that changes neither variance nor
    covariance and keeps their digits.
    """

    #: [n, h, w].
    picture: Tensor
    #: The constant, [n, 1, 1].
    level: Tensor
    #: Local mean minus the constant, [n, h - 10, w - 10].
    mean: Tensor
    #: Local variance.
    variance: Tensor


#: Moments at five scales, finest first.
Scales: TypeAlias = tuple[Moments, ...]


def moments(picture: Tensor) -> Moments:
    """Return the local moments of a picture.

    Examples
    --------
    >>> import torch
    >>> steps = torch.arange(12, dtype=torch.float64).expand(1, 12, 12)
    >>> found = moments(steps)
    >>> round(float((found.level + found.mean)[0, 0, 0]), 6)
    5.0
    >>> round(float(found.variance[0, 0, 0]), 3)
    2.243
    """
    if min(picture.shape[-2:]) < len(WINDOW):
        raise _too_small("SSIM", picture, len(WINDOW))
    level = picture.mean(dim=(-2, -1), keepdim=True)
    rest = picture - level
    mean = smooth(rest, WINDOW)
    return Moments(picture, level, mean, smooth(rest.square(), WINDOW) - mean.square())


def losses(test: Moments, reference: Moments) -> tuple[Tensor, Tensor]:
    """Return maps of what is lost in luminance and in contrast and structure.

    The map of SSIM is (1 - the first) (1 - the second); the second alone is what MS-SSIM takes of
    all but the coarsest scale.
    """
    x, x_level, x_mean, x_variance = test
    y, y_level, y_mean, y_variance = reference
    # Both levels are exact constants, so that no digit of this difference is lost.
    mean = (x_level - y_level) + (x_mean - y_mean)
    variance = smooth((x - y).square(), WINDOW) - mean.square()
    squares = (x_level + x_mean).square() + (y_level + y_mean).square()
    return mean.square() / (squares + C1), variance / (x_variance + y_variance + C2)


def ssim_loss(test: Moments, reference: Moments) -> Tensor:
    """Return 1 - SSIM, [n] in float64: 0 for identical pictures, at most 2.

    Examples
    --------
    >>> import torch
    >>> grating = 1e-4 * torch.arange(16, dtype=torch.float64).sin().expand(1, 16, 16)
    >>> grey = torch.full_like(grating, 0.5)
    >>> f"{float(ssim_loss(moments(grey + grating), moments(grey))):.4e}"
    '4.9935e-06'
    """
    import torch

    luminance, structure = losses(test, reference)
    return _both(luminance, structure).mean(dim=(-2, -1), dtype=torch.float64)


def ssim(test: Moments, reference: Moments) -> Tensor:
    """Return SSIM, [n] in float64: 1 for identical pictures."""
    return 1 - ssim_loss(test, reference)


def scales(picture: Tensor, odd: Odd = "edge") -> Scales:
    """Return the moments of a picture at five scales, each half the one before."""
    smallest = (len(WINDOW) - 1) * 2 ** (len(SCALE_WEIGHTS) - 1) + 1
    if min(picture.shape[-2:]) < smallest:
        raise _too_small("MS-SSIM", picture, smallest)
    found = [moments(picture)]
    for _ in SCALE_WEIGHTS[1:]:
        found.append(moments(halve(found[-1].picture, odd)))
    return tuple(found)


def ms_ssim_loss(test: Scales, reference: Scales) -> Tensor:
    """Return 1 - MS-SSIM, [n] in float64: 0 for identical pictures, at most 1.

    MS-SSIM is contrast and structure of all scales and luminance of the coarsest, each to its
    power. A scale whose mean is negative counts as 0, as in public implementations.

    Examples
    --------
    >>> import torch
    >>> grating = 1e-4 * torch.arange(176, dtype=torch.float64).sin().expand(1, 176, 176)
    >>> grey = torch.full_like(grating, 0.5)
    >>> f"{float(ms_ssim_loss(scales(grey + grating), scales(grey))):.4e}"
    '1.8775e-06'
    """
    import torch

    lost = []
    for number, (seen, known) in enumerate(zip(test, reference, strict=True), start=1):
        luminance, structure = losses(seen, known)
        coarsest = number == len(SCALE_WEIGHTS)
        share = _both(luminance, structure) if coarsest else structure
        lost.append(share.mean(dim=(-2, -1), dtype=torch.float64))
    each = torch.stack(lost, dim=1)
    nothing_left = each >= 1
    # 1 - product of (1 - lost)^weight, without subtracting from 1.
    logarithms = (-each.masked_fill(nothing_left, 0.0)).log1p()
    loss = -(logarithms * each.new_tensor(SCALE_WEIGHTS)).sum(dim=1).expm1()
    return loss.masked_fill(nothing_left.any(dim=1), 1.0)


def ms_ssim(test: Scales, reference: Scales) -> Tensor:
    """Return MS-SSIM, [n] in float64: 1 for identical pictures, at least 0."""
    return 1 - ms_ssim_loss(test, reference)


def halve(pictures: Tensor, odd: Odd = "edge") -> Tensor:
    """Average blocks of 2 x 2 pixels.

    Examples
    --------
    >>> import torch
    >>> row = torch.tensor([[[1.0, 3.0, 5.0]]]).expand(1, 2, 3)
    >>> halve(row).tolist(), halve(row, "black").tolist()
    ([[[2.0, 5.0]]], [[[0.5, 4.0]]])
    """
    from torch.nn import functional

    height, width = (size % 2 for size in pictures.shape[-2:])
    if odd == "black":
        return functional.avg_pool2d(pictures[:, None], 2, padding=(height, width))[:, 0]
    if height or width:
        pictures = functional.pad(pictures, (0, width, 0, height), mode="replicate")
    return functional.avg_pool2d(pictures[:, None], 2)[:, 0]


def _both(luminance: Tensor, structure: Tensor) -> Tensor:
    """Return 1 - (1 - a)(1 - b)."""
    return luminance + structure - luminance * structure


def _too_small(name: str, picture: Tensor, smallest: int) -> ObserverError:
    height, width = picture.shape[-2:]
    return ObserverError(
        f"{name} needs pictures of at least {smallest} x {smallest} px, not {width} x {height}; "
        "show it larger ones."
    )

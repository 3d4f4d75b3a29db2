"""Metrics of luma: PSNR, SSIM, MS-SSIM and NLPD, exact near threshold and differentiable.

As everybody writes it, SSIM is 1 minus something tiny near threshold, found from variances
E[x^2] - E[x]^2 that have lost most of their digits on nearly uniform fields. Here the loss 1 - SSIM
is computed itself, from the difference d = x - y, as a sum of terms that are small where d is::

    1 - luminance = E[d]^2 / (mu_x^2 + mu_y^2 + C1)
    1 - contrast structure = var(d) / (var(x) + var(y) + C2)

which is the published formula, since 2 cov(x, y) = var(x) + var(y) - var(x - y).

NLPD divides each band of a Laplacian pyramid by a weighted sum of its neighbours' sizes, as retina
and thalamus are thought to do; the distance is the root mean square over a band, averaged over
bands. Six levels; weights and constants are those that the authors fitted to photographs and
published with their code.

Pictures are luma, [n, h, w], in 0..1; what depends on a reference alone is computed once.
References: wang2004, wang2003, laparra2016.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from fechner.arrays import Tensor, torch
from fechner.observers.metrics.filtering import extend, gaussian_window, smooth
from fechner.observers.metrics.metric import Metric, Precision, check_size, declared, luma
from fechner.stimuli.colour import root

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

#: The low-pass filter of Burt & Adelson (1983) with a = 0.4.
_LOW_PASS = (0.05, 0.25, 0.4, 0.25, 0.05)


class Neighbours(NamedTuple):
    """What a level is divided by: a constant, and the weights of the four neighbours."""

    constant: float
    above: float
    left: float
    right: float
    below: float


#: Finest level first; the last is the low-pass residual. The authors' tables are convolved, so that
#: what they print to the right of the centre is the weight of the left neighbour.
NORMALISATION = (
    Neighbours(0.0248, above=0.1015, left=0.1460, right=0.1493, below=0.1011),
    Neighbours(0.0185, above=0.0837, left=0.1846, right=0.1986, below=0.0757),
    Neighbours(0.0179, above=0.0467, left=0.2243, right=0.2138, below=0.0477),
    Neighbours(0.0191, above=0.0, left=0.2616, right=0.2503, below=0.0),
    Neighbours(0.0220, above=0.0, left=0.2552, right=0.2598, below=0.0),
    Neighbours(0.2782, above=0.0, left=0.0717, right=0.2215, below=0.0),
)


def psnr_y(device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return PSNR of luma; its difference is the root mean squared error, 10^(-PSNR / 20)."""
    about = declared("psnr-y").at(precision)
    return Metric(
        "psnr-y",
        about,
        lambda test, reference, frames: (frames.share * mean_squared_error(test, reference)).sqrt(),
        look=lambda frames: luma(frames.pixels),
        fingerprint=f"psnr-y/1/{about.wants.dtype}/",
    )


def ssim(device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return 1 - SSIM of luma (Wang et al. 2004)."""
    return _metric("ssim", precision, moments, ssim_loss)


def ms_ssim(
    device: str = "cpu", precision: Precision = "own", odd: Odd = "edge", levels: int = 0
) -> Metric:
    """Return 1 - MS-SSIM of luma (Wang, Simoncelli & Bovik 2003).

    Parameters
    ----------
    odd
        How pictures of odd size are continued before they are halved.
    levels
        Steps to which luma is rounded, 255 in the published numbers of Hammou et al. (2025); 0
        leaves it as it is.
    """

    def look(picture: Tensor) -> Scales:
        return scales((picture * levels).round() / levels if levels else picture, odd)

    return _metric("ms-ssim", precision, look, ms_ssim_loss, f"{odd}/{levels}")


def nlpd(device: str = "cpu", precision: Precision = "own") -> Metric:
    """Return the normalised Laplacian pyramid distance of luma (Laparra et al. 2016)."""
    return _metric("nlpd", precision, normalised_pyramid, pyramid_distance)


def _metric(
    name: str,
    precision: Precision,
    look: Callable[[Tensor], Any],
    compare: Callable[[Any, Any], Tensor],
    settings: str = "",
) -> Metric:
    about = declared(name).at(precision)
    return Metric(
        name,
        about,
        lambda test, reference, frames: compare(test, reference),
        look=lambda frames: look(luma(frames.pixels)),
        fingerprint=f"{name}/1/{about.wants.dtype}/{settings}",
    )


def mean_squared_error(test: Tensor, reference: Tensor) -> Tensor:
    """Return the mean of squared differences over all but the first dimension, [n] in float64.

    PSNR is -10 log10 of it where values are in 0..1; it is infinite for identical pictures, this
    is 0.

    Examples
    --------
    >>> import torch
    >>> mean_squared_error(torch.full((2, 4, 4), 0.5), torch.zeros(1, 4, 4)).tolist()
    [0.25, 0.25]
    """
    return (test - reference).square().flatten(1).mean(dim=1, dtype=torch.float64)


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
    check_size("SSIM", picture, len(WINDOW))
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
    luminance, structure = losses(test, reference)
    return _both(luminance, structure).mean(dim=(-2, -1), dtype=torch.float64)


def scales(picture: Tensor, odd: Odd = "edge") -> Scales:
    """Return the moments of a picture at five scales, each half the one before."""
    smallest = (len(WINDOW) - 1) * 2 ** (len(SCALE_WEIGHTS) - 1) + 1
    check_size("MS-SSIM", picture, smallest)
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
    # In a smaller one, the coarsest level would have no pixel of its own.
    check_size("NLPD", picture, 2 ** (len(NORMALISATION) - 1))
    # Only the low-pass residual knows the constant; the others keep their digits without it.
    level = picture.mean(dim=(-2, -1), keepdim=True)
    rest, found = picture - level, []
    for around in NORMALISATION[:-1]:
        low = smooth(rest, _LOW_PASS, step=2, border="mirror")
        found.append(_normalise(rest - _enlarge(low, rest.shape[-2], rest.shape[-1]), around))
        rest = low
    found.append(_normalise(rest + level, NORMALISATION[-1]))
    return tuple(found)


def pyramid_distance(test: tuple[Tensor, ...], reference: tuple[Tensor, ...]) -> Tensor:
    """Return the distance of two normalised pyramids, [n] in float64: 0 for identical pictures.

    Examples
    --------
    >>> import torch
    >>> grating = 0.1 * torch.arange(64, dtype=torch.float64).sin().expand(1, 64, 64)
    >>> grey = torch.full_like(grating, 0.5)
    >>> seen, known = normalised_pyramid(grey + grating), normalised_pyramid(grey)
    >>> round(float(pyramid_distance(seen, known)), 5)
    0.46857
    """
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


def _normalise(band: Tensor, around: Neighbours) -> Tensor:
    """Divide a band by its constant and its neighbours; beyond the edges there is nothing."""
    from torch.nn import functional

    size = functional.pad(band.abs(), (1, 1, 1, 1))
    inside = slice(1, -1)
    pool = size[..., inside, :-2] * around.left + size[..., inside, 2:] * around.right
    if around.above or around.below:
        pool = pool + size[..., :-2, inside] * around.above + size[..., 2:, inside] * around.below
    return band / (around.constant + pool)

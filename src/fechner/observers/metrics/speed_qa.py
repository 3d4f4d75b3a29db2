"""SpEED-QA (Bampis, Gupta, Soundararajan & Bovik 2017): differences of local entropies.

A picture is reduced, its local mean taken off, and cut into blocks. A block is modelled as a
Gaussian vector of the picture's own covariance times a local variance, seen through neural noise;
its entropy, weighted by the logarithm of that variance, is what it says. The score is the mean of
absolute differences of that over blocks; for video, that of frames times that of frame differences.
Reference: bampis2017.

What the paper and the authors' public code leave to choose, and what is chosen:

- Pictures are reduced twice by two and cut into blocks of 3 x 3; videos four times and 5 x 5.
- Reduction is bicubic with the kernel stretched by two, mirrored at the edges; the local mean is a
  7 x 7 Gaussian of standard deviation 7/6, edge pixels repeated.
- Logarithms are to base 2, except for the constant of a Gaussian's entropy, which is natural, and
  without the factor 1/2: as in the code, whose numbers these are.
- All eigenvalues of the covariance count, also those that are 0, as the formula of the paper says;
  in the code it depends on rounding which of them do.
- A covariance that cannot be inverted, as that of any smooth or one-dimensional pattern, is helped
  by a ridge at the level of rounding. A uniform picture has local variance 0 and says 0.

The local variance does not change with contrast. So against a uniform reference the score does not
go to 0 with contrast, but to a number of its own: the metric jumps at threshold by construction.

Luma is in 0..255, [n, h, w] or [n, t, h, w].
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from fechner.arrays import Tensor, torch
from fechner.errors import ObserverError
from fechner.observers.metrics.filtering import gaussian_window, smooth
from fechner.observers.metrics.metric import Metric, Precision, check_size, declared, luma
from fechner.stimuli import Clips, Frames

#: Variance of the neural noise.
NOISE = 0.1

_WINDOW = gaussian_window(7, 7 / 6)

#: Cubic convolution (Keys 1981, a = -1/2), stretched by two and taken between two pixels.
_HALVING = (-3 / 256, -9 / 256, 29 / 256, 111 / 256, 111 / 256, 29 / 256, -9 / 256, -3 / 256)

#: Variations of luma below this many times its rounding do not count.
_ROUNDINGS = 100


class Settings(NamedTuple):
    """How far pictures are reduced, and the side of a block."""

    halvings: int
    block_px: int


PICTURES = Settings(halvings=2, block_px=3)
VIDEOS = Settings(halvings=4, block_px=5)


class Watched(NamedTuple):
    """What a video says: of frames and of frame differences, each [n, t - 1, blocks]."""

    spatial: Tensor
    temporal: Tensor


def make(
    device: str = "cpu", precision: Precision = "own", pairs: Literal["all", "last"] = "all"
) -> Metric:
    """Return SpEED-QA of luma, spatial for pictures.

    Parameters
    ----------
    precision
        That of luma; covariances are always inverted in float64.
    pairs
        Which pairs of successive frames of a video count: ``last`` in the published numbers of
        Hammou et al. (2025).
    """
    about = declared("speed-qa").at(precision)

    def levels(frames: Frames) -> Tensor:
        return 16 + 219 * luma(frames.pixels)  # those of video, 16 to 235

    def watched(clips: Clips) -> Watched:
        lumas = torch.stack([levels(frames) for frames in clips], dim=1)
        return watch(lumas[:, 0 if pairs == "all" else -2 :].double())

    return Metric(
        "speed-qa",
        about,
        lambda test, reference, frames: speed(test, reference),
        look=lambda frames: information(levels(frames).double()),
        watch=lambda test, reference: speed_video(watched(test), watched(reference)),
        fingerprint=f"speed-qa/1/{about.wants.dtype}/{pairs}",
    )


def information(luma_255: Tensor, settings: Settings = PICTURES) -> Tensor:
    """Return what each block of a picture says, [n, blocks].

    Examples
    --------
    >>> import torch
    >>> x = torch.arange(48, dtype=torch.float64)
    >>> picture = 128 + 50 * (x / 4).sin() * (x[:, None] / 5).cos()
    >>> said = information(picture[None])
    >>> said.shape[1], round(float(said.mean()), 2)
    (16, 94.05)
    """
    entropy, variance = _blocks(_reduce(luma_255, settings), settings)
    return entropy * (1 + variance).log2()


def speed(test: Tensor, reference: Tensor) -> Tensor:
    """Return SpEED-QA of pictures from what they say, [n] in float64: 0 for identical ones.

    Examples
    --------
    >>> import torch
    >>> x = torch.arange(48, dtype=torch.float64)
    >>> picture = 128 + 50 * (x / 4).sin() * (x[:, None] / 5).cos()
    >>> weaker = 64 + picture / 2
    >>> round(float(speed(information(weaker[None]), information(picture[None]))), 3)
    20.688
    """
    return (test - reference).abs().mean(dim=-1, dtype=torch.float64)


def watch(luma_255: Tensor, settings: Settings = VIDEOS) -> Watched:
    """Return what each block of each frame, and of its change to the next, says."""
    if luma_255.shape[1] < 2:
        raise ObserverError("SpEED-QA of video needs at least two frames; give it a longer clip.")
    n, count = len(luma_255), luma_255.shape[1] - 1
    small = _reduce(luma_255.flatten(0, 1), settings)
    small = small.reshape(n, count + 1, *small.shape[1:])
    frames = small[:, :-1].flatten(0, 1)
    changes = (small[:, 1:] - small[:, :-1]).flatten(0, 1)
    entropy, variance = _blocks(frames, settings)
    change_entropy, change_variance = _blocks(changes, settings)
    weight = (1 + variance).log2()
    temporal = change_entropy * weight * (1 + change_variance).log2()
    return Watched((entropy * weight).reshape(n, count, -1), temporal.reshape(n, count, -1))


def speed_video(test: Watched, reference: Watched) -> Tensor:
    """Return SpEED-QA of videos, [n] in float64: the spatial mean times the temporal one."""
    spatial, temporal = (
        speed(one, other).mean(dim=1) for one, other in zip(test, reference, strict=True)
    )
    return spatial * temporal


def _reduce(luma_255: Tensor, settings: Settings) -> Tensor:
    """Halve pictures so often, without the luma of their first pixel, which changes nothing."""
    check_size("SpEED-QA", luma_255, 2 * settings.block_px * 2**settings.halvings)
    small = luma_255 - luma_255[..., :1, :1]
    for _ in range(settings.halvings):
        small = smooth(small, _HALVING, step=2, border="mirror")
    return small


def _blocks(small: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """Return the conditional entropy and the local variance of each block, [n, blocks]."""
    from torch.nn import functional

    side = settings.block_px
    pixels = side * side
    rest = small - smooth(small, _WINDOW, border="repeat")
    height, width = (size // side * side for size in rest.shape[-2:])
    rest = rest[:, None, :height, :width]
    everywhere = functional.unfold(rest, side)
    everywhere = everywhere - everywhere.mean(dim=2, keepdim=True)
    covariance = everywhere @ everywhere.mT / everywhere.shape[2]

    rounding = torch.finfo(rest.dtype).eps
    trace = covariance.diagonal(dim1=1, dim2=2).sum(dim=1)
    ridge = 32 * rounding * trace + (_ROUNDINGS * 255 * rounding) ** 2
    identity = torch.eye(pixels, dtype=rest.dtype, device=rest.device)
    factor = torch.linalg.cholesky(covariance + ridge[:, None, None] * identity)
    blocks = functional.unfold(rest, side, stride=side)
    whitened = torch.linalg.solve_triangular(factor, blocks, upper=False)
    variance = whitened.square().mean(dim=1)

    eigenvalues = torch.linalg.eigvalsh(covariance).clamp(min=0)
    spread = variance[:, :, None] * eigenvalues[:, None] + NOISE
    return spread.log2().sum(dim=2) + pixels * math.log(2 * math.pi * math.e), variance

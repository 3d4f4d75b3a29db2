"""Luma, the one channel that grey metrics look at, and the oldest metric of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

#: Weights of ITU-R BT.709, applied to encoded values as television does.
BT709_WEIGHTS = (0.2126, 0.7152, 0.0722)

#: Weights of ITU-R BT.2020, meant for its own primaries.
BT2020_WEIGHTS = (0.2627, 0.6780, 0.0593)


def luma(encoded_rgb: Tensor, weights: tuple[float, float, float] = BT709_WEIGHTS) -> Tensor:
    """Return luma of display-encoded pictures, [n, 3, h, w] -> [n, h, w], or [n, 3, t, h, w].

    Encoded, not linear: this is what grey metrics are fed with by custom, and what Hammou et al.
    (2025, hammou2025) did.

    Examples
    --------
    >>> import torch
    >>> luma(torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64).reshape(1, 3, 1, 1)).tolist()
    [[[0.5702]]]
    """
    red, green, blue = encoded_rgb.unbind(dim=1)
    return (red * weights[0]).add(green, alpha=weights[1]).add(blue, alpha=weights[2])


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
    import torch

    return (test - reference).square().flatten(1).mean(dim=1, dtype=torch.float64)

"""Short separable filters on pictures, [..., h, w].

Slices of the picture are added up: in float64 on a CPU this is five to ten times as fast as a
convolution, it works in any precision and on any device, and it is differentiable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from fechner.arrays import Tensor, torch

#: How a picture goes on beyond its edges: its outermost pixels repeated, or the picture mirrored
#: with its outermost pixels seen twice.
Border = Literal["repeat", "mirror"]


def gaussian_window(size: int, sigma_px: float) -> tuple[float, ...]:
    """Return a Gaussian of an odd number of pixels that sums to 1.

    Examples
    --------
    >>> [round(weight, 4) for weight in gaussian_window(3, 1.0)]
    [0.2741, 0.4519, 0.2741]
    """
    half = size // 2
    values = [math.exp(-0.5 * (i / sigma_px) ** 2) for i in range(-half, half + 1)]
    return tuple(value / math.fsum(values) for value in values)


def smooth(
    pictures: Tensor, kernel: Sequence[float], *, step: int = 1, border: Border | None = None
) -> Tensor:
    """Filter rows and columns by a symmetric kernel.

    Parameters
    ----------
    kernel
        Symmetric weights. One of even length lies around the middle between two pixels.
    step
        Only every step-th pixel of the result is computed.
    border
        None leaves out what the kernel does not fit into.

    Examples
    --------
    >>> import torch
    >>> smooth(torch.eye(4)[None], (0.25, 0.5, 0.25)).tolist()
    [[[0.375, 0.25], [0.25, 0.375]]]
    """
    for dim in (-2, -1):
        if border is not None:
            size = pictures.shape[dim]
            before = (len(kernel) - 1) // 2
            after = (-(-size // step) - 1) * step + len(kernel) - before - size
            pictures = extend(pictures, dim, before, after, border)
        pictures = _along(pictures, kernel, dim, step)
    return pictures


def extend(pictures: Tensor, dim: int, before: int, after: int, border: Border) -> Tensor:
    """Continue pictures over their edges along one dimension.

    Examples
    --------
    >>> import torch
    >>> row = torch.tensor([1.0, 2.0, 3.0])
    >>> extend(row, 0, 2, 1, "repeat").tolist(), extend(row, 0, 2, 1, "mirror").tolist()
    ([1.0, 1.0, 1.0, 2.0, 3.0, 3.0], [2.0, 1.0, 1.0, 2.0, 3.0, 3.0])
    """
    size = pictures.shape[dim]
    where = torch.arange(-before, size + after, device=pictures.device)
    if border == "repeat":
        where = where.clamp(0, size - 1)
    else:
        where = where % (2 * size)
        where = torch.minimum(where, 2 * size - 1 - where)
    return pictures.index_select(dim, where)


def _along(pictures: Tensor, kernel: Sequence[float], dim: int, step: int) -> Tensor:
    """Filter along one dimension, where the kernel fits."""
    last = len(kernel) - 1
    reach = (pictures.shape[dim] - len(kernel)) // step * step + 1

    def shifted(offset: int) -> Tensor:
        rows = pictures.narrow(dim, offset, reach)
        if step == 1:
            return rows
        return rows[..., ::step] if dim == -1 else rows[..., ::step, :]

    # Both ends of a symmetric kernel have one weight: half the multiplications.
    total = (shifted(0) + shifted(last)) * kernel[0]
    for i in range(1, (last + 1) // 2):
        total.add_(shifted(i) + shifted(last - i), alpha=kernel[i])
    if last % 2 == 0:
        total.add_(shifted(last // 2), alpha=kernel[last // 2])
    return total

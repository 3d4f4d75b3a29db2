"""Roots and angles whose gradient is finite everywhere: 0 where the function has none.

Metrics are asked for their gradient where test and reference are the same picture, and colours for
theirs on the grey axis: there roots and angles have a kink, and plain ones answer with infinity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def root(square: Tensor) -> Tensor:
    """Return the square root, with gradient 0 at 0.

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> root(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.25]
    """
    zero = square == 0
    return square.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


def length(x: Tensor, y: Tensor) -> Tensor:
    """Return the length of (x, y), with gradient 0 at the origin."""
    return root(x.square() + y.square())


def angle(y: Tensor, x: Tensor) -> Tensor:
    """Return the angle of (x, y) in radians, from -pi to pi; at the origin 0 with gradient 0.

    Examples
    --------
    >>> import torch
    >>> point = torch.zeros(2, requires_grad=True)
    >>> angle(point[0], point[1]).backward()
    >>> point.grad.tolist()
    [0.0, 0.0]
    """
    origin = (x == 0) & (y == 0)
    return y.masked_fill(origin, 0.0).atan2(x.masked_fill(origin, 1.0))

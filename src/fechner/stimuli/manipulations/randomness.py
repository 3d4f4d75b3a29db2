"""Random numbers for each pixel from its place and a seed: the same in any batch, on any device.

Generators draw one number after the other, so that rows of a batch would need one each. Here a
number is a hash of its place in the picture and of the row's seed: all rows at once, in 32-bit
integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

#: Multipliers between three shifts, found by search for the least bias of any output bit
#: (C. Wellons, hash-prospector, 2018); the second is negative in 32 bits with a sign.
_MULTIPLIERS = (0x7FEB352D, 0x846CA68B - (1 << 32))

#: Bits of a uniform number: with half a step added, single precision still holds it.
_BITS = 23


def hashes(
    seeds: Sequence[Seed], stream: str, shape: tuple[int, ...], device: torch.device | str
) -> Tensor:
    """Return 32 random bits for each place, as integers with a sign, [n, *shape].

    Parameters
    ----------
    stream
        What the numbers are for; those of another stream are others.

    Examples
    --------
    >>> hashes([(1,), (2,)], "example", (2,), "cpu").tolist()
    [[1436672159, 1595957271], [124425017, -1558826926]]
    """
    import torch

    keys = torch.tensor([_key(tuple(seed), stream) for seed in seeds], dtype=torch.int32)
    keys = keys.to(device).reshape(len(seeds), 2, 1)
    places = _places(math.prod(shape), str(device))
    mixed = _mix_((places ^ keys[:, 0]).add_(keys[:, 1]))
    return mixed.reshape(len(seeds), *shape)


def uniform(seeds: Sequence[Seed], stream: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return uniform numbers between 0 and 1, neither included, [n, *shape].

    Parameters
    ----------
    like
        A tensor on the device and of the precision that is wanted.
    """
    return as_uniform(hashes(seeds, stream, shape, like.device), like)


def normal(seeds: Sequence[Seed], stream: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return standard normal numbers, [n, *shape]; none is beyond 5.3."""
    import torch

    between = uniform(seeds, stream, shape, like).mul_(2).sub_(1)
    return torch.erfinv(between).mul_(math.sqrt(2))


def as_uniform(hashed: Tensor, like: Tensor) -> Tensor:
    """Return the upper bits of hashes as uniform numbers; the lower ones are free for a coin."""
    steps = 1 << _BITS
    upper = (hashed >> (32 - _BITS)).bitwise_and_(steps - 1)
    return upper.to(like.dtype).add_(0.5).div_(steps)


def _key(seed: Seed, stream: str) -> tuple[int, int]:
    """Return two numbers of 32 bits, with a sign."""
    text = f"{stream}:{','.join(str(int(each)) for each in seed)}"
    digest = blake2b(text.encode(), digest_size=8).digest()
    first, second = (int.from_bytes(digest[i : i + 4], "little", signed=True) for i in (0, 4))
    return first, second


@lru_cache(maxsize=8)
def _places(count: int, device: str) -> Tensor:
    import torch

    return _mix_(torch.arange(1, count + 1, dtype=torch.int32, device=device))


def _mix_(x: Tensor) -> Tensor:
    """Mix bits in place: one that differs changes half of all others."""
    first, second = _MULTIPLIERS
    # Shifts of integers with a sign bring in copies of it, which are masked.
    x.bitwise_xor_((x >> 16).bitwise_and_(0xFFFF)).mul_(first)
    x.bitwise_xor_((x >> 15).bitwise_and_(0x1FFFF)).mul_(second)
    return x.bitwise_xor_((x >> 16).bitwise_and_(0xFFFF))

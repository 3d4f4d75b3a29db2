"""Seven ways to turn a difference of features into one number.

All start from d = x - r, elementwise in the model's own precision; row sums are in
float64. A difference of two rounded norms or an arccos of a rounded cosine would lose what matters
most here: the smallest differences. At d = 0 every read-out is 0 with a finite gradient.

The angle from a reference without a direction, and the correlation of features that are all the
same, are undefined: NaN. Features that are not finite give infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from fechner.errors import UnknownNameError

if TYPE_CHECKING:
    from torch import Tensor

#: Rows are read out in blocks of at most this many elements: it bounds memory and stays in cache.
_BLOCK = 1 << 19
_STRETCH = 256

#: Sums of squares outside this range may have lost terms to the limits of float32.
_SAFE = (1e-26, 1e30)

#: Where features change by more than this many times their length, the reference is silent: it has
#: the direction of rounding errors.
_SILENT = 1e3

#: Read-outs that are undefined, NaN, against some references.
MAY_BE_UNDEFINED = frozenset({"angle", "correlation"})


class Difference:
    """Rows of d = x - r, with the sums that read-outs share, computed when first asked for.

    Where squares leave the range of float32, sums are taken in float64 from the start.
    """

    def __init__(
        self,
        x: Tensor,
        reference: Tensor,
        reference_energy: Tensor,
        d: Tensor | None = None,
    ) -> None:
        self.x = x
        self.d = x - reference if d is None else d
        self.reference = reference
        self.reference_energy = reference_energy

    @cached_property
    def energy(self) -> Tensor:
        """The sum of d d."""
        energy = energy_of(self.d)
        if not (_is_safe(energy) and _is_safe(self.reference_energy)):
            self.d, self.reference = self.d.double(), self.reference.double()
        return energy

    @cached_property
    def along(self) -> Tensor:
        """The sum of r d."""
        _ = self.energy  # which widens both if need be
        return row_sum(self.d * self.reference)


def row_sum(values: Tensor) -> Tensor:
    """Sum rows [n, features] in float64.

    Stretches of 256 elements are summed in the model's own precision, whose rounding is that of
    the elements themselves; converting every element would take three times as long.
    """
    head = values.shape[1] // _STRETCH * _STRETCH
    total = values[:, head:].sum(dim=1).double()
    if head:
        stretches = values[:, :head].view(len(values), -1, _STRETCH)
        total = total + stretches.sum(dim=2).double().sum(dim=1)
    return total


def energy_of(rows: Tensor) -> Tensor:
    """Return the squared lengths of rows [n, features], in float64.

    Examples
    --------
    >>> import torch
    >>> length = energy_of(torch.tensor([[3e-20, 4e-20]])).sqrt()  # squares underflow in float32
    >>> round(float(length) * 1e20, 6)
    5.0
    """
    total = row_sum(rows * rows)
    return total if _is_safe(total) else rows.double().square().sum(dim=1)


def _is_safe(sums: Tensor) -> bool:
    low, high = _SAFE
    return bool(((sums >= low) & (sums <= high)).all())


def _root(square: Tensor) -> Tensor:
    """Square root whose gradient at 0 is 0 instead of infinite; NaN stays NaN."""
    zero = square == 0
    return square.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


def l2(diff: Difference) -> Tensor:
    """Euclidean length."""
    return _root(diff.energy)


def l1(diff: Difference) -> Tensor:
    """Sum of absolute values."""
    return row_sum(diff.d.abs())


def minkowski4(diff: Difference) -> Tensor:
    """Fourth root of the sum of fourth powers, scaled so that small values do not underflow."""
    largest = diff.d.abs().amax(dim=1, keepdim=True)
    safe = largest.where(largest > 0, largest.new_ones(())).detach()
    total = row_sum((diff.d / safe).square().square())
    return _root(_root(total)) * safe[:, 0].double()


def linf(diff: Difference) -> Tensor:
    """Largest absolute value."""
    return diff.d.abs().amax(dim=1).double()


def angle(diff: Difference) -> Tensor:
    """Angle between x and r over pi (Cai et al. 2025, eq. 1): tan from |d|^2, r.d and |r|^2.

    NaN where r has no direction: it is zero or rounding errors beside d, or a single number.
    """
    energy, along, reference = diff.energy, diff.along, diff.reference_energy
    product = reference * energy
    across = (product - along.square()).clamp(min=0)
    if (across < 1e-4 * product).any():
        # d is almost along r, and the difference cancels: sum what is left of d without r.
        share = along / reference.where(reference > 0, reference.new_ones(()))
        rest = diff.d - share[:, None].to(diff.d.dtype) * diff.reference
        across = reference * row_sum(rest * rest)
    found = _root(across).atan2(reference + along) / math.pi
    undefined = energy > _SILENT**2 * reference
    if diff.d.shape[1] == 1:
        undefined = undefined.new_ones(undefined.shape)
    return found.masked_fill(undefined, math.nan).masked_fill(_is_bad(diff), math.inf)


def energy(diff: Difference) -> Tensor:
    """Difference of lengths, | |x| - |r| | = |2 r.d + |d|^2| / (|x| + |r|)."""
    change = 2 * diff.along + diff.energy
    length = _root((diff.reference_energy + change).clamp(min=0)) + _root(diff.reference_energy)
    return change.abs() / length.where(length > 0, length.new_ones(()))


def correlation(diff: Difference) -> Tensor:
    """One minus Pearson's r; NaN where x or r is constant."""
    d = diff.d - diff.d.mean(dim=1, keepdim=True)
    reference = diff.reference - diff.reference.mean(dim=1, keepdim=True)
    half = angle(Difference(d + reference, reference, energy_of(reference), d))
    constant = _is_constant(diff.reference) | _is_constant(diff.x)
    # 1 - cos of the angle, which keeps the digits of small ones.
    found = (2 * (half * (math.pi / 2)).sin().square()).masked_fill(constant, math.nan)
    return found.masked_fill(_is_bad(diff), math.inf)


def _is_bad(diff: Difference) -> Tensor:
    """Whether features are not finite."""
    return ~(diff.energy.isfinite() & diff.reference_energy.isfinite())


def _is_constant(rows: Tensor) -> Tensor:
    return rows.amax(dim=1) == rows.amin(dim=1)


READOUTS: dict[str, Callable[[Difference], Tensor]] = {
    "angle": angle,
    "l2": l2,
    "l1": l1,
    "minkowski4": minkowski4,
    "linf": linf,
    "energy": energy,
    "correlation": correlation,
}


def check_readouts(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names if all are read-outs."""
    for name in names:
        if name not in READOUTS:
            raise UnknownNameError("read-out", name, READOUTS, f"there are {', '.join(READOUTS)}")
    return tuple(names)


def read_out(
    x: Tensor,
    reference: Tensor,
    reference_energy: Tensor,
    which: Tensor,
    readouts: Sequence[str],
) -> Tensor:
    """Compare rows of features with their references, [n, read-outs] in float64.

    Parameters
    ----------
    x
        Features of the tests, [n, ...].
    reference, reference_energy
        Features of the references, [m, ...], and their squared lengths, [m].
    which
        The reference of each test, [n].

    Examples
    --------
    >>> import torch
    >>> x, r = torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 0.0]])
    >>> read_out(x, r, torch.ones(1), torch.tensor([0]), ["angle", "l2"]).tolist()
    [[0.25, 1.0]]
    """
    import torch

    x, reference = x.flatten(1), reference.flatten(1)
    rows = max(1, _BLOCK // max(1, x.shape[1]))
    blocks = []
    for start in range(0, len(x), rows):
        index = which[start : start + rows]
        # One reference for all rows is broadcast; several are gathered.
        own = reference if len(reference) == 1 else reference[index]
        diff = Difference(x[start : start + rows], own, reference_energy[index])
        blocks.append(torch.stack([READOUTS[name](diff) for name in readouts], dim=1))
    return torch.cat(blocks)

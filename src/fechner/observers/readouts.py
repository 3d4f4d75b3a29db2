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
from typing import NamedTuple

from fechner.arrays import Tensor, torch
from fechner.errors import UnknownNameError

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

#: Read-outs that need the sum of d d, and of r d.
_NEED_ENERGY = frozenset({"angle", "energy", "l2"})
_NEED_ALONG = frozenset({"angle", "energy"})


class Difference(NamedTuple):
    """Rows of d = x - r; ``energy`` is the sum of d d, ``along`` that of r d, where needed."""

    x: Tensor
    d: Tensor
    reference: Tensor
    reference_energy: Tensor
    energy: Tensor
    along: Tensor


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
    zero = diff.energy == 0  # where a square root has no gradient
    return diff.energy.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


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
    d, reference, energy, along = diff.d, diff.reference_energy, diff.energy, diff.along
    product = reference * energy
    across = (product - along.square()).clamp(min=0)
    if (across < 1e-4 * product).any():
        # d is almost along r, and the difference cancels: sum what is left of d without r.
        share = along / reference.where(reference > 0, reference.new_ones(()))
        rest = d - share[:, None].to(d.dtype) * diff.reference
        across = reference * row_sum(rest * rest)
    zero = across == 0  # where a square root has no gradient
    root = across.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)
    found = root.atan2(reference + along) / math.pi
    undefined = (energy > _SILENT**2 * reference) | (d.shape[1] == 1)
    bad = ~(energy.isfinite() & reference.isfinite())
    return found.masked_fill(undefined, math.nan).masked_fill(bad, math.inf)


def energy(diff: Difference) -> Tensor:
    """Difference of lengths, | |x| - |r| | = |2 r.d + |d|^2| / (|x| + |r|)."""
    change = 2 * diff.along + diff.energy
    length = _root((diff.reference_energy + change).clamp(min=0)) + _root(diff.reference_energy)
    return change.abs() / length.where(length > 0, length.new_ones(()))


def correlation(diff: Difference) -> Tensor:
    """One minus Pearson's r; NaN where x or r is constant."""
    d = diff.d - diff.d.mean(dim=1, keepdim=True)
    reference = diff.reference - diff.reference.mean(dim=1, keepdim=True)
    energy, reference_energy = energy_of(d), energy_of(reference)
    if not (_is_safe(energy) and _is_safe(reference_energy)):
        d, reference = d.double(), reference.double()
    along = row_sum(d * reference)
    half = angle(Difference(diff.x, d, reference, reference_energy, energy, along)) * (math.pi / 2)
    constant = _is_constant(diff.reference) | _is_constant(diff.x)
    bad = ~(diff.d.isfinite().all(dim=1) & diff.reference_energy.isfinite())
    # 1 - cos of the angle, which keeps the digits of small ones.
    found = (2 * half.sin().square()).masked_fill(constant, math.nan)
    return found.masked_fill(bad, math.inf)


def _is_constant(rows: Tensor) -> Tensor:
    return rows.amax(dim=1) == rows.amin(dim=1)


_EVERY = (angle, l2, l1, minkowski4, linf, energy, correlation)
READOUTS: dict[str, Callable[[Difference], Tensor]] = {each.__name__: each for each in _EVERY}


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
    keep: Callable[[Tensor], object] | None = None,
) -> Tensor:
    """Compare rows of features with their references, [n, read-outs] in float64.

    Parameters
    ----------
    x
        Features of the tests, [n, ...].
    reference, reference_energy
        Features of the references, [m, ...], and their squared lengths, [m].
    which
        The reference of each test, [n]; or k references of each, [n, k], for [n, k, read-outs].
    keep
        Called with what is returned, so that this can be the tap of a layer.

    Examples
    --------
    >>> import torch
    >>> x, r = torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 0.0]])
    >>> read_out(x, r, torch.ones(1), torch.tensor([0]), ["angle", "l2"]).tolist()
    [[0.25, 1.0]]
    """
    x, reference = x.flatten(1), reference.flatten(1)
    rows = max(1, _BLOCK // max(1, x.shape[1]))
    columns = []
    for column in which.reshape(len(x), -1).T:
        blocks = []
        for start in range(0, len(x), rows):
            index = column[start : start + rows]
            # One reference for all rows is broadcast; several are gathered.
            own = reference if len(reference) == 1 else reference[index]
            own_energy, seen = reference_energy[index], x[start : start + rows]
            d = seen - own
            energy = along = own_energy
            if not _NEED_ENERGY.isdisjoint(readouts):
                energy = row_sum(d * d)
                if not _is_safe(energy):
                    energy = d.double().square().sum(dim=1)
                if not (_is_safe(energy) and _is_safe(own_energy)):
                    d, own = d.double(), own.double()
            if not _NEED_ALONG.isdisjoint(readouts):
                along = row_sum(d * own)
            diff = Difference(seen, d, own, own_energy, energy, along)
            found = []
            for name in readouts:
                found.append(READOUTS[name](diff))
            blocks.append(torch.stack(found, dim=1))
        columns.append(torch.cat(blocks))
    answer = torch.stack(columns, dim=1).reshape(*which.shape, len(readouts))
    if keep is not None:
        keep(answer)
    return answer

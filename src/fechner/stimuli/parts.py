"""The part of a field in which a test can differ from its reference.

A metric that is a mean over pixels need not look at the rest, and where the picture is its own
mirror image, not at the other half: a Gabor patch in a wide field costs a fraction of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from fechner.stimuli.patterns import Pattern, drawn

if TYPE_CHECKING:
    from torch import Tensor

    from fechner.stimuli.field import Field

#: Amplitudes below this are nothing: they change a mean by less than this, relatively.
_NOTHING = 1e-7


@dataclass(frozen=True)
class Part:
    """A rectangle of pixels: rows from top to bottom and columns from left to right.

    Parameters
    ----------
    share
        What a mean over its pixels counts in a mean over the field; pixels of a mirrored half
        count twice.
    """

    top: int
    bottom: int
    left: int
    right: int
    share: float

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return slice(self.top, self.bottom), slice(self.left, self.right)


@lru_cache(maxsize=256)
def part_that_differs(
    targets: tuple[Pattern, ...], others: tuple[Pattern, ...], field: Field, device: str = "cpu"
) -> Part:
    """Return where targets are more than nothing, and only the upper half if all is mirrored.

    Parameters
    ----------
    targets
        Patterns that tests have and references lack.
    others
        Patterns that both have.

    Examples
    --------
    >>> from fechner.stimuli import Field, Gabor
    >>> part_that_differs((Gabor(2.0, sigma_deg=0.25),), (), Field(1920, 1080, 60.0))
    Part(top=455, bottom=540, left=875, right=1045, share=0.0139...)
    """
    height, width = field.height_px, field.width_px
    tops, bottoms, lefts, rights = [height], [0], [width], [0]
    for target in targets:
        there = drawn(target, field, device).abs() > _NOTHING
        rows, columns = _ends(there.any(dim=1)), _ends(there.any(dim=0))
        tops.append(rows[0])
        bottoms.append(rows[1])
        lefts.append(columns[0])
        rights.append(columns[1])
    top, bottom, left, right = min(tops), max(bottoms), min(lefts), max(rights)
    if top >= bottom or left >= right:
        return Part(0, 1, 0, 1, 1.0)  # nothing differs, so one pixel tells
    share = (bottom - top) * (right - left) / (height * width)
    mirrored = top == height - bottom and (bottom - top) % 2 == 0
    if mirrored and _all_mirrored((*targets, *others), field, device):
        bottom = (top + bottom) // 2
    return Part(top, bottom, left, right, share)


def _ends(flags: Tensor) -> tuple[int, int]:
    """Return the first and one past the last place that is set."""
    places = flags.nonzero()
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (len(flags), 0)


def _all_mirrored(patterns: Iterable[Pattern], field: Field, device: str) -> bool:
    return all(
        bool((picture == picture.flip(0)).all())
        for picture in (drawn(pattern, field, device) for pattern in patterns)
    )

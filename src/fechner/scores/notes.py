"""What a reader of a score must know, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

#: Why a score is NaN.
SAME_ANSWERS = "not computable: the observer answered the same to every stimulus"
TOO_FEW = "not computable: too few points left"


def left_out(flags: xr.DataArray) -> str:
    """Say how many points were left out, and why."""
    meanings = flags.attrs["meanings"].split()
    counts = Counter(meanings[flag] for flag in flags.values.ravel() if flag)
    total = flags.size
    return join_notes(
        *(f"{count} of {total} points left out: {reason}" for reason, count in counts.items())
    )


def join_notes(*notes: str) -> str:
    """Return notes as one line."""
    return "; ".join(note for note in notes if note)

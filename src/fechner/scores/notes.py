"""What a reader of a score must know, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from numpy.typing import NDArray

#: Why a score is NaN.
SAME_ANSWERS = "not computable: the observer answered the same to every stimulus"
TOO_FEW = "not computable: too few points left"
UNDEFINED = (
    "not computable: the read-out is undefined against a reference whose features are silent, "
    "constant or a single number; use --readout l2"
)


#: What to do where nothing could be shown.
_ADVICE = {
    "aliased": "the pixels are too coarse for this test: raise --ppd",
    "window-cut": "the field is too small for this test: give the model more pixels "
    "(NAME@size=... where the model has that setting, Wants(size_px=...) for your own), lower "
    "--ppd, or use --resize",
    "out-of-gamut": "the display cannot show this test: its background may be as bright as the "
    "peak; choose another --display",
}


def left_out(flags: xr.DataArray, what: str = "points") -> str:
    """Say how many points, or other things, were left out, and why; if all were, what to do."""
    meanings = flags.attrs["meanings"].split()
    counts = Counter(meanings[flag] for flag in flags.values.ravel() if flag)
    total = flags.size
    advice = _ADVICE.get(counts.most_common(1)[0][0], "") if counts.total() == total else ""
    return join_notes(
        *(f"{count} of {total} {what} left out: {reason}" for reason, count in counts.items()),
        advice,
    )


def count_matches(candidates: NDArray[np.intp], gaps: bool = False) -> str:
    """Say how many matches had no candidate or several.

    Parameters
    ----------
    gaps
        Whether those without are left out, rather than taken as the end of the range.
    """
    beyond, several = (candidates == 0).sum(), (candidates > 1).sum()
    what = "left out" if gaps else "taken as the end of it"
    return join_notes(
        f"{beyond} of {candidates.size} matches out of range, {what}" if beyond else "",
        f"{several} of {candidates.size} matches ambiguous" if several else "",
    )


def is_undefined(data: xr.Dataset, answers: str = "response") -> bool:
    """Whether answers to stimuli that were shown are undefined."""
    return bool((data[answers].isnull() & (data["dropped"] == 0)).any())


def join_notes(*notes: str) -> str:
    """Return notes as one line."""
    return "; ".join(note for note in notes if note)

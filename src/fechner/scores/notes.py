"""What a reader of a score must know, in words."""

from __future__ import annotations

from collections import Counter

from fechner.arrays import xr

# Why a score is NaN.
SAME_ANSWERS = "not computable: the observer answered the same to every stimulus"
TOO_FEW = "not computable: too few points left"
NOTHING_SHOWN = "not computable: nothing could be shown"
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
    return join(
        *(f"{count} of {total} {what} left out: {reason}" for reason, count in counts.items()),
        advice,
    )


def unshown_pictures(data: xr.Dataset, what: str = "pictures", more: str = "") -> str:
    """Say which pictures, or trials, were left out, and what could not be read."""
    unreadable = str(data.attrs.get("unreadable", "")).rstrip(".")
    return join(left_out(data["problem"], what), more, unreadable)


def join(*notes: str) -> str:
    """Return notes as one line."""
    return "; ".join(note for note in notes if note)

"""Thresholds from answers: one psychometric function per abscissa and prompt."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.notes import join_notes

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.psychometrics import Fit, MaximumLikelihood
    from fechner.scores.panels import Flags, Floats


@dataclass(frozen=True)
class Thresholds:
    """What was found of one layer and read-out.

    Parameters
    ----------
    abscissae, human, castle
        Places on the abscissa, and two human thresholds there, [points].
    log10
        Thresholds as log10 contrast, [points, prompts]; where one lies outside what could be
        tested, the end of that; NaN where nothing can be said.
    draws
        Draws of the same from what is not known of them, [points, prompts, draws].
    censored
        ``below``, ``above``, ``unknown`` or empty, [points, prompts].
    shown
        Abscissae that could be shown as meant, [points].
    usable
        Those of them whose threshold is not below all contrasts, [points].
    contrasts
        Mean contrasts of the levels, as they were shown, [points, levels].
    n, k
        Trials and yes, [points, prompts, levels].
    false_alarms, invalid
        How often, and of how many, by prompt, [2, prompts].
    same_pictures
        Answers to the same pictures, [points, prompts, levels, draws]; None where every prompt had
        pictures of its own, or read-outs have no answers but probabilities.
    note
        What a reader must know.
    """

    abscissae: Floats
    human: Floats
    castle: Floats
    log10: Floats
    draws: Floats
    censored: NDArray[Any]
    shown: Flags
    usable: Flags
    contrasts: Floats
    n: Floats
    k: Floats
    false_alarms: Floats
    invalid: Floats
    same_pictures: Floats | None
    reads: str
    note: str
    fitted: Fit | MaximumLikelihood

    @property
    def known(self) -> Flags:
        """Abscissae with a threshold; bounds may stand beside these, but make no curve alone."""
        return np.asarray((self.censored == "").any(axis=1))


#: Fits of what was looked at last: scores, panels and comparisons need the same.
_KEPT: OrderedDict[str, Thresholds] = OrderedDict()
_MOST_KEPT = 64


def thresholds(data: xr.Dataset, guess: float | None, by_likelihood: bool) -> Thresholds:
    """Fit all functions of one layer and read-out, or remember them."""
    parts = [data[name].values for name in ("yes", "level", "contrast", "abscissa")]
    digest = hashlib.sha256(str((guess, by_likelihood, data.attrs)).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    key = digest.hexdigest()
    if key not in _KEPT:
        _KEPT[key] = _thresholds(data, guess, by_likelihood)
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return _KEPT[key]


def _thresholds(data: xr.Dataset, guess: float | None, by_likelihood: bool) -> Thresholds:
    yes, level, contrast = (data[name].values for name in ("yes", "level", "contrast"))
    levels = int(level.max()) + 1
    once = bool(data.attrs.get("blanks_once", 0))
    counted = _without_repeated_blanks(yes, level, contrast) if once else level
    n, k, shown = _counted(yes, counted, contrast, levels)
    # The published protocol fits whatever it is told of contrasts that a file cannot hold.
    grey = 0.0 if by_likelihood else float(data.attrs["grey_level"])
    from fechner.psychometrics import fit, maximum_likelihood

    found: Fit | MaximumLikelihood
    if by_likelihood:
        found = maximum_likelihood(shown, n, k, guess=guess or 0.0)
        draws = np.log10(found.threshold)[..., None]
    else:
        found = fit(shown, n, k, guess=guess)
        draws = found.draws[..., 0]
    censored = np.array(found.censored, dtype="<U7")
    tested = np.where((n > 0) & (shown > 0), shown, np.nan)
    with np.errstate(invalid="ignore"):
        log10 = np.log10(found.threshold)
        # Contrasts below a grey level are not the pattern any more but a few dots of it.
        censored[(censored == "") & (10**log10 < grey)] = "below"
    lowest = np.log10(np.maximum(_extreme(tested, np.nanmin), grey))
    highest = np.log10(_extreme(tested, np.nanmax))
    log10 = np.where(censored == "below", lowest, np.where(censored == "above", highest, log10))
    log10 = np.where(censored == "unknown", np.nan, log10)
    draws = np.where(censored[..., None] == "", draws, log10[..., None])
    share_below = (censored == "below").mean(axis=1)
    dropped = data["dropped"].values
    return Thresholds(
        abscissae=data["abscissa"].values,
        human=data["human_threshold"].values,
        castle=data["castle_threshold"].values,
        log10=log10,
        draws=draws,
        censored=censored,
        shown=dropped == 0,
        usable=(dropped == 0) & (share_below < 0.5),
        contrasts=_mean_contrasts(n, shown),
        n=n,
        k=k,
        false_alarms=_false_alarms(yes, level, contrast, once),
        invalid=np.stack(
            [
                ((level >= 0) & np.isnan(yes)).sum(axis=(0, 2)),
                (level >= 0).sum(axis=(0, 2)),
            ]
        ).astype(float),
        same_pictures=_same_pictures(yes, level),
        reads=str(data.attrs["reads"]),
        note=_in_words(censored[dropped == 0], grey),
        fitted=found,
    )


def _counted(
    yes: Floats, level: NDArray[np.int16], contrast: Floats, levels: int
) -> tuple[Floats, Floats, Floats]:
    """Count trials and yes at each level, and average what was shown, [points, prompts, levels]."""
    points, prompts, _ = yes.shape
    valid = (level >= 0) & np.isfinite(yes)
    rows = np.arange(points * prompts)[:, None] * levels
    place = (rows + np.where(valid, level, 0).reshape(points * prompts, -1)).ravel()
    size, shape = points * prompts * levels, (points, prompts, levels)

    def total(values: Floats) -> Floats:
        counted = np.bincount(place, np.where(valid, values, 0.0).ravel(), size)
        return np.asarray(counted.reshape(shape), dtype=float)

    n, k = total(np.ones_like(yes)), total(np.nan_to_num(yes))
    with np.errstate(invalid="ignore", divide="ignore"):
        shown = total(np.nan_to_num(contrast)) / n
    return n, k, np.where(n > 0, shown, 0.0)


def _mean_contrasts(n: Floats, shown: Floats) -> Floats:
    """Return the mean contrast of each level over prompts; NaN for levels that nobody saw."""
    with np.errstate(invalid="ignore"):
        return np.asarray((n * shown).sum(axis=1) / n.sum(axis=1))


def _extreme(tested: Floats, function: Any) -> Floats:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where nothing was tested there is no extreme
        return np.asarray(function(tested, axis=-1))


def _without_repeated_blanks(
    yes: Floats, level: NDArray[np.int16], contrast: Floats
) -> NDArray[np.int16]:
    """Return levels without all but the first blank of each function: it is one trial."""
    blank = (level >= 0) & (contrast == 0) & np.isfinite(yes)
    return np.where(blank & (blank.cumsum(axis=-1) > 1), -1, level).astype(level.dtype)


def _false_alarms(
    yes: Floats, level: NDArray[np.int16], contrast: Floats, once: bool = False
) -> Floats:
    """Return yes to blanks, and blanks, by prompt; one of each at most if they are one trial."""
    blank = (level >= 0) & (contrast == 0) & np.isfinite(yes)
    k, n = np.where(blank, yes, 0.0).sum(axis=(0, 2)), blank.sum(axis=(0, 2)).astype(float)
    return np.stack([k, n]) / (np.maximum(n, 1.0) if once else 1.0)


def _same_pictures(yes: Floats, level: NDArray[np.int16]) -> Floats | None:
    """Return answers by level and draw, where all prompts were about the same pictures."""
    graded = (yes > 0) & (yes < 1)
    first = level[:, :1]
    if graded.any() or (level < 0).any() or (level != first).any():
        return None
    levels = int(level.max()) + 1
    expected = np.repeat(np.arange(levels), level.shape[2] // levels)
    if len(expected) != level.shape[2] or (first[:, 0] != expected).any():
        return None
    return yes.reshape(*yes.shape[:2], levels, -1)


def _in_words(censored: NDArray[Any], grey: float) -> str:
    total = censored.size
    words = {
        "below": "below "
        + (f"one grey level (contrast {grey:.2g})" if grey else "all tested contrasts"),
        "above": "above all tested contrasts",
        "unknown": "not to be found",
    }
    return join_notes(
        *(
            f"{count} of {total} thresholds {text}"
            for kind, text in words.items()
            if (count := int((censored == kind).sum()))
        )
    )

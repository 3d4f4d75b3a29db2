"""Thresholds from answers: psychometric functions of prompts, and a curve over all of them."""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.curve_distance import MeasuredCurve
from fechner.scores.notes import join_notes

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.scores.panels import Flags, Floats


@dataclass(frozen=True)
class Thresholds:
    """What was found of one layer and read-out.

    Parameters
    ----------
    abscissae, human, castle
        Places on the abscissa, and two human thresholds there, [points].
    curve
        Sensitivity over all prompts as log10, with its errors; at its bound where it lies beyond
        what could be tested, NaN where nothing can be said.
    beyond
        ``below`` or ``above`` where the curve's threshold lies below or above all contrasts that
        could be tested, ``unknown`` where nothing can be said, else empty, [points].
    log10
        Thresholds of prompts as log10 contrast, [points, prompts], in the same way.
    censored
        The same as ``beyond`` for each, [points, prompts].
    shown
        Abscissae that could be shown as meant, [points].
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
    curve: MeasuredCurve
    beyond: NDArray[Any]
    log10: Floats
    censored: NDArray[Any]
    shown: Flags
    contrasts: Floats
    n: Floats
    k: Floats
    false_alarms: Floats
    invalid: Floats
    same_pictures: Floats | None
    reads: str
    note: str

    @property
    def usable(self) -> Flags:
        """Abscissae that enter scores: with a threshold, or a bound of it."""
        return np.asarray(self.shown & np.isfinite(self.curve.log10))

    @property
    def known(self) -> Flags:
        """Abscissae with a threshold; bounds may stand beside these, but make no curve alone."""
        return np.asarray(self.shown & (self.beyond == ""))

    def of_people(self, thresholds: Floats) -> Floats:
        """Return people's sensitivity, [points]; where the observer is at a bound, up to the same.

        What could not be shown to an observer tells nothing of how far beyond it people are.
        """
        own, people = 10**self.curve.log10, 1 / thresholds
        people = np.where(self.beyond == "below", np.minimum(people, own), people)
        return np.where(self.beyond == "above", np.maximum(people, own), people)


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
    tested = np.where((n > 0) & (shown > 0), shown, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Contrasts below a grey level are not the pattern any more but a few dots of it.
        lowest = np.log10(np.maximum(_extreme(tested, np.nanmin), grey))
        highest = np.log10(_extreme(tested, np.nanmax))
    if by_likelihood:
        log10, censored = _by_likelihood(shown, n, k, guess, lowest, highest)
        curve, beyond = _mean_of_prompts(log10, censored)
    else:
        # A blank that is one picture for all abscissae is one trial of a prompt.
        again = (shown == 0) & (np.arange(len(n)) > 0)[:, None, None] & once
        own = (shown, np.where(again, 0.0, n), np.where(again, 0.0, k))
        log10, censored, curve, beyond = _fitted_together(*own, guess, lowest, highest)
    dropped = data["dropped"].values
    return Thresholds(
        abscissae=data["abscissa"].values,
        human=data["human_threshold"].values,
        castle=data["castle_threshold"].values,
        curve=curve,
        beyond=beyond,
        log10=log10,
        censored=censored,
        shown=dropped == 0,
        contrasts=_mean_contrasts(n, shown),
        n=n,
        k=k,
        false_alarms=_false_alarms(yes, level, contrast, once),
        invalid=_invalid(yes, level, contrast, once),
        same_pictures=_same_pictures(yes, level),
        reads=str(data.attrs["reads"]),
        note=_in_words(censored[dropped == 0], grey),
    )


def _fitted_together(
    shown: Floats, n: Floats, k: Floats, guess: float | None, lowest: Floats, highest: Floats
) -> tuple[Floats, NDArray[Any], MeasuredCurve, NDArray[Any]]:
    """Fit prompts and abscissae together; return thresholds of prompts and their curve."""
    from fechner.psychometrics.hierarchy import fit_hierarchical

    found = fit_hierarchical(shown, n, k, guess=guess)
    asked: Flags = np.asarray((n > 0).any(axis=-1))
    log10, censored = _bounded(
        np.where(asked, found.thresholds, np.nan), lowest[:, None], highest[:, None]
    )
    at, beyond = _bounded(np.where(asked.any(axis=1), found.log10, np.nan), lowest, highest)
    # A bound is what it is; errors belong to thresholds.
    exact = beyond != ""
    covariance = np.where(exact[:, None] | exact, 0.0, found.covariance)
    errors = (found.freedom, found.offset_variance, found.offset_freedom)
    return log10, censored, MeasuredCurve(-at, covariance, *errors), beyond


def _bounded(log10: Floats, lowest: Floats, highest: Floats) -> tuple[Floats, NDArray[Any]]:
    """Return thresholds within bounds, and where they were beyond them."""
    with np.errstate(invalid="ignore"):
        beyond = np.select(
            [~np.isfinite(log10), log10 < lowest, log10 > highest],
            ["unknown", "below", "above"],
            default="",
        )
        return np.clip(log10, lowest, highest), beyond


def _by_likelihood(
    shown: Floats, n: Floats, k: Floats, guess: float | None, lowest: Floats, highest: Floats
) -> tuple[Floats, NDArray[Any]]:
    """Fit every prompt at every abscissa by itself, as published."""
    from fechner.psychometrics import maximum_likelihood

    found = maximum_likelihood(shown, n, k, guess=guess or 0.0)
    censored = np.array(found.censored, dtype="<U7")
    low, high = (np.broadcast_to(end[:, None], censored.shape) for end in (lowest, highest))
    bounds = [low, high, np.full(censored.shape, np.nan)]
    log10 = np.select(
        [censored == kind for kind in ("below", "above", "unknown")],
        bounds,
        default=np.log10(found.threshold),
    )
    return log10, censored


def _mean_of_prompts(log10: Floats, censored: NDArray[Any]) -> tuple[MeasuredCurve, NDArray[Any]]:
    """Average sensitivities over prompts, as published; errors are those between prompts.

    Sensitivities relative to their mean are taken apart into a prompt's mean over abscissae and
    what is left over. With one prompt nothing is known of errors.
    """
    points, prompts = log10.shape
    known = np.isfinite(log10)
    sensitivity = np.where(known, 10.0 ** -np.where(known, log10, 0.0), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no prompt has a threshold there is no mean
        mean = np.nanmean(sensitivity, axis=1)
        relative = sensitivity / mean[:, None] / np.log(10)
        of_prompts = np.nanmean(relative, axis=0)
    share = (censored == "below").mean(axis=1), (censored == "above").mean(axis=1)
    beyond = np.select(
        [~known.any(axis=1), share[0] >= 0.5, share[1] >= 0.5], ["unknown", "below", "above"], ""
    )
    if prompts < 2 or known.any(axis=1).sum() < 2:
        unknown = np.full((points, points), np.nan)
        return MeasuredCurve(np.log10(mean), unknown, np.inf, np.nan, np.inf), beyond
    rows = known.any(axis=1)
    left = (relative - of_prompts)[rows]
    left = left - np.nanmean(left, axis=1, keepdims=True)
    freedom = (rows.sum() - 1.0) * (prompts - 1.0)
    variance = float(np.nansum(left**2)) / freedom
    between = float(np.nanvar(of_prompts, ddof=1))
    return (
        MeasuredCurve(
            np.log10(mean),
            np.eye(points) * variance / prompts,
            freedom,
            max(between - variance / rows.sum(), 0.0) / prompts,
            prompts - 1.0,
        ),
        beyond,
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where nothing was tested there is no extreme
        return np.asarray(function(tested, axis=(1, 2)))


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


def _invalid(yes: Floats, level: NDArray[np.int16], contrast: Floats, once: bool) -> Floats:
    """Return replies that were none of the options, and all, by prompt."""
    asked = level >= 0
    blank = asked & (contrast == 0)
    share = 1 / np.maximum(blank.sum(axis=(0, 2), keepdims=True), 1) if once else 1.0
    weight = np.where(blank, share, asked.astype(float))
    return np.stack(
        [np.where(np.isnan(yes), weight, 0.0).sum(axis=(0, 2)), weight.sum(axis=(0, 2))]
    )


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

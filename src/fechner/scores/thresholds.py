"""What answers tell: thresholds of prompts and a curve over them, d', and effects of wording."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Flags, Floats, xr
from fechner.scores import notes
from fechner.scores.score import Score, unmeasured
from fechner.scores.statistics import (
    MeasuredCurve,
    cluster_counts,
    interval,
    spread,
    student,
    wilson,
)

if TYPE_CHECKING:
    from fechner.psychometrics import Sensitivity

    #: Thresholds of prompts and which are censored; their curve, and where that is.
    _Fit = tuple[Floats, NDArray[Any], MeasuredCurve, NDArray[Any]]


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
    log10, censored
        The same of each prompt as log10 contrast, [points, prompts].
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

    @property
    def band(self) -> tuple[Floats, Floats]:
        """The 95 % interval of the curve at every abscissa, as sensitivity."""
        curve = self.curve
        error = np.sqrt(np.diag(curve.covariance) + np.where(self.known, curve.offset_variance, 0))
        half = student(min(curve.freedom, curve.offset_freedom, 1e4)) * error
        return 10 ** (curve.log10 - half), 10 ** (curve.log10 + half)

    def of_people(self, thresholds: Floats) -> Floats:
        """Return people's sensitivity, [points]; where the observer is at a bound, up to the same.

        What could not be shown to an observer tells nothing of how far beyond it people are.
        """
        own, people = 10**self.curve.log10, 1 / thresholds
        people = np.where(self.beyond == "below", np.minimum(people, own), people)
        return np.where(self.beyond == "above", np.maximum(people, own), people)


#: Fits of what was looked at last: scores, panels and comparisons need the same.
_KEPT: dict[str, Thresholds] = {}
_MOST_KEPT = 64


def find_thresholds(data: xr.Dataset, guess: float | None, by_likelihood: bool) -> Thresholds:
    """Fit all functions of one layer and read-out, or remember them."""
    digest = hashlib.sha256(str((guess, by_likelihood, data.attrs)).encode())
    for name in ("yes", "level", "contrast", "abscissa"):
        digest.update(np.ascontiguousarray(data[name].values).tobytes())
    key = digest.hexdigest()
    if key not in _KEPT:
        if len(_KEPT) == _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[key] = _thresholds(data, guess, by_likelihood)
    return _KEPT[key]


def _thresholds(data: xr.Dataset, guess: float | None, by_likelihood: bool) -> Thresholds:
    yes, level, contrast = (data[name].values for name in ("yes", "level", "contrast"))
    asked, answered = level >= 0, (level >= 0) & np.isfinite(yes)
    blank = answered & (contrast == 0)
    # A blank that is one picture is one trial of each function, and one of each prompt.
    once = bool(data.attrs.get("blanks_once", 0))
    repeated = blank & (blank.cumsum(axis=-1) > 1) & once
    n, k, shown = _counted(yes, np.where(repeated, -1, level), contrast, int(level.max()) + 1)
    # The published protocol fits whatever it is told of contrasts that a file cannot hold.
    grey = 0.0 if by_likelihood else float(data.attrs["grey_level"])
    tested = np.where((n > 0) & (shown > 0), shown, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where nothing was tested there is no extreme
        # Contrasts below a grey level are not the pattern any more but a few dots of it.
        lowest = np.log10(np.maximum(np.nanmin(tested, axis=(1, 2)), grey))
        highest = np.log10(np.nanmax(tested, axis=(1, 2)))
    if by_likelihood:
        fitted = _fitted_by_themselves(shown, n, k, guess, lowest, highest)
    else:
        again = (shown == 0) & (np.arange(len(n)) > 0)[:, None, None] & once
        own = (shown, np.where(again, 0.0, n), np.where(again, 0.0, k))
        fitted = _fitted_together(*own, guess, lowest, highest)
    log10, censored, curve, beyond = fitted
    with np.errstate(invalid="ignore"):
        mean_contrasts = (n * shown).sum(axis=1) / n.sum(axis=1)
    blanks = blank.sum(axis=(0, 2)).astype(float)
    false_alarms = np.stack([np.where(blank, yes, 0.0).sum(axis=(0, 2)), blanks])
    asked_blank = asked & (contrast == 0)
    each = 1 / np.maximum(asked_blank.sum(axis=(0, 2), keepdims=True), 1) if once else 1.0
    weight = np.where(asked_blank, each, asked.astype(float))
    invalid = np.where(np.isnan(yes), weight, 0.0).sum(axis=(0, 2)), weight.sum(axis=(0, 2))
    is_shown = data["dropped"].values == 0
    least = f"one grey level (contrast {grey:.2g})" if grey else "all tested contrasts"
    words = {
        "below": f"below {least}",
        "above": "above all tested contrasts",
        "unknown": "not to be found",
    }
    total = censored[is_shown].size
    counted = (
        f"{count} of {total} thresholds {text}"
        for kind, text in words.items()
        if (count := int((censored[is_shown] == kind).sum()))
    )
    return Thresholds(
        abscissae=data["abscissa"].values,
        human=data["human_threshold"].values,
        castle=data["castle_threshold"].values,
        curve=curve,
        beyond=beyond,
        log10=log10,
        censored=censored,
        shown=is_shown,
        contrasts=mean_contrasts,
        n=n,
        k=k,
        false_alarms=false_alarms / (np.maximum(blanks, 1.0) if once else 1.0),
        invalid=np.stack(invalid),
        same_pictures=_same_pictures(yes, level),
        reads=str(data.attrs["reads"]),
        note=notes.join(*counted),
    )


def _fitted_together(
    shown: Floats, n: Floats, k: Floats, guess: float | None, lowest: Floats, highest: Floats
) -> _Fit:
    """Fit prompts and abscissae together; return thresholds of prompts and their curve."""
    from fechner.psychometrics.hierarchy import fit_hierarchical

    found = fit_hierarchical(shown, n, k, guess=guess)
    asked = np.any(n > 0, axis=-1)
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
        where = [~np.isfinite(log10), log10 < lowest, log10 > highest]
        beyond = np.select(where, ["unknown", "below", "above"], default="")
        return np.clip(log10, lowest, highest), beyond


def _fitted_by_themselves(
    shown: Floats, n: Floats, k: Floats, guess: float | None, lowest: Floats, highest: Floats
) -> _Fit:
    """Fit every prompt at every abscissa by itself and average sensitivities, as published.

    Errors are those between prompts: sensitivities relative to their mean are taken apart into a
    prompt's mean over abscissae and what is left over. With one prompt nothing is known of errors.
    """
    from fechner.psychometrics import maximum_likelihood

    found = maximum_likelihood(shown, n, k, guess=guess or 0.0)
    censored = np.array(found.censored, dtype="<U7")
    kinds = [censored == kind for kind in ("below", "above", "unknown")]
    bounds = [lowest[:, None], highest[:, None], np.array(np.nan)]
    log10 = np.select(kinds, bounds, np.log10(found.threshold))
    points, prompts = log10.shape
    known = np.isfinite(log10)
    rows = known.any(axis=1)
    sensitivity = np.where(known, 10.0 ** -np.where(known, log10, 0.0), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no prompt has a threshold there is no mean
        mean = np.nanmean(sensitivity, axis=1)
        relative = sensitivity / mean[:, None] / np.log(10)
        of_prompts = np.nanmean(relative, axis=0)
    half = [kind.mean(axis=1) >= 0.5 for kind in kinds[:2]]
    beyond = np.select([~rows, *half], ["unknown", "below", "above"], "")
    if prompts < 2 or rows.sum() < 2:
        unknown = np.full((points, points), np.nan)
        curve = MeasuredCurve(np.log10(mean), unknown, np.inf, np.nan, np.inf)
        return log10, censored, curve, beyond
    left = (relative - of_prompts)[rows]
    left = left - np.nanmean(left, axis=1, keepdims=True)
    freedom = (rows.sum() - 1.0) * (prompts - 1.0)
    variance = float(np.nansum(left**2)) / freedom
    between = max(float(np.nanvar(of_prompts, ddof=1)) - variance / rows.sum(), 0.0)
    errors = (np.eye(points) * variance / prompts, freedom, between / prompts, prompts - 1.0)
    return log10, censored, MeasuredCurve(np.log10(mean), *errors), beyond


def _counted(
    yes: Floats, level: NDArray[Any], contrast: Floats, levels: int
) -> tuple[Floats, Floats, Floats]:
    """Count trials and yes at each level, and average what was shown, [points, prompts, levels]."""
    points, prompts, _ = yes.shape
    valid = (level >= 0) & np.isfinite(yes)
    rows = np.arange(points * prompts)[:, None] * levels
    place = (rows + np.where(valid, level, 0).reshape(points * prompts, -1)).ravel()

    def total(values: Floats) -> Floats:
        weights = np.where(valid, values, 0.0).ravel()
        counted = np.bincount(place, weights, points * prompts * levels)
        return np.asarray(counted.reshape(points, prompts, levels), dtype=float)

    n, k = total(np.ones_like(yes)), total(np.nan_to_num(yes))
    with np.errstate(invalid="ignore", divide="ignore"):
        shown = total(np.nan_to_num(contrast)) / n
    return n, k, np.where(n > 0, shown, 0.0)


def _same_pictures(yes: Floats, level: NDArray[np.int16]) -> Floats | None:
    """Return answers by level and draw, where all prompts were about the same pictures."""
    levels = int(level.max()) + 1
    expected = np.repeat(np.arange(levels), level.shape[2] // max(levels, 1))
    graded = (yes > 0) & (yes < 1)
    if graded.any() or len(expected) != level.shape[2] or (level != expected).any():
        return None
    return yes.reshape(*yes.shape[:2], levels, -1)


def rate_score(of: Score, by_prompt: Floats, words: str) -> Score:
    """Return a rate with its interval: Wilson's over trials, and over prompts if that is wider.

    By prompt there is how often, and of how many, [2, prompts].
    """
    yes, asked = by_prompt.sum(axis=1)
    if not asked:
        return replace(of, note="nothing was asked")
    value = float(yes / asked)
    low, high = wilson(yes, asked)
    if by_prompt.shape[1] > 1:
        counts = cluster_counts(by_prompt.shape[1])
        between = spread((counts @ by_prompt[0]) / np.maximum(counts @ by_prompt[1], 1))
        # Prompts that agree do not make a rate of nothing certain.
        low, high = min(low, between[0]), max(high, between[1])
        of = replace(of, resampled="prompts")
    ends = min(max(low, 0.0), value), max(high, value)
    return of.with_value(value, ends, int(asked), f"{words}: {yes:g} of {asked:g}")


# How well something is told from nothing at stated contrasts: d', whatever the bias.
#
# One yes and one no are added (after Hautus 1995), so that an observer that never errs has a d'
# that its number of trials allows, and one that always gives the same answer has none. Blanks are
# one picture at every frequency and are pooled; to an observer that answers the same question in
# the same way they are one trial for each prompt.

#: Contrasts at which d' is drawn, and the one at which it is a score; ours.
CONTRASTS = (0.02, 0.1, 0.5)
STATED = 0.1

#: Contrasts within half an octave count as the same: what is shown is never quite what was meant.
_OCTAVES = 0.5


class DPrimes(NamedTuple):
    """d' with intervals, criteria and counts: over all abscissae first (NaN), then at each."""

    abscissae: Floats
    value: Floats
    low: Floats
    high: Floats
    criterion: Floats
    hits: Floats
    signals: Floats


def d_primes(found: Thresholds, contrast: float, guess: float | None) -> DPrimes:
    """Return d' around a contrast, over all abscissae that were shown there and at each of them.

    Intervals are those of counts, and over prompts if wider.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        chosen = np.abs(np.log2(found.contrasts / contrast)) <= _OCTAVES
    hits, signals = ((each * chosen[:, None]).sum(axis=-1) for each in (found.k, found.n))
    there = np.flatnonzero(found.shown & (signals.sum(axis=1) > 0))
    groups = np.vstack([np.ones(len(there)), np.eye(len(there))])
    by_prompt = [groups @ hits[there], groups @ signals[there]]
    alarms = np.broadcast_to(found.false_alarms[:, None], (2, *by_prompt[0].shape))
    counts = np.stack([*by_prompt, *alarms])  # [4, groups, prompts]
    own = _d_primes(counts.sum(axis=-1), guess)
    low, high = own.d_prime_low, own.d_prime_high
    if counts.shape[-1] > 1:
        others = _d_primes(counts @ cluster_counts(counts.shape[-1]).T, guess).d_prime
        # One picture asked about again and again says less than its number of trials does.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where nothing was asked there is no d'
            between = np.nanpercentile(others, (2.5, 97.5), axis=-1)
        low, high = np.fmin(low, between[0]), np.fmax(high, between[1])
    abscissae = np.concatenate([[np.nan], found.abscissae[there]])
    k, n = counts[:2].sum(axis=-1)
    return DPrimes(abscissae, own.d_prime, low, high, own.criterion, k, n)


def _d_primes(counts: Any, guess: float | None) -> Sensitivity:
    """Return d' from hits, signals, false alarms and blanks, [4, ...].

    Of yes or no; of a choice between two, which has no false alarms, with a guess.
    """
    from fechner.psychometrics import d_prime_mafc, d_prime_yes_no

    if guess is not None:
        return d_prime_mafc(counts[0], counts[1], round(1 / guess))
    return d_prime_yes_no(*counts)


def d_prime_scores(found: Thresholds, guess: float | None) -> Iterator[Score]:
    """Return d' at the stated contrast, over frequencies and at each that was shown there."""
    blanks = found.false_alarms[1].sum()
    over = "prompts" if found.false_alarms.shape[1] > 1 else "trials"
    around = f"contrasts of {STATED:g} within half an octave"
    for row in zip(*d_primes(found, STATED, guess), strict=True):
        at, value, low, high, criterion, k, n = map(float, row)
        if np.isnan(value):
            what = "without a pattern" if n else f"at {around}"
            note = f"not computable: nothing was asked {what}"
        elif guess is None:
            note = f"{around}: yes to {k:g} of {n:g}; criterion {criterion:.2f}"
        else:
            note = f"{around}: right in {k:g} of {n:g}"
        best = float(_d_primes((n, n, 0, blanks), guess).d_prime)
        of = unmeasured("d-prime" if np.isnan(at) else f"d-prime-{at:.3g}-cpd", over, best=best)
        yield of.with_value(value, (low, high), int(n), note)


# How much answers depend on the wording of the question: by how much answers to different prompts
# about the same picture scatter (entropy) and how often two of them agree (consistency), after
# Errica et al. (2024). All are of how many prompts were answered yes, and how many were answered.

#: Pictures count as near threshold where their contrast is within this factor of it.
NEAR = 4.0


def entropy(k: Floats, asked: Floats) -> Floats:
    """Return the entropy of yes and no over prompts, over that of a coin.

    Examples
    --------
    >>> entropy(np.array([2.0, 1.0]), np.array([2.0, 2.0])).tolist()
    [0.0, 1.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = k / asked
        terms = [np.where(q > 0, -q * np.log2(q), 0.0) for q in (p, 1 - p)]
    return np.where(np.isnan(p), np.nan, terms[0] + terms[1])


def consistency(k: Floats, asked: Floats) -> Floats:
    """Return the share of pairs of prompts that agree, for each picture.

    Examples
    --------
    >>> consistency(np.array([2.0]), np.array([3.0])).round(3).tolist()
    [0.333]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        agree = (k * (k - 1) + (asked - k) * (asked - k - 1)) / (asked * (asked - 1))
    return np.where(asked > 1, agree, np.nan)


def consistency_of_draws(k: Floats, asked: Floats) -> Floats:
    """Return 1 minus the mean distance between the answers to two draws of the same stimulus.

    The answers to a draw are their distribution over prompts, and the distance is that in total
    variation, averaged over pairs of draws (last axis): the consistency of Errica et al. (2024),
    whose classes are stimuli here.

    Examples
    --------
    >>> consistency_of_draws(np.array([2.0, 1.0]), np.array([2.0, 2.0])).tolist()
    0.5
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = k / asked
        gaps = np.abs(p[..., :, None] - p[..., None, :])
        known = np.isfinite(p).sum(axis=-1)
        return np.asarray(1 - np.nansum(gaps, axis=(-1, -2)) / (known * (known - 1)))


def wording_scores(found: Thresholds) -> Iterator[Score]:
    """Return entropy and consistency over prompts, everywhere and near threshold.

    Nothing where prompts were not about the same pictures.
    """
    yes = found.same_pictures
    if yes is None or yes.shape[1] < 2:
        return
    prompts = yes.shape[1]
    by_prompt = np.moveaxis(yes, 1, 0)  # [prompts, points, levels, draws]
    answered = np.isfinite(by_prompt)
    parts = np.where(answered, by_prompt, 0.0), answered.astype(float)
    counted, *resampled = (
        tuple(np.asarray(np.tensordot(weights, part, 1)) for part in parts)
        for weights in (np.ones(prompts), *cluster_counts(prompts, 200))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.abs(np.log(found.contrasts * 10 ** found.curve.log10[:, None])) <= np.log(NEAR)

    def score(name: str, of: Callable[[Floats, Floats], Floats], chosen: Any = ...) -> Score:
        def mean(counts: tuple[Floats, ...]) -> float:
            values = of(*counts)[chosen]
            known = values[np.isfinite(values)]
            return float(known.mean()) if len(known) else np.nan

        value = mean(counted)
        low, high = interval(value, np.array([mean(each) for each in resampled]), prompts, "share")
        better = of is not entropy
        kind = unmeasured(name, "prompts", better, *((1.0, 0.5) if better else (0.0, 1.0)))
        return kind.with_value(value, (max(low, 0.0), min(high, 1.0)), int(np.isfinite(yes).sum()))

    yield score("prompt-entropy", entropy)
    yield score("prompt-consistency", consistency)
    if near.any():
        yield score("prompt-entropy-near", entropy, near)
        yield score("prompt-consistency-near", consistency, near)
    if yes.shape[-1] > 1:
        yield score("draw-consistency", consistency_of_draws)

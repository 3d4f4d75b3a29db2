"""How well something is told from nothing at stated contrasts: d', whatever the bias.

One yes and one no are added (after Hautus 1995), so that an observer that never errs has a d' that
its number of trials allows, and one that always gives the same answer has none. Blanks are one
picture at every frequency and are pooled; to an observer that answers the same question in the same
way they are one trial for each prompt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.scores.bootstrap import cluster_counts, spread
from fechner.scores.score import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fechner.psychometrics import Sensitivity
    from fechner.scores.thresholds import Thresholds

    Floats = NDArray[np.float64]

#: Contrasts at which d' is drawn, and the one at which it is a score; ours.
CONTRASTS = (0.02, 0.1, 0.5)
STATED = 0.1

#: Contrasts within half an octave count as the same: what is shown is never quite what was meant.
_OCTAVES = 0.5


def hits_at(found: Thresholds, contrast: float) -> tuple[Floats, Floats]:
    """Return how often there was a yes, or a right answer, around a contrast, and of how many.

    Both are [points, prompts].
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        chosen = np.abs(np.log2(found.contrasts / contrast)) <= _OCTAVES
    return (found.k * chosen[:, None]).sum(axis=-1), (found.n * chosen[:, None]).sum(axis=-1)


def d_primes(
    hits: Any, signals: Any, false_alarms: Any, blanks: Any, guess: float | None
) -> Sensitivity:
    """Return d' of yes or no; of a choice between two, which has no false alarms, with a guess.

    Examples
    --------
    >>> print(f"{d_primes(69, 100, 31, 100, None).d_prime:.3f}")
    0.981
    >>> print(f"{d_primes(76, 100, 0, 0, 0.5).d_prime:.3f}")
    0.987
    """
    from fechner.psychometrics import d_prime_mafc, d_prime_yes_no

    if guess is not None:
        return d_prime_mafc(hits, signals, round(1 / guess))
    return d_prime_yes_no(hits, signals, false_alarms, blanks)


class Found(NamedTuple):
    """A d' with its interval, over what that is, and the criterion; NaN if it cannot be known."""

    value: float
    low: float
    high: float
    over: str
    criterion: float


def d_prime_of(found: Thresholds, hits: Floats, signals: Floats, guess: float | None) -> Found:
    """Return d' of answers by prompt, with the interval of counts, and over prompts if wider."""
    by_prompt = np.stack([hits, signals, *found.false_alarms])
    k, n, alarms, blanks = by_prompt.sum(axis=1)
    own = d_primes(k, n, alarms, blanks, guess)
    low, high, over = float(own.d_prime_low), float(own.d_prime_high), "trials"
    if len(hits) > 1:
        resampled = (cluster_counts(len(hits)) @ by_prompt.T).T
        others = d_primes(resampled[0], resampled[1], resampled[2], resampled[3], guess)
        known = others.d_prime[np.isfinite(others.d_prime)]
        # One picture asked about again and again says less than its number of trials does.
        between = spread(known) if len(known) else (low, high)
        low, high, over = min(low, between[0]), max(high, between[1]), "prompts"
    return Found(float(own.d_prime), low, high, over, float(own.criterion))


def d_prime_scores(
    found: Thresholds, guess: float | None, place: dict[str, Any]
) -> Iterator[Score]:
    """Return d' at the stated contrast, over frequencies and at each that was shown there."""
    hits, signals = hits_at(found, STATED)
    there = np.flatnonzero(found.shown & (signals.sum(axis=1) > 0))
    each = [(f"d-prime-{found.abscissae[p]:.3g}-cpd", np.array([p])) for p in there]
    for name, points in (("d-prime", there), *each):
        yield _score(
            name, found, hits[points].sum(axis=0), signals[points].sum(axis=0), guess, place
        )


def _score(
    name: str,
    found: Thresholds,
    hits: Floats,
    signals: Floats,
    guess: float | None,
    place: dict[str, Any],
) -> Score:
    own = d_prime_of(found, hits, signals, guess)
    k, n, blanks = hits.sum(), signals.sum(), found.false_alarms[1].sum()
    around = f"contrasts of {STATED:g} within half an octave"
    if np.isnan(own.value):
        what = "without a pattern" if n else f"at {around}"
        note = f"not computable: nothing was asked {what}"
    elif guess is None:
        note = f"{around}: yes to {k:g} of {n:g}; criterion {own.criterion:.2f}"
    else:
        note = f"{around}: right in {k:g} of {n:g}"
    return Score(
        name,
        own.value,
        own.low,
        own.high,
        higher_is_better=True,
        best=float(d_primes(n, n, 0, blanks, guess).d_prime),
        chance=0.0,
        resampled=own.over,
        n=int(n),
        note=note,
        **place,
    )

"""Contrast sensitivity from answers: thresholds per prompt, a curve, and its distance from people.

Psychometric functions of all prompts and frequencies are fitted together. A threshold is where the
observer detects half the time, corrected for guesses and lapses; sensitivity is its inverse, over
all prompts. Shape (a correlation) and size (how much more or less sensitive than people) stand side
by side: neither alone is human.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import RESAMPLES, cluster_counts, normal_errors
from fechner.scores.curve_distance import (
    Estimate,
    MeasuredCurve,
    correlation_with,
    gain,
    linear_rms_from,
    rms_from,
)
from fechner.scores.detectability import d_prime_scores
from fechner.scores.notes import SAME_ANSWERS, TOO_FEW, join_notes, left_out
from fechner.scores.paired import in_common
from fechner.scores.rates import rate_score
from fechner.scores.score import Resampled, Score
from fechner.scores.thresholds import Thresholds, thresholds
from fechner.scores.wording import Asked, wording_scores

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner import psychometrics

    Floats = NDArray[np.float64]
    Measure = Callable[[MeasuredCurve, Floats], Estimate]

#: Frequencies with a threshold that a correlation needs.
FEWEST = 3

_SAME = "not computable: it is as sensitive to every frequency as to any other"

#: A curve that varies by less than this share is flat.
_FLAT = 1e-3

#: Slope of what stands for a step where it is drawn.
_STEP = 1e4

#: A difference that the note on a correlation mentions.
_WORTH_SAYING = 0.005


@dataclass(frozen=True)
class ContrastSensitivity:
    """How the contrast sensitivity of an observer compares with people's.

    The first score is Pearson's correlation with the Standard Spatial Observer, in sensitivity;
    beside it stands how much more or less sensitive the observer is.

    Parameters
    ----------
    guess
        Share of right answers by chance; None where the observer's own rate of yes is to be found.
    published
        Fit every prompt at every frequency by itself by maximum likelihood, without guesses and
        lapses; threshold where yes is said half the time; average sensitivities arithmetically;
        and do not correct scores for errors of measurement.
    """

    guess: float | None = None
    published: bool = False

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        return [
            score
            for layer, readout, part in outputs(data)
            for score in self._scores(part, layer, readout)
        ]

    def measured(self, data: xr.Dataset) -> Thresholds:
        """Return the thresholds of one layer and read-out."""
        return thresholds(data, self.guess, self.published)

    def pooled(self, found: Thresholds, point: int, contrasts: Floats) -> psychometrics.Curve:
        """Return the function fitted to the answers of all prompts at one abscissa."""
        from fechner.psychometrics import Curve, fit, maximum_likelihood, psychometric

        n, k = found.n[point].sum(axis=0), found.k[point].sum(axis=0)
        levels = np.nan_to_num(found.contrasts[point])
        if not self.published:
            return fit(levels, n, k, guess=self.guess).probability(contrasts)
        own = maximum_likelihood(levels, n, k, guess=self.guess or 0.0)
        # Nothing but yes, or nothing but no, has no threshold but is known all the same.
        at = {"below": 0.0, "above": np.inf}.get(str(own.censored), own.threshold)
        slope = own.slope if np.isfinite(own.slope) else _STEP
        drawn = psychometric(contrasts, at, slope, guess=self.guess or 0.0)
        nothing = np.full(len(contrasts), np.nan)
        return Curve(contrasts, drawn, nothing, nothing)

    def band(self, found: Thresholds) -> tuple[Floats, Floats]:
        """Return the 95 % interval of the curve at every abscissa, as sensitivity."""
        from scipy.special import stdtrit

        curve = found.curve
        error = np.sqrt(np.diag(curve.covariance) + np.where(found.known, curve.offset_variance, 0))
        half = stdtrit(min(curve.freedom, curve.offset_freedom, 1e4), 0.975) * error
        return 10 ** (curve.log10 - half), 10 ** (curve.log10 + half)

    def resampled_curves(self, found: Thresholds) -> Floats:
        """Return log10 sensitivities of other prompts and other trials, [resamples, points]."""
        curve = found.curve
        points = len(curve.log10)
        known = np.nan_to_num(
            curve.covariance + np.outer(found.known, found.known) * curve.offset_variance
        )
        values, axes = np.linalg.eigh(known)
        errors = normal_errors((RESAMPLES, points)) * np.sqrt(np.maximum(values, 0.0)) @ axes.T
        return np.asarray(curve.log10 + errors)

    def _scores(self, data: xr.Dataset, layer: str, readout: str) -> Iterator[Score]:
        found = self.measured(data)
        usable = found.usable
        curve = found.curve.at(usable)
        enough = bool((usable & found.known).sum() >= FEWEST)
        prompts = found.log10.shape[1]
        why = "" if enough else TOO_FEW
        if found.n.any() and found.k.sum() in (0, found.n.sum()):
            why = SAME_ANSWERS
        note = join_notes(left_out(data["dropped"]), found.note)
        place: dict[str, Any] = {"layer": layer, "readout": readout}

        def score(
            name: str, people: Floats, measure: Measure, *, chance: float, words: str = ""
        ) -> Score:
            estimate = Estimate(*(4 * [float("nan")]))
            if enough:
                estimate = measure(curve, found.of_people(people)[usable])
            reason = why or (_SAME if np.isnan(estimate.measured) else "")
            value = estimate.measured if self.published else estimate.value
            if abs(value - estimate.measured) > _WORTH_SAYING:
                words = join_notes(words, f"{estimate.measured:.3f} without correction for error")
            is_correlation = chance == 0
            return Score(
                name,
                value,
                min(estimate.low, value),
                max(estimate.high, value),
                higher_is_better=is_correlation,
                best=1.0 if is_correlation else 0.0,
                chance=chance,
                resampled="prompts" if prompts > 1 else "trials",
                n=int(usable.sum()),
                of=int(found.shown.sum()),
                note=join_notes(note, reason, words),
                **place,
            )

        sso, castle = found.human, found.castle
        by_value, by_log = (partial(_correlation, linear=linear) for linear in (True, False))
        size = score(
            "csf-gain-log10",
            sso,
            _size,
            chance=_least(found, sso),
            words=_size_in_words(found, curve),
        )
        shape = score("csf-correlation", sso, by_value, chance=0.0, words=shape_in_words(found))
        yield replace(shape, beside=size)
        yield size
        yield score("csf-correlation-log", sso, by_log, chance=0.0)
        # An observer that sees nothing at all, and one as sensitive to everything.
        blind = _level(found, sso)
        said = f"an observer that sees nothing has {blind:.1f}" if np.isfinite(blind) else ""
        yield score("csf-rmse", sso, linear_rms_from, chance=blind, words=said)
        yield score("csf-rmse-log10", sso, rms_from, chance=_spread(found, sso))
        if np.isfinite(castle).any():
            yield score("castle-correlation", castle, by_value, chance=0.0)
            yield score("castle-rmse-log10", castle, rms_from, chance=_spread(found, castle))
        if self.guess is None:
            yield rate_score("false-alarms", found.false_alarms, "yes to nothing", 0.5, place)
        if found.reads != "nothing":
            yield rate_score("invalid-replies", found.invalid, "neither yes nor no", 1.0, place)
        yield from d_prime_scores(found, self.guess, place)
        yield from self.wording(found, **place)

    def wording(self, found: Thresholds, layer: str = "", readout: str = "") -> Iterator[Score]:
        """Return scores of how much answers depend on wording, where all were asked the same."""
        if found.same_pictures is not None:
            asked = Asked(found.same_pictures, found.contrasts, 10**-found.curve.log10)
            yield from wording_scores(asked, layer, readout)

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the correlation of one layer and read-out with its bootstrap over frequencies."""
        found = self.measured(data)
        usable = found.usable
        own, people = 10 ** found.curve.log10[usable], found.of_people(found.human)[usable]
        (main, *_) = self._scores(data, str(data["layer"].values), str(data["readout"].values))
        counts = cluster_counts(int(usable.sum())) if usable.any() else np.empty((0, 0))
        values = np.array([_weighted(own, people, row) for row in counts])
        return Resampled(main, values, found.abscissae[usable], "correlation")

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave out frequencies at which only one has a threshold, or a bound of it."""
        a, b = in_common(first, second, point="abscissa")
        same = self.measured(a).usable == self.measured(b).usable
        return (a, b) if same.all() else (a.isel(point=same), b.isel(point=same))

    def printed(self, value: float, experiment: Any) -> Score:
        """Return a correlation of which only the value is known."""
        nothing = float("nan")
        return Score(
            "csf-correlation", value, nothing, nothing, True, 1.0, 0.0, resampled="prompts", n=0
        )


def _correlation(curve: MeasuredCurve, people: Floats, *, linear: bool) -> Estimate:
    if np.isnan(correlation(10**curve.log10, people)):
        return Estimate(*(4 * [float("nan")]))
    return correlation_with(curve, people, linear=linear)


def _size(curve: MeasuredCurve, people: Floats) -> Estimate:
    """Return by how many decades an observer is more or less sensitive than people."""
    found = gain(curve, people)
    ends = sorted(map(abs, (found.low, found.high)))
    nearest = 0.0 if found.low < 0 < found.high else ends[0]
    value = abs(found.value)
    return Estimate(value, nearest, ends[1], value)


def correlation(a: Floats, b: Floats) -> float:
    """Return Pearson's correlation; NaN where one of them does not vary.

    Examples
    --------
    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])), 4)
    0.982
    """
    return _weighted(a, b, np.ones(len(a)))


def _weighted(a: Floats, b: Floats, weights: Floats) -> float:
    # A fit is good to a millionth or so, which is no variation.
    if any(np.ptp(x) <= _FLAT * np.abs(x).max() for x in (a, b)):
        return float("nan")
    a, b = (x - np.average(x, weights=weights) for x in (a, b))
    with np.errstate(invalid="ignore"):  # a bootstrap sample may be of one point
        scale = np.sqrt((weights * a * a).sum() * (weights * b * b).sum())
        return float((weights * a * b).sum() / scale)


def _people(found: Thresholds, thresholds: Floats) -> Floats:
    return found.of_people(thresholds)[found.usable]


def _level(found: Thresholds, thresholds: Floats) -> float:
    """Return the error of an observer that sees nothing."""
    people = _people(found, thresholds)
    return float(np.sqrt(np.square(people).mean())) if len(people) else float("nan")


def _spread(found: Thresholds, thresholds: Floats) -> float:
    """Return the error of an observer that is as sensitive to everything as people on average."""
    people = _people(found, thresholds)
    return float(np.log10(people).std()) if len(people) else float("nan")


def _least(found: Thresholds, thresholds: Floats) -> float:
    """Return how much less sensitive one is that sees nothing but the strongest contrasts."""
    people = _people(found, thresholds)
    if not len(people):
        return float("nan")
    return float(np.log10(people * np.nanmax(found.contrasts)).mean())


def _size_in_words(found: Thresholds, curve: MeasuredCurve) -> str:
    """Say how much more or less sensitive than people an observer is."""
    if (found.usable & found.known).sum() < FEWEST:
        return ""
    decades = gain(curve, _people(found, found.human)).value
    which = "more" if decades > 0 else "less"
    return f"{10 ** abs(decades):.3g} x {which} sensitive than people"


def shape_in_words(found: Thresholds) -> str:
    """Say where a curve peaks and how wide it is, beside people's."""
    seen = found.usable
    if (seen & found.known).sum() < FEWEST:
        return ""
    x, sensitivity = found.abscissae[seen], 10 ** found.curve.log10[seen]
    at_bound = found.beyond[seen] != ""
    bounds = f"{at_bound.sum()} of {len(x)} frequencies at a bound" if at_bound.any() else ""
    own = curve_shape(x, sensitivity)
    human = curve_shape(x, 1 / found.human[seen])
    if np.isnan(correlation(sensitivity, 1 / found.human[seen])):
        return bounds
    known = [f"{end:.2g}" for end in own[1:] if np.isfinite(end)]
    half = f", half as high at {' and '.join(known)}" if known else ""
    return join_notes(bounds, f"peak at {own[0]:.2g} (people {human[0]:.2g}){half}")


def curve_shape(x: Floats, sensitivity: Floats) -> tuple[float, float, float]:
    """Return where a curve peaks, and where it is half as high below and above; NaN outside.

    Examples
    --------
    >>> x = np.geomspace(0.5, 32, 13)
    >>> [round(f, 3) for f in curve_shape(x, np.exp(-(np.log2(x / 4) ** 2) / 2))]
    [4.0, 1.797, 8.904]
    """
    at = int(np.argmax(sensitivity))
    u, v = np.log(x), np.log(sensitivity)
    peak, top = u[at], v[at]
    if 0 < at < len(x) - 1:
        a, b, _ = np.polyfit(u[at - 1 : at + 2], v[at - 1 : at + 2], 2)
        if a < 0:
            peak = -b / (2 * a)
    half = top - np.log(2)

    def crossing(side: slice) -> float:
        us, vs = u[side], v[side]
        if len(us) < 2 or vs[-1] > half:
            return float("nan")
        i = int(np.argmax(vs <= half))
        share = (vs[i - 1] - half) / (vs[i - 1] - vs[i])
        return float(np.exp(us[i - 1] + share * (us[i] - us[i - 1])))

    below = crossing(slice(at, None, -1)) if at else float("nan")
    return float(np.exp(peak)), below, crossing(slice(at, None))

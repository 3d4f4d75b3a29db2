"""Contrast sensitivity from answers: thresholds per prompt, a curve, and its distance from people.

Psychometric functions of all prompts and frequencies are fitted together. A threshold is where the
observer detects half the time, corrected for guesses and lapses; sensitivity is its inverse, over
all prompts. Shape (a correlation) and size (how much more or less sensitive than people) stand side
by side: neither alone is human.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fechner.arrays import Floats, xr
from fechner.experiments.base import abscissa
from fechner.scores import notes, statistics, thresholds
from fechner.scores.panels import Axis, Bars, Line, Panel, Points, Surface
from fechner.scores.score import Resampled, Score, Scorer, placed, unmeasured
from fechner.scores.statistics import Estimate, MeasuredCurve, cluster_counts, wilson

if TYPE_CHECKING:
    from fechner import psychometrics
    from fechner.experiments import Asking
    from fechner.scores.thresholds import Thresholds

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

_UNKNOWN = Estimate(np.nan, np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class ContrastSensitivity(Scorer):
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

    kind = unmeasured("csf-correlation", "prompts")
    along: ClassVar = {"point": "abscissa"}

    def measured(self, data: xr.Dataset) -> Thresholds:
        """Return the thresholds of one layer and read-out."""
        return thresholds.find_thresholds(data, self.guess, self.published)

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
        return Curve(contrasts, drawn, *np.full((2, len(contrasts)), np.nan))

    def resampled_curves(self, found: Thresholds) -> Floats:
        """Return log10 sensitivities of other prompts and other trials, [resamples, points]."""
        curve = found.curve
        common = np.outer(found.known, found.known) * curve.offset_variance
        values, axes = np.linalg.eigh(np.nan_to_num(curve.covariance + common))
        drawn = statistics.normal_errors((statistics.RESAMPLES, len(values)))
        return np.asarray(curve.log10 + drawn * np.sqrt(np.maximum(values, 0.0)) @ axes.T)

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Score]:
        """Yield how a curve compares with people's, then what else the answers tell."""
        found = self.measured(data)
        usable = found.usable
        curve = found.curve.at(usable)
        enough = bool((usable & found.known).sum() >= FEWEST)
        people, castle = (found.of_people(each)[usable] for each in (found.human, found.castle))
        why = "" if enough else notes.TOO_FEW
        if found.n.any() and found.k.sum() in (0, found.n.sum()):
            why = notes.SAME_ANSWERS
        over = "prompts" if found.log10.shape[1] > 1 else "trials"

        def score(
            name: str, measure: Measure, human: Floats, chance: float = 0.0, words: str = ""
        ) -> Score:
            estimate = measure(curve, human) if enough else _UNKNOWN
            reason = why or (_SAME if np.isnan(estimate.measured) else "")
            value = estimate.measured if self.published else estimate.value
            words = words if enough else ""
            if abs(value - estimate.measured) > _WORTH_SAYING:
                words = notes.join(words, f"{estimate.measured:.3f} without correction for error")
            note = notes.join(notes.left_out(data["dropped"]), found.note, reason, words)
            is_correlation = chance == 0
            of = unmeasured(name, over, is_correlation, 1.0 if is_correlation else 0.0, chance)
            ends = min(estimate.low, value), max(estimate.high, value)
            measured = of.with_value(value, ends, int(usable.sum()), note)
            return replace(measured, of=int(found.shown.sum()))

        by_value, by_log = (partial(_correlation, linear=linear) for linear in (True, False))
        # One that sees nothing but the strongest contrasts, one that sees nothing at all, and one
        # that is as sensitive to everything as people on average.
        least, blind, same = np.nan, np.nan, np.nan
        times = blindness = ""
        if len(people):
            least = float(np.log10(people * np.nanmax(found.contrasts)).mean())
            blind = float(np.sqrt(np.square(people).mean()))
            same = float(np.log10(people).std())
            decades = statistics.gain(curve, people).value
            which = "more" if decades > 0 else "less"
            times = f"{10 ** abs(decades):.3g} x {which} sensitive than people"
            blindness = f"an observer that sees nothing has {blind:.1f}"
        size = score("csf-gain-log10", _size, people, least, times)
        words = shape_in_words(found) if enough else ""
        yield replace(score("csf-correlation", by_value, people, words=words), beside=size)
        yield size
        yield score("csf-correlation-log", by_log, people)
        yield score("csf-rmse", statistics.linear_rms_from, people, blind, blindness)
        yield score("csf-rmse-log10", statistics.rms_from, people, same)
        if np.isfinite(found.castle).any():
            yield score("castle-correlation", by_value, castle)
            same = float(np.log10(castle).std()) if len(castle) else np.nan
            yield score("castle-rmse-log10", statistics.rms_from, castle, same)
        if self.guess is None:
            alarms = unmeasured("false-alarms", "trials", False, best=0.0, chance=0.5)
            yield thresholds.rate_score(alarms, found.false_alarms, "yes to nothing")
        if found.reads != "nothing":
            invalid = unmeasured("invalid-replies", "trials", False, best=0.0, chance=1.0)
            yield thresholds.rate_score(invalid, found.invalid, "neither yes nor no")
        yield from thresholds.d_prime_scores(found, self.guess)
        yield from thresholds.wording_scores(found)

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the correlation of one layer and read-out with its bootstrap over frequencies."""
        found = self.measured(data)
        usable = found.usable
        own, people = 10 ** found.curve.log10[usable], found.of_people(found.human)[usable]
        counts = cluster_counts(int(usable.sum())) if usable.any() else np.empty((0, 0))
        values = np.array([correlation(own, people, row) for row in counts])
        main = placed(next(self.scores(data)), data)
        return Resampled(main, values, found.abscissae[usable], "correlation")

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave out frequencies at which only one has a threshold, or a bound of it."""
        a, b = super().shared(first, second)
        same = self.measured(a).usable == self.measured(b).usable
        return (a, b) if same.all() else (a.isel(point=same), b.isel(point=same))


def _correlation(curve: MeasuredCurve, people: Floats, *, linear: bool) -> Estimate:
    if np.isnan(correlation(10**curve.log10, people)):
        return _UNKNOWN
    return statistics.correlation_with(curve, people, linear=linear)


def _size(curve: MeasuredCurve, people: Floats) -> Estimate:
    """Return by how many decades an observer is more or less sensitive than people."""
    found = statistics.gain(curve, people)
    ends = sorted(map(abs, (found.low, found.high)))
    nearest = 0.0 if found.low < 0 < found.high else ends[0]
    return Estimate(abs(found.value), nearest, ends[1], abs(found.value))


def correlation(a: Floats, b: Floats, weights: Floats | None = None) -> float:
    """Return Pearson's correlation; NaN where one of them does not vary.

    Examples
    --------
    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])), 4)
    0.982
    """
    # A fit is good to a millionth or so, which is no variation.
    if any(np.ptp(x) <= _FLAT * np.abs(x).max() for x in (a, b)):
        return np.nan
    weights = np.ones(len(a)) if weights is None else weights
    a, b = (x - np.average(x, weights=weights) for x in (a, b))
    with np.errstate(invalid="ignore"):  # a bootstrap sample may be of one point
        scale = np.sqrt((weights * a * a).sum() * (weights * b * b).sum())
        return float((weights * a * b).sum() / scale)


def shape_in_words(found: Thresholds) -> str:
    """Say where a curve peaks, beside people's, and how much of it is at a bound."""
    seen = found.usable
    x, sensitivity, people = found.abscissae[seen], 10 ** found.curve.log10[seen], found.human[seen]
    at_bound = found.beyond[seen] != ""
    bounds = f"{at_bound.sum()} of {len(x)} frequencies at a bound" if at_bound.any() else ""
    if np.isnan(correlation(sensitivity, 1 / people)):
        return bounds
    own, human = (curve_peak(x, each) for each in (sensitivity, 1 / people))
    return notes.join(bounds, f"peak at {own:.2g} (people {human:.2g})")


def curve_peak(x: Floats, sensitivity: Floats) -> float:
    """Return where a curve peaks: a parabola through its highest point and the next ones.

    Examples
    --------
    >>> x = np.geomspace(0.5, 32, 13)
    >>> round(curve_peak(x, np.exp(-(np.log2(x / 4.1) ** 2) / 2)), 3)
    4.1
    """
    at = int(np.argmax(sensitivity))
    u, v = np.log(x), np.log(sensitivity)
    if 0 < at < len(x) - 1:
        a, b, _ = np.polyfit(u[at - 1 : at + 2], v[at - 1 : at + 2], 2)
        if a < 0:
            return float(np.exp(-b / (2 * a)))
    return float(x[at])


#: Contrasts at which a fitted curve is drawn.
_DRAWN = 60

#: What is drawn of how answers depend on wording, by the names of scores, and where.
_WORDING = {
    "prompt-entropy": "entropy",
    "prompt-consistency": "consistency",
    "draw-consistency": "between draws",
}
_WHERE = {"": "all", "-near": "near threshold"}


@dataclass(frozen=True)
class SensitivityPanels:
    """Draws what a scorer found."""

    scorer: ContrastSensitivity

    def __call__(self, experiment: Asking, data: xr.Dataset) -> list[Panel]:
        """Return the curve, the plane, psychometric functions, d', and the effect of wording."""
        found = self.scorer.measured(data)
        over = abscissa(experiment.task.over)
        axis = Axis(over.label, log=True)
        said = "share of yes" if self.scorer.guess is None else "share of right answers"
        # Half of what can be detected, above guessing.
        half = (1 + (self.scorer.guess or 0.0)) / 2
        every = bool((found.n.sum(axis=1) > 0).all())  # all contrasts at all abscissae
        return [
            self._curve(experiment, found, axis),
            *([_plane(found, axis, said, half)] if every else []),
            *self._functions(found, over.unit, said, half),
            *self._d_prime(found, axis),
            *_wording(found),
        ]

    def _curve(self, experiment: Asking, found: Thresholds, axis: Axis) -> Panel:
        references = (experiment.human, found.human), (experiment.task.human, found.castle)
        marks: list[Line | Points] = [
            Line(found.abscissae, 1 / seen, getattr(people, "name", "people"), n, human=True)
            for n, (people, seen) in enumerate(references, 1)
            if people is not None
        ]
        if found.log10.shape[1] > 1:
            x = np.broadcast_to(found.abscissae[:, None], found.log10.shape)
            there = np.isfinite(found.log10) & (found.censored == "")
            marks.append(Points(x[there], 10 ** -found.log10[there], "single prompts"))
        known = np.isfinite(found.curve.log10)
        x, y, low, high = (
            each[known] for each in (found.abscissae, 10**found.curve.log10, *found.band)
        )
        marks.append(Line(x, y, "observer", low=low, high=high, doubtful=~found.known[known]))
        sensitivity = Axis("sensitivity (1 / RMS contrast)", log=True)
        title = "Contrast sensitivity"
        return Panel("csf", title, axis, sensitivity, tuple(marks), groups="curves")

    def _functions(self, found: Thresholds, unit: str, said: str, half: float) -> Iterator[Panel]:
        """Yield a panel for each abscissa: answers over contrast, and the function fitted to them.

        All prompts are taken together, in the points, in the function and in its threshold.
        """
        for point, x in enumerate(found.abscissae):
            n, k = found.n[point].sum(axis=0), found.k[point].sum(axis=0)
            contrast = found.contrasts[point]
            shown = (n > 0) & (contrast > 0)
            if not shown.any():
                continue
            n, k, contrast = n[shown], k[shown], contrast[shown]
            edge = np.array([contrast.min(), contrast.max()])
            grid = np.geomspace(edge[0], edge[1], _DRAWN)
            fitted = self.scorer.pooled(found, point, grid)
            low, high = np.array([wilson(*each) for each in zip(k, n, strict=True)]).T
            names = tuple(f"{yes:.4g} of {asked:g}" for yes, asked in zip(k, n, strict=True))
            marks = (
                Line(edge, np.full(2, half), f"{half:g}", group=1, style="guide"),
                Points(contrast, k / n, "answers", low=low, high=high, names=names),
                Line(grid, fitted.probability, "fit", low=fitted.low, high=fitted.high),
            )
            kind, title = "psychometric functions", f"{said.capitalize()} over contrast"
            axes = Axis("RMS contrast", log=True), Axis(said, low=0.0, high=1.0)
            yield Panel(kind, title, *axes, marks, stimuli=False, name=f"{x:.3g}{unit}")

    def _d_prime(self, found: Thresholds, axis: Axis) -> list[Panel]:
        """Return d' over the abscissa, a line for each of the stated contrasts."""
        lines = []
        for number, contrast in enumerate(thresholds.CONTRASTS):
            own = thresholds.d_primes(found, contrast, self.scorer.guess)
            known = np.isfinite(own.abscissae) & np.isfinite(own.value)
            if known.any():
                x, y, low, high = (each[known] for each in own[:4])
                lines.append(Line(x, y, f"{contrast:g}", number, low=low, high=high))
        if not lines:
            return []
        title, marks = "How well something is told from nothing", tuple(lines)
        y_axis = Axis("d'")
        return [Panel("d-prime", title, axis, y_axis, marks, groups="RMS contrast", ordered=True)]


def _wording(found: Thresholds) -> list[Panel]:
    """Return entropy and consistency over prompts, everywhere and near threshold, as bars."""
    scores = {score.name: score for score in thresholds.wording_scores(found)}
    bars = []
    for group, (end, label) in enumerate(_WHERE.items()):
        own = [(at, scores.get(f"{name}{end}")) for at, name in enumerate(_WORDING)]
        there = [(at, s.value, s.low, s.high) for at, s in own if s and np.isfinite(s.value)]
        if there:
            x, y, low, high = np.array(there).T
            bars.append(Bars(x, y, low, high, label, group))
    if not bars:
        return []
    title = "How much answers depend on the wording of the question"
    x_axis, y_axis = Axis("", ticks=tuple(_WORDING.values())), Axis("entropy, or consistency")
    marks = tuple(bars)
    return [Panel("wording", title, x_axis, y_axis, marks, groups="contrasts", stimuli=False)]


def _plane(found: Thresholds, axis: Axis, said: str, half: float) -> Panel:
    seen = found.contrasts.min(axis=0) > 0
    contrasts = found.contrasts[:, seen].mean(axis=0)
    share = (found.k.sum(axis=1) / found.n.sum(axis=1))[:, seen]
    surface = Surface(found.abscissae, contrasts, share, label=said, criterion=half)
    people = Line(found.abscissae, found.human, "people", human=True)
    title = f"{said.capitalize()} over the whole plane"
    return Panel(said, title, axis, Axis("RMS contrast", log=True), (surface, people))

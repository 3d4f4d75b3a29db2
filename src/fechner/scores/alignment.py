"""Alignment: how well responses follow multiples of the human threshold (Cai et al. 2025, eq. 12).

Beside it, two questions that the rank correlation cannot answer: would a shift along the frequency
axis help (pixels per degree are a choice), and how far off are absolute thresholds?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats, xr
from fechner.experiments.base import abscissa, is_log
from fechner.scores import notes
from fechner.scores.panels import Axis, Line, Panel, Points, Surface, spans_decades
from fechner.scores.score import Resampled, Score, Scorer, outputs, placed, unmeasured
from fechner.scores.statistics import cluster_counts, normal_errors, spread

if TYPE_CHECKING:
    from fechner.experiments import NearThreshold


#: Simulated human curves; the ends of their 95 % range are good to a tenth of its width.
_HUMAN_DRAWS = 400

#: Abscissae needed to speak of a curve.
_FEWEST_POINTS = 3


@dataclass(frozen=True)
class Alignment(Scorer):
    """Spearman's correlation between multiples of the human threshold and responses.

    Parameters
    ----------
    human_error_db
        Standard deviation of the human thresholds around their curve, 20 log10; None is that of
        each threshold, as measured with it. The second interval is the spread it gives to the
        score, centred on the score; there is none where it is not known.
    absolute
        Whether the sign is dropped, as in Hammou et al. (2025); an observer that answers less to
        more contrast then passes for one that answers more.
    """

    human_error_db: float | None = None
    absolute: bool = False

    kind = unmeasured("alignment", "abscissae")
    along: ClassVar = {"point": "abscissa", "ratio": "ratio"}

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out; nothing where there are no human thresholds."""
        if "response" not in data:
            return []
        points = _Points(data, self)
        return [placed(score, part) for part in outputs(data) for score in points.scores(part)]

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Score | Resampled]:
        """Yield the alignment of one layer and read-out, and what stands beside it."""
        return _Points(data, self).scores(data)

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the points that both were shown."""
        parts = super().shared(first, second)
        flags = [part["dropped"].values for part in parts]
        if np.array_equal(flags[0] > 0, flags[1] > 0):
            return parts
        either = np.where(flags[0] > 0, flags[0], flags[1])
        a, b = (part.assign(dropped=part["dropped"].copy(data=either)) for part in parts)
        return a, b


class _Points:
    """The points that all layers and read-outs are scored at, with what is the same for all.

    Clusters are the abscissae that have points left, numbered anew.
    """

    def __init__(self, data: xr.Dataset, scorer: Alignment) -> None:
        self.absolute = scorer.absolute
        self.kept = data["dropped"].values == 0
        self.note = notes.left_out(data["dropped"])
        x = np.broadcast_to(data["ratio"].values, self.kept.shape)[self.kept]
        point = np.unique(np.nonzero(self.kept)[0], return_inverse=True)[1]
        there = self.kept.any(axis=1)
        self.abscissae = data["abscissa"].values[there]
        if len(self.abscissae) < 2:
            return
        self.correlation = Spearman(x)
        self.resampled = Spearman(x, cluster_counts(len(self.abscissae))[:, point])
        # A threshold that lies e dB higher turns the multiple m into m / 10^(e/20).
        known_db: Any = scorer.human_error_db
        known_db = data["human_error_db"].values if known_db is None else known_db
        error_db = np.broadcast_to(known_db, len(there))[there]
        errors = normal_errors((_HUMAN_DRAWS, len(self.abscissae))) * error_db
        self.human = None
        if np.isfinite(error_db).all():
            self.human = Spearman(x * 10 ** (-errors[:, point] / 20))

    def scores(self, data: xr.Dataset) -> Iterator[Score | Resampled]:
        main = self._alignment(data)
        yield main
        whole = _scored_points(data)
        if "surface" not in data or np.isnan(main.score.value) or len(whole) < _FEWEST_POINTS:
            return
        yield _threshold_error(data)
        if data["abscissa"].attrs["name"] == "frequency_cpd":
            yield _best_shift(data)

    def _alignment(self, data: xr.Dataset) -> Resampled:
        y, note = data["response"].values[self.kept], self.note
        why = notes.UNDEFINED if np.isnan(y).any() else ""
        if why or len(self.abscissae) < 2:
            why = notes.TOO_FEW if len(self.abscissae) < 2 else why
            score = replace(Alignment.kind, note=notes.join(note, why))
            return Resampled(score, np.empty(0), self.abscissae, "correlation")
        value = float(self.correlation(y))
        if self.absolute and value < 0:
            y, value = -y, -value
            note = notes.join(note, "absolute value: it answers less to more contrast")
        if np.isnan(value):
            note = notes.join(note, notes.SAME_ANSWERS)
        score = Alignment.kind.with_value(value, n=len(y), note=note)
        if self.human is not None:
            moved = self.human(y)
            low, high = spread(np.clip(value + moved - np.median(moved), -1, 1))
            score = replace(score, human_low=low, human_high=high)
        found = Resampled(score, self.resampled(y), self.abscissae, "correlation")
        return found.with_interval()


def criterion(data: xr.Dataset) -> float:
    """Return an observer's own response at the human threshold where people are most sensitive.

    NaN where no point was scored whole, or there are no human thresholds.
    """
    points = _scored_points(data) if "dropped" in data else ()
    if len(points) == 0:
        return float("nan")
    anchor = points[np.argmin(data["human_threshold"].values[points])]
    log_ratio = np.log(data["ratio"].values)
    return float(np.interp(0.0, log_ratio, data["response"].values[anchor]))


def _threshold_error(data: xr.Dataset) -> Resampled:
    """Return how far thresholds at one criterion lie from human ones, in dB.

    Where people are most sensitive the error is 0 by definition of the criterion.
    """
    from fechner.psychometrics import find_crossing

    points = _scored_points(data)
    tested = data["contrast"].values[points]
    humans = data["human_threshold"].values[points]
    contrasts = data["surface_contrast"].values
    level = criterion(data)
    errors, farthest, missed = [], [], 0
    for x, human in zip(data["abscissa"].values[points], humans, strict=True):
        found = find_crossing(contrasts, _response_at(data, x), level, near=float(human))
        errors.append(20 * np.log10(found.contrast / human))
        farthest.append(np.abs(20 * np.log10(contrasts[[0, -1]] / human)).max())
        missed += found.candidates == 0
    squares, counts = np.square(errors), cluster_counts(len(points))
    # Two thresholds drawn evenly over the tested range differ by its width over the root of 6.
    chance = float(20 * np.log10(tested.max() / tested.min()) / np.sqrt(6))
    note = notes.join(
        f"criterion {level:.3g}: the response at the human threshold of {humans.min():.3g}",
        f"{missed} of {len(points)} thresholds outside the tested contrasts" if missed else "",
    )
    of = unmeasured("threshold-error-db", "abscissae", False, best=0.0, chance=chance)
    score = of.with_value(float(np.sqrt(squares.mean())), n=len(points), note=note)
    resamples = np.sqrt((counts * squares).sum(axis=1) / counts.sum(axis=1))
    most = float(np.sqrt(np.square(farthest).mean()))
    return Resampled(score, resamples, points.astype(float), "error", most).with_interval()


def _best_shift(data: xr.Dataset) -> Resampled:
    """Return the alignment after the best common shift along log frequency.

    Responses at the shifted curve are interpolated on the measured surface.
    """
    points = _scored_points(data)
    frequency = np.log2(data["abscissa"].values[points])
    threshold = np.log(data["human_threshold"].values[points])
    ratios = data["ratio"].values
    contrasts = np.log(data["surface_contrast"].values)
    rows = [_response_at(data, x) for x in data["abscissa"].values[points]]
    best: tuple[float, float, Any] = (-np.inf, 0.0, None)
    # From no shift on, so that of equal ones the smallest is taken.
    for shift in sorted(np.linspace(-1, 1, 17), key=abs):
        inside = (frequency - shift >= frequency[0]) & (frequency - shift <= frequency[-1])
        if inside.sum() < _FEWEST_POINTS:
            continue
        shifted = np.interp(frequency - shift, frequency, threshold)
        wanted = shifted[inside, None] + np.log(ratios)
        shown = np.flatnonzero(inside)
        responses = np.concatenate(
            [np.interp(at, contrasts, rows[i]) for i, at in zip(shown, wanted, strict=True)]
        )
        x = np.tile(ratios, len(shown))
        value = float(Spearman(x)(responses))
        if value > best[0]:
            best = (value, float(shift), (x, responses, len(shown)))
    value, shift, (x, y, clusters) = best
    point = np.repeat(np.arange(clusters), len(ratios))
    note = f"human curve moved by {shift:+.2f} octaves along frequency; chosen to be best"
    score = unmeasured("alignment-best-shift", "abscissae").with_value(value, n=len(x), note=note)
    resamples = Spearman(x, cluster_counts(clusters)[:, point])(y)
    return Resampled(score, resamples, np.arange(float(clusters)), "correlation").with_interval()


def _response_at(data: xr.Dataset, x: float) -> Floats:
    """Return responses over the contrasts of the surface, interpolated on the abscissa's scale."""
    abscissae, values = data["surface_abscissa"].values, data["surface"].values
    scale: Any = np.log2 if is_log(abscissae) else np.asarray
    at, grid = scale(x), scale(abscissae)
    return np.array([np.interp(at, grid, column) for column in values.T])


def _scored_points(data: xr.Dataset) -> NDArray[np.intp]:
    """Return the abscissae at which nothing was left out."""
    return np.flatnonzero((data["dropped"].values == 0).all(axis=1))


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Return average ranks of ``values`` when point i occurs ``weights[..., i]`` times.

    A bootstrap sample is a vector of counts, so one sort serves all samples.

    Examples
    --------
    >>> weighted_ranks(np.array([3.0, 1.0, 1.0]), np.ones(3)).tolist()
    [3.0, 1.5, 1.5]
    """
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
    totals = np.add.reduceat(weights[..., order], starts, axis=-1)
    below = np.cumsum(totals, axis=-1) - totals
    return np.asarray((below + (totals + 1) / 2)[..., group])


class Spearman:
    """Spearman's correlation of the same x with one y after another.

    Parameters
    ----------
    x
        [points]; or [rows, points] without ties, for a correlation with each row.
    weights
        How often each point occurs, [..., points]; the correlation is computed for each row.

    Examples
    --------
    >>> float(Spearman(np.array([1.0, 2.0, 3.0]))(np.array([10.0, 30.0, 20.0])))
    0.5
    >>> Spearman(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))(np.array([1.0, 5.0, 9.0]))
    array([ 1., -1.])
    """

    def __init__(self, x: Floats, weights: Floats | None = None) -> None:
        self._weights = np.ones(x.shape[-1]) if weights is None else weights
        ranks = (
            weighted_ranks(x, self._weights)
            if x.ndim == 1
            else np.argsort(np.argsort(x)).astype(float)
        )
        self._total = self._weights.sum(axis=-1, keepdims=True)
        self._x = self._centred(ranks)
        self._spread = _dot(self._weights, self._x**2)

    def _centred(self, ranks: Floats) -> Floats:
        return np.asarray(ranks - _dot(self._weights, ranks)[..., None] / self._total)

    def __call__(self, y: Floats) -> Floats:
        """Return the correlation for each row; NaN if x or y is constant."""
        centred = self._centred(weighted_ranks(y, self._weights))
        weighted = self._weights * centred
        squares, covariance = self._spread * _dot(weighted, centred), _dot(weighted, self._x)
        nothing = np.full(np.shape(covariance), np.nan)
        return np.asarray(np.divide(covariance, np.sqrt(squares), out=nothing, where=squares > 0))


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def threshold_panels(experiment: NearThreshold, data: xr.Dataset) -> list[Panel]:
    """Return the surface, where it was measured, and responses over multiples of the threshold.

    Without human thresholds there is the surface alone.
    """
    panels = [_surface(experiment, data)] if "surface" in data else []
    return [*panels, _responses(experiment, data)] if "response" in data else panels


def _surface(experiment: NearThreshold, data: xr.Dataset) -> Panel:
    task, unit = experiment.task, experiment.unit_name
    # Sensitivity where a target is detected on nothing.
    label = f"sensitivity (1 / {unit} contrast)" if task.detects else f"contrast ({unit})"
    power = -1.0 if task.detects else 1.0
    responses, x = data["surface"].values, data["surface_abscissa"].values
    undefined = int(np.isnan(responses).sum())
    cells = f"{undefined} of {responses.size} cells"
    blank = f"; blank: the read-out is undefined in {cells}, use --readout l2" if undefined else ""
    marks: list[Surface | Line] = [
        Surface(
            x,
            data["surface_contrast"].values ** power,
            responses,
            log=spans_decades(responses),
            doubtful=data["surface_flags"].values > 0,
            criterion=criterion(data),
        )
    ]
    if "human_threshold" in data:
        y = data["human_threshold"].values ** power
        marks.append(Line(data["abscissa"].values, y, "people", human=True))
    axes = Axis(abscissa(task.over).label, log=is_log(x)), Axis(label, log=True)
    return Panel("surface", f"Response over the whole plane{blank}", *axes, tuple(marks))


def _responses(experiment: NearThreshold, data: xr.Dataset) -> Panel:
    responses = data["response"].values
    kept = (data["dropped"].values == 0) & np.isfinite(responses)
    ratios = np.broadcast_to(data["ratio"].values, responses.shape)
    abscissae = np.broadcast_to(data["abscissa"].values[:, None], responses.shape)
    over = Axis(abscissa(experiment.task.over).label, log=is_log(abscissae))
    points = Points(ratios[kept], responses[kept], colour=abscissae[kept], colour_axis=over)
    x = Axis("contrast over the human threshold", log=True)
    y = Axis("response", log=bool((responses[kept] > 0).all()))
    title = "Response at multiples of the human threshold"
    return Panel("responses", title, x, y, (points,), stimuli=False)

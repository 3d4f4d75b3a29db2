"""Alignment: how well responses follow multiples of the human threshold (Cai et al. 2025, eq. 12).

Beside it, two questions that the rank correlation cannot answer: would a shift along the frequency
axis help (pixels per degree are a choice), and how far off are absolute thresholds?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.experiments.abscissae import is_log
from fechner.psychometrics import find_crossing
from fechner.scores.bootstrap import cluster_counts, interval, normal_errors, spread
from fechner.scores.notes import SAME_ANSWERS, TOO_FEW, UNDEFINED, join_notes, left_out
from fechner.scores.paired import in_common
from fechner.scores.ranks import Spearman, SpearmanOfRows
from fechner.scores.score import Resampled, Score

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.experiments import NearThreshold


#: Simulated human curves; the ends of their 95 % range are good to a tenth of its width.
_HUMAN_DRAWS = 400

#: Abscissae needed to speak of a curve.
_FEWEST_POINTS = 3

_correlation = partial(Score, higher_is_better=True, best=1.0, chance=0.0, resampled="abscissae")


@dataclass(frozen=True)
class Alignment:
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

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out; nothing where there are no human thresholds."""
        if "response" not in data:
            return []
        points = _Points(data, self.human_error_db, self.absolute)
        return [
            score
            for layer, readout, part in outputs(data)
            for score in _scores(points, part, layer, readout)
        ]

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the alignment of one layer and read-out with its bootstrap over abscissae."""
        points = _Points(data, self.human_error_db, self.absolute)
        return _alignment(points, data, str(data["layer"].values), str(data["readout"].values))

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the points that both were shown."""
        parts = in_common(first, second, point="abscissa", ratio="ratio")
        flags = [part["dropped"].values for part in parts]
        if all(np.array_equal(flag > 0, flags[0] > 0) for flag in flags):
            return parts
        either = np.where(flags[0] > 0, flags[0], flags[1])
        a, b = (part.assign(dropped=part["dropped"].copy(data=either)) for part in parts)
        return a, b

    def printed(self, value: float, experiment: NearThreshold) -> Score:
        """Return an alignment of which only the value is known."""
        nothing = float("nan")
        return _correlation("alignment", value, nothing, nothing, n=0)


class _Points:
    """The points that all layers and read-outs are scored at, with what is the same for all.

    Clusters are the abscissae that have points left, numbered anew.
    """

    def __init__(self, data: xr.Dataset, human_error_db: float | None, absolute: bool) -> None:
        self.absolute = absolute
        self.kept = data["dropped"].values == 0
        self.note = left_out(data["dropped"])
        x = np.broadcast_to(data["ratio"].values, self.kept.shape)[self.kept]
        point = np.unique(np.nonzero(self.kept)[0], return_inverse=True)[1]
        self.clusters = int(point.max()) + 1 if len(point) else 0
        self.abscissae = data["abscissa"].values[self.kept.any(axis=1)]
        if self.clusters < 2:
            return
        self.correlation = Spearman(x)
        self.resampled = Spearman(x, cluster_counts(self.clusters)[:, point])
        # A threshold that lies e dB higher turns the multiple m into m / 10^(e/20).
        known_db = data["human_error_db"].values if human_error_db is None else human_error_db
        error_db = np.broadcast_to(known_db, len(self.kept))[self.kept.any(axis=1)]
        errors = normal_errors((_HUMAN_DRAWS, self.clusters)) * error_db
        self.human = None
        if np.isfinite(error_db).all():
            self.human = SpearmanOfRows(x * 10 ** (-errors[:, point] / 20))


def _scores(points: _Points, data: xr.Dataset, layer: str, readout: str) -> Iterator[Score]:
    main = _alignment(points, data, layer, readout).score
    yield main
    if "surface" not in data or np.isnan(main.value) or len(_scored_points(data)) < _FEWEST_POINTS:
        return
    yield _threshold_error(data, layer, readout)
    if data["abscissa"].attrs["name"] == "frequency_cpd":
        yield _best_shift(data, layer, readout)


def _alignment(points: _Points, data: xr.Dataset, layer: str, readout: str) -> Resampled:
    note = points.note
    y = data["response"].values[points.kept]
    why = TOO_FEW if points.clusters < 2 else UNDEFINED if np.isnan(y).any() else ""
    if why:
        score = _unmeasured(layer, readout, join_notes(note, why))
        return Resampled(score, np.empty(0), points.abscissae, "correlation")
    value = float(points.correlation(y))
    if points.absolute and value < 0:
        y, value = -y, -value
        note = join_notes(note, "absolute value: it answers less to more contrast")
    if np.isnan(value):
        note = join_notes(note, SAME_ANSWERS)
    resamples = points.resampled(y)
    low, high = interval(value, resamples, points.clusters, "correlation")
    human_low = human_high = float("nan")
    if points.human is not None:
        moved = points.human(y)
        human_low, human_high = spread(np.clip(value + moved - np.median(moved), -1, 1))
    score = _correlation(
        "alignment",
        value,
        low,
        high,
        n=len(y),
        human_low=human_low,
        human_high=human_high,
        layer=layer,
        readout=readout,
        note=note,
    )
    return Resampled(score, resamples, points.abscissae, "correlation")


def _unmeasured(layer: str, readout: str, note: str) -> Score:
    nothing = float("nan")
    return _correlation(
        "alignment", nothing, nothing, nothing, n=0, layer=layer, readout=readout, note=note
    )


def outputs(data: xr.Dataset) -> Iterator[tuple[str, str, xr.Dataset]]:
    """Go through layers and read-outs."""
    for layer in data["layer"].values:
        for readout in data["readout"].values:
            yield str(layer), str(readout), data.sel(layer=layer, readout=readout)


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


def _threshold_error(data: xr.Dataset, layer: str, readout: str) -> Score:
    """Return how far thresholds at one criterion lie from human ones, in dB.

    Where people are most sensitive the error is 0 by definition of the criterion.
    """
    points = _scored_points(data)
    contrasts = data["contrast"].values
    grid, surface_contrasts = _Surface(data), data["surface_contrast"].values
    level = criterion(data)
    errors, farthest, missed = [], [], 0
    for point in points:
        x = np.full(len(surface_contrasts), data["abscissa"].values[point])
        human = float(data["human_threshold"].values[point])
        responses = grid(x, np.log(surface_contrasts))
        found = find_crossing(surface_contrasts, responses, level, near=human)
        errors.append(20 * np.log10(found.contrast / human))
        farthest.append(np.abs(20 * np.log10(surface_contrasts[[0, -1]] / human)).max())
        missed += found.candidates == 0
    squares = np.square(errors)
    value = float(np.sqrt(squares.mean()))
    counts = cluster_counts(len(points))
    resamples = np.sqrt((counts * squares).sum(axis=1) / counts.sum(axis=1))
    most = float(np.sqrt(np.square(farthest).mean()))
    low, high = interval(value, resamples, len(points), "error", most)
    # Two thresholds drawn evenly over the tested range differ by its width over the root of 6.
    span = 20 * np.log10(contrasts[points].max() / contrasts[points].min())
    return Score(
        "threshold-error-db",
        value,
        low,
        high,
        higher_is_better=False,
        best=0.0,
        chance=float(span / np.sqrt(6)),
        resampled="abscissae",
        n=len(points),
        layer=layer,
        readout=readout,
        note=join_notes(
            f"criterion {level:.3g}: the response at the human threshold of "
            f"{data['human_threshold'].values[points].min():.3g}",
            f"{missed} of {len(points)} thresholds outside the tested contrasts" if missed else "",
        ),
    )


def _best_shift(data: xr.Dataset, layer: str, readout: str) -> Score:
    """Return the alignment after the best common shift along log frequency.

    Responses at the shifted curve are interpolated on the measured surface.
    """
    points = _scored_points(data)
    frequency = np.log2(data["abscissa"].values[points])
    threshold = np.log(data["human_threshold"].values[points])
    ratios = data["ratio"].values
    grid = _Surface(data)
    best: tuple[float, float, Any] = (-np.inf, 0.0, None)
    # From no shift on, so that of equal ones the smallest is taken.
    for shift in sorted(np.linspace(-1, 1, 17), key=abs):
        shifted = np.interp(frequency - shift, frequency, threshold)
        inside = (frequency - shift >= frequency[0]) & (frequency - shift <= frequency[-1])
        contrast = np.exp(shifted[inside])[:, None] * ratios
        at = np.broadcast_to(2 ** frequency[inside, None], contrast.shape)
        responses = grid(at, np.log(contrast))
        if inside.sum() < _FEWEST_POINTS:
            continue
        x = np.broadcast_to(ratios, contrast.shape).ravel()
        value = float(Spearman(x)(responses.ravel()))
        if value > best[0]:
            point = np.broadcast_to(np.arange(inside.sum())[:, None], contrast.shape).ravel()
            best = (value, float(shift), (x, responses.ravel(), point))
    value, shift, (x, y, point) = best
    clusters = int(point.max()) + 1
    resamples = Spearman(x, cluster_counts(clusters)[:, point])(y)
    low, high = interval(value, resamples, clusters, "correlation")
    return _correlation(
        "alignment-best-shift",
        value,
        low,
        high,
        n=len(x),
        layer=layer,
        readout=readout,
        note=f"human curve moved by {shift:+.2f} octaves along frequency; chosen to be best",
    )


class _Surface:
    """The measured surface, interpolated linearly on the abscissa's scale and in log contrast."""

    def __init__(self, data: xr.Dataset) -> None:
        abscissae = data["surface_abscissa"].values
        self.scale: Any = np.log2 if is_log(abscissae) else np.asarray
        self.x = self.scale(abscissae)
        self.y = np.log(data["surface_contrast"].values)
        self.values: NDArray[np.float64] = data["surface"].values

    def __call__(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        i, u = _bracket(self.x, self.scale(x))
        j, v = _bracket(self.y, y)
        near = self.values[i, j] * (1 - v) + self.values[i, j + 1] * v
        far = self.values[i + 1, j] * (1 - v) + self.values[i + 1, j + 1] * v
        between: NDArray[np.float64] = near * (1 - u) + far * u
        return between


def _bracket(
    grid: NDArray[np.float64], at: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    index = np.clip(np.searchsorted(grid, at) - 1, 0, len(grid) - 2)
    share = (at - grid[index]) / (grid[index + 1] - grid[index])
    return index, np.clip(share, 0, 1)


def _scored_points(data: xr.Dataset) -> NDArray[np.intp]:
    """Return the abscissae at which nothing was left out."""
    return np.flatnonzero((data["dropped"].values == 0).all(axis=1))

"""Matching error: how far matched contrasts lie from those that people set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fechner.psychometrics import find_crossing
from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import cluster_counts, interval, normal_errors, spread
from fechner.scores.paired import in_common
from fechner.scores.score import Resampled, Score

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.experiments import FrequencyMatching

_error = partial(Score, higher_is_better=False, best=0.0, resampled="frequencies")


@dataclass(frozen=True)
class MatchingError:
    """Root mean square error of matches in log10 contrast, by two definitions.

    ``matching-error`` is the mean over frequencies of the RMSE over reference contrasts, as
    published by Cai et al. (2025); ``matching-error-pooled`` is the RMSE over all matches.

    Parameters
    ----------
    human_error_db
        Standard deviation of the human matches, 20 log10; gives the second interval.
    """

    human_error_db: float

    def __call__(self, data: xr.Dataset) -> Sequence[Score]:
        """Score every layer and read-out."""
        return [
            score
            for layer, readout, part in outputs(data)
            for score in (each.score for each in _scores(part, layer, readout, self.human_error_db))
        ]

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the error of one layer and read-out with its bootstrap over frequencies."""
        layer, readout = str(data["layer"].values), str(data["readout"].values)
        return _scores(data, layer, readout, self.human_error_db)[0]

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the frequencies and reference contrasts at which both made matches."""
        return in_common(first, second, frequency="frequency", reference="reference")

    def printed(self, value: float, experiment: FrequencyMatching) -> Score:
        """Return an error of which only the value is known."""
        _, _, human = experiment.human_matches()
        grid = np.array(experiment.contrasts)
        nothing = float("nan")
        return _error(
            "matching-error", value, nothing, nothing, chance=_chance(grid, human, True), n=0
        )


def matches(data: xr.Dataset) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return matched contrasts [reference, frequency] and the number of candidates of each."""
    grid = data["contrast"].values
    references = data["reference"].values
    shape = (len(references), data.sizes["frequency"])
    if "difference" in data:
        best = data["difference"].values.argmin(axis=-1)
        return grid[best], ((best > 0) & (best < len(grid) - 1)).astype(np.intp)
    criteria, responses = data["reference_response"].values, data["response"].values
    found, counts = np.empty(shape), np.ones(shape, dtype=np.intp)
    for i, j in np.ndindex(*shape):
        found[i, j], counts[i, j] = find_crossing(
            grid, responses[j], float(criteria[i]), near=float(references[i])
        )
    return found, counts


def _scores(data: xr.Dataset, layer: str, readout: str, human_error_db: float) -> list[Resampled]:
    found, candidates = matches(data)
    human = data["human_matched"].values
    errors = np.log10(found) - np.log10(human)
    note = _note(candidates)
    if "response" in data and np.ptp(data["response"].values) == 0:
        errors = np.full_like(errors, np.nan)
        note = "not computable: the observer answered the same to every stimulus"
    frequencies = errors.shape[1]
    counts = cluster_counts(frequencies)
    noise = normal_errors((len(counts), *errors.shape)) * (human_error_db / 20)
    scores = []
    for name, mean_of_roots in (("matching-error", True), ("matching-error-pooled", False)):
        value = float(_rmse(errors, np.ones(frequencies), mean_of_roots))
        resamples = _rmse(errors, counts, mean_of_roots)
        low, high = interval(value, resamples, frequencies, "error")
        moved = _rmse(errors + noise, np.ones(frequencies), mean_of_roots)
        human_low, human_high = spread(moved)
        score = _error(
            name,
            value,
            low,
            high,
            chance=_chance(data["contrast"].values, human, mean_of_roots),
            n=errors.size,
            human_low=human_low,
            human_high=human_high,
            layer=layer,
            readout=readout,
            note=note,
        )
        scores.append(Resampled(score, resamples, data["frequency"].values, "error"))
    return scores


def _chance(grid: NDArray[np.float64], matched: NDArray[np.float64], mean_of_roots: bool) -> float:
    """Return the error of matches drawn evenly over the log contrast range."""
    low, high = np.log10(grid[[0, -1]])
    human = np.log10(matched)
    squares = ((high - human) ** 3 - (low - human) ** 3) / (3 * (high - low))
    return float(_rmse(np.sqrt(squares), np.ones(matched.shape[1]), mean_of_roots))


def _rmse(
    errors: NDArray[np.float64], weights: NDArray[np.float64], mean_of_roots: bool
) -> NDArray[np.float64]:
    """Return the error over frequencies (last axis) with weights, [..., frequencies]."""
    squares = np.square(errors).mean(axis=-2)
    if mean_of_roots:
        result: NDArray[np.float64] = (weights * np.sqrt(squares)).sum(-1) / weights.sum(-1)
    else:
        result = np.sqrt((weights * squares).sum(-1) / weights.sum(-1))
    return result


def _note(candidates: NDArray[np.intp]) -> str:
    notes = []
    if (candidates == 0).any():
        notes.append(f"{(candidates == 0).sum()} of {candidates.size} matches out of range")
    if (candidates > 1).any():
        notes.append(f"{(candidates > 1).sum()} of {candidates.size} matches ambiguous")
    return "; ".join(notes)

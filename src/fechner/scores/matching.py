"""Matching error: how far matched contrasts lie from those that people set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from fechner.psychometrics import find_crossing, find_least
from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import cluster_counts, interval, normal_errors, spread
from fechner.scores.notes import (
    SAME_ANSWERS,
    TOO_FEW,
    UNDEFINED,
    count_matches,
    is_undefined,
    join_notes,
    left_out,
)
from fechner.scores.paired import in_common
from fechner.scores.score import Resampled, Score

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.experiments import FrequencyMatching

_error = partial(Score, higher_is_better=False, best=0.0, resampled="frequencies")


@dataclass(frozen=True)
class MatchingError:
    """Root mean square error of matches in log10 contrast, by several definitions.

    ``matching-error`` is the mean over frequencies of the RMSE over reference contrasts, as
    published by Cai et al. (2025); ``matching-error-pooled`` is the RMSE over all matches, as
    published by Hammou et al. (2025). Both reward observers that ignore spatial frequency, since
    people nearly do so at high contrast. The shape errors are the RMSE after each curve's own mean
    error is taken off, over the lower and the upper half of the reference contrasts: the first
    tells whether low contrasts depend on frequency as people's do, the second whether high ones
    do not.

    Parameters
    ----------
    human_error_db
        Standard deviation of the human matches, 20 log10; gives the second interval.
    main
        Which of the errors comes first.
    gaps
        Whether a match outside the tested contrasts is left out, as in Hammou et al. (2025), or
        counts as the end of the range, which does not reward observers for having none.
    """

    human_error_db: float
    main: Literal["matching-error", "matching-error-pooled"] = "matching-error"
    gaps: bool = False

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        return [
            each.score
            for layer, readout, part in outputs(data)
            for each in self._scores(part, layer, readout)
        ]

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the error of one layer and read-out with its bootstrap over frequencies."""
        return self._scores(data, str(data["layer"].values), str(data["readout"].values))[0]

    def _scores(self, data: xr.Dataset, layer: str, readout: str) -> list[Resampled]:
        missing = _left_out(data)
        data = _shown(data)
        found, candidates = matches(data)
        human = data["human_matched"].values
        answers = "difference" if "difference" in data else "response"
        note = join_notes(
            missing,
            "matched by direct comparison" if answers == "difference" else "",
            count_matches(candidates, self.gaps),
        )
        if self.gaps:
            found = np.where(candidates == 0, np.nan, found)
        errors = np.log10(found) - np.log10(human)
        why = ""
        if np.isnan(found).all() and missing:
            why = TOO_FEW
        elif is_undefined(data, answers):
            why = UNDEFINED
        elif np.nanmin(data[answers]) == np.nanmax(data[answers]):
            why = SAME_ANSWERS
        if why:
            note = join_notes(missing, why)
            errors = np.full_like(errors, np.nan)
        counts = cluster_counts(errors.shape[1])
        noise = normal_errors((len(counts), *errors.shape)) * (self.human_error_db / 20)
        scores = []
        grid = data["contrast"].values
        for name, (error, chance, most) in self._definitions(data["reference"].values).items():
            largest = most(grid, human)
            value = float(error(errors, np.ones(errors.shape[1])))
            resamples = error(errors, counts)
            low, high = interval(value, resamples, errors.shape[1], "error", largest)
            human_low, human_high = spread(error(errors + noise, np.ones(errors.shape[1])))
            score = _error(
                name,
                value,
                low,
                high,
                chance=chance(grid, human),
                n=int(np.isfinite(errors).sum()),
                human_low=human_low,
                human_high=human_high,
                layer=layer,
                readout=readout,
                note=note,
            )
            scores.append(Resampled(score, resamples, data["frequency"].values, "error", largest))
        return scores

    def _definitions(self, references: NDArray[np.float64]) -> dict[str, _Definition]:
        """Return the errors by name, the main one first."""
        low = references <= np.median(references)

        def whole(error: _Error) -> _Definition:
            return _Definition(error, partial(_chance, error=error), partial(_most, error=error))

        def shape(rows: NDArray[np.bool_]) -> _Definition:
            return _Definition(
                partial(_shape, rows=rows),
                partial(_shape_chance, rows=rows),
                partial(_shape_most, rows=rows),
            )

        known = {
            "matching-error": whole(_mean_of_roots),
            "matching-error-pooled": whole(_root_of_mean),
            "shape-error-low-contrast": shape(low),
            "shape-error-high-contrast": shape(~low),
        }
        return {self.main: known[self.main], **known}

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the frequencies and reference contrasts at which both made matches."""
        parts = (_shown(part) for part in (first, second))
        return in_common(*parts, frequency="frequency", reference="reference")

    def printed(self, value: float, experiment: FrequencyMatching) -> Score:
        """Return an error of which only the value is known."""
        _, references, human = experiment.human_matches()
        grid = np.array(experiment.contrasts)
        nothing = float("nan")
        chance = self._definitions(references)[self.main].chance(grid, human)
        return _error(self.main, value, nothing, nothing, chance=chance, n=0)


def matches(data: xr.Dataset, of: str = "") -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return matched contrasts [reference, frequency] and the number of candidates of each.

    Both are those of the contrasts that could be shown; a match is NaN where none could, or its
    reference could not.

    Parameters
    ----------
    of
        What names of frequencies and answers begin with: nothing, or ``curve_`` for figures.
    """
    grid = data["contrast"].values
    references = data["reference"].values
    shape = (len(references), data.sizes[f"{of}frequency"])
    found, counts = np.full(shape, np.nan), np.ones(shape, dtype=np.intp)
    if "difference" in data:
        differences = data[f"{of}difference"].values
        for i, j in np.ndindex(*shape):
            there = np.isfinite(differences[i, j])
            if there.any():
                found[i, j], counts[i, j] = find_least(grid[there], differences[i, j][there])
        return found, counts
    criteria, responses = data["reference_response"].values, data[f"{of}response"].values
    there = np.isfinite(responses)
    for i, j in np.ndindex(*shape):
        if np.isnan(criteria[i]) or not there[j].any():
            continue
        found[i, j], counts[i, j] = find_crossing(
            grid[there[j]], responses[j][there[j]], float(criteria[i]), near=float(references[i])
        )
    return found, counts


def _left_out(data: xr.Dataset) -> str:
    """Say what could not be shown."""
    tests, references = data["dropped"], data["dropped_reference"]
    return join_notes(left_out(tests), left_out(references, "references"))


def _shown(data: xr.Dataset) -> xr.Dataset:
    """Leave what could be shown; the answers themselves if that is everything or nothing."""
    tests, references = data["dropped"].values == 0, data["dropped_reference"].values == 0
    kept = {"frequency": tests.any(axis=1), "contrast": tests.any(axis=0), "reference": references}
    if not all(each.any() for each in kept.values()) or all(each.all() for each in kept.values()):
        return data
    return data.isel(kept)


def _chance(grid: NDArray[np.float64], matched: NDArray[np.float64], error: _Error) -> float:
    """Return the error of matches drawn evenly over the log contrast range."""
    low, high = np.log10(grid[[0, -1]])
    human = np.log10(matched)
    squares = ((high - human) ** 3 - (low - human) ** 3) / (3 * (high - low))
    return float(error(np.sqrt(squares), np.ones(matched.shape[1])))


def _most(grid: NDArray[np.float64], matched: NDArray[np.float64], error: _Error) -> float:
    """Return the largest error: every match at the end of the range that is farther away."""
    low, high = np.log10(grid[[0, -1]])
    human = np.log10(matched)
    return float(error(np.maximum(human - low, high - human), np.ones(matched.shape[1])))


def _shape_most(
    grid: NDArray[np.float64], matched: NDArray[np.float64], rows: NDArray[np.bool_]
) -> float:
    """Return a bound of the shape error: half of what errors can span."""
    low, high = np.log10(grid[[0, -1]])
    spans = high - low + np.ptp(np.log10(matched[rows]), axis=1)
    return float(np.sqrt(np.square(spans / 2).mean()))


def _shape_chance(
    grid: NDArray[np.float64], matched: NDArray[np.float64], rows: NDArray[np.bool_]
) -> float:
    """Return the shape error of matches drawn evenly over the log contrast range."""
    low, high = np.log10(grid[[0, -1]])
    n = matched.shape[1]
    variances = (high - low) ** 2 / 12 * (n - 1) / n + np.log10(matched[rows]).var(axis=1)
    return float(np.sqrt(variances.mean()))


class _Definition(NamedTuple):
    """How an error is computed, what it is for matches at random, and at most.

    The latter two are functions of the tested contrasts and the human matches.
    """

    error: _Error
    chance: Callable[[NDArray[np.float64], NDArray[np.float64]], float]
    most: Callable[[NDArray[np.float64], NDArray[np.float64]], float]


class _Error(Protocol):
    """Error over references and frequencies (last two axes), with weights [..., frequencies].

    Matches that are missing do not count.
    """

    def __call__(
        self, errors: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return one error for each set of weights."""
        ...


def _mean_of_roots(
    errors: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    squares, there = _squares(errors)
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(squares.sum(axis=-2) / there.sum(axis=-2))
    any_there = there.any(axis=-2)
    weights = weights * any_there
    result: NDArray[np.float64] = _divided(
        (weights * np.where(any_there, roots, 0.0)).sum(-1), weights.sum(-1)
    )
    return result


def _root_of_mean(errors: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    squares, there = _squares(errors)
    total = (weights * squares.sum(axis=-2)).sum(-1)
    return np.sqrt(_divided(total, (weights * there.sum(axis=-2)).sum(-1)))


def _shape(
    errors: NDArray[np.float64], weights: NDArray[np.float64], rows: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the error of the chosen curves after the mean error of each is taken off."""
    chosen = errors[..., rows, :]
    there = np.isfinite(chosen)
    weight = weights[..., None, :] * there
    mean = _divided((weight * np.where(there, chosen, 0.0)).sum(-1), weight.sum(-1))
    squares = np.where(there, np.square(chosen - mean[..., None]), 0.0)
    return np.sqrt(_divided((weight * squares).sum(axis=(-2, -1)), weight.sum(axis=(-2, -1))))


def _squares(errors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    there = np.isfinite(errors)
    return np.where(there, np.square(errors), 0.0), there


def _divided(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means, NaN where there is nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means: NDArray[np.float64] = np.asarray(sums / counts)
    return means

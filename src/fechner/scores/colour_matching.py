"""Errors of matching across colour directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fechner.psychometrics import find_crossing
from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import cluster_counts, interval, normal_errors, spread
from fechner.scores.notes import (
    SAME_ANSWERS,
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

    from fechner.experiments import ColourMatching

_error = partial(Score, higher_is_better=False, best=0.0, resampled="contrasts")

#: Pairs of directions whose responses are compared, by their place: all three as in the published
#: numbers, and the two of the printed equation.
_PAIRS = {
    "colour-matching-error": ((0, 1), (1, 2), (2, 0)),
    "colour-matching-error-printed": ((0, 1), (1, 2)),
}

#: Simulated human ratios.
_HUMAN_DRAWS = 400


@dataclass(frozen=True)
class ColourMatchingError:
    """How far an observer's matches across colour directions lie from those of people.

    ``colour-matching-error-db`` is the root mean square error, in dB (20 log10), of the chromatic
    contrasts to which the observer responds as to the achromatic one. It stays the same if a metric
    is put through a monotone function. ``colour-matching-error`` (Hammou et al. 2025, eq. S10) does
    not: it is the root mean square difference between responses to gratings that people match, over
    the range of responses, with three differences as in the published numbers;
    ``colour-matching-error-printed`` has the two differences of the printed equation.

    Parameters
    ----------
    human_error_db
        Standard deviation of the human matches, 20 log10; gives the second interval. For errors of
        responses, through the observer's own slope of response over contrast.
    main
        Which of the errors comes first.
    """

    human_error_db: float
    main: Literal["colour-matching-error", "colour-matching-error-db"] = "colour-matching-error-db"

    def __call__(self, data: xr.Dataset, *others: Any) -> Sequence[Score]:
        """Score every layer and read-out."""
        return [
            each.score
            for layer, readout, part in outputs(data)
            for each in self._scores(part, layer, readout)
        ]

    def resample(self, data: xr.Dataset) -> Resampled:
        """Return the error of one layer and read-out with its bootstrap over contrasts."""
        return self._scores(data, str(data["layer"].values), str(data["readout"].values))[0]

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the contrasts that both were shown."""
        kept = [part.isel(contrast=part["dropped"].values == 0) for part in (first, second)]
        return in_common(kept[0], kept[1], contrast="contrast")

    def printed(self, value: float, experiment: ColourMatching) -> Score:
        """Return an error of which only the value is known."""
        nothing = float("nan")
        if self.main in _PAIRS:
            chance = _chance(self.main)
        else:
            sought = np.stack(list(experiment.sought_amplitudes().values()))
            chance = _chance_db(*_range_db(sought, experiment.matched_amplitudes()[:, 1:]))
        return _error(self.main, value, nothing, nothing, chance=chance, n=0)

    def _scores(self, data: xr.Dataset, layer: str, readout: str) -> list[Resampled]:
        shown = data.isel(contrast=data["dropped"].values == 0)
        contrasts = shown["contrast"].values
        n = len(contrasts)
        why = ""
        if not n:
            why = "not computable: nothing could be shown"
        elif is_undefined(shown):
            why = UNDEFINED
        elif np.ptp(shown["response"].values) == 0:
            why = SAME_ANSWERS
        scores = []
        for error in self._errors(shown):
            value, resamples, human = math.nan, np.empty(0), np.array([math.nan])
            if not why:
                value = float(error.of(error.values, np.ones(n)))
                resamples = error.of(error.values, cluster_counts(n))
                human = error.of(error.moved(error.values), np.ones(n))
            low, high = interval(value, resamples, n, "error", most=error.most)
            human_low, human_high = spread(human)
            score = _error(
                error.name,
                value,
                low,
                high,
                chance=error.chance,
                n=error.values.size,
                human_low=human_low,
                human_high=human_high,
                layer=layer,
                readout=readout,
                note=join_notes(left_out(data["dropped"]), why or error.note),
            )
            scores.append(Resampled(score, resamples, contrasts, "error", error.most))
        return sorted(scores, key=lambda each: each.score.name != self.main)

    def _errors(self, data: xr.Dataset) -> Iterator[_Error]:
        """Yield the errors that can be computed from what was measured."""
        if "sought_response" in data:
            yield self._in_db(data)
        responses, contrasts = data["response"].values, data["contrast"].values

        def moved(values: NDArray[np.float64]) -> NDArray[np.float64]:
            if len(values) < 2:
                return np.full((1, *values.shape), np.nan)
            slopes = np.gradient(values, np.log10(contrasts), axis=0)
            return np.asarray(values + slopes * self._human_errors(3) / 20)

        for name, pairs in _PAIRS.items():
            most = math.sqrt(2)  # two of the three at one end of the range, one at the other
            yield _Error(name, partial(_rmse, pairs=pairs), responses, moved, most, _chance(name))

    def _in_db(self, data: xr.Dataset) -> _Error:
        found, candidates = colour_matches(data)
        human = data["human_matched"].values
        errors = 20 * np.log10(found / human)
        low, high = _range_db(data["sought_amplitude"].values, human)
        return _Error(
            "colour-matching-error-db",
            _root_mean_square,
            errors,
            lambda values: values + self._human_errors(values.shape[1]),
            float(np.sqrt(np.square(np.maximum(-low, high)).mean())) if human.size else math.inf,
            _chance_db(low, high),
            count_matches(candidates),
        )

    def _human_errors(self, directions: int) -> NDArray[np.float64]:
        """Return errors of the human ratios in dB: one for all contrasts of a direction."""
        return normal_errors((_HUMAN_DRAWS, 1, directions)) * self.human_error_db


class _Error(NamedTuple):
    """One way to measure the error.

    Parameters
    ----------
    of
        The error of values [..., contrasts, directions], with weights [..., contrasts].
    moved
        Values as they were if the human ratios were off by their error, [draws, ...].
    most
        The largest error there can be.
    """

    name: str
    of: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    values: NDArray[np.float64]
    moved: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    most: float
    chance: float
    note: str = ""


def colour_matches(data: xr.Dataset) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return matched contrasts [contrast, chromatic direction], and how many candidates each had.

    A match is the contrast to which the response is that to the achromatic grating. Where there is
    none, it is the end of the range.
    """
    criteria = data["response"].values[:, 0]
    human = data["human_matched"].values
    grids, responses = data["sought_amplitude"].values, data["sought_response"].values
    found, candidates = np.empty(human.shape), np.zeros(human.shape, dtype=np.intp)
    for i, j in np.ndindex(*human.shape):
        found[i, j], candidates[i, j] = find_crossing(
            grids[j], responses[j], float(criteria[i]), near=float(human[i, j])
        )
    return found, candidates


def _range_db(
    sought: NDArray[np.float64], human: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and highest error that a match can have, [contrast, direction]."""
    low, high = (20 * np.log10(sought[:, end] / human) for end in (0, -1))
    return low, high


def _chance_db(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    """Return the error of matches drawn evenly over the log contrast range."""
    squares = (high**2 + high * low + low**2) / 3  # the mean square of what is uniform
    return float(np.sqrt(squares.mean())) if squares.size else math.nan


def _root_mean_square(
    errors: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    squares = np.square(errors).mean(axis=-1)
    mean: NDArray[np.float64] = np.sqrt((weights * squares).sum(-1) / weights.sum(-1))
    return mean


def _rmse(
    responses: NDArray[np.float64],
    weights: NDArray[np.float64],
    pairs: Sequence[tuple[int, int]],
) -> NDArray[np.float64]:
    """Return the error with weights of contrasts, over the range of all responses."""
    squares = sum(np.square(responses[..., a] - responses[..., b]) for a, b in pairs)
    span = responses.max(axis=(-2, -1)) - responses.min(axis=(-2, -1))
    mean = (weights * squares).sum(-1) / weights.sum(-1)
    error: NDArray[np.float64] = np.sqrt(mean) / np.where(span > 0, span, np.nan)
    return error


def _chance(name: str) -> float:
    """Return the error of responses drawn evenly: two of them differ by 1/6 in the square."""
    return math.sqrt(len(_PAIRS[name]) / 6)

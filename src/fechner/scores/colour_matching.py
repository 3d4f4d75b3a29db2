"""Error of matching across colour directions (Hammou et al. 2025, eq. S10)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.scores.alignment import outputs
from fechner.scores.bootstrap import cluster_counts, interval, normal_errors, spread
from fechner.scores.notes import join_notes, left_out
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


@dataclass(frozen=True)
class ColourMatchingError:
    """Root mean square difference between responses to matched directions, over their range.

    ``colour-matching-error`` sums the squares of the three differences, as the published numbers
    do; ``colour-matching-error-printed`` the two of the printed equation S10.

    Parameters
    ----------
    human_error_db
        Standard deviation of the human matches, 20 log10; gives the second interval, through the
        observer's own slope of response over contrast.
    """

    human_error_db: float

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
        name = next(iter(_PAIRS))
        return _error(name, value, nothing, nothing, chance=_chance(name), n=0)

    def _scores(self, data: xr.Dataset, layer: str, readout: str) -> list[Resampled]:
        shown = data["dropped"].values == 0
        responses = data["response"].values[shown]
        contrasts = data["contrast"].values[shown]
        note = left_out(data["dropped"])
        n = len(responses)
        if not n:
            note = join_notes(note, "not computable: nothing could be shown")
            responses, contrasts, n = np.full((1, 3), np.nan), np.full(1, np.nan), 1
        elif np.ptp(responses) == 0:
            note = join_notes(
                note, "not computable: the observer answered the same to every stimulus"
            )
        every = np.ones(n)
        moved = self._moved(responses, contrasts)
        scores = []
        for name in _PAIRS:
            value = float(_rmse(responses, every, name))
            resamples = _rmse(responses, cluster_counts(n), name)
            low, high = interval(value, resamples, n, "error")
            human_low, human_high = spread(_rmse(moved, every, name))
            score = _error(
                name,
                value,
                low,
                high,
                chance=_chance(name),
                n=int(np.isfinite(responses).sum()),
                human_low=human_low,
                human_high=human_high,
                layer=layer,
                readout=readout,
                note=note,
            )
            scores.append(Resampled(score, resamples, contrasts, "error"))
        return scores

    def _moved(
        self, responses: NDArray[np.float64], contrasts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return responses as they were if the human ratios were off by their error."""
        if len(responses) < 2:
            return np.full((1, *responses.shape), np.nan)
        slopes = np.gradient(responses, np.log10(contrasts), axis=0)
        errors = normal_errors((_HUMAN_DRAWS, 1, responses.shape[1])) * (self.human_error_db / 20)
        moved: NDArray[np.float64] = responses + slopes * errors
        return moved


#: Simulated human ratios.
_HUMAN_DRAWS = 400


def _rmse(
    responses: NDArray[np.float64], weights: NDArray[np.float64], name: str
) -> NDArray[np.float64]:
    """Return the error with weights of contrasts, over the range of all responses."""
    squares = sum(np.square(responses[..., a] - responses[..., b]) for a, b in _PAIRS[name])
    span = responses.max(axis=(-2, -1)) - responses.min(axis=(-2, -1))
    mean = (weights * squares).sum(-1) / weights.sum(-1)
    error: NDArray[np.float64] = np.sqrt(mean) / np.where(span > 0, span, np.nan)
    return error


def _chance(name: str) -> float:
    """Return the error of responses drawn evenly: two of them differ by 1/6 in the square."""
    return math.sqrt(len(_PAIRS[name]) / 6)

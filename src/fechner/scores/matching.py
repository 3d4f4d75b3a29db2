"""Matching errors: how far matched contrasts lie from those that people set.

Across spatial frequencies, and across colour directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Flags, Floats, xr
from fechner.scores import notes
from fechner.scores.panels import Axis, Line, Panel, spans_decades
from fechner.scores.score import Resampled, Score, Scorer, unmeasured
from fechner.scores.statistics import cluster_counts, normal_errors, spread
from fechner.stimuli.colour import DIRECTION_NAMES
from fechner.stimuli.patterns import in_words

if TYPE_CHECKING:
    from fechner.experiments import ColourMatching, FrequencyMatching

    #: The error of values, with weights of clusters, [..., clusters]: one for each set of weights.
    Of = Callable[[Floats, Floats], Floats]

#: Simulated human ratios of colour directions.
_HUMAN_DRAWS = 400


class _Error(NamedTuple):
    """One way to measure the error of matches, of values, and of these if people had erred.

    With the error of matches at random, and the largest there can be.
    """

    name: str
    of: Of
    values: Floats
    moved: Callable[[], Floats]
    chance: float
    most: float
    note: str = ""

    def score(self, over: str, places: Floats, n: int, missing: str, why: str) -> Resampled:
        """Return it with its bootstrap over places, and what the error of people adds."""
        once, note = np.ones(len(places)), notes.join(missing, why or self.note)
        value, resamples, human = np.nan, np.empty(0), np.array([np.nan])
        if not why:
            value = float(self.of(self.values, once))
            resamples = self.of(self.values, cluster_counts(len(places)))
            human = self.of(self.moved(), once)
        low, high = spread(human)
        score = unmeasured(self.name, over, False, 0.0, self.chance).with_value(
            value, n=n, note=note
        )
        score = replace(score, human_low=low, human_high=high)
        return Resampled(score, resamples, places, "error", self.most).with_interval()


@dataclass(frozen=True)
class MatchingError(Scorer):
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

    along: ClassVar = {"frequency": "frequency", "reference": "reference"}

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Resampled]:
        """Yield the errors of one layer and read-out, with their bootstrap over frequencies."""
        missing = notes.join(
            notes.left_out(data["dropped"]), notes.left_out(data["dropped_reference"], "references")
        )
        data = _shown(data)
        found, candidates = matches(data)
        human = data["human_matched"].values
        answers = "difference" if "difference" in data else "response"
        direct = "matched by direct comparison" if answers == "difference" else ""
        if self.gaps:
            found = np.where(candidates == 0, np.nan, found)
        errors = np.log10(found) - np.log10(human)
        why = notes.TOO_FEW if np.isnan(found).all() and missing else _why(data, answers)
        n = 0 if why else int(np.isfinite(errors).sum())
        note = notes.join(direct, _count_matches(candidates, self.gaps))

        def moved() -> Floats:
            noise = normal_errors((len(cluster_counts(errors.shape[1])), *errors.shape))
            return np.asarray(errors + noise * (self.human_error_db / 20))

        known = _definitions(data["contrast"].values, data["reference"].values, human)
        for name, (of, chance, most) in {self.main: known[self.main], **known}.items():
            error = _Error(name, of, errors, moved, chance, most, note)
            yield error.score("frequencies", data["frequency"].values, n, missing, why)

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the frequencies and reference contrasts at which both made matches."""
        return super().shared(_shown(first), _shown(second))

    def printed(self, value: float, experiment: FrequencyMatching) -> Score:
        """Return an error of which only the value is known."""
        _, references, human = experiment.human_matches()
        known = _definitions(np.array(experiment.contrasts), references, human)
        _, chance, _ = known[self.main]
        return unmeasured(self.main, "frequencies", False, 0.0, chance).with_value(value)


def matches(data: xr.Dataset, of: str = "") -> tuple[Floats, NDArray[np.intp]]:
    """Return matched contrasts [reference, frequency] and the number of candidates of each.

    Of the contrasts that could be shown; NaN where none could, or the reference could not. Names
    of frequencies and answers begin with nothing, or with ``curve_`` for figures.
    """
    from fechner.psychometrics import find_crossing, find_least

    grid, references = data["contrast"].values, data["reference"].values
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
    for i, j in np.ndindex(*shape):
        there = np.isfinite(responses[j])
        if np.isfinite(criteria[i]) and there.any():
            found[i, j], counts[i, j] = find_crossing(
                grid[there], responses[j][there], float(criteria[i]), near=float(references[i])
            )
    return found, counts


def _shown(data: xr.Dataset) -> xr.Dataset:
    """Leave what could be shown; the answers themselves if that is everything or nothing."""
    tests, references = data["dropped"].values == 0, data["dropped_reference"].values == 0
    kept = {"frequency": tests.any(axis=1), "contrast": tests.any(axis=0), "reference": references}
    if not all(each.any() for each in kept.values()) or all(each.all() for each in kept.values()):
        return data
    return data.isel(kept)


def _contrasts(data: xr.Dataset) -> xr.Dataset:
    """Leave the contrasts that could be shown in all directions."""
    return data.isel(contrast=data["dropped"].values == 0)


def _why(data: xr.Dataset, answers: str = "response") -> str:
    """Say why answers to stimuli that were shown tell nothing; empty where they do."""
    if bool((data[answers].isnull() & (data["dropped"] == 0)).any()):
        return notes.UNDEFINED
    return notes.SAME_ANSWERS if np.nanmin(data[answers]) == np.nanmax(data[answers]) else ""


def _count_matches(candidates: NDArray[np.intp], gaps: bool = False) -> str:
    """Say how many matches had no candidate or several; those without may be left out."""
    beyond, several = (candidates == 0).sum(), (candidates > 1).sum()
    what = "left out" if gaps else "taken as the end of it"
    return notes.join(
        f"{beyond} of {candidates.size} matches out of range, {what}" if beyond else "",
        f"{several} of {candidates.size} matches ambiguous" if several else "",
    )


def _definitions(
    grid: Floats, references: Floats, human: Floats
) -> dict[str, tuple[Of, float, float]]:
    """Return the errors by name, each with that of matches at random, and the largest."""
    low, high = np.log10(grid[[0, -1]])
    at = np.log10(human)
    once = np.ones(human.shape[1])
    # Matches drawn evenly over the log contrast range, and at the end of it that is farther away.
    random = np.sqrt(((high - at) ** 3 - (low - at) ** 3) / (3 * (high - low)))
    farthest = np.maximum(at - low, high - at)
    whole = {"matching-error": _mean_of_roots, "matching-error-pooled": _root_of_mean}
    found: dict[str, tuple[Of, float, float]] = {
        name: (of, float(of(random, once)), float(of(farthest, once))) for name, of in whole.items()
    }
    is_low = references <= np.median(references)
    for name, rows in (("low", is_low), ("high", ~is_low)):
        of_random = (high - low) ** 2 / 12 * (len(once) - 1) / len(once)
        variances = of_random + at[rows].var(axis=1)
        spans = high - low + np.ptp(at[rows], axis=1)  # errors cannot be farther apart
        found[f"shape-error-{name}-contrast"] = (
            partial(_shape, rows=rows),
            float(np.sqrt(variances.mean())),
            float(np.sqrt(np.square(spans / 2).mean())),
        )
    return found


# Errors [..., references, frequencies] with weights [..., frequencies]; missing ones do not count.


def _mean_of_roots(errors: Floats, weights: Floats) -> Floats:
    there = np.isfinite(errors).sum(axis=-2)
    roots = np.sqrt(_divided(np.nansum(errors**2, axis=-2), there))
    weights = weights * (there > 0)
    return _divided((weights * np.nan_to_num(roots)).sum(-1), weights.sum(-1))


def _root_of_mean(errors: Floats, weights: Floats) -> Floats:
    total = (weights * np.nansum(errors**2, axis=-2)).sum(-1)
    return np.sqrt(_divided(total, (weights * np.isfinite(errors).sum(axis=-2)).sum(-1)))


def _shape(errors: Floats, weights: Floats, rows: Flags) -> Floats:
    """Return the error of the chosen curves after the mean error of each is taken off."""
    chosen = errors[..., rows, :]
    there = np.isfinite(chosen)
    weight = weights[..., None, :] * there
    mean = _divided((weight * np.where(there, chosen, 0.0)).sum(-1), weight.sum(-1))
    squares = np.where(there, np.square(chosen - mean[..., None]), 0.0)
    return np.sqrt(_divided((weight * squares).sum(axis=(-2, -1)), weight.sum(axis=(-2, -1))))


def _divided(sums: Floats, counts: Any) -> Floats:
    """Return means, NaN where there is nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / counts)


def matching_panels(
    experiment: FrequencyMatching, data: xr.Dataset, gaps: bool = False
) -> list[Panel]:
    """Return one panel: a colour per reference contrast, people dashed, the observer solid.

    Curves that were measured for figures join the matches that are scored, which are marked. Lines
    may have gaps where nothing in the tested range matches, as the scorer may have it; otherwise
    the match is the end of the range.
    """
    tested, human = data["frequency"].values, data["human_matched"].values
    found, candidates = matches(data)
    frequencies, scored = tested, np.ones(len(tested), bool)
    if "curve_frequency" in data:
        between, more = matches(data, of="curve_")
        answers = data["curve_difference" if "difference" in data else "curve_response"]
        # There is a gap at frequencies of figures that pixels cannot hold.
        shown = answers.notnull().any([dim for dim in answers.dims if dim != "curve_frequency"])
        frequencies = np.concatenate([tested, data["curve_frequency"].values])
        order = frequencies.argsort()
        frequencies, scored = frequencies[order], order < len(tested)
        found = np.concatenate([found, np.where(shown, between, np.nan)], axis=1)[:, order]
        candidates = np.concatenate([candidates, more], axis=1)[:, order]
    lines: list[Line] = []
    for number, contrast in enumerate(data["reference"].values):
        name = f"{contrast:.3g}"
        beyond = candidates[number] == 0
        matched = np.where(beyond, np.nan, found[number]) if gaps else found[number]
        doubtful = None if gaps else beyond & scored
        marked = None if scored.all() else scored
        lines.append(Line(tested, human[number], name, number, human=True))
        lines.append(Line(frequencies, matched, name, number, doubtful=doubtful, marked=marked))
    title = f"Contrast that matches {in_words(experiment.pattern)}"
    x = Axis(experiment.axes[0], log=True)
    y = Axis(f"matched contrast ({experiment.unit_name})", log=True)
    groups = "contrast of the reference"
    return [Panel("matches", title, x, y, tuple(lines), groups=groups, ordered=True)]


#: Pairs of directions whose responses are compared, by their place: all three as in the published
#: numbers, and the two of the printed equation.
_PAIRS = {
    "colour-matching-error": ((0, 1), (1, 2), (2, 0)),
    "colour-matching-error-printed": ((0, 1), (1, 2)),
}


@dataclass(frozen=True)
class ColourMatchingError(Scorer):
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

    along: ClassVar = {"contrast": "contrast"}

    def scores(self, data: xr.Dataset, *others: Any) -> Iterator[Resampled]:
        """Yield the errors of one layer and read-out, with their bootstrap over contrasts."""
        missing, data = notes.left_out(data["dropped"]), _contrasts(data)
        contrasts = data["contrast"].values
        why = _why(data) if len(contrasts) else notes.NOTHING_SHOWN
        for error in sorted(self._errors(data), key=lambda error: error.name != self.main):
            yield error.score("contrasts", contrasts, error.values.size, missing, why)

    def shared(self, first: xr.Dataset, second: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
        """Leave the contrasts that both were shown."""
        return super().shared(*(_contrasts(part) for part in (first, second)))

    def printed(self, value: float, experiment: ColourMatching) -> Score:
        """Return an error of which only the value is known."""
        if self.main in _PAIRS:
            chance = math.sqrt(len(_PAIRS[self.main]) / 6)
        else:
            sought = np.stack(list(experiment.sought_amplitudes().values()))
            chance = _chance_db(*_range_db(sought, experiment.matched_amplitudes()[:, 1:]))
        return unmeasured(self.main, "contrasts", False, 0.0, chance).with_value(value)

    def _errors(self, data: xr.Dataset) -> Iterator[_Error]:
        """Yield the errors that can be computed from what was measured."""
        if "sought_response" in data:
            yield self._in_db(data)
        responses, contrasts = data["response"].values, data["contrast"].values

        def moved() -> Floats:
            if len(responses) < 2:
                return np.full((1, *responses.shape), np.nan)
            slopes = np.gradient(responses, np.log10(contrasts), axis=0)
            return np.asarray(responses + slopes * self._human_errors(3) / 20)

        for name, pairs in _PAIRS.items():
            # Two responses drawn evenly differ by 1/6 in the square; at most, two of the three are
            # at one end of the range and one at the other.
            chance, most = math.sqrt(len(pairs) / 6), math.sqrt(2)
            of = partial(_rmse, pairs=pairs)
            yield _Error(name, of, responses, moved, chance, most)

    def _in_db(self, data: xr.Dataset) -> _Error:
        found, candidates = colour_matches(data)
        human = data["human_matched"].values
        errors = 20 * np.log10(found / human)
        low, high = _range_db(data["sought_amplitude"].values, human)
        most = float(np.sqrt(np.square(np.maximum(-low, high)).mean())) if human.size else math.inf

        def moved() -> Floats:
            return np.asarray(errors + self._human_errors(errors.shape[1]))

        name, note = "colour-matching-error-db", _count_matches(candidates)
        chance = _chance_db(low, high)
        return _Error(name, _root_mean_square, errors, moved, chance, most, note)

    def _human_errors(self, directions: int) -> Floats:
        """Return errors of the human ratios in dB: one for all contrasts of a direction."""
        return normal_errors((_HUMAN_DRAWS, 1, directions)) * self.human_error_db


def colour_matches(data: xr.Dataset) -> tuple[Floats, NDArray[np.intp]]:
    """Return matched contrasts [contrast, chromatic direction], and how many candidates each had.

    A match is the contrast to which the response is that to the achromatic grating. Where there is
    none, it is the end of the range.
    """
    from fechner.psychometrics import find_crossing

    criteria = data["response"].values[:, 0]
    human = data["human_matched"].values
    grids, responses = data["sought_amplitude"].values, data["sought_response"].values
    found, candidates = np.empty(human.shape), np.zeros(human.shape, dtype=np.intp)
    for i, j in np.ndindex(*human.shape):
        found[i, j], candidates[i, j] = find_crossing(
            grids[j], responses[j], float(criteria[i]), near=float(human[i, j])
        )
    return found, candidates


def _range_db(sought: Floats, human: Floats) -> tuple[Floats, Floats]:
    """Return the lowest and highest error that a match can have, [contrast, direction]."""
    low, high = (20 * np.log10(sought[:, end] / human) for end in (0, -1))
    return low, high


def _chance_db(low: Floats, high: Floats) -> float:
    """Return the error of matches drawn evenly over the log contrast range."""
    squares = (high**2 + high * low + low**2) / 3  # the mean square of what is uniform
    return float(np.sqrt(squares.mean())) if squares.size else np.nan


# Of values [..., contrasts, directions] with weights [..., contrasts].


def _root_mean_square(errors: Floats, weights: Floats) -> Floats:
    squares = np.square(errors).mean(axis=-1)
    return np.asarray(np.sqrt((weights * squares).sum(-1) / weights.sum(-1)))


def _rmse(responses: Floats, weights: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Return the error over the range of all responses."""
    squares = sum(np.square(responses[..., a] - responses[..., b]) for a, b in pairs)
    span = responses.max(axis=(-2, -1)) - responses.min(axis=(-2, -1))
    mean = (weights * squares).sum(-1) / weights.sum(-1)
    return np.asarray(np.sqrt(mean) / np.where(span > 0, span, np.nan))


def colour_matching_panels(experiment: ColourMatching, data: xr.Dataset) -> list[Panel]:
    """Return matches where they were sought, and responses to gratings that people match."""
    directions = [str(name) for name in data["direction"].values]
    places = np.arange(len(directions), dtype=np.float64)
    responses = data["response"].values
    known = responses[np.isfinite(responses)]
    lines: list[Line] = []
    for number, contrast in enumerate(data["contrast"].values):
        name, level = f"{contrast:.3g}", np.full(len(places), responses[number].mean())
        lines.append(Line(places, level, name, number, human=True))
        lines.append(Line(places, responses[number], name, number))
    title = "Response to contrasts that people match across colour directions"
    x = Axis("", ticks=tuple(DIRECTION_NAMES[name] for name in directions))
    y = Axis("response", log=spans_decades(known) and bool((known > 0).all()))
    groups = "achromatic contrast"
    panel = Panel("directions", title, x, y, tuple(lines), groups=groups, ordered=True)
    return [*([_matches_panel(data)] if "sought_response" in data else []), panel]


def _matches_panel(data: xr.Dataset) -> Panel:
    """Return the contrasts that match an achromatic one, a colour per direction, people dashed."""
    shown = _contrasts(data)
    found, candidates = colour_matches(shown)
    contrasts, human = shown["contrast"].values, shown["human_matched"].values
    lines: list[Line] = []
    for number, direction in enumerate(shown["chromatic"].values):
        name = DIRECTION_NAMES[str(direction)]
        beyond = candidates[:, number] == 0
        lines.append(Line(contrasts, human[:, number], name, number, human=True))
        lines.append(Line(contrasts, found[:, number], name, number, doubtful=beyond))
    title = "Chromatic contrast that matches an achromatic one"
    x = Axis("achromatic contrast (Michelson)", log=True)
    y = Axis("matched contrast (DKL amplitude)", log=True)
    return Panel("matches", title, x, y, tuple(lines), groups="colour direction")

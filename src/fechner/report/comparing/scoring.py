"""The scores of observers that are to be compared, at one layer by one read-out each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fechner.arrays import xr
from fechner.errors import FechnerError
from fechner.references import reference
from fechner.report.contenders import Contender, Entrant, Printed, choose_place
from fechner.report.tables import p_value
from fechner.runs.progress import followed
from fechner.scores import Score
from fechner.scores.comparisons import LEVEL, NAMES, Correction
from fechner.scores.score import Resampled
from fechner.suites import PRESETS, Test, suite
from fechner.suites.base import not_asked
from fechner.suites.published import printed_score


@dataclass(frozen=True)
class ScoredObserver:
    """An observer at one layer by one read-out, with its main scores by test.

    Printed scores have no tests, answers and scores on bootstrap samples. ``asked`` is what it was
    asked in words, ``not_asked`` lines about tests that need what it lacks.
    """

    label: str
    family: str
    suite: str
    best: str
    asked: str
    scores: Mapping[str, Score]
    tests: Mapping[str, Test] = field(default_factory=dict)
    answers: Mapping[str, xr.Dataset] = field(default_factory=dict)
    resampled: Mapping[str, Resampled] = field(default_factory=dict)
    not_asked: Sequence[str] = ()


def score_observers(
    every: Sequence[Entrant],
    tests: Sequence[str],
    layer: str | None = None,
    readout: str | None = None,
    progress: bool = False,
) -> tuple[list[ScoredObserver], list[str]]:
    """Score entrants at one layer by one read-out each; and say what cannot be, in one line each.

    By default these are the last layer measured and the suite's read-out, as in tables. Observers
    that have one layer or read-out only are compared by it, whatever is asked for.
    """
    problems: list[str] = []
    answers: dict[str, dict[str, xr.Dataset]] = {}
    layers: dict[str, list[str]] = {}
    readouts: dict[str, list[str]] = {}
    for each in every:
        if isinstance(each, Contender):
            own = [test for test in each.tests if test.id in tests]
            read = {test.id: each.read(test, problems, for_scores=True) for test in own}
            found = {name: data for name, data in read.items() if data is not None}
            answers[each.label] = found
            if found:
                # Tests that ask other abilities may have one place only. The default comes first.
                data = max(found.values(), key=lambda each: each.sizes["layer"])
                of_suite = each.run.suite.readouts
                names = [str(name) for name in data["readout"].values]
                layers[each.label] = [str(name) for name in data["layer"].values][::-1]
                readouts[each.label] = sorted(names, key=lambda name: name not in of_suite)
    if not layers and (layer, readout) != (None, None):
        raise FechnerError("printed scores have one place; leave --layer and --readout out.")
    at = choose_place("layer", layer, layers)
    by = choose_place("read-out", readout, readouts)
    scored = []
    for each in followed(every, "scoring", progress):
        if isinstance(each, Printed):
            scored.append(_printed(each, tests))
            continue
        label, place = each.label, ""
        if label in at:
            where = "" if at[label] == each.known.output else f" at {at[label]}"
            place = where + (f" by {by[label]}" if len(readouts[label]) > 1 else "")
        there = {name: _at(data, at[label], by[label]) for name, data in answers[label].items()}
        taken = {test.id: test for test in each.tests if test.id in there}
        resampled = {name: test.resample(there[name]) for name, test in taken.items()}
        scores = {name: found.score for name, found in resampled.items()}
        lacking = not_asked(label, [t for t in each.tests if t.id in tests], each.known.lacks)
        about = (each.family, each.run.suite.name, each.run.suite.best, each.asked)
        scored.append(
            ScoredObserver(label + place, *about, scores, taken, there, resampled, list(lacking))
        )
    return scored, problems


def _at(data: xr.Dataset, layer: str, readout: str) -> xr.Dataset:
    """Return answers at a place, or at the natural one of a test that does not have it."""
    layers, readouts = data["layer"].values, data["readout"].values
    return data.sel(
        layer=layer if layer in layers else layers[-1],
        readout=readout if readout in readouts else readouts[0],
    )


def _printed(each: Printed, tests: Sequence[str]) -> ScoredObserver:
    found = {test.id: printed_score(each.row, test) for test in each.tests if test.id in tests}
    of = PRESETS[each.table]
    asked = f"{of}, as printed by {reference(each.table).short}"
    scores = {name: score for name, score in found.items() if score}
    return ScoredObserver(each.label, each.row.family, of, suite(of).best, asked, scores)


# What tables of comparisons and of trends share

#: What stands where nothing is significant.
NOTHING = "·"


def goal_of(each_best: Iterable[str]) -> str:
    """Return what observers come close to: people, or what else is best in their suites.

    Examples
    --------
    >>> goal_of(["human", "human"]), goal_of(["human", "no error"])
    ('people', 'the best')
    """
    best = set(each_best)
    return "people" if best <= {"human"} else best.pop() if len(best) == 1 else "the best"


def p_name(correction: Correction) -> str:
    """Return what corrected p-values are called.

    Examples
    --------
    >>> p_name("holm"), p_name("none")
    ('p (Holm)', 'p')
    """
    return f"p ({NAMES[correction]})" if NAMES[correction] else "p"


def p_cells(p: float, corrected: float, correction: Correction) -> dict[str, str]:
    """Return the cells of p-values by their columns."""
    return {"p": p_value(p), p_name(correction): p_value(corrected)}


def correction_note(correction: Correction, tested: int, what: str) -> str:
    """Say how p-values were corrected, and what is significant.

    Examples
    --------
    >>> correction_note("holm", 27, "differences")
    'p (Holm) is corrected for the 27 differences tested; · stands where it is 0.05 or more.'
    """
    corrected = "corrected" if NAMES[correction] else "not corrected"
    return (
        f"{p_name(correction)} is {corrected} for the {tested} {what} tested; {NOTHING} "
        f"stands where it is {LEVEL:g} or more."
    )

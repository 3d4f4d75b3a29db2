"""Standings: how observers of runs and of published tables did, where they are to be compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fechner.errors import FechnerError
from fechner.references import reference
from fechner.report.contenders import Contender, Entrant, Printed, choose_place, groups
from fechner.report.tables import number
from fechner.runs.progress import followed
from fechner.scores import Score
from fechner.scores.comparisons import NAMES, Correction
from fechner.scores.score import Resampled
from fechner.suites import PRESETS, Test, suite
from fechner.suites.published import printed_score

if TYPE_CHECKING:
    import xarray as xr

#: What stands where nothing is significant.
NOTHING = "·"


@dataclass(frozen=True)
class Standing:
    """How an observer did at one layer by one read-out.

    Parameters
    ----------
    asked
        What it was asked, in words.
    scores
        Its main scores, by test.
    tests, answers, resampled
        The tests, what it answered, and its scores on bootstrap samples: empty for printed scores.
    not_asked
        Which tests need what it lacks, in a line for each reason.
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


def stand(
    every: Sequence[Entrant],
    tests: Sequence[str],
    layer: str | None = None,
    readout: str | None = None,
    progress: bool = False,
) -> tuple[list[Standing], list[str]]:
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
            found = answers[each.label] = each.answers(tests, problems)
            if found:
                # Tests that ask other abilities may have one place only. The default comes first.
                data = max(found.values(), key=lambda each: each.sizes["layer"])
                own = each.run.suite.readouts
                names = [str(name) for name in data["readout"].values]
                layers[each.label] = [str(name) for name in data["layer"].values][::-1]
                readouts[each.label] = sorted(names, key=lambda name: name not in own)
    if not layers and (layer, readout) != (None, None):
        raise FechnerError("printed scores have one place; leave --layer and --readout out.")
    at = choose_place("layer", layer, layers)
    by = choose_place("read-out", readout, readouts)
    standings = []
    for each in followed(every, "scoring") if progress else every:
        if isinstance(each, Printed):
            standings.append(_printed(each, tests))
            continue
        label, place, there = each.label, "", answers[each.label]
        if there:
            natural = each.run.manifest.observers[each.observer].output
            where = "" if at[label] == natural else f"at {at[label]}"
            how = f"by {by[label]}" if len(readouts[label]) > 1 else ""
            place = f"{where} {how}".strip()
            there = {name: _at(data, at[label], by[label]) for name, data in there.items()}
        standings.append(_measured(each, there, place, tests))
    return standings, problems


def _at(data: xr.Dataset, layer: str, readout: str) -> xr.Dataset:
    """Return answers at a place, or at the natural one of a test that does not have it."""
    layers, readouts = data["layer"].values, data["readout"].values
    return data.sel(
        layer=layer if layer in layers else layers[-1],
        readout=readout if readout in readouts else readouts[0],
    )


def _measured(
    each: Contender, answers: Mapping[str, xr.Dataset], place: str, tests: Sequence[str]
) -> Standing:
    own = {test.id: test for test in each.tests if test.id in answers}
    resampled = {name: test.resample(answers[name]) for name, test in own.items()}
    (group,) = groups([each.run])
    return Standing(
        f"{each.label} {place}".strip(),
        each.family,
        group.suite.name,
        group.suite.best,
        group.title,
        {name: found.score for name, found in resampled.items()},
        own,
        answers,
        resampled,
        each.not_asked(tests),
    )


def _printed(each: Printed, tests: Sequence[str]) -> Standing:
    found = {test.id: printed_score(each.row, test) for test in each.tests if test.id in tests}
    of = PRESETS[each.table]
    return Standing(
        each.label,
        each.row.family,
        of,
        suite(of).best,
        f"{of}, as printed by {reference(each.table).short}",
        {name: score for name, score in found.items() if score},
    )


# Words that tables of comparisons and of trends share


def goal_of(each_best: Iterable[str]) -> str:
    """Return what observers come close to: people, or what else is best in their suites.

    Examples
    --------
    >>> goal_of(["human", "human"]), goal_of(["human", "no error"])
    ('people', 'the best')
    """
    best = set(each_best)
    return "people" if best <= {"human"} else best.pop() if len(best) == 1 else "the best"


def signed(value: float) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(0.25), signed(-0.25), signed(-0.0001), signed(math.nan)
    ('+0.250', '−0.250', '0.000', 'n/a')
    """
    text = number(value)
    if not text.strip("-0."):
        return text.strip("-")
    return text if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def p_value(p: float) -> str:
    """Return a p-value as it is printed.

    Examples
    --------
    >>> p_value(0.0321), p_value(1e-5), p_value(1.0), p_value(math.nan)
    ('0.032', '<0.001', '1', 'n/a')
    """
    if math.isnan(p):
        return "n/a"
    if p < 0.001:
        return "<0.001"
    return "1" if p > 0.9995 else f"{p:.3f}"


def p_header(correction: Correction) -> list[str]:
    """Return the columns of p-values.

    Examples
    --------
    >>> p_header("holm"), p_header("none")
    (['p', 'p (Holm)'], ['p'])
    """
    return ["p", *([f"p ({NAMES[correction]})"] if NAMES[correction] else [])]


def p_values(p: float, corrected: float, correction: Correction) -> list[str]:
    """Return the cells of p-values."""
    return [p_value(p), *([p_value(corrected)] if NAMES[correction] else [])]


def correction_note(correction: Correction, tested: int, what: str) -> str:
    """Say how p-values were corrected.

    Parameters
    ----------
    what
        What was tested, in the plural.

    Examples
    --------
    >>> correction_note("holm", 27, "differences")
    'p (Holm) is corrected for the 27 differences tested.'
    """
    if tested == 0:
        return f"No {what} could be tested."
    if tested == 1:
        return f"Only one of the {what} could be tested, so there is nothing to correct for."
    if NAMES[correction]:
        return f"p ({NAMES[correction]}) is corrected for the {tested} {what} tested."
    return f"The p-values of {tested} {what} are not corrected for multiple comparisons."

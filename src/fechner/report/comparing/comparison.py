"""Comparing observers: differences test by test, and over all tests."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fechner.errors import FechnerError
from fechner.report.comparing.standings import (
    NOTHING,
    Standing,
    correction_note,
    goal_of,
    p_header,
    p_value,
    p_values,
    signed,
    stand,
)
from fechner.report.contenders import (
    Contender,
    Entrant,
    Source,
    choose,
    choose_tests,
    entrants,
    same_questions,
)
from fechner.report.tables import Summary, Table, interval, number
from fechner.scores import distance
from fechner.scores.comparisons import (
    LEVEL,
    Alike,
    Correction,
    Difference,
    MeanDifference,
    MeanDistance,
    alike,
    corrected,
    difference,
    mean_difference,
    mean_distance,
)
from fechner.suites import Test

#: More observers than this make more pairs than anyone reads.
MOST = 6

#: Names longer than this would make columns of numbers too wide.
_LONGEST = 20

_PRINTED = (
    "Printed scores have no answers behind them to resample, so with them there are distances over "
    "tests only, and no differences test by test."
)

#: Columns of the CSV.
_WHOSE = ("what", "first", "second", "suite", "test", "score", "higher_is_better")
_NUMBERS = ("first_value", "second_value", "value", "low", "high", "p", "corrected_p", "n")
COLUMNS = (*_WHOSE, *_NUMBERS, "closer", "note")


@dataclass(frozen=True)
class Finding:
    """The difference of two observers in a test.

    Parameters
    ----------
    corrected
        Its p-value, corrected for all that were tested.
    note
        What it was computed on, where that is not all they were asked, or why it was not.
    """

    test: str
    difference: Difference
    corrected: float
    note: str = ""

    @property
    def significant(self) -> int:
        """Who is significantly closer to people: 1 the first, -1 the second, 0 neither."""
        return self.difference.favours if self.corrected < LEVEL else 0


@dataclass(frozen=True)
class Pair:
    """Two observers.

    Parameters
    ----------
    findings
        Test by test, where the answers of both are there.
    alike
        Whether their distances from people come from one distribution over tests.
    alike_corrected
        The p-value of that, corrected for all pairs.
    mean
        The difference of their mean distances, paired test by test.
    """

    first: Standing
    second: Standing
    findings: tuple[Finding, ...]
    alike: Alike
    alike_corrected: float
    mean: MeanDifference

    def tests(self, who: int) -> list[str]:
        """Return the tests in which one is significantly closer to people, or neither."""
        return [each.test for each in self.findings if each.significant == who]


@dataclass(frozen=True)
class Comparison:
    """All pairs, everyone's mean distance from people, and what a reader must know.

    Parameters
    ----------
    warnings
        What must be known before anything is read.
    problems
        What could not be scored, in one line each.
    """

    pairs: tuple[Pair, ...]
    distances: tuple[tuple[Standing, MeanDistance], ...]
    correction: Correction
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        return summarise_comparison(self).write()

    @property
    def tested(self) -> int:
        """How many differences were tested."""
        every = (each for pair in self.pairs for each in pair.findings)
        return sum(each.corrected == each.corrected for each in every)


def choose_entrants(
    sources: Sequence[Source], observers: Sequence[str] | None, baseline: str | None
) -> tuple[list[Entrant], Entrant | None]:
    """Return who is compared, and with whom if not with one another."""
    every = entrants(sources)
    chosen = choose(every, observers) if observers is not None else list(every)
    against = None
    if baseline is not None:
        same = choose(every, [baseline])
        if len(same) > 1:
            labels = " or ".join(f"'{each.label}'" for each in same)
            raise FechnerError(f"several observers are named '{baseline}': say {labels}.")
        (against,) = same
        chosen += [each for each in same if each not in chosen]
    if len(chosen) < 2:
        there = f"only '{chosen[0].label}' is" if chosen else "no observer is"
        raise FechnerError(f"{there} there; comparing takes two observers, or two runs of one.")
    if against is None and len(chosen) > MOST:
        pairs = len(chosen) * (len(chosen) - 1) // 2
        raise FechnerError(
            f"{len(chosen)} observers make {pairs} pairs; name one to compare the others with by "
            f"--baseline, or up to {MOST} by --observers."
        )
    return chosen, against


def compare(
    *sources: Source,
    baseline: str | None = None,
    observers: Sequence[str] | None = None,
    tests: Sequence[str] | None = None,
    correction: Correction = "holm",
    layer: str | None = None,
    readout: str | None = None,
    progress: bool = False,
) -> Comparison:
    """Compare observers of runs, and of published tables as far as that goes.

    Printed, the result is a table of differences with their intervals.

    Parameters
    ----------
    sources
        Runs, their folders, or published tables such as ``"@cai2025"``.
    baseline
        Whom all others are compared with; all pairs if None.
    observers, tests
        Which to compare; all if None.
    correction
        How p-values are corrected, over all tests of all pairs.
    layer, readout
        Where observers are read out, and how; by default as in tables.
    progress
        Whether to show a progress bar on stderr.

    Examples
    --------
    >>> import fechner
    >>> run = fechner.evaluate("pixels", "standard-observer", tests="area", scores_only=True,
    ...                        progress=False)
    >>> found = fechner.compare(run, baseline="pixels")
    >>> [pair.first.label for pair in found.pairs]
    ['standard-observer']
    """
    chosen, against = choose_entrants(sources, observers, baseline)
    standings, problems = stand(chosen, choose_tests(chosen, tests), layer, readout, progress)
    by_entrant = dict(zip([each.label for each in chosen], standings, strict=True))
    if against is None:
        both = list(itertools.combinations(standings, 2))
    else:
        base = by_entrant[against.label]
        both = [(each, base) for each in standings if each is not base]
    pairs = _corrected([_pair(*each) for each in both], correction)
    not_asked = [line for each in standings for line in each.not_asked]
    if not any(_together(pair.first, pair.second) for pair in pairs):
        reasons = [*problems, *not_asked]
        why = f": {reasons[0]}" if reasons else ", or have not finished any"
        raise FechnerError(f"these observers have no test in common{why.rstrip('.')}.")
    distances = tuple((each, mean_distance(list(each.scores.values()))) for each in standings)
    if observers is None:
        runs = {each.run.folder: each.run for each in chosen if isinstance(each, Contender)}
        problems = [*(line for run in runs.values() for line in run.left_out), *problems]
    notes = [*not_asked, *([] if all(each.tests for each in standings) else [_PRINTED])]
    return Comparison(
        tuple(pairs),
        distances,
        correction,
        tuple(notes),
        tuple(_asked(standings)),
        tuple(problems),
    )


def _together(first: Standing, second: Standing) -> list[str]:
    """Return the tests that both took."""
    if first.suite != second.suite:
        return []
    return [test for test in first.scores if test in second.scores]


def _pair(first: Standing, second: Standing) -> Pair:
    tests = _together(first, second)
    found = tuple(
        _finding(test, first, second)
        for test in tests
        if test in first.answers and test in second.answers
    )
    own = [[each.scores[test] for test in tests] for each in (first, second)]
    far = [[distance(score) for score in scores] for scores in own]
    return Pair(first, second, found, alike(*far), float("nan"), mean_difference(*own))


def _finding(test: str, first: Standing, second: Standing) -> Finding:
    own = first.tests[test]
    parts = own.scorer.shared(first.answers[test], second.answers[test])
    a, b = (
        # Resampling takes most of the time, and most observers were asked the same.
        each.resampled[test] if part is each.answers[test] else own.resample(part)
        for each, part in zip((first, second), parts, strict=True)
    )
    found = difference(a, b)
    asked = max(each.scores[test].n for each in (first, second))
    notes = [each.score.note for each in (a, b) if each.score.value != each.score.value]
    if a.score.n < asked:
        # What was drawn at random is resampled beside them, and is the same for both.
        over = a.score.resampled.partition(" and ")[0]
        words = f"on {len(a.clusters)} {over} with {a.score.n} of {asked} points"
        notes.insert(0, f"{words} that both have")
    return Finding(test, found, float("nan"), "; ".join(dict.fromkeys(notes)))


def _corrected(pairs: Sequence[Pair], correction: Correction) -> list[Pair]:
    """Correct the p-values of all differences together, and those over tests together."""
    p = iter(corrected([f.difference.p for pair in pairs for f in pair.findings], correction))
    over_tests = iter(corrected([pair.alike.p for pair in pairs], correction))
    return [
        replace(
            pair,
            findings=tuple(replace(f, corrected=float(next(p))) for f in pair.findings),
            alike_corrected=float(next(over_tests)),
        )
        for pair in pairs
    ]


def _asked(standings: Sequence[Standing]) -> list[str]:
    """Say who was asked what, where that is not the same."""
    asked: dict[str, list[str]] = {}
    for each in standings:
        asked.setdefault(each.asked, []).append(each.label)
    known: dict[str, Test] = {}
    same = all(each.tests for each in standings) and all(
        same_questions(known.setdefault(name, test), test)
        for each in standings
        for name, test in each.tests.items()
    )
    if len(asked) == 1 or same:
        return []
    words = "; ".join(f"{', '.join(who)}: {what}" for what, who in asked.items())
    return [f"Not all were asked the same questions. {words}."]


# Tables


def summarise_comparison(comparison: Comparison) -> Summary:
    """Put a comparison into sentences and tables."""
    tables = [_differences(pair, comparison) for pair in comparison.pairs if pair.findings]
    notes = list(comparison.notes)
    if tables:
        notes += _legend(comparison)
    if max(mean.n for _, mean in comparison.distances) > 1:
        tables += [_distances(comparison), _over_tests(comparison)]
        notes.append(
            "Mean difference: of distances, the first minus the second, with a 95 % interval over "
            f"tests that are paired; below 0 the first is closer to {_goal(comparison)}. "
            "Kolmogorov-Smirnov: the largest gap between the shares of tests below a distance, "
            "with its p; it does not pair tests, so it finds less."
        )
    rows = _rows(comparison)
    return Summary(
        tables,
        [_verdict(pair, comparison) for pair in comparison.pairs],
        notes,
        comparison.warnings,
        COLUMNS,
        rows,
        {
            "correction": comparison.correction,
            "tested": comparison.tested,
            "differences": [
                {
                    **_record(pair, finding),
                    "resampled": finding.difference.first.resampled,
                    "first_score": finding.difference.first,
                    "second_score": finding.difference.second,
                }
                for pair in comparison.pairs
                for finding in pair.findings
            ],
            "mean_distances": [row for row in rows if row["what"] == "mean-distance"],
            "mean_differences": [row for row in rows if row["what"] == "mean-difference"],
            "over_tests": [row for row in rows if row["what"] == "kolmogorov-smirnov"],
            "notes": [*comparison.warnings, *comparison.notes],
        },
    )


def _verdict(pair: Pair, comparison: Comparison) -> str:
    """Say in which tests one is significantly closer to people, or to what else is best."""
    first, second = pair.first.label, pair.second.label
    if not pair.findings:
        return f"{first} against {second}: {_over_tests_in_words(pair, comparison)}."
    won, lost, open_ = pair.tests(1), pair.tests(-1), pair.tests(0)
    n = len(pair.findings)
    tests = f"{n} tests" if n > 1 else "the one test"
    if not won and not lost:
        among = f"any of {tests}" if n > 1 else tests
        return f"{first} against {second}: not told apart in {among}."
    said = [
        f"{name} is closer to {goal_of([pair.first.best])} in {', '.join(which)}"
        for name, which in ((first, won), (second, lost))
        if which
    ]
    if open_:
        said.append(f"not told apart in {len(open_)} of {tests}")
    return f"{first} against {second}: {'; '.join(said)}."


def _differences(pair: Pair, comparison: Comparison) -> Table:
    names = [pair.first.label, pair.second.label]
    heading = f"{names[0]} against {names[1]}"
    if max(map(len, names)) > _LONGEST:
        heading = f"{names[0]} (first) against {names[1]} (second)"
        names = ["first", "second"]
    noted = any(finding.note for finding in pair.findings)
    header = ["test", "score", *names, "difference", *p_header(comparison.correction)]
    header += [f"closer to {goal_of([pair.first.best])}", *(["note"] if noted else [])]
    body = []
    for finding in pair.findings:
        found = finding.difference
        score = found.first
        body.append(
            [
                finding.test,
                f"{score.name} {score.arrow}",
                number(found.first.value),
                number(found.second.value),
                interval(found.value, found.low, found.high, signed),
                *p_values(found.p, finding.corrected, comparison.correction),
                {1: names[0], -1: names[1], 0: NOTHING}[finding.significant],
                *([finding.note] if noted else []),
            ]
        )
    return Table(header, body, heading)


def _goal(comparison: Comparison) -> str:
    return goal_of(each.best for each, _ in comparison.distances)


def _legend(comparison: Comparison) -> list[str]:
    p, goal = p_header(comparison.correction)[-1], _goal(comparison)
    return [
        "Differences are the first minus the second on what both were asked, with 95 % intervals, "
        f"which are not corrected; above 0 the first is closer to {goal}, or below 0 where the "
        "score has ↓.",
        f"{correction_note(comparison.correction, comparison.tested, 'differences')} The column "
        f"'closer to {goal}' names the one that is so by {p} < {LEVEL:g}; {NOTHING} stands where "
        "they are not told apart.",
    ]


def _distances(comparison: Comparison) -> Table:
    ranked = sorted(
        comparison.distances, key=lambda each: (each[1].value != each[1].value, each[1].value)
    )
    known = any(mean.low == mean.low and mean.high == mean.high for _, mean in ranked)
    goal = _goal(comparison)
    best = "human" if goal == "people" else goal
    return Table(
        ["observer", "mean [95 % over tests]" if known else "mean", "tests"],
        [
            [each.label, interval(mean.value, mean.low, mean.high), str(mean.n)]
            for each, mean in ranked
        ],
        f"Mean distance from {goal} over tests (0 {best}, 1 chance)",
    )


def _over_tests(comparison: Comparison) -> Table:
    header = ["first", "second", "tests", "mean difference", "largest gap"]
    rows = [
        [
            pair.first.label,
            pair.second.label,
            str(min(pair.alike.n)),
            interval(pair.mean.value, pair.mean.low, pair.mean.high),
            number(pair.alike.statistic),
            *p_values(pair.alike.p, pair.alike_corrected, comparison.correction),
        ]
        for pair in comparison.pairs
    ]
    heading = "Two observers' distances over tests: paired means, and Kolmogorov-Smirnov"
    return Table([*header, *p_header(comparison.correction)], rows, heading)


def _over_tests_in_words(pair: Pair, comparison: Comparison) -> str:
    n = min(pair.alike.n)
    if n == 0:
        return "no test in common"
    ends = "" if pair.alike_corrected < LEVEL else "not "
    p = p_value(pair.alike_corrected)
    sign = "" if p.startswith("<") else "= "
    return (
        f"distances over {n} tests {ends}told apart (Kolmogorov-Smirnov, "
        f"{p_header(comparison.correction)[-1]} {sign}{p})"
    )


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the rows of the CSV, one per number."""
    pairs = comparison.pairs
    rows = [_record(pair, finding) for pair in pairs for finding in pair.findings]
    for each, mean in comparison.distances:
        whose = {"what": "mean-distance", "first": each.label, "suite": each.suite}
        rows.append(whose | mean._asdict())
    rows += [_whose("mean-difference", pair) | pair.mean._asdict() for pair in pairs]
    for pair in pairs:
        alike = {"value": pair.alike.statistic, "p": pair.alike.p, "n": min(pair.alike.n)}
        alike["corrected_p"] = pair.alike_corrected
        rows.append(_whose("kolmogorov-smirnov", pair) | alike)
    return [dict.fromkeys(COLUMNS, "") | row for row in rows]


def _whose(what: str, pair: Pair) -> dict[str, Any]:
    names = {"first": pair.first.label, "second": pair.second.label}
    return {"what": what, **names, "suite": pair.first.suite}


def _record(pair: Pair, finding: Finding) -> dict[str, Any]:
    found = finding.difference
    return _whose("difference", pair) | {
        "test": finding.test,
        "score": found.first.name,
        "higher_is_better": found.first.higher_is_better,
        "first_value": found.first.value,
        "second_value": found.second.value,
        **{name: getattr(found, name) for name in ("value", "low", "high", "p")},
        "corrected_p": finding.corrected,
        "n": found.clusters,
        "closer": {1: pair.first.label, -1: pair.second.label, 0: ""}[finding.significant],
        "note": finding.note,
    }

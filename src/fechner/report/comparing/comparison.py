"""Comparing observers: differences test by test, and over all tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fechner.errors import FechnerError
from fechner.report import contenders
from fechner.report.comparing import scoring
from fechner.report.comparing.scoring import ScoredObserver, goal_of, p_cells, p_name
from fechner.report.contenders import Source
from fechner.report.tables import Summary, Table, interval, number, p_value, signed, table_of
from fechner.scores import comparisons, distance
from fechner.scores.comparisons import LEVEL, Correction
from fechner.suites import Test

#: More observers than this make more pairs than anyone reads.
MOST = 6

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
    difference: comparisons.Difference
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

    first: ScoredObserver
    second: ScoredObserver
    findings: tuple[Finding, ...]
    alike: comparisons.Alike
    alike_corrected: float
    mean: comparisons.MeanDifference

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
    distances: tuple[tuple[ScoredObserver, comparisons.MeanDistance], ...]
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
        return sum(not math.isnan(each.corrected) for each in every)


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
    every = contenders.entrants(sources)
    chosen, base = contenders.choose(every, observers), None
    if baseline is not None:
        same = contenders.choose(every, [baseline])
        if len(same) > 1:
            labels = " or ".join(f"'{each.label}'" for each in same)
            raise FechnerError(f"several observers are named '{baseline}': say {labels}.")
        (base,) = same
        chosen += [each for each in same if each not in chosen]
    if len(chosen) < 2:
        there = f"only '{chosen[0].label}' is" if chosen else "no observer is"
        raise FechnerError(f"{there} there; comparing takes two observers, or two runs of one.")
    if base is None and len(chosen) > MOST:
        raise FechnerError(
            f"{len(chosen)} observers make {math.comb(len(chosen), 2)} pairs; name one to compare "
            f"the others with by --baseline, or up to {MOST} by --observers."
        )
    scored, problems = scoring.score_observers(
        chosen, contenders.choose_tests(chosen, tests), layer, readout, progress
    )
    both = list(itertools.combinations(scored, 2))
    if base is not None:
        reference = scored[chosen.index(base)]
        both = [(each, reference) for each in scored if each is not reference]
    pairs = _pairs(both, correction)
    not_asked = [line for each in scored for line in each.not_asked]
    if not any(_shared_tests(*each) for each in both):
        why = next((f": {line}" for line in [*problems, *not_asked]), ", or have not finished any")
        raise FechnerError(f"these observers have no test in common{why.rstrip('.')}.")
    if observers is None:
        runs = {
            each.run.folder: each.run for each in chosen if isinstance(each, contenders.Contender)
        }
        problems = [*(line for run in runs.values() for line in run.left_out), *problems]
    return Comparison(
        pairs,
        tuple((each, comparisons.mean_distance(list(each.scores.values()))) for each in scored),
        correction,
        (*not_asked, *([] if all(each.tests for each in scored) else [_PRINTED])),
        tuple(_asked_otherwise(scored)),
        tuple(problems),
    )


def _shared_tests(first: ScoredObserver, second: ScoredObserver) -> list[str]:
    if first.suite != second.suite:
        return []
    return [test for test in first.scores if test in second.scores]


def _pairs(
    both: Sequence[tuple[ScoredObserver, ScoredObserver]], correction: Correction
) -> tuple[Pair, ...]:
    """Compare all; p-values of differences are corrected together, and those over tests."""
    findings, alike, means = [], [], []
    for first, second in both:
        tests = _shared_tests(first, second)
        own = [[each.scores[test] for test in tests] for each in (first, second)]
        alike.append(comparisons.alike(*([distance(each) for each in scores] for scores in own)))
        means.append(comparisons.mean_difference(*own))
        asked = [test for test in tests if test in first.answers and test in second.answers]
        findings.append([_finding(test, first, second) for test in asked])
    every = [finding.difference.p for found in findings for finding in found]
    p = iter(comparisons.corrected(every, correction).tolist())
    over_tests = comparisons.corrected([each.p for each in alike], correction).tolist()
    return tuple(
        Pair(*who, tuple(replace(each, corrected=next(p)) for each in found), own, own_p, mean)
        for who, found, own, own_p, mean in zip(
            both, findings, alike, over_tests, means, strict=True
        )
    )


def _finding(test: str, first: ScoredObserver, second: ScoredObserver) -> Finding:
    own = first.tests[test]
    parts = own.scorer.shared(first.answers[test], second.answers[test])
    a, b = (
        # Resampling takes most of the time, and most observers were asked the same.
        each.resampled[test] if part is each.answers[test] else own.resample(part)
        for each, part in zip((first, second), parts, strict=True)
    )
    asked = max(each.scores[test].n for each in (first, second))
    notes = []
    if a.score.n < asked:
        # What was drawn at random is resampled beside them, and is the same for both.
        over = a.score.resampled.partition(" and ")[0]
        notes.append(
            f"on {len(a.clusters)} {over} with {a.score.n} of {asked} points that both have"
        )
    notes += [each.score.note for each in (a, b) if math.isnan(each.score.value)]
    note = "; ".join(dict.fromkeys(notes))
    return Finding(test, comparisons.difference(a, b), math.nan, note)


def _asked_otherwise(scored: Sequence[ScoredObserver]) -> list[str]:
    """Say who was asked what, where that is not the same."""
    asked: dict[str, list[str]] = {}
    for each in scored:
        asked.setdefault(each.asked, []).append(each.label)
    known: dict[str, Test] = {}
    same = all(each.tests for each in scored) and all(
        contenders.same_questions(known.setdefault(name, test), test)
        for each in scored
        for name, test in each.tests.items()
    )
    if len(asked) == 1 or same:
        return []
    words = "; ".join(f"{', '.join(who)}: {what}" for what, who in asked.items())
    return [f"Not all were asked the same questions. {words}."]


# Tables


def summarise_comparison(comparison: Comparison) -> Summary:
    """Put a comparison into sentences and tables."""
    pairs, correction = comparison.pairs, comparison.correction
    goal = goal_of(each.best for each, _ in comparison.distances)
    tables = [_differences(pair, correction) for pair in pairs if pair.findings]
    notes = list(comparison.notes)
    if tables:
        notes += [
            "Differences are the first minus the second on what both were asked, with 95 % "
            f"intervals, which are not corrected; above 0 the first is closer to {goal}, or below "
            "0 where the score has ↓.",
            scoring.correction_note(correction, comparison.tested, "differences"),
        ]
    if max(mean.n for _, mean in comparison.distances) > 1:
        nearest = sorted(
            comparison.distances, key=lambda each: (math.isnan(each[1].value), each[1].value)
        )
        means = [
            {
                "observer": each.label,
                "mean [95 % over tests]": interval(mean.value, mean.low, mean.high),
                "tests": str(mean.n),
            }
            for each, mean in nearest
        ]
        over_tests = [
            {
                "first": pair.first.label,
                "second": pair.second.label,
                "tests": str(min(pair.alike.n)),
                "mean difference": interval(pair.mean.value, pair.mean.low, pair.mean.high),
                "largest gap": number(pair.alike.statistic),
                **p_cells(pair.alike.p, pair.alike_corrected, correction),
            }
            for pair in pairs
        ]
        of_pairs = "Two observers' distances over tests: paired means, and Kolmogorov-Smirnov"
        tables += [
            table_of(means, f"Mean distance from {goal} over tests (0 is the best, 1 chance)"),
            table_of(over_tests, of_pairs),
        ]
        notes.append(
            "Mean difference: of distances, the first minus the second, with a 95 % interval over "
            f"tests that are paired; below 0 the first is closer to {goal}. Kolmogorov-Smirnov: "
            "the largest gap between the shares of tests below a distance, with its p; it does "
            "not pair tests, so it finds less."
        )
    rows = _rows(comparison)
    details = {
        "correction": correction,
        "tested": comparison.tested,
        "differences": [row for row in rows if row["what"] == "difference"],
        "mean_distances": [row for row in rows if row["what"] == "mean-distance"],
        "mean_differences": [row for row in rows if row["what"] == "mean-difference"],
        "over_tests": [row for row in rows if row["what"] == "kolmogorov-smirnov"],
        "notes": [*comparison.warnings, *comparison.notes],
    }
    findings = [_verdict(pair, correction) for pair in pairs]
    return Summary(tables, findings, notes, comparison.warnings, COLUMNS, rows, details)


def _verdict(pair: Pair, correction: Correction) -> str:
    """Say in which tests one is significantly closer to people, or to what else is best."""
    first, second = pair.first.label, pair.second.label
    said = [
        f"{name} is closer to {goal_of([pair.first.best])} in {', '.join(which)}"
        for name, which in ((first, pair.tests(1)), (second, pair.tests(-1)))
        if which
    ]
    if pair.tests(0):
        said.append(f"not told apart in {len(pair.tests(0))} of {len(pair.findings)} tests")
    if not pair.findings:
        apart = "" if pair.alike_corrected < LEVEL else "not "
        said.append(
            f"distances over {min(pair.alike.n)} tests {apart}told apart (Kolmogorov-Smirnov, "
            f"{p_name(correction)} {p_value(pair.alike_corrected)})"
        )
    return f"{first} against {second}: {'; '.join(said)}."


def _differences(pair: Pair, correction: Correction) -> Table:
    """Return the table of a pair; columns of numbers would be too wide with names above them."""
    closer = {1: "first", -1: "second", 0: scoring.NOTHING}
    rows = []
    for finding in pair.findings:
        found = finding.difference
        row = {
            "test": finding.test,
            "score": f"{found.first.name} {found.first.arrow}",
            "first": number(found.first.value),
            "second": number(found.second.value),
            "difference": interval(found.value, found.low, found.high, signed),
            **p_cells(found.p, finding.corrected, correction),
            f"closer to {goal_of([pair.first.best])}": closer[finding.significant],
        }
        rows.append(row | ({"note": finding.note} if finding.note else {}))
    return table_of(rows, f"{pair.first.label} (first) against {pair.second.label} (second)")


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the rows of the CSV, one per number; those of differences have more, for JSON."""
    pairs = comparison.pairs
    rows = []
    for pair in pairs:
        who = {1: pair.first.label, -1: pair.second.label, 0: ""}
        for finding in pair.findings:
            found = finding.difference
            rows.append(
                _row("difference", pair.first, pair.second)
                | {name: getattr(found, name) for name in ("value", "low", "high", "p")}
                | {
                    "test": finding.test,
                    "score": found.first.name,
                    "higher_is_better": found.first.higher_is_better,
                    "first_value": found.first.value,
                    "second_value": found.second.value,
                    "corrected_p": finding.corrected,
                    "n": found.clusters,
                    "closer": who[finding.significant],
                    "note": finding.note,
                    "resampled": found.first.resampled,
                    "first_score": found.first,
                    "second_score": found.second,
                }
            )
    rows += [_row("mean-distance", each) | mean._asdict() for each, mean in comparison.distances]
    rows += [_row("mean-difference", p.first, p.second) | p.mean._asdict() for p in pairs]
    for pair in pairs:
        alike = {"value": pair.alike.statistic, "p": pair.alike.p, "n": min(pair.alike.n)}
        row = _row("kolmogorov-smirnov", pair.first, pair.second)
        rows.append(row | alike | {"corrected_p": pair.alike_corrected})
    return rows


def _row(what: str, first: ScoredObserver, second: ScoredObserver | None = None) -> dict[str, Any]:
    """Return a row with all columns, which says whose it is."""
    whose = {"what": what, "first": first.label, "suite": first.suite}
    return dict.fromkeys(COLUMNS, "") | whose | ({"second": second.label} if second else {})

"""Comparisons as text, CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fechner.report.comparing.comparison import Comparison, Finding, Pair
from fechner.report.comparing.sections import (
    NOTHING,
    Section,
    Sections,
    bracketed,
    correction_note,
    goal_of,
    p_header,
    p_value,
    p_values,
    signed,
    to_latex,
    to_markdown,
    to_text,
)
from fechner.report.tables import csv_text, json_text, number
from fechner.scores.comparisons import LEVEL

#: Names longer than this would make columns of numbers too wide.
_LONGEST = 20

COLUMNS = (
    "what",
    "first",
    "second",
    "suite",
    "test",
    "score",
    "higher_is_better",
    "first_value",
    "second_value",
    "value",
    "low",
    "high",
    "p",
    "corrected_p",
    "n",
    "closer",
    "note",
)


def sections(comparison: Comparison) -> Sections:
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
    verdicts = [_verdict(pair, comparison) for pair in comparison.pairs]
    return Sections(verdicts, tables, notes, comparison.warnings)


def _verdict(pair: Pair, comparison: Comparison) -> str:
    """Say in which tests one is known to be closer to people, or to what else is best."""
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


def _differences(pair: Pair, comparison: Comparison) -> Section:
    names = [pair.first.label, pair.second.label]
    heading = f"{names[0]} against {names[1]}"
    if max(map(len, names)) > _LONGEST:
        heading = f"{names[0]} (first) against {names[1]} (second)"
        names = ["first", "second"]
    noted = any(finding.note for finding in pair.findings)
    header = [
        "test",
        "score",
        *names,
        "difference",
        *p_header(comparison.correction),
        f"closer to {goal_of([pair.first.best])}",
        *(["note"] if noted else []),
    ]
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
                bracketed(found.value, found.low, found.high, signed),
                *p_values(found.p, finding.corrected, comparison.correction),
                {1: names[0], -1: names[1], 0: NOTHING}[finding.established],
                *([finding.note] if noted else []),
            ]
        )
    return Section(heading, header, body)


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


def _distances(comparison: Comparison) -> Section:
    ranked = sorted(
        comparison.distances, key=lambda each: (each[1].value != each[1].value, each[1].value)
    )
    known = any(mean.low == mean.low and mean.high == mean.high for _, mean in ranked)
    goal = _goal(comparison)
    best = "human" if goal == "people" else goal
    return Section(
        f"Mean distance from {goal} over tests (0 {best}, 1 chance)",
        ["observer", "mean [95 % over tests]" if known else "mean", "tests"],
        [
            [each.label, bracketed(mean.value, mean.low, mean.high), str(mean.n)]
            for each, mean in ranked
        ],
    )


def _over_tests(comparison: Comparison) -> Section:
    return Section(
        "Two observers' distances over tests: paired means, and Kolmogorov-Smirnov",
        [
            "first",
            "second",
            "tests",
            "mean difference",
            "largest gap",
            *p_header(comparison.correction),
        ],
        [
            [
                pair.first.label,
                pair.second.label,
                str(min(pair.alike.n)),
                bracketed(pair.mean.value, pair.mean.low, pair.mean.high),
                number(pair.alike.statistic),
                *p_values(pair.alike.p, pair.alike_corrected, comparison.correction),
            ]
            for pair in comparison.pairs
        ],
    )


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


# For programs


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """Return one flat record per number, with the columns of the CSV."""
    rows = [_record(pair, finding) for pair in comparison.pairs for finding in pair.findings]
    rows += [
        {
            "what": "mean-distance",
            "first": each.label,
            "suite": each.suite,
            "value": mean.value,
            "low": mean.low,
            "high": mean.high,
            "n": mean.n,
        }
        for each, mean in comparison.distances
    ]
    rows += [
        {
            "what": "mean-difference",
            "first": pair.first.label,
            "second": pair.second.label,
            "suite": pair.first.suite,
            "value": pair.mean.value,
            "low": pair.mean.low,
            "high": pair.mean.high,
            "p": pair.mean.p,
            "n": pair.mean.n,
        }
        for pair in comparison.pairs
    ]
    rows += [
        {
            "what": "kolmogorov-smirnov",
            "first": pair.first.label,
            "second": pair.second.label,
            "suite": pair.first.suite,
            "value": pair.alike.statistic,
            "p": pair.alike.p,
            "corrected_p": pair.alike_corrected,
            "n": min(pair.alike.n),
        }
        for pair in comparison.pairs
    ]
    return [{column: row.get(column, "") for column in COLUMNS} for row in rows]


def _record(pair: Pair, finding: Finding) -> dict[str, Any]:
    found = finding.difference
    return {
        "what": "difference",
        "first": pair.first.label,
        "second": pair.second.label,
        "suite": pair.first.suite,
        "test": finding.test,
        "score": found.first.name,
        "higher_is_better": found.first.higher_is_better,
        "first_value": found.first.value,
        "second_value": found.second.value,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "corrected_p": finding.corrected,
        "n": found.clusters,
        "closer": {1: pair.first.label, -1: pair.second.label, 0: ""}[finding.established],
        "note": finding.note,
    }


def _to_csv(comparison: Comparison) -> str:
    return csv_text(COLUMNS, records(comparison))


def _to_json(comparison: Comparison) -> str:
    """Return everything that is known: also the scores of both, on what both were asked."""
    differences = [
        {
            **_record(pair, finding),
            "resampled": finding.difference.first.resampled,
            "first_score": asdict(finding.difference.first),
            "second_score": asdict(finding.difference.second),
        }
        for pair in comparison.pairs
        for finding in pair.findings
    ]
    rows = records(comparison)
    found = {
        "correction": comparison.correction,
        "tested": comparison.tested,
        "differences": differences,
        "mean_distances": [row for row in rows if row["what"] == "mean-distance"],
        "mean_differences": [row for row in rows if row["what"] == "mean-difference"],
        "over_tests": [row for row in rows if row["what"] == "kolmogorov-smirnov"],
        "notes": [*comparison.warnings, *comparison.notes],
    }
    return json_text(found)


FORMATS: dict[str, Callable[[Comparison], str]] = {
    "table": lambda comparison: to_text(sections(comparison)),
    "csv": _to_csv,
    "json": _to_json,
    "md": lambda comparison: to_markdown(sections(comparison)),
    "latex": lambda comparison: to_latex(sections(comparison)),
}

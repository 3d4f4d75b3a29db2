"""Trends as text, CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fechner.report.comparing.sections import (
    NOTHING,
    Section,
    Sections,
    bracketed,
    correction_note,
    goal_of,
    p_header,
    p_values,
    signed,
    to_latex,
    to_markdown,
    to_text,
)
from fechner.report.comparing.trends import Trend, Trends
from fechner.report.tables import csv_text, json_text
from fechner.scores.comparisons import LEVEL

COLUMNS = (
    "figure",
    "suite",
    "test",
    "score",
    "higher_is_better",
    "n",
    "r",
    "low",
    "high",
    "p",
    "corrected_p",
    "slope",
    "slope_low",
    "slope_high",
    "note",
)


def sections(found: Trends) -> Sections:
    """Put trends into sentences and tables."""
    by_figure = {
        name: [each for each in found.trends if each.title == name] for name in found.figures
    }
    notes = [
        "r is Pearson's correlation, and the slope that of the score, each with a 95 % interval "
        "that holds as far as these observers are a fair sample of others.",
        "p and the slope's interval are by Student's t; r's interval is by Fisher's z, as wide as "
        "leaves out 0 just where p < 0.05.",
        f"{correction_note(found.correction, found.tested, 'trends')} A trend is established by "
        f"{p_header(found.correction)[-1]} < {LEVEL:g}; {NOTHING} stands where it is not.",
    ]
    return Sections(
        [_verdict(name, trends) for name, trends in by_figure.items()],
        [_table(name, trends, found) for name, trends in by_figure.items()],
        notes,
    )


def _verdict(figure: str, trends: list[Trend]) -> str:
    closer = [each.test for each in trends if each.established == 1]
    farther = [each.test for each in trends if each.established == -1]
    n = len(trends)
    tests = f"{n} tests" if n > 1 else "the one test"
    goal = goal_of(each.observers[0].best for each in trends if each.observers)
    if not closer and not farther:
        return f"{figure}: no trend is established in {f'any of {tests}' if n > 1 else tests}."
    said = [
        f"observers with more of it are {where} {goal} in {', '.join(which)}"
        for where, which in (("closer to", closer), ("farther from", farther))
        if which
    ]
    if len(closer) + len(farther) < n:
        said.append(f"no trend is established in {n - len(closer) - len(farther)} of {tests}")
    return f"{figure}: {'; '.join(said)}."


def _table(figure: str, trends: list[Trend], found: Trends) -> Section:
    noted = any(each.regression.note for each in trends)
    header = [
        "test",
        "score",
        "n",
        "r",
        *p_header(found.correction),
        "slope",
        f"with more {trends[0].figure}",
        *(["note"] if noted else []),
    ]
    body = []
    for each in trends:
        line, goal = each.regression, goal_of([one.best for one in each.observers[:1]])
        body.append(
            [
                each.test,
                f"{each.score.name} {each.score.arrow}",
                str(line.n),
                bracketed(line.r, line.low, line.high, signed),
                *p_values(line.p, each.corrected, found.correction),
                bracketed(line.slope, line.slope_low, line.slope_high, _three_digits),
                {1: f"closer to {goal}", -1: f"farther from {goal}", 0: NOTHING}[each.established],
                *([line.note] if noted else []),
            ]
        )
    source = "" if trends[0].log else f" of {found.file}"
    return Section(f"Scores against {figure}{source}", header, body)


def _three_digits(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value:+.3g}".replace("-", "−")


def records(found: Trends) -> list[dict[str, Any]]:
    """Return one flat record per trend, with the columns of the CSV."""
    return [
        {
            "figure": each.title,
            "suite": each.suite,
            "test": each.test,
            "score": each.score.name,
            "higher_is_better": each.score.higher_is_better,
            "n": each.regression.n,
            "r": each.regression.r,
            "low": each.regression.low,
            "high": each.regression.high,
            "p": each.regression.p,
            "corrected_p": each.corrected,
            "slope": each.regression.slope,
            "slope_low": each.regression.slope_low,
            "slope_high": each.regression.slope_high,
            "note": each.regression.note,
        }
        for each in found.trends
    ]


def _to_json(found: Trends) -> str:
    """Return everything that is known: also the points."""
    rows = [
        {
            **record,
            "points": [
                {"observer": who.label, "figure": float(x), "score": float(y)}
                for who, x, y in zip(
                    each.observers, each.regression.x, each.regression.y, strict=True
                )
            ],
        }
        for record, each in zip(records(found), found.trends, strict=True)
    ]
    return json_text(
        {
            "file": found.file,
            "correction": found.correction,
            "tested": found.tested,
            "trends": rows,
        }
    )


FORMATS: dict[str, Callable[[Trends], str]] = {
    "table": lambda found: to_text(sections(found)),
    "csv": lambda found: csv_text(COLUMNS, records(found)),
    "json": _to_json,
    "md": lambda found: to_markdown(sections(found)),
    "latex": lambda found: to_latex(sections(found)),
}

"""Scores as text, CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fechner.report.markup import as_latex, as_markdown, latex_row, markdown_row

if TYPE_CHECKING:
    from fechner.runs import Result

COLUMNS = (
    "observer",
    "suite",
    "test",
    "score",
    "value",
    "low",
    "high",
    "higher_is_better",
    "mode",
    "layer",
    "readout",
    "published",
    "note",
)


def records(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return one flat record per score, with the columns of the CSV."""
    return [
        {
            "observer": result.observer,
            "suite": result.suite,
            "test": result.test,
            "score": result.score.name,
            "value": result.score.value,
            "low": result.score.low,
            "high": result.score.high,
            "higher_is_better": result.score.higher_is_better,
            "mode": result.mode,
            "layer": result.score.layer,
            "readout": result.score.readout,
            "published": result.published,
            "note": result.score.note,
        }
        for result in results
    ]


def to_csv(results: Sequence[Result]) -> str:
    """Return all scores as CSV; numbers keep six digits, what cannot be computed is empty."""
    return csv_text(COLUMNS, records(results))


def csv_text(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Return records as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for record in rows:
        writer.writerow({key: _csv_value(value) for key, value in record.items()})
    return text.getvalue()


def _csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value


def to_json(results: Sequence[Result]) -> str:
    """Return all scores as JSON, with everything that is known of each."""
    rows = [
        {**record, **{key: value for key, value in vars(result.score).items() if key != "name"}}
        for record, result in zip(records(results), results, strict=True)
    ]
    return json_text(rows)


def json_text(found: Any) -> str:
    """Return whatever was found as JSON; what cannot be computed is null."""
    return json.dumps(_json_value(found), indent=2) + "\n"


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _grid(results: Sequence[Result]) -> tuple[list[str], list[list[str]], list[str]]:
    """Return header, rows and notes: main scores of the last layer measured, observers across.

    A test has a row for each read-out and layer that is not the natural one, named. Published
    numbers stand beside those of the same protocol.
    """
    shown = [result for result in results if result.main and result.last]
    observers = list(dict.fromkeys(result.observer for result in shown))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    notes: dict[str, list[str]] = {}
    for result in shown:
        beside = [] if result.score.beside is None else [result.score.beside]
        for score in (result.score, *beside):
            label = f"{score.name} {score.arrow} {result.place}".strip()
            cell = f"{number(score.value)} [{number(score.low)}, {number(score.high)}]"
            if score.of > score.n:
                cell += f" ({score.n} of {score.of})"
            is_main = score is result.score
            if is_main and result.mode == "published" and not math.isnan(result.published):
                cell += f" paper {number(result.published)}"
            rows.setdefault((result.test, label), {})[result.observer] = cell
        notes_of = dict.fromkeys(
            note for score in (result.score, *beside) for note in score.note.split("; ") if note
        )
        if notes_of:
            said = "; ".join(notes_of)
            notes.setdefault(f"{result.test}: {said}", []).append(result.observer)
    body = [
        [test, score, *(cells.get(observer, "") for observer in observers)]
        for (test, score), cells in rows.items()
    ]
    lines = [f"{note} ({', '.join(dict.fromkeys(who))})" for note, who in notes.items()]
    return ["test", "score", *observers], body, lines


def number(value: float) -> str:
    """Return a score as tables have it.

    Examples
    --------
    >>> number(0.52149), number(math.nan)
    ('0.521', 'n/a')
    """
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def aligned(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a plain text table."""
    widths = [max(len(row[i]) for row in [header, *body]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return [line(header), rule, *map(line, body)]


def to_text(results: Sequence[Result]) -> str:
    """Return main scores with 95 % intervals as a plain text table."""
    header, body, notes = _grid(results)
    return "\n".join([*aligned(header, body), *notes]) + "\n"


def to_layers(results: Sequence[Result]) -> str:
    """Return the main scores of every layer and read-out, a table for each observer."""
    tables = []
    for observer in dict.fromkeys(result.observer for result in results):
        own = [result for result in results if result.observer == observer and result.main]
        tests = list(dict.fromkeys(result.test for result in own))
        rows: dict[tuple[str, str], dict[str, str]] = {}
        for result in own:
            place = (result.score.layer, result.score.readout)
            rows.setdefault(place, {})[result.test] = number(result.score.value)
        body = [[*place, *(row.get(test, "") for test in tests)] for place, row in rows.items()]
        tables.append("\n".join([observer, *aligned(["layer", "read-out", *tests], body)]))
    return "\n\n".join(tables) + "\n"


def to_checks(results: Sequence[Result]) -> str:
    """Return what is asked by yes, partly or no, observers across, with the rules below."""
    shown = [result for result in results if result.score.is_check and result.last]
    places = list(dict.fromkeys(f"{r.observer} {r.place}".strip() for r in shown))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    rules: dict[str, list[str]] = {}
    for result in shown:
        score = result.score
        passed = f" {round(score.value * score.n)}/{score.n}" if score.n else ""
        cells = rows.setdefault((result.test, score.claim), {})
        cells[f"{result.observer} {result.place}".strip()] = score.verdict + passed
        rules.setdefault(f"{score.claim}: {score.rule}", []).append(result.test)
    if not rows:
        return "nothing is asked by yes or no in these tests.\n"
    body = [[*row, *(cells.get(place, "") for place in places)] for row, cells in rows.items()]
    below = [f"{rule} ({', '.join(dict.fromkeys(tests))})" for rule, tests in rules.items()]
    return "\n".join([*aligned(["test", "claim", *places], body), *below]) + "\n"


def to_spread(runs: Sequence[Sequence[Result]]) -> str:
    """Return how main scores vary between runs that differ in their seed only.

    ``inside`` says whether all of them lie within the interval of the first run.
    """
    values: dict[tuple[str, str, str], list[float]] = {}
    first: dict[tuple[str, str, str], Result] = {}
    for result in (result for results in runs for result in results):
        if result.main and result.last:
            place = (result.observer, result.test, result.score.readout)
            first.setdefault(place, result)
            values.setdefault(place, []).append(result.score.value)
    body = []
    for place, found in values.items():
        score = first[place].score
        low, high = min(found), max(found)
        if any(map(math.isnan, found)):
            low = high = math.nan
        inside = score.low <= low and high <= score.high
        body.append(
            [
                *place,
                str(len(found)),
                number(statistics.fmean(found)),
                "n/a" if math.isnan(low) else f"{statistics.pstdev(found):.4f}",
                f"{number(low)} to {number(high)}",
                f"[{number(score.low)}, {number(score.high)}]",
                "yes" if inside else "no",
            ]
        )
    header = ["observer", "test", "read-out", "seeds", "mean", "sd", "range", "interval", "inside"]
    return "\n".join(aligned(header, body)) + "\n"


def to_markdown(results: Sequence[Result]) -> str:
    """Return main scores as a Markdown table."""
    header, body, notes = _grid(results)
    lines = [markdown_row(header), markdown_row(["---"] * len(header)), *map(markdown_row, body)]
    if notes:
        lines += ["", *(f"- {as_markdown(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def to_latex(results: Sequence[Result]) -> str:
    """Return main scores as a LaTeX table (booktabs), with what must be known of them below it."""
    header, body, notes = _grid(results)
    below = [rf"{{\footnotesize\noindent {as_latex(note)}\par}}" for note in notes]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{'l' * len(header)}}}",
            r"\toprule",
            latex_row(header),
            r"\midrule",
            *map(latex_row, body),
            r"\bottomrule",
            r"\end{tabular}",
            *([r"\par\smallskip", *below] if below else []),
            "",
        ]
    )


FORMATS: dict[str, Callable[[Sequence[Result]], str]] = {
    "table": to_text,
    "layers": to_layers,
    "checks": to_checks,
    "csv": to_csv,
    "json": to_json,
    "md": to_markdown,
    "latex": to_latex,
}

"""Scores as text, CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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
        }
        for result in results
    ]


def to_csv(results: Sequence[Result]) -> str:
    """Return all scores as CSV; numbers keep six digits, what cannot be computed is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for record in records(results):
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
    clean = [
        {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in row.items()
        }
        for row in rows
    ]
    return json.dumps(clean, indent=2) + "\n"


def _grid(results: Sequence[Result]) -> tuple[list[str], list[list[str]], list[str]]:
    """Return header, rows and notes: main scores, tests down, observers across.

    A test has several rows where its observers were read out at several layers or by several
    read-outs.
    """
    observers = list(dict.fromkeys(result.observer for result in results))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    notes: dict[str, list[str]] = {}
    seen: set[tuple[str, str, str, str]] = set()
    for result in results:
        score = result.score
        place = (result.observer, result.test, score.layer, score.readout)
        if place in seen:
            continue  # the first score of a test is the main one
        seen.add(place)
        arrow = "↑" if score.higher_is_better else "↓"
        row = rows.setdefault((result.test, f"{score.name} {arrow}"), {})
        cell = f"{_number(score.value)} [{_number(score.low)}, {_number(score.high)}]"
        row[result.observer] = f"{row[result.observer]}; {cell}" if result.observer in row else cell
        if score.note:
            notes.setdefault(f"{result.test}: {score.note}", []).append(result.observer)
    body = [
        [test, score, *(cells.get(observer, "") for observer in observers)]
        for (test, score), cells in rows.items()
    ]
    lines = [f"{note} ({', '.join(dict.fromkeys(who))})" for note, who in notes.items()]
    return ["test", "score", *observers], body, lines


def _number(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def to_text(results: Sequence[Result]) -> str:
    """Return main scores with 95 % intervals as a plain text table."""
    header, body, notes = _grid(results)
    widths = [max(len(row[i]) for row in [header, *body]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(cell.ljust(w) for cell, w in zip(cells, widths, strict=True)).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(header), rule, *map(line, body), *notes]) + "\n"


def to_markdown(results: Sequence[Result]) -> str:
    """Return main scores as a Markdown table."""
    header, body, notes = _grid(results)
    rows = [header, ["---"] * len(header), *body]
    table = "\n".join("| " + " | ".join(_escaped(cell, "|") for cell in row) + " |" for row in rows)
    return table + "\n" + "".join(f"\n- {note}" for note in notes) + ("\n" if notes else "")


def to_latex(results: Sequence[Result]) -> str:
    """Return main scores as a LaTeX table (booktabs)."""
    header, body, _ = _grid(results)

    def row(cells: Sequence[str]) -> str:
        text = " & ".join(_escaped(cell, "&%$#_{}") for cell in cells)
        return text.replace("↑", r"$\uparrow$").replace("↓", r"$\downarrow$") + r" \\"

    return "\n".join(
        [
            r"\begin{tabular}{ll" + "l" * (len(header) - 2) + "}",
            r"\toprule",
            row(header),
            r"\midrule",
            *map(row, body),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _escaped(text: str, special: str) -> str:
    return "".join(f"\\{character}" if character in special else character for character in text)


FORMATS: dict[str, Callable[[Sequence[Result]], str]] = {
    "table": to_text,
    "csv": to_csv,
    "json": to_json,
    "md": to_markdown,
    "latex": to_latex,
}

"""Scores as tables: of all observers, of all layers, of what is asked by yes or no, of seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fechner.report.tables import FORMATS, Summary, crossed, interval, number, table_of

if TYPE_CHECKING:
    from fechner.runs import Result

#: Columns of the CSV.
_NUMBERS = ("value", "low", "high", "higher_is_better")
_CONDITIONS = ("mode", "layer", "readout", "published", "note")
COLUMNS = ("observer", "suite", "test", "score", *_NUMBERS, *_CONDITIONS)


def format_scores(results: Sequence[Result], format: str = "table") -> str:
    """Return scores as text.

    Parameters
    ----------
    format
        ``"table"``, ``"md"`` or ``"latex"``: main scores with 95 % intervals, observers across;
        ``"csv"``: all scores; ``"json"``: all scores with everything that is known of each;
        ``"layers"``: the main scores of every layer and read-out, a table for each observer;
        ``"checks"``: what is asked by yes, partly or no.

    Examples
    --------
    >>> import fechner
    >>> run = fechner.evaluate("pixels", tests="area", scores_only=True, progress=False)
    >>> print(format_scores(run.scores(), "csv").splitlines()[0])
    observer,suite,test,score,value,low,high,higher_is_better,mode,layer,readout,published,note
    """
    if format in _OTHERS:
        return _OTHERS[format](results).write()
    return summarise_scores(results).write(format)


def records(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return everything that is known of each score, the columns of the CSV first."""
    rows = []
    for result in results:
        known = {**vars(result.score), **vars(result), "score": result.score.name}
        rows.append({name: known[name] for name in COLUMNS} | known)
    return rows


def summarise_scores(results: Sequence[Result], heading: str = "") -> Summary:
    """Return main scores of the last layer measured, observers across.

    A test has a row for each read-out and layer that is not the natural one, named. Published
    numbers stand beside those of the same protocol.
    """
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    notes: dict[str, list[str]] = {}
    for result in (each for each in results if each.main and each.last):
        scores = [score for score in (result.score, result.score.beside) if score is not None]
        for score in scores:
            label = f"{score.name} {score.arrow} {result.place}".strip()
            cell = interval(score.value, score.low, score.high)
            if score.of > score.n:
                cell += f" ({score.n} of {score.of})"
            is_main = score is result.score
            if is_main and result.mode == "published" and not math.isnan(result.published):
                cell += f" paper {number(result.published)}"
            cells.setdefault((result.test, label), {})[result.observer] = cell
        said = dict.fromkeys(note for each in scores for note in each.note.split("; ") if note)
        if said:
            notes.setdefault(f"{result.test}: {'; '.join(said)}", []).append(result.observer)
    rows = records(results)
    of_result = ("name", "main", "last", "place")
    return Summary(
        [crossed(("test", "score"), cells, heading)],
        notes=_with_names(notes),
        columns=COLUMNS,
        rows=rows,
        details=[{k: v for k, v in row.items() if k not in of_result} for row in rows],
    )


def _with_names(notes: dict[str, list[str]]) -> list[str]:
    return [f"{note} ({', '.join(dict.fromkeys(names))})" for note, names in notes.items()]


def _layers(results: Sequence[Result]) -> Summary:
    tables = []
    for observer in dict.fromkeys(result.observer for result in results):
        cells: dict[tuple[str, ...], dict[str, str]] = {}
        for each in results:
            if each.observer == observer and each.main:
                place = (each.score.layer, each.score.readout)
                cells.setdefault(place, {})[each.test] = number(each.score.value)
        tables.append(crossed(("layer", "read-out"), cells, observer))
    return Summary(tables)


def _checks(results: Sequence[Result]) -> Summary:
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    rules: dict[str, list[str]] = {}
    for result in results:
        score = result.score
        if score.is_check and result.last:
            passed = f" {round(score.value * score.n)}/{score.n}" if score.n else ""
            place = f"{result.observer} {result.place}".strip()
            cells.setdefault((result.test, score.claim), {})[place] = score.verdict + passed
            rules.setdefault(f"{score.claim}: {score.rule}", []).append(result.test)
    if not cells:
        return Summary([], notes=["nothing is asked by yes or no in these tests."])
    return Summary([crossed(("test", "claim"), cells)], notes=_with_names(rules))


_OTHERS: dict[str, Callable[[Sequence[Result]], Summary]] = {"layers": _layers, "checks": _checks}

#: Formats of `format_scores`.
SCORE_FORMATS = (*FORMATS[:1], *_OTHERS, *FORMATS[1:])


def compare_seeds(runs: Sequence[Sequence[Result]]) -> str:
    """Return how main scores vary between runs that differ in their seed only, as a text table.

    ``inside`` says whether all of them lie within the interval of the first run.
    """
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result in (result for results in runs for result in results):
        if result.main and result.last:
            place = (result.observer, result.test, result.score.readout)
            found.setdefault(place, []).append(result)
    rows = []
    for place, results in found.items():
        values = [result.score.value for result in results]
        first = results[0].score
        known = not any(map(math.isnan, values))
        low, high = (min(values), max(values)) if known else (math.nan, math.nan)
        rows.append(
            dict(zip(("observer", "test", "read-out"), place, strict=True))
            | {
                "seeds": str(len(values)),
                "mean": number(statistics.fmean(values)),
                "sd": f"{statistics.pstdev(values):.4f}" if known else "n/a",
                "range": f"{number(low)} to {number(high)}",
                "interval": f"[{number(first.low)}, {number(first.high)}]",
                "inside": "yes" if first.low <= low and high <= first.high else "no",
            }
        )
    return Summary([table_of(rows)]).write()

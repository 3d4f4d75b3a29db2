"""All scores of all observers, a column for every test.

Scores are dots with their intervals, or bars where a paper printed them without any.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fechner.errors import FechnerError
from fechner.references import reference
from fechner.report.comparing.scoring import score_observers
from fechner.report.contenders import Contender, choose, choose_place, choose_tests, entrants
from fechner.report.figures.axes import Scale, set_axis
from fechner.report.figures.grid import draw_legends
from fechner.report.figures.marks import line_sample, patch
from fechner.report.figures.style import (
    CHANCE,
    CHARACTER_MM,
    HEIGHT_MM,
    INK,
    LINE_MM,
    MARKERS,
    PALETTE,
    PEOPLE,
    check_columns,
    finish,
    fit_height,
    new_page,
    plain,
    shortened,
    wrapped,
)
from fechner.runs import Result
from fechner.scores import Score
from fechner.scores.panels import Axis
from fechner.suites import PRESETS, preset, suite

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Widths of axes: wished for, and the least whose ticks can be read; what stands between them.
_WIDTH_MM, _NARROWEST_MM, _BETWEEN_MM = 22.0, 8.0, 3.1
#: The part of the page that labels may take, and what they may where tests fill it.
_LABELS, _LABELS_MM = 0.36, 40.0
#: Height of what stands below all axes.
_FOOTER_MM = 24.0
#: How much of a line a bar takes.
_BAR = 0.66


@dataclass(frozen=True)
class Row:
    """An observer, by one read-out of one layer.

    Parameters
    ----------
    place
        Read-out and layer in words, where they are not the natural ones.
    family
        To which the observer belongs; empty if that is not known.
    scores
        By test; one that was not measured is not there.
    """

    observer: str
    place: str
    family: str
    scores: Mapping[str, Score]


def there(
    results: Sequence[tuple[str, Result]], what: Literal["layer", "readout"]
) -> dict[str, list[str]]:
    """Return the layers or read-outs of each observer that there are results of, each once."""
    found: dict[str, dict[str, None]] = {}
    for label, result in results:
        found.setdefault(label, {})[getattr(result.score, what)] = None
    return {label: list(names) for label, names in found.items()}


def rows_of(
    observers: Sequence[Contender],
    results: Sequence[tuple[Contender, Result]],
    layer: str | None,
    readout: str | None,
) -> list[Row]:
    """Return the rows of observers: by default the last layer, by each of its read-outs."""
    labelled = [(contender.label, result) for contender, result in results]
    layers = {label: names[::-1] for label, names in there(labelled, "layer").items()}
    at = choose_place("layer", layer, layers)
    by = choose_place("read-out", readout, there(labelled, "readout"))
    measured = {(label, result.test, result.score.layer) for label, result in labelled}
    rows: dict[tuple[Contender, str], dict[str, Score]] = {}
    for contender, result in results:
        label, score = contender.label, result.score
        # Tests that ask another ability may not have that layer; then what there is is shown.
        elsewhere = (label, result.test, at[label]) not in measured and result.last
        chosen = readout is None or score.readout == by[label]
        if chosen and (score.layer == at[label] or elsewhere):
            rows.setdefault((contender, result.place), {})[result.test] = score
    rows |= {(each, ""): {} for each in observers if each.label not in layers}
    return [Row(each.label, place, each.family, own) for (each, place), own in rows.items()]


class _Line(NamedTuple):
    """A line of the chart: a row, or the heading of a family."""

    name: str
    row: Row | None
    colour: str = PALETTE[0]
    marker: str = MARKERS[0]


def draw_scores(
    rows: Sequence[Row],
    tests: Sequence[str],
    columns: int,
    dpi: float,
    best: str = "human",
    printed_by: str = "",
) -> Figure:
    """Draw the scores of all rows in all tests.

    Parameters
    ----------
    best
        What the best score means, as suites say it.
    printed_by
        The paper that scores are from, if they were not measured; these are bars.
    """
    page = check_columns(columns)
    lines = _lines(rows)
    left = page - len(tests) * (_WIDTH_MM + _BETWEEN_MM)
    labels = _labels(lines, min(_LABELS * page, max(_LABELS_MM, left)))
    free = page - max(map(len, labels)) * CHARACTER_MM - 2 * _BETWEEN_MM
    kinds = [_kind(rows, test) for test in tests]
    across = _across(lines, tests, free, page)
    below, width = math.ceil(len(tests) / across), free / across - _BETWEEN_MM
    figure = new_page(page, dpi)
    host = draw_legends(figure, [("", _samples(rows, best, printed_by))])
    grid = host.subplots(below, across, squeeze=False).ravel().tolist()
    for unused in grid[len(tests) :]:
        unused.remove()
    scales = {kind: _scale(rows, tests, kinds, kind) for kind in kinds}
    upright = _longest_word(tests) > width + _BETWEEN_MM
    for k, (test, axes) in enumerate(zip(tests, grid, strict=False)):
        set_axis(axes, "x", scales[kinds[k]], width)
        if kinds[k + across : k + across + 1] == [kinds[k]]:
            axes.tick_params("x", labelbottom=False)
        if upright:
            axes.set_title(plain(test), rotation=90, loc="center")
        else:
            axes.set_title(wrapped(test, width + _BETWEEN_MM))
        axes.set(ylim=(len(lines) - 0.5, -0.5), yticks=[])
        _draw_test(axes, lines, test, bars=bool(printed_by))
        if k % across == 0:
            axes.set_yticks(range(len(lines)), labels)
            for line, label in zip(lines, axes.get_yticklabels(), strict=True):
                label.set_fontstyle("normal" if line.row else "italic")
    _write_kinds(grid, kinds, across, width)
    fit_height(figure, below, height_mm=len(lines) * LINE_MM)
    return finish(figure)


def _lines(rows: Sequence[Row]) -> list[_Line]:
    """Put families together under headings, if any family has several members."""
    families = list(dict.fromkeys(row.family for row in rows))
    members = {
        family: {row.observer for row in rows if row.family == family} for family in families
    }
    if not any(family and len(members[family]) > 1 for family in families):
        return [_Line(row.observer, row) for row in rows]
    lines: list[_Line] = []
    for number, family in enumerate(sorted(families, key=lambda family: not family)):
        if members[family] != {family}:  # a family of one that has its name needs no heading
            lines.append(_Line(family or "others", None))
        look = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        lines += [_Line(row.observer, row, *look) for row in rows if row.family == family]
    return lines


def _labels(lines: Sequence[_Line], room_mm: float) -> list[str]:
    """Return what stands left of the lines; names are shortened, places are not."""
    places = [f" {plain(line.row.place)}".rstrip() if line.row else "" for line in lines]
    names = list(dict.fromkeys(line.name for line in lines))
    short = shortened(names, room_mm - max(map(len, places)) * CHARACTER_MM)
    by_name = dict(zip(names, short, strict=True))
    return [by_name[line.name] + place for line, place in zip(lines, places, strict=True)]


def _kind(rows: Sequence[Row], test: str) -> str:
    """Return what a test's score is called, and which way is better."""
    score = next((row.scores[test] for row in rows if test in row.scores), None)
    return f"{score.name}\xa0{score.arrow}" if score else ""


def _longest_word(tests: Sequence[str]) -> float:
    words = [word for test in tests for word in re.split("(?<=-)", plain(test))]
    return max(map(len, words)) * CHARACTER_MM


def _across(lines: Sequence[_Line], tests: Sequence[str], free: float, page: float) -> int:
    """Return how many tests stand beside each other.

    Axes are wide unless that takes more than half a page; then as narrow as the words above them,
    and at last narrower, with upright titles.
    """
    upright = max(map(len, tests)) * CHARACTER_MM
    for width, header, part in (
        (_WIDTH_MM, 2 * LINE_MM, 0.5),
        (_longest_word(tests) - _BETWEEN_MM, 2 * LINE_MM, 1.0),
        (_NARROWEST_MM, upright, 1.0),
    ):
        across = min(max(1, int(free / (width + _BETWEEN_MM))), len(tests))
        rows = math.ceil(len(tests) / across)
        height = rows * (len(lines) * LINE_MM + header + LINE_MM) + _FOOTER_MM
        if height <= part * HEIGHT_MM:
            return math.ceil(len(tests) / rows)
    raise FechnerError(
        f"{len(lines)} lines of {len(tests)} tests do not fit on a page of {page:g} x "
        f"{HEIGHT_MM:g} mm; choose fewer observers, one test, or two columns."
    )


def _scale(rows: Sequence[Row], tests: Sequence[str], kinds: Sequence[str], kind: str) -> Scale:
    """Return the axis of all tests whose scores have one name."""
    same = [test for test, each in zip(tests, kinds, strict=True) if each == kind]
    scores = [row.scores[test] for row in rows for test in same if test in row.scores]
    values = [v for s in scores for v in (s.value, s.low, s.high, s.best, s.chance)]
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    margin = 0.06 * (max(known) - min(known) or 1.0)
    return Scale(Axis(kind), min(known) - margin, max(known) + margin)


def _draw_test(axes: Axes, lines: Sequence[_Line], test: str, bars: bool) -> None:
    scores = [line.row.scores[test] for line in lines if line.row and test in line.row.scores]
    if scores:
        axes.axvline(scores[0].best, color=INK, linewidth=0.8, linestyle=PEOPLE, zorder=1)
        axes.axvline(scores[0].chance, color=INK, linewidth=0.8, linestyle=CHANCE, zorder=1)
    axes.tick_params(axis="y", length=0)
    middle = axes.get_yaxis_transform()
    for place, line in enumerate(lines):
        if line.row is None:
            continue
        axes.axhline(place, color="#E4E4E4", linewidth=0.5, zorder=0)
        score = line.row.scores.get(test)
        if score is None or math.isnan(score.value):
            words = "–" if score is None else "n/a"
            axes.text(0.5, place, words, transform=middle, ha="center", va="center", zorder=3)
        elif bars:
            axes.barh(place, score.value, _BAR, color=line.colour, linewidth=0.0, zorder=2)
        else:
            if math.isfinite(score.low) and math.isfinite(score.high):
                axes.plot([score.low, score.high], [place] * 2, color=line.colour, zorder=2)
            style: dict[str, Any] = {"color": line.colour, "marker": line.marker}
            axes.plot([score.value], [place], mew=0.0, ms=3.6, zorder=3, **style)


def _write_kinds(grid: Sequence[Axes], kinds: Sequence[str], across: int, width: float) -> None:
    """Write what scores are below the lowest axes, once for neighbours that have the same."""
    below = [*kinds[across:], *[""] * across]
    lowest = [k for k, kind in enumerate(kinds) if below[k] != kind]
    for (_, kind), found in groupby(lowest, key=lambda k: (k // across, kinds[k])):
        group = list(found)
        # At the middle of all of them.
        middle = grid[group[(len(group) - 1) // 2]]
        words = wrapped(kind, len(group) * (width + _BETWEEN_MM))
        middle.set_xlabel(words, x=0.5 if len(group) % 2 else 1.0)


def named_best(best: str) -> str:
    """Return what the line at the best score is called.

    Examples
    --------
    >>> named_best("human"), named_best("no error")
    ('perfectly human', 'no error')
    """
    return "perfectly human" if best == "human" else best


def _samples(rows: Sequence[Row], best: str, printed_by: str) -> dict[str, object]:
    scores = [score for row in rows for score in row.scores.values()]
    over = " or ".join(dict.fromkeys(score.resampled for score in scores))
    measured = {f"score, 95 % interval over {over}": line_sample(color=INK, marker="o", mew=0.0)}
    printed = {f"score as printed by {printed_by}": patch(facecolor=INK, linewidth=0.0)}
    return {
        **(printed if printed_by else measured),
        named_best(best): line_sample(color=INK, linewidth=0.8, linestyle=PEOPLE),
        "chance": line_sample(color=INK, linewidth=0.8, linestyle=CHANCE),
    }


# What papers printed


def is_table(source: object) -> bool:
    """Whether something names a published table, such as ``@cai2025``, rather than a run."""
    return isinstance(source, str | Path) and str(source).startswith("@")


def draw_printed(
    table: str, test: str | None, observers: Sequence[str] | None, columns: int, dpi: float
) -> Figure:
    """Draw what a published table such as ``@cai2025`` has, families together.

    Observers have the paper's names: those of one name are told apart by what they were trained
    on, and a family of one gives its name.
    """
    name = table[1:]
    rows = preset(name)
    if not any(row.scores for row in rows):
        raise FechnerError(f"{table} has observers but no scores: its paper prints none.")
    every = entrants([table])
    chosen = every if observers is None else choose(every, observers)
    own = suite(PRESETS[name])
    there = choose_tests(every, None if test is None else [test])
    tests = [each.id for each in own.build(published=True) if each.id in there]
    scored, _ = score_observers(chosen, tests)
    members = Counter(row.family for row in rows)
    same = Counter((row.family, row.architecture) for row in rows)
    labels = {}
    for row in rows:
        labels[row.label] = row.family if members[row.family] == 1 else row.architecture
        if same[row.family, row.architecture] > 1:
            labels[row.label] += f", {row.training_data}"
    found = [
        Row(labels[each.observer], "", row.family, row.scores)
        for each, row in zip(chosen, scored, strict=True)
        if row.scores or observers is not None
    ]
    return draw_scores(found, tests, columns, dpi, own.best, reference(name).short)

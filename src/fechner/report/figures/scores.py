"""All scores of all observers, a column for every test.

Scores are dots with their intervals, or bars where a paper printed them without any.
"""

from __future__ import annotations

import math
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
    HEIGHT_MM,
    INK,
    LARGE_PT,
    LINE_MM,
    MARKERS,
    PALETTE,
    PEOPLE,
    TITLE_PT,
    check_columns,
    finish,
    fit_height,
    fitted,
    new_page,
    plain,
    width_mm,
    wrapped,
)
from fechner.runs import Result
from fechner.scores import Score
from fechner.scores.panels import Axis
from fechner.suites import PRESETS, preset, suite
from fechner.suites.published import Row as Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW_MM = 3.4
#: Width of axes to begin with; what stands between them, and around all of them.
_WIDTH_MM, _BETWEEN_MM, _AROUND_MM = 22.0, 3.1, 6.0
#: Parts of the page that labels may take, one after the other.
_LABELS = (0.36, 0.27, 0.18)
#: The narrowest axes whose ticks can be read, below titles that stand upright.
_NARROWEST_MM = 9.0
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


class _Plan(NamedTuple):
    """How tests are set: axes of a width beside each other and in rows, and what is written."""

    across: int
    rows: int
    width_mm: float
    labels: list[str]
    titles: list[str]
    upright: bool


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
    kinds = [_kind(rows, test) for test in tests]
    plan = _plan(lines, tests, kinds, page)
    figure = new_page(page, plan.rows * (len(lines) * _ROW_MM + 10.0) + 20.0, dpi)
    host = draw_legends(figure, [("", _samples(rows, best, printed_by))])
    grid = host.subplots(plan.rows, plan.across, squeeze=False).ravel().tolist()
    for unused in grid[len(tests) :]:
        unused.remove()
    scales = {kind: _scale(rows, tests, kinds, kind) for kind in kinds}
    for k, (test, axes) in enumerate(zip(tests, grid, strict=False)):
        below = kinds[k + plan.across] if k + plan.across < len(tests) else None
        set_axis(axes, "x", scales[kinds[k]], plan.width_mm, labelled=below != kinds[k])
        axes.set(ylim=(len(lines) - 0.5, -0.5), yticks=[])
        axes.set_title(plan.titles[k], **_UPRIGHT if plan.upright else {})
        _draw_test(axes, lines, test, bars=bool(printed_by))
        if k % plan.across == 0:
            axes.set_yticks(range(len(lines)), plan.labels)
            for line, label in zip(lines, axes.get_yticklabels(), strict=True):
                label.set_fontstyle("normal" if line.row else "italic")
    _write_kinds(grid, kinds, plan)
    fit_height(figure, plan.rows, height_mm=len(lines) * _ROW_MM)
    return finish(figure)


_UPRIGHT: dict[str, Any] = {"rotation": 90.0, "loc": "center"}


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


def _kind(rows: Sequence[Row], test: str) -> str:
    """Return what a test's score is called, and which way is better."""
    score = next((row.scores[test] for row in rows if test in row.scores), None)
    return f"{score.name}\xa0{score.arrow}" if score else ""


def _plan(lines: Sequence[_Line], tests: Sequence[str], kinds: Sequence[str], page: float) -> _Plan:
    """Return how tests are set.

    Axes are as wide as can be. Where the page is full labels become shorter, axes as narrow as the
    longest word above them, and arrows stand below the axes only. At last titles stand upright.
    """
    heads = [
        f"{test}\xa0{kind[-1:]}" if kind else test for test, kind in zip(tests, kinds, strict=True)
    ]
    for share in _LABELS:
        labels = _labels(lines, share * page)
        free = page - max(map(width_mm, labels)) - _AROUND_MM
        found: list[tuple[float, _Plan]] = []
        for names in (heads, tests):
            least = (
                max(width_mm(wrapped(name, 0.0), TITLE_PT) for name in names) - _BETWEEN_MM + 1.0
            )
            for wanted in (max(least, _WIDTH_MM), least):
                across, rows, width = _columns(len(tests), free, wanted)
                titles = [wrapped(name, width + _BETWEEN_MM - 1.0, TITLE_PT) for name in names]
                header = (max(title.count("\n") for title in titles) + 1) * LINE_MM
                total = rows * (len(lines) * _ROW_MM + header + LINE_MM)
                found.append((total, _Plan(across, rows, width, labels, titles, False)))
        fitting = [each for each in found if each[0] <= HEIGHT_MM - 7 * LINE_MM]
        # The widest axes that do not fill the page, else whatever is lowest.
        low = [plan for total, plan in fitting if total <= HEIGHT_MM / 2]
        if fitting:
            return low[0] if low else min(fitting, key=lambda each: each[0])[1]
    across, rows, width = _columns(len(tests), free, _NARROWEST_MM)
    header = max(width_mm(plain(head), TITLE_PT) for head in heads) + 2.4
    if rows * (len(lines) * _ROW_MM + header + LINE_MM) > HEIGHT_MM - 7 * LINE_MM:
        raise FechnerError(
            f"{len(lines)} lines of {len(heads)} tests do not fit on a page of {page:g} x "
            f"{HEIGHT_MM:g} mm; choose fewer observers, one test, or two columns."
        )
    return _Plan(across, rows, width, labels, list(map(plain, heads)), True)


def _columns(n: int, free_mm: float, width_mm: float) -> tuple[int, int, float]:
    """Return how many axes of a width stand beside each other and in rows, and their own width."""
    rows = math.ceil(n / min(max(1, int(free_mm / (width_mm + _BETWEEN_MM))), n))
    across = math.ceil(n / rows)
    return across, rows, free_mm / across - _BETWEEN_MM


def _labels(lines: Sequence[_Line], room_mm: float) -> list[str]:
    """Return what stands left of the lines; names are shortened, places are not."""
    places = [plain(line.row.place) if line.row else "" for line in lines]
    names = list(dict.fromkeys(line.name for line in lines))
    room = room_mm - max(width_mm(f" {place}") for place in places)
    short = dict(zip(names, fitted(names, room), strict=True))
    return [
        f"{short[line.name]} {place}".strip() for line, place in zip(lines, places, strict=True)
    ]


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


def _write_kinds(grid: Sequence[Axes], kinds: Sequence[str], plan: _Plan) -> None:
    """Write what scores are below the lowest axes, once for neighbours that have the same.

    What has no room there stands beside a title that is upright.
    """
    below = [*kinds[plan.across :], *[None] * plan.across]
    lowest = [k for k, kind in enumerate(kinds) if below[k] != kind]
    for (_, kind), found in groupby(lowest, key=lambda k: (k // plan.across, kinds[k])):
        group = list(found)
        room = len(group) * (plan.width_mm + _BETWEEN_MM) - _BETWEEN_MM
        words = wrapped(kind, room, LARGE_PT)
        if plan.upright and width_mm(words, LARGE_PT) > room:
            for k in group:
                title = f"{plan.titles[k]}\n{kind.partition(chr(160))[0]}"
                grid[k].set_title(title, **_UPRIGHT)
            continue
        # At the middle of all of them.
        middle = grid[group[(len(group) - 1) // 2]]
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
    """Draw what a published table has, families together, a column for every test.

    Parameters
    ----------
    table
        Its name, such as ``@cai2025``.
    test, observers
        Which to show; all if None.
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
    labels = _printed_names(rows)
    found = [
        Row(labels[each.observer], "", row.family, row.scores)
        for each, row in zip(chosen, scored, strict=True)
        if row.scores or observers is not None
    ]
    return draw_scores(found, tests, columns, dpi, own.best, reference(name).short)


def _printed_names(rows: Sequence[Published]) -> dict[str, str]:
    """Return what a paper calls each observer, where it stands under its family.

    Those of one name are told apart by what they were trained on; a family of one gives its name.
    """
    members = Counter(row.family for row in rows)
    same = Counter((row.family, row.architecture) for row in rows)
    return {
        row.label: row.family
        if members[row.family] == 1
        else f"{row.architecture}, {row.training_data}"
        if same[row.family, row.architecture] > 1
        else row.architecture
        for row in rows
    }

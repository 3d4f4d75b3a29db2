"""All scores of all observers, a column for every test.

Scores are dots with their intervals, or bars where a paper printed them without any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from fechner.errors import FechnerError
from fechner.report.paper.drawing import CHANCE, PEOPLE
from fechner.report.paper.keys import Key, line_sample, patch
from fechner.report.paper.layout import Grid, Layout, Room, Side, lay_out
from fechner.report.paper.lettering import (
    LARGE_PT,
    LINE_MM,
    NO_BREAK,
    TITLE_PT,
    fitted,
    plain,
    width_mm,
    wrapped,
)
from fechner.report.paper.scales import Scale, Ticks, set_scale, ticks_of
from fechner.report.paper.style import (
    HEIGHT_MM,
    INK,
    MARKERS,
    PALETTE,
    axes_at,
    check_columns,
    settle,
    sheet,
    write_title,
)
from fechner.scores import Score
from fechner.scores.panels import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW_MM = 3.4
#: Width of axes to begin with; what stands between them, and around all of them.
_WIDTH_MM, _BETWEEN_MM, _AROUND_MM = 22.0, 3.1, 6.0
#: How far a title may reach into the space between axes.
_OVERHANG_MM = _BETWEEN_MM - 1.0
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


@dataclass(frozen=True)
class _Line:
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
    kinds = {test: _kind(rows, test) for test in tests}
    key = _key(rows, page, best, printed_by)
    heads = [f"{test}{NO_BREAK}{kinds[test][-1:]}" if kinds[test] else test for test in tests]
    grid, labels, titles, upright = _choose_grid(lines, heads, page, key)
    below_axes = [kinds[test] for test in tests]
    if upright:
        below_axes = _kinds_with_room(below_axes, grid)
        titles = [
            title if kind or not kinds[test] else f"{title}\n{kinds[test].partition(NO_BREAK)[0]}"
            for test, title, kind in zip(tests, titles, below_axes, strict=True)
        ]
    limits = _scales(rows, tests, kinds)
    names = Ticks(tuple(range(len(lines))), tuple(labels))
    up = Scale(Axis(""), len(lines) - 0.5, -0.5)
    sides: list[tuple[Side, Side] | None] = []
    for k, test in enumerate(tests):
        ticks = ticks_of(limits[test], "x", grid.width_mm)
        below = tests[k + grid.across] if k + grid.across < len(tests) else None
        last = below is None or limits[below] != limits[test]
        words = below_axes[k] if below is None or kinds[below] != kinds[test] else ""
        sides.append(
            (
                Side(limits[test], ticks, last, wrapped(words, grid.width_mm, LARGE_PT)),
                Side(up, names, labelled=k % grid.across == 0),
            )
        )
    rows_of_titles = [titles[k : k + grid.across] for k in range(0, len(titles), grid.across)]
    headers = [_header_mm(row, upright) for row in rows_of_titles]
    layout = lay_out(sides, grid, page, Room(max(headers), 0.0), ("", ""), key.height_mm, headers)
    figure = sheet(page, layout.height_mm, dpi)
    for test, title, both, place in zip(tests, titles, sides, layout.axes, strict=True):
        axes = axes_at(figure, *place)
        assert both is not None
        for which, side in zip(("x", "y"), both, strict=True):
            set_scale(axes, which, side.scale, side.ticks, side.labelled)  # type: ignore[arg-type]
        if upright:
            _write_upright(figure, title, place)
        else:
            write_title(figure, title, place[0], place[1] + place[3] + 0.8)
        _draw_test(axes, lines, test, bars=bool(printed_by))
    _head_lines(figure.axes, lines)
    _write_kinds(figure, below_axes, layout, grid)
    key.draw(figure)
    return settle(figure)


def _lines(rows: Sequence[Row]) -> list[_Line]:
    """Put families together under headings, if any family has several members."""
    families = list(dict.fromkeys(row.family for row in rows))
    members = {
        family: {row.observer for row in rows if row.family == family} for family in families
    }
    if not any(family and len(members[family]) > 1 for family in families):
        return [_Line(row.observer, row) for row in rows]
    lines: list[_Line] = []
    known = [family for family in families if family]
    for number, family in enumerate([*known, ""] if "" in families else known):
        if members[family] != {family}:  # a family of one that has its name needs no heading
            lines.append(_Line(family or "others", None))
        look = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        lines += [_Line(row.observer, row, *look) for row in rows if row.family == family]
    return lines


def _kind(rows: Sequence[Row], test: str) -> str:
    """Return what a test's score is called, which way is better, and where people are."""
    scores = [row.scores[test] for row in rows if test in row.scores]
    if not scores:
        return ""
    first = scores[0]
    return f"{first.name}{NO_BREAK}{first.arrow}"


def _choose_grid(
    lines: Sequence[_Line], heads: Sequence[str], page_mm: float, key: Key
) -> tuple[Grid, list[str], list[str], bool]:
    """Return how tests are set, labels of lines, titles of axes, and whether these stand upright.

    Axes are as wide as can be. Where the page is full labels become shorter, axes as narrow as the
    longest word above them, and arrows stand below the axes only. At last titles stand upright.
    """
    height = len(lines) * _ROW_MM
    for share in _LABELS:
        labels = _labels(lines, share * page_mm)
        free = page_mm - max(map(width_mm, labels)) - _AROUND_MM
        found = []
        for room in ("wide", "narrow", "bare", "upright"):
            names = [head.partition(NO_BREAK)[0] for head in heads] if room == "bare" else heads
            words = [word for name in names for word in wrapped(name, 0.0).split("\n")]
            least = max(width_mm(word, TITLE_PT) for word in words) - _OVERHANG_MM
            wanted = max(least, _WIDTH_MM) if room == "wide" else least
            if room == "upright":
                wanted = _NARROWEST_MM
            most = min(max(1, int(free / (wanted + _BETWEEN_MM))), len(names))
            rows = math.ceil(len(names) / most)
            across = math.ceil(len(names) / rows)
            width = free / across - _BETWEEN_MM
            upright = room == "upright"
            titles = (
                [plain(name) for name in names]
                if upright
                else [wrapped(name, width + _OVERHANG_MM, TITLE_PT) for name in names]
            )
            total = rows * (height + _header_mm(titles, upright) + LINE_MM)
            if total + key.height_mm + 5 * LINE_MM <= HEIGHT_MM:
                found.append((total, (Grid(across, rows, width, height), labels, titles, upright)))
        # The widest axes that do not fill the page, else whatever is lowest; upright if need be.
        lying = [each for each in found if not each[1][-1]]
        low = [each for each in lying if each[0] <= HEIGHT_MM / 2]
        best = low or sorted(lying, key=lambda each: each[0])
        if best or (found and share == _LABELS[-1]):
            return (best or found)[0][1]
    raise FechnerError(
        f"{len(lines)} lines of {len(heads)} tests do not fit on a page of {page_mm:g} x "
        f"{HEIGHT_MM:g} mm; choose fewer observers, one test, or two columns."
    )


def _labels(lines: Sequence[_Line], room_mm: float) -> list[str]:
    """Return what stands left of the lines; names are shortened, places are not."""
    places = [plain(line.row.place) if line.row else "" for line in lines]
    names = list(dict.fromkeys(line.name for line in lines))
    room = room_mm - max(width_mm(f" {place}") for place in places)
    short = dict(zip(names, fitted(names, room), strict=True))
    return [
        f"{short[line.name]} {place}".strip() for line, place in zip(lines, places, strict=True)
    ]


def _header_mm(titles: Sequence[str], upright: bool = False) -> float:
    if upright:
        return max(width_mm(line, TITLE_PT) for title in titles for line in title.split("\n")) + 2.4
    return (max(title.count("\n") for title in titles) + 1) * LINE_MM + 1.6


def _write_upright(figure: Figure, title: str, place: tuple[float, float, float, float]) -> None:
    """Write a title from bottom to top, above the middle of its axes."""
    width, height = (float(side) * 25.4 for side in figure.get_size_inches())
    left, bottom, wide, high = place
    figure.text(
        (left + wide / 2) / width,
        (bottom + high + 1.4) / height,
        title,
        fontsize=TITLE_PT,
        rotation=90.0,
        ha="center",
        va="bottom",
    )


def _scales(
    rows: Sequence[Row], tests: Sequence[str], kinds: Mapping[str, str]
) -> dict[str, Scale]:
    """Return the axis of every test; scores of one name share theirs."""
    found: dict[str, Scale] = {}
    for test in tests:
        same = [
            row.scores[other]
            for row in rows
            for other in tests
            if kinds[other] == kinds[test] and other in row.scores
        ]
        values = [
            value
            for score in same
            for value in (score.value, score.low, score.high, score.best, score.chance)
            if math.isfinite(value)
        ] or [0.0, 1.0]
        low, high = min(values), max(values)
        margin = 0.06 * (high - low or 1.0)
        found[test] = Scale(Axis(kinds[test]), low - margin, high + margin)
    return found


def _draw_test(axes: Axes, lines: Sequence[_Line], test: str, bars: bool = False) -> None:
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
            continue
        if bars:
            axes.barh(place, score.value, _BAR, color=line.colour, linewidth=0.0, zorder=2)
            continue
        if math.isfinite(score.low) and math.isfinite(score.high):
            axes.plot([score.low, score.high], [place] * 2, color=line.colour, zorder=2)
        axes.plot(
            [score.value], [place], color=line.colour, marker=line.marker, mew=0.0, ms=3.6, zorder=3
        )


def _head_lines(axes: Sequence[Axes], lines: Sequence[_Line]) -> None:
    """Set the headings of families apart."""
    for on in axes:
        for line, label in zip(lines, on.get_yticklabels(), strict=True):
            if line.row is None:
                label.set_fontstyle("italic")


def _write_kinds(figure: Figure, kinds: Sequence[str], layout: Layout, grid: Grid) -> None:
    """Write what scores are below the lowest axes, once for neighbours that have the same."""
    width, height = (float(side) * 25.4 for side in figure.get_size_inches())
    for kind, group in _neighbours(kinds, grid):
        left, bottom, _, _ = layout.axes[group[0]]
        last, _, wide, _ = layout.axes[group[-1]]
        figure.text(
            (left + last + wide) / 2 / width,
            (bottom - LINE_MM - 2.2) / height,
            wrapped(kind, last + wide - left, LARGE_PT),
            fontsize=LARGE_PT,
            ha="center",
            va="top",
        )


def _neighbours(kinds: Sequence[str], grid: Grid) -> list[tuple[str, list[int]]]:
    """Return lowest axes beside each other whose scores are the same."""
    below = [*kinds[grid.across :], *[None] * grid.across]
    lowest = [k for k, kind in enumerate(kinds) if below[k] != kind]
    groups = groupby(lowest, key=lambda k: (k // grid.across, kinds[k]))
    return [(kind, list(found)) for (_, kind), found in groups]


def _kinds_with_room(kinds: Sequence[str], grid: Grid) -> list[str]:
    """Return what scores are where there is room for it below axes, else nothing."""
    shown = list(kinds)
    for kind, group in _neighbours(kinds, grid):
        words = wrapped(kind, 0.0, LARGE_PT).split("\n")
        if max(width_mm(word, LARGE_PT) for word in words) > len(group) * grid.width_mm:
            for k in group:
                shown[k] = ""
    return shown


def named_best(best: str) -> str:
    """Return what the line at the best score is called.

    Examples
    --------
    >>> named_best("human"), named_best("no error")
    ('perfectly human', 'no error')
    """
    return "perfectly human" if best == "human" else best


def _key(rows: Sequence[Row], room_mm: float, best: str, printed_by: str) -> Key:
    scores = [score for row in rows for score in row.scores.values()]
    over = " or ".join(dict.fromkeys(score.resampled for score in scores))
    measured = {f"score, 95 % interval over {over}": line_sample(color=INK, marker="o", mew=0.0)}
    printed = {f"score as printed by {printed_by}": patch(facecolor=INK, linewidth=0.0)}
    samples = {
        **(printed if printed_by else measured),
        named_best(best): line_sample(color=INK, linewidth=0.8, linestyle=PEOPLE),
        "chance": line_sample(color=INK, linewidth=0.8, linestyle=CHANCE),
    }
    return Key.of(samples, room_mm)

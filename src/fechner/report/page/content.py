"""What a page holds: everything about a group of contenders, for its template and its script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import RunFolderError
from fechner.report.contenders import Contender, Group
from fechner.report.depth import depth_panel
from fechner.runs import Result
from fechner.scores import distance
from fechner.scores.panels import Axis, Line, Mark, Panel, Points, Surface
from fechner.scores.summary import MeanDistance, mean_distance
from fechner.suites import PRESETS, Test, preset
from fechner.suites.published import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Layers and read-outs of one observer whose panels a page holds; scores are there for all.
_PLACES = 12

#: Layer and read-out.
Place = tuple[str, str]


@dataclass(frozen=True)
class Standing:
    """A line of the leaderboard: an observer at the last layer measured, by one read-out.

    Parameters
    ----------
    label
        The contender's, with layer and read-out where they are not the natural ones.
    contender
        Its number in the group.
    results
        Every score of that place, by test; the first of each is the main one.
    mean
        Distance from human over all tests.
    """

    label: str
    contender: int
    place: Place
    results: dict[str, list[Result]]
    mean: MeanDistance


@dataclass(frozen=True)
class Printed:
    """A row of a published table, with its distances from human by test and their mean."""

    row: Row
    distances: dict[str, float]
    mean: float


@dataclass(frozen=True)
class Chapter:
    """A group with its scores.

    Parameters
    ----------
    results
        Every score with the number of its contender.
    standings
        Nearest to human first.
    published
        Rows of published tables of the same suite.
    problems
        What could not be measured or read, in a line each.
    """

    group: Group
    results: list[tuple[int, Result]]
    standings: list[Standing]
    published: list[Printed]
    problems: list[str]

    @property
    def tests(self) -> list[Test]:
        """The tests of the group."""
        return self.group.tests

    def example(self, test: str) -> Result | None:
        """Return any main score of a test, which says what it is called and which way is better."""
        return next((r for _, r in self.results if r.main and r.test == test), None)

    def lacks_figures(self, test: Test) -> bool:
        """Whether a test has pieces for figures, and nobody was shown them."""
        names = {piece.name for piece in test.experiment.pieces() if not piece.for_scores}
        done = {
            (entry.test, entry.piece)
            for run in self.group.runs
            for entry in run.entries()
            if entry.status == "done"
        }
        return bool(names) and not any((test.id, name) in done for name in names)

    def parameters(self, test: str) -> dict[str, Any]:
        """Return every parameter of a test as its run stored it."""
        return next(
            run.manifest.tests[test] for run in self.group.runs if test in run.manifest.tests
        )

    def places(self, contender: int) -> list[Place]:
        """Return where a contender was read out, the last layer first, as far as a page holds it.

        Read-outs of the last layer come first, then the other layers from last to first.
        """
        found = {_place(result): result for number, result in self.results if number == contender}
        first = [place for place, result in found.items() if result.last]
        return [*first, *(place for place in reversed(found) if place not in first)][:_PLACES]


def chapter(group: Group, progress: bool = False) -> Chapter:
    """Score everything in a group."""
    numbers = {
        (id(contender.run), contender.observer): number
        for number, contender in enumerate(group.contenders)
    }
    results: list[tuple[int, Result]] = []
    problems: list[str] = []
    for run in group.runs:
        found, wrong = run.assess(progress=progress)
        results += [(numbers[id(run), result.observer], result) for result in found]
        problems += wrong
    return Chapter(group, results, _standings(group, results), _printed(group), problems)


def _printed(group: Group) -> list[Printed]:
    """Return published rows of the group's suite, with the group's tests."""
    rows = [
        row for name, suite in PRESETS.items() if suite == group.suite.name for row in preset(name)
    ]
    tests = group.tests
    printed = []
    for row in rows:
        distances = {
            test.id: distance(test.scorer.printed(row.scores[test.id], test.experiment))
            for test in tests
            if test.id in row.scores
        }
        if distances:
            printed.append(Printed(row, distances, fmean(distances.values())))
    return printed


def _place(result: Result) -> Place:
    return result.score.layer, result.score.readout


def _standings(group: Group, results: Sequence[tuple[int, Result]]) -> list[Standing]:
    together: dict[tuple[int, str], list[Result]] = {}
    for number, result in results:
        if result.last:
            together.setdefault((number, result.score.readout), []).append(result)
    standings = []
    for (number, _), found in together.items():
        by_test: dict[str, list[Result]] = {}
        for result in found:
            by_test.setdefault(result.test, []).append(result)
        standings.append(
            Standing(
                f"{group.contenders[number].label} {found[0].place}".strip(),
                number,
                _place(found[0]),
                by_test,
                mean_distance([own[0].score for own in by_test.values()]),
            )
        )
    return sorted(
        standings, key=lambda each: math.inf if math.isnan(each.mean.value) else each.mean.value
    )


def drawn(chapter: Chapter) -> dict[str, Any]:
    """Return what the page's script draws, as plain JSON values."""
    contenders = chapter.group.contenders
    places = [chapter.places(number) for number in range(len(contenders))]
    main = {
        (number, result.test, _place(result)): result.score
        for number, result in chapter.results
        if result.main
    }
    return {
        "tests": [{"id": test.id, "title": test.experiment.title} for test in chapter.tests],
        "contenders": [
            {"label": contender.label, "places": found}
            for contender, found in zip(contenders, places, strict=True)
        ],
        "standings": [
            {"label": standing.label, "distances": _distances(standing, chapter.tests)}
            for standing in chapter.standings
        ],
        "scores": {
            test.id: [
                [_score(main.get((number, test.id, place))) for place in found]
                for number, found in enumerate(places)
            ]
            for test in chapter.tests
        },
        "panels": {
            test.id: [
                _panels(test, contender, found)
                for contender, found in zip(contenders, places, strict=True)
            ]
            for test in chapter.tests
        },
        "depth": {test.id: _depth(chapter, test) for test in chapter.tests},
    }


def _distances(standing: Standing, tests: Sequence[Test]) -> list[list[float | None] | None]:
    """Return for each test how far from human, with its interval the same way round."""

    def of(test: Test) -> list[float | None] | None:
        if test.id not in standing.results:
            return None
        score = standing.results[test.id][0].score
        span = score.best - score.chance
        ends = sorted((score.best - end) / span for end in (score.low, score.high))
        return [_number((score.best - score.value) / span), *map(_number, ends)]

    return [of(test) for test in tests]


def _score(score: Any) -> list[float | None] | None:
    return None if score is None else [_number(v) for v in (score.value, score.low, score.high)]


def _panels(test: Test, contender: Contender, places: Sequence[Place]) -> list[list[Any]]:
    """Return the panels of every place; none where answers are missing or cannot be read."""
    try:
        data = contender.data(test.id)
    except RunFolderError:  # said among the problems already
        data = None
    if data is None:
        return []
    found = []
    for layer, readout in places:
        part = data.sel(layer=layer, readout=readout)
        found.append([as_json(panel) for panel in test.panels(part)])
    return found


def _depth(chapter: Chapter, test: Test) -> dict[str, Any] | None:
    panel = depth_panel(
        [
            (chapter.group.contenders[number].label, result)
            for number, result in chapter.results
            if result.test == test.id
        ]
    )
    return None if panel is None else as_json(panel)


def as_json(panel: Panel) -> dict[str, Any]:
    """Return a panel as plain JSON values, its numbers rounded to what can be seen."""
    return {
        "kind": panel.kind,
        "title": panel.title,
        "groups": panel.groups,
        "x": _axis(panel.x),
        "y": _axis(panel.y),
        "marks": [_mark(mark) for mark in panel.marks],
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {"label": axis.label, "log": axis.log, "ticks": axis.ticks}


def _mark(mark: Mark) -> dict[str, Any]:
    values: dict[str, Any] = {"x": _numbers(mark.x), "y": _numbers(mark.y), "label": mark.label}
    match mark:
        case Surface():
            doubtful = np.zeros(mark.z.shape, bool) if mark.doubtful is None else mark.doubtful
            values |= {
                "type": "surface",
                "z": [_numbers(row) for row in mark.z.T],
                "log": mark.log,
                "doubtful": np.argwhere(doubtful).tolist(),
                "criterion": _number(mark.criterion),
            }
        case Line():
            values |= {"type": "line", "group": mark.group, "human": mark.human}
            if mark.low is not None and mark.high is not None:
                values |= {"low": _numbers(mark.low), "high": _numbers(mark.high)}
            if mark.names:
                values["names"] = mark.names
            if mark.doubtful is not None:
                values["doubtful"] = np.flatnonzero(mark.doubtful).tolist()
        case Points():
            values |= {"type": "points", "group": mark.group}
            if mark.colour is not None:
                values |= {"colour": _numbers(mark.colour), "colourAxis": _axis(mark.colour_axis)}
    return values


def _numbers(values: NDArray[Any]) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    """Round to five digits; JSON has no NaN."""
    return float(f"{value:.5g}") if math.isfinite(value) else None

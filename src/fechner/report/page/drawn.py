"""What the script of a page draws, as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import RunFolderError
from fechner.report.contenders import Contender
from fechner.report.depth import depth_panel, readout_panels
from fechner.report.page.content import Chapter, Place, Standing, place_of
from fechner.report.palettes import GROUNDS, group_colours
from fechner.runs import Result
from fechner.scores.panels import Axis, Bars, Line, Mark, Panel, Points, Surface
from fechner.suites import Test

if TYPE_CHECKING:
    from numpy.typing import NDArray


def drawn(chapter: Chapter) -> dict[str, Any]:
    """Return what the page's script draws, as plain JSON values."""
    contenders = chapter.group.contenders
    places = [chapter.places(number) for number in range(len(contenders))]
    main = {
        (number, result.test, place_of(result)): result.score
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
        "readouts": {test.id: _readouts(chapter, test) for test in chapter.tests},
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
        others = contender.others(test)
    except RunFolderError:  # said among the problems already
        data = None
    if data is None:
        return []
    found = []
    for layer, readout in places:
        # A classifier recognises at another place than it is compared at: what there is is shown.
        layers, readouts = data["layer"].values, data["readout"].values
        part = data.sel(
            layer=layer if layer in layers else layers[-1],
            readout=readout if readout in readouts else readouts[0],
        )
        found.append([as_json(panel) for panel in test.panels(part, others)])
    return found


def _labelled(chapter: Chapter, test: Test) -> list[tuple[str, Result]]:
    return [
        (chapter.group.contenders[number].label, result)
        for number, result in chapter.results
        if result.test == test.id
    ]


def _depth(chapter: Chapter, test: Test) -> dict[str, Any] | None:
    panel = depth_panel(_labelled(chapter, test))
    return None if panel is None else as_json(panel)


def _readouts(chapter: Chapter, test: Test) -> list[dict[str, Any]]:
    found = readout_panels(_labelled(chapter, test))
    return [{"label": label, **as_json(panel)} for label, panel in found.items()]


def as_json(panel: Panel) -> dict[str, Any]:
    """Return a panel as plain JSON values, its numbers rounded to what can be seen."""
    return {
        "kind": panel.kind,
        "title": panel.title,
        "groups": panel.groups,
        "stimuli": panel.stimuli,
        "row": panel.row,
        "ordered": panel.ordered,
        "colours": [group_colours(panel, ground) for ground in GROUNDS] if panel.palette else None,
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
                "low": _number(mark.low),
                "high": _number(mark.high),
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
        case Bars():
            values |= {"type": "bars", "group": mark.group}
            values |= {"low": _numbers(mark.low), "high": _numbers(mark.high)}
    return values


def _numbers(values: NDArray[Any]) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    """Round to five digits; JSON has no NaN."""
    return float(f"{value:.5g}") if math.isfinite(value) else None

"""What the script of a page draws: panels as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import RunFolderError
from fechner.experiments import Scene
from fechner.report.contenders import Contender
from fechner.report.html import as_uri
from fechner.report.page.content import Chapter, Place, Standing, place_of
from fechner.report.panels import (
    DIVERGING,
    GROUNDS,
    Which,
    axis_of,
    depth_panel,
    edges_of,
    group_colours,
    has_cells,
    numbered,
    readout_panels,
)
from fechner.report.tiles import Pictures
from fechner.scores import distance
from fechner.scores.panels import (
    Axis,
    Gallery,
    Mark,
    Panel,
    Points,
    Surface,
    Vertical,
)
from fechner.suites import Test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fechner.stimuli import Picture, Stimulus

#: Longest side of the pictures in a gallery: they are seen at about half of it or more.
_SIDE_PX = 160


def drawn(chapter: Chapter) -> dict[str, Any]:
    """Return what the page's script draws, as plain JSON values."""
    contenders = chapter.group.contenders
    places = [chapter.places(k) for k in range(len(contenders))]
    main = {
        (k, result.test, place_of(result)): result.score
        for k, result in chapter.results
        if result.main
    }
    labelled = {
        test.id: [
            (contenders[k].label, result) for k, result in chapter.results if result.test == test.id
        ]
        for test in chapter.tests
    }
    depths = {test: depth_panel(results) for test, results in labelled.items()}
    album = Album()
    return {
        "tests": [{"id": test.id} for test in chapter.scored],
        "contenders": [
            {"label": contender.label, "places": found}
            for contender, found in zip(contenders, places, strict=True)
        ],
        "standings": [
            {"label": standing.label, "distances": _distances(standing, chapter.scored)}
            for standing in chapter.standings
        ],
        "scores": {
            test.id: [
                [_score(main.get((k, test.id, place))) for place in found]
                for k, found in enumerate(places)
            ]
            for test in chapter.tests
        },
        "main": {test: score.name for (_, test, _), score in main.items()},
        "panels": {
            test.id: [
                _panels(test, contender, found, album)
                for contender, found in zip(contenders, places, strict=True)
            ]
            for test in chapter.tests
        },
        "depth": {test: panel and as_json(panel) for test, panel in depths.items()},
        "readouts": {
            test: [{"label": k, **as_json(panel)} for k, panel in readout_panels(results).items()]
            for test, results in labelled.items()
        },
        "best": chapter.group.suite.best,
        # After the panels, which put them there.
        "pictures": album.uris,
    }


def _distances(standing: Standing, tests: Sequence[Test]) -> list[list[float | None] | None]:
    """Return for each test how far from the best, with its interval the same way round."""

    def of(test: Test) -> list[float | None] | None:
        if test.id not in standing.results:
            return None
        score = standing.results[test.id][0].score
        ends = sorted(distance(score, end) for end in (score.low, score.high))
        return [number(distance(score)), *map(number, ends)]

    return [of(test) for test in tests]


def _score(score: Any) -> list[float | None] | None:
    return None if score is None else [number(v) for v in (score.value, score.low, score.high)]


def _panels(
    test: Test, contender: Contender, places: Sequence[Place], album: Album
) -> list[list[Any]]:
    """Return the panels of every place; none where answers are missing or cannot be read."""
    try:
        data = contender.data(test.id)
        others = contender.others(test)
    except RunFolderError:  # said among the problems already
        data = None
    if data is None:
        return []
    # A classifier recognises at another place than it is compared at: what there is is shown.
    layers, readouts = data["layer"].values, data["readout"].values
    known = [place for place in places if place[0] in layers and place[1] in readouts]
    there = {place: place for place in known} or {places[0]: (layers[-1], readouts[0])}
    scene = test.experiment.scene
    found: list[list[Any]] = []
    for place in places:
        panels: Sequence[Panel] = ()
        if place in there:
            layer, readout = there[place]
            panels = test.panels(data.sel(layer=layer, readout=readout), others)
        found.append([as_json(panel, album, scene) for panel in panels])
    return found


class Album:
    """Pictures of galleries on a page: each is there once, whoever shows it."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self._scenes: dict[Scene, Pictures] = {}
        self._numbers: dict[tuple[Scene, Picture | Stimulus], int | None] = {}

    def number(self, picture: Picture | Stimulus, scene: Scene) -> int | None:
        """Return the number of a picture, None for one that cannot be drawn any more."""
        key = (scene, picture)
        if key not in self._numbers:
            pictures = self._scenes.setdefault(scene, Pictures(scene, _SIDE_PX))
            pixels = pictures[picture]
            self._numbers[key] = None if pixels is None else len(self.uris)
            if pixels is not None:
                self.uris.append(as_uri(pixels, "WEBP", quality=82, method=4))
        return self._numbers[key]


def as_json(panel: Panel, album: Album | None = None, scene: Scene | None = None) -> dict[str, Any]:
    """Return a panel as plain JSON values, its numbers rounded to what can be seen.

    Parameters
    ----------
    album, scene
        Where pictures of a gallery are put, and where they were shown.
    """
    return {
        "kind": panel.kind,
        "title": panel.title,
        "name": panel.name,
        "groups": panel.groups,
        "strips": panel.strips,
        "ordered": panel.ordered,
        "colours": [group_colours(panel, ground) for ground in GROUNDS] if panel.palette else None,
        "x": _axis_of(panel, "x"),
        "y": _axis_of(panel, "y"),
        "marks": [_mark(mark, panel, album, scene) for mark in panel.marks],
    }


def _axis_of(panel: Panel, which: Which) -> dict[str, Any]:
    return _axis(axis_of(panel, which), numbered(panel, which))


def _axis(axis: Axis, numbers: tuple[float, float] = (-math.inf, math.inf)) -> dict[str, Any]:
    return {
        "label": axis.label,
        "log": axis.log,
        "ticks": axis.ticks,
        "reversed": axis.reversed,
        "named": [[number(place), name] for place, name in axis.named],
        # Numbers stand between these only, where there are names beside them.
        "numbers": [number(end) for end in numbers],
        "low": number(axis.low),
        "high": number(axis.high),
    }


def _mark(mark: Mark, panel: Panel, album: Album | None, scene: Scene | None) -> dict[str, Any]:
    if isinstance(mark, Gallery):
        if album is None or scene is None:
            raise ValueError("a gallery is drawn with an album and the scene of its pictures.")
        items = [
            {"picture": album.number(each.picture, scene), "title": each.title, "text": each.text}
            for each in mark.items
        ]
        return {"type": "gallery", "label": "", "items": items}
    values: dict[str, Any] = {"type": type(mark).__name__.lower()}
    for name, value in vars(mark).items():
        if isinstance(value, np.ndarray):
            places = np.argwhere(value) if value.ndim > 1 else np.flatnonzero(value)
            values[name] = places.tolist() if value.dtype == bool else _numbers(value.T)
        elif isinstance(value, float):
            values[name] = number(value)
        elif value not in (None, ()) and not isinstance(value, Axis):
            values[name] = value
    match mark:
        case Vertical():
            known = not (math.isnan(mark.low) or math.isnan(mark.high))
            ends = [values.pop("low"), values.pop("high")]  # open ends have no number
            values |= {"at": values.pop("x"), "interval": ends if known else None}
        case Points() if mark.colour is not None:
            values["colourAxis"] = _axis(mark.colour_axis)
        case Surface():
            values.setdefault("doubtful", [])
            values["colours"] = DIVERGING if mark.diverging else None
            if mark.diverging:
                values["low"] = -1.0 if math.isnan(mark.low) else number(mark.low)
                values["high"] = 1.0 if math.isnan(mark.high) else number(mark.high)
            if has_cells(panel):
                edges = (edges_of(mark.x, panel.x.log), edges_of(mark.y, panel.y.log))
                values["edges"] = [_numbers(each) for each in edges]
    return values


def _numbers(values: NDArray[Any]) -> list[Any]:
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    return [number(value) for value in values.tolist()]


def number(value: float) -> float | None:
    """Round to five digits; JSON has no NaN.

    Examples
    --------
    >>> number(0.123456), number(float("nan"))
    (0.12346, None)
    """
    return float(f"{value:.5g}") if math.isfinite(value) else None

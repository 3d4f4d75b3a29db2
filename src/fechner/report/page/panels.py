"""What the script of a page draws: panels as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fechner.errors import RunFolderError
from fechner.experiments import Scene
from fechner.report import panels
from fechner.report.contenders import Contender
from fechner.report.html import as_uri
from fechner.report.page.chapter import Chapter, Place, place_of
from fechner.report.tiles import draw_picture
from fechner.scores import distance
from fechner.scores.panels import Axis, Gallery, Mark, Panel, Points, Surface, Vertical
from fechner.suites import Test

if TYPE_CHECKING:
    from fechner.stimuli import Picture, Stimulus

#: Longest side of the pictures in a gallery: they are seen at about half of it or more.
_SIDE_PX = 160


def drawn(chapter: Chapter) -> dict[str, Any]:
    """Return what the page's script draws, as plain JSON values."""
    album = Album()
    contenders = [
        (contender, chapter.places(k)) for k, contender in enumerate(chapter.group.contenders)
    ]
    main = {
        (k, result.test, place_of(result)): result.score
        for k, result in chapter.results
        if result.main
    }
    content: dict[str, Any] = {
        "tests": [{"id": test.id} for test in chapter.scored],
        "contenders": [{"label": each.label, "places": places} for each, places in contenders],
        "standings": [],
        "scores": {},
        "main": {test: score.name for (_, test, _), score in main.items()},
        "panels": {},
        "depth": {},
        "readouts": {},
        "best": chapter.group.suite.best,
        "pictures": album.uris,
    }
    for standing in chapter.standings:
        distances: list[list[float | None] | None] = []
        for test in chapter.scored:
            own = standing.results.get(test.id)
            if own:  # how far from the best, with its interval the same way round
                score = own[0].score
                ends = sorted(distance(score, end) for end in (score.low, score.high))
            distances.append([number(v) for v in (distance(score), *ends)] if own else None)
        content["standings"].append({"label": standing.label, "distances": distances})
    for test in chapter.tests:
        content["scores"][test.id] = [
            [
                None if score is None else [number(v) for v in (score.value, score.low, score.high)]
                for score in (main.get((k, test.id, place)) for place in places)
            ]
            for k, (_, places) in enumerate(contenders)
        ]
        content["panels"][test.id] = [_panels(test, *each, album) for each in contenders]
        labelled = [
            (contenders[k][0].label, result)
            for k, result in chapter.results
            if result.test == test.id
        ]
        depth = panels.depth_panel(labelled)
        content["depth"][test.id] = depth and as_json(depth)
        content["readouts"][test.id] = [
            {"label": label, **as_json(panel)}
            for label, panel in panels.readout_panels(labelled).items()
        ]
    return content


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
        own: Sequence[Panel] = ()
        if place in there:
            layer, readout = there[place]
            own = test.panels(data.sel(layer=layer, readout=readout), others)
        found.append([as_json(panel, album, scene) for panel in own])
    return found


class Album:
    """Pictures of galleries on a page: each is there once, whoever shows it."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self._numbers: dict[tuple[Scene, Picture | Stimulus], int | None] = {}

    def number(self, picture: Picture | Stimulus, scene: Scene) -> int | None:
        """Return the number of a picture, None for one that cannot be drawn any more."""
        key = (scene, picture)
        if key not in self._numbers:
            pixels = draw_picture(picture, scene, _SIDE_PX)
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
    colours = [panels.group_colours(panel, ground) for ground in panels.GROUNDS]
    same = ("kind", "title", "name", "groups", "strips", "ordered")
    return {
        **{name: getattr(panel, name) for name in same},
        "colours": colours if panel.palette else None,
        "x": _axis(panels.axis_of(panel, "x"), panels.numbered(panel, "x")),
        "y": _axis(panels.axis_of(panel, "y"), panels.numbered(panel, "y")),
        "marks": [_mark(mark, panel, album, scene) for mark in panel.marks],
    }


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
            values["colours"] = panels.DIVERGING if mark.diverging else None
            if mark.diverging:
                values["low"] = -1.0 if math.isnan(mark.low) else number(mark.low)
                values["high"] = 1.0 if math.isnan(mark.high) else number(mark.high)
            if panels.has_cells(panel):
                edges = (
                    panels.edges_of(mark.x, panel.x.log),
                    panels.edges_of(mark.y, panel.y.log),
                )
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

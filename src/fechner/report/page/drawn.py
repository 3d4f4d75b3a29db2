"""What the script of a page draws, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fechner.errors import RunFolderError
from fechner.report.contenders import Contender
from fechner.report.depth import depth_panel, readout_panels
from fechner.report.page.content import Chapter, Place, Standing, place_of
from fechner.report.page.panels import Album, as_json, number
from fechner.runs import Result
from fechner.scores import Panel, distance
from fechner.suites import Test


def drawn(chapter: Chapter) -> dict[str, Any]:
    """Return what the page's script draws, as plain JSON values."""
    contenders = chapter.group.contenders
    places = [chapter.places(k) for k in range(len(contenders))]
    main = {
        (k, result.test, place_of(result)): result.score
        for k, result in chapter.results
        if result.main
    }
    album = Album()
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
        "depth": {test.id: _depth(chapter, test) for test in chapter.tests},
        "readouts": {test.id: _readouts(chapter, test) for test in chapter.tests},
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


def _labelled(chapter: Chapter, test: Test) -> list[tuple[str, Result]]:
    return [
        (chapter.group.contenders[k].label, result)
        for k, result in chapter.results
        if result.test == test.id
    ]


def _depth(chapter: Chapter, test: Test) -> dict[str, Any] | None:
    panel = depth_panel(_labelled(chapter, test))
    return None if panel is None else as_json(panel)


def _readouts(chapter: Chapter, test: Test) -> list[dict[str, Any]]:
    found = readout_panels(_labelled(chapter, test))
    return [{"label": label, **as_json(panel)} for label, panel in found.items()]

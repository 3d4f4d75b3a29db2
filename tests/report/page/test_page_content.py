import json
from dataclasses import replace

import numpy as np
import pytest

from fechner import Run
from fechner.report.contenders import groups
from fechner.report.page.chapter import Chapter, chapter
from fechner.report.page.panels import as_json, drawn
from fechner.scores import distance
from fechner.scores.panels import Axis, Bars, Gallery, Line, Panel, Points, Surface, Vertical


@pytest.fixture(scope="module")
def shown(shown_run: Run) -> Chapter:
    (group,) = groups([shown_run])
    return chapter(group)


def test_standings_are_one_per_read_out_and_nearest_to_human_first(shown: Chapter) -> None:
    labels = [standing.label for standing in shown.standings]
    assert len(labels) == len(set(labels)) == 6  # three observers by two read-outs
    means = [standing.mean.value for standing in shown.standings]
    assert means == sorted(means)
    best = shown.standings[0]
    own = [distance(results[0].score) for results in best.results.values()]
    assert best.mean.value == pytest.approx(np.mean(own))
    assert best.mean.n == 2


def test_the_last_layer_is_the_first_place(shown: Chapter) -> None:
    places = shown.places(1)
    assert [readout for _, readout in places[:2]] == ["angle", "l2"]
    layers = [layer for layer, _ in places]
    last = shown.group.contenders[1].data("masking-coherent")
    assert last is not None
    assert layers[0] == layers[1] == str(last["layer"].values[-1])
    assert len(places) == last.sizes["layer"] * 2


def test_what_is_drawn_is_strict_json_with_a_panel_for_every_place(shown: Chapter) -> None:
    content = json.loads(json.dumps(drawn(shown), allow_nan=False))
    assert [test["id"] for test in content["tests"]] == ["masking-coherent", "matching-frequency"]
    for number, contender in enumerate(content["contenders"]):
        for test, kinds in (
            ("masking-coherent", ["surface", "responses"]),
            ("matching-frequency", ["matches"]),
        ):
            panels = content["panels"][test][number]
            assert len(panels) == len(contender["places"])
            assert all([panel["kind"] for panel in each] == kinds for each in panels)
            assert len(content["scores"][test][number]) == len(contender["places"])
    depth = content["depth"]["masking-coherent"]
    assert {mark["label"] for mark in depth["marks"]} == {
        f"{name} {readout}"
        for name in ("network", "timm/vit_small_patch16_224.dino")
        for readout in ("angle", "l2")
    }


def test_distances_turn_intervals_round_where_less_is_better(shown: Chapter) -> None:
    content = drawn(shown)
    for standing in content["standings"]:
        for value, low, high in standing["distances"]:
            assert low <= value <= high


def test_printed_rows_stand_beside_ours_with_distances_of_their_own(shown: Chapter) -> None:
    printed = {each.row.observer: each for each in shown.published}
    assert len(printed) == 45
    pixels = printed["pixels"]
    chance = pixels.scores["masking-coherent"].chance
    assert chance > 0.4  # what untrained networks have
    assert pixels.distances["masking-coherent"] == pytest.approx((1 - 0.5057) / (1 - chance))
    assert pixels.mean == pytest.approx(np.mean(list(pixels.distances.values())))
    (own,) = [
        result
        for number, result in shown.results
        if number == 2 and result.main and result.published == result.published
        if result.test == "masking-coherent"
    ]
    assert own.published == printed["timm/vit_small_patch16_224.dino"].row.scores[own.test]


def test_problems_name_what_is_missing(odd_run: Run) -> None:
    (group,) = groups([odd_run])
    odd = chapter(group)
    assert any("too dark" in problem for problem in odd.problems)
    assert any("broken was left out" in problem for problem in odd.problems)
    labels = [standing.label for standing in odd.standings]
    assert labels[-1] == "constant"  # what has no score comes last
    assert odd.standings[-1].mean.n == 0


def test_every_kind_of_mark_becomes_plain_values() -> None:
    x, y = np.array([1.0, 10.0]), np.array([0.1, np.nan])
    panel = Panel(
        "kind",
        "title",
        Axis("x", log=True),
        Axis("y", ticks=("a", "b")),
        (
            Surface(x, x, np.array([[1.0, 2.0], [np.nan, 1234567.0]]), doubtful=np.eye(2) > 0),
            Line(x, y, "line", group=3, low=y, high=y, names=("p", "q")),
            Points(x, y, colour=x, colour_axis=Axis("c", log=True)),
        ),
    )
    content = json.loads(json.dumps(as_json(panel), allow_nan=False))
    surface, line, points = content["marks"]
    assert surface["z"] == [[1, None], [2, 1234600]]  # rows are y, five digits
    assert surface["doubtful"] == [[0, 0], [1, 1]]
    assert surface["criterion"] is None
    assert line["y"] == line["low"] == [0.1, None]
    assert line["names"] == ["p", "q"]
    assert points["colour"] == [1, 10]
    assert content["y"]["ticks"] == ["a", "b"]


def test_bars_are_plain_values() -> None:
    bars = Bars(np.arange(2.0), np.array([0.5, 1.0]), np.array([0.4, np.nan]), np.ones(2), "all", 1)
    panel = Panel("wording", "Wording", Axis("", ticks=("a", "b")), Axis("share"), (bars,))
    content = json.loads(json.dumps(as_json(panel), allow_nan=False))
    assert content["ordered"] is False
    (mark,) = content["marks"]
    assert (mark["type"], mark["group"], mark["low"]) == ("bars", 1, [0.4, None])


def test_marks_over_levels_are_plain_values() -> None:
    x = np.array([0.01, 1.0])
    axis = Axis("level", log=True, reversed=True, named=((0.01, "original"),))
    marks = (
        Line(x, x, "run", style="fan"),
        Points(x, x, "people", low=x - 1, high=x + 1, human=True, names=("a", "b")),
        Vertical(0.5, "threshold", 0.1, np.inf),
        Vertical(np.nan, "unknown"),
    )
    panel = Panel("levels", "", axis, Axis("share", low=0), marks, rows=(1, 0), name="blur")
    content = json.loads(json.dumps(as_json(panel), allow_nan=False))
    assert content["x"]["reversed"]
    assert content["x"]["named"] == [[0.01, "original"]]
    assert content["x"]["numbers"] == [0.070711, 1]  # half-way from the original to the threshold
    assert (content["x"]["low"], content["y"]["low"], content["y"]["high"]) == (None, 0, None)
    assert (content["strips"], content["name"]) == ([1, 0], "blur")
    fan, people, threshold, unknown = content["marks"]
    assert fan["style"] == "fan"
    assert (people["human"], people["names"], people["low"]) == (True, ["a", "b"], [-0.99, 0])
    assert (threshold["at"], threshold["interval"]) == (0.5, [0.1, None])
    assert (unknown["at"], unknown["interval"]) == (None, None)


def test_cells_have_edges_and_colours_around_zero() -> None:
    cells = Surface(np.array([1.0, 10.0]), np.arange(2.0), np.eye(2), diverging=True)
    names = Axis("class", ticks=("a", "b"))
    panel = Panel("classes", "", Axis("level", log=True), names, (cells,), stimuli=False)
    content = as_json(panel)
    (mark,) = content["marks"]
    assert mark["edges"] == [[0.31623, 3.1623, 31.623], [-0.5, 0.5, 1.5]]
    assert (mark["low"], mark["high"]) == (-1, 1)
    assert len(mark["colours"]) == 11
    assert content["strips"] == ()
    # A plane without names has values in between.
    (plane,) = as_json(replace(panel, y=Axis("contrast")))["marks"]
    assert "edges" not in plane


def test_a_gallery_without_a_scene_is_a_mistake() -> None:
    panel = Panel("lost", "", Axis(""), Axis(""), (Gallery(()),))
    with pytest.raises(ValueError, match="album"):
        as_json(panel)

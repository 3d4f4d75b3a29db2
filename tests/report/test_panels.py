"""What pages and figures share of panels: extents, colours of groups, scores by depth."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fechner.report.panels import (
    GROUNDS,
    depth_panel,
    edges_of,
    group_colours,
    has_cells,
    is_positive,
    numbered,
    readout_panels,
    values_of,
)
from fechner.runs import Result
from fechner.scores import Score
from fechner.scores.panels import (
    Axis,
    Bars,
    Gallery,
    Line,
    Mark,
    Palette,
    Panel,
    Points,
    Surface,
    Vertical,
)

X = np.array([0.0, 1.0, 10.0])


def panel(*marks: Mark, x: Axis | None = None, y: Axis | None = None) -> Panel:
    return Panel("kind", "title", x or Axis("x"), y or Axis("y"), marks)


def test_intervals_count_and_places_on_the_abscissa_too() -> None:
    marks = (
        Line(X, X, "", low=X - 1, high=X + 2),
        Points(X[:1], X[:1], low=np.array([-3.0]), high=np.array([np.nan])),
        Vertical(25.0, "threshold", -100.0, 100.0),
        Vertical(math.nan, "none"),
        Gallery(()),
    )
    both = panel(*marks)
    assert (values_of(both, "x").min(), values_of(both, "x").max()) == (0, 25)
    assert (values_of(both, "y").min(), values_of(both, "y").max()) == (-3, 12)
    assert values_of(panel(Bars(X, X + 1, X, X, "")), "y").min() == 0


def test_a_log_axis_has_no_place_for_zero() -> None:
    line = panel(Line(X, X, ""), x=Axis("x", log=True))
    assert values_of(line, "x").tolist() == [1, 10]
    assert not is_positive(line, "x")
    assert is_positive(panel(Line(X + 1, X + 1, ""), Vertical(1.0, "")), "x")


def test_a_surface_alone_says_where_axes_end_and_cells_reach_to_their_edges() -> None:
    cells = Surface(X[1:], np.arange(2.0), np.zeros((2, 2)))
    level, names = Axis("level", log=True), Axis("class", ticks=("a", "b"))
    plane = panel(cells, Line(X * 100, X, ""), x=level)
    assert not has_cells(plane)
    assert values_of(plane, "x").max() == 10
    rows = panel(cells, x=level, y=names)
    assert has_cells(rows)
    assert values_of(rows, "x").max() == pytest.approx(10**1.5)


def test_numbers_end_where_names_begin() -> None:
    axis = Axis("level", log=True, named=((0.01, "original"),))
    line = Line(np.array([0.01, 0.1, 5.0]), np.zeros(3), "")
    low, high = numbered(panel(line, x=axis), "x")
    assert 0.01 < low < 0.1
    assert high == 5
    linear = Axis("level", named=((9.0, "none"),))
    assert numbered(panel(line, x=linear), "x") == (0.01, 7.0)
    assert numbered(panel(line), "x") == (-math.inf, math.inf)


@pytest.mark.parametrize("log", [True, False])
def test_edges_lie_between_centres(log: bool) -> None:
    centres = np.array([0.1, 0.3, 2.0, 2.5])
    edges = edges_of(centres, log)
    assert len(edges) == 5
    assert ((edges[:-1] < centres) & (centres < edges[1:])).all()
    assert len(edges_of(centres[:0], log)) == 0


# Colours

GROUND = {"light": "#ffffff", "dark": "#1d1f25"}


def coloured(groups: int, palette: Palette) -> Panel:
    lines = tuple(Line(np.zeros(2), np.zeros(2), "", group=k) for k in range(groups))
    return Panel("curves", "", Axis(""), Axis(""), lines, palette=palette)


def luminance(colour: str) -> float:
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("palette", ["adaptors", "red-green", "yellow-blue"])
@pytest.mark.parametrize("groups", [1, 2, 3, 5, 9])
def test_every_group_has_a_colour_that_stands_out(palette, ground, groups: int) -> None:
    colours = group_colours(coloured(groups, palette), ground)
    assert len(set(colours)) == len(colours) == groups
    for colour in colours:
        high, low = sorted([luminance(colour) + 0.05, luminance(GROUND[ground]) + 0.05])[::-1]
        assert high / low > 2


def test_adaptors_go_from_blue_over_darker_and_lighter_greys_to_red() -> None:
    first, *greys, last = group_colours(coloured(6, "adaptors"))
    assert (first, last) == ("#0072b2", "#d4351c")
    assert all(len({grey[i : i + 2] for i in (1, 3, 5)}) == 1 for grey in greys)
    assert all(luminance(a) < luminance(b) for a, b in pairwise(greys))


def test_backgrounds_have_their_own_colours_and_grey_is_ink() -> None:
    green, _, ink, _, red = group_colours(coloured(5, "red-green"))
    blue, _, other, _, yellow = group_colours(coloured(5, "yellow-blue"))
    assert ink == other == "#222222"
    assert len({green, red, blue, yellow}) == 4


def test_channels_keep_theirs_whoever_is_missing() -> None:
    every = group_colours(coloured(3, "channels"))
    assert group_colours(coloured(1, "channels")) == every
    assert len(every) == 3


def test_other_panels_have_none() -> None:
    assert group_colours(replace(coloured(3, "channels"), palette="")) == ()


# Scores by depth


def result(value: float, layer: str, readout: str = "angle", main: bool = True) -> Result:
    score = Score(
        "alignment",
        value,
        value - 0.1,
        value + 0.1,
        True,
        best=1.0,
        chance=0.0,
        resampled="abscissae",
        n=9,
        layer=layer,
        readout=readout,
    )
    return Result("observer", "encoders", "area", "default", score, main=main)


def lines(panel: Panel) -> dict[str, Line]:
    return {mark.label: mark for mark in panel.marks if isinstance(mark, Line)}


def test_observers_with_one_layer_have_no_depth() -> None:
    assert depth_panel([("pixels", result(0.5, "output"))]) is None
    assert depth_panel([]) is None


def test_the_same_layers_are_named_on_the_axis() -> None:
    labelled = [("a", result(0.1 * i, layer)) for i, layer in enumerate(("x", "y", "z"))]
    panel = depth_panel([*labelled, ("a", result(9.0, "x", main=False))])
    assert panel is not None
    assert panel.x.ticks == ("x", "y", "z")
    (line,) = lines(panel).values()
    np.testing.assert_allclose(line.y, [0.0, 0.1, 0.2])
    np.testing.assert_allclose(line.x, [0, 1, 2])
    assert line.low is not None
    np.testing.assert_allclose(line.low, line.y - 0.1)


def test_other_layers_share_a_scale_from_first_to_last() -> None:
    labelled = [("a", result(0.1, layer)) for layer in "xyz"]
    labelled += [("b", result(0.2, layer, "l2")) for layer in "pq"]
    panel = depth_panel(labelled)
    assert panel is not None
    assert panel.x.ticks == ()
    found = lines(panel)
    assert list(found) == ["a angle", "b l2"]
    np.testing.assert_allclose(found["a angle"].x, [0, 0.5, 1])
    np.testing.assert_allclose(found["b l2"].x, [0, 1])
    assert found["b l2"].names == ("p", "q")


def surface(panel: Panel) -> Surface:
    (mark,) = panel.marks
    assert isinstance(mark, Surface)
    return mark


def test_several_layers_by_several_read_outs_are_a_heat_map() -> None:
    labelled = [
        ("deep", result(0.1 * i + j, layer, readout))
        for i, layer in enumerate("xyz")
        for j, readout in enumerate(("l2", "l1"))
        if (layer, readout) != ("z", "l1")
    ]
    labelled += [("flat", result(5.0, "x", readout)) for readout in ("l2", "l1")]
    labelled += [("single", result(5.0, layer)) for layer in "xy"]
    labelled += [("deep", result(9.0, "x", "l2", main=False))]
    found = readout_panels(labelled)
    assert list(found) == ["deep"]
    assert (found["deep"].x.ticks, found["deep"].y.ticks) == (("x", "y", "z"), ("l2", "l1"))
    np.testing.assert_allclose(surface(found["deep"]).z, [[0, 1], [0.1, 1.1], [0.2, np.nan]])


def test_heat_maps_have_one_scale() -> None:
    places = [(layer, readout) for layer in "xy" for readout in ("l2", "l1")]
    labelled = [("a", result(k / 4, *place)) for k, place in enumerate(places)]
    labelled += [("b", result(-k / 4, *place)) for k, place in enumerate(places)]
    found = [surface(panel) for panel in readout_panels(labelled).values()]
    assert [(each.low, each.high) for each in found] == [(-0.75, 0.75)] * 2
    (one, _) = readout_panels(labelled, (-1.0, 1.0)).values()
    assert (surface(one).low, surface(one).high) == (-1, 1)

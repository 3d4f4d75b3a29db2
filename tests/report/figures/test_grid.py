"""Small multiples of any panels: what is drawn, what is shared, and that it can be read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import LogNorm, to_hex
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from printed import check_legible, legends, lines_on, size_mm, words, writing

from fechner.errors import FechnerError
from fechner.report.figures.grid import Cell, cells_of, draw_grid
from fechner.report.figures.marks import OWN
from fechner.report.figures.style import HEIGHT_MM, MARKERS, PALETTE, paper_style, save
from fechner.scores.panels import Axis, Bars, Line, Panel, Points, Surface

X = np.geomspace(0.5, 32, 8)
Y = np.geomspace(1, 1000, 6)
Z = X[:, None] / Y
LOG_X, LOG_Y = Axis("spatial frequency (cycles/degree)", log=True), Axis("sensitivity", log=True)


def surface_panel(z: np.ndarray = Z, **changes: object) -> Panel:
    surface = Surface(X, Y, z, **{"log": True, "criterion": 0.1, **changes})
    human = Line(X, 200 / X, "people", human=True)
    return Panel("surface", "Response", LOG_X, LOG_Y, (surface, human))


def line_panel(*lines: Line, ticks: tuple[str, ...] = (), y: str = "score") -> Panel:
    return Panel("lines", "What is matched", Axis("layer", ticks=ticks), Axis(y), lines)


def points_panel(scale: float = 1.0, low: float = 1.0) -> Panel:
    points = Points(X, scale * X, colour=low * X, colour_axis=Axis("area (degree2)", log=True))
    return Panel("points", "Points", LOG_X, Axis("response", log=True), (points,))


def drawn(*panels: Panel | None, columns: int = 2, names: list[str] | None = None) -> Figure:
    names = names or [f"observer {number}" for number in range(len(panels))]
    cells = [Cell(name, panel) for name, panel in zip(names, panels, strict=True)]
    with paper_style():
        figure = draw_grid(cells, columns, 100)
    check_legible(figure)
    return figure


# Surfaces


def test_a_surface_has_colours_people_and_the_observers_own_threshold() -> None:
    figure = drawn(surface_panel())
    (panel,) = figure.axes
    (strip,) = panel.child_axes
    fills, *contours = (each for each in panel.collections if isinstance(each, QuadContourSet))
    assert fills.filled
    assert to_hex(fills.get_facecolor()[0]) < to_hex(fills.get_facecolor()[-1])
    assert fills.get_cmap().name == "viridis"
    assert [list(each.levels) for each in contours] == [[0.1]]
    assert to_hex(contours[0].get_edgecolor()[0]) == OWN.lower()
    casing, people = panel.lines
    assert casing.get_color() == "white"
    assert casing.get_linewidth() > people.get_linewidth()
    assert casing.get_linestyle() == "-"
    assert people.get_linestyle() == "--"
    np.testing.assert_array_equal(people.get_ydata(), 200 / X)
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert panel.get_xlim() == (X[0], X[-1])
    # Its own scale, with the criterion between the ends.
    assert [text.get_text() for text in strip.get_xticklabels()] == ["0.0005", "0.1", "32"]


def test_the_threshold_lies_where_the_response_is_the_criterion() -> None:
    figure = drawn(surface_panel())
    contour = [each for each in figure.axes[0].collections if isinstance(each, QuadContourSet)][-1]
    (path,) = contour.get_paths()
    x, y = path.vertices.T
    np.testing.assert_allclose(x / y, 0.1, rtol=0.4)  # the grid is coarse
    assert len(x) > 5


def test_what_could_not_be_shown_is_hatched_and_said_once() -> None:
    doubtful = np.zeros(Z.shape, dtype=bool)
    doubtful[-2:] = True
    figure = drawn(surface_panel(doubtful=doubtful), surface_panel())
    hatched = [
        [each for each in axes.collections if getattr(each, "hatches", [None])[0]]
        for axes in figure.axes[:2]
    ]
    assert [len(found) for found in hatched] == [1, 0]
    (legend,) = legends(figure)
    assert [text.get_text() for text in legend.get_texts()] == [
        "people",
        "observer, at its criterion (number above)",
        "response, each on its own scale (log)",
        "could not be shown as meant",
    ]


ODD = [
    {"z": np.zeros_like(Z)},
    {"z": np.full_like(Z, np.nan)},
    {"z": np.where(Z > 1, np.nan, Z)},
    {"z": np.where(Z > 1, np.inf, Z)},
    {"z": Z - 1, "log": True},
    {"z": Z - 1, "log": False, "criterion": -0.5},
    {"criterion": np.nan},
    {"criterion": 1e9},
    {"criterion": 0.0},
]


def test_odd_surfaces_are_drawn(tmp_path: Path) -> None:
    figure = drawn(*(surface_panel(**changes) for changes in ODD))
    save(figure, tmp_path / "odd.png")
    contours = [
        [c for c in axes.collections if isinstance(c, QuadContourSet) and not c.filled]
        for axes in figure.axes[: len(ODD)]
    ]
    assert [len(found) for found in contours] == [0, 0, 1, 1, 1, 1, 0, 0, 0]


def test_log_and_linear_colours_are_both_named() -> None:
    figure = drawn(surface_panel(), surface_panel(log=False))
    assert "response, each on its own scale (log or linear)" in words(figure)


# Lines


def test_groups_have_a_colour_and_a_marker_and_people_are_dashed() -> None:
    x = np.arange(3.0)
    lines = [
        Line(x, x + group + 0.5 * human, f"{group}", group=group, human=human)
        for group in range(3)
        for human in (True, False)
    ]
    figure = drawn(line_panel(*lines))
    (axes,) = figure.axes
    for line, shown in zip(lines, axes.lines, strict=True):
        assert shown.get_color() == PALETTE[line.group]
        assert shown.get_linestyle() == ("--" if line.human else "-")
        assert shown.get_marker() == ("None" if line.human else MARKERS[line.group])
    (legend,) = legends(figure)
    assert legend.get_title().get_text() == "What is matched"
    found = [(each.get_label(), each.get_linestyle()) for each in legend.get_lines()]
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "2", "people", "observer"]
    assert [style for _, style in found] == ["-", "-", "-", "--", "-"]


def test_colours_and_markers_do_not_come_again_together() -> None:
    pairs = {(PALETTE[k % len(PALETTE)], MARKERS[k % len(MARKERS)]) for k in range(72)}
    assert len(pairs) == 72


def test_many_steps_of_one_quantity_have_a_colour_each_in_order() -> None:
    x = np.arange(50.0)
    steps = range(10)
    marks = [
        mark
        for step in steps
        for mark in (Points(x, x, group=step), Line(x, x + step, f"{step}", group=step))
    ]
    panel = replace(line_panel(*marks), groups="frequency", ordered=True)
    figure = drawn(panel)
    (axes,) = figure.axes
    colours = [line.get_color() for line in axes.lines]
    assert len(set(colours)) == 10
    points = [to_hex(c.get_facecolor()[0]) for c in axes.collections]
    assert points == colours
    # Lighter by every step, so that they can be told without colour vision.
    light = [sum(int(c[i : i + 2], 16) * w for i, w in ((1, 2), (3, 7), (5, 1))) for c in colours]
    assert light == sorted(light)
    (legend,) = legends(figure)
    assert legend.get_title().get_text() == "frequency"


def test_colours_that_stand_for_something_are_named_together() -> None:
    lines = tuple(
        Line(X, X * (k + 1), label, group=group)
        for k, (label, group) in enumerate([("none", 0), ("+1", 1), ("-1", 1), ("same", 2)])
    )
    panel = replace(line_panel(*lines), palette="adaptors", ordered=True, groups="mask")
    figure = drawn(panel)
    found = [line.get_color() for line in figure.axes[0].lines]
    assert found == ["#0072b2", "#b0b0b0", "#b0b0b0", "#d4351c"]
    assert {"none", "+1, -1", "same"} <= set(words(figure))


def test_people_that_nobody_followed_are_named_too() -> None:
    lines = (
        Line(X, X, "achromatic", group=0),
        Line(X, X, "achromatic", group=0, human=True),
        Line(X, 2 * X, "red-green", group=1, human=True),
    )
    panel = replace(line_panel(*lines), palette="channels", groups="channel")
    assert {"achromatic", "red-green", "people", "observer"} <= set(words(drawn(panel)))


def test_named_places_are_cells_with_their_numbers() -> None:
    values = np.array([[0.5, -0.25], [1.0, np.nan], [0.0, 0.126]])
    surface = Surface(np.arange(3.0), np.arange(2.0), values, "agreement", low=-1.0, high=1.0)
    axes = (Axis("layer", ticks=("a", "b", "c")), Axis("read-out", ticks=("l2", "l1")))
    figure = drawn(Panel("readouts", "Score", *axes, (surface,)), columns=1)
    (mesh,) = figure.axes[0].collections
    assert mesh.get_clim() == (-1, 1)
    assert {".50", "\N{MINUS SIGN}.25", "1.00", ".00", ".13"} <= set(words(figure))
    assert "agreement, on one scale" in words(figure)
    # Where there is no room for numbers, there are none.
    many = replace(surface, x=np.arange(60.0), z=np.tile(values, (20, 1)))
    axes = (Axis("layer", ticks=tuple(map(str, range(60)))), axes[1])
    assert ".50" not in words(drawn(Panel("readouts", "Score", *axes, (many,)), columns=1))


def test_bars_stand_side_by_side_on_zero_with_intervals() -> None:
    x = np.arange(2.0)
    nothing = np.full(2, np.nan)
    bars = (
        Bars(x, np.array([0.4, 0.8]), np.array([0.3, 0.7]), np.array([0.5, 1.1]), "all"),
        Bars(x, np.array([0.5, 0.6]), nothing, nothing, "near threshold", group=1),
    )
    axis = Axis("", ticks=("entropy", "consistency"))
    figure = drawn(Panel("wording", "Wording", axis, Axis("share"), bars))
    (axes,) = figure.axes
    boxes = [patch.get_bbox() for patch in axes.patches]
    assert [box.y0 for box in boxes] == [0.0] * 4
    assert [box.y1 for box in boxes] == [0.4, 0.8, 0.5, 0.6]
    assert boxes[0].x1 == pytest.approx(boxes[2].x0)
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > 1.1
    (legend,) = legends(figure)
    assert [text.get_text() for text in legend.get_texts()] == ["all", "near threshold"]


def test_bands_guides_and_named_places() -> None:
    x = np.arange(4.0)
    line = Line(x, x, "net", low=x - 1, high=x + 1)
    names = ("stem", "blocks.0", "blocks.1", "output")
    guide = Line(x[[0, -1]], np.full(2, -2.0), "chance", style="guide")
    (axes,) = (figure := drawn(line_panel(line, guide, ticks=names), columns=1)).axes
    (band,) = (each for each in axes.collections if isinstance(each, PolyCollection))
    box = band.get_datalim(axes.transData)
    assert (box.y0, box.y1) == (-1.0, 4.0)
    assert [text.get_text() for text in axes.get_xticklabels()] == list(names)
    assert axes.get_ylim()[0] < -2
    assert [text.get_text() for text in legends(figure)[0].get_texts()] == ["net", "chance"]


# Points


def test_colours_of_points_mean_the_same_on_all_panels() -> None:
    figure = drawn(points_panel(), points_panel(2.0, low=10.0))
    *panels, bar = figure.axes
    norms = [each.norm for axes in panels for each in axes.collections]
    assert all(isinstance(each, LogNorm) for each in norms)
    assert {(each.vmin, each.vmax) for each in norms} == {(X[0], 10 * X[-1])}
    assert bar.get_ylabel() == "area (degree²)"
    assert all(isinstance(axes.collections[0], PathCollection) for axes in panels)


def test_points_without_a_third_quantity_have_no_bar() -> None:
    points = Points(np.arange(3.0), np.arange(3.0), "matches")
    figure = drawn(Panel("points", "Points", Axis("x"), Axis("y"), (points,)))
    assert len(figure.axes) == 1
    assert "matches" in words(figure)


# What is shared


def test_numbers_and_words_stand_at_the_outside_only() -> None:
    figure = drawn(*[surface_panel()] * 7)  # four and three
    labelled = [
        [any(text.get_text() for text in axis.get_ticklabels()) for axis in (a.xaxis, a.yaxis)]
        for a in figure.axes[:7]
    ]
    assert [y for _, y in labelled] == [True, False, False, False, True, False, False]
    # The fourth has nothing below it.
    assert [x for x, _ in labelled] == [False, False, False, True, True, True, True]
    assert words(figure).count("sensitivity") == 1
    assert words(figure).count(LOG_X.label) == 1


def test_far_scales_are_not_shared_and_have_their_own_numbers() -> None:
    figure = drawn(points_panel(), points_panel(1e6))
    first, second = figure.axes[:2]
    assert first.get_ylim()[1] < second.get_ylim()[0]
    for axes in (first, second):
        assert any(text.get_text() for text in axes.get_yticklabels())
    assert first.get_xlim() == second.get_xlim()


def test_a_log_axis_is_one_on_all_panels_that_can_have_it() -> None:
    linear = replace(points_panel(), y=Axis("response"))
    assert [a.get_yscale() for a in drawn(points_panel(), linear).axes[:2]] == ["log", "log"]
    points = Points(X, -X)
    negative = replace(linear, marks=(points,))
    assert [a.get_yscale() for a in drawn(points_panel(), negative).axes[:2]] == ["log", "linear"]


def test_other_words_are_said_where_they_change() -> None:
    x = np.arange(3.0)
    line = Line(x, x, "net")
    figure = drawn(*(line_panel(line, y=y) for y in ("a", "a", "b")))
    assert [axes.get_ylabel() for axes in figure.axes] == ["a", "", "b"]


def test_what_was_not_measured_is_said() -> None:
    figure = drawn(None, surface_panel(), names=["missing", "there"])
    assert words(figure).count("not measured") == 1
    assert "missing" in words(figure)


# The page

HOSTILE = [
    "a_$x$^2_{i}",
    "$\\alpha",
    "<b>&amp;</b> \\frac{1}{2}",
    "emoji 👁️‍🗨️ 模型 ☃",
    "line\nbreak\ttab",
    "%s {0} #~",
    "timm/a_very_long_name_of_a_network_patch16_224.augreg_in21k_ft_in1k" * 4,
    "timm/a_very_long_name_of_a_network_patch8_224.augreg_in21k_ft_in1k" * 4,
]


def test_names_stay_plain_text(tmp_path: Path) -> None:
    panel = line_panel(Line(X, X, HOSTILE[0]), Line(X, -X, HOSTILE[6], 1))
    figure = drawn(*[panel] * len(HOSTILE), columns=1, names=HOSTILE)
    found = words(figure)
    assert HOSTILE[0] in found
    assert HOSTILE[1] in found
    assert any("<b>&amp;</b>" in text for text in found)
    assert not any(text.get_parse_math() for text in writing(figure))
    for suffix in ("pdf", "png", "svg"):
        save(figure, tmp_path / f"hostile.{suffix}")  # warnings are errors


@pytest.mark.parametrize(("columns", "n"), [(1, 1), (1, 5), (2, 1), (2, 5)])
def test_any_number_of_panels_fits(columns: int, n: int) -> None:
    figure = drawn(*[surface_panel()] * n, columns=columns)
    width, height = size_mm(figure)
    assert width == pytest.approx({1: 85, 2: 178}[columns])
    assert height <= HEIGHT_MM + 1e-6
    assert len(figure.axes) == n


def test_thirty_observers_fit_on_a_page() -> None:
    names = [f"timm/vit_small_patch{number}_224.dino" for number in range(30)]
    # Fewer ticks, which cost most of the time.
    panel = replace(surface_panel(), x=Axis("f"), y=Axis("s"))
    figure = drawn(*[panel] * 30, names=names)
    assert size_mm(figure)[1] <= HEIGHT_MM + 1e-6
    boxes = [axes.get_position() for axes in figure.axes[:30]]
    assert min(box.width * 178 for box in boxes) > 17


@pytest.mark.parametrize("columns", [1, 2])
def test_too_many_panels_are_refused_with_a_number_that_works(columns: int) -> None:
    panel = line_panel(Line(X, X, "net"))
    with pytest.raises(FechnerError, match="90 panels do not fit on a page of") as error:
        drawn(*[panel] * 90, columns=columns)
    assert ("two columns" in str(error.value)) == (columns == 1)
    number = int(str(error.value).split("at most ")[1].split()[0])
    assert number > 20
    assert len(drawn(*[panel] * number, columns=columns).axes) == number


def test_rows_are_full_where_they_can_be() -> None:
    panel = line_panel(Line(X, X, "net"))
    for n, across in ((1, 1), (4, 4), (5, 3), (6, 3), (8, 4)):
        places = {round(axes.get_position().x0, 4) for axes in drawn(*[panel] * n).axes}
        assert len(places) == across


# Panels that belong together


def rank_panel(name: str, *labels: str, **changes: object) -> Panel:
    """Return a panel whose colours follow the order of its labels."""
    lines = tuple(Line(X, X * (k + 1), label, group=k) for k, label in enumerate(labels))
    look = {"palette": "adaptors", "ordered": True, "groups": "mask", **changes}
    return replace(line_panel(*lines), name=name, **look)


def rows_of(observers: int, *panels: Panel, columns: int = 2) -> Figure:
    cells = [
        cell
        for number in range(observers)
        for cell in cells_of(f"observer {number}", panels, [panel.name for panel in panels])
    ]
    with paper_style():
        figure = draw_grid(cells, columns, 100)
    check_legible(figure)
    assert size_mm(figure)[1] <= HEIGHT_MM + 1e-6
    return figure


LOW, HIGH = rank_panel("low", "none", "b", "c"), rank_panel("high", "none", "c", "b")


@pytest.mark.parametrize(("observers", "columns"), [(1, 2), (3, 2), (7, 2), (3, 1), (5, 1)])
def test_panels_of_one_observer_stand_in_one_row_under_its_name(
    observers: int, columns: int
) -> None:
    figure = rows_of(observers, LOW, HIGH, columns=columns)
    assert len(figure.axes) == 2 * observers
    found = lines_on(figure)
    assert [found.count(f"observer {k}") for k in range(observers)] == [1] * observers
    assert found.count("low") == found.count("high") == observers
    for low, high in zip(figure.axes[::2], figure.axes[1::2], strict=True):
        assert low.get_position().y0 == pytest.approx(high.get_position().y0)
        assert low.get_position().x1 < high.get_position().x0


def test_a_name_of_several_colours_has_a_legend_for_each() -> None:
    figure = rows_of(2, LOW, HIGH)
    low, high = legends(figure)
    assert low.get_title().get_text() == "mask (low)"
    assert high.get_title().get_text() == "mask (high)"
    for legend, axes in ((low, figure.axes[0]), (high, figure.axes[1])):
        samples = [line.get_color() for line in legend.get_lines()]
        assert samples == [line.get_color() for line in axes.lines]
    assert [text.get_text() for text in low.get_texts()] == ["none", "b", "c"]
    assert [text.get_text() for text in high.get_texts()] == ["none", "c", "b"]


def test_colours_of_two_scales_are_both_explained_and_people_once() -> None:
    def with_people(panel: Panel) -> Panel:
        return replace(panel, marks=(*panel.marks, replace(panel.marks[0], human=True)))

    names = ("-1", "grey", "+1")
    red_green = with_people(rank_panel("red-green", *names, palette="red-green"))
    yellow_blue = with_people(rank_panel("yellow-blue", *names, palette="yellow-blue"))
    figure = rows_of(2, red_green, yellow_blue)
    *own, common = legends(figure)
    colours = [[line.get_color() for line in legend.get_lines()] for legend in own]
    assert colours[0] != colours[1]
    assert len(colours[0]) == len(colours[1]) == 3
    assert [text.get_text() for text in common.get_texts()] == ["people", "observer"]
    # One legend does where colours are the same.
    assert len(legends(rows_of(2, red_green, replace(red_green, name="again")))) == 1


def test_what_an_observer_lacks_stays_empty_in_its_row() -> None:
    cells = [
        *cells_of("both", [LOW, HIGH], ["low", "high"]),
        *cells_of("one", [HIGH], ["low", "high"]),
        Cell("", None, heading="nothing"),
    ]
    with paper_style():
        figure = draw_grid(cells, 2, 100)
    check_legible(figure)
    first, second, alone, missing = (axes.get_position() for axes in figure.axes)
    assert alone.x0 == pytest.approx(second.x0)
    assert missing.x0 == pytest.approx(first.x0)
    assert {"both", "one", "nothing", "not measured"} <= set(lines_on(figure))


def test_rows_that_do_not_fit_are_broken_and_every_panel_is_named() -> None:
    many = [rank_panel(f"part {k}", "a", "b") for k in range(6)]
    figure = rows_of(1, *many, columns=1)
    assert len(figure.axes) == 6
    assert [f"observer 0: part {k}" in " ".join(words(figure)) for k in range(6)] == [True] * 6
    with pytest.raises(FechnerError, match="90 panels do not fit") as error:
        rows_of(15, *many, columns=1)
    assert 1 <= int(str(error.value).split("at most ")[1].split()[0]) < 15

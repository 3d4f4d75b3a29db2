"""Curves over levels as they are printed: fans, guides, thresholds, people, cells."""

from pathlib import Path

import numpy as np
import pytest
from levels import LEVEL, LEVELS, ORIGINAL, RIGHT, SHARE, curve
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from printed import check_legible, size_mm, words

from fechner.report.figures.grid import Cell, cells_of, draw_grid
from fechner.report.figures.style import HEIGHT_MM, PALETTE, paper_style, save
from fechner.scores.panels import Axis, Line, Panel, Points, Surface, Vertical


def drawn(*panels: Panel, columns: int = 2) -> Figure:
    cells = [Cell(f"observer {k}", panel) for k, panel in enumerate(panels)]
    with paper_style():
        figure = draw_grid(cells, columns, 100)
    check_legible(figure)
    return figure


# Axes


def test_the_original_is_at_the_right_with_its_name() -> None:
    (axes,) = drawn(curve()).axes
    left, right = axes.get_xlim()
    assert left > 20
    assert right < ORIGINAL
    labels = [text.get_text() for text in axes.get_xticklabels()]
    places = list(axes.get_xticks())
    assert labels[0] == "original"
    assert places[0] == ORIGINAL
    # Beside the name there are no numbers, which would be of no level.
    assert min(places[1:]) >= 0.1
    assert not any(axes.xaxis.get_minorticklocs() <= 0.06)


def test_fixed_ends_hold_whatever_the_answers() -> None:
    flat = Panel("levels", "", LEVEL, SHARE, (Line(LEVELS, np.full(31, 0.5), "flat"),))
    figure = drawn(curve(), flat)
    for axes in figure.axes:
        assert axes.get_ylim() == pytest.approx((-0.02, 1.02))


@pytest.mark.parametrize(("columns", "n"), [(1, 1), (1, 2), (2, 4), (2, 9)])
def test_names_at_the_edge_stay_on_the_page_and_off_each_other(columns: int, n: int) -> None:
    drawn(*[curve()] * n, columns=columns)  # legible


def test_panels_of_one_quantity_share_its_axis_unless_one_would_vanish() -> None:
    x = np.arange(5.0)
    some, more, most = (
        Panel("change", "", Axis("x"), Axis("change"), (Line(x, height * x, "net"),))
        for height in (0.4, 1.0, 100.0)
    )
    limits = [axes.get_ylim() for axes in drawn(some, more).axes]
    assert limits[0] == limits[1]
    limits = [axes.get_ylim() for axes in drawn(some, most).axes]
    assert limits[0] != limits[1]


# Marks


def test_a_fan_is_thin_in_the_colour_of_its_group_and_has_no_name() -> None:
    fan = [Line(LEVELS, RIGHT + 0.01 * k, f"seed {k}", style="fan") for k in range(5)]
    figure = drawn(curve(*fan))
    first, *others = figure.axes[0].lines
    assert {line.get_color() for line in others} == {first.get_color()} == {PALETTE[0]}
    assert max(line.get_linewidth() for line in others) < first.get_linewidth() / 2
    assert not any("seed" in text for text in words(figure))


def test_a_guide_is_dotted_grey_and_named_once() -> None:
    guide = Line(LEVELS[[0, -1]], np.full(2, 0.1), "chance", style="guide")
    figure = drawn(curve(guide), curve(guide))
    chance = figure.axes[0].lines[1]
    assert chance.get_color() not in PALETTE
    assert chance.get_linestyle() != "-"
    assert chance.get_marker() == "None"
    assert words(figure).count("chance") == 1


def test_a_threshold_has_its_interval() -> None:
    figure = drawn(curve(Vertical(2.0, "threshold", 1.5, 3.0)))
    axes = figure.axes[0]
    assert list(axes.lines[1].get_xdata()) == [2.0, 2.0]
    (band,) = (patch for patch in axes.patches if isinstance(patch, Rectangle))
    assert (band.get_x(), band.get_x() + band.get_width()) == (1.5, 3.0)
    assert "threshold" in words(figure)


def test_open_and_unknown_thresholds_are_drawn_as_far_as_known(tmp_path: Path) -> None:
    known = Vertical(2.0, "open", -np.inf, np.inf)
    bare = Vertical(2.0, "bare")
    nothing = Vertical(np.nan, "nothing", 1.0, 2.0)
    figure = drawn(curve(known), curve(bare), curve(nothing))
    assert [len(axes.patches) for axes in figure.axes] == [1, 0, 0]
    assert [len(axes.lines) for axes in figure.axes] == [2, 2, 1]
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()
    assert "nothing" not in words(figure)
    save(figure, tmp_path / "open.pdf")


def test_people_are_outlined_points_with_intervals() -> None:
    people = Points(
        np.array([1.0, 5.0]),
        np.array([0.8, 0.4]),
        "24 people",
        low=np.array([0.7, np.nan]),
        high=np.array([0.9, np.nan]),
        human=True,
    )
    figure = drawn(curve(people))
    axes = figure.axes[0]
    (points,) = (each for each in axes.collections if isinstance(each, PathCollection))
    assert to_hex(points.get_facecolor()[0]) == PALETTE[0].lower()
    assert to_hex(points.get_edgecolor()[0]) != PALETTE[0].lower()
    (container,) = axes.containers
    (bars,) = container.lines[2]
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [[0.7, 0.9]]
    assert "24 people" in words(figure)


# Cells


def classes(n: int) -> Panel:
    names = Axis("class", ticks=tuple(f"class {k}" for k in range(n)), reversed=True)
    z = np.random.default_rng(0).random((len(LEVELS), n))
    cells = Surface(LEVELS, np.arange(float(n)), z, "share right", low=0, high=1)
    return Panel("classes", "Class by class", LEVEL, names, (cells,), stimuli=False)


@pytest.mark.parametrize("n", [3, 1000])
def test_a_row_for_each_class_with_names_where_there_is_room(n: int, tmp_path: Path) -> None:
    figure = drawn(classes(n))
    (mesh,) = (each for each in figure.axes[0].collections if isinstance(each, QuadMesh))
    assert mesh.get_clim() == (0, 1)
    assert mesh.get_array().shape == (n, len(LEVELS))
    named = [text for text in words(figure) if text.startswith("class ")]
    assert named if n > 3 else len(named) == 3
    assert len(named) < 40
    # The first class stands above.
    low, high = figure.axes[0].get_ylim()
    assert low > high
    assert size_mm(figure)[1] <= HEIGHT_MM
    save(figure, tmp_path / "classes.pdf")
    assert (tmp_path / "classes.pdf").stat().st_size < 200_000


def test_agreement_has_colours_around_zero_and_its_numbers() -> None:
    names = ("pixels", "people", "network")
    z = np.array([[1.0, -0.5, 0.2], [-0.5, 1.0, 0.0], [0.2, 0.0, 1.0]])
    matrix = Surface(np.arange(3.0), np.arange(3.0), z, "kappa", diverging=True)
    axes = (Axis("", ticks=names), Axis("", ticks=names, reversed=True))
    figure = drawn(Panel("consistency", "Consistency", *axes, (matrix,)), columns=1)
    (mesh,) = figure.axes[0].collections
    assert mesh.get_clim() == (-1, 1)
    white, blue, red = (mesh.cmap(share) for share in (0.5, 1.0, 0.0))
    assert min(white[:3]) > 0.9
    assert blue[2] > blue[0]
    assert red[0] > red[2]
    found = words(figure)
    assert {"1.00", "\N{MINUS SIGN}.50", ".20"} <= set(found)
    assert "kappa, on one scale" in found
    assert {"\N{MINUS SIGN}1", "1"} <= set(found)


def test_many_panels_of_one_kind_are_small_multiples() -> None:
    panels = [
        Panel("by class", "", LEVEL, SHARE, (Line(LEVELS, RIGHT, "net"),), name=f"class {k}")
        for k in range(20)
    ]
    with paper_style():
        figure = draw_grid(cells_of("net", panels, [panel.name for panel in panels]), 2, 100)
    check_legible(figure)
    assert len(figure.axes) == 20
    assert words(figure).count(SHARE.label) == 1


def test_panels_of_one_observer_share_an_axis_though_others_are_far() -> None:
    x = np.arange(5.0)

    def parts(scale: float) -> list[Panel]:
        return [
            Panel("r", "", Axis("x"), Axis("y"), (Line(x, scale * far * x, "net"),), name=name)
            for name, far in (("red-green", 1.0), ("yellow-blue", 0.8))
        ]

    names = ["red-green", "yellow-blue"]
    cells = [*cells_of("near", parts(1.0), names), *cells_of("far", parts(1000.0), names)]
    with paper_style():
        figure = draw_grid(cells, 2, 100)
    check_legible(figure)
    one, same, other, too = (axes.get_ylim() for axes in figure.axes)
    assert one == same
    assert other == too
    assert other[1] > 100 * one[1]

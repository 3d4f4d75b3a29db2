"""What of an axis is used."""

import math

import numpy as np
import pytest

from fechner.report.extents import edges_of, has_cells, is_positive, numbered, values_of
from fechner.scores.panels import (
    Axis,
    Bars,
    Gallery,
    Line,
    Mark,
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

"""Scales: what panels share, and ticks that have room."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fechner.report.paper.lettering import width_mm
from fechner.report.paper.scales import Scale, scales, ticks_between, ticks_of
from fechner.scores.panels import Axis, Line, Panel, Points, Surface


def panel(low: float, high: float, log: bool = True) -> Panel:
    x = np.array([low, high])
    return Panel("kind", "title", Axis("x", log=log), Axis("y"), (Points(x, np.array([0.0, 1.0])),))


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("most", [2, 3, 5])
@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_round_inside_and_not_too_many(log: bool, most: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    low = 10 ** random.uniform(-6, 3)
    high = low * 10 ** random.uniform(0.1, 8)
    ticks = ticks_between(low, high, log, most)
    assert 2 <= len(ticks) <= most
    for tick in ticks:
        assert low * 0.998 <= tick <= high * 1.002
        assert tick == 0 or math.isclose(tick, float(f"{tick:.2g}"))
    assert ticks == sorted(set(ticks))


def test_panels_of_like_ranges_share_a_scale() -> None:
    first, second = scales([panel(1, 100), panel(2, 150)], "x")
    assert first == second
    assert first.low < 1
    assert first.high > 150


def test_panels_of_far_ranges_have_their_own() -> None:
    first, second = scales([panel(1, 10), panel(1e4, 1e5)], "x")
    assert first.high < 100
    assert second.low > 100


def test_other_words_are_another_axis() -> None:
    one = panel(1, 100)
    two = replace(one, x=Axis("another", log=True))
    first, second = scales([one, two], "x")
    assert first != second


def test_a_surface_fills_its_axes_whatever_else_is_there() -> None:
    surface = Surface(np.array([1.0, 10.0]), np.array([1.0, 2.0]), np.ones((2, 2)))
    line = Line(np.array([0.1, 100.0]), np.array([0.0, 9.0]), "people", human=True)
    both = Panel("kind", "title", Axis("x", log=True), Axis("y"), (surface, line))
    assert [(s.low, s.high) for s in scales([both], "x")] == [(1.0, 10.0)]
    assert [(s.low, s.high) for s in scales([both], "y")] == [(1.0, 2.0)]


def test_bands_and_guides_are_within_the_limits() -> None:
    x = np.array([0.0, 1.0])
    line = Line(x, x, "a", low=x - 1, high=x + 2)
    one = Panel("kind", "title", Axis("x"), Axis("y"), (line,))
    (scale,) = scales([one], "y", [[-5.0]])
    assert scale.low < -5
    assert scale.high > 3


@pytest.mark.parametrize("values", [[np.nan, np.nan], [-1.0, 0.0], [3.0, 3.0], []])
@pytest.mark.parametrize("log", [True, False])
def test_odd_values_still_give_limits(values: list[float], log: bool) -> None:
    x = np.array(values)
    one = Panel("kind", "title", Axis("x", log=log), Axis("y"), (Points(x, x),))
    (scale,) = scales([one], "x")
    assert scale.low < scale.high
    assert not log or scale.low > 0
    assert ticks_of(scale, "x", 30).labels


@pytest.mark.parametrize("room", [19.0, 30.0, 60.0, 150.0])
def test_labels_keep_clear_of_each_other(room: float) -> None:
    for axis, low, high in (
        (Axis("f", log=True), 0.5, 32.0),
        (Axis("c", log=True), 0.03, 3.5),
        (Axis("s"), -0.06, 1.06),
    ):
        scale = Scale(axis, low, high)
        ticks = ticks_of(scale, "x", room)
        whole = np.log(high / low) if axis.log else high - low
        at = [(np.log(p / low) if axis.log else p - low) / whole * room for p in ticks.places]
        places = list(zip(at, map(width_mm, ticks.labels), strict=True))
        assert len(places) >= 2
        for (x, w), (y, v) in pairwise(places):
            assert y - v / 2 > x + w / 2


def test_names_are_turned_and_thinned_where_they_have_no_room() -> None:
    names = tuple(f"blocks.{number}.mlp" for number in range(40))
    few = ticks_of(Scale(Axis("layer", ticks=names[:3]), -0.5, 2.5), "x", 80)
    assert (few.labels, few.turned) == (names[:3], False)
    many = ticks_of(Scale(Axis("layer", ticks=names), -0.5, 39.5), "x", 50)
    assert many.turned
    assert many.labels[-1] == names[-1]
    assert 5 < len(many.labels) <= 50 / 3
    assert many.places[-1] == 39

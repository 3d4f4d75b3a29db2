"""Colours that stand for something: which, how many, and that they can be seen."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fechner.report.palettes import GROUNDS, group_colours
from fechner.scores.panels import Axis, Line, Palette, Panel

GROUND = {"light": "#ffffff", "dark": "#1d1f25"}


def panel(groups: int, palette: Palette) -> Panel:
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
    colours = group_colours(panel(groups, palette), ground)
    assert len(set(colours)) == len(colours) == groups
    for colour in colours:
        high, low = sorted([luminance(colour) + 0.05, luminance(GROUND[ground]) + 0.05])[::-1]
        assert high / low > 2


def test_adaptors_go_from_blue_over_darker_and_lighter_greys_to_red() -> None:
    first, *greys, last = group_colours(panel(6, "adaptors"))
    assert (first, last) == ("#0072b2", "#d4351c")
    assert all(len({grey[i : i + 2] for i in (1, 3, 5)}) == 1 for grey in greys)
    assert all(luminance(a) < luminance(b) for a, b in pairwise(greys))


def test_backgrounds_have_their_own_colours_and_grey_is_ink() -> None:
    green, _, ink, _, red = group_colours(panel(5, "red-green"))
    blue, _, other, _, yellow = group_colours(panel(5, "yellow-blue"))
    assert ink == other == "#222222"
    assert len({green, red, blue, yellow}) == 4


def test_channels_keep_theirs_whoever_is_missing() -> None:
    every = group_colours(panel(3, "channels"))
    assert group_colours(panel(1, "channels")) == every
    assert len(every) == 3


def test_other_panels_have_none() -> None:
    assert group_colours(replace(panel(3, "channels"), palette="")) == ()

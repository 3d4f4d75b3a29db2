"""The ratios of matching contrasts across colour directions."""

import numpy as np
import pytest

from fechner.human import colour_matching_ratios, load


def test_the_ratios_of_hammou_et_al() -> None:
    ratios = colour_matching_ratios()
    assert list(ratios) == ["ach", "rg", "yv"]
    assert ratios["ach"] == 1
    assert ratios["rg"] == pytest.approx(0.610649, rel=1e-9)
    assert ratios["yv"] == pytest.approx(4.203636, rel=1e-9)


def test_one_ratio_holds_at_all_contrasts() -> None:
    table = load("switkes_crognale1999")
    for direction, ratio in colour_matching_ratios().items():
        rows = table["direction"] == direction
        matched = ratio * table["achromatic_contrast"][rows]
        np.testing.assert_allclose(table["dkl_amplitude"][rows], matched, rtol=1e-9)


def test_a_change_of_the_answer_does_not_change_the_next() -> None:
    colour_matching_ratios()["rg"] = 2.0
    assert colour_matching_ratios()["rg"] == pytest.approx(0.610649)

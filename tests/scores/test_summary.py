import math
from dataclasses import replace

import numpy as np
import pytest

from fechner.scores import Score, distance
from fechner.scores.summary import mean_difference, mean_distance

ALIGNMENT = Score("alignment", 0.5, 0.4, 0.6, True, best=1.0, chance=0.0, resampled="x", n=9)
ERROR = Score("matching-error", 0.2, 0.1, 0.3, False, best=0.0, chance=0.8, resampled="x", n=9)


def test_distance_is_0_for_people_and_1_at_chance_whichever_way_is_better() -> None:
    assert distance(replace(ALIGNMENT, value=1.0)) == distance(replace(ERROR, value=0.0)) == 0
    assert distance(replace(ALIGNMENT, value=0.0)) == distance(replace(ERROR, value=0.8)) == 1
    assert distance(replace(ALIGNMENT, value=-0.5)) == 1.5
    assert distance(ERROR) == pytest.approx(0.25)


def test_what_could_not_be_scored_does_not_count() -> None:
    nothing = replace(ALIGNMENT, value=math.nan)
    assert mean_distance([ALIGNMENT, ERROR, nothing])[:1] == pytest.approx((0.375,))
    assert mean_distance([ALIGNMENT, ERROR, nothing]).n == 2
    assert mean_distance([nothing]).n == 0
    assert math.isnan(mean_distance([nothing]).value)
    alone = mean_distance([ALIGNMENT])
    assert (alone.value, alone.n) == (0.5, 1)
    assert math.isnan(alone.low)


def test_the_interval_holds_the_true_mean_in_95_percent_of_simulations() -> None:
    generator = np.random.default_rng(4)
    simulations = 2000
    held = 0
    for distances in generator.normal(0.4, 0.2, size=(simulations, 9)):
        found = mean_distance([replace(ALIGNMENT, value=1 - each) for each in distances])
        held += found.low <= 0.4 <= found.high
    assert 0.935 <= held / simulations <= 0.965


def test_paired_means_hold_the_difference() -> None:
    """Tests differ more than observers do: pairing takes that out."""
    generator = np.random.default_rng(0)
    inside, significant = 0, 0
    for _ in range(400):
        common = generator.normal(0.5, 0.3, 8)
        first, second = (common + shift + generator.normal(0, 0.05, 8) for shift in (0.1, 0.0))
        found = mean_difference(
            [replace(ALIGNMENT, value=value) for value in first],
            [replace(ALIGNMENT, value=value) for value in second],
        )
        inside += found.low <= -0.1 <= found.high
        significant += found.p < 0.05
    assert 0.92 < inside / 400 < 0.98
    assert significant / 400 > 0.8


def test_few_tests_have_no_interval() -> None:
    found = mean_difference(
        [replace(ALIGNMENT, value=0.5)] * 3, [replace(ALIGNMENT, value=0.4)] * 3
    )
    assert found.value == pytest.approx(-0.1)
    assert np.isnan([found.low, found.high, found.p]).all()
    assert np.isnan(mean_difference([], []).value)
    same = mean_difference([replace(ALIGNMENT, value=0.5)] * 5, [replace(ALIGNMENT, value=0.5)] * 5)
    assert (same.value, same.p) == (0, 1)

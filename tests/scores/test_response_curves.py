"""Curves over classes: counts, means, intervals, smoothing, area."""

import numpy as np
import pytest
from known_observers import LEVELS, steps, trials

from fechner.errors import FechnerError
from fechner.scores.rates import wilson
from fechner.scores.response_curves import (
    area_interval,
    class_areas,
    counted,
    pooled_curve,
    smoothed,
)


def test_counting_a_table_of_trials_in_any_order() -> None:
    generator = np.random.default_rng(0)
    right = trials(generator, 6, chance=0.1)
    of, at = np.meshgrid(np.arange(6), np.arange(41), indexing="ij")
    order = generator.permutation(of.size)
    found = counted(of.ravel()[order], LEVELS[at].ravel()[order], right.ravel()[order], classes=7)
    np.testing.assert_array_equal(found.levels, LEVELS)
    np.testing.assert_array_equal(found.right[:6], right)
    assert found.n[:6].tolist() == np.ones((6, 41)).tolist()
    assert found.n[6].sum() == found.right[6].sum() == 0  # a class nobody was asked about


def test_a_class_that_is_not_there() -> None:
    with pytest.raises(FechnerError, match="class"):
        counted([0, 2], [1.0, 1.0], [1, 1], classes=2)


def test_every_class_counts_the_same_however_often_it_was_asked() -> None:
    n = np.array([[1.0, 1], [3, 0]])
    found = pooled_curve([0, 1], n, np.array([[0.0, 1], [3, 0]]))
    assert found.accuracy.tolist() == [0.5, 1.0]


def test_intervals_of_one_trial_a_class() -> None:
    right = steps(np.random.default_rng(1), 200, chance=0.001)
    found = pooled_curve(LEVELS, np.ones_like(right), right)
    np.testing.assert_allclose(found.accuracy, right.mean(axis=0))
    for i in (0, 20, 25):
        assert found.wilson_low[i] == pytest.approx(wilson(right[:, i].sum(), 200)[0])
        assert found.wilson_high[i] == pytest.approx(min(wilson(right[:, i].sum(), 200)[1], 1.0))
    middle = (found.accuracy > 0.2) & (found.accuracy < 0.8)
    # With one trial a class, classes are trials.
    np.testing.assert_allclose(found.low[middle], found.wilson_low[middle], atol=0.015)
    np.testing.assert_allclose(found.high[middle], found.wilson_high[middle], atol=0.015)
    assert found.low[0] == found.high[0] == 1.0
    assert found.wilson_low[0] < 0.99


def test_trials_that_go_together_are_not_worth_as_many() -> None:
    one = (np.arange(40) < 20).astype(float)[:, None]
    found = pooled_curve([1.0], np.full((40, 1), 25.0), 25 * one)
    assert found.wilson_high[0] - found.wilson_low[0] < 0.07
    assert found.high[0] - found.low[0] > 0.25


def test_the_bootstrap_interval_holds_the_accuracy() -> None:
    generator = np.random.default_rng(2)
    held = []
    for _ in range(200):
        # Rates of classes differ: Beta(2, 2), ten trials each.
        right = generator.binomial(10, generator.beta(2, 2, (40, 1))).astype(float)
        found = pooled_curve([1.0], np.full((40, 1), 10.0), right)
        held.append(found.low[0] <= 0.5 <= found.high[0])
    assert 0.90 <= np.mean(held) <= 0.99


def test_levels_nobody_saw_have_no_accuracy() -> None:
    n = np.array([[1.0, 0, 1], [1, 0, 1]])
    found = pooled_curve([0, 1, 2], n, n)
    assert np.isnan(found.accuracy).tolist() == [False, True, False]
    assert np.isnan(found.low).tolist() == [False, True, False]
    alone = pooled_curve([0, 1, 2], n[:1], n[:1])
    assert np.isnan(alone.low).all()


def test_smoothing_by_hand() -> None:
    values = np.zeros(201)
    values[100] = 1
    found = smoothed(values)
    assert len(found) == 201
    np.testing.assert_allclose(found[93:108], 1 / 15)
    assert found[92] == found[108] == 0
    edge = smoothed([1.0] + 20 * [0.0])
    # The first value and seven copies of it.
    assert edge[0] == pytest.approx(8 / 15)
    np.testing.assert_allclose(smoothed(np.full(30, 0.3)), 0.3)
    with pytest.raises(FechnerError, match="odd"):
        smoothed([1.0, 0.0], window=4)


def test_area_by_hand() -> None:
    levels = np.array([0, 1, 10, 100.0])
    n = np.ones((2, 4))
    right = np.array([[1, 1, 1, 1], [1, 1, 0.5, 0.5]])
    areas = class_areas(levels, n, right, chance=0.5)
    np.testing.assert_allclose(areas, [1.0, 0.25])
    # The order of levels does not matter, nor do levels that a class was not asked about.
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(
        class_areas(levels[order], n[:, order], right[:, order], chance=0.5), areas
    )
    n[0, 2] = right[0, 2] = 0
    assert class_areas(levels, n, right, chance=0.5)[0] == pytest.approx(1.0)


def test_the_area_of_known_observers_is_in_its_interval() -> None:
    generator = np.random.default_rng(3)
    expected = np.log10(3 / 0.1) / 3  # symmetric over the logarithm, in three decades
    values, held = [], []
    for _ in range(300):
        right = steps(generator, 40, chance=0.5)
        areas = class_areas(LEVELS, np.ones((40, 41)), right, chance=0.5)
        low, high = area_interval(areas)
        values.append(areas.mean())
        held.append(low <= expected <= high)
    assert np.mean(values) == pytest.approx(expected, abs=0.01)
    assert 0.91 <= np.mean(held) <= 0.985


def test_classes_that_agree_do_not_make_an_area_certain() -> None:
    low, high = area_interval(np.full(30, 0.6))
    assert low == pytest.approx(0.6 * 30 / (30 + 1.959964**2))
    assert 0.6 < high < 0.65
    assert area_interval(np.zeros(30))[0] == 0 < area_interval(np.zeros(30))[1]
    assert np.isnan(area_interval(np.ones(1))).all()


def test_counts_that_do_not_fit() -> None:
    with pytest.raises(FechnerError, match="by class and level"):
        pooled_curve([0, 1], np.ones((3, 3)), np.ones((3, 3)))
    with pytest.raises(FechnerError, match="between 0"):
        pooled_curve([0, 1], np.ones((3, 2)), 2 * np.ones((3, 2)))

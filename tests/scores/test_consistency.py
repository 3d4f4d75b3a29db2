"""Errors that two share, and answers in conditions."""

import numpy as np
import pytest

from fechner.scores.consistency import Estimate, GivenAnswers, error_consistency, mean_of
from fechner.scores.statistics import wilson

CATEGORIES = np.repeat(["bear", "cat", "dog", "oven"], 10)


def answers(right: float) -> GivenAnswers:
    """Return answers that are right in the same share of every category."""
    is_right = np.tile(np.arange(10) < 10 * right, 4)
    response = np.where(is_right, CATEGORIES, "truck")
    images = np.arange(40).astype(str)
    return GivenAnswers("it", CATEGORIES, np.full(40, "c10"), images, response)


def test_a_mean_of_experiments_is_as_uncertain_as_these() -> None:
    """Where all categories have the same accuracy, resampling them changes nothing."""
    each = [answers(right).accuracy() for right in (1.0, 0.3)]
    assert all(np.ptp(one.draws) < 1e-12 for one in each)
    found = mean_of(each)
    assert found.value == pytest.approx(0.65)
    low, high = found.ends
    widths = [np.diff(one.ends)[0] for one in each]
    assert max(widths) / 2 <= high - low <= sum(widths) / 2
    assert np.isnan(mean_of([Estimate(float("nan"))]).value)


def test_a_table_by_hand() -> None:
    # 50 both right, 20 only the first, 10 only the second, 20 neither.
    first = np.repeat([1, 1, 0, 0], [50, 20, 10, 20])
    second = np.repeat([1, 0, 1, 0], [50, 20, 10, 20])
    found = error_consistency(first, second, np.arange(100) % 10)
    assert found.observed == pytest.approx(0.7)
    assert found.accuracies == pytest.approx((0.7, 0.6))
    assert found.expected == pytest.approx(0.7 * 0.6 + 0.3 * 0.4)
    assert found.kappa == pytest.approx((0.7 - 0.54) / (1 - 0.54))
    assert found.low < found.kappa < found.high
    assert (found.trials, found.classes) == (100, 10)


def test_the_same_and_the_opposite() -> None:
    first = np.tile([1, 0], 20)
    of = np.arange(40) // 4
    same = error_consistency(first, first, of)
    assert (same.kappa, same.high) == pytest.approx((1.0, 1.0))
    assert same.low == pytest.approx(2 * wilson(10, 10)[0] - 1)  # ten classes; half is expected
    assert error_consistency(first, 1 - first, of).kappa == pytest.approx(-1.0)


@pytest.mark.parametrize("answer", [1, 0])
def test_observers_without_errors_have_none_to_share(answer: int) -> None:
    found = error_consistency([answer] * 8, [answer] * 8, np.arange(8) // 2)
    assert np.isnan([found.kappa, found.low, found.high]).all()
    assert found.observed == found.expected == 1.0


def test_one_perfect_observer_is_as_consistent_as_expected() -> None:
    found = error_consistency([1] * 6, [1, 0, 1, 0, 1, 1], np.arange(6) // 2)
    assert found.kappa == pytest.approx(0.0)


def test_the_order_of_trials_and_observers_does_not_matter() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 2, (2, 60))
    of = np.arange(60) // 6
    order = generator.permutation(60)
    one = error_consistency(first, second, of)
    assert error_consistency(first[order], second[order], of[order]) == one
    assert error_consistency(second, first, of).kappa == pytest.approx(one.kappa)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_known_kappa_is_recovered(share: float) -> None:
    # Right in 80 and 60 % of trials; in some the second decides by the first one's draw.
    generator = np.random.default_rng(1)
    expected = 0.8 * 0.6 + 0.2 * 0.4
    true = share * (0.6 + 0.2 - expected) / (1 - expected)
    of = np.repeat(np.arange(20), 20)
    found = []
    for _ in range(300):
        u = generator.random((2, 400))
        u[1] = np.where(generator.random(400) < share, u[0], u[1])
        found.append(error_consistency(u[0] < 0.8, u[1] < 0.6, of, resamples=200))
    assert np.mean([each.kappa for each in found]) == pytest.approx(true, abs=0.01)
    held = np.mean([each.low <= true <= each.high for each in found])
    room = 3 * np.sqrt(0.05 * 0.95 / len(found))
    assert 0.93 - room <= held <= 0.97 + room


def test_trials_of_a_class_that_go_together_widen_the_interval() -> None:
    generator = np.random.default_rng(2)
    first, second = generator.integers(0, 2, (2, 12))
    loose = error_consistency(
        generator.integers(0, 2, 240), generator.integers(0, 2, 240), np.repeat(np.arange(12), 20)
    )
    tied = error_consistency(np.repeat(first, 20), np.repeat(second, 20), np.repeat(range(12), 20))
    assert tied.high - tied.low > 2 * (loose.high - loose.low)

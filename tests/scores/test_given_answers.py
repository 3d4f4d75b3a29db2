"""Figures of answers to given pictures: intervals where categories agree."""

import numpy as np
import pytest

from fechner.scores.given_answers import Estimate, GivenAnswers, mean_of

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

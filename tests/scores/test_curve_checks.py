"""The order of curves."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from fechner.scores.curve_checks import concordance, pooled_kendall


def test_concordance_is_somers_d_without_ideal_ties() -> None:
    generator = np.random.default_rng(0)
    ideal = np.repeat(np.arange(5.0)[:, None], 7, axis=1)
    responses = generator.standard_normal((5, 7))
    expected = [kendalltau(ideal[:, i], responses[:, i]).statistic for i in range(7)]
    assert concordance(ideal, responses) == pytest.approx(expected)


def test_ties_of_the_ideal_order_do_not_count() -> None:
    ideal = np.array([[np.inf], [1.0], [1.0], [0.0]])
    for swapped in ([9.0, 5.0, 4.0, 1.0], [9.0, 4.0, 5.0, 1.0], [9.0, 4.0, 4.0, 1.0]):
        assert concordance(ideal, np.array(swapped)[:, None]) == 1
    assert concordance(ideal, np.zeros((4, 1))) == 0
    assert concordance(ideal, np.array([[1.0], [4.0], [5.0], [9.0]])) == -1


def test_what_was_not_shown_does_not_count() -> None:
    ideal = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, np.nan]])
    responses = np.array([[3.0, np.nan], [2.0, 2.0], [np.nan, 5.0]])
    found = concordance(ideal, responses)
    assert found[0] == 1
    assert np.isnan(found[1])


def test_pooled_kendall_is_that_of_the_lists() -> None:
    generator = np.random.default_rng(1)
    ideal = np.repeat(np.arange(4.0)[:, None], 6, axis=1)
    responses = ideal + generator.standard_normal((4, 6))
    counts = np.array([[1, 1, 1, 1, 1, 1], [2, 0, 1, 1, 2, 0]], dtype=float)
    found = pooled_kendall(ideal, responses, counts)
    lists = [np.argsort(-each, axis=0) for each in (ideal, responses)]
    for count, value in zip(counts.astype(int), found, strict=True):
        x, y = (np.repeat(each, count, axis=1).ravel() for each in lists)
        assert value == pytest.approx(kendalltau(x, y).statistic)


def test_rounding_is_no_order() -> None:
    ideal = np.arange(4.0)[:, None]
    responses = (1 + np.arange(4.0) * 1e-7)[:, None]
    assert concordance(ideal, responses) == 0
    assert concordance(ideal, (1 + np.arange(4.0) * 1e-3)[:, None]) == 1

"""Numbers from places and seeds: as good as those of a generator, and the same in any batch."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from fechner.stimuli.manipulations.base import hashes, normal, uniform

LIKE = torch.zeros((), dtype=torch.float64)


def test_a_number_does_not_depend_on_other_rows() -> None:
    together = hashes([(1,), (2,), (3, 4)], "test", (3, 5, 7), "cpu")
    assert torch.equal(hashes([(3, 4)], "test", (3, 5, 7), "cpu")[0], together[2])
    assert not torch.equal(hashes([(3, 4)], "another", (3, 5, 7), "cpu")[0], together[2])
    # NumPy's integers are seeds as Python's are.
    assert torch.equal(hashes([(np.int64(1),)], "test", (3, 5, 7), "cpu")[0], together[0])


def test_uniform_numbers_are_uniform() -> None:
    drawn = uniform([(seed,) for seed in range(8)], "test", (40_000,), LIKE)
    assert float(drawn.min()) > 0
    assert float(drawn.max()) < 1
    for row in drawn.numpy():
        assert stats.kstest(row, "uniform").pvalue > 1e-4
    single = uniform([(0,)], "test", (40_000,), LIKE.float())
    assert torch.equal(single.double(), drawn[:1])


def test_each_bit_is_a_coin() -> None:
    n = 200_000
    drawn = hashes([(5,)], "test", (n,), "cpu")[0]
    for bit in range(32):
        heads = float(((drawn >> bit) & 1).double().sum())
        assert abs(heads - n / 2) < 4.5 * math.sqrt(n / 4)


@pytest.mark.parametrize("lag", [1, 2, 64, 224])
def test_neighbours_are_independent(lag: int) -> None:
    drawn = normal([(seed,) for seed in range(4)], "test", (50_000,), LIKE)
    for row in drawn:
        correlation = float((row[:-lag] * row[lag:]).mean())
        assert abs(correlation) < 4.5 / math.sqrt(50_000)


def test_seeds_that_are_near_are_independent() -> None:
    drawn = normal([(0, seed) for seed in range(30)], "test", (20_000,), LIKE)
    correlations = (drawn @ drawn.T / 20_000 - torch.eye(30)).abs()
    correlations.fill_diagonal_(0)
    assert float(correlations.max()) < 4.5 / math.sqrt(20_000)


def test_normal_numbers_are_normal() -> None:
    drawn = normal([(1,)], "test", (200_000,), LIKE)[0]
    assert float(drawn.mean()) == pytest.approx(0, abs=0.01)
    assert float(drawn.std()) == pytest.approx(1, abs=0.01)
    assert float((drawn**4).mean()) == pytest.approx(3, abs=0.07)
    assert stats.kstest(drawn.numpy(), "norm").pvalue > 1e-4

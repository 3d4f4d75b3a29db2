"""Rank correlations against SciPy, and weights against explicit repetition."""

import numpy as np
import pytest
from scipy import stats

from fechner.scores.alignment import Spearman, SpearmanOfRows, weighted_ranks


def data(n: int, ties: int | None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(n)
    y = 0.5 * x + generator.standard_normal(n)
    if ties:
        x, y = np.round(x * ties), np.round(y * ties)
    return x, y


@pytest.mark.parametrize("n", [3, 10, 201])
@pytest.mark.parametrize("ties", [None, 1, 3])
def test_spearman_is_that_of_scipy(n: int, ties: int | None) -> None:
    for seed in range(5):
        x, y = data(n, ties, seed)
        if np.ptp(x) and np.ptp(y):
            expected = stats.spearmanr(x, y).statistic
            assert float(Spearman(x)(y)) == pytest.approx(expected, abs=1e-12)


def test_ranks_are_those_of_scipy() -> None:
    x, _ = data(50, 2)
    np.testing.assert_allclose(weighted_ranks(x, np.ones(50)), stats.rankdata(x))


@pytest.mark.parametrize("ties", [None, 2])
def test_weights_are_repetitions(ties: int | None) -> None:
    x, y = data(40, ties)
    counts = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), size=25)
    found = Spearman(x, counts.astype(float))(y)
    assert found.shape == (25,)
    expected = [
        stats.spearmanr(np.repeat(x, count), np.repeat(y, count)).statistic for count in counts
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_weighted_ranks_are_ranks_of_repetitions() -> None:
    x, _ = data(12, 1)
    counts = np.array([3, 0, 1, 2, 1, 0, 4, 1, 1, 2, 0, 1])
    repeated = stats.rankdata(np.repeat(x, counts))
    found = np.repeat(weighted_ranks(x, counts.astype(float)), counts)
    np.testing.assert_allclose(found, repeated)


def test_known_values() -> None:
    # 1 - 6 sum d^2 / (n (n^2 - 1)) for d = (1, -1, 1, -1, 0).
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    assert float(Spearman(x)(y)) == pytest.approx(0.8)
    assert float(Spearman(x)(-y)) == pytest.approx(-0.8)
    assert float(Spearman(x)(np.exp(y))) == pytest.approx(0.8)
    assert float(Spearman(x)(x**3)) == pytest.approx(1.0)


@pytest.mark.parametrize("swap", [False, True])
def test_a_constant_has_no_correlation(swap: bool) -> None:
    x, y = np.arange(7.0), np.full(7, 0.1)
    assert np.isnan(Spearman(y)(x) if swap else Spearman(x)(y))
    # Some resamples may draw one value only.
    weights = np.array([[1.0, 1, 1, 0, 0, 0, 0], [0, 3.0, 0, 0, 0, 0, 0]])
    found = Spearman(x, weights)(x**2)
    assert found[0] == pytest.approx(1.0)
    assert np.isnan(found[1])


@pytest.mark.parametrize("ties", [None, 2])
def test_rows_against_scipy(ties: int | None) -> None:
    generator = np.random.default_rng(2)
    rows = generator.standard_normal((30, 60))
    _, y = data(60, ties)
    expected = [stats.spearmanr(row, y).statistic for row in rows]
    np.testing.assert_allclose(SpearmanOfRows(rows)(y), expected, rtol=0, atol=1e-12)
    assert np.isnan(SpearmanOfRows(rows)(np.ones(60))).all()

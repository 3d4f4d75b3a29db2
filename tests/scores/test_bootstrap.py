"""Resampling: what the counts are, that they are fixed, and that intervals cover."""

import numpy as np
import pytest

from fechner.scores.bootstrap import RESAMPLES, cluster_counts, interval, normal_errors


@pytest.mark.parametrize("clusters", [1, 2, 20])
def test_every_resample_has_as_many_clusters_as_there_are(clusters: int) -> None:
    counts = cluster_counts(clusters)
    assert counts.shape == (RESAMPLES, clusters)
    assert (counts.sum(axis=1) == clusters).all()
    assert (counts >= 0).all()
    assert (counts == np.round(counts)).all()


def test_counts_are_multinomial() -> None:
    counts = cluster_counts(20, resamples=20000)
    np.testing.assert_allclose(counts.mean(axis=0), 1.0, rtol=0, atol=0.04)
    np.testing.assert_allclose(counts.var(axis=0), 1 - 1 / 20, rtol=0.06)
    assert np.cov(counts[:, 3], counts[:, 11])[0, 1] == pytest.approx(-1 / 20, abs=0.03)


def test_resampling_is_the_same_every_time() -> None:
    np.testing.assert_array_equal(cluster_counts(7), cluster_counts(7))
    np.testing.assert_array_equal(normal_errors((5, 3)), normal_errors((5, 3)))


def test_simulated_errors_are_standard_normal() -> None:
    errors = normal_errors((1000, 20))
    assert errors.mean() == pytest.approx(0, abs=0.03)
    assert errors.std() == pytest.approx(1, abs=0.02)
    assert np.corrcoef(errors[:, 0], errors[:, 1])[0, 1] == pytest.approx(0, abs=0.1)
    # Unrelated to what is drawn for the counts.
    assert np.corrcoef(errors[:, 4], cluster_counts(20)[:, 4])[0, 1] == pytest.approx(0, abs=0.1)


def test_interval_is_the_middle_95_percent() -> None:
    values = np.random.default_rng(0).permutation(np.linspace(0, 1, 1001))
    assert interval(values) == pytest.approx((0.025, 0.975))


def test_interval_leaves_out_what_could_not_be_computed() -> None:
    values = np.linspace(0, 1, 1001)
    spoiled = np.concatenate([values, np.full(300, np.nan), [np.inf, -np.inf]])
    assert interval(spoiled) == pytest.approx((0.025, 0.975))
    assert np.isnan(interval(np.full(10, np.nan))).all()


def test_the_interval_of_a_mean_is_that_of_theory() -> None:
    # 400 clusters: mean +- 1.96 standard errors.
    values = np.random.default_rng(1).standard_normal(400)
    low, high = interval(cluster_counts(400) @ values / 400)
    error = values.std() / 20
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)


def test_coverage_of_a_mean() -> None:
    # 25 clusters, 400 simulations: a percentile interval covers a little less than 95 %.
    generator = np.random.default_rng(2)
    counts = cluster_counts(25) / 25
    covered = 0
    for _ in range(400):
        low, high = interval(counts @ generator.exponential(size=25))
        covered += low <= 1.0 <= high
    assert 0.86 <= covered / 400 <= 0.97

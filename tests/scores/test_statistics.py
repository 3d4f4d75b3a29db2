"""Intervals by resampling, and of curves that were measured with error."""

import numpy as np
import pytest

from fechner.scores.statistics import (
    RESAMPLES,
    Estimate,
    MeasuredCurve,
    Scale,
    cluster_counts,
    correlation_with,
    gain,
    interval,
    linear_rms_from,
    normal_errors,
    rms_from,
    spread,
)


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


def test_spread_is_the_middle_95_percent() -> None:
    values = np.random.default_rng(0).permutation(np.linspace(0, 1, 1001))
    assert spread(values) == pytest.approx((0.025, 0.975))
    assert np.isnan(spread(np.array([0.1, np.nan]))).all()


@pytest.mark.parametrize("scale", ["correlation", "error"])
def test_interval_holds_its_value_and_leaves_out_what_could_not_be_computed(scale: Scale) -> None:
    resamples = np.random.default_rng(3).normal(0.5, 0.1, 1000)
    low, high = interval(0.5, resamples, 20, scale)
    assert low < 0.5 < high
    spoiled = np.concatenate([resamples, np.full(300, np.nan)])
    assert interval(0.5, spoiled, 20, scale) == (low, high)
    assert interval(0.5, np.full(9, 0.5), 20, scale) == pytest.approx((0.5, 0.5))
    assert np.isnan(interval(0.5, np.full(10, np.nan), 20, scale)).all()
    assert np.isnan(interval(np.nan, resamples, 20, scale)).all()


def test_few_clusters_make_wide_intervals() -> None:
    resamples = np.random.default_rng(4).normal(0.0, 0.05, 1000)
    widths = [np.diff(interval(0.0, resamples, n, "correlation"))[0] for n in (1000, 20, 8)]
    # Student's t with n - 1 degrees of freedom: 1.96, 2.09, 2.36; and n/(n - 1) for the variance.
    expected = np.array([1.96, 2.09 * np.sqrt(20 / 19), 2.36 * np.sqrt(8 / 7)])
    np.testing.assert_allclose(np.array(widths) / widths[0], expected / 1.96, rtol=0.01)


@pytest.mark.parametrize("clusters", [8, 20])
def test_coverage_of_an_error(clusters: int) -> None:
    # Root mean square of normal errors whose true value is 0.3, 500 simulations.
    generator = np.random.default_rng(2)
    counts = cluster_counts(clusters)
    covered = 0
    for _ in range(500):
        squares = generator.normal(0, 0.3, clusters) ** 2
        resamples = np.sqrt(counts @ squares / clusters)
        low, high = interval(float(np.sqrt(squares.mean())), resamples, clusters, "error")
        covered += low <= 0.3 <= high
    assert 0.91 <= covered / 500 <= 0.98


HUMAN = np.array([20.0, 60.0, 150.0, 180.0, 120.0, 50.0, 15.0, 4.0])
ODD = np.array([0.4, 0.2, 0.1, -0.1, -0.3, -0.2, 0.1, 0.4])

MEASURES = {
    "correlation": lambda curve: correlation_with(curve, HUMAN, linear=True),
    "log": lambda curve: correlation_with(curve, HUMAN, linear=False),
    "gain": lambda curve: gain(curve, HUMAN),
    "rms": lambda curve: rms_from(curve, HUMAN),
    "linear": lambda curve: linear_rms_from(curve, HUMAN),
}


def exact(log10: np.ndarray) -> MeasuredCurve:
    return MeasuredCurve(log10, np.zeros((8, 8)), np.inf, 0.0, np.inf)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("truth", [0 * ODD, ODD, ODD - 0.8], ids=["people", "odd", "less"])
def test_intervals_hold_the_score_of_the_curve_itself(name: str, truth: np.ndarray) -> None:
    """Also where the curve is exactly people's, whose measured correlation is never 1."""
    measure, curve = MEASURES[name], np.log10(HUMAN) + truth
    expected = measure(exact(curve)).value
    generator = np.random.default_rng(0)
    held, values = [], []
    for _ in range(200):
        errors = generator.normal(0, 0.06, 8) + generator.normal(0, 0.05)
        found = measure(MeasuredCurve(curve + errors, np.eye(8) * 0.06**2, np.inf, 0.05**2, np.inf))
        assert found.low <= found.value <= found.high
        held.append(found.low - 1e-9 <= expected <= found.high + 1e-9)
        values.append(found.value)
    assert 0.9 <= np.mean(held) <= 1.0


def test_error_does_not_make_people_less_human() -> None:
    generator = np.random.default_rng(1)
    found = [
        correlation_with(
            MeasuredCurve(
                np.log10(HUMAN) + generator.normal(0, 0.1, 8), np.eye(8) * 0.01, np.inf, 0.0, np.inf
            ),
            HUMAN,
            linear=False,
        )
        for _ in range(100)
    ]
    measured, value = (
        np.mean([getattr(each, name) for each in found]) for name in ("measured", "value")
    )
    assert measured < 0.99
    assert value > measured + 0.005


def test_without_error_values_are_as_measured() -> None:
    curve = exact(np.log10(HUMAN) + ODD)
    for measure in MEASURES.values():
        found = measure(curve)
        assert found.value == pytest.approx(found.measured)
    x = 10**curve.log10
    assert MEASURES["correlation"](curve).value == pytest.approx(np.corrcoef(x, HUMAN)[0, 1])
    assert MEASURES["rms"](curve).value == pytest.approx(np.sqrt(np.mean(ODD**2)))
    assert MEASURES["linear"](curve).value == pytest.approx(np.sqrt(np.mean((x - HUMAN) ** 2)))


def test_unknown_errors_leave_no_interval() -> None:
    unknown = exact(np.log10(HUMAN) + ODD)._replace(covariance=np.full((8, 8), np.nan))
    for name in ("correlation", "log", "rms", "linear"):
        found: Estimate = MEASURES[name](unknown)
        assert found.value == found.measured
        assert np.isnan([found.low, found.high]).all()

"""Regressions on outside figures: against SciPy, and by recovery."""

import math

import numpy as np
import pytest
from scipy import stats

from fechner.scores.regression import FEWEST, regress


@pytest.mark.parametrize("n", [4, 12, 43])
def test_numbers_are_those_of_scipy(n: int) -> None:
    generator = np.random.default_rng(n)
    x = generator.uniform(60, 90, n)
    y = 0.01 * x + generator.normal(0, 0.1, n)
    found, line = regress(x.tolist(), y.tolist()), stats.linregress(x, y)
    assert found.r == pytest.approx(line.rvalue)
    assert found.p == pytest.approx(line.pvalue)
    assert found.slope == pytest.approx(line.slope)
    half = stats.t.ppf(0.975, n - 2) * line.stderr
    assert (found.slope_low, found.slope_high) == pytest.approx(
        (line.slope - half, line.slope + half)
    )
    # Fisher's interval, but for the few points for which it disagrees with p.
    fisher = stats.pearsonr(x, y).confidence_interval(0.95)
    assert np.arctanh([found.low, found.high]) == pytest.approx(
        np.arctanh([*fisher]), abs={4: 0.13, 12: 0.01, 43: 0.001}[n]
    )
    assert (found.n, found.note) == (n, "")
    at = np.array([0.0, 75.0])
    assert found.line(at)[0] == pytest.approx(line.intercept + line.slope * at)


@pytest.mark.parametrize("n", [4, 5, 6, 10, 43])
def test_intervals_agree_with_p(n: int) -> None:
    generator = np.random.default_rng(n)
    critical = stats.t.ppf(0.975, n - 2)
    x = generator.standard_normal(n)
    noise = generator.standard_normal(n)
    dx, left = x - x.mean(), noise - np.polyval(np.polyfit(x, noise, 1), x)
    for t in critical * np.array([-1.001, -0.999, 0.5, 0.999, 1.001, 3]):
        # Points with just this t.
        slope = t * math.sqrt(left @ left / (n - 2) / (dx @ dx))
        found = regress(x.tolist(), (slope * x + left).tolist())
        known = abs(t) > critical
        assert (found.p < 0.05) == known
        assert (found.low * found.high > 0) == known
        assert (found.slope_low * found.slope_high > 0) == known


@pytest.mark.parametrize("n", [4, 5, 10, 43])
@pytest.mark.parametrize("r", [0.0, 0.6])
def test_true_values_are_held(n: int, r: float) -> None:
    generator = np.random.default_rng(n)
    held = np.zeros(4)
    for _ in range(1000):
        x = generator.standard_normal(n)
        y = r * x + math.sqrt(1 - r * r) * generator.standard_normal(n)
        found = regress(x.tolist(), y.tolist())
        _, low, high = found.line(np.array([1.0]))
        held += [
            found.low <= r <= found.high,
            found.slope_low <= r <= found.slope_high,
            low[0] <= r <= high[0],
            found.p >= 0.05,
        ]
    assert (held[:3] / 1000 >= 0.93).all()
    assert (held[:3] / 1000 <= 0.97).all()
    if r == 0:
        assert 0.93 <= held[3] / 1000 <= 0.97


def test_too_few_points_for_an_interval() -> None:
    found = regress([1, 2, 3], [1, 3, 2])
    assert FEWEST == 4
    assert (found.r, found.slope) == pytest.approx((0.5, 0.5))
    assert np.isnan([found.low, found.high, found.p, found.slope_low, found.slope_high]).all()
    assert found.note == "3 observers are too few for an interval"
    y, low, high = found.line(np.array([2.0]))
    assert y == pytest.approx(2)
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize(
    ("x", "y", "note"),
    [
        ([], [], "not computable: fewer than 2 observers"),
        ([1], [2], "not computable: fewer than 2 observers"),
        ([5, 5, 5, 5], [1, 2, 3, 4], "not computable: the figure is the same for all 4 observers"),
        ([1, 2, 3], [5, 5, 5], "not computable: the score is the same for all 3 observers"),
    ],
)
def test_what_cannot_be_computed(x: list[float], y: list[float], note: str) -> None:
    found = regress(x, y)
    assert np.isnan([found.r, found.p, found.slope]).all()
    assert found.note == note
    assert found.n == len(x)


def test_points_that_lack_a_number_do_not_count() -> None:
    x, y = [1.0, 2.0, math.nan, 4.0, 5.0, 6.0], [2.0, 1.0, 3.0, math.nan, 5.0, 7.0]
    found = regress(x, y)
    assert found.n == 4
    assert found.r == regress([1, 2, 5, 6], [2, 1, 5, 7]).r
    assert found.x.tolist() == [1, 2, 5, 6]


def test_points_on_a_line() -> None:
    found = regress([1, 2, 3, 4, 5], [10, 8, 6, 4, 2])
    assert (found.r, found.low, found.high) == pytest.approx((-1, -1, -1), abs=1e-5)
    assert (found.slope, found.slope_low, found.slope_high) == pytest.approx((-2, -2, -2), abs=1e-5)
    assert found.p < 1e-6

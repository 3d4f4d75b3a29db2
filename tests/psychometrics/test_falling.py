"""Curves that fall to chance: against a general optimiser, recovery, and what cannot be fitted."""

import numpy as np
import pytest
from scipy import optimize, special

from fechner.errors import FechnerError
from fechner.psychometrics import psychometric
from fechner.psychometrics.functions import SHAPES, inverse_share, share
from fechner.psychometrics.likelihood import fit_falling, position_at

LEVELS = np.concatenate([[0.0], np.geomspace(0.1, 100, 40)])
SLOPE = {"weibull": 2.5, "logistic": 8.0, "normal": 5.0}


def accuracy(levels, threshold, slope, top, chance, shape="logistic"):
    return 1 - psychometric(levels, threshold, slope, 1 - top, chance, shape=shape)


# Of the others, functions steeper than the limit still differ.
@pytest.mark.parametrize("shape", SHAPES[:3])
@pytest.mark.parametrize(("chance", "top"), [(0.5, 0.92), (1 / 16, 0.8), (0.001, 0.97)])
def test_a_general_optimiser_finds_the_same(shape: str, chance: float, top: float) -> None:
    generator = np.random.default_rng(1)
    levels = np.concatenate([[0.0], np.geomspace(0.3, 30, 14)])
    right = generator.binomial(40, accuracy(levels, 3.0, SLOPE[shape], top, chance, shape), (4, 15))
    found = fit_falling(levels, 40, right, chance=chance, shape=shape)
    assert (found.censored == "").all()
    for row, threshold, slope, height, reached in zip(
        right, found.threshold, found.slope, found.top, found.log_likelihood, strict=True
    ):

        def cost(at, row=row) -> float:
            p = accuracy(
                levels,
                np.exp(at[0]),
                np.exp(at[1]),
                special.expit(at[2]) * (1 - chance) + chance,
                chance,
                shape,
            )
            p = np.clip(p, 1e-15, 1 - 1e-15)
            return -float((special.xlogy(row, p) + special.xlog1py(40 - row, -p)).sum())

        starts = [[np.log(3.0), np.log(SLOPE[shape]), logit] for logit in (1.0, 4.0)]
        options = {"xatol": 1e-8, "fatol": 1e-10, "maxiter": 6000, "maxfev": 6000}
        ends = [optimize.minimize(cost, x, method="Nelder-Mead", options=options) for x in starts]
        best = min(ends, key=lambda end: end.fun)
        assert -reached < best.fun + 1e-5
        expected = np.exp(best.x[:2])
        assert [threshold, slope] == pytest.approx(expected, rel=5e-3)
        assert height == pytest.approx(special.expit(best.x[2]) * (1 - chance) + chance, abs=2e-3)


@pytest.mark.parametrize("chance", [0.5, 1 / 16, 0.001])
@pytest.mark.parametrize("top", [1.0, 0.9])
def test_recovery(chance: float, top: float) -> None:
    generator = np.random.default_rng(2)
    right = generator.binomial(200, accuracy(LEVELS, 3.0, 6.0, top, chance), (100, 41))
    found = fit_falling(LEVELS, 200, right, chance=chance)
    assert (found.censored == "").all()
    assert np.median(found.threshold) == pytest.approx(3.0, rel=0.02)
    assert np.median(found.slope) == pytest.approx(6.0, rel=0.06)
    assert found.top.mean() == pytest.approx(top, abs=0.01)
    curve = found.accuracy(LEVELS)
    assert curve.shape == (100, 41)
    np.testing.assert_allclose(
        curve.mean(axis=0), accuracy(LEVELS, 3.0, 6.0, top, chance), atol=0.01
    )


def test_a_curve_does_not_depend_on_what_else_is_fitted() -> None:
    generator = np.random.default_rng(3)
    right = generator.binomial(5, accuracy(LEVELS, 3.0, 6.0, 0.9, 0.1), (2, 60, 41))
    together = fit_falling(LEVELS, 5, right, chance=0.1)
    assert together.threshold.shape == together.censored.shape == (2, 60)
    for i in ((0, 0), (1, 37)):
        alone = fit_falling(LEVELS, 5, right[i], chance=0.1)
        assert alone.threshold == pytest.approx(together.threshold[i], rel=1e-6)


def test_levels_in_any_order_and_levels_not_asked() -> None:
    generator = np.random.default_rng(4)
    right = generator.binomial(20, accuracy(LEVELS, 3.0, 6.0, 0.95, 0.1)).astype(float)
    found = fit_falling(LEVELS, 20, right, chance=0.1)
    order = generator.permutation(41)
    mixed = fit_falling(LEVELS[order], 20, right[order], chance=0.1)
    assert mixed.threshold == pytest.approx(found.threshold, rel=1e-6)
    more = np.concatenate([LEVELS, [1e-6, 1e6]])
    n = np.concatenate([np.full(41, 20.0), [0, 0]])
    again = fit_falling(more, n, np.concatenate([right, [0, 0]]), chance=0.1)
    assert again.threshold == pytest.approx(found.threshold, rel=1e-6)
    assert again.tested.tolist() == pytest.approx([0.1, 100])


def test_a_start_nearby_leads_to_the_same_place() -> None:
    generator = np.random.default_rng(5)
    right = generator.binomial(50, accuracy(LEVELS, 3.0, 6.0, 0.95, 0.1), (20, 41))
    found = fit_falling(LEVELS, 50, right, chance=0.1)
    warm = fit_falling(LEVELS, 50, right, chance=0.1, start=found.points[0])
    np.testing.assert_allclose(np.log(warm.threshold), np.log(found.threshold), atol=2e-3)


@pytest.mark.parametrize(
    ("right", "censored", "bound"),
    [
        ([20, 20, 20, 20, 20, 20], "above", 16.0),  # never wrong
        ([18, 18, 18, 18, 17, 18], "above", 16.0),  # does not fall
        ([20, 20, 20, 20, 20, 14], "above", 16.0),  # falls, but not half-way
        ([20, 0, 0, 0, 0, 0], "below", 1.0),  # has fallen already
        ([0, 0, 0, 0, 0, 0], "unknown", np.nan),  # has no top
    ],
)
def test_what_lies_outside_the_tested_levels(right, censored: str, bound: float) -> None:
    found = fit_falling([0, 1, 2, 4, 8, 16], 20, right, chance=0.001)
    assert found.censored == censored
    assert np.isnan(found.threshold)
    assert found.bound == pytest.approx(bound, nan_ok=True)


def test_nothing_asked_is_unknown() -> None:
    found = fit_falling([0, 1, 2], [[0, 0, 0], [5, 5, 5]], [[0, 0, 0], [5, 3, 0]], chance=0.1)
    assert found.censored.tolist()[0] == "unknown"
    assert np.isnan(found.threshold[0])
    only_original = fit_falling([0.0], [20], [20], chance=0.1)
    assert only_original.censored == "unknown"


def test_a_step_lies_between_two_levels() -> None:
    levels = np.array([0, 1, 2, 4, 8, 16.0])
    known = np.array([1, 1, 1, 0, 0, 0])
    for chance, within in ((0.001, 1.01), (0.5, np.sqrt(2))):
        found = fit_falling(levels, 100, 100 * (known + (1 - known) * chance), chance=chance)
        assert np.sqrt(8) / within < found.threshold < np.sqrt(8) * within
        assert found.top == pytest.approx(1.0, abs=1e-3)


def test_levels_of_other_accuracies() -> None:
    right = 1000 * accuracy(LEVELS, 3.0, 6.0, 0.9, 0.5)
    found = fit_falling(LEVELS, 1000, right, chance=0.5)
    at, censored = found.level_at(0.75)
    # 0.75 = 0.5 + 0.4 (1 - F): F = 0.375.
    assert at == pytest.approx(3.0 * 10 ** (special.logit(0.375) / 6.0), rel=1e-3)
    assert censored == ""
    assert found.accuracy([float(at)]) == pytest.approx([0.75], abs=1e-6)
    assert found.level_at(0.7)[0] == pytest.approx(found.threshold, rel=1e-6)
    assert found.level_at(0.95)[1] == "below"
    assert found.level_at(0.4)[1] == "above"
    points = found.points
    assert position_at(points, 0.95, "logistic", "log") == -np.inf
    assert position_at(points, 0.4, "logistic", "log") == np.inf


@pytest.mark.parametrize("shape", SHAPES)
def test_the_inverse_of_a_share(shape: str) -> None:
    f = np.linspace(0.01, 0.99, 33)
    np.testing.assert_allclose(share(inverse_share(f, shape), shape), f, rtol=1e-12)
    assert inverse_share([0.0, 1.0], shape).tolist() == [-np.inf, np.inf]


def test_the_linear_scale() -> None:
    levels = np.linspace(0, 10, 21)
    expected = 1 - psychometric(levels, 4.0, 1.5, 0.05, 0.1, shape="logistic", scale="linear")
    found = fit_falling(levels, 1000, 1000 * expected, chance=0.1, scale="linear")
    assert found.threshold == pytest.approx(4.0, rel=1e-3)
    assert found.slope == pytest.approx(1.5, rel=1e-2)


@pytest.mark.parametrize("chance", [-0.1, 0.97, np.nan])
def test_chance_must_be_a_rate(chance: float) -> None:
    with pytest.raises(FechnerError, match="chance"):
        fit_falling([1, 2], 1, [1, 0], chance=chance)

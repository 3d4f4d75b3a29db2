"""Maximum likelihood: against a general optimiser, recovery, and answers without a maximum."""

import numpy as np
import pytest
from scipy import optimize, special

from fechner.errors import FechnerError
from fechner.psychometrics import maximum_likelihood, psychometric
from fechner.psychometrics.functions import SHAPES

LEVELS = np.linspace(0, 0.8, 160)
SLOPE = {
    "weibull": 2.5,
    "logistic": 8.0,
    "normal": 5.0,
    "gumbel_l": 5.8,
    "gumbel_r": 5.8,
    "tdist": 8.0,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.5, 0.02)])
def test_a_general_optimiser_finds_the_same(shape: str, rates: tuple[float, float]) -> None:
    generator = np.random.default_rng(1)
    levels = np.geomspace(0.02, 0.8, 12)
    chance = psychometric(levels, 0.12, SLOPE[shape], *rates, shape=shape)
    k = generator.binomial(25, chance, (6, 12))
    how = {"guess": rates[0], "lapse": rates[1], "shape": shape}
    found = maximum_likelihood(levels, 25, k, **how)

    for row, threshold, slope, value in zip(
        k, found.threshold, found.slope, found.log_likelihood, strict=True
    ):

        def cost(at, row=row) -> float:
            p = psychometric(levels, np.exp(at[0]), np.exp(at[1]), **how)
            return -float((special.xlogy(row, p) + special.xlog1py(25 - row, -p)).sum())

        options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000}
        start = [np.log(0.1), np.log(SLOPE[shape])]
        best = optimize.minimize(cost, start, method="Nelder-Mead", options=options)
        assert -value < best.fun + 1e-5
        expected = cost(np.log([threshold, slope])) if np.isfinite(slope) else -value
        assert -value == pytest.approx(expected, abs=1e-6)
        # Steep functions that rise between two levels are all nearly as likely.
        if best.x[1] < np.log(3 * SLOPE[shape]):
            assert [threshold, slope] == pytest.approx(np.exp(best.x), rel=5e-3)


def test_recovery_with_the_published_design() -> None:
    generator = np.random.default_rng(2)
    for threshold, slope in ((0.05, 3.0), (0.1, 1.5), (0.3, 5.0)):
        k = generator.binomial(10, psychometric(LEVELS, threshold, slope), (100, 160))
        found = maximum_likelihood(LEVELS, 10, k)
        assert np.log10(found.threshold / threshold).mean() == pytest.approx(0, abs=0.01)
        assert np.log(found.slope / slope).mean() == pytest.approx(0, abs=0.05)
        assert (found.censored == "").all()


def test_a_bias_that_is_not_allowed_for_moves_the_threshold() -> None:
    # P = 0.5 is reached earlier by an observer who guesses; that is how it was published.
    generator = np.random.default_rng(3)
    k = generator.binomial(10, psychometric(LEVELS, 0.2, 3.0, 0.3), (20, 160))
    published = maximum_likelihood(LEVELS, 10, k)
    allowed = maximum_likelihood(LEVELS, 10, k, guess=0.3)
    assert published.threshold.mean() < 0.17
    assert allowed.threshold.mean() == pytest.approx(0.2, rel=0.03)


def test_all_the_same_answers_are_censored() -> None:
    k = np.stack([np.full(5, 10), np.zeros(5), [0, 0, 0, 0, 1], [9, 10, 10, 10, 10]])
    found = maximum_likelihood([0.1, 0.2, 0.3, 0.4, 0.5], 10, k)
    assert found.censored.tolist() == ["below", "above", "above", "below"]
    assert np.isnan(found.threshold).all()
    assert np.isnan(found.slope).all()


def test_answers_that_do_not_rise_are_unknown() -> None:
    found = maximum_likelihood([0.1, 0.2, 0.4], 20, [[18, 10, 2], [10, 10, 10]])
    assert found.censored.tolist() == ["unknown", "unknown"]
    none = maximum_likelihood([0.1, 0.2], 0, [0, 0])
    assert none.censored == "unknown"


def test_a_step_has_its_threshold_in_the_middle() -> None:
    levels = [0.01, 0.04, 0.16, 0.64]
    found = maximum_likelihood(levels, 10, [[0, 0, 10, 10], [0, 5, 10, 10]])
    assert found.threshold[0] == pytest.approx(0.08)
    assert found.threshold[1] == pytest.approx(0.04, rel=0.01)
    assert np.isinf(found.slope).all()
    assert found.log_likelihood[0] == pytest.approx(0, abs=1e-4)


def test_leading_axes_linear_scale_and_other_levels() -> None:
    generator = np.random.default_rng(4)
    levels = np.stack([np.linspace(-10, 10, 9), np.linspace(-20, 5, 9)])
    truth = np.array([[2.0], [-8.0]])
    how = {"shape": "normal", "scale": "linear"}
    k = generator.binomial(200, psychometric(levels, truth, 0.3, **how))
    found = maximum_likelihood(levels, 200, k, **how)
    assert found.threshold == pytest.approx(truth[:, 0], abs=0.5)
    assert found.slope == pytest.approx([0.3, 0.3], rel=0.15)
    alone = maximum_likelihood(levels[1], 200, k[1], **how)
    assert alone.threshold == found.threshold[1]


def test_mistakes_are_told() -> None:
    with pytest.raises(FechnerError, match="between 0 and its n"):
        maximum_likelihood([0.1, 0.2], 5, [6, 1])
    with pytest.raises(FechnerError, match="sum to less than 1"):
        maximum_likelihood([0.1, 0.2], 5, [1, 4], guess=1.0)

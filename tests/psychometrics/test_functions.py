"""Psychometric functions: where they are 0.5, how they end, and closed forms."""

import numpy as np
import pytest
from scipy import stats

from fechner.errors import FechnerError
from fechner.psychometrics import Prior, psychometric
from fechner.psychometrics.functions import (
    SCALES,
    SHAPES,
    STEEPNESS,
    logit_share,
    share,
    unit_of_z,
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", SCALES)
def test_the_threshold_is_halfway_between_guessing_and_lapsing(shape: str, scale: str) -> None:
    at = psychometric(0.07, 0.07, 2.5, 0.2, 0.1, shape=shape, scale=scale)
    assert at == pytest.approx(0.2 + 0.7 / 2)


def test_weibull_is_the_textbook_form() -> None:
    # 1 - exp(-(c/a)^b), whose a is where F = 1 - 1/e.
    c, a, b = np.geomspace(0.01, 1, 9), 0.12, 2.3
    threshold = a * np.log(2) ** (1 / b)
    assert psychometric(c, threshold, b) == pytest.approx(1 - np.exp(-((c / a) ** b)))


def test_families_are_those_of_scipy() -> None:
    c = np.geomspace(0.01, 1, 9)
    x = np.log10(c)
    logistic = psychometric(c, 0.1, 5.0, shape="logistic")
    assert logistic == pytest.approx(stats.logistic.cdf(x, -1, 1 / 5))
    normal = psychometric(c, 0.1, 5.0, shape="normal")
    assert normal == pytest.approx(stats.norm.cdf(x, -1, 1 / 5))
    student = psychometric(c, 0.1, 5.0, shape="tdist")
    assert student == pytest.approx(stats.t.cdf(x, 1, -1, 1 / 5))
    for shape, law in (("gumbel_l", stats.gumbel_l), ("gumbel_r", stats.gumbel_r)):
        expected = law.cdf(x, -1 - law.median() / 5, 1 / 5)
        assert psychometric(c, 0.1, 5.0, shape=shape) == pytest.approx(expected)
    degrees = np.linspace(-20, 20, 9)
    linear = psychometric(degrees, 3.0, 1 / 6, shape="normal", scale="linear")
    assert linear == pytest.approx(stats.norm.cdf(degrees, 3, 6))


@pytest.mark.parametrize("shape", SHAPES)
def test_level_0_shows_the_guess_rate_alone(shape: str) -> None:
    assert psychometric(0.0, 0.1, 3.0, 0.13, 0.02, shape=shape) == 0.13


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_are_exact_in_the_tails(shape: str) -> None:
    z = np.linspace(-3, 2, 11)
    f = share(z, shape)
    assert logit_share(z, shape) == pytest.approx(np.log(f / (1 - f)))
    # The tails of Student's t with one degree of freedom end late.
    ends = logit_share(np.array([-30.0, 6.0]) * (1e6 if shape == "tdist" else 1), shape)
    assert ends[0] < -15
    assert ends[1] > 5
    assert np.isfinite(ends).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_steepness_at_threshold(shape: str) -> None:
    rise = (share(1e-6, shape) - share(-1e-6, shape)) / 2e-6
    assert STEEPNESS[shape] == pytest.approx(rise, rel=1e-6)


def test_slopes_are_per_decade_but_for_the_exponent() -> None:
    assert unit_of_z("weibull", "log") == pytest.approx(1 / np.log(10))
    assert unit_of_z("normal", "log") == unit_of_z("weibull", "linear") == 1


@pytest.mark.parametrize(("shape", "scale"), [("probit", "log"), ("weibull", "cubic")])
def test_unknown_words_are_named(shape: str, scale: str) -> None:
    with pytest.raises(FechnerError, match="use one of"):
        psychometric(0.1, 0.1, 3.0, shape=shape, scale=scale)


LEVELS = np.array([0.0, 0.01, 0.1, 0.8])


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": (0.5, 0.1)},
        {"widen": -0.1},
        {"slope": 0.0},
        {"slope_factor": 1.0},
        {"guess": (0.5, 1.0)},
        {"lapse": (1.0, float("nan"))},
    ],
)
def test_it_checks_itself(wrong: dict[str, object]) -> None:
    with pytest.raises(FechnerError):
        Prior(**wrong)


def test_thresholds_reach_half_a_decade_beyond_the_levels() -> None:
    ends = Prior().ends(LEVELS, "weibull", "log")
    assert ends[0] == pytest.approx([np.log10(0.01) - 0.5, np.log10(0.8) + 0.5])
    assert ends[2:].tolist() == [[0, 1], [0, 1]]


def test_thresholds_reach_half_a_range_beyond_linear_levels() -> None:
    ends = Prior().ends([-10, 0, 30], "normal", "linear")
    assert ends[0] == pytest.approx([-30, 50])


@pytest.mark.parametrize("shape", SHAPES)
def test_median_slopes_are_equally_steep_at_threshold(shape: str) -> None:
    ends = Prior().ends(LEVELS, shape, "log")
    median = np.exp(ends[1].mean())
    rise = median * STEEPNESS[shape] / unit_of_z(shape, "log")
    assert rise == pytest.approx(3 * np.log(2) / 2 * np.log(10))


@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_densities(scale: str) -> None:
    prior = Prior(guess=(2.0, 5.0), lapse=(1.0, 30.0))
    drawn = prior.draw(LEVELS, 4000, np.random.default_rng(0), scale=scale)
    ends = prior.ends(LEVELS, "weibull", scale)
    threshold = np.log10(drawn.threshold) if scale == "log" else drawn.threshold
    uniform = stats.uniform(ends[0, 0], ends[0, 1] - ends[0, 0])
    slope = stats.norm(ends[1].mean(), np.log(2))
    for values, law in (
        (threshold, uniform),
        (np.log(drawn.slope), slope),
        (drawn.guess, stats.beta(2, 5)),
        (drawn.lapse, stats.beta(1, 30)),
    ):
        assert stats.kstest(values, law.cdf).pvalue > 0.01
    x = np.array([0.1, 0.2, 0.4])
    for axis, law in ((1, slope), (2, stats.beta(2, 5)), (3, stats.beta(1, 30))):
        log_density = prior.log_density(axis, x, LEVELS, "weibull", scale)
        assert np.diff(log_density) == pytest.approx(np.diff(law.logpdf(x)))


def test_rates_never_add_up_to_one() -> None:
    prior = Prior(guess=(1.0, 1.0), lapse=(1.0, 1.0))
    drawn = prior.draw(LEVELS, 2000, np.random.default_rng(1))
    assert (drawn.guess + drawn.lapse < 1).all()
    assert drawn.guess.mean() == pytest.approx(1 / 3, abs=0.02)


def test_fixed_rates_are_kept() -> None:
    drawn = Prior().draw(LEVELS, 5, np.random.default_rng(0), guess=0.5, lapse=0.0)
    assert set(drawn.guess) == {0.5}
    assert set(drawn.lapse) == {0.0}


def test_made_for_levels_it_is_the_same_prior() -> None:
    fixed = Prior().for_levels(LEVELS, "logistic", "log")
    others = [0.3, 0.4]
    expected = Prior().ends(LEVELS, "logistic", "log")
    assert fixed.ends(others, "logistic", "log") == pytest.approx(expected)


@pytest.mark.parametrize(("levels", "scale"), [([0.0], "log"), ([3.0], "linear")])
def test_too_few_levels(levels: list[float], scale: str) -> None:
    with pytest.raises(FechnerError, match="level"):
        Prior().ends(levels, "normal", scale)


def test_a_median_function_rises_within_the_range() -> None:
    ends = Prior().ends([0, 50], "normal", "linear")
    slope = np.exp(ends[1].mean())
    assert share(slope * np.array([-5.0, 5.0]), "normal") == pytest.approx([0.1, 0.9], abs=0.02)

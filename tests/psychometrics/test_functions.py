"""Psychometric functions: where they are 0.5, how they end, and closed forms."""

import numpy as np
import pytest
from scipy import stats

from fechner.errors import FechnerError
from fechner.psychometrics import psychometric
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

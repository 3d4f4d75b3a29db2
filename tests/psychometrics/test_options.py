"""Options of a fit and questions to it: asymptotes, falling functions, other thresholds."""

import numpy as np
import pytest
from scipy import integrate

from fechner.errors import FechnerError
from fechner.psychometrics import Prior, fit, psychometric
from fechner.psychometrics.functions import SHAPES, STEEPNESS, inverse_share

LEVELS = np.geomspace(0.01, 1, 12)
ANGLES = np.linspace(-10, 10, 11)
NAMES = ("threshold", "slope", "guess", "lapse")


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_family_comes_back(shape: str, scale: str) -> None:
    # As steep at threshold as each other; answers without noise.
    levels, threshold = (LEVELS, 0.1) if scale == "log" else (ANGLES, 1.0)
    slope = (2.0 if scale == "log" else 0.15) / STEEPNESS[shape]
    slope = slope / np.log(10) if (shape, scale) == ("weibull", "log") else slope
    how = {"shape": shape, "scale": scale}
    k = 2000 * psychometric(levels, threshold, slope, 0.05, 0.03, **how)
    found = fit(levels, 2000, k, **how)
    assert found.threshold == pytest.approx(threshold, rel=0.02)
    assert found.slope == pytest.approx(slope, rel=0.03)
    assert found.guess == pytest.approx(0.05, abs=0.01)
    assert found.lapse == pytest.approx(0.03, abs=0.01)


def test_a_left_gumbel_function_is_a_weibull_function() -> None:
    k = np.random.default_rng(0).binomial(20, psychometric(LEVELS, 0.1, 3.0, 0.05, 0.02))
    weibull, gumbel = fit(LEVELS, 20, k), fit(LEVELS, 20, k, shape="gumbel_l")
    assert gumbel.threshold == pytest.approx(weibull.threshold, rel=1e-4)
    assert gumbel.slope == pytest.approx(weibull.slope * np.log(10), rel=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_function_that_falls_is_one_that_rises_for_the_other_answer(shape: str) -> None:
    generator = np.random.default_rng(1)
    k = generator.binomial(30, psychometric(LEVELS, 0.1, 3.0, 0.1, 0.03, shape=shape, falling=True))
    prior = Prior(guess=(1.0, 5.0), lapse=(1.0, 20.0))
    turned = Prior(guess=(1.0, 20.0), lapse=(1.0, 5.0))
    falls = fit(LEVELS, 30, k, shape=shape, falling=True, prior=prior)
    rises = fit(LEVELS, 30, 30 - k, shape=shape, prior=turned)
    assert (falls.threshold, falls.slope) == (rises.threshold, rises.slope)
    assert (falls.guess, falls.lapse) == (rises.lapse, rises.guess)
    assert falls.low.guess == rises.low.lapse
    levels = np.array([0.01, 0.1, 1.0])
    np.testing.assert_allclose(falls.curve(levels), 1 - rises.curve(levels))
    np.testing.assert_allclose(falls.probability(levels).low, 1 - rises.probability(levels).high)
    assert falls.goodness().deviance == pytest.approx(rises.goodness().deviance)
    assert falls.threshold_at(0.75).level.value == pytest.approx(
        rises.threshold_at(0.25).level.value
    )
    assert falls.threshold_at(0.75).slope.value < 0


def test_a_falling_function_has_its_chance_and_its_level_0() -> None:
    levels = np.array([0.0, *LEVELS])
    k = 200 * psychometric(levels, 0.1, 3.0, 0.25, 0.05, falling=True)
    found = fit(levels, 200, k, falling=True, guess=0.25)
    assert found.threshold == pytest.approx(0.1, rel=0.01)
    assert found.lapse == pytest.approx(0.05, abs=0.01)
    assert (found.guess, found.low.guess) == (0.25, 0.25)


def test_equal_asymptotes() -> None:
    generator = np.random.default_rng(2)
    how = {"shape": "normal", "scale": "linear"}
    chance = psychometric(ANGLES, 1.0, 0.4, 0.05, 0.05, **how)
    k = generator.binomial(40, chance, (40, 11))
    found = fit(ANGLES, 40, k, equal_asymptotes=True, **how)
    assert (found.guess == found.lapse).all()
    assert (found.draws[..., 2] == found.draws[..., 3]).all()
    assert found.guess.mean() == pytest.approx(0.05, abs=0.012)
    inside = (found.low.guess <= 0.05) & (found.high.guess >= 0.05)
    assert inside.mean() > 0.85
    # One rate instead of two is better known.
    free = fit(ANGLES, 40, k, prior=Prior(guess=(1.0, 10.0)), **how)
    assert found.sd.lapse.mean() < 0.9 * free.sd.lapse.mean()
    with pytest.raises(FechnerError, match="equal asymptotes"):
        fit(ANGLES, 40, k, equal_asymptotes=True, guess=0.0, **how)


def test_the_posterior_of_equal_asymptotes_is_an_integral() -> None:
    levels, n = np.array([-2.0, 0.0, 2.0]), 10
    k = np.array([1, 4, 10])
    how = {"shape": "logistic", "scale": "linear"}
    prior = Prior(threshold=(-3.0, 3.0), slope=2.0, slope_factor=1.5)
    found = fit(levels, n, k, equal_asymptotes=True, prior=prior, **how)

    axes = [np.linspace(-3, 3, 60), np.linspace(-0.7, 2.1, 30), np.linspace(0.0025, 0.4975, 60)]
    threshold, log_slope, rate = np.meshgrid(*axes, indexing="ij")
    every = (each[..., None] for each in (threshold, np.exp(log_slope), rate, rate))
    p = psychometric(levels, *every, **how)
    law = np.exp(-0.5 * ((log_slope - np.log(2)) / np.log(1.5)) ** 2) * (1 - rate) ** 9
    mass = np.prod(p**k * (1 - p) ** (n - k), axis=-1) * law
    inner = integrate.trapezoid(integrate.trapezoid(mass, axes[2]), axes[1])
    mean = (inner * axes[0]).sum() / inner.sum()
    values, log_density = found.marginal("threshold")
    assert np.average(values, weights=np.exp(log_density)) == pytest.approx(mean, abs=0.01)
    rates = np.cumsum(mass.sum(axis=(0, 1)))
    ends = np.interp([0.025, 0.975], rates / rates[-1], axes[2] + 0.0042)
    assert [float(found.low.lapse), float(found.high.lapse)] == pytest.approx(ends, abs=0.006)


@pytest.mark.parametrize("shape", SHAPES)
def test_thresholds_at_other_probabilities(shape: str) -> None:
    k = 500 * psychometric(LEVELS, 0.1, 4.0, 0.5, 0.04, shape=shape)
    found = fit(LEVELS, 500, k, shape=shape, guess=0.5)
    for p, corrected in ((0.25, True), (0.8, True), (0.75, False), (0.9, False)):
        level, slope, censored = found.threshold_at(p, corrected=corrected)
        share = p if corrected else (p - 0.5) / (0.5 - found.lapse)
        aim = 0.5 + share * (0.5 - found.lapse)
        at = float(level.value)
        assert censored == ""
        assert level.low < level.value < level.high
        assert slope.low < slope.value < slope.high
        assert found.curve([at])[0] == pytest.approx(aim, abs=1e-9)
        rise = np.diff(found.curve([at / 1.0001, at * 1.0001]))[0] / (2 * np.log10(1.0001))
        assert slope.value == pytest.approx(rise, rel=1e-3)
    level, _, censored = found.threshold_at(0.5)
    assert level.value == pytest.approx(found.threshold)
    assert (level.low, level.high) == (found.low.threshold, found.high.threshold)


def test_thresholds_that_are_never_reached() -> None:
    k = 100 * psychometric(LEVELS, 0.1, 4.0, 0.5, 0.1)
    found = fit(LEVELS, 100, np.stack([k, k]), guess=0.5)
    level, slope, censored = found.threshold_at(0.97, corrected=False)
    assert censored.tolist() == ["above", "above"]
    assert np.isnan(level.value).all()
    assert (level.high == np.inf).all()
    assert (slope.value == 0).all()
    assert (found.threshold_at(0.3, corrected=False).level.low == 0).all()
    with pytest.raises(FechnerError, match="between 0 and 1"):
        found.threshold_at(1.0)


def test_intervals_at_other_probabilities_hold() -> None:
    generator = np.random.default_rng(3)
    truth = Prior(widen=0.0).draw(LEVELS, 300, generator, guess=0.5)
    chance = psychometric(LEVELS, *(each[:, None] for each in truth))
    found = fit(LEVELS, 20, generator.binomial(20, chance), guess=0.5, draws=1000)
    assert found.draws.shape == (300, 1000, 4)
    for p in (0.2, 0.8):
        at = truth.threshold * 10 ** (inverse_share(p, "weibull") / np.log(10) / truth.slope)
        level = found.threshold_at(p).level
        assert 0.91 < ((level.low <= at) & (at <= level.high)).mean() < 0.985


def test_widths_are_those_of_psignifit() -> None:
    found = fit(ANGLES, 40, np.arange(11) * 4, shape="normal", scale="linear", guess=0.0, lapse=0.0)
    # From 5 to 95 %: 2 x 1.6449 standard deviations.
    assert found.width().value == pytest.approx(2 * 1.6448536 / found.slope)
    assert found.width().low == pytest.approx(2 * 1.6448536 / found.high.slope)


@pytest.mark.parametrize("how", [{}, {"falling": True}, {"overdispersion": True}])
def test_joint_densities_have_the_marginals_and_the_correlation_of_draws(how: dict) -> None:
    chance = psychometric(LEVELS, 0.1, 3.0, 0.1, 0.03, falling="falling" in how)
    k = np.random.default_rng(4).binomial(40, chance)
    found = fit(LEVELS, 40, k, draws=2000, **how)
    for first, second in (("threshold", "slope"), ("guess", "threshold")):
        x, y, density = found.joint(first, second)
        assert density.max() == 1
        axes = [np.log10(v) if n in NAMES[:2] else v for n, v in ((first, x), (second, y))]
        mean = [np.average(axes[i], weights=density.sum(axis=1 - i)) for i in (0, 1)]
        for name, at in zip((first, second), mean, strict=True):
            values, log_density = found.marginal(name)
            values = np.log10(values) if name in NAMES[:2] else values
            expected = np.average(values, weights=np.exp(log_density))
            assert at == pytest.approx(expected, abs=0.1 * getattr(found.sd, name))
        deviations = [axis - m for axis, m in zip(axes, mean, strict=True)]
        spread = [
            np.sqrt(np.average(d**2, weights=density.sum(axis=1 - i)))
            for i, d in enumerate(deviations)
        ]
        product = np.average(np.multiply.outer(*deviations), weights=density)
        drawn = found.draws[:, [found.axis(first), found.axis(second)]]
        assert product / np.prod(spread) == pytest.approx(np.corrcoef(drawn.T)[0, 1], abs=0.1)


def test_joint_densities_need_two_parameters_that_were_estimated() -> None:
    found = fit(LEVELS, 40, np.arange(12), guess=0.0)
    for pair in (("guess", "slope"), ("slope", "slope"), ("overdispersion", "slope")):
        with pytest.raises(FechnerError):
            found.joint(*pair)
    with pytest.raises(FechnerError, match="draws"):
        fit(LEVELS, 40, np.arange(12), draws=0)

"""The grid: against exact sums, another way of integrating, and another way of climbing."""

from functools import partial

import numpy as np
import pytest
from scipy import optimize, special

from fechner.psychometrics import Prior, fit, psychometric
from fechner.psychometrics.functions import SHAPES, to_axis, unit_of_z
from fechner.psychometrics.grid import LARGEST_STEP, Answers, log_likelihood

LEVELS = np.linspace(0, 0.8, 160)
STEEP = {
    "weibull": 1.0,
    "logistic": 3.2,
    "normal": 2.0,
    "gumbel_l": 2.3,
    "gumbel_r": 2.3,
    "tdist": 3.0,
}


def exact(answers: Answers, threshold, slope, guess, lapse):
    p = psychometric(10.0**answers.positions, threshold, slope, guess, lapse, shape=answers.shape)
    return (special.xlogy(answers.yes, p) + special.xlog1py(answers.no, -p)).sum(axis=-1)


def make(shape: str, k, n=10, levels=LEVELS, guess=None, lapse=None) -> Answers:
    prior = Prior()
    ends = prior.ends(levels, shape, "log")
    for axis, rate in ((2, guess), (3, lapse)):
        if rate is not None:
            ends[axis] = rate
    return Answers(
        positions=to_axis(levels, "log"),
        yes=np.asarray(k, float),
        no=np.asarray(n - k, float),
        shape=shape,
        unit=unit_of_z(shape, "log"),
        ends=ends,
        log_prior=partial(prior.log_density, levels=levels, shape=shape, scale="log"),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_log_likelihoods_are_exact_to_a_hundredth(shape: str) -> None:
    generator = np.random.default_rng(1)
    for _ in range(10):
        threshold = 10 ** generator.uniform(-1.7, -0.5, 4)
        slope = STEEP[shape] * np.array([1.0, 2.0, 4.0, 8.0])
        guess, lapse = np.array([1e-4, 0.01, 0.1, 0.5]), np.array([3e-4, 0.01, 0.1, 0.3])
        truth = [generator.choice(each) for each in (threshold, slope, guess, lapse)]
        k = generator.binomial(10, psychometric(LEVELS, *truth, shape=shape))
        answers = make(shape, k)
        quick = log_likelihood(answers, np.log10(threshold), np.log(slope), guess, lapse)
        mesh = np.meshgrid(threshold, slope, guess, lapse, indexing="ij")
        slow = exact(answers, *(each[..., None] for each in mesh))
        near = slow > slow.max() - 30
        assert np.abs(quick.reshape(slow.shape) - slow)[near].max() < 0.01


def test_rates_of_0_are_exact_too() -> None:
    generator = np.random.default_rng(2)
    levels = LEVELS[1:]
    k = generator.binomial(10, psychometric(levels, 0.1, 3.0))
    answers = make("weibull", k, levels=levels, guess=0.0, lapse=0.0)
    threshold, slope = np.array([0.09, 0.1, 0.11]), np.array([2.5, 3.0, 3.5])
    nothing = np.zeros(1)
    quick = log_likelihood(answers, np.log10(threshold), np.log(slope), nothing, nothing)
    mesh = np.meshgrid(threshold, slope, indexing="ij")
    slow = exact(answers, *(each[..., None] for each in mesh), 0.0, 0.0)
    assert quick.reshape(3, 3) == pytest.approx(slow, abs=0.01)


@pytest.mark.parametrize("rates", [(0.5, 0.02), (0.0, 0.0)])
def test_marginals_of_two_parameters_by_brute_force(rates: tuple[float, float]) -> None:
    generator = np.random.default_rng(3)
    levels = np.geomspace(0.01, 0.8, 12)
    k = generator.binomial(20, psychometric(levels, 0.1, 2.0, *rates))
    found = fit(levels, 20, k, guess=rates[0], lapse=rates[1])
    prior = Prior()
    ends = prior.ends(levels, "weibull", "log")
    at, log_slope = (np.linspace(*each, 901) for each in ends[:2])
    answers = make("weibull", k, 20, levels)
    mesh = np.meshgrid(10**at, np.exp(log_slope), indexing="ij")
    log_density = exact(answers, *(each[..., None] for each in mesh), *rates)
    log_density = log_density + prior.log_density(1, log_slope, levels, "weibull", "log")
    density = np.exp(log_density - log_density.max())
    for axis, (name, values) in enumerate((("threshold", 10**at), ("slope", np.exp(log_slope)))):
        marginal = density.sum(axis=1 - axis)
        total = np.cumsum(marginal) - marginal / 2
        for p, end in ((0.025, found.low), (0.975, found.high)):
            expected = np.interp(p, total / marginal.sum(), np.log10(values))
            sd = getattr(found.sd, name)
            assert np.log10(getattr(end, name)) == pytest.approx(expected, abs=0.04 * sd)
    best = np.unravel_index(density.argmax(), density.shape)
    assert np.log10(found.threshold) == pytest.approx(at[best[0]], abs=0.1 * found.sd.threshold)


@pytest.mark.parametrize("truth", [(0.1, 3.0, 0.1, 0.05), (0.2, 2.0, 0.0, 0.0), (0.06, 4, 0.4, 0)])
def test_the_mode_is_where_a_climber_ends(truth: tuple[float, ...]) -> None:
    generator = np.random.default_rng(4)
    k = generator.binomial(10, psychometric(LEVELS, *truth))
    answers = make("weibull", k)
    prior = Prior()

    def height(at) -> float:
        priors = [prior.log_density(i, at[i : i + 1], LEVELS, "weibull", "log") for i in (1, 2, 3)]
        value = exact(answers, 10 ** at[0], np.exp(at[1]), at[2], at[3])
        return -float(value + np.sum(priors))

    found = fit(LEVELS, 10, k)
    mode = np.array([np.log10(found.threshold), np.log(found.slope), found.guess, found.lapse])
    mode[2:] = np.maximum(mode[2:], 1e-9)
    bounds = [*map(tuple, answers.ends[:2]), (1e-9, 0.9), (1e-9, 0.9)]
    heights = [height(mode)]
    for start in (mode, [-1.0, 1.0, 0.2, 0.02]):
        best = optimize.minimize(height, start, method="L-BFGS-B", bounds=bounds)
        heights.append(best.fun)
    assert heights[0] - min(heights) < 1e-3


def test_every_step_is_at_most_half_a_standard_deviation() -> None:
    generator = np.random.default_rng(5)
    truth = Prior().draw(LEVELS, 40, generator)
    k = generator.binomial(10, psychometric(LEVELS, *(each[:, None] for each in truth)))
    found = fit(LEVELS, 10, k)
    assert 0 < found.steps.min() <= found.steps.max() <= LARGEST_STEP
    # The sd is that of the kept marginal, so the step can be counted in its cells.
    width = np.diff(found.ends, axis=-1)[..., 0]
    assert (found.sd.guess > 0.02 * width[:, 2]).all()


def test_draws_have_the_moments_of_the_marginals() -> None:
    generator = np.random.default_rng(6)
    k = generator.binomial(10, psychometric(LEVELS, 0.1, 3.0, 0.1, 0.05), (20, 160))
    found = fit(LEVELS, 10, k)
    drawn = found.draws[..., 0]
    assert drawn.std(axis=1).mean() == pytest.approx(found.sd.threshold.mean(), rel=0.05)
    off = (drawn.mean(axis=1) - np.log10(found.quantile(0.5).threshold)) / found.sd.threshold
    assert np.abs(off.mean()) < 0.1

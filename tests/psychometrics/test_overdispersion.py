"""Answers that vary between blocks: likelihood, recovery and intervals (Schütt et al. 2016)."""

from functools import partial

import numpy as np
import pytest
from scipy import optimize, stats

from fechner.psychometrics import Prior, fit, psychometric
from fechner.psychometrics.functions import SHAPES, log_rising
from fechner.psychometrics.grid import Model, log_likelihood
from fechner.psychometrics.optimisation import Likelihood

LEVELS = np.geomspace(0.01, 1, 8)


def simulate(size: int, eta: float, n: int, *parameters: float, blocks=LEVELS, seed: int = 0):
    generator = np.random.default_rng(seed)
    nu, chance = eta**-2 - 1, psychometric(blocks, *parameters)
    return generator.binomial(
        n, generator.beta(chance * nu, (1 - chance) * nu, (size, len(blocks)))
    )


def exact(k, n, chance, eta):
    nu = eta**-2 - 1
    return stats.betabinom.logpmf(k, n, chance * nu, (1 - chance) * nu).sum(axis=-1)


@pytest.mark.parametrize(("n", "blocks"), [(1, 8), (20, 8), (60, 8), (12, 60)])
@pytest.mark.parametrize("shape", ["weibull", "tdist"])
def test_log_likelihoods_are_those_of_beta_binomial_answers(
    n: int, blocks: int, shape: str
) -> None:
    levels = np.geomspace(0.01, 1, blocks)
    generator = np.random.default_rng(n)
    k = generator.binomial(n, psychometric(levels, 0.1, 3.0, 0.1, 0.05)).astype(float)
    model = Model(shape, "log", None, None, Prior(), False, True, False)
    answers = model.answers(levels, np.full(blocks, float(n)), k)
    axes = [
        np.array([0.08, 0.1, 0.13]),
        np.array([2.0, 3.0, 5.0]),
        np.array([0.01, 0.1]),
        np.array([0.001, 0.05]),
        np.array([0.002, 0.1, 0.3, 0.6]),
    ]
    quick = log_likelihood(answers, np.log10(axes[0]), np.log(axes[1]), *axes[2:])
    mesh = [each[..., None] for each in np.meshgrid(*axes, indexing="ij")]
    slow = exact(k, n, psychometric(levels, *mesh[:4], shape=shape), mesh[4])
    off = quick.reshape(slow.shape) - slow
    # The binomial coefficients are left out.
    assert np.ptp(off) < 0.03


def test_without_overdispersion_the_likelihood_is_binomial() -> None:
    k, n, p = np.arange(6.0), 5, 0.37
    terms = log_rising(k, p, 1e-3) + log_rising(n - k, 1 - p, 1e-3) - log_rising(n, 1.0, 1e-3)
    assert terms == pytest.approx(k * np.log(p) + (n - k) * np.log1p(-p), abs=1e-4)


def test_the_slopes_that_are_climbed_are_those_of_the_height() -> None:
    k = simulate(3, 0.3, 20, 0.1, 3.0, 0.1, 0.05).astype(float)
    likelihood = Likelihood(
        np.broadcast_to(np.log10(LEVELS), k.shape),
        k,
        20 - k,
        "weibull",
        1 / np.log(10),
        eta=np.array([0.05, 0.2, 0.5]),
    )
    point = np.tile([-1.1, np.log(2.5), 0.12, 0.04], (3, 1))
    for equal in (False, True):
        tied = Likelihood(**{**likelihood.__dict__, "equal_rates": equal})
        gradient = tied.derivatives(point)[0]
        for axis in (0, 1, 3) if equal else range(4):
            step = 1e-6 * np.eye(4)[axis]
            rise = (tied.value(point + step) - tied.value(point - step)) / 2e-6
            assert gradient[:, axis] == pytest.approx(rise, rel=1e-4, abs=1e-4)


def test_overdispersion_comes_back() -> None:
    blocks = np.tile(LEVELS, 5)
    for eta in (0.1, 0.3):
        k = simulate(8, eta, 40, 0.1, 3.0, 0.5, 0.02, blocks=blocks)
        found = fit(blocks, 40, k, guess=0.5, overdispersion=True)
        assert found.overdispersion.value.mean() == pytest.approx(eta, abs=0.03)
        assert np.log10(found.threshold).mean() == pytest.approx(-1, abs=0.05)
        assert ((found.overdispersion.low < eta) & (eta < found.overdispersion.high)).mean() > 0.7


def test_intervals_hold_where_binomial_ones_are_too_short() -> None:
    truth = np.random.default_rng(1).uniform(-1.5, -0.5, 40)
    k = np.concatenate(
        [simulate(1, 0.3, 40, 10**t, 3.0, 0.5, 0.02, seed=i) for i, t in enumerate(truth)]
    )
    inside = []
    for on in (False, True):
        found = fit(LEVELS, 40, k, guess=0.5, overdispersion=on)
        ends = np.log10([found.low.threshold, found.high.threshold])
        inside.append(((ends[0] <= truth) & (truth <= ends[1])).mean())
    assert inside[0] < 0.8
    assert inside[1] > 0.9


def test_the_estimate_is_the_highest_point_given_overdispersion() -> None:
    k = simulate(1, 0.3, 40, 0.1, 3.0, 0.5, 0.02)[0]
    found = fit(LEVELS, 40, k, guess=0.5, overdispersion=True)
    prior = partial(Prior().log_density, levels=LEVELS, shape="weibull", scale="log")

    def cost(at) -> float:
        chance = psychometric(LEVELS, 10 ** at[0], np.exp(at[1]), 0.5, abs(at[2]))
        height = exact(k, 40, chance, float(found.overdispersion.value))
        return -float(height + prior(1, at[1]) + prior(3, np.abs(at[2])))

    best = optimize.minimize(cost, [-1.0, 1.0, 0.02], method="Nelder-Mead", options={"fatol": 1e-9})
    assert np.log10(found.threshold) == pytest.approx(best.x[0], abs=2e-3)
    assert np.log(found.slope) == pytest.approx(best.x[1], abs=5e-3)


def test_all_yes_nothing_asked_and_single_trials() -> None:
    k = np.stack([np.full(8, 5.0), np.zeros(8), np.zeros(8)])
    n = np.array([5.0, 5.0, 0.0])[:, None]
    found = fit(LEVELS, n, k, guess=0.0, overdispersion=True)
    assert found.censored.tolist() == ["below", "above", "unknown"]
    assert np.isnan(found.overdispersion.value[2])
    # Single trials tell nothing of it: the prior stays.
    once = fit(
        np.repeat(LEVELS, 10), 1, np.repeat(LEVELS, 10) > 0.1, guess=0.0, overdispersion=True
    )
    assert once.overdispersion.value == pytest.approx(0.25, abs=0.01)
    alone = fit(np.repeat(LEVELS, 10), 1, np.repeat(LEVELS, 10) > 0.1, guess=0.0)
    assert once.high.threshold == pytest.approx(alone.high.threshold, rel=0.01)


def test_what_a_fit_with_overdispersion_has() -> None:
    k = simulate(2, 0.3, 40, 0.1, 3.0, 0.5, 0.02)
    found = fit(LEVELS, 40, k, guess=0.5, overdispersion=True)
    assert found.draws.shape == (2, 200, 5)
    assert "overdispersion" in repr(found[0])
    values, log_density = found[0].marginal("overdispersion")
    mean = np.average(values, weights=np.exp(log_density))
    assert mean == pytest.approx(found.overdispersion.value[0], rel=1e-6)
    # The deviance is no larger than blocks that vary have it.
    assert (found.goodness().p > 0.01).all()
    binomial = fit(LEVELS, 40, k, guess=0.5)
    assert (binomial.overdispersion.value == 0).all()
    assert (binomial.goodness().p < found.goodness().p).all()


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_all_families_hold_with_an_eta_of_03(shape: str) -> None:
    generator = np.random.default_rng(SHAPES.index(shape))
    truth = Prior(widen=0.0).draw(LEVELS, 400, generator, shape=shape, guess=0.5)
    chance = psychometric(LEVELS, *(each[:, None] for each in truth), shape=shape)
    nu, chance = 0.3**-2 - 1, np.clip(chance, 1e-12, 1 - 1e-12)
    k = generator.binomial(20, generator.beta(chance * nu, (1 - chance) * nu))
    found = fit(LEVELS, 20, k, shape=shape, guess=0.5, overdispersion=True)
    inside = (found.low.threshold <= truth.threshold) & (truth.threshold <= found.high.threshold)
    assert 0.92 < inside.mean() < 0.98

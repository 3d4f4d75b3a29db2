"""Fits of simulated observers: recovery, calibrated intervals, censoring, and plain mistakes."""

import numpy as np
import pytest
from scipy import stats

from fechner.errors import FechnerError
from fechner.psychometrics import Fit, Prior, fit, psychometric
from fechner.psychometrics.functions import SHAPES

#: The contrasts of Hernandez-Camara et al. (2025), ten trials each.
LEVELS = np.linspace(0, 0.8, 160)
FEW = np.linspace(0, 0.8, 20)


def simulate(size: int, *parameters: float, seed: int = 0, levels=LEVELS, n=10, **how) -> Fit:
    generator = np.random.default_rng(seed)
    chance = psychometric(levels, *parameters, **how)
    return fit(levels, n, generator.binomial(n, chance, (size, len(levels))), **how)


@pytest.fixture(scope="module")
def calibration() -> tuple[object, Fit]:
    """Observers drawn from the prior, and what is found of them (Talts et al. 2018)."""
    generator = np.random.default_rng(0)
    truth = Prior().draw(FEW, 2000, generator)
    chance = psychometric(FEW, *(each[:, None] for each in truth))
    return truth, fit(FEW, 20, generator.binomial(20, chance))


@pytest.mark.parametrize("name", ["threshold", "slope", "guess", "lapse"])
def test_intervals_cover_what_they_say(calibration: tuple, name: str) -> None:
    truth, found = calibration
    true = getattr(truth, name)
    inside = (getattr(found.low, name) <= true) & (true <= getattr(found.high, name))
    assert 0.93 <= inside.mean() <= 0.97


@pytest.mark.parametrize("name", ["threshold", "slope", "guess", "lapse"])
def test_ranks_in_the_posterior_are_uniform(calibration: tuple, name: str) -> None:
    truth, found = calibration
    true = getattr(truth, name)
    levels = np.linspace(0.05, 0.95, 19)
    below = [np.mean(true < getattr(found.quantile(p), name)) for p in levels]
    # The largest distance between the two is Kolmogorov's; its 1 % limit for 2000 is 0.036.
    assert np.abs(below - levels).max() < 0.036


@pytest.mark.parametrize(
    "truth",
    [
        (0.02, 3.0, 0.0, 0.0),
        (0.1, 1.5, 0.1, 0.02),
        (0.05, 5.0, 0.3, 0.1),
        (0.02, 1.5, 0.3, 0.1),
        (0.1, 3.0, 0.5, 0.05),
        (0.05, 5.0, 0.5, 0.05),
    ],
)
def test_estimates_are_hardly_biased(truth: tuple[float, ...]) -> None:
    """Blanks and contrasts in equal ratios, 1600 trials; see the table in docs/psychometrics.md."""
    levels = np.concatenate([[0.0], np.geomspace(0.004, 0.8, 40)])
    found = simulate(200, *truth, levels=levels, n=np.array([400] + 40 * [30]))
    assert np.abs(np.log10(found.threshold / truth[0]).mean()) < 0.02
    assert np.abs(np.log(found.slope / truth[1]).mean()) < 0.1
    assert np.abs(found.guess.mean() - truth[2]) < 0.01
    assert np.abs(found.lapse.mean() - truth[3]) < 0.01
    assert (found.censored == "").all()
    # The posterior's own spread is that of the estimates.
    spread = np.log10(found.threshold).std()
    assert spread == pytest.approx(found.sd.threshold.mean(), rel=0.3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alternatives", [2, 4])
def test_forced_choice_has_a_known_guess_rate(shape: str, alternatives: int) -> None:
    generator = np.random.default_rng(1)
    levels, guess = np.geomspace(0.02, 0.5, 8), 1 / alternatives
    slope = {"weibull": 2.5, "logistic": 8.0, "normal": 5.0}.get(shape, 6.0)
    chance = psychometric(levels, 0.1, slope, guess, 0.02, shape=shape)
    found = fit(levels, 100, generator.binomial(100, chance, (30, 8)), shape=shape, guess=guess)
    assert np.log10(found.threshold).mean() == pytest.approx(-1, abs=0.02)
    assert (found.guess == guess).all()
    assert (found.low.guess == guess).all()
    assert (found.sd.guess == 0).all()


def test_linear_scale_with_negative_levels() -> None:
    levels = np.linspace(-40, 40, 17)
    how = {"shape": "normal", "scale": "linear"}
    found = simulate(40, 6.0, 0.1, 0.05, 0.02, levels=levels, n=40, **how)
    assert found.threshold.mean() == pytest.approx(6, abs=0.6)
    assert found.slope.mean() == pytest.approx(0.1, rel=0.1)
    inside = (found.low.threshold < 6) & (found.high.threshold > 6)
    assert inside.mean() > 0.85


def test_stretched_levels_give_stretched_thresholds() -> None:
    generator = np.random.default_rng(2)
    k = generator.binomial(10, psychometric(LEVELS, 0.1, 3.0, 0.05, 0.02))
    one, ten = fit(LEVELS, 10, k), fit(10 * LEVELS, 10, k)
    assert ten.threshold == pytest.approx(10 * one.threshold, rel=1e-3)
    assert ten.high.threshold == pytest.approx(10 * one.high.threshold, rel=1e-3)
    assert ten.slope == pytest.approx(one.slope, rel=1e-3)


def test_a_fit_does_not_depend_on_the_others() -> None:
    generator = np.random.default_rng(3)
    levels = np.sort(generator.uniform(0, 0.8, (2, 3, 20)), axis=-1)
    truth = generator.uniform(0.05, 0.3, (2, 3, 1))
    k = generator.binomial(15, psychometric(levels, truth, 3.0, 0.1, 0.02))
    all_at_once = fit(levels, 15, k)
    assert all_at_once.threshold.shape == all_at_once.low.slope.shape == (2, 3)
    one = fit(levels[1, 2], 15, k[1, 2])
    part = all_at_once[1, 2]
    assert one.threshold == part.threshold
    assert one.low == part.low
    assert one.censored == part.censored
    assert (all_at_once[0].slope == all_at_once.slope[0]).all()
    assert all_at_once[:, 1:].draws.shape[:2] == (2, 2)


def test_the_order_of_levels_and_trials_that_were_split_do_not_matter() -> None:
    generator = np.random.default_rng(4)
    k = generator.binomial(20, psychometric(FEW, 0.2, 3.0, 0.1, 0.02))
    order = generator.permutation(20)
    half = k // 2
    base = fit(FEW, 20, k)
    for other in (
        fit(FEW[order], 20, k[order]),
        fit(np.tile(FEW, 2), 10, np.minimum([*half, *(k - half)], 10)),
        fit([*FEW, np.nan], [20] * 20 + [0], [*k, 0]),
    ):
        assert other.threshold == pytest.approx(base.threshold, rel=2e-3)
        assert other.high.lapse == pytest.approx(base.high.lapse, abs=2e-3)


def test_graded_answers_add_up() -> None:
    # Probabilities of yes, without the noise of drawing: the curve itself comes back.
    truth = (0.12, 2.5, 0.08, 0.03)
    found = fit(FEW, 200, 200 * psychometric(FEW, *truth))
    assert found.threshold == pytest.approx(0.12, rel=0.01)
    assert found.slope == pytest.approx(2.5, rel=0.02)
    assert found.guess == pytest.approx(0.08, abs=0.005)
    assert found.lapse == pytest.approx(0.03, abs=0.005)


def test_curves_with_bands() -> None:
    truth = (0.2, 3.0, 0.1, 0.05)
    found = simulate(60, *truth, levels=FEW, n=20)
    curve = found.probability(np.array([0.0, 0.1, 0.2, 0.4]))
    expected = psychometric(curve.levels, *truth)
    assert curve.probability.shape == (60, 4)
    assert np.abs(curve.probability.mean(axis=0) - expected).max() < 0.03
    inside = (curve.low <= expected) & (expected <= curve.high)
    assert inside.mean() > 0.88


def test_marginals_are_densities() -> None:
    found = simulate(3, 0.1, 3.0, 0.1, 0.02, levels=FEW, n=20)
    for name in ("threshold", "slope", "guess", "lapse"):
        values, log_density = found.marginal(name)
        axis = np.log10(values) if name in ("threshold", "slope") else values
        step = np.diff(axis, axis=1)[:, :1]
        assert (np.exp(log_density) * step).sum(axis=1) == pytest.approx(np.ones(3))
        mean = (np.exp(log_density) * step * axis).sum(axis=1)
        spread = np.sqrt((np.exp(log_density) * step * axis**2).sum(axis=1) - mean**2)
        assert spread == pytest.approx(getattr(found.sd, name), rel=1e-6)


def test_other_intervals() -> None:
    found = simulate(1, 0.1, 3.0, 0.1, 0.02)[0]
    low, high = found.interval(0.95)
    assert np.array(low) == pytest.approx(np.array(found.low))
    assert np.array(high) == pytest.approx(np.array(found.high))
    narrow = found.interval(0.5)
    assert found.low.slope < narrow[0].slope < narrow[1].slope < found.high.slope
    half = fit(found.levels, found.n, found.k, coverage=0.5)
    assert np.array(half.low) == pytest.approx(np.array(narrow[0]))


def test_goodness_of_fit_of_the_right_and_a_wrong_function() -> None:
    right = simulate(60, 0.2, 3.0, 0.1, 0.05, levels=FEW, n=40).goodness()
    assert stats.kstest(right.p, "uniform").pvalue > 1e-3
    assert 8 < right.deviance.mean() < 22
    # Falls again above the threshold, which no lapse rate can do.
    generator = np.random.default_rng(5)
    chance = psychometric(FEW, 0.1, 3.0, 0.1, 0.02) - 0.6 * psychometric(FEW, 0.5, 6.0)
    wrong = fit(FEW, 40, generator.binomial(40, chance, (5, 20))).goodness()
    assert (wrong.p < 0.01).all()
    assert wrong.deviance.min() > 60


@pytest.mark.parametrize(
    ("truth", "censored"),
    [((0.001, 3.0, 0.0, 0.0), "below"), ((8.0, 4.0, 0.1, 0.0), "above")],
)
def test_thresholds_outside_the_levels_are_not_guessed(
    truth: tuple[float, ...], censored: str
) -> None:
    found = simulate(20, *truth, levels=np.linspace(0, 0.8, 80), n=20)
    assert (found.censored == censored).all()
    assert np.isnan(found.threshold).all()
    if censored == "below":
        assert ((truth[0] < found.bound) & (found.bound < 0.02)).all()
    else:
        assert ((found.bound > 0.6) & (found.bound < truth[0])).all()


def test_an_observer_who_always_says_yes_tells_nothing() -> None:
    # Even at level 0: thresholds may be anywhere.
    found = fit(LEVELS, 10, np.full(160, 10))
    assert found.censored == "unknown"
    assert np.isnan(found.threshold)
    assert np.isnan(found.bound)
    assert found.guess > 0.95


def test_all_no_is_above_and_all_yes_but_at_0_below() -> None:
    found = fit(LEVELS, 10, np.stack([np.zeros(160), np.where(LEVELS > 0, 10, 0)]))
    assert found.censored.tolist() == ["above", "below"]


def test_nothing_asked_is_unknown() -> None:
    found = fit([0.1, 0.2, 0.3], [[0, 0, 0], [20, 20, 20]], [[0, 0, 0], [1, 10, 19]])
    assert found.censored.tolist() == ["unknown", ""]
    assert np.isnan(found.threshold[0])
    assert np.isnan(found.low.slope[0])
    assert found.threshold[1] == pytest.approx(0.2, abs=0.02)
    assert np.isnan(found.goodness().p[0])
    assert np.isnan(found.probability([0.1]).low[0]).all()


def test_with_a_guess_rate_of_0_level_0_is_left_out() -> None:
    k = [3, 1, 5, 14, 20]
    with_zero = fit([0, 0.05, 0.1, 0.2, 0.4], 20, k, guess=0.0, lapse=0.0)
    without = fit([0.05, 0.1, 0.2, 0.4], 20, k[1:], guess=0.0, lapse=0.0)
    assert with_zero.threshold == without.threshold
    assert (with_zero.guess, with_zero.lapse) == (0, 0)


def test_a_narrow_prior_is_believed() -> None:
    k = [2, 5, 11, 17]
    tight = fit([0.05, 0.1, 0.2, 0.4], 20, k, prior=Prior(slope=1.0, slope_factor=1.05))
    assert tight.slope == pytest.approx(1.0, rel=0.1)
    ends = fit([0.05, 0.1, 0.2, 0.4], 20, k, prior=Prior(threshold=(0.15, 0.16)))
    assert 0.15 <= ends.low.threshold < ends.high.threshold <= 0.16


@pytest.mark.parametrize(
    ("levels", "n", "k", "message"),
    [
        ([0.1, 0.2], [10, 10, 10], [1, 2, 3], "levels, n and k"),
        ([0.1, 0.2], [10, 10], [1, 11], "between 0 and its n"),
        ([0.1, 0.2], [10, 10], [-1, 1], "between 0 and its n"),
        ([0.1, np.nan], [10, 10], [1, 1], "finite"),
        ([-0.1, 0.2], [10, 10], [1, 1], "scale='linear'"),
        (0.1, 10, 1, "at least one level"),
    ],
)
def test_mistakes_are_told(levels: object, n: object, k: object, message: str) -> None:
    with pytest.raises(FechnerError, match=message):
        fit(levels, n, k)


@pytest.mark.parametrize(
    "wrong",
    [{"guess": -0.1}, {"guess": 0.5, "lapse": 0.5}, {"coverage": 95}, {"shape": "cauchy"}],
)
def test_wrong_settings_are_told(wrong: dict[str, object]) -> None:
    with pytest.raises(FechnerError):
        fit([0.1, 0.2], [10, 10], [1, 9], **wrong)


def test_fits_say_in_a_line_what_they_are() -> None:
    levels = np.array([0.0, 0.05, 0.1, 0.2, 0.4])
    one = fit(levels, 40, [2, 8, 20, 33, 39])
    assert repr(one).startswith(f"Fit(weibull: threshold {one.threshold:.3g} [")
    assert repr(one).count("[") == 4
    assert repr(fit(levels, 40, [1, 1, 0, 2, 1])).endswith("threshold above)")
    many = fit(levels, 40, [[2, 8, 20, 33, 39], [1, 1, 0, 2, 1]])
    assert repr(many) == "Fit of 2 weibull functions, 1 with a threshold"

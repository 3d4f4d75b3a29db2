"""Classes with thresholds of their own: recovery from adaptive trials, and what has none."""

import numpy as np
import pytest
from known_observers import LEVELS, TRUE, steps
from scipy import optimize, special

from fechner.errors import FechnerError
from fechner.psychometrics import Adaptive, Prior, psychometric
from fechner.psychometrics.population import Marginal, fit_population

ORIGINALS = 4


def ones(classes: int) -> np.ndarray:
    return np.ones((classes, len(LEVELS)))


def adaptive(own, slope, miss, chance, *, seen=None, trials=40, seed=1):
    """Return trials and right answers of classes with these thresholds, the original first."""
    generator = np.random.default_rng(seed)
    n, right = np.zeros((2, len(own), len(LEVELS)))
    for i, threshold in enumerate(own):
        fallen = special.expit(np.minimum(slope * np.log10(LEVELS[1:] / threshold), 700))
        known = (1 - miss) * np.concatenate([[1.0], 1 - fallen])
        known = known if seen is None or seen[i] else 0 * known
        p = chance + (1 - chance) * known
        right[i, 0], n[i, 0] = generator.binomial(ORIGINALS, p[0]), ORIGINALS
        run = Adaptive(
            LEVELS[1:],
            shape="logistic",
            lapse=chance,
            prior=Prior(guess=(1, 10)),
            stop_trials=trials,
            seed=i,
        )
        while not run.finished:
            at = run.next()
            run.update(at, float(generator.random() >= p[1 + at]))
        n[i, 1:], right[i, 1:] = run.n, run.n - run.k
    return n, right


@pytest.mark.parametrize("chance", [0.5, 0.001])
def test_the_gradient_is_that_of_the_likelihood(chance: float) -> None:
    right = steps(np.random.default_rng(1), 12, chance=chance, top=0.9)
    marginal = Marginal(LEVELS, ones(12), right, chance, span=(0.1, 100.0))
    at = np.array([0.4, -1.5, 1.8, -2.0, -2.5])
    expected = optimize.approx_fprime(at, lambda x: marginal.cost(x)[0], 1e-6)
    np.testing.assert_allclose(marginal.cost(at)[1], expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(-marginal.classes(at)[1].sum(axis=0), marginal.cost(at)[1])


@pytest.mark.parametrize("chance", [0.5, 1 / 16, 0.001])
def test_classes_that_differ_are_recovered(chance: float) -> None:
    generator = np.random.default_rng(2)
    own = TRUE * 10 ** (0.3 * generator.standard_normal(60))
    seen = np.arange(60) % 10 > 0
    n, right = adaptive(own, 12.0, 0.0, chance, seen=seen, trials=60 if chance == 0.5 else 40)
    found = fit_population(LEVELS, n, right, chance=chance)
    true = 10 ** np.log10(own[seen]).mean()
    # The interval is of classes there could be; these are known, so the error is far smaller.
    assert found.threshold == pytest.approx(true, rel=0.08)
    assert found.low < TRUE < found.high
    assert found.spread_decades == pytest.approx(0.3, abs=0.06)
    assert found.slope == pytest.approx(12.0, rel=0.4)
    assert found.never == pytest.approx(0.1, abs=0.03 if chance < 0.5 else 0.07)
    assert found.miss < 0.03
    if chance < 0.5:
        assert ((found.never_recognised > 0.5) == ~seen).all()
        off = found.log_thresholds[seen] - np.log10(own[seen])
        assert off.std() < 0.1
    curve = psychometric(LEVELS, TRUE, 1e3, shape="logistic")
    assert found.accuracy(LEVELS)[0] == pytest.approx(1 - (1 - chance) * 0.1, abs=0.06)
    assert np.corrcoef(found.accuracy(LEVELS), curve)[0, 1] < -0.9


@pytest.mark.parametrize("chance", [0.5, 0.001])
def test_misses_at_random_do_not_draw_the_threshold_down(chance: float) -> None:
    # What single-class fits get wrong by 6 to 21 %.
    n, right = adaptive(np.full(80, TRUE), 6.0, 0.1, chance, trials=60 if chance == 0.5 else 40)
    found = fit_population(LEVELS, n, right, chance=chance)
    assert found.low < TRUE < found.high
    assert found.threshold == pytest.approx(TRUE, rel=0.08)
    assert found.miss == pytest.approx(0.1 * (1 - chance), abs=0.03)
    assert found.never < 0.02


def test_deterministic_steps() -> None:
    own = TRUE * 10 ** (0.3 * np.random.default_rng(7).standard_normal(24))
    n, right = adaptive(own, 1e6, 0.0, 0.001)
    found = fit_population(LEVELS, n, right, chance=0.001)
    np.testing.assert_allclose(found.log_thresholds, np.log10(own), atol=0.1)
    true = np.log10(own).mean()
    assert np.log10(found.threshold) == pytest.approx(true, abs=0.015)
    # As wide as a t interval of known thresholds.
    half = np.log10(found.high / found.low) / 2
    error = np.log10(own).std(ddof=1) / np.sqrt(24)
    assert half == pytest.approx(special.stdtrit(23, 0.975) * error, rel=0.1)
    assert found.slope > 100
    # Areas follow from the thresholds, and so does the standard error of their mean.
    np.testing.assert_allclose(found.areas, (np.log10(own) + 1) / 3, atol=0.04)
    assert found.pseudo_areas.mean() == pytest.approx(found.areas.mean(), abs=2e-3)
    assert found.pseudo_areas.std() == pytest.approx(found.areas.std(), rel=0.1)


def test_areas_of_classes_that_are_alike_are_not_certain() -> None:
    n, right = adaptive(np.full(40, TRUE), 6.0, 0.0, 1 / 16)
    found = fit_population(LEVELS, n, right, chance=1 / 16)
    assert found.areas.std() < 0.01
    error = found.pseudo_areas.std() / np.sqrt(40)
    assert 0.002 < error < 0.02
    assert found.pseudo_areas.mean() == pytest.approx((np.log10(TRUE) + 1) / 3, abs=3 * error)


def test_classes_never_recognised_leave_the_threshold_alone() -> None:
    right = steps(np.random.default_rng(8), 12, chance=0.001)
    expected = fit_population(LEVELS, ones(12), right, chance=0.001)
    more = np.concatenate([right, np.zeros((3, 41))])
    found = fit_population(LEVELS, ones(15), more, chance=0.001)
    assert found.never == pytest.approx(0.2, abs=1e-3)
    assert [found.threshold, found.low, found.high] == pytest.approx(
        [expected.threshold, expected.low, expected.high], rel=0.01
    )
    assert found.areas[-3:].max() < 1e-3


@pytest.mark.parametrize("classes", [1, 2, 5, 20])
@pytest.mark.parametrize("chance", [0.0, 0.001, 0.5])
def test_what_lies_outside_the_tested_levels(classes: int, chance: float) -> None:
    above = fit_population(LEVELS, ones(classes), ones(classes), chance=chance)
    assert above.censored == "above"
    assert np.isnan(above.threshold)
    assert above.bound == pytest.approx(100)
    # Two classes leave everything open.
    assert (5 if classes != 2 else 0) < above.low <= 100
    assert above.high == np.inf
    assert above.areas.min() > 0.9
    original = 0 * ones(classes)
    original[:, 0] = 1
    below = fit_population(LEVELS, ones(classes), original, chance=chance)
    assert below.censored == "below"
    assert below.bound == pytest.approx(0.1)
    assert below.low == 0
    assert 0.1 <= below.high < (1 if classes != 2 else 101)
    nothing = fit_population(LEVELS, ones(classes), 0 * original, chance=chance)
    assert nothing.censored == "unknown"
    assert np.isnan([nothing.low, nothing.high]).all()
    assert nothing.areas.max() < 0.01


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_few_classes_have_wide_intervals(classes: int) -> None:
    right = steps(np.random.default_rng(9), classes, chance=0.001)
    found = fit_population(LEVELS, ones(classes), right, chance=0.001)
    last = np.log10(LEVELS[1:])[right[:, 1:].sum(axis=1).astype(int) - 1]
    assert np.log10(found.threshold) == pytest.approx(last.mean() + 0.5 * 3 / 39, abs=0.03)
    error = last.std(ddof=1) / np.sqrt(classes)
    half = np.log10(found.high / found.low) / 2
    assert half >= 0.95 * special.stdtrit(classes - 1, 0.975) * error


def test_one_class_has_the_interval_of_its_own_fit() -> None:
    right = np.array([[1.0] * 25 + [0.0] * 16])
    found = fit_population(LEVELS, ones(1), right, chance=0.001)
    step = np.sqrt(LEVELS[24] * LEVELS[25])
    assert found.threshold == pytest.approx(step, rel=0.02)
    assert found.low < step < found.high
    assert found.accuracy([0.0, 100.0]) == pytest.approx([1.0, 0.001], abs=0.01)


def test_order_of_classes_and_levels_does_not_matter() -> None:
    generator = np.random.default_rng(10)
    right = steps(generator, 15, chance=1 / 16, top=0.9)
    found = fit_population(LEVELS, ones(15), right, chance=1 / 16)
    classes, levels = generator.permutation(15), generator.permutation(41)
    mixed = fit_population(LEVELS[levels], ones(15), right[classes][:, levels], chance=1 / 16)
    assert mixed.threshold == pytest.approx(found.threshold, rel=1e-3)
    np.testing.assert_allclose(mixed.areas, found.areas[classes], atol=1e-3)


def test_what_cannot_be_fitted_is_said() -> None:
    with pytest.raises(FechnerError, match="chance"):
        fit_population([0, 1], ones(2)[:, :2], ones(2)[:, :2], chance=0.97)
    with pytest.raises(FechnerError, match="classes, levels"):
        fit_population([0, 1], [1, 1], [1, 0], chance=0.1)
    with pytest.raises(FechnerError, match="above 0"):
        fit_population([0, 1], [[1, 0], [1, 0]], [[1, 0], [1, 0]], chance=0.1)

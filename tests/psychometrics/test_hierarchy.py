"""Prompts and abscissae fitted together, by recovery."""

import numpy as np
import pytest

from fechner.psychometrics import psychometric
from fechner.psychometrics.hierarchy import HierarchicalFit, fit_hierarchical

LEVELS = np.concatenate([[0.0], np.geomspace(0.001, 0.8, 30)])
CURVE = np.log10([0.05, 0.02, 0.01, 0.015, 0.04, 0.15])


def asked(
    prompts: int,
    seed: int,
    *,
    curve: np.ndarray = CURVE,
    sigma: float = 0.1,
    tau: float = 0.05,
    draws: int = 6,
    guess: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return thresholds, trials and answers of prompts that differ."""
    generator = np.random.default_rng([prompts, seed])
    offsets = generator.normal(0, sigma, prompts)
    thresholds = curve[:, None] + offsets + generator.normal(0, tau, (len(curve), prompts))
    guesses = generator.beta(2, 38, prompts) if guess is None else np.full(prompts, guess)
    slopes, lapses = np.exp(generator.normal(1.1, 0.2, prompts)), generator.beta(2, 60, prompts)
    rates = (each[:, None] for each in (slopes, guesses, lapses))
    p = psychometric(LEVELS, 10 ** thresholds[..., None], *rates)
    n = np.full(p.shape, draws)
    return thresholds, n, generator.binomial(n, p)


def fitted(n: np.ndarray, k: np.ndarray, guess: float | None = None) -> HierarchicalFit:
    return fit_hierarchical(np.broadcast_to(LEVELS, n.shape), n, k, guess=guess)


def test_what_prompts_have_in_common_is_recovered() -> None:
    thresholds, n, k = asked(25, 0, draws=10)
    found = fitted(n, k)
    assert found.log10 == pytest.approx(CURVE, abs=0.08)
    assert found.log10 - found.log10.mean() == pytest.approx(CURVE - CURVE.mean(), abs=0.04)
    assert found.thresholds == pytest.approx(thresholds, abs=0.15)
    assert found.sigma == pytest.approx(0.1, abs=0.04)
    assert found.tau == pytest.approx(0.05, abs=0.02)
    assert np.median(found.slope) == pytest.approx(3.0, rel=0.15)
    assert found.guess.mean() == pytest.approx(0.05, abs=0.02)
    assert found.lapse.mean() == pytest.approx(0.03, abs=0.015)
    assert not found.blind.any()


def test_errors_are_as_large_as_they_say() -> None:
    """Shape errors over their variance, and mean errors over theirs, in 25 experiments each."""
    centre = np.eye(len(CURVE)) - 1 / len(CURVE)
    for prompts in (1, 5):
        shape, size = [], []
        for seed in range(25):
            thresholds, n, k = asked(prompts, seed)
            found = fitted(n, k)
            error = found.log10 - (thresholds[:, 0] if prompts == 1 else CURVE)
            spread = np.trace(centre @ found.covariance @ centre)
            shape.append(np.square(error - error.mean()).sum() / spread)
            variance = found.covariance.mean() + found.offset_variance
            size.append(error.mean() ** 2 / variance)
        assert np.mean(shape) == pytest.approx(1.0, abs=0.3)
        assert 0.1 < np.median(size) < 1.2  # about 0.5, of a squared Student's t


def test_forced_choice_has_a_known_rate_of_guesses() -> None:
    _, n, k = asked(3, 1, guess=0.5, draws=12)
    found = fitted(n, k, guess=0.5)
    assert found.guess == pytest.approx(0.5)
    assert found.log10 == pytest.approx(CURVE, abs=0.15)


def test_what_is_never_seen_lies_beyond_what_was_shown() -> None:
    curve = CURVE.copy()
    curve[0], curve[-1] = -5.0, 2.0
    _, n, k = asked(4, 2, curve=curve)
    found = fitted(n, k)
    assert found.log10[0] < np.log10(0.001)
    assert found.log10[-1] > np.log10(0.8)
    assert found.log10[1:-1] == pytest.approx(curve[1:-1], abs=0.2)


def test_prompts_that_always_get_a_yes_are_left_out() -> None:
    _, n, k = asked(4, 3)
    k[:, 2] = n[:, 2]
    found = fitted(n, k)
    assert found.blind.tolist() == [False, False, True, False]
    assert np.isnan(found.thresholds[:, 2]).all()
    assert found.log10 == pytest.approx(CURVE, abs=0.2)
    nothing = fitted(n, n)
    assert nothing.blind.all()
    assert np.isnan(nothing.log10).all()


def test_whoever_jumps_is_not_known_better_than_the_levels_are_apart() -> None:
    """Answers without chance say between which levels a threshold lies, not where."""
    p = (10 ** CURVE[:, None] < LEVELS).astype(float)[:, None]
    n = np.full(p.shape, 20.0)
    found = fitted(n, n * p)
    assert found.log10 == pytest.approx(CURVE, abs=0.1)
    assert (np.sqrt(np.diag(found.covariance)) > 0.02).all()
    # Levels are never quite the same for two prompts, which puts none between two of them.
    shown = LEVELS * np.array([0.998, 1.0, 1.002])[:, None] + np.zeros((len(CURVE), 1, 1))
    several = fit_hierarchical(shown, np.tile(n, (1, 3, 1)), np.tile(n * p, (1, 3, 1)))
    assert several.slope == pytest.approx(found.slope[0], rel=0.05)

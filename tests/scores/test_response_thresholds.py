"""Thresholds over classes: known-answer observers are recovered, and intervals hold the truth."""

import numpy as np
import pytest
from known_observers import LEVELS, TRUE, steps, trials

from fechner.scores.bootstrap import cluster_counts
from fechner.scores.response_curves import smoothed
from fechner.scores.response_thresholds import class_fits, pooled_fit


def ones(classes: int) -> np.ndarray:
    return np.ones((classes, len(LEVELS)))


@pytest.mark.parametrize("observer", [trials, steps])
@pytest.mark.parametrize(("chance", "top"), [(0.5, 0.9), (1 / 16, 1.0), (0.001, 0.9)])
def test_known_observers_are_recovered(observer, chance: float, top: float) -> None:
    generator = np.random.default_rng(1)
    found = [
        pooled_fit(
            LEVELS,
            ones(200),
            observer(generator, 200, chance=chance, top=top),
            chance=chance,
            resamples=40,
        )
        for _ in range(30)
    ]
    values = np.array([each.threshold.value for each in found])
    assert np.median(values) == pytest.approx(TRUE, rel=0.03)
    held = np.mean([each.threshold.low <= TRUE <= each.threshold.high for each in found])
    assert held >= 0.85


@pytest.mark.parametrize("observer", [trials, steps])
def test_intervals_hold_the_truth(observer) -> None:
    generator = np.random.default_rng(2)
    found = [
        pooled_fit(
            LEVELS, ones(20), observer(generator, 20, chance=1 / 16), chance=1 / 16, resamples=60
        ).threshold
        for _ in range(150)
    ]
    held = np.mean([each.low <= TRUE <= each.high for each in found])
    # 93 to 97 %, and three standard errors of so few simulations; the benchmark has more.
    room = 3 * np.sqrt(0.05 * 0.95 / len(found))
    assert 0.93 - room <= held <= 0.97 + room


def test_intervals_are_over_classes_not_trials() -> None:
    # 10 steps asked about ten times as often are still 10 steps.
    right = steps(np.random.default_rng(3), 10, chance=0.001)
    once = pooled_fit(LEVELS, ones(10), right, chance=0.001, resamples=200).threshold
    often = pooled_fit(LEVELS, 10 * ones(10), 10 * right, chance=0.001, resamples=200).threshold
    assert often.value == pytest.approx(once.value, rel=0.01)
    width = np.log(once.high / once.low)
    assert np.log(often.high / often.low) == pytest.approx(width, rel=0.05)


def test_what_is_smoothed_has_another_threshold() -> None:
    # Why curves that are smoothed are never fitted: the top is drawn down at the weak end.
    right = steps(np.random.default_rng(4), 200, chance=0.001)
    raw = pooled_fit(LEVELS, ones(200), right, chance=0.001, resamples=2)
    drawn = smoothed(right.mean(axis=0))[None]
    fed = pooled_fit(LEVELS, ones(1), drawn, chance=0.001)
    assert fed.fit.slope < 0.8 * raw.fit.slope


def test_the_interval_follows_the_bootstrap_of_refits() -> None:
    right = steps(np.random.default_rng(5), 12, chance=0.001)
    found = pooled_fit(LEVELS, ones(12), right, chance=0.001, resamples=50)
    assert found.resampled.shape == (50, 4)
    counts = cluster_counts(12, 50)[7]
    repeated = np.repeat(right, counts.astype(int), axis=0)
    alone = pooled_fit(LEVELS, ones(12), repeated, chance=0.001, resamples=2)
    assert found.resampled[7, 0] == pytest.approx(alone.fit.points[0], abs=5e-3)


def test_the_level_of_another_accuracy() -> None:
    right = steps(np.random.default_rng(6), 200, chance=0.5, top=1.0)
    found = pooled_fit(LEVELS, ones(200), right, chance=0.5, resamples=100)
    at = found.level_at(0.75)
    assert at.censored == ""
    assert at.low < TRUE < at.high
    assert found.level_at(0.6).value > at.value > found.level_at(0.9).value
    never = found.level_at(0.5)
    assert never.censored == "above"
    assert never.high == np.inf
    assert never.bound == 100


def test_thresholds_outside_the_tested_levels() -> None:
    right = ones(20)
    above = pooled_fit(LEVELS, ones(20), right, chance=0.01, resamples=20).threshold
    assert above.censored == "above"
    assert np.isnan(above.value)
    assert above.high == np.inf
    assert above.bound == 100
    assert 0 < above.low <= 100
    right = np.zeros((20, 41))
    right[:, 0] = 1
    below = pooled_fit(LEVELS, ones(20), right, chance=0.01, resamples=20).threshold
    assert below.censored == "below"
    assert below.low == 0.0
    assert below.bound == pytest.approx(0.1)
    nothing = pooled_fit(LEVELS, ones(20), np.zeros((20, 41)), chance=0.01, resamples=20)
    assert nothing.threshold.censored == "unknown"
    unasked = pooled_fit(LEVELS, 0 * ones(20), np.zeros((20, 41)), chance=0.01)
    assert unasked.threshold.censored == "unknown"


def test_one_class_has_the_interval_of_its_own_fit() -> None:
    right = np.array([[1.0] * 25 + [0.0] * 16])
    found = pooled_fit(LEVELS, ones(1), right, chance=0.001).threshold
    step = np.sqrt(LEVELS[24] * LEVELS[25])
    assert found.value == pytest.approx(step, rel=0.02)
    assert found.low < step < found.high
    own = class_fits(LEVELS, ones(1), right, chance=0.001)
    assert found.low == pytest.approx(own.low.threshold[0], rel=0.1)

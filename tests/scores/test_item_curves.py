"""Item-response curves: what is counted, fitted, and known of people."""

import numpy as np
import pytest
from known_observers import LEVELS, TRUE, steps, trials

from fechner.errors import FechnerError
from fechner.human.trials import HumanTrial, HumanTrials
from fechner.scores.item_curves import (
    area_interval,
    class_areas,
    clustered_interval,
    counted,
    human_points,
    pooled_curve,
    pooled_fit,
    smoothed,
)
from fechner.scores.statistics import cluster_counts, wilson


def test_counting_a_table_of_trials_in_any_order() -> None:
    generator = np.random.default_rng(0)
    right = trials(generator, 6, chance=0.1)
    of, at = np.meshgrid(np.arange(6), np.arange(41), indexing="ij")
    order = generator.permutation(of.size)
    found = counted(of.ravel()[order], LEVELS[at].ravel()[order], right.ravel()[order], classes=7)
    np.testing.assert_array_equal(found.levels, LEVELS)
    np.testing.assert_array_equal(found.right[:6], right)
    assert found.n[:6].tolist() == np.ones((6, 41)).tolist()
    assert found.n[6].sum() == found.right[6].sum() == 0  # a class nobody was asked about


def test_every_class_counts_the_same_however_often_it_was_asked() -> None:
    n = np.array([[1.0, 1], [3, 0]])
    found = pooled_curve([0, 1], n, np.array([[0.0, 1], [3, 0]]))
    assert found.accuracy.tolist() == [0.5, 1.0]


def test_intervals_of_one_trial_a_class() -> None:
    right = steps(np.random.default_rng(1), 200, chance=0.001)
    found = pooled_curve(LEVELS, np.ones_like(right), right)
    np.testing.assert_allclose(found.accuracy, right.mean(axis=0))
    for i in (0, 20, 25):
        assert found.wilson_low[i] == pytest.approx(wilson(right[:, i].sum(), 200)[0])
        assert found.wilson_high[i] == pytest.approx(min(wilson(right[:, i].sum(), 200)[1], 1.0))
    middle = (found.accuracy > 0.2) & (found.accuracy < 0.8)
    # With one trial a class, classes are trials.
    np.testing.assert_allclose(found.low[middle], found.wilson_low[middle], atol=0.015)
    np.testing.assert_allclose(found.high[middle], found.wilson_high[middle], atol=0.015)
    assert found.low[0] == found.high[0] == 1.0
    assert found.wilson_low[0] < 0.99


def test_trials_that_go_together_are_not_worth_as_many() -> None:
    one = (np.arange(40) < 20).astype(float)[:, None]
    found = pooled_curve([1.0], np.full((40, 1), 25.0), 25 * one)
    assert found.wilson_high[0] - found.wilson_low[0] < 0.07
    assert found.high[0] - found.low[0] > 0.25


def test_the_bootstrap_interval_holds_the_accuracy() -> None:
    generator = np.random.default_rng(2)
    held = []
    for _ in range(200):
        # Rates of classes differ: Beta(2, 2), ten trials each.
        right = generator.binomial(10, generator.beta(2, 2, (40, 1))).astype(float)
        found = pooled_curve([1.0], np.full((40, 1), 10.0), right)
        held.append(found.low[0] <= 0.5 <= found.high[0])
    assert 0.90 <= np.mean(held) <= 0.99


def test_levels_nobody_saw_have_no_accuracy() -> None:
    n = np.array([[1.0, 0, 1], [1, 0, 1]])
    found = pooled_curve([0, 1, 2], n, n)
    assert np.isnan(found.accuracy).tolist() == [False, True, False]
    assert np.isnan(found.low).tolist() == [False, True, False]
    alone = pooled_curve([0, 1, 2], n[:1], n[:1])
    assert np.isnan(alone.low).all()


def test_smoothing_by_hand() -> None:
    values = np.zeros(201)
    values[100] = 1
    found = smoothed(values)
    assert len(found) == 201
    np.testing.assert_allclose(found[93:108], 1 / 15)
    assert found[92] == found[108] == 0
    edge = smoothed([1.0] + 20 * [0.0])
    # The first value and seven copies of it.
    assert edge[0] == pytest.approx(8 / 15)
    np.testing.assert_allclose(smoothed(np.full(30, 0.3)), 0.3)
    with pytest.raises(FechnerError, match="odd"):
        smoothed([1.0, 0.0], window=4)


def test_area_by_hand() -> None:
    levels = np.array([0, 1, 10, 100.0])
    n = np.ones((2, 4))
    right = np.array([[1, 1, 1, 1], [1, 1, 0.5, 0.5]])
    areas = class_areas(levels, n, right, chance=0.5)
    np.testing.assert_allclose(areas, [1.0, 0.25])
    # The order of levels does not matter, nor do levels that a class was not asked about.
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(
        class_areas(levels[order], n[:, order], right[:, order], chance=0.5), areas
    )
    n[0, 2] = right[0, 2] = 0
    assert class_areas(levels, n, right, chance=0.5)[0] == pytest.approx(1.0)


def test_the_area_of_known_observers_is_in_its_interval() -> None:
    generator = np.random.default_rng(3)
    expected = np.log10(3 / 0.1) / 3  # symmetric over the logarithm, in three decades
    values, held = [], []
    for _ in range(300):
        right = steps(generator, 40, chance=0.5)
        areas = class_areas(LEVELS, np.ones((40, 41)), right, chance=0.5)
        low, high = area_interval(areas)
        values.append(areas.mean())
        held.append(low <= expected <= high)
    assert np.mean(values) == pytest.approx(expected, abs=0.01)
    assert 0.91 <= np.mean(held) <= 0.985


def test_classes_that_agree_do_not_make_an_area_certain() -> None:
    low, high = area_interval(np.full(30, 0.6))
    assert low == pytest.approx(0.6 * 30 / (30 + 1.959964**2))
    assert 0.6 < high < 0.65
    assert area_interval(np.zeros(30))[0] == 0 < area_interval(np.zeros(30))[1]
    assert np.isnan(area_interval(np.ones(1))).all()


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


def test_one_class_has_no_interval() -> None:
    right = np.array([[1.0] * 25 + [0.0] * 16])
    found = pooled_fit(LEVELS, ones(1), right, chance=0.001).threshold
    assert found.value == pytest.approx(np.sqrt(LEVELS[24] * LEVELS[25]), rel=0.02)
    assert np.isnan([found.low, found.high]).all()


def people_answer(
    right: np.ndarray, test: str = "mafc-blur", chance: float = 1 / 3
) -> list[HumanTrial]:
    """Return trials from right answers, [people, trials]."""
    return [
        HumanTrial(f"person-{person:02}", test, "cat", 2.0, "", bool(each), chance)
        for person, row in enumerate(right)
        for each in row
    ]


def test_the_papers_design_gives_seven_points() -> None:
    """24 people with 5 trials each at one level: about +-7 points."""
    right = np.ones((24, 5), bool)
    right[:, 0] = False
    (point,) = human_points(HumanTrials.of(people_answer(right)))
    assert (point.trials, point.right, point.people) == (120, 96, 24)
    assert point.accuracy == pytest.approx(0.8)
    low, high = wilson(point.right, point.trials)
    assert (high - low) / 2 == pytest.approx(0.07, abs=0.005)


def test_three_choices_and_a_thousand_compare_corrected() -> None:
    half = np.tile([True, False], (10, 1))
    (of_three,) = human_points(HumanTrials.of(people_answer(half)))
    (of_many,) = human_points(HumanTrials.of(people_answer(half, chance=0.001)))
    value, low, high = of_three.corrected
    assert value == pytest.approx((0.5 - 1 / 3) / (2 / 3))
    assert low < value < high
    assert of_many.corrected[0] == pytest.approx(0.4995, abs=1e-4)


def test_points_are_told_apart_by_test_level_and_chance() -> None:
    one = HumanTrial("ann", "b", "cat", 2.0, "", True, 0.5)
    rows = [
        one,
        HumanTrial("ann", "a", "cat", 3.0, "", False, 0.5),
        HumanTrial("ann", "a", "cat", 1.0, "", True, 0.5),
        HumanTrial("ann", "a", "cat", 1.0, "", True, 0.25),
        one,
    ]
    found = [(p.test, p.level, p.chance, p.trials) for p in human_points(HumanTrials.of(rows))]
    one_each = [("a", 1.0, 0.25, 1), ("a", 1.0, 0.5, 1), ("a", 3.0, 0.5, 1)]
    assert found == [*one_each, ("b", 2.0, 0.5, 2)]


def test_order_does_not_matter() -> None:
    rows = people_answer(np.random.default_rng(0).random((8, 5)) < 0.7)
    assert human_points(HumanTrials.of(rows)) == human_points(HumanTrials.of(rows[::-1]))


def test_people_who_differ_make_intervals_wider() -> None:
    alike = clustered_interval([3] * 10, [5] * 10)
    apart = clustered_interval([5] * 6 + [0] * 4, [5] * 10)
    alone = wilson(30, 50)
    assert alike[0] < alone[0]
    assert alone[1] < alike[1]
    assert apart[1] - apart[0] > 1.8 * (alike[1] - alike[0])


def test_without_mistakes_and_of_one_person_there_is_an_interval() -> None:
    low, high = clustered_interval([5] * 24, [5] * 24)
    assert 0.95 < low < 1
    assert high == 1
    assert clustered_interval([4], [5]) == wilson(4, 5)


def test_intervals_over_people_hold_the_truth() -> None:
    """24 people x 5 trials; their own accuracies are spread by .15 around .75."""
    generator = np.random.default_rng(4)
    mean, spread, draws = 0.75, 0.15, 600
    strength = mean * (1 - mean) / spread**2 - 1
    held = {"people": 0, "trials": 0}
    for _ in range(draws):
        own = generator.beta(mean * strength, (1 - mean) * strength, 24)
        right = generator.binomial(5, own)
        low, high = clustered_interval(right.tolist(), [5] * 24)
        held["people"] += low <= mean <= high
        low, high = wilson(float(right.sum()), 120)
        held["trials"] += low <= mean <= high
    assert 0.93 < held["people"] / draws < 0.985
    assert held["trials"] / draws < 0.92

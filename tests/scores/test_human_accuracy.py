"""How often people were right: the paper's design, clusters, chance."""

import numpy as np
import pytest

from fechner.human.trials import HumanTrial, HumanTrials
from fechner.scores.human_accuracy import clustered_interval, human_points
from fechner.scores.rates import wilson


def trials(right: np.ndarray, test: str = "mafc-blur", chance: float = 1 / 3) -> list[HumanTrial]:
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
    (point,) = human_points(HumanTrials.of(trials(right)))
    assert (point.trials, point.right, point.people) == (120, 96, 24)
    assert point.accuracy == pytest.approx(0.8)
    assert (point.wilson_high - point.wilson_low) / 2 == pytest.approx(0.07, abs=0.005)
    assert (point.wilson_low, point.wilson_high) == wilson(96, 120)


def test_three_choices_and_a_thousand_compare_corrected() -> None:
    half = np.tile([True, False], (10, 1))
    (of_three,) = human_points(HumanTrials.of(trials(half)))
    (of_many,) = human_points(HumanTrials.of(trials(half, chance=0.001)))
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
    rows = trials(np.random.default_rng(0).random((8, 5)) < 0.7)
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


def test_intervals_hold_the_truth() -> None:
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

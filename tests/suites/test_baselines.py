"""Chance levels that were measured: who has them, and what they do to scores."""

import math
from dataclasses import replace

import pytest

from fechner.scores import Score, distance
from fechner.scores.score import FARTHEST
from fechner.suites import suite
from fechner.suites.published import baselines, baselines_of

SCORE = Score("agreement", 0.9, 0.8, 0.95, True, 1.0, 0.0, "abscissae", 9, note="kept")


def against(score: Score, test: str = "colour") -> Score:
    measured = baselines_of("decalogue", "default", test).get(score.name)
    return score if measured is None else measured.as_chance(score)


@pytest.mark.parametrize("mode", ["default", "published"])
@pytest.mark.parametrize("name", ["decalogue", "encoders"])
def test_every_test_has_a_baseline_of_its_main_score(name: str, mode: str) -> None:
    for test in suite(name).build(published=mode == "published"):
        main = test.printed(math.nan).name
        if test.by_default:
            found = baselines()[name, mode, test.id, main]
            assert found.low <= found.median <= found.high
            assert found.networks >= 8


def test_chance_is_the_median_of_untrained_networks() -> None:
    known = baselines()["decalogue", "default", "colour", "agreement"]
    found = against(SCORE)
    assert found.chance == known.median > 0.9
    assert found.note.startswith("kept; no better than untrained networks")
    better = against(replace(SCORE, value=(1 + known.high) / 2))
    assert better.note == "kept"
    assert 0 < distance(better) < 1


def test_random_answers_are_chance_where_untrained_networks_are_worse() -> None:
    known = baselines()["decalogue", "default", "sensitivity", "agreement"]
    assert known.median < 0
    assert against(SCORE, "sensitivity").chance == 0


def test_a_score_that_was_not_measured_keeps_its_chance() -> None:
    other = replace(SCORE, name="another")
    assert against(other) == other


def test_no_test_counts_for_more_than_twice_chance() -> None:
    assert distance(against(replace(SCORE, value=0.2))) == FARTHEST
    assert math.isnan(distance(replace(SCORE, chance=1.0)))
    assert math.isnan(distance(replace(SCORE, value=math.nan)))

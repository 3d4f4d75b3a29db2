"""Which levels come next: all at once, or one by one by the answers so far."""

import math

import pytest

from fechner.experiments import AdaptiveLevels, EveryLevel
from fechner.experiments.placement import Trial, advance

LEVELS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def test_every_level_is_shown_as_often() -> None:
    track = EveryLevel((0.0, 1.0), repeats=2).track()
    assert advance(track) == [Trial(0, 0), Trial(0, 1), Trial(1, 0), Trial(1, 1)]
    assert not advance(track, [0, 0, 1, 1])


def shown(placement: AdaptiveLevels, answer: float | None = None, **settings) -> list[int]:
    """Show all trials to somebody who sees what is above 0.05, or always says the same."""
    track = placement.track(**settings)
    found: list[int] = []
    trials = advance(track)
    while trials:
        ((level, draw),) = trials
        assert draw == len(found)
        found.append(level)
        trials = advance(track, [float(LEVELS[level] > 0.05) if answer is None else answer])
    return found


@pytest.mark.parametrize(("most", "blanks"), [(None, 3), (1, 1), (0, 0)])
def test_blanks_come_first(most: int | None, blanks: int) -> None:
    found = shown(AdaptiveLevels(LEVELS, 12, blanks=3), blanks=most)
    assert len(found) == 12
    assert found[:blanks] == [0] * blanks
    assert found[blanks] > 0


def test_levels_go_where_answers_tell_most() -> None:
    found = shown(AdaptiveLevels(LEVELS, 40))
    assert {3, 4} <= set(found[20:])  # to either side of the threshold


def test_a_narrow_interval_ends_a_track() -> None:
    assert len(shown(AdaptiveLevels(LEVELS, 64, width=0.5))) < 64


def test_a_trial_without_an_answer_counts_and_tells_nothing() -> None:
    found = shown(AdaptiveLevels(LEVELS, 8, blanks=0), answer=math.nan)
    assert len(found) == 8
    assert len(set(found)) == 1

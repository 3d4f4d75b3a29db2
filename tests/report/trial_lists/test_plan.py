"""Who is shown what: a class once, choices that do not tell, the same lists again."""

import itertools
from collections import Counter

import numpy as np
import pytest

from fechner.errors import FechnerError
from fechner.report.trial_lists.plan import Condition, plan_trials

VIEWS = {label: (label % 3, 7) for label in range(200)}
WORDS = {label: f"class {label}" for label in VIEWS}
CONDITIONS = [
    Condition(f"{task}-{name}", task, level, VIEWS, WORDS)
    for task in ("mafc", "2afc")
    for name, level in (("blur", 2.0), ("occlusion", 0.25), ("brightness-up", 0.5))
]


def test_the_papers_protocol() -> None:
    lists = plan_trials(CONDITIONS, people=24, trials=5, choices=3, seed=0)
    assert [len(each) for each in lists] == [30] * 24
    for trials in lists:
        assert Counter(trial.condition.test for trial in trials) == {
            each.test: 5 for each in CONDITIONS
        }
        assert max(Counter(trial.label for trial in trials).values()) == 1
        for trial in trials:
            assert trial.options[trial.answer] == (trial.label, trial.picture)
            assert trial.picture in trial.condition.views[trial.label]
            assert all(p in trial.condition.views[label] for label, p in trial.options)
            labels = [label for label, _ in trial.options]
            assert len(set(labels)) == len(labels) == (3 if trial.condition.task == "mafc" else 2)
            assert trial.chance == 1 / len(labels)


def test_with_classes_enough_each_is_met_once() -> None:
    (few,) = plan_trials(CONDITIONS[:4], people=1, trials=5, choices=3, seed=3)
    met = Counter(label for trial in few for label, _ in trial.options)
    assert max(met.values()) == 1


@pytest.mark.parametrize("trials", [5, 10])
def test_what_was_met_before_does_not_tell_what_is_right(trials: int) -> None:
    """Guessing by how often a choice was met before is guessing."""
    views = dict.fromkeys(range(22), (0,))
    words = {label: f"class {label}" for label in views}
    few = [Condition(f"{task}-blur", task, 1.0, views, words) for task in ("mafc", "2afc")]
    most, least, count = 0.0, 0.0, 0
    for person in plan_trials(few, people=400, trials=trials, choices=3, seed=1):
        met: Counter[int] = Counter()
        for trial in person:
            times = np.array([met[label] for label, _ in trial.options])
            own = times[trial.answer]
            most += (own == times.max()) / (own == times).sum()
            least += (own == times.min()) / (own == times).sum()
            count += 1
            met.update(label for label, _ in trial.options)
    guessed = (1 / 3 + 1 / 2) / 2
    error = 4 * np.sqrt(guessed * (1 - guessed) / count)
    assert abs(most / count - guessed) < error
    assert abs(least / count - guessed) < error


def test_answers_are_at_every_place_and_classes_everywhere() -> None:
    lists = plan_trials(CONDITIONS, people=200, trials=5, choices=3, seed=1)
    named = [t for trials in lists for t in trials if t.condition.task == "mafc"]
    places = Counter(trial.answer for trial in named)
    assert all(abs(count / len(named) - 1 / 3) < 0.04 for count in places.values())
    of_classes = Counter(trial.label for trials in lists for trial in trials)
    assert len(of_classes) == 200
    assert max(of_classes.values()) < 70  # 30 on average; three people of ten at most


def test_tasks_come_in_blocks_that_change_places() -> None:
    lists = plan_trials(CONDITIONS, people=4, trials=5, choices=3, seed=0)
    firsts = []
    for trials in lists:
        tasks = [trial.condition.task for trial in trials]
        assert sum(a != b for a, b in itertools.pairwise(tasks)) == 1
        firsts.append(tasks[0])
        tests = [trial.condition.test for trial in trials]
        assert tests != sorted(tests)  # mixed within a block
    assert firsts == ["2afc", "mafc"] * 2


def test_more_people_do_not_change_lists_and_seeds_do() -> None:
    def lists(people: int, seed: int) -> list:
        return plan_trials(CONDITIONS, people, trials=5, choices=3, seed=seed)

    assert lists(6, 0)[:3] == lists(3, 0)
    assert lists(3, 0) != lists(3, 1)
    first, second = lists(2, 0)
    assert {trial.label for trial in first} != {trial.label for trial in second}


def test_too_few_classes() -> None:
    few = [Condition("mafc-blur", "mafc", 1.0, dict.fromkeys(range(4), (0,)), WORDS)]
    with pytest.raises(FechnerError, match=r"5 trials, but there are 4 classes.*--repeat-classes"):
        plan_trials(few, people=2, trials=5, choices=3, seed=0)
    (trials,) = plan_trials(few, people=1, trials=10, choices=3, seed=0, repeat=True)
    assert sorted(Counter(trial.label for trial in trials).values()) == [2, 2, 3, 3]
    assert all(len({label for label, _ in trial.options}) == 3 for trial in trials)
    with pytest.raises(FechnerError, match=r"4 classes, fewer than the 5 that people choose"):
        plan_trials(few, people=2, trials=1, choices=5, seed=0)


def test_classes_of_one_category_are_no_choice() -> None:
    words = {label: f"category {label % 4}" for label in VIEWS}
    coarse = Condition("mafc-blur", "mafc", 1.0, VIEWS, words)
    for trials in plan_trials([coarse], people=20, trials=5, choices=4, seed=0):
        for trial in trials:
            assert len({words[label] for label, _ in trial.options}) == 4
    with pytest.raises(FechnerError, match="pictures of 4 classes, fewer than the 5"):
        plan_trials([coarse], people=1, trials=1, choices=5, seed=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"people": 0}, "nothing to ask 0 people"),
        ({"trials": 0}, "in 0 trials"),
        ({"choices": 1}, "2 to 9 choices, not 1"),
        ({"choices": 10}, "2 to 9 choices, not 10"),
    ],
)
def test_numbers_that_make_no_sense(change: dict[str, int], said: str) -> None:
    wanted = {"people": 2, "trials": 5, "choices": 3, "seed": 0} | change
    with pytest.raises(FechnerError, match=said):
        plan_trials(CONDITIONS, **wanted)
    with pytest.raises(FechnerError, match="nothing to ask"):
        plan_trials([], people=1, trials=1, choices=3, seed=0)

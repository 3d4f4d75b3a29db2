"""Adaptive trials: replayed the same, information as defined, and worth many constant ones."""

import numpy as np
import pytest

from fechner.errors import FechnerError
from fechner.psychometrics import Adaptive, Prior, fit, psychometric
from fechner.psychometrics.adaptive import _table

LEVELS = np.concatenate([[0.0], np.geomspace(0.001, 0.8, 40)])
PRIOR = Prior(threshold=(0.001, 1.0))


def simulate(run: Adaptive, generator: np.random.Generator, *truth: float) -> list[int]:
    chance = psychometric(run.levels, *truth, shape=run.shape, scale=run.scale)
    asked = []
    while not run.finished:
        asked.append(run.next())
        run.update(asked[-1], float(generator.random() < chance[asked[-1]]))
    return asked


def test_a_replayed_run_asks_the_same() -> None:
    run = Adaptive(LEVELS, stop_trials=25, seed=3)
    asked = simulate(run, np.random.default_rng(0), 0.03, 3.0, 0.05, 0.02)
    assert run.trials == len(asked) == 25
    again = Adaptive(LEVELS, stop_trials=25, seed=3)
    generator = np.random.default_rng(0)
    chance = psychometric(LEVELS, 0.03, 3.0, 0.05, 0.02)
    for index in asked:
        assert again.next() == again.next() == index
        again.update(index, float(generator.random() < chance[index]))
    assert again.estimate().threshold == run.estimate().threshold
    other = Adaptive(LEVELS, stop_trials=25, seed=4)
    assert simulate(other, np.random.default_rng(0), 0.03, 3.0, 0.05, 0.02) != asked


def test_tables_are_shared() -> None:
    first, second = Adaptive(LEVELS, prior=PRIOR), Adaptive(list(LEVELS), prior=PRIOR, seed=9)
    assert first._table is second._table
    assert Adaptive(LEVELS, prior=PRIOR, guess=0.5)._table is not first._table
    first.update(5, 1)
    assert second.information() == pytest.approx(Adaptive(LEVELS, prior=PRIOR).information())


def test_information_is_the_expected_fall_of_entropy() -> None:
    run = Adaptive(LEVELS[::5], prior=PRIOR)
    for index, answer in ((3, 0), (6, 1), (5, 1), (4, 0)):
        run.update(index, answer)

    def threshold_of(run: Adaptive) -> np.ndarray:
        weight = np.exp(run._log_posterior - run._log_posterior.max())
        return weight.sum(axis=1) / weight.sum()

    def entropy(weight: np.ndarray) -> float:
        return float(-(weight[weight > 0] * np.log2(weight[weight > 0])).sum())

    weight = np.exp(run._log_posterior - run._log_posterior.max())
    weight /= weight.sum()
    for index in range(len(run.levels)):
        yes = float((weight * run._table.chance[:, index]).sum())
        after = 0.0
        for answer, chance in ((1, yes), (0, 1 - yes)):
            copy = Adaptive(run.levels, prior=PRIOR)
            copy._log_posterior = run._log_posterior.copy()
            copy.update(index, answer)
            after += chance * entropy(threshold_of(copy))
        expected = entropy(threshold_of(run)) - after
        assert run.information()[index] == pytest.approx(expected, abs=1e-5)


def test_it_goes_to_the_threshold() -> None:
    generator = np.random.default_rng(1)
    run = Adaptive(LEVELS, prior=PRIOR, stop_trials=80)
    asked = simulate(run, generator, 0.02, 3.0, 0.05, 0.02)
    late = LEVELS[asked[40:]]
    assert np.median(np.abs(np.log10(late[late > 0] / 0.02))) < 0.25
    found = run.estimate()
    assert found.censored == ""
    assert found.n.sum() == 80
    assert found.low.threshold < 0.02 < found.high.threshold


def test_it_stops_at_a_width() -> None:
    generator = np.random.default_rng(2)
    run = Adaptive(LEVELS, prior=PRIOR, stop_trials=400, stop_width=0.3)
    simulate(run, generator, 0.05, 3.0, 0.02, 0.02)
    found = run.estimate()
    assert run.trials < 200
    assert np.log10(found.high.threshold / found.low.threshold) <= 0.3


def test_forced_choice_graded_answers_and_several_at_once() -> None:
    run = Adaptive(LEVELS[1:], prior=PRIOR, guess=0.5, lapse=0.01, stop_trials=60)
    chance = psychometric(run.levels, 0.04, 3.0, 0.5, 0.01)
    while not run.finished:
        index = run.next()
        run.update(index, 6 * chance[index], n=6)
    found = run.estimate()
    assert run.trials == 60
    assert found.threshold == pytest.approx(0.04, rel=0.15)
    assert found.guess == 0.5


def test_linear_scale() -> None:
    run = Adaptive(
        np.linspace(-30, 30, 31), shape="normal", scale="linear", stop_trials=150, stop_width=9
    )
    simulate(run, np.random.default_rng(3), -7.0, 0.2, 0.05, 0.02)
    found = run.estimate()
    assert found.threshold == pytest.approx(-7, abs=5)
    assert run.trials < 150


@pytest.mark.parametrize(("threshold", "times", "runs"), [(0.01, 20, 30), (0.05, 4, 12)])
def test_the_standard_error_of_constant_stimuli_with_far_fewer_trials(
    threshold: float, times: int, runs: int
) -> None:
    # A small version of benchmarks/psychometrics.py --adaptive, at slope 3.
    generator = np.random.default_rng(4)
    constant = np.linspace(0, 0.8, 160)
    truth = (threshold, 3.0, 0.05, 0.02)
    k = generator.binomial(10, psychometric(constant, *truth), (60, 160))
    many = np.log10(fit(constant, 10, k, prior=PRIOR).quantile(0.5).threshold / threshold)
    few = []
    for seed in range(runs):
        run = Adaptive(LEVELS[::2], prior=PRIOR, stop_trials=1600 // times, seed=seed)
        simulate(run, generator, *truth)
        few.append(np.log10(run.estimate().quantile(0.5).threshold / threshold))
    assert np.std(few, ddof=1) < np.std(many, ddof=1)
    assert np.abs(np.mean(few)) < 0.03


@pytest.mark.parametrize(
    "wrong",
    [
        {"stop_trials": 0},
        {"stop_width": 0.0},
        {"guess": 1.0},
        {"levels": [[0.1, 0.2]]},
        {"levels": [-0.1, 0.2]},
    ],
)
def test_mistakes_are_told(wrong: dict[str, object]) -> None:
    with pytest.raises(FechnerError):
        Adaptive(**{"levels": [0.1, 0.2], **wrong})


def test_an_answer_must_be_one() -> None:
    run = Adaptive(LEVELS)
    with pytest.raises(FechnerError, match="between 0"):
        run.update(3, 2)
    assert run.trials == 0
    assert _table.cache_info().currsize <= 8

"""Asking: every question once, answers in their place, what is known not asked again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from asking import Simulated, weibull

from fechner.errors import BudgetError, ObserverError
from fechner.experiments import Presenter, Scene, interview
from fechner.experiments.interview import Request
from fechner.experiments.presenter import Trace
from fechner.observers import Answer, Prompt, Question
from fechner.stimuli import OPPONENT, Field, Frames, Layer, OctaveNoise, Stimulus, display

SCENE = Scene(Field(64, 64, 64.0), display("verbal"), OPPONENT)
PROMPTS = [Prompt("Is there a pattern?"), Prompt("A pattern, is there?")]


def stimulus(contrast: float, seed: int = 0) -> Stimulus:
    modulation = OPPONENT.modulation_xyz("ach", 40.0)
    layer = Layer(OctaveNoise(4.0, seed=seed), modulation, contrast)
    return Stimulus(OPPONENT.background_xyz(40.0), (layer,))


STIMULI = [stimulus(contrast, seed) for contrast in (0.0, 0.01, 0.2, 0.3) for seed in range(3)]
REQUESTS = [Request((each,), prompt) for prompt in PROMPTS for each in STIMULI]


class Remembers:
    """A log in memory."""

    def __init__(self, most: int = 10**9) -> None:
        self.answers: dict[str, Answer] = {}
        self.most = most

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        return {key: self.answers[key] for key in keys if key in self.answers}

    def allow(self, questions: int) -> int:
        if len(self.answers) >= self.most:
            raise BudgetError("enough.")
        return min(questions, self.most - len(self.answers))

    def record(self, key: str, question: Question, answer: Answer, trace: Trace) -> None:
        assert key not in self.answers
        self.answers[key] = answer


def step() -> Simulated:
    return Simulated(weibull(0.1, 50.0))


def ask(observer: Simulated, log: Remembers | None = None, batch_size: int = 4) -> np.ndarray:
    presenter = Presenter(observer, batch_size=batch_size, log=log)
    return interview.ask(presenter, REQUESTS, SCENE).yes


def test_answers_are_in_their_place() -> None:
    expected = [float(s.layers[0].contrast > 0.1) for s in STIMULI] * 2
    assert ask(step())[:, 0, 0].tolist() == expected


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_batches_change_nothing(batch_size: int) -> None:
    observer = Simulated(weibull(0.1, 1.0))
    assert np.array_equal(ask(observer), ask(Simulated(weibull(0.1, 1.0)), batch_size=batch_size))


def test_what_is_known_is_not_asked_again() -> None:
    log = Remembers()
    first = step()
    answers = ask(first, log)
    assert len(first.asked) == len(log.answers) == len(REQUESTS) - 4  # nothing is one picture
    again = step()
    assert np.array_equal(ask(again, log), answers)
    assert again.asked == []


def test_the_same_picture_asked_again_is_another_trial() -> None:
    log = Remembers()
    requests = [Request((STIMULI[0],), PROMPTS[0], repeat) for repeat in range(5)]
    interview.ask(Presenter(step(), batch_size=4, log=log), requests, SCENE)
    assert len(log.answers) == 5


@pytest.mark.parametrize(
    "changed",
    [
        {"fingerprint": "another model"},
        {"prompt": Prompt("Is there a motif?")},
        {"options": Prompt(PROMPTS[0].text, ("no", "yes"))},
        {"stimulus": stimulus(0.2001)},
    ],
)
def test_keys_depend_on_everything(changed: dict) -> None:
    log = Remembers()
    observer = step()
    request = Request((stimulus(0.2),), PROMPTS[0])
    interview.ask(Presenter(observer, batch_size=1, log=log), [request], SCENE)
    observer.fingerprint = changed.get("fingerprint", observer.fingerprint)
    prompt = changed.get("prompt", changed.get("options", PROMPTS[0]))
    shown = changed.get("stimulus", stimulus(0.2))
    interview.ask(Presenter(observer, batch_size=1, log=log), [Request((shown,), prompt)], SCENE)
    assert len(log.answers) == 2


def test_a_budget_stops_in_the_middle_of_a_batch_and_goes_on() -> None:
    log = Remembers(most=5)
    with pytest.raises(BudgetError):
        ask(step(), log)
    assert len(log.answers) == 5
    log.most = 10**9
    assert np.array_equal(ask(step(), log), ask(step()))


def test_nothing_is_kept_of_bare_objects() -> None:
    log = Remembers()
    observer = step()
    observer.fingerprint = None
    ask(observer, log)
    assert log.answers == {}


def test_labels_go_to_those_who_read_labels() -> None:
    labels = [Prompt("", ("pattern", "flat")), Prompt("", ("motif", "plain"))]
    for reads, expected in (("questions", PROMPTS), ("labels", labels), ("nothing", PROMPTS[:1])):
        observer = Simulated(weibull(0.1, 1.0), reads=reads)
        assert interview.prompts_for(Presenter(observer, batch_size=1), PROMPTS, labels) == expected


def test_graded_answers_have_a_readout_of_their_own() -> None:
    found = ask(Simulated(weibull(0.2, 2.0), graded=True))
    assert found.shape == (len(REQUESTS), 1, 2)
    assert found[6:9, 0, 1] == pytest.approx([0.5] * 3, abs=1e-6)
    assert set(found[:, 0, 0]) <= {0.0, 1.0}


class Silent(Simulated):
    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        yield from list(super().choose(frames, questions))[:-1]


def test_unanswered_questions_are_counted() -> None:
    with pytest.raises(ObserverError, match="left 1 of 8 questions unanswered"):
        ask(Silent(weibull(0.1, 1.0)))


def test_few_bits_are_hashed_as_whole_numbers() -> None:
    """The same file has the same key, however its pixels were computed."""
    eight = replace(SCENE, display=replace(SCENE.display, bits=8))
    log = Remembers()
    for scene in (eight, eight):
        interview.ask(
            Presenter(step(), batch_size=1, log=log), [Request((stimulus(0.2),), PROMPTS[0])], scene
        )
    assert len(log.answers) == 1

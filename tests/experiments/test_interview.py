"""Asking: no question twice, and the same results however many questions are under way."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from asking import Simulated, weibull

from fechner.errors import BudgetError, ObserverError, UnansweredError
from fechner.experiments import AdaptiveLevels, Asking, EveryLevel, Presenter, Scene, interview
from fechner.experiments.asking import prompts_for
from fechner.experiments.interview import Conversation, Request
from fechner.experiments.presenter import Trace
from fechner.observers import Answer, Prompt, Question
from fechner.stimuli import OPPONENT, Field, Frames, Layer, OctaveNoise, Stimulus, display
from fechner.suites import suite

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
        assert prompts_for(Presenter(observer, batch_size=1), PROMPTS, labels) == expected


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


More = Callable[[], tuple[Frames, Question] | None]


class Streams(Simulated):
    """Has up to ``at_once`` questions under way, and answers any of them next."""

    def __init__(self, at_once: int, seed: int = 0, **settings) -> None:
        super().__init__(weibull(0.1, 3.0), bits=8, **settings)
        self.most_under_way = at_once
        self.most = 0
        self._order = random.Random(seed)

    def stream(self, more: More) -> Iterator[Answer]:
        under_way: list[tuple[int, tuple[Frames, Question]]] = []
        number = 0
        while True:
            while len(under_way) < self.most_under_way and (asked := more()) is not None:
                under_way.append((number, asked))
                number += 1
            self.most = max(self.most, len(under_way))
            if not under_way:
                return
            place, (frames, question) = under_way.pop(self.chosen(under_way))
            (answer,) = self.choose(frames, [question])
            yield replace(answer, question=place)

    def chosen(self, under_way: list) -> int:
        return self._order.randrange(len(under_way))


def experiment(adaptive: bool = True, trials: int = 6, test: str = "detection") -> Asking:
    tests = suite("verbal").build(prompts=(Prompt("Pattern?"), Prompt("Anything?")))
    found = next(each.experiment for each in tests if each.id == test)
    contrasts = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
    guess = 0.5 if test == "detection-2afc" else None
    placement = (
        AdaptiveLevels(contrasts, trials, blanks=1, guess=guess)
        if adaptive
        else EveryLevel(contrasts, 2)
    )
    scene = replace(found.scene, field=Field(32, 32, 64.0))
    return replace(found, placement=placement, scene=scene)


def results(observer: Simulated, asking: Asking, log: Remembers | None = None) -> list:
    """Measure three pieces at once."""
    conversation = Conversation(observer)
    for number, piece in enumerate(asking.pieces()[3:6]):
        presenter = Presenter(observer, batch_size=4, log=log or Remembers())
        conversation.begin(number, presenter, asking.interview(piece, presenter))
    found: dict = {}
    while len(conversation):
        found |= dict(conversation.finished())
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("test", ["detection", "detection-2afc"])
@pytest.mark.parametrize("adaptive", [True, False])
def test_the_order_of_answers_changes_nothing(adaptive: bool, test: str) -> None:
    asking = experiment(adaptive, test=test)
    one = results(Streams(1), asking)
    many = Streams(16, seed=3)
    for data, expected in zip(results(many, asking), one, strict=True):
        assert data.identical(expected)
    assert many.most == (3 * one[0].sizes["prompt"] if adaptive else 16)  # every chain of a piece
    # And those that take batches are asked the same.
    batches = Simulated(weibull(0.1, 3.0), bits=8)
    alone = asking.measure(asking.pieces()[3], Presenter(batches, batch_size=4))
    assert alone.identical(one[0])


class Stubborn(Streams):
    """Answers what it was asked first only when nothing else is left."""

    def chosen(self, under_way: list) -> int:
        return len(under_way) - 1


def test_a_chain_waits_for_its_own_answers_only() -> None:
    """The first question stays open while all other chains come to their ends."""
    observer, asking = Stubborn(16), experiment()
    conversation = Conversation(observer)
    for number, piece in enumerate(asking.pieces()[3:6]):
        presenter = Presenter(observer, batch_size=4)
        conversation.begin(number, presenter, asking.interview(piece, presenter))
    order = []
    while len(conversation):
        order += [number for number, _ in conversation.finished()]
    assert order == [2, 1, 0]


def test_no_question_is_asked_twice() -> None:
    log = Remembers()  # which refuses a key that it has
    observer = Streams(16)
    results(observer, experiment(adaptive=False), log)
    assert len(observer.asked) == len(log.answers)
    again = Streams(16)
    results(again, experiment(adaptive=False), log)
    assert again.asked == []


@pytest.mark.parametrize("at_once", [1, 5, 16])
def test_a_budget_holds_exactly_whatever_is_under_way(at_once: int) -> None:
    log = Remembers(most=17)
    observer = Streams(at_once)
    with pytest.raises(BudgetError):
        results(observer, experiment(), log)
    assert len(observer.asked) == len(log.answers) == 17
    log.most = 10**9
    whole = results(Streams(at_once), experiment())
    for data, expected in zip(results(Streams(at_once), experiment(), log), whole, strict=True):
        assert data.identical(expected)


class Dies(Streams):
    def stream(self, more: More) -> Iterator[Answer]:
        for number, answer in enumerate(super().stream(more)):
            if number == 20:
                raise UnansweredError("gone.")
            yield answer


def test_a_server_that_dies_leaves_what_it_answered() -> None:
    log = Remembers()
    found = results(Dies(16), experiment(), log)
    assert all(isinstance(each, UnansweredError) for each in found)
    assert len(log.answers) == 20
    data = results(Streams(16), experiment(), log)
    assert all(
        mine.identical(whole)
        for mine, whole in zip(data, results(Streams(1), experiment()), strict=True)
    )


class Forgets(Streams):
    def stream(self, more: More) -> Iterator[Answer]:
        more()
        yield from super().stream(lambda: None)


def test_questions_that_are_dropped_are_counted() -> None:
    found = results(Forgets(4), experiment())
    assert all(isinstance(each, ObserverError) for each in found)


def test_what_goes_wrong_in_one_piece_does_not_stop_the_others() -> None:
    asking, observer = experiment(), Streams(8)
    conversation = Conversation(observer)
    for number, piece in enumerate(asking.pieces()[3:6]):
        presenter = Presenter(observer, batch_size=4)
        interview = asking.interview(piece, presenter)
        if number == 1:

            def broken(*_: object) -> float:
                raise ValueError("cannot be painted")

            interview = replace(interview, look=broken)
        conversation.begin(number, presenter, interview)
    found: dict = {}
    while len(conversation):
        found |= dict(conversation.finished())
    assert isinstance(found[1], ValueError)
    assert np.isfinite(found[0]["yes"]).all()
    assert found[2].sizes["prompt"] == 2

"""Many questions under way: the same results as one at a time, and no chain waits for another."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from asking import Simulated, weibull
from experiments.test_interview import Remembers

from fechner.errors import BudgetError, ObserverError, UnansweredError
from fechner.experiments import AdaptiveLevels, Asking, EveryLevel, Presenter
from fechner.experiments.conversation import Conversation
from fechner.observers import Answer, Prompt, Question
from fechner.stimuli import Field, Frames
from fechner.suites import suite

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

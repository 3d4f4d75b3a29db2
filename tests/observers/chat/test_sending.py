"""Sending: nothing lost or doubled, patience with limits, and time that tests need not wait for."""

import threading
from collections import Counter
from typing import Any

import pytest
from observers.chat.server import FastClock

from fechner.errors import ObserverError
from fechner.observers.chat import sending
from fechner.observers.chat.sending import RequestError, Sender


def sender(**settings: Any) -> Sender:
    return Sender(clock=FastClock(), **settings)


class Unsteady:
    """Fails as often as a plan says before it replies with the question."""

    def __init__(self, failures: dict[int, list[RequestError]]) -> None:
        self.failures = failures
        self.asked: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __call__(self, question: int) -> int:
        with self._lock:
            self.asked[question] += 1
            plan = self.failures.get(question)
            trouble = plan.pop(0) if plan else None
        if trouble:
            raise trouble
        return question


def test_every_question_is_answered_once() -> None:
    ask = Unsteady({})
    assert sorted(sender().replies(50, ask)) == list(range(50))
    assert set(ask.asked.values()) == {1}


def test_no_questions() -> None:
    assert list(sender().replies(0, Unsteady({}))) == []


def test_what_fails_is_asked_again() -> None:
    ask = Unsteady({3: [RequestError("busy")] * 4, 7: [RequestError("lost")]})
    assert sorted(sender(tries=5).replies(10, ask)) == list(range(10))
    assert ask.asked == Counter(range(10)) + Counter({3: 4, 7: 1})


def test_what_is_given_up_is_said_after_all_others() -> None:
    ask = Unsteady({3: [RequestError("busy")] * 9, 4: [RequestError("lost")] * 9})
    found = []
    with pytest.raises(ObserverError) as caught:
        found.extend(sender(tries=3).replies(20, ask))
    # What is extended by a failing iterator keeps what came before.
    assert sorted(found) == [each for each in range(20) if each not in (3, 4)]
    assert str(caught.value) == "2 of 20 questions were not answered: busy; lost."
    assert (ask.asked[3], ask.asked[4]) == (3, 3)


def test_answers_come_as_soon_as_they_are_there() -> None:
    handed_on = threading.Event()

    def ask(question: int) -> int:
        if question == 0:
            assert handed_on.wait(20)
        return question

    replies = Sender().replies(2, ask)
    assert next(replies) == 1
    handed_on.set()
    assert next(replies) == 0


def test_pauses_double_vary_and_have_an_end() -> None:
    clock = FastClock()
    ask = Unsteady({0: [RequestError("busy")] * 9})
    assert list(Sender(clock=clock, tries=10).replies(1, ask)) == [0]
    assert len(clock.pauses) == 9
    longest = [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert all(most / 2 <= pause <= most for pause, most in zip(clock.pauses, longest, strict=True))
    again = FastClock()
    list(Sender(clock=again, tries=10).replies(1, Unsteady({0: [RequestError("busy")] * 9})))
    assert again.pauses == clock.pauses  # seeded
    other = FastClock()
    list(Sender(clock=other, seed=1, tries=10).replies(1, Unsteady({0: [RequestError("b")] * 9})))
    assert other.pauses != clock.pauses


def test_a_server_is_not_asked_before_it_wants_to_be() -> None:
    clock = FastClock()
    when: list[float] = []

    def ask(question: int) -> int:
        when.append(clock.now())
        if len(when) == 1:
            raise RequestError("busy", wait_s=77.0, crowded=True)
        return question

    assert sorted(Sender(clock=clock, at_once=1).replies(3, ask)) == [0, 1, 2]
    assert when[0] < 1
    assert all(77 <= moment < 78 for moment in when[1:])  # all of them wait, not the one


def test_a_server_that_asks_for_too_long_a_pause_ends_it() -> None:
    ask = Unsteady({0: [RequestError("no more today", wait_s=7200)]})
    found = []
    with pytest.raises(ObserverError, match=r"no more today, and the server asks to wait 7200 s"):
        found.extend(sender(at_once=1).replies(100, ask))
    assert found == []
    assert sum(ask.asked.values()) == 1


def test_a_dead_server_is_left_alone() -> None:
    clock = FastClock()
    ask = Unsteady({each: [RequestError("dead", crowded=True)] * 99 for each in range(2, 1000)})
    found = []
    with pytest.raises(ObserverError, match=r"998 of 1000 .* dead \(1\d times in a row\)"):
        found.extend(Sender(clock=clock).replies(1000, ask))
    assert sorted(found) == [0, 1]
    assert sum(ask.asked.values()) <= 2 + sending._GONE + 8
    # Not in a moment either: it may be starting anew.
    assert clock.seconds > 60


def test_a_server_that_was_never_there_is_soon_given_up() -> None:
    clock = FastClock()
    dead = [RequestError("nobody there", crowded=True, unreached=True)] * 99
    with pytest.raises(
        ObserverError, match=r"1000 of 1000 .* nobody there \([45] times in a row\)"
    ):
        list(Sender(clock=clock).replies(1000, Unsteady(dict.fromkeys(range(1000), dead[:]))))
    assert clock.seconds < 30


def test_some_failures_end_everything_at_once() -> None:
    ask = Unsteady({5: [RequestError("wrong key", "nothing")]})
    found = []
    with pytest.raises(ObserverError, match=r"\d+ of 1000 .* wrong key\.$"):
        found.extend(sender().replies(1000, ask))
    assert set(range(4)) <= set(found)
    assert sum(ask.asked.values()) < 20
    assert max(ask.asked.values()) == 1


def test_a_question_that_cannot_be_answered_does_not_end_the_others() -> None:
    ask = Unsteady({5: [RequestError("too large", "question")] * 9})
    found = []
    with pytest.raises(ObserverError, match="1 of 30 questions were not answered: too large"):
        found.extend(sender().replies(30, ask))
    assert len(found) == 29
    assert ask.asked[5] == 1
    ask = Unsteady({each: [RequestError("too large", "question")] for each in range(1000)})
    with pytest.raises(ObserverError, match=r"too large \(\d times in a row\)"):
        list(sender().replies(1000, ask))


class Crowd:
    """Counts how many are there at once; refuses those that are too many."""

    def __init__(self, bears: int) -> None:
        self.bears = bears
        self.there = self.most = self.refused = 0
        self._lock = threading.Lock()

    def __call__(self, question: int) -> int:
        with self._lock:
            self.there += 1
            self.most = max(self.most, self.there)
            too_many = self.there > self.bears
            self.refused += too_many
        threading.Event().wait(0.002)  # so that there is a crowd
        with self._lock:
            self.there -= 1
        if too_many:
            raise RequestError("too many", crowded=True)
        return question


@pytest.mark.parametrize("at_once", [1, 3, 8])
def test_no_more_at_once_than_allowed(at_once: int) -> None:
    ask = Crowd(bears=99)
    eager = sender(at_once=at_once)
    assert len(list(eager.replies(120, ask))) == 120
    assert ask.most <= at_once
    assert int(eager.window) == at_once  # after it started with 2


def test_fewer_at_once_where_the_server_bears_no_more() -> None:
    ask = Crowd(bears=3)
    eager = sender(at_once=64, tries=30)
    assert len(list(eager.replies(200, ask))) == 200
    assert ask.refused < 100
    assert ask.most < 16


def test_the_window_halves_once_for_all_that_were_sent_together() -> None:
    eager = sender(at_once=8, window=8.0)
    crowded = {i: [RequestError("busy", crowded=True)] for i in range(8)}
    gate = threading.Barrier(8)
    ask = Unsteady(crowded)

    def together(question: int) -> int:
        if ask.asked[question] == 0:
            gate.wait(20)
        return ask(question)

    windows = []
    for _ in eager.replies(8, together):
        windows.append(eager.window)
    assert windows[0] == pytest.approx(4 + 1 / 4)


def test_no_more_in_a_minute_than_allowed() -> None:
    clock = FastClock()
    when: list[float] = []

    def ask(question: int) -> int:
        when.append(clock.now())
        return question

    assert len(list(Sender(clock=clock, per_minute=30, at_once=8).replies(20, ask))) == 20
    assert when[-1] - when[0] >= 19 * 2.0 - 0.1


def test_errors_in_our_own_code_are_not_hidden() -> None:
    def ask(question: int) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(sender().replies(3, ask))


def test_an_interrupted_run_leaves_no_thread_that_keeps_the_process() -> None:
    release = threading.Event()

    def ask(question: int) -> int:
        if question:
            release.wait(20)
        return question

    replies = Sender().replies(3, ask)
    assert next(replies) == 0
    replies.close()
    carriers = [each for each in threading.enumerate() if each.name == sending._CARRIER]
    assert carriers
    assert all(each.daemon for each in carriers)
    release.set()

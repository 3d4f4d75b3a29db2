"""Many requests: nothing lost or doubled, patience with limits, no more than a server bears."""

import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from fechner.errors import ObserverError
from fechner.observers.chat import requests
from fechner.observers.chat.requests import RequestError, RequestPool


def replies(pool: RequestPool, n: int, ask: Callable[[int], int]) -> Iterator[int]:
    """Ask n questions, each until it has an answer."""
    tasks = iter([partial(pool.retry, lambda last, i=i: ask(i)) for i in range(n)])
    return pool.stream(lambda: next(tasks, None), n)


def refused(pool: RequestPool, n: int, ask: Callable[[int], int], why: str) -> list[int]:
    """Ask n questions, some of which fail for good; return the answers to the others."""
    found: list[int] = []
    with pytest.raises(ObserverError, match=why):
        found.extend(replies(pool, n, ask))
    return found


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
            failure = plan.pop(0) if plan else None
        if failure:
            raise failure
        return question


def test_every_question_is_answered_once() -> None:
    ask = Unsteady({})
    assert sorted(replies(RequestPool(), 50, ask)) == list(range(50))
    assert set(ask.asked.values()) == {1}
    assert list(replies(RequestPool(), 0, ask)) == []


def test_what_fails_is_asked_again() -> None:
    ask = Unsteady({3: [RequestError("busy")] * 4, 7: [RequestError("lost")]})
    assert sorted(replies(RequestPool(tries=5), 10, ask)) == list(range(10))
    assert ask.asked == Counter(range(10)) + Counter({3: 4, 7: 1})


def test_what_is_given_up_is_said_after_all_others() -> None:
    ask = Unsteady({3: [RequestError("busy")] * 9, 4: [RequestError("lost")] * 9})
    why = r"^2 of 20 questions were not answered: (busy; lost|lost; busy)\.$"
    found = refused(RequestPool(tries=3), 20, ask, why)
    assert sorted(found) == [each for each in range(20) if each not in (3, 4)]
    assert (ask.asked[3], ask.asked[4]) == (3, 3)


def test_a_request_is_told_when_it_is_the_last() -> None:
    told: list[bool] = []

    def request(last: bool) -> int:
        told.append(last)
        raise RequestError("busy")

    with pytest.raises(RequestError):
        RequestPool(tries=3).retry(request)
    assert told == [False, False, True]


def test_answers_come_as_soon_as_they_are_there() -> None:
    handed_on = threading.Event()

    def ask(question: int) -> int:
        if question == 0:
            assert handed_on.wait(20)
        return question

    found = replies(RequestPool(), 2, ask)
    assert next(found) == 1
    handed_on.set()
    assert next(found) == 0


def test_pauses_double_vary_and_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pauses = [requests._back_off(times) for times in range(1, 10)]
    longest = [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert requests._back_off(9) != requests._back_off(9)


def test_a_server_is_not_asked_before_it_wants_to_be() -> None:
    when: list[float] = []

    def ask(question: int) -> int:
        when.append(time.monotonic())
        if len(when) == 1:
            raise RequestError("busy", wait_s=0.3)
        return question

    assert sorted(replies(RequestPool(at_once=2), 3, ask)) == [0, 1, 2]
    # All of them wait, not the one; another may have been under way.
    assert sum(moment - when[0] >= 0.3 for moment in when[1:]) >= 2


def test_a_server_that_asks_for_too_long_a_pause_ends_it() -> None:
    ask = Unsteady({0: [RequestError("no more today", wait_s=7200)]})
    pool = RequestPool(at_once=1)
    pool.window = 1.0
    assert refused(pool, 100, ask, "no more today, and the server asks to wait 7200 s") == []
    assert sum(ask.asked.values()) == 1


def test_a_dead_server_is_left_alone() -> None:
    ask = Unsteady({each: [RequestError("dead")] * 99 for each in range(2, 1000)})
    started = time.monotonic()
    found = refused(RequestPool(), 1000, ask, r"998 of 1000 .* \d+ requests in a row failed: dead")
    assert sorted(found) == [0, 1]
    assert sum(ask.asked.values()) < 100
    # Not in a moment either: it may be starting anew.
    assert time.monotonic() - started > requests._GONE_S


def test_a_server_that_was_never_there_is_soon_given_up() -> None:
    dead = [RequestError("nobody there", unreached=True)] * 99
    ask = Unsteady(dict.fromkeys(range(1000), dead))
    refused(RequestPool(), 1000, ask, r"1000 of 1000 .* 4 requests in a row failed: nobody there")


def test_some_failures_end_everything_at_once() -> None:
    ask = Unsteady({5: [RequestError("wrong key", fatal=True)]})
    found = refused(RequestPool(), 1000, ask, r"\d+ of 1000 .* wrong key\.$")
    assert set(range(4)) <= set(found)
    assert sum(ask.asked.values()) < 20
    assert max(ask.asked.values()) == 1
    with pytest.raises(ObserverError, match=r"^wrong key\.$"):
        RequestPool().call(partial(Unsteady({5: [RequestError("wrong key", fatal=True)]}), 5))


def test_a_question_that_cannot_be_answered_does_not_end_the_others() -> None:
    ask = Unsteady({5: [RequestError("too large", retry=False)] * 9})
    found = refused(RequestPool(), 30, ask, "1 of 30 questions were not answered: too large")
    assert len(found) == 29
    assert ask.asked[5] == 1
    ask = Unsteady({each: [RequestError("too large", retry=False)] for each in range(1000)})
    refused(RequestPool(), 1000, ask, r"3 requests in a row failed: too large")


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
            raise RequestError("too many")
        return question


@pytest.mark.parametrize("at_once", [1, 8])
def test_no_more_at_once_than_allowed(at_once: int) -> None:
    ask = Crowd(bears=99)
    pool = RequestPool(at_once=at_once)
    assert len(list(replies(pool, 120, ask))) == 120
    assert ask.most <= at_once
    assert int(pool.window) == at_once


def test_fewer_at_once_where_the_server_bears_no_more() -> None:
    ask = Crowd(bears=3)
    assert len(list(replies(RequestPool(at_once=64, tries=30), 200, ask))) == 200
    assert ask.refused < 100
    assert ask.most < 16


def test_the_window_halves_once_for_all_that_were_sent_together() -> None:
    pool = RequestPool()
    pool.window = 8.0
    gate = threading.Barrier(8)
    ask = Unsteady({i: [RequestError("busy")] for i in range(8)})

    def together(question: int) -> int:
        if ask.asked[question] == 0:
            gate.wait(20)
        return ask(question)

    found = replies(pool, 8, together)
    next(found)
    # More replies may be back by now, and each adds a little.
    assert 4 + 1 / 4 <= pool.window < 6


def test_no_more_in_a_minute_than_allowed() -> None:
    when: list[float] = []

    def ask(question: int) -> int:
        when.append(time.monotonic())
        return question

    assert len(list(replies(RequestPool(per_minute=60 / 0.02), 10, ask))) == 10
    assert max(when) - min(when) >= 9 * 0.02 - 1e-3


def test_errors_in_our_own_code_are_not_hidden() -> None:
    def ask(question: int) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(replies(RequestPool(), 3, ask))


def test_an_interrupted_run_leaves_no_thread_that_keeps_the_process_or_sends_more() -> None:
    release, sent = threading.Event(), Counter[int]()

    def ask(question: int) -> int:
        sent[question] += 1
        if question:
            release.wait(20)
            raise RequestError("busy")
        return question

    found = replies(RequestPool(), 3, ask)
    assert next(found) == 0
    found.close()
    threads = [each for each in threading.enumerate() if each.name == requests._THREAD]
    assert threads
    assert all(each.daemon for each in threads)
    release.set()
    for each in threads:
        each.join(20)
    assert max(sent.values()) == 1


def test_streams_of_one_pool_do_not_end_each_other() -> None:
    pool = RequestPool()
    outer = replies(pool, 20, Unsteady({}))
    found = [next(outer)]
    assert len(list(replies(pool, 5, Unsteady({})))) == 5
    left = replies(pool, 5, Unsteady({}))
    next(left)
    found.append(next(outer))
    left.close()
    assert sorted([*found, *outer]) == list(range(20))


def test_a_pool_travels() -> None:
    pool: Any = pickle.loads(pickle.dumps(RequestPool(3, 4, 5.0)))
    assert (pool.tries, pool.at_once, pool.per_minute) == (3, 4, 5.0)

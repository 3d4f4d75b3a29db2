"""Sending many requests: as many at once as the server bears, again where that can help.

The one who waits for answers also decides what is sent next; threads only carry one request each.
So an interruption stops at once whatever is still under way, and nothing outlives the process.
"""

from __future__ import annotations

import heapq
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Literal, Protocol, TypeVar

from fechner.errors import UnansweredError

Reply = TypeVar("Reply")

#: What a failure means for what follows: it can be tried ``again``; this ``question`` cannot be
#: answered; ``nothing`` can.
Meaning = Literal["again", "question", "nothing"]

#: Pauses double from the first to the longest; a server that asks for a longer one ends the run.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _LONGEST_ASKED_PAUSE_S = 0.5, 30.0, 300.0
#: Name of the threads that carry requests.
_CARRIER = "fechner-request"
#: Requests at once, to begin with.
_FIRST_WINDOW = 2.0
#: Failures in a row after which a server counts as gone: one that was never reached, one that
#: refuses question after question, any other.
_NEVER_REACHED, _REFUSES, _GONE = 4, 3, 12


class RequestError(Exception):
    """Why a request failed, in words for people that hold no secrets.

    Parameters
    ----------
    why
        Without a full stop.
    wait_s
        How long the server asked to wait.
    crowded
        Whether fewer requests at once may help.
    unreached
        Whether nobody was there at all.
    advice
        What to do about it, to be read after how often it happened.
    """

    def __init__(
        self,
        why: str,
        meaning: Meaning = "again",
        *,
        wait_s: float | None = None,
        crowded: bool = False,
        unreached: bool = False,
        advice: str = "",
    ) -> None:
        super().__init__(why)
        self.why = why
        self.meaning = meaning
        self.wait_s = wait_s
        self.crowded = crowded
        self.unreached = unreached
        self.advice = advice


Returned = tuple["_Task", "Reply | BaseException"]


class Clock(Protocol):
    """Time, and waiting; tests have one of their own."""

    def now(self) -> float:
        """Return seconds from any moment on."""
        ...

    def wait(
        self, returned: SimpleQueue[Returned[Reply]], seconds: float | None, under_way: int
    ) -> Returned[Reply] | None:
        """Return what comes back first, or None if nothing does for so long, or for a while."""
        ...


class _WallClock:
    def now(self) -> float:
        return time.monotonic()

    def wait(
        self, returned: SimpleQueue[Returned[Reply]], seconds: float | None, under_way: int
    ) -> Returned[Reply] | None:
        try:
            # Not for long: on Windows an interruption is only heard in between.
            return returned.get(timeout=min(1.0, math.inf if seconds is None else seconds))
        except Empty:
            return None


@dataclass(order=True)
class _Task:
    """A question on its way; those that may be sent first come first."""

    not_before: float
    question: int
    tries: int = 0
    sent: float = 0.0


@dataclass
class Sender:
    """Sends requests to one server, and remembers how many at once it bears.

    Parameters
    ----------
    tries
        How often a question is asked before it is given up.
    at_once
        The most requests under way.
    per_minute
        The most requests sent in a minute; 0 for no limit.
    """

    tries: int = 8
    at_once: int = 8
    per_minute: float = 0.0
    clock: Clock = field(default_factory=_WallClock)
    seed: int = 0
    window: float = _FIRST_WINDOW
    _reached: bool = False
    _failures: int = 0
    _next_launch: float = 0.0
    _cut: float = float("-inf")

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def replies(self, n: int, ask: Callable[[int], Reply]) -> Iterator[Reply]:
        """Ask n questions; yield replies in the order in which they come back.

        See `stream` for the parameters and errors.
        """
        numbers = iter(range(n))
        return self.stream(lambda: next(numbers, None), ask, n)

    def stream(
        self, more: Callable[[], int | None], ask: Callable[[int], Reply], n: int | None = None
    ) -> Iterator[Reply]:
        """Ask as long as there is more to ask; yield replies in the order in which they come back.

        Parameters
        ----------
        more
            Returns the number of the next question; None if there is none before another reply is
            taken, or none at all. It is called whenever a request can be sent.
        ask
            Called in a thread with a question's number; returns the reply or raises `RequestError`.
        n
            How many questions there are, where that is known.

        Raises
        ------
        UnansweredError
            If some were not answered, after all others were yielded.
        """
        waiting: list[_Task] = []
        returned: SimpleQueue[Returned[Reply]] = SimpleQueue()
        carry = partial(_carry, ask, returned)
        begun = under_way = answered = 0
        none_for_now = False  # new questions may follow from a reply only
        given_up: Counter[str] = Counter()
        advice: dict[str, None] = {}
        over: str | None = None
        while True:
            while over is None and under_way < self._most() and self._next_launch <= self._now():
                if waiting and waiting[0].not_before <= self._now():
                    task = heapq.heappop(waiting)
                elif none_for_now or (number := more()) is None:
                    none_for_now = True
                    break
                else:
                    task = _Task(float("-inf"), number)
                    begun += 1
                self._send(task, carry)
                under_way += 1
            if not under_way and (over is not None or (none_for_now and not waiting)):
                break
            pause = None
            if over is None and under_way < self._most():
                pause = self._pause(waiting, none_for_now)
            back = self.clock.wait(returned, pause, under_way)
            if back is None:
                continue
            under_way -= 1
            task, outcome = back
            if not isinstance(outcome, BaseException):
                self._succeeded()
                answered += 1
                yield outcome
                none_for_now = False
                continue
            if not isinstance(outcome, RequestError):
                raise outcome
            over = self._failed(task, outcome, under_way) or over
            advice |= {outcome.advice: None} if outcome.advice else {}
            if outcome.meaning == "again" and task.tries < self.tries:
                heapq.heappush(waiting, task)
            else:
                given_up[outcome.why] += 1
        asked = begun if n is None else n
        if answered < asked:
            why = over or "; ".join(_times(*each) for each in given_up.most_common(3))
            said = "; ".join([why, *advice])
            raise UnansweredError(
                f"{asked - answered} of {asked} questions were not answered: {said}."
            )

    def _now(self) -> float:
        return self.clock.now()

    def _send(self, task: _Task, carry: Callable[[_Task], None]) -> None:
        task.tries += 1
        task.sent = self._now()
        if self.per_minute:
            self._next_launch = task.sent + 60 / self.per_minute
        threading.Thread(target=carry, args=(task,), name=_CARRIER, daemon=True).start()

    def _pause(self, waiting: list[_Task], none_for_now: bool) -> float | None:
        """Return how long nothing can be sent, None if not before something comes back."""
        if none_for_now and not waiting:
            return None
        again = waiting[0].not_before if none_for_now else float("-inf")
        return max(0.0, max(again, self._next_launch) - self._now())

    def _most(self) -> int:
        return max(1, min(int(self.window), self.at_once))

    def _succeeded(self) -> None:
        self._reached = True
        self._failures = 0
        # Twice as many at once after every round of answers; one more once it was too many.
        growth = 1 / self.window if self._cut > float("-inf") else 1.0
        self.window = min(self.window + growth, float(self.at_once))

    def _failed(self, task: _Task, trouble: RequestError, under_way: int) -> str | None:
        """Slow down; return why to stop, if there is reason to."""
        now = self._now()
        self._failures += 1
        if trouble.meaning == "nothing":
            return trouble.why
        if (trouble.wait_s or 0) > _LONGEST_ASKED_PAUSE_S:
            return f"{trouble.why}, and the server asks to wait {trouble.wait_s:.0f} s"
        if trouble.crowded and task.sent > self._cut:
            # Once for all that were sent together.
            self.window = max(1.0, self.window / 2)
            self._cut = now
        task.not_before = now + max(self._back_off(task.tries), trouble.wait_s or 0.0)
        alone = self._failures - under_way - 1
        hold = max(trouble.wait_s or 0.0, self._back_off(alone) if alone > 0 else 0.0)
        self._next_launch = max(self._next_launch, now + hold)
        never = trouble.unreached and not self._reached
        patience = _NEVER_REACHED if never else _GONE
        if trouble.meaning == "question":
            patience = _REFUSES
        if self._failures >= patience:
            return f"{trouble.why} ({self._failures} times in a row)"
        return None

    def _back_off(self, times: int) -> float:
        """Return a pause that doubles each time, and is never the same for two of them."""
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** (times - 1))
        return longest * (0.5 + 0.5 * self._chance.random())


def _carry(
    ask: Callable[[int], Reply], returned: SimpleQueue[Returned[Reply]], task: _Task
) -> None:
    """Ask one question and hand back what becomes of it."""
    try:
        returned.put((task, ask(task.question)))
    except BaseException as error:
        returned.put((task, error))


def _times(why: str, times: int) -> str:
    return f"{why} ({times} times)" if times > 1 else why

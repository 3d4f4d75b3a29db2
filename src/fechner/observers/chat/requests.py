"""Many requests to one server: how many at once, when to retry, when to stop.

Requests run in threads of their own; the one who waits for answers decides what is asked next. The
threads are daemons, which those of `concurrent.futures` are not, so that an interruption ends the
process at once. Retries are ours, not the client's: a server that asks everybody to wait is left
alone by all threads, also for longer than a minute, and replies without words are asked for again.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from fechner.errors import UnansweredError

#: Pauses double from the first to the longest; a server that asks for a longer one ends the run.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _LONGEST_ASKED_PAUSE_S = 0.5, 30.0, 300.0
#: Failures in a row after which a server counts as gone: one that was never reached, one that
#: refuses request after request, any other if nothing else came for as long.
_NEVER_REACHED, _REFUSES, _GONE, _GONE_S = 4, 3, 12, 60.0
#: Name of the threads, and what each knows of its own.
_THREAD, _THIS = "fechner-request", threading.local()

Reply = TypeVar("Reply")


class RequestError(Exception):
    """Why a request failed, in words for people that hold no secrets and have no full stop.

    The same request may succeed later (``retry``), or all others will fail as well (``fatal``); the
    server asked to wait, or nobody was there at all (``unreached``).
    """

    def __init__(
        self,
        why: str,
        *,
        retry: bool = True,
        fatal: bool = False,
        wait_s: float = 0.0,
        unreached: bool = False,
    ) -> None:
        super().__init__(why)
        self.retry = retry and not fatal
        self.fatal = fatal
        self.wait_s = wait_s
        self.unreached = unreached


class _Stop(threading.Event):
    """Ends the requests of one stream; says why, if it was not for an interruption."""

    why = ""


class RequestPool:
    """Sends requests to one server: as many at once as it bears, again where that can help.

    A request is sent at most ``tries`` times; ``per_minute`` is 0 for no limit.
    """

    def __init__(self, tries: int = 8, at_once: int = 8, per_minute: float = 0.0) -> None:
        self.tries = tries
        self.at_once = at_once
        self.per_minute = per_minute
        #: Questions under way as long as the server bears them; grows to ``at_once``.
        self.window = min(2.0, float(at_once))
        self._slowed_at = float("-inf")
        self._next_launch = float("-inf")
        self._reached = False
        self._failures = 0
        self._failing_since = 0.0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return RequestPool, (self.tries, self.at_once, self.per_minute)

    def stream(
        self, more: Callable[[], Callable[[], Reply] | None], n: int | None = None
    ) -> Iterator[Reply]:
        """Run tasks in threads as long as there are more; yield results as they come.

        ``more`` returns the next task, which sends its requests by `retry`; None if there is none
        before another result is taken, or none at all. ``n`` is their number where that is known.
        Raises `UnansweredError` if some failed, after the results of all others were yielded.
        """
        stop = _Stop()
        returned: SimpleQueue[Reply | BaseException] = SimpleQueue()

        def run(task: Callable[[], Reply]) -> None:
            _THIS.stop = stop
            try:
                returned.put(task())
            except BaseException as error:
                returned.put(error)

        begun = under_way = answered = 0
        given_up: Counter[str] = Counter()
        try:
            while True:
                while (
                    not stop.is_set()
                    and under_way < max(1, int(self.window))
                    and (task := more()) is not None
                ):
                    threading.Thread(target=run, args=(task,), name=_THREAD, daemon=True).start()
                    begun += 1
                    under_way += 1
                if not under_way:
                    break
                try:  # in steps, for on Windows an interruption is noticed between them only
                    outcome = returned.get(timeout=1.0)
                except Empty:
                    continue
                under_way -= 1
                if isinstance(outcome, RequestError):
                    given_up[str(outcome)] += 1
                elif isinstance(outcome, BaseException):
                    raise outcome
                else:
                    answered += 1
                    yield outcome
        finally:
            stop.set()  # its threads send nothing more
        asked = begun if n is None else n
        if answered < asked:
            why = stop.why or reasons(given_up)
            raise UnansweredError(
                f"{asked - answered} of {asked} questions were not answered: {why}."
            )

    def call(self, request: Callable[[], Reply]) -> Reply:
        """Send one request from this thread, again where that can help."""
        stop = _Stop()
        try:
            return self.retry(lambda last: request(), stop)
        except RequestError as error:
            raise UnansweredError(f"{stop.why or error}.") from None

    def retry(self, request: Callable[[bool], Reply], stop: _Stop | None = None) -> Reply:
        """Send a request until it succeeds; it is told whether this is the last time."""
        stop = stop or getattr(_THIS, "stop", None) or _Stop()
        for attempt in itertools.count(1):
            sent = self._wait_for_turn(stop)
            try:
                reply = request(attempt == self.tries)
            except RequestError as error:
                self._failed(error, sent, stop)
                if not error.retry or attempt == self.tries:
                    raise
                _pause(max(error.wait_s, _back_off(attempt)), stop)
                continue
            with self._lock:
                self._reached, self._failures = True, 0
                # Twice as many at once after every round of replies; one more once it was too many.
                growth = 1 / self.window if self._slowed_at > float("-inf") else 1.0
                self.window = min(self.window + growth, float(self.at_once))
            return reply
        raise AssertionError

    def _wait_for_turn(self, stop: _Stop) -> float:
        """Wait until a request may be sent; return when that was."""
        while True:
            with self._lock:
                now = time.monotonic()
                if now >= self._next_launch and not stop.is_set():
                    if self.per_minute:
                        self._next_launch = now + 60 / self.per_minute
                    return now
                pause = self._next_launch - now
            _pause(pause, stop)

    def _failed(self, error: RequestError, sent: float, stop: _Stop) -> None:
        """Slow down, or stop if there is reason to."""
        with self._lock:
            now = time.monotonic()
            if not self._failures:
                self._failing_since = now
            self._failures += 1
            self._next_launch = max(self._next_launch, now + error.wait_s)
            if error.retry and sent > self._slowed_at:  # once for all that were sent together
                self.window = max(1.0, self.window / 2)
                self._slowed_at = now
            most, seconds = _GONE, _GONE_S
            if error.unreached and not self._reached:
                most, seconds = _NEVER_REACHED, 0.0
            elif not error.retry:
                most, seconds = _REFUSES, 0.0
            if error.fatal:
                why = str(error)
            elif error.wait_s > _LONGEST_ASKED_PAUSE_S:
                why = f"{error}, and the server asks to wait {error.wait_s:.0f} s"
            elif self._failures >= most and now - self._failing_since >= seconds:
                why = f"{self._failures} requests in a row failed: {error}"
            else:
                return
            if not stop.is_set():
                stop.why = why
                stop.set()


def _pause(seconds: float, stop: _Stop) -> None:
    if stop.wait(max(0.0, seconds)):
        raise RequestError(stop.why, fatal=True)


def _back_off(times: int) -> float:
    """Return a pause that doubles each time, and is never the same for two threads."""
    longest: float = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** (times - 1))
    return longest * random.uniform(0.5, 1.0)


def reasons(given_up: Counter[str]) -> str:
    """Say why requests were given up, and how often."""
    often = given_up.most_common(3)
    return "; ".join(f"{why} ({times} times)" if times > 1 else why for why, times in often)

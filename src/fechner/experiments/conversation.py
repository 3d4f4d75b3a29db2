"""Asking many chains of questions at once, of several pieces: each waits for its own answers only.

One thread does everything but wait for replies: it paints, looks answers up in the log, keeps those
that arrive, and decides what is asked next. What comes of a chain depends on its own answers alone,
so results do not depend on how many questions are under way, nor on the order of replies.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fechner.errors import BudgetError, InvalidRepliesError, ObserverError, RunFolderError
from fechner.experiments.interview import (
    Chain,
    Heard,
    Interview,
    Request,
    in_order,
    no_look,
    trace_of,
    trial_keys,
)
from fechner.experiments.presenter import Presenter, TrialLog
from fechner.observers.abilities import AnswersStream
from fechner.observers.questions import Answer, Question
from fechner.stimuli import Frames

#: Painted pictures that are remembered, for other questions about them.
_REMEMBERED = 64

#: What ends a whole run, not only an interview.
_ENDS_ALL = (BudgetError, RunFolderError)


@dataclass(eq=False)
class _Open:
    """An interview under way."""

    number: int
    presenter: Presenter
    interview: Interview
    waiting: Iterator[Chain]
    begun: int = 0
    going: int = 0
    over: bool = False


@dataclass(eq=False)
class _Going:
    """A chain under way: what it asks now, in which order, and what has come of it."""

    of: _Open
    number: int
    chain: Chain
    requests: Sequence[Request] = ()
    order: list[int] = field(default_factory=list)
    next: int = 0
    missing: int = 0
    heard: Heard | None = None
    rounds: int = 0

    def __lt__(self, other: _Going) -> bool:
        """Chains that are behind go first, so that none is left to go on alone at the end."""
        return (self.rounds, self.of.number, self.number) < (
            other.rounds,
            other.of.number,
            other.number,
        )


class _Shown(NamedTuple):
    frames: Frames
    contrast: float


class Conversation:
    """Interviews with an observer that takes many questions at a time."""

    def __init__(self, observer: AnswersStream) -> None:
        self._observer = observer
        self._chains = 2 * observer.most_under_way
        self._open: dict[int, _Open] = {}
        self._ready: list[_Going] = []
        self._done: list[tuple[int, Any]] = []
        self._stream: Iterator[Answer] | None = None
        self._shown: OrderedDict[tuple[Any, ...], _Shown] = OrderedDict()
        self._numbers: Iterator[int] = itertools.count()
        #: Questions under way by number: key, who asked first, and the question as it was sent.
        self._asked: dict[int, tuple[str, _Going, int, Question]] = {}
        #: Everybody who waits for an answer, by key.
        self._awaited: dict[str, list[tuple[_Going, int]]] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._done)

    def begin(self, number: int, presenter: Presenter, interview: Interview) -> None:
        """Add an interview; those of lower numbers go first."""
        self._open[number] = _Open(number, presenter, interview, iter(interview.chains))

    def finished(self) -> list[tuple[int, Any]]:
        """Wait until an interview is over; return results, or what went wrong, by number."""
        import torch

        with torch.no_grad():
            while self._open and not self._done:
                if self._stream is None:
                    self._numbers = itertools.count()
                    self._stream = self._observer.stream(self._more)
                try:
                    self._take(next(self._stream))
                except StopIteration:
                    self._stream = None
                    self._check_all_answered()
                except BaseException as error:
                    self._stream = None
                    self._forget()
                    if isinstance(error, _ENDS_ALL) or not isinstance(error, Exception):
                        raise
                    for each in list(self._open.values()):
                        self._end(each, error)
        done, self._done = self._done, []
        return sorted(done, key=lambda each: each[0])

    def _check_all_answered(self) -> None:
        if not self._asked:
            return
        error = ObserverError(
            f"observer '{self._observer.name}' left {len(self._asked)} questions unanswered."
        )
        self._forget()
        for each in list(self._open.values()):
            self._end(each, error)

    def _forget(self) -> None:
        self._asked.clear()
        self._awaited.clear()

    def _more(self) -> tuple[Frames, Question] | None:
        """Return the next question that has no answer yet, None if all wait for others."""
        while (going := self._next()) is not None:
            try:
                place = going.order[going.next]
                request, presenter = going.requests[place], going.of.presenter
                shown = self._paint(going.of, request)
                question = Question(
                    tuple(range(len(request.stimuli))), request.prompt, request.repeat
                )
                log = presenter.trial_log
                (key,) = trial_keys(presenter, shown.frames, [question], log)
                known = log.known([key]).get(key) if key not in self._awaited else None
                new = known is None and key not in self._awaited
                if new and not self._may_ask(log):
                    return None
                going.next += 1
                assert going.heard is not None
                going.heard.contrast[place] = shown.contrast
                if known is not None:
                    self._hear(going, place, known)
                    continue
                self._awaited.setdefault(key, []).append((going, place))
                if new:
                    self._asked[next(self._numbers)] = (key, going, place, question)
                    return shown.frames, question
            except (*_ENDS_ALL, InvalidRepliesError):
                raise
            except Exception as error:
                self._end(going.of, error)
        return None

    def _next(self) -> _Going | None:
        """Return a chain that has something to ask."""
        while True:
            while self._ready and not self._has_more(self._ready[0]):
                heapq.heappop(self._ready)
            # Twice as many chains as places keep these full until the last chains end.
            enough = sum(of.going for of in self._open.values()) >= self._chains
            if self._ready and (enough or self._ready[0].rounds == 1):
                return self._ready[0]
            for of in sorted(self._open.values(), key=lambda each: each.number):
                if self._begin_chain(of):
                    break
            else:
                return self._ready[0] if self._ready else None

    def _has_more(self, going: _Going) -> bool:
        return not going.of.over and going.next < len(going.order)

    def _begin_chain(self, of: _Open) -> bool:
        """Begin the next chain of an interview; return whether anything changed."""
        try:
            chain = next(of.waiting, None)
            if chain is not None:
                of.begun += 1
                of.going += 1
                self._go_on(_Going(of, of.begun, chain), None)
                return True
            if of.going == 0:
                self._end(of, of.interview.finish())
                return True
        except Exception as error:
            self._end(of, error)
            return True
        return False

    def _go_on(self, going: _Going, heard: Heard | None) -> None:
        """Let a chain say what it asks next."""
        try:
            going.requests = going.chain.send(heard)  # type: ignore[arg-type]  # None begins it
        except StopIteration:
            going.of.going -= 1
            if going.of.going == 0:
                self._begin_chain(going.of)
            return
        going.rounds += 1
        going.order, going.next = in_order(going.requests), 0
        going.missing = len(going.order)
        going.heard = Heard.nothing(going.of.presenter, going.missing)
        if going.missing:
            heapq.heappush(self._ready, going)
        else:
            self._go_on(going, going.heard)

    def _paint(self, of: _Open, request: Request) -> _Shown:
        """Paint what a question is about, one question at a time whatever others there are."""
        interview = of.interview
        key = (of.number, request.stimuli, request.target)
        if key not in self._shown:
            frames = of.presenter.frames(request.stimuli, interview.scene)
            contrast = math.nan
            if interview.look is not no_look:
                target = request.stimuli[request.target]
                luminance = frames.luminance().double()[request.target]
                contrast = interview.look(target, luminance)
            self._shown[key] = _Shown(frames, contrast)
            while len(self._shown) > _REMEMBERED:
                self._shown.popitem(last=False)
        self._shown.move_to_end(key)
        return self._shown[key]

    def _may_ask(self, log: TrialLog) -> bool:
        """Whether one more question may be under way; raises if none may, and none is."""
        under_way = len(self._asked)
        try:
            return log.allow(under_way + 1) > under_way
        except (BudgetError, InvalidRepliesError):
            if not under_way:
                raise
            return False

    def _take(self, answer: Answer) -> None:
        """Keep an answer, and hand it to everybody who waits for it."""
        key, first, place, question = self._asked.pop(answer.question)
        presenter = first.of.presenter
        assert first.heard is not None
        contrast = float(first.heard.contrast[place])
        trace = trace_of(presenter, first.requests[place], contrast)
        presenter.trial_log.record(key, question, answer, trace)
        for going, own in self._awaited.pop(key):
            if not going.of.over:
                try:
                    self._hear(going, own, answer)
                except Exception as error:
                    self._end(going.of, error)

    def _hear(self, going: _Going, place: int, answer: Answer) -> None:
        assert going.heard is not None
        going.heard.enter(going.of.presenter, place, answer)
        going.of.presenter.on_images(1)
        going.missing -= 1
        if going.missing == 0:
            self._go_on(going, going.heard)

    def _end(self, of: _Open, outcome: Any) -> None:
        """Close an interview with its result, or with what went wrong."""
        of.over = True
        del self._open[of.number]
        self._done.append((of.number, outcome))

"""Asking an observer that answers questions about pictures, and never the same one twice.

Questions come in chains, each of which follows from answers to those before. Every answer goes to
a log the moment it arrives, under a key of everything it depends on; what the log knows already is
not asked again.

One thread does everything but wait for replies: it paints, looks answers up in the log, keeps those
that arrive, and decides what is asked next. What comes of a chain depends on its own answers alone,
so results do not depend on how many questions are under way, nor on the order of replies.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.errors import BudgetError, InvalidRepliesError, ObserverError, RunFolderError
from fechner.experiments.base import Scene
from fechner.experiments.presenter import NoLog, Presenter, Trace, TrialLog
from fechner.observers.abilities import Answers, AnswersStream
from fechner.observers.questions import Answer, Prompt, Question
from fechner.stimuli import Frames, Picture, Stimulus

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

#: The read-out that holds how probable a choice was, not the choice.
GRADED = "probability"

#: Tells questions apart whose answers are not kept.
_NUMBERS = itertools.count()

#: Painted pictures that are remembered, for other questions about them.
_REMEMBERED = 64

#: What ends a whole run, not only an interview.
_ENDS_ALL = (BudgetError, RunFolderError)


@dataclass(frozen=True)
class Request:
    """A question about stimuli that are painted when their turn comes.

    Parameters
    ----------
    stimuli
        In the order in which they are shown.
    target
        Which of them is looked at, to find what was really shown.
    trace
        What it is about; test and contrast are filled in when it is asked.
    """

    stimuli: tuple[Stimulus | Picture, ...]
    prompt: Prompt
    repeat: int = 0
    target: int = 0
    trace: Trace = field(default_factory=Trace)


class Heard(NamedTuple):
    """What came of trials.

    Parameters
    ----------
    yes
        How far each answer is the first option: 1, 0, NaN for replies that were none of them; the
        read-out `GRADED` has the probability of the first option. [trials, layers, read-outs]
    contrast
        What was really shown, [trials].
    answers
        Whole answers, those of each trial.
    """

    yes: NDArray[np.float64]
    contrast: NDArray[np.float64]
    answers: list[list[Answer]]

    @classmethod
    def nothing(cls, presenter: Presenter, n: int) -> Heard:
        """Return room for what comes of n trials."""
        return cls(presenter.unanswered(n), np.full(n, np.nan), [[] for _ in range(n)])

    def enter(self, presenter: Presenter, trial: int, answer: Answer) -> None:
        """Put an answer in its place."""
        layer, readout = answer.place
        if answer.choice is not None:
            self.yes[trial, layer, readout] = float(answer.choice == 0)
        if GRADED in presenter.readouts and answer.probabilities is not None:
            self.yes[trial, layer, presenter.readouts.index(GRADED)] = answer.probabilities[0]
        self.answers[trial].append(answer)


#: Questions that follow from each other: yields some, is sent what came of all of these.
Chain = Generator[Sequence[Request], Heard, None]

#: What can be shown.
Shown = Stimulus | Picture

#: Measures what a picture shows of a stimulus, from its luminance [h, w].
Look = Callable[[Shown, "Tensor"], float]


@dataclass(frozen=True)
class Interview:
    """All questions of a piece.

    Parameters
    ----------
    chains
        Made when they are begun. None of them depends on answers to another.
    finish
        Returns the result, when all chains are at their ends.
    look
        Measures what was really shown; None measures nothing.
    """

    scene: Scene
    chains: Iterable[Chain]
    finish: Callable[[], Any]
    look: Look | None = None


def ask(
    presenter: Presenter, requests: Sequence[Request], scene: Scene, look: Look | None = None
) -> Heard:
    """Ask questions that do not depend on each other."""
    found: list[Heard] = []

    def chain() -> Chain:
        found.append((yield requests))

    hold(presenter, Interview(scene, [chain()], lambda: None, look))
    return found[0]


def hold(presenter: Presenter, interview: Interview) -> Any:
    """Ask all questions of an interview, and return its result."""
    conversation = Conversation(presenter.observer)
    conversation.begin(0, presenter, interview)
    ((_, found),) = conversation.finished()
    if isinstance(found, BaseException):
        raise found
    return found


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
    """A chain under way: what it asks now, which of that is left to ask, and what came of it."""

    of: _Open
    number: int
    chain: Chain
    requests: Sequence[Request] = ()
    left: deque[int] = field(default_factory=deque)
    missing: int = 0
    rounds: int = 0
    heard: Heard = field(init=False)

    def __lt__(self, other: _Going) -> bool:
        """Chains that are behind go first, so that none is left to go on alone at the end."""
        mine, others = ((each.rounds, each.of.number, each.number) for each in (self, other))
        return mine < others


#: A question of a chain, by its place among those that are asked now.
_Trial = tuple[_Going, int]


class _Batch(NamedTuple):
    """Questions about the same frames: what was really shown in each, keys, and what is known."""

    frames: Frames
    contrasts: list[float]
    questions: list[Question]
    keys: list[str]
    known: Mapping[str, Answer]


class Conversation:
    """Interviews with an observer.

    One that takes a stream has questions of many chains and several interviews under way; others
    are asked batch by batch, the next questions of all chains together.
    """

    def __init__(self, observer: Answers) -> None:
        self._observer = observer
        self._step, self._chains, remembered = self._ask_round, math.inf, 0
        if isinstance(observer, AnswersStream):
            # Twice as many chains as places keep these full until the last chains end.
            self._chains = 2 * observer.most_under_way
            self._step, remembered = self._take_one, _REMEMBERED
        self._shown = lru_cache(remembered)(self._show)
        self._open: dict[int, _Open] = {}
        self._ready: list[_Going] = []
        self._done: list[tuple[int, Any]] = []
        self._stream: Iterator[Answer] | None = None
        self._numbers: Iterator[int] = itertools.count()
        #: Questions under way in the stream, by number.
        self._asked: dict[int, tuple[str, Question]] = {}
        #: Everybody who waits for an answer, by key; the first asks.
        self._awaited: dict[str, list[_Trial]] = {}

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
                try:
                    self._step()
                except BaseException as error:
                    self._stream = None
                    self._asked.clear()
                    self._awaited.clear()
                    if isinstance(error, _ENDS_ALL) or not isinstance(error, Exception):
                        raise
                    for each in list(self._open.values()):
                        self._end(each, error)
        done, self._done = self._done, []
        return sorted(done, key=lambda each: each[0])

    def _take_one(self) -> None:
        """Wait for an answer of the stream, and hand it to everybody who waits for it."""
        if self._stream is None:
            assert isinstance(self._observer, AnswersStream)
            self._numbers = itertools.count()
            self._stream = self._observer.stream(self._more)
        answer = next(self._stream, None)
        if answer is not None:
            key, question = self._asked.pop(answer.question)
            self._record(key, question, answer)
            self._close(key)
            return
        self._stream = None
        if self._asked:
            raise ObserverError(
                f"observer '{self._observer.name}' left {len(self._asked)} questions unanswered."
            )

    def _more(self) -> tuple[Frames, Question] | None:
        """Return the next question that has no answer yet, None if all wait for others."""
        while (going := self._next()) is not None:
            try:
                trial = (going, going.left[0])
                batch = self._look_up(going.of, [trial])
                (key,), (question,) = batch.keys, batch.questions
                new = key not in batch.known and key not in self._awaited
                if new and not self._may_ask(going.of.presenter.trial_log):
                    return None
                going.left.popleft()
                self._wait([trial], batch)
                if new:
                    self._asked[next(self._numbers)] = (key, question)
                    return batch.frames, question
            except (*_ENDS_ALL, InvalidRepliesError):
                raise
            except Exception as error:
                self._end(going.of, error)
        return None

    def _may_ask(self, log: TrialLog) -> bool:
        """Whether one more question may be under way; raises if none may, and none is."""
        under_way = len(self._asked)
        try:
            return log.allow(under_way + 1) > under_way
        except (BudgetError, InvalidRepliesError):
            if not under_way:
                raise
            return False

    def _ask_round(self) -> None:
        """Ask all that chains ask now; questions about the same stimuli share a batch."""
        asked: dict[_Open, list[_Trial]] = {}
        while (going := self._next()) is not None:
            asked.setdefault(going.of, []).extend((going, place) for place in sorted(going.left))
            going.left.clear()
        for of, trials in asked.items():
            requests = [going.requests[place] for going, place in trials]
            stimuli = [request.stimuli for request in requests]
            scene, order = of.interview.scene, in_order(requests)
            for rows in of.presenter.batches(order, scene, stimuli=stimuli.__getitem__):
                self._ask_batch(of, [trials[row] for row in rows])

    def _ask_batch(self, of: _Open, trials: Sequence[_Trial]) -> None:
        batch, log = self._look_up(of, trials), of.presenter.trial_log
        missing = self._wait(trials, batch)
        while missing:
            allowed = log.allow(len(missing))
            now, missing = missing[:allowed], missing[allowed:]
            keys, asked = [batch.keys[i] for i in now], [batch.questions[i] for i in now]
            unanswered = set(keys)
            for answer in self._observer.choose(batch.frames, asked):
                self._record(keys[answer.question], asked[answer.question], answer)
                unanswered.discard(keys[answer.question])
            if unanswered:
                raise ObserverError(
                    f"observer '{self._observer.name}' left {len(unanswered)} of {len(now)} "
                    "questions unanswered."
                )
            for key in keys:
                self._close(key)

    def _look_up(self, of: _Open, trials: Sequence[_Trial]) -> _Batch:
        """Paint what questions are about, and see which answers are in the log."""
        requests = [going.requests[place] for going, place in trials]
        stimuli = tuple(dict.fromkeys(each for request in requests for each in request.stimuli))
        targets = [request.stimuli[request.target] for request in requests]
        frames, contrasts = self._shown(of, stimuli, tuple(dict.fromkeys(targets)))
        here = {stimulus: place for place, stimulus in enumerate(stimuli)}
        questions = [
            Question(tuple(here[each] for each in request.stimuli), request.prompt, request.repeat)
            for request in requests
        ]
        log = of.presenter.trial_log
        keys = trial_keys(of.presenter, frames, questions, log)
        new = [key for key in dict.fromkeys(keys) if key not in self._awaited]
        known = log.known(new) if new else {}
        return _Batch(frames, [contrasts[each] for each in targets], questions, keys, known)

    def _show(
        self, of: _Open, stimuli: Sequence[Shown], targets: Sequence[Shown]
    ) -> tuple[Frames, dict[Shown, float]]:
        """Paint stimuli, and measure what is shown of some."""
        frames, look = of.presenter.frames(stimuli, of.interview.scene), of.interview.look
        if look is None:
            return frames, dict.fromkeys(targets, math.nan)
        light = dict(zip(stimuli, frames.luminance().double(), strict=True))
        return frames, {each: look(each, light[each]) for each in targets}

    def _wait(self, trials: Sequence[_Trial], batch: _Batch) -> list[int]:
        """Hand over known answers, wait for others; return which of these nobody asked yet."""
        new = []
        for i, ((going, place), key) in enumerate(zip(trials, batch.keys, strict=True)):
            going.heard.contrast[place] = batch.contrasts[i]
            waiting = self._awaited.setdefault(key, [])
            if not waiting and key not in batch.known:
                new.append(i)
            waiting.append((going, place))
        for key, answer in batch.known.items():
            self._hear(key, answer)
            self._close(key)
        return new

    def _record(self, key: str, question: Question, answer: Answer) -> None:
        """Keep an answer, and enter it for everybody who waits for it."""
        first, place = self._awaited[key][0]
        presenter, contrast = first.of.presenter, float(first.heard.contrast[place])
        trace = first.requests[place].trace._replace(test=presenter.test, contrast=contrast)
        presenter.trial_log.record(key, question, answer, trace)
        self._hear(key, answer)

    def _hear(self, key: str, answer: Answer) -> None:
        for going, place in self._awaited[key]:
            if not going.of.over:
                if not going.heard.answers[place]:
                    going.of.presenter.on_images(1)
                going.heard.enter(going.of.presenter, place, answer)

    def _close(self, key: str) -> None:
        """Let chains go on that waited for nothing but this answer."""
        for going, _ in self._awaited.pop(key):
            going.missing -= 1
            if going.missing == 0 and not going.of.over:
                try:
                    self._go_on(going, going.heard)
                except Exception as error:
                    self._end(going.of, error)

    def _next(self) -> _Going | None:
        """Return a chain that has something to ask."""
        while True:
            while self._ready and (self._ready[0].of.over or not self._ready[0].left):
                heapq.heappop(self._ready)
            first = self._ready[0] if self._ready else None
            enough = sum(of.going for of in self._open.values()) >= self._chains
            if first is not None and (enough or first.rounds == 1):
                return first
            for of in sorted(self._open.values(), key=lambda each: each.number):
                if self._begin_chain(of):
                    break
            else:
                return first

    def _begin_chain(self, of: _Open) -> bool:
        """Begin the next chain of an interview; return whether anything changed."""
        try:
            chain = next(of.waiting, None)
            if chain is not None:
                of.begun += 1
                of.going += 1
                self._go_on(_Going(of, of.begun, chain), None)
            elif of.going == 0:
                self._end(of, of.interview.finish())
            else:
                return False
        except Exception as error:
            self._end(of, error)
        return True

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
        going.left = deque(in_order(going.requests))
        going.missing = len(going.left)
        going.heard = Heard.nothing(going.of.presenter, going.missing)
        if going.missing:
            heapq.heappush(self._ready, going)
        else:
            self._go_on(going, going.heard)

    def _end(self, of: _Open, outcome: Any) -> None:
        """Close an interview with its result, or with what went wrong."""
        of.over = True
        del self._open[of.number]
        self._done.append((of.number, outcome))


def trial_keys(
    presenter: Presenter, frames: Frames, questions: Sequence[Question], log: TrialLog
) -> list[str]:
    """Return the hash of all that an answer depends on, for each question."""
    if isinstance(log, NoLog):
        return [f"not kept {next(_NUMBERS)}" for _ in questions]
    pixels, bits = frames.pixels, frames.display.bits
    if bits is not None and frames.light == "display":
        # Whole numbers do not depend on how floating point was rounded.
        pixels = (pixels * (2**bits - 1)).round().int()
    rows = pixels.cpu().contiguous().numpy()
    pictures = [_sha256(str(row.shape).encode() + row.tobytes()) for row in rows]
    keys = []
    for question in questions:
        prompt, shown = question.prompt, [pictures[row] for row in question.pictures]
        whole = [presenter.observer.fingerprint, prompt.text, prompt.options, shown]
        keys.append(_sha256(json.dumps([*whole, question.repeat]).encode()))
    return keys


def in_order(requests: Sequence[Request]) -> list[int]:
    """Return places of requests so that those about the same stimuli are next to each other."""
    first: dict[Shown, int] = {}
    for request in requests:
        for stimulus in request.stimuli:
            first.setdefault(stimulus, len(first))
    return sorted(range(len(requests)), key=lambda i: [first[s] for s in requests[i].stimuli])


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

"""Asking an observer that answers questions about pictures, and never the same one twice.

Questions come in chains, each of which follows from answers to those before. Every answer goes to
a log the moment it arrives, under a key of everything it depends on; what the log knows already is
not asked again. Observers are asked batch by batch, the next questions of all chains together.
Those that take a stream have questions of many chains and several interviews under way
(`Conversation`). What comes of a chain depends on its own answers alone, so results do not depend
on how many questions are under way, nor on the order of replies.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch
from fechner.errors import BudgetError, InvalidRepliesError, ObserverError, RunFolderError
from fechner.experiments.base import Scene
from fechner.experiments.placement import advance
from fechner.experiments.presenter import NoLog, Presenter, Trace, TrialLog
from fechner.observers.abilities import AnswersStream
from fechner.observers.questions import Answer, Prompt, Question
from fechner.stimuli import Frames, Picture, Stimulus

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
    """A question about stimuli, in the order in which they are shown.

    ``target`` is which of them is looked at, to find what was really shown. Test and contrast of
    the trace are filled in when it is asked.
    """

    stimuli: tuple[Stimulus | Picture, ...]
    prompt: Prompt
    repeat: int = 0
    target: int = 0
    trace: Trace = field(default_factory=Trace)

    def about(self, shown: Sequence[Shown]) -> Question:
        """Return the question about these, among which its stimuli are."""
        return Question(tuple(map(shown.index, self.stimuli)), self.prompt, self.repeat)

    def traced(self, presenter: Presenter, contrast: float) -> Trace:
        """Return the trace with the test and with the contrast that was really shown."""
        return self.trace._replace(test=presenter.test, contrast=float(contrast))


class Heard(NamedTuple):
    """What came of trials.

    ``yes`` is how far each answer is the first option, [trials, layers, read-outs]: 1, 0, NaN for
    replies that were none of them; the read-out `GRADED` has the probability of the first option.
    ``contrast`` is what was really shown, and ``answers`` are whole answers, those of each trial.
    """

    yes: NDArray[np.float64]
    contrast: NDArray[np.float64]
    answers: list[list[Answer]]

    @classmethod
    def nothing(cls, presenter: Presenter, n: int) -> Heard:
        """Return room for what comes of n trials."""
        return cls(presenter.unanswered(n), np.full(n, np.nan), [[] for _ in range(n)])

    def enter(self, presenter: Presenter, trial: int, answer: Answer) -> None:
        """Put an answer in its place, and count the question."""
        if not self.answers[trial]:
            presenter.on_images(1)
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

    No chain depends on answers to another. ``finish`` returns the result, when all are at their
    ends; ``look`` measures what was really shown.
    """

    scene: Scene
    chains: Iterable[Chain]
    finish: Callable[[], Any]
    look: Look | None = None


def ask(presenter: Presenter, requests: Sequence[Request], scene: Scene) -> Heard:
    """Ask questions that do not depend on each other."""
    found: list[Heard] = []

    def chain() -> Chain:
        found.append((yield requests))

    hold(presenter, Interview(scene, [chain()], lambda: None))
    return found[0]


def hold(presenter: Presenter, interview: Interview) -> Any:
    """Ask all questions of an interview, and return its result."""
    if isinstance(presenter.observer, AnswersStream):
        conversation = Conversation(presenter.observer)
        conversation.begin(0, presenter, interview)
        ((_, found),) = conversation.finished()
        if isinstance(found, BaseException):
            raise found
        return found
    going = [(chain, advance(chain)) for chain in interview.chains]
    while going := [(chain, asked) for chain, asked in going if asked]:
        requests = [request for _, asked in going for request in asked]
        heard, stimuli = Heard.nothing(presenter, len(requests)), [r.stimuli for r in requests]
        order = in_order(requests)
        with torch.no_grad():
            for rows in presenter.batches(order, interview.scene, stimuli=stimuli.__getitem__):
                _ask_batch(presenter, interview, requests, rows, heard)
        ends = itertools.accumulate((len(asked) for _, asked in going), initial=0)
        parts = [slice(*ends) for ends in itertools.pairwise(ends)]
        going = [
            (chain, advance(chain, Heard(heard.yes[p], heard.contrast[p], heard.answers[p])))
            for (chain, _), p in zip(going, parts, strict=True)
        ]
    return interview.finish()


def _ask_batch(
    presenter: Presenter,
    interview: Interview,
    requests: Sequence[Request],
    rows: Sequence[int],
    heard: Heard,
) -> None:
    """Ask questions about the same frames, but for those whose answers the log knows."""
    observer, log = presenter.observer, presenter.trial_log
    some = [requests[row] for row in rows]
    stimuli = tuple(dict.fromkeys(each for request in some for each in request.stimuli))
    frames = presenter.paint(stimuli, interview.scene)
    if interview.look is not None:
        light, targets = frames.luminance().double(), [r.stimuli[r.target] for r in some]
        shown = {t: interview.look(t, light[stimuli.index(t)]) for t in dict.fromkeys(targets)}
        heard.contrast[list(rows)] = [shown[target] for target in targets]
    questions = [request.about(stimuli) for request in some]
    waiting: dict[str, list[int]] = {}
    for key, row in zip(trial_keys(presenter, frames, questions, log), rows, strict=True):
        waiting.setdefault(key, []).append(row)
    known = log.known(list(waiting))
    for key, answer in known.items():
        for row in waiting[key]:
            heard.enter(presenter, row, answer)
    missing = [key for key in waiting if key not in known]
    while missing:
        allowed = log.allow(len(missing))
        keys, missing = missing[:allowed], missing[allowed:]
        unanswered = set(keys)
        asked = [requests[waiting[key][0]].about(stimuli) for key in keys]
        for answer in observer.choose(frames, asked):
            key = keys[answer.question]
            first = waiting[key][0]
            trace = requests[first].traced(presenter, heard.contrast[first])
            log.record(key, asked[answer.question], answer, trace)
            for row in waiting[key]:
                heard.enter(presenter, row, answer)
            unanswered.discard(key)
        if unanswered:
            raise ObserverError(
                f"observer '{observer.name}' left {len(unanswered)} of {len(keys)} questions "
                "unanswered."
            )


@dataclass(eq=False)
class _Open:
    """An interview under way, with its chains that are not begun yet."""

    number: int
    presenter: Presenter
    interview: Interview
    waiting: Iterator[Chain]
    going: int = 0
    over: bool = False


@dataclass(eq=False)
class _Going:
    """A chain under way: what it asks now, what came of it, and how many answers are missing."""

    of: _Open
    chain: Chain
    requests: Sequence[Request] = ()
    missing: int = 0
    heard: Heard = field(init=False)


class Conversation:
    """Interviews with an observer that takes a stream of questions."""

    def __init__(self, observer: AnswersStream) -> None:
        self._observer = observer
        self._painted = lru_cache(_REMEMBERED)(self._paint)
        self._open: dict[int, _Open] = {}
        self._done: list[tuple[int, Any]] = []
        self._stream: Iterator[Answer] | None = None
        self._numbers: Iterator[int] = itertools.count()
        #: Questions that can be asked now: chains, and places among what each asks.
        self._ready: deque[tuple[_Going, int]] = deque()
        #: Questions under way in the stream, by number: their keys.
        self._asked: dict[int, str] = {}
        #: Every question that waits for an answer, by its key; the first is asked.
        self._awaited: dict[str, list[tuple[_Going, int]]] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._done)

    def begin(self, number: int, presenter: Presenter, interview: Interview) -> None:
        """Add an interview; those that are added first go first."""
        self._open[number] = _Open(number, presenter, interview, iter(interview.chains))

    def finished(self) -> list[tuple[int, Any]]:
        """Wait until an interview is over; return results, or what went wrong, by number."""
        with torch.no_grad():
            while self._open and not self._done:
                try:
                    self._take_one()
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
        """Wait for an answer of the stream, and hand it to every chain that waits for it."""
        if self._stream is None:
            self._numbers = itertools.count()
            self._stream = self._observer.stream(self._more)
        answer = next(self._stream, None)
        if answer is None:
            self._stream = None
            if self._asked:
                raise ObserverError(
                    f"observer '{self._observer.name}' left {len(self._asked)} questions "
                    "unanswered."
                )
            return
        key = self._asked.pop(answer.question)
        first, place = self._awaited[key][0]
        request, presenter = first.requests[place], first.of.presenter
        trace = request.traced(presenter, first.heard.contrast[place])
        question = request.about(tuple(dict.fromkeys(request.stimuli)))
        presenter.trial_log.record(key, question, answer, trace)
        self._hear(key, answer)

    def _more(self) -> tuple[Frames, Question] | None:
        """Return the next question that has no answer yet, None if all wait for others."""
        while self._ready or any(map(self._begin_chain, list(self._open.values()))):
            if not self._ready:
                continue
            going, place = self._ready[0]
            of, request = going.of, going.requests[place]
            if of.over:
                self._ready.popleft()
                continue
            try:
                log, stimuli = of.presenter.trial_log, tuple(dict.fromkeys(request.stimuli))
                frames, contrast = self._painted(of, stimuli, request.stimuli[request.target])
                question = request.about(stimuli)
                (key,) = trial_keys(of.presenter, frames, [question], log)
                known = {} if key in self._awaited else log.known([key])
                new = key not in self._awaited and key not in known
                if new and not self._may_ask(log):
                    return None
                self._ready.popleft()
                going.heard.contrast[place] = contrast
                self._awaited.setdefault(key, []).append((going, place))
                if key in known:
                    self._hear(key, known[key])
                if new:
                    self._asked[next(self._numbers)] = key
                    return frames, question
            except (*_ENDS_ALL, InvalidRepliesError):
                raise
            except Exception as error:
                self._end(of, error)
        return None

    def _paint(self, of: _Open, stimuli: tuple[Shown, ...], target: Shown) -> tuple[Frames, float]:
        """Paint what a question is about, and measure what is shown of its target."""
        frames, look = of.presenter.paint(stimuli, of.interview.scene), of.interview.look
        if look is None:
            return frames, math.nan
        return frames, look(target, frames.luminance().double()[stimuli.index(target)])

    def _may_ask(self, log: TrialLog) -> bool:
        """Whether one more question may be under way; raises if none may, and none is."""
        under_way = len(self._asked)
        try:
            return log.allow(under_way + 1) > under_way
        except (BudgetError, InvalidRepliesError):
            if not under_way:
                raise
            return False

    def _hear(self, key: str, answer: Answer) -> None:
        """Enter an answer for every chain that waits for it; those that miss no other go on."""
        for going, place in self._awaited.pop(key):
            if not going.of.over:
                going.heard.enter(going.of.presenter, place, answer)
                going.missing -= 1
                if going.missing == 0:
                    self._go_on(going, going.heard)

    def _begin_chain(self, of: _Open) -> bool:
        """Begin the next chain of an interview, or finish it; return whether either was due."""
        chain = None
        try:
            chain = next(of.waiting, None)
            if chain is not None:
                of.going += 1
                self._go_on(_Going(of, chain), None)
            elif of.going == 0:
                self._end(of, of.interview.finish())
        except Exception as error:
            self._end(of, error)
        return chain is not None or of.over

    def _go_on(self, going: _Going, heard: Heard | None) -> None:
        """Let a chain say what it asks next; after its end, another one of its interview."""
        of = going.of
        try:
            going.requests = advance(going.chain, heard)
        except Exception as error:
            self._end(of, error)
            return
        if going.requests:
            going.missing = len(going.requests)
            going.heard = Heard.nothing(of.presenter, going.missing)
            self._ready.extend((going, place) for place in in_order(going.requests))
            return
        of.going -= 1
        if of.going == 0:
            self._begin_chain(of)

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

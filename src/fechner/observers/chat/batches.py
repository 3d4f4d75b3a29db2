"""Batch services: questions in files, answered within a day at a lower price, each exactly once.

Before a batch is submitted, its name and the questions in it are written down; a process that is
killed at any point finds it again, by its number or by its name at the service, and never submits
it a second time. Questions that failed go into a later batch.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fechner.errors import UnansweredError
from fechner.observers.chat.pictures import RecentPictures
from fechner.observers.chat.replies import EmptyReplyError, read
from fechner.observers.chat.sending import RequestError
from fechner.observers.chat.server import DeclinedError
from fechner.observers.questions import Answer, Question

if TYPE_CHECKING:
    from fechner.observers.chat.endpoint import Endpoint
    from fechner.stimuli import Frames

#: OpenAI takes 50,000 requests and 200 MB in a file.
_MOST_REQUESTS, _MOST_BYTES = 40_000, 150_000_000
#: Fewer questions than this are not worth a day: they are sent one by one.
_FEWEST = 26
#: How often a service is asked whether a batch is done.
_FIRST_POLL_S, _LONGEST_POLL_S = 2.0, 60.0
#: States in which nothing more happens to a batch.
_OVER = ("completed", "failed", "expired", "cancelled")


@dataclass(frozen=True)
class Batch:
    """A batch as it is written down.

    Parameters
    ----------
    name
        Ours; the service keeps it with the batch.
    requests
        Names of the requests in it.
    number
        The service's; empty before it is known to be submitted.
    """

    name: str
    requests: tuple[str, ...]
    number: str = ""


class BatchLog(Protocol):
    """Where batches are written down until all their answers are kept."""

    def open_batches(self) -> Sequence[Batch]:
        """Return those whose answers are not all kept."""
        ...

    def write_batch(self, batch: Batch) -> None:
        """Write one down, or what is new of it."""
        ...

    def close_batch(self, name: str) -> None:
        """Note that all answers of one are kept."""
        ...


@dataclass
class InMemory:
    """Batches of one process, for those who keep no answers either."""

    batches: dict[str, Batch] = field(default_factory=dict)

    def open_batches(self) -> Sequence[Batch]:
        """Return those that are not closed."""
        return list(self.batches.values())

    def write_batch(self, batch: Batch) -> None:
        """Remember one."""
        self.batches[batch.name] = batch

    def close_batch(self, name: str) -> None:
        """Forget one."""
        self.batches.pop(name, None)


@dataclass
class _Asked:
    """A question: its number in the stream, and the request that it becomes, with its length."""

    number: int
    options: tuple[str, ...]
    body: dict[str, Any]
    length: int


class Batches:
    """Asks one endpoint by batches."""

    def __init__(self, endpoint: Endpoint, log: BatchLog) -> None:
        self._endpoint = endpoint
        self._server = endpoint.server
        self._log = log
        self._numbers = itertools.count()
        self._asked: dict[str, _Asked] = {}
        self._failed: Counter[str] = Counter()
        self._given_up: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        self._pictures = RecentPictures()

    def stream(self, more: Callable[[], tuple[Frames, Question] | None]) -> Iterator[Answer]:
        """Answer all questions there are, batch by batch."""
        self._server.open()
        open_ones = {batch.name: batch for batch in self._log.open_batches()}
        submitted = {name for batch in open_ones.values() for name in batch.requests}
        waiting: list[str] = []  # requests in no batch
        pause = _FIRST_POLL_S
        while True:
            size = sum(self._asked[name].length for name in waiting)
            wanted = [batch for batch in open_ones.values() if self._concerns(batch)]
            room = len(wanted) < self._endpoint.at_once
            while room and len(waiting) < _MOST_REQUESTS and size < _MOST_BYTES:
                found = more()
                if found is None:
                    break
                name = self._take(*found)
                if name not in submitted:
                    waiting.append(name)
                    size += self._asked[name].length
            if waiting and room:
                chosen, waiting = waiting, []
                if len(chosen) < _FEWEST:
                    yield from self._one_by_one(chosen)
                else:
                    batch = self._submit(Batch(uuid.uuid4().hex, tuple(chosen)))
                    open_ones[batch.name] = batch
                    submitted |= set(chosen)
                continue
            wanted = [batch for batch in open_ones.values() if self._concerns(batch)]
            if not wanted:
                break
            over = None
            for batch in wanted:
                status = self._status(open_ones, batch)
                if status["status"] in _OVER:
                    over = open_ones.pop(batch.name), status
                    break
            if over is None:
                time.sleep(pause)
                pause = min(_LONGEST_POLL_S, 1.5 * pause)
                continue
            pause = _FIRST_POLL_S
            yield from self._read(*over)
            # Whoever takes the answers keeps each before the next is asked for.
            self._log.close_batch(over[0].name)
            submitted -= set(over[0].requests)
            waiting += [name for name in over[0].requests if name in self._asked]
        if self._given_up:
            why = "; ".join(f"{text} ({n} times)" for text, n in self._given_up.most_common(3))
            raise UnansweredError(f"{self._given_up.total()} questions were not answered: {why}.")

    def _take(self, frames: Frames, question: Question) -> str:
        """Return the name of the request that a question becomes: the same whenever it is asked."""
        body = self._endpoint.request(self._pictures(frames), question)
        text = json.dumps([body, question.repeat, question.prompt.options], sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()
        self._asked[name] = _Asked(next(self._numbers), question.prompt.options, body, len(text))
        return name

    def _concerns(self, batch: Batch) -> bool:
        return any(name in self._asked for name in batch.requests)

    def _one_by_one(self, names: Sequence[str]) -> Iterator[Answer]:
        asked = [self._asked.pop(name) for name in names]

        def ask(index: int) -> Answer:
            try:
                return self._answer(asked[index], self._server.chat(asked[index].body))
            except DeclinedError as declined:
                return Answer(asked[index].number, None, reply=str(declined))

        yield from self._endpoint.sender.replies(len(asked), ask)

    def _answer(self, asked: _Asked, found: dict[str, Any]) -> Answer:
        endpoint = self._endpoint
        return read(
            found,
            asked.number,
            asked.options,
            prices=(endpoint.price_in, endpoint.price_out),
            scrub=self._server.without_key,
        )

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """Call the service, again where that can help."""
        (found,) = self._endpoint.sender.replies(1, lambda _: call())
        return found

    def _submit(self, batch: Batch) -> Batch:
        """Submit a batch, unless it was; it is written down before and after."""
        self._log.write_batch(batch)
        lines = (
            {
                "custom_id": name,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": self._asked[name].body,
            }
            for name in batch.requests
        )
        content = "".join(json.dumps(line) + "\n" for line in lines).encode()
        file = self._patiently(lambda: self._server.upload(content))
        tried = itertools.count()

        def create() -> str:
            # Of an earlier try the reply may be lost, but not the batch.
            if next(tried) and (number := self._server.find_batch(batch.name)):
                return number
            return self._server.create_batch(file, batch.name)

        known = replace(batch, number=self._patiently(create))
        self._log.write_batch(known)
        return known

    def _status(self, open_ones: dict[str, Batch], batch: Batch) -> dict[str, Any]:
        """Return what the service says of a batch; one that was killed meanwhile is looked for."""
        if not batch.number:
            number = self._patiently(lambda: self._server.find_batch(batch.name))
            if not number:
                # It never got there: its questions go into the next.
                return {"status": "cancelled"}
            batch = open_ones[batch.name] = replace(batch, number=number)
            self._log.write_batch(batch)
        found: dict[str, Any] = self._patiently(lambda: self._server.batch(batch.number))
        return found

    def _read(self, batch: Batch, status: dict[str, Any]) -> Iterator[Answer]:
        """Yield the answers of a batch that is over, and count what failed."""
        lost = {name for name in batch.requests if name in self._asked}
        for file in (status.get("output_file_id"), status.get("error_file_id")):
            if not file:
                continue
            content = self._patiently(partial(self._server.download, file))
            for line in content.splitlines():
                name, answer = self._line(line)
                if answer is not None and name in lost:
                    lost.discard(name)
                    del self._asked[name]
                    yield answer
        why = _errors(status) or f"a batch was {status['status']}"
        if status["status"] == "failed":
            self._log.close_batch(batch.name)
            raise UnansweredError(f"batch {batch.number} failed: {self._server.scrub(why)}.")
        for name in lost:
            if batch.number:
                self._fail(name, self._reasons.get(name, why))

    def _line(self, line: str) -> tuple[str, Answer | None]:
        """Return the name and the answer in a line; None if it has none."""
        try:
            found = json.loads(line)
            name, response = str(found["custom_id"]), found.get("response") or {}
        except (ValueError, KeyError, TypeError, AttributeError):
            return "", None
        asked = self._asked.get(name)
        if asked is None:
            return name, None
        status, body = response.get("status_code"), response.get("body")
        try:
            if status == 200 and isinstance(body, dict):
                return name, self._answer(asked, body)
        except EmptyReplyError:
            if self._failed[name] >= self._endpoint.tries - 1:
                return name, Answer(asked.number, None)
        except RequestError:
            pass
        try:
            text = json.dumps(body if body is not None else {"error": found.get("error")})
            self._server.refuse(int(status or 500), text)
        except DeclinedError as declined:
            return name, Answer(asked.number, None, reply=str(declined))
        except RequestError as trouble:
            self._reasons[name] = trouble.why
            if trouble.meaning != "again":
                del self._asked[name]
                self._given_up[trouble.why] += 1
        return name, None

    def _fail(self, name: str, why: str) -> None:
        """Count a failure, and give a question up that failed too often."""
        if name not in self._asked:
            return
        self._failed[name] += 1
        if self._failed[name] >= self._endpoint.tries:
            del self._asked[name]
            self._given_up[why] += 1


def _errors(status: dict[str, Any]) -> str:
    errors = (status.get("errors") or {}).get("data") or []
    said = (str(each.get("message") or each.get("code") or "") for each in errors)
    return "; ".join(dict.fromkeys(text for text in said if text))[:500].rstrip(".")

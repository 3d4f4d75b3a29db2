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
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fechner.errors import UnansweredError
from fechner.observers.chat.client import DeclinedError
from fechner.observers.chat.requests import RequestError, reasons
from fechner.observers.questions import Answer, Question

if TYPE_CHECKING:
    from fechner.observers.chat.endpoint import Endpoint

#: OpenAI takes 50,000 requests and 200 MB in a file.
_MOST_REQUESTS, _MOST_BYTES = 40_000, 150_000_000
#: Fewer questions than this are not worth a day: they are sent one by one.
_FEWEST = 26
#: How often a service is asked whether a batch is done.
_FIRST_POLL_S, _LONGEST_POLL_S = 2.0, 60.0
#: States in which nothing more happens to a batch.
_OVER = ("completed", "failed", "expired", "cancelled")


class Payload(NamedTuple):
    """A question: its number in the stream, and the body of the request that it becomes."""

    number: int
    question: Question
    body: dict[str, Any]


@dataclass(frozen=True)
class Batch:
    """A batch as it is written down, with the names of the requests in it.

    ``name`` is ours, which the service keeps with the batch; ``number`` is the service's, empty
    before it is known to be submitted.
    """

    name: str
    requests: tuple[str, ...]
    number: str = ""


class BatchLog:
    """Remembers batches until all their answers are kept; that of a run writes them to disk."""

    def __init__(self) -> None:
        self._batches: dict[str, Batch] = {}

    def open_batches(self) -> Sequence[Batch]:
        """Return those whose answers are not all kept."""
        return list(self._batches.values())

    def write_batch(self, batch: Batch) -> None:
        """Write one down, or what is new of it."""
        self._batches[batch.name] = batch

    def close_batch(self, name: str) -> None:
        """Note that all answers of one are kept."""
        self._batches.pop(name, None)


@dataclass
class _Pending:
    """A question without an answer, its length as text, and how often and why it failed."""

    payload: Payload
    length: int
    failures: int = 0
    why: str = ""


class Batches:
    """Asks one endpoint by batches."""

    def __init__(self, endpoint: Endpoint, log: BatchLog) -> None:
        self._endpoint = endpoint
        self._client = endpoint.client
        self._call = endpoint.pool.call
        self._log = log
        self._batches = {batch.name: batch for batch in log.open_batches()}
        self._pending: dict[str, _Pending] = {}
        self._given_up: Counter[str] = Counter()

    def stream(self, more: Callable[[], Payload | None]) -> Iterator[Answer]:
        """Answer all questions there are, batch by batch."""
        waiting: list[str] = []  # requests in no batch
        pause = _FIRST_POLL_S
        while True:
            awaited = self._awaited()
            if len(awaited) < self._endpoint.at_once:
                self._fill(waiting, more)
                if waiting:
                    if len(waiting) < _FEWEST:
                        alone = [self._pending.pop(each).payload for each in waiting]
                        tasks = iter([partial(self._endpoint.ask, payload) for payload in alone])
                        yield from self._endpoint.pool.stream(partial(next, tasks, None))
                    else:
                        self._submit(Batch(uuid.uuid4().hex, tuple(waiting)))
                    waiting = []
                    continue
                awaited = self._awaited()
            if not awaited:
                break
            statuses = ((batch, self._status(batch)) for batch in awaited)
            over = next((each for each in statuses if each[1]["status"] in _OVER), None)
            if over is None:
                time.sleep(pause)
                pause = min(_LONGEST_POLL_S, 1.5 * pause)
                continue
            pause = _FIRST_POLL_S
            batch, status = over
            yield from self._read(self._batches.pop(batch.name), status)
            # Whoever takes the answers keeps each before the next is asked for.
            self._log.close_batch(batch.name)
            waiting += [name for name in batch.requests if name in self._pending]
        if self._given_up:
            raise UnansweredError(
                f"{self._given_up.total()} questions were not answered: {reasons(self._given_up)}."
            )

    def _awaited(self) -> list[Batch]:
        """Return open batches with questions that are asked now."""
        waits = self._pending.keys()
        return [batch for batch in self._batches.values() if waits & set(batch.requests)]

    def _fill(self, waiting: list[str], more: Callable[[], Payload | None]) -> None:
        """Add questions that are in no batch as long as there are any, up to a full file."""
        submitted = {name for batch in self._batches.values() for name in batch.requests}
        size = sum(self._pending[name].length for name in waiting)
        while len(waiting) < _MOST_REQUESTS and size < _MOST_BYTES:
            payload = more()
            if payload is None:
                return
            # The same whenever the question is asked, also after the process was killed.
            parts = [payload.body, payload.question.repeat, payload.question.prompt.options]
            text = json.dumps(parts, sort_keys=True)
            name = hashlib.sha256(text.encode()).hexdigest()
            self._pending[name] = _Pending(payload, len(text))
            if name not in submitted:
                waiting.append(name)
                size += len(text)

    def _submit(self, batch: Batch) -> None:
        """Submit a batch; it is written down before and after."""
        self._log.write_batch(batch)
        request = {"method": "POST", "url": "/v1/chat/completions"}
        lines = (
            {"custom_id": name, **request, "body": self._pending[name].payload.body}
            for name in batch.requests
        )
        content = "".join(json.dumps(line) + "\n" for line in lines).encode()
        file = self._call(lambda: self._client.upload(content))
        tries = itertools.count()

        def create() -> str:
            # Of an earlier try the reply may be lost, but not the batch.
            known = self._client.find_batch(batch.name) if next(tries) else ""
            return known or self._client.create_batch(file, batch.name)

        self._write(replace(batch, number=self._call(create)))

    def _write(self, batch: Batch) -> None:
        self._batches[batch.name] = batch
        self._log.write_batch(batch)

    def _status(self, batch: Batch) -> dict[str, Any]:
        """Return what the service says of a batch; one that a killed process left is looked for."""
        if not batch.number:
            number = self._call(lambda: self._client.find_batch(batch.name))
            if not number:
                # It never got there: its questions go into the next.
                return {"status": "cancelled"}
            batch = replace(batch, number=number)
            self._write(batch)
        return self._call(lambda: self._client.batch(batch.number))

    def _read(self, batch: Batch, status: dict[str, Any]) -> Iterator[Answer]:
        """Yield the answers of a batch that is over, and count what failed."""
        for file in filter(None, (status.get("output_file_id"), status.get("error_file_id"))):
            content = self._call(partial(self._client.download, file))
            for line in content.splitlines():
                yield from self._line(line)
        errors = (status.get("errors") or {}).get("data") or []
        said = (str(each.get("message") or each.get("code") or "") for each in errors)
        why = "; ".join(dict.fromkeys(filter(None, said)))[:500].rstrip(".")
        if status["status"] == "failed":
            self._log.close_batch(batch.name)
            why = self._client.scrub(why or "a batch was failed")
            raise UnansweredError(f"batch {batch.number} failed: {why}.")
        for name in batch.requests:
            if batch.number and (pending := self._pending.get(name)):
                pending.failures += 1
                if pending.failures >= self._endpoint.tries:
                    self._give_up(name, pending.why or why or f"a batch was {status['status']}")

    def _line(self, line: str) -> Iterator[Answer]:
        """Yield the answer in a line of a file, if it has one; note why it has none."""
        try:
            found = json.loads(line)
            name, response = str(found["custom_id"]), found.get("response") or {}
            status, body = response.get("status_code"), response.get("body")
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        pending = self._pending.get(name)
        if pending is None:
            return
        try:
            if status != 200 or not isinstance(body, dict):
                text = json.dumps(body if body is not None else {"error": found.get("error")})
                raise self._client.refusal(int(status or 500), text)
            last = pending.failures >= self._endpoint.tries - 1
            answer = self._endpoint.read(pending.payload, body, last)
        except DeclinedError as declined:
            answer = Answer(pending.payload.number, None, reply=str(declined))
        except RequestError as error:
            pending.why = str(error)
            if not error.retry:
                self._give_up(name, pending.why)
            return
        del self._pending[name]
        yield answer

    def _give_up(self, name: str, why: str) -> None:
        del self._pending[name]
        self._given_up[why] += 1

"""Chat models behind an address, asked about pictures in words.

``openai/MODEL`` is asked where the environment variable OPENAI_BASE_URL says, and
``http://HOST:PORT/v1#MODEL`` at that address; any server that speaks as OpenAI's does will do.
"""

from __future__ import annotations

import base64
import io
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from fechner.errors import FechnerError, ObserverError
from fechner.observers.abilities import Wants
from fechner.observers.chat.batches import Batches, BatchLog, Payload
from fechner.observers.chat.client import SERVICE_KEY, Client, DeclinedError, secret
from fechner.observers.chat.reply_parser import (
    READER,
    first_answer_token,
    first_token_probabilities,
    parse,
)
from fechner.observers.chat.requests import RequestError, RequestPool
from fechner.observers.names import take_apart
from fechner.observers.questions import Answer, Question, Reads, Usage
from fechner.stimuli import Frames

#: Where the client of that service asks, unless the environment says otherwise.
_SERVICE = "https://api.openai.com/v1"

#: Settings that only say how to get replies.
_HOW_TO_ASK = ("key", "price_in", "price_out", "timeout_s", "tries", "at_once", "rpm", "batch")
#: Settings that came later, and are part of a fingerprint only where they are used.
_LATER = ("second_question",)

#: Why a reply may rightly be empty: it was withheld, or all tokens went into thinking.
_MAY_BE_EMPTY = ("content_filter", "length")

#: Picture files that are kept for further questions about them.
_KEPT = 256


@dataclass(repr=False, eq=False)
class Endpoint:
    """A chat model that answers over HTTP; nothing is sent before it is asked.

    Parameters
    ----------
    model
        The rest of its name, after what all names of its family begin with.
    spec
        Its name with the settings that answers depend on, as in results.
    key
        The environment variable with the key, never the key itself. Without it, OPENAI_API_KEY for
        the service of that name, and none for other addresses.
    temperature
        NaN leaves it to the server.
    max_tokens, max_completion_tokens
        The longest reply; some models take it under the second name only. 0 sends none.
    seed
        For servers that draw with one; a question that is asked again gets the next. Negative
        sends none.
    logprobs, top_logprobs
        Whether to ask for the probabilities of tokens, and of how many.
    system
        Instructions before the question.
    detail
        How closely a picture is looked at, for services that have a choice.
    reasoning_effort
        How long to think, for models that do.
    revision
        Your word for which version of the model is served, where its name does not say.
    second_question
        Whether to ask for one word where a reply cannot be read.
    price_in, price_out
        US dollars per million tokens of questions and of replies.
    timeout_s, tries
        How long a reply may take, and how often a question is asked before it is given up.
    at_once, rpm
        The most requests under way, and the most in a minute (0: no limit).
    batch
        Whether questions go to the service's batch interface, which answers within a day; then at
        most ``at_once`` batches are under way.
    """

    model: str
    _: KW_ONLY
    spec: str
    key: str = ""
    temperature: float = 0.0
    max_tokens: int = 128
    max_completion_tokens: int = 0
    seed: int = -1
    logprobs: bool = False
    top_logprobs: int = 20
    system: str = ""
    detail: Literal["auto", "low", "high"] = "auto"
    reasoning_effort: str = ""
    revision: str = ""
    second_question: bool = False
    price_in: float = math.nan
    price_out: float = math.nan
    timeout_s: float = 120.0
    tries: int = 8
    at_once: int = 8
    rpm: float = 0.0
    batch: bool = False

    reads: ClassVar[Reads] = "questions"
    layers: ClassVar[tuple[str, ...]] = ("reply",)
    wants: ClassVar[Wants] = Wants(bits=8)

    def __post_init__(self) -> None:
        self.name = self.spec
        place = where(take_apart(self.spec)[0])
        self._model = place.model
        key = self.key or place.key
        secret(key)  # which says so if there is none
        self.client = Client(place.address, key, self.timeout_s, own=bool(place.key))
        #: Where batches are written down until they are answered.
        self.batch_log = BatchLog()
        if self.at_once < 1 or self.tries < 1:
            raise FechnerError(
                f"at_once and tries are 1 or more, not {self.at_once} and {self.tries}."
            )
        self.pool = RequestPool(self.tries, self.at_once, self.rpm)
        #: Batches take all questions there are.
        self.most_under_way = sys.maxsize if self.batch else self.at_once
        #: Whether the same question may have another answer when it is asked again.
        self.samples = self.temperature != 0
        self.readouts = ("choice", "probability") if self.logprobs else ("choice",)
        used = [each for each in DECODING if each not in _LATER or getattr(self, each)]
        settings = ", ".join(f"{each}={getattr(self, each)!r}" for each in used)
        self.fingerprint = f"{place.address}#{place.model} asked by PNG, {settings}"

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Answer each question as soon as its reply is there, in any order."""
        rest = ((frames, question) for question in list(questions))
        return self.stream(lambda: next(rest, None), len(questions))

    def stream(
        self, more: Callable[[], tuple[Frames, Question] | None], n: int | None = None
    ) -> Iterator[Answer]:
        """Answer questions as long as there are more, at most ``at_once`` of them at a time.

        ``n`` is how many there are, where that is known.
        """
        self.client.open()
        url = lru_cache(_KEPT)(data_url)
        numbers = itertools.count()

        def payloads() -> Payload | None:
            found = more()
            if found is None:
                return None
            frames, question = found
            pictures = [url(frames, row) for row in question.pictures]
            return Payload(next(numbers), question, self._body(pictures, question))

        def tasks() -> Callable[[], Answer] | None:
            payload = payloads()
            return None if payload is None else partial(self.ask, payload)

        if self.batch and n is None:
            yield from Batches(self, self.batch_log).stream(payloads)
        else:
            yield from self.pool.stream(tasks, n)

    def ask(self, payload: Payload) -> Answer:
        """Ask one question, and again where its reply cannot be read and that was asked for."""
        try:
            first = self._reply(payload)
        except DeclinedError as declined:
            return Answer(payload.number, None, reply=str(declined))
        if not self.second_question or first.choice is not None or first.reader is None:
            return first
        options = payload.question.prompt.options
        words = f"Answer with one word: {', '.join(options[:-1])} or {options[-1]}."
        again = [
            *payload.body["messages"],
            {"role": "assistant", "content": first.reply or "..."},
            {"role": "user", "content": [{"type": "text", "text": words}]},
        ]
        payload = payload._replace(body={**payload.body, "messages": again})
        try:
            second = self._reply(payload, may_be_empty=True)
        except DeclinedError as declined:
            return replace(first, second_reply=str(declined))
        return replace(
            second,
            reply=first.reply,
            second_reply=second.reply,
            usage=first.usage + second.usage,
            reader=first.reader,
        )

    def _reply(self, payload: Payload, *, may_be_empty: bool = False) -> Answer:
        def request(last: bool) -> Answer:
            # If even the last try ends without a word, the model has nothing to say.
            return self.read(payload, self.client.chat(payload.body), may_be_empty or last)

        return self.pool.retry(request)

    def read(self, payload: Payload, response: Mapping[str, Any], may_be_empty: bool) -> Answer:
        """Return the answer in a response; one without words is a fault unless it may be one."""
        choices = response.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
            raise RequestError("the server's answer holds no reply")
        refusal = _text(message.get("refusal"))
        text = self.client.without_key(_text(message.get("content")) or refusal)
        finish = choice.get("finish_reason")
        if not text.strip() and finish not in _MAY_BE_EMPTY and not may_be_empty:
            raise RequestError("the server's reply is empty")
        prompt = payload.question.prompt
        usage = response.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        asked, said = (_number(usage.get(f"{part}_tokens")) for part in ("prompt", "completion"))
        cost = (asked * self.price_in + said * self.price_out) / 1e6
        if math.isnan(cost) and isinstance(usage.get("cost"), int | float):
            cost = float(usage["cost"])  # some services say it themselves
        probabilities, mass = _probabilities(choice.get("logprobs"), prompt.options) or (None, None)
        return Answer(
            payload.number,
            # A refusal is an answer, but to another question than ours.
            None if refusal else parse(text, prompt.options, prompt.text),
            probabilities,
            mass,
            text,
            Usage(int(asked), int(said), cost),
            reader=None if refusal else READER,
            finish=str(finish or ""),
        )

    def _body(self, pictures: Sequence[str], question: Question) -> dict[str, Any]:
        """Return what is sent for a question: pictures in their order, then the words."""
        detail = {} if self.detail == "auto" else {"detail": self.detail}
        content: list[dict[str, Any]] = [
            *({"type": "image_url", "image_url": {"url": each, **detail}} for each in pictures),
            {"type": "text", "text": question.prompt.text},
        ]
        system = [{"role": "system", "content": self.system}] if self.system else []
        longest = "max_completion_tokens" if self.max_completion_tokens else "max_tokens"
        body = {
            "model": self._model,
            "messages": [*system, {"role": "user", "content": content}],
            "temperature": None if math.isnan(self.temperature) else self.temperature,
            longest: getattr(self, longest) or None,
            "seed": self.seed + question.repeat if self.seed >= 0 else None,
            "logprobs": True if self.logprobs else None,
            "top_logprobs": self.top_logprobs if self.logprobs else None,
            "reasoning_effort": self.reasoning_effort or None,
        }
        return {key: value for key, value in body.items() if value is not None}


#: Settings on which replies depend.
DECODING = tuple(
    each.name for each in fields(Endpoint) if each.name not in ("model", "spec", *_HOW_TO_ASK)
)


def _text(content: Any) -> str:
    """Return words, which some servers send in parts."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _probabilities(logprobs: Any, options: Sequence[str]) -> tuple[tuple[float, ...], float] | None:
    """Return probabilities of the options where the answer begins, and that of any of them."""
    try:
        content = logprobs["content"]
        place = first_answer_token([str(each["token"]) for each in content])
        likely = content[place]["top_logprobs"] if place is not None else []
        pairs = [(str(each["token"]), float(each["logprob"])) for each in likely]
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    return first_token_probabilities(pairs, options)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def png(frames: Frames, row: int) -> bytes:
    """Return one frame as a PNG file without anything but its pixels.

    The same pixels give the same bytes with the same version of Pillow.

    Examples
    --------
    >>> from fechner.stimuli import Field, Stimulus, display, paint
    >>> grey = Stimulus(background_xyz=(38.0, 40.0, 43.6))
    >>> png(paint([grey], Field(8, 8, 64.0), display("encoders")), 0)[1:4]
    b'PNG'
    """
    from PIL import Image

    if frames.light != "display" or frames.pixels.dim() != 4:
        raise ObserverError(
            "picture files hold still pictures; ask for them with Wants(light='display', bits=8)."
        )
    pixels = frames.pixels[row].detach().cpu().double().clamp(0, 1).numpy()
    levels = np.rint(pixels * 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(levels.transpose(1, 2, 0))).save(file, "PNG")
    return file.getvalue()


def data_url(frames: Frames, row: int) -> str:
    """Return one frame as it travels: a PNG file in a URL."""
    return f"data:image/png;base64,{base64.b64encode(png(frames, row)).decode('ascii')}"


class Place(NamedTuple):
    """Where a model is asked, and the environment variable with the key, empty for none."""

    address: str
    model: str
    key: str = ""


def where(name: str) -> Place:
    """Return where the model of a name is asked; secrets have no place in an address.

    Examples
    --------
    >>> where("http://localhost:11434/v1#llama3.2-vision:11b")
    Place(address='http://localhost:11434/v1', model='llama3.2-vision:11b', key='')
    """
    address, _, model = name.partition("#")
    key = ""
    if "://" not in name:
        address, model = os.environ.get("OPENAI_BASE_URL") or _SERVICE, name.partition("/")[2]
        key = SERVICE_KEY
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    # An address is not repeated where it may hold a secret.
    scheme, _, rest = address.partition("://")
    plain = f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"
    if "@" in address or (host and (parts.username or parts.query)):
        raise ObserverError(
            "an address holds no user, password or query, for names are stored; put the key into "
            f"an environment variable and name that after the model, as in {plain}#MODEL@key=NAME."
        )
    if not host or parts.scheme not in ("http", "https"):
        raise ObserverError(
            "that is no address; those of servers look like http://localhost:8000/v1."
        )
    if not model.strip():
        example = "openai/MODEL" if key else f"{plain}#MODEL"
        raise ObserverError(f"name the model after the address, as in {example}.")
    return Place(address.rstrip("/"), model, key)


def check(
    name: str,
    *,
    key: str = "",
    price_in: float = math.nan,
    price_out: float = math.nan,
    **others: Any,
) -> None:
    """Say what is wrong with a name, before it is written anywhere; it may hold a secret."""
    where(name)
    if key:
        secret(key)
    if math.isnan(price_in) != math.isnan(price_out):
        raise ObserverError("give both price_in and price_out, in US dollars per million tokens.")

"""What a chat server sent back, as an answer: the words, their probabilities, what they took."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fechner.observers.chat.reading import READER, parse
from fechner.observers.chat.sending import RequestError
from fechner.observers.chat.words import (
    first_answer_token,
    first_token_probabilities,
)
from fechner.observers.questions import Answer, Usage

#: Why a reply may rightly be empty: it was withheld, or all tokens went into thinking.
_MAY_BE_EMPTY = ("content_filter", "length")


class EmptyReplyError(RequestError):
    """A reply without a word."""


def read(
    found: Mapping[str, Any],
    index: int,
    options: Sequence[str],
    *,
    question: str = "",
    prices: tuple[float, float] = (math.nan, math.nan),
    scrub: Callable[[str], str] = str,
    empty_is_a_reply: bool = False,
) -> Answer:
    """Return the answer in what a server sent back.

    Parameters
    ----------
    index
        Of the question.
    question
        What was asked, in words.
    prices
        US dollars per million tokens of questions and of replies; NaN if unknown.
    scrub
        Takes secrets out of the words.
    empty_is_a_reply
        Whether to take a reply without words as one, and not as a fault of the server.

    Examples
    --------
    >>> answer = read({"choices": [{"message": {"content": "Yes."}}]}, 7, ["yes", "no"])
    >>> answer.question, answer.choice, answer.reply
    (7, 0, 'Yes.')
    """
    choice = _first(found.get("choices"))
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise RequestError("the server's answer holds no reply")
    text = scrub(_text(message.get("content")) or _text(message.get("refusal")))
    withheld = choice.get("finish_reason") in _MAY_BE_EMPTY
    if not text.strip() and not withheld and not empty_is_a_reply:
        raise EmptyReplyError("the server's reply is empty")
    # A refusal is an answer, but to another question than ours.
    refused = bool(_text(message.get("refusal")))
    known = _probabilities(choice.get("logprobs"), options)
    return Answer(
        index,
        None if refused else parse(text, options, question),
        probabilities=known[0] if known else None,
        mass=known[1] if known else None,
        reply=text,
        usage=_usage(found.get("usage"), prices),
        reader=None if refused else READER,
        finish=str(choice.get("finish_reason") or ""),
    )


def _first(things: Any) -> Mapping[str, Any]:
    first = things[0] if isinstance(things, list) and things else None
    return first if isinstance(first, Mapping) else {}


def _text(content: Any) -> str:
    """Return words, which some servers send in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _probabilities(logprobs: Any, options: Sequence[str]) -> tuple[tuple[float, ...], float] | None:
    """Return probabilities of the options where the answer begins, and that of any of them.

    Where the answer begins with something else, all are unknown and their mass is 0.
    """
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or not content:
        return None
    try:
        place = first_answer_token([str(each["token"]) for each in content])
        likely = [
            (str(each["token"]), float(each["logprob"]))
            for each in (content[place].get("top_logprobs") or [] if place is not None else [])
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return first_token_probabilities(likely, options)


def _usage(usage: Any, prices: tuple[float, float]) -> Usage:
    if not isinstance(usage, Mapping):
        usage = {}
    asked, said = (_number(usage.get(f"{part}_tokens")) for part in ("prompt", "completion"))
    cost = (asked * prices[0] + said * prices[1]) / 1e6
    if math.isnan(cost) and isinstance(usage.get("cost"), int | float):
        cost = float(usage["cost"])  # some services say it themselves
    return Usage(int(asked), int(said), cost)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0

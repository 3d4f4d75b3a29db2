"""What a chat model sent back, as an answer: the words, their probabilities, what they took."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fechner.observers.chat.reading import READER, answer_start, parse, plain
from fechner.observers.chat.requests import RequestError
from fechner.observers.chat.statements import fold, lexicon
from fechner.observers.questions import Answer, Prompt, Usage

#: Why a reply may rightly be empty: it was withheld, or all tokens went into thinking.
_MAY_BE_EMPTY = ("content_filter", "length")


def read(
    response: Mapping[str, Any],
    number: int,
    prompt: Prompt,
    *,
    prices: tuple[float, float] = (math.nan, math.nan),
    scrub: Callable[[str], str] = str,
    may_be_empty: bool = False,
) -> Answer:
    """Return the answer in a response.

    Parameters
    ----------
    number
        Of the question.
    prices
        US dollars per million tokens of questions and of replies; NaN if unknown.
    scrub
        Takes secrets out of the words.
    may_be_empty
        Whether to take a reply without words as one, and not as a fault of the server.

    Examples
    --------
    >>> answer = read({"choices": [{"message": {"content": "Yes."}}]}, 7, Prompt("Is it?"))
    >>> answer.question, answer.choice, answer.reply
    (7, 0, 'Yes.')
    """
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise RequestError("the server's answer holds no reply")
    refusal = _text(message.get("refusal"))
    text = scrub(_text(message.get("content")) or refusal)
    finish = choice.get("finish_reason")
    if not text.strip() and finish not in _MAY_BE_EMPTY and not may_be_empty:
        raise RequestError("the server's reply is empty")
    probabilities, mass = _probabilities(choice.get("logprobs"), prompt.options) or (None, None)
    return Answer(
        number,
        # A refusal is an answer, but to another question than ours.
        None if refusal else parse(text, prompt.options, prompt.text),
        probabilities,
        mass,
        text,
        _usage(response.get("usage"), prices),
        reader=None if refusal else READER,
        finish=str(finish or ""),
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


def _usage(usage: Any, prices: tuple[float, float]) -> Usage:
    usage = usage if isinstance(usage, Mapping) else {}
    asked, said = (_number(usage.get(f"{part}_tokens")) for part in ("prompt", "completion"))
    cost = (asked * prices[0] + said * prices[1]) / 1e6
    if math.isnan(cost) and isinstance(usage.get("cost"), int | float):
        cost = float(usage["cost"])  # some services say it themselves
    return Usage(int(asked), int(said), cost)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def first_token_probabilities(
    top_logprobs: Iterable[tuple[str, float]], options: Sequence[str]
) -> tuple[tuple[float, ...], float] | None:
    """Return the probability of each option, and that of any of them, from the first token.

    A token counts for the option that it is, or is another word for, or for the only one that it
    begins.

    Parameters
    ----------
    top_logprobs
        The likeliest tokens in the first place of an answer, with natural logarithms of their
        probabilities.

    Examples
    --------
    >>> from math import log
    >>> likely = [("Yes", log(0.5)), (" no", log(0.2)), ("yes", log(0.1)), ("Well", log(0.1))]
    >>> probabilities, mass = first_token_probabilities(likely, ["yes", "no"])
    >>> [round(p, 3) for p in probabilities], round(mass, 3)
    ([0.75, 0.25], 0.8)
    """
    wanted = [plain(option).casefold() for option in options]
    known = lexicon()["words"]
    words = {word: place for place, each in enumerate(wanted) for word in known.get(each, ())}
    masses = [0.0] * len(wanted)
    for token, logprob in top_logprobs:
        bare = _bare(token)
        begun = [place for place, each in enumerate(wanted) if each.startswith(bare)]
        place = wanted.index(bare) if bare in wanted else begun[0] if len(begun) == 1 else None
        place = words.get(fold(bare)) if place is None else place
        if bare and place is not None and not math.isnan(logprob):
            masses[place] += math.exp(logprob)
    mass = math.fsum(masses)
    if not mass > 0:
        return None
    # Servers round, so that masses may add up to a little more than 1.
    return tuple(each / mass for each in masses), min(mass, 1.0)


def first_answer_token(tokens: Sequence[str]) -> int | None:
    """Return the place of the token with which the answer begins, after thinking and decoration.

    Examples
    --------
    >>> first_answer_token(["<think>", "no", "</think>", " **", "Yes"])
    4
    """
    start = answer_start("".join(tokens))
    if start is None:
        return None
    end = 0
    for place, token in enumerate(tokens):
        begin, end = end, end + len(token)
        if end > start and _bare(token[max(0, start - begin) :]):
            return place
    return None


def _bare(token: str) -> str:
    """Return the letters of a token, without what tokenizers and writers put around them."""
    letters = plain(token.replace("▁", " ").replace("Ġ", " ").replace("Ċ", " "))
    return re.sub(r"^\W+|\W+$", "", letters).casefold()

"""From a reply in words to a choice, and from probabilities of words to those of options.

A reply that is none of the options, or more than one, is invalid: nothing is ever guessed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

#: How models mark what they think before they answer, in the brackets of several families.
_THINKING = r"(?:think|thinking|thought|reasoning|reflection)"
_CLOSED = re.compile(rf"[<\[◁]\s*/\s*{_THINKING}\s*[>\]▷]", re.IGNORECASE)
_OPENED = re.compile(rf"[<\[◁]\s*{_THINKING}(?:\s[^>\]▷]*)?[>\]▷]", re.IGNORECASE)

#: Options that are words by themselves: "A pattern is there" does not choose the option "A", but
#: nothing except a name stands before these words.
_ARTICLES = ("a", "i")
_NAMED = r"(?:and|as|because|is|or|since)\b"

#: Neither within a word nor joined to one, as "no" is in "no-one".
_BEFORE, _AFTER = r"(?<!\w)(?<!\w[-'’])", r"(?!\w)(?![-'’]\w)"


def parse(reply: str, options: Sequence[str]) -> int | None:
    """Return which option a reply chooses, or None if it chooses none or several.

    What a model thought aloud is left out. Then the first word counts if it is an option, or else
    the only option that occurs anywhere.

    Examples
    --------
    >>> parse("<think>Maybe no.</think> **Yes.**", ["yes", "no"])
    0
    >>> parse("I can see no pattern.", ["yes", "no"])
    1
    >>> parse("Both yes and no.", ["yes", "no"]) is None
    True
    """
    start = answer_start(reply)
    if start is None:
        return None
    text = _plain(reply[start:])
    wanted = [_plain(option) for option in options]
    # A longer option goes first, for others may be part of it.
    order = sorted(
        (index for index, option in enumerate(wanted) if option), key=lambda i: -len(wanted[i])
    )
    for index in order:
        if _first(text, wanted[index]):
            return index
    found = []
    for index in order:
        text, times = re.subn(_anywhere(wanted[index]), " ", text)
        found += [index] if times else []
    return found[0] if len(found) == 1 else None


def answer_start(reply: str) -> int | None:
    """Return where the answer begins, after all thinking; None if the thinking has no end.

    Examples
    --------
    >>> answer_start("<think>hm</think>no"), answer_start("no"), answer_start("<think>so no")
    (17, 0, None)
    """
    # Templates of chats may hold the opening mark, so that replies only close it.
    ends = [mark.end() for mark in _CLOSED.finditer(reply)]
    start = ends[-1] if ends else 0
    return None if _OPENED.search(reply, start) else start


def first_token_probabilities(
    top_logprobs: Iterable[tuple[str, float]], options: Sequence[str]
) -> tuple[tuple[float, ...], float] | None:
    """Return the probability of each option, and that of any of them, from the first token.

    A token counts for the option that it is, or for the only one that it begins.

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
    wanted = [_plain(option).casefold() for option in options]
    masses = [0.0] * len(wanted)
    for token, logprob in top_logprobs:
        index = _begun(_bare(token), wanted)
        if index is not None and not math.isnan(logprob):
            masses[index] += math.exp(logprob)
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


def _begun(token: str, options: Sequence[str]) -> int | None:
    if not token:
        return None
    if token in options:
        return options.index(token)
    begun = [index for index, option in enumerate(options) if option.startswith(token)]
    return begun[0] if len(begun) == 1 else None


def _bare(token: str) -> str:
    """Return the letters of a token, without what tokenizers and writers put around them."""
    plain = _plain(token.replace("▁", " ").replace("Ġ", " ").replace("Ċ", " "))
    return re.sub(r"^\W+|\W+$", "", plain).casefold()


def _plain(text: str) -> str:
    """Return text without markdown, invisible characters and differences of spelling and space."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(re.sub(r"[*_`~#\\]", " ", text).split())


def _first(text: str, option: str) -> bool:
    """Whether a text begins with an option, whatever punctuation is before it."""
    found = re.match(rf"\W*{re.escape(option)}{_AFTER}", text, re.IGNORECASE)
    if found is None:
        return False
    return len(option) > 1 or not re.match(r"\s+\w", text[found.end() :])


def _anywhere(option: str) -> re.Pattern[str]:
    """Return where an option counts within a text; a letter only in its own case."""
    pattern = _BEFORE + re.escape(option) + _AFTER
    if len(option) > 1:
        return re.compile(pattern, re.IGNORECASE)
    article = rf"(?!\s+(?!{_NAMED})[a-z])" if option.lower() in _ARTICLES else ""
    return re.compile(pattern + article)

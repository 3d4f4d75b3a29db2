"""Where the answer begins in a reply, and from probabilities of its words to those of options."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence

from fechner.observers.chat.statements import fold, lexicon

#: How models mark what they think before they answer, in the brackets of several families.
_THINKING = r"(?:seed:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)"
_CLOSED = re.compile(
    rf"[<\[◁]\s*/\s*{_THINKING}\s*[>\]▷]"
    r"|<\|(?:END_THINKING|end_of_thought)\|>|(?-i:END_THINKING)|<unused95>"
    # Channels of gpt-oss, as they are and after a server took the special tokens out.
    r"|<\|channel\|>\s*final\s*(?:<\|constrain\|>\w+)?\s*<\|message\|>|assistantfinal",
    re.IGNORECASE,
)
_OPENED = re.compile(
    rf"[<\[◁]\s*{_THINKING}(?:\s[^>\]▷]*)?[>\]▷]"
    r"|<\|(?:START_THINKING|begin_of_thought)\|>|(?-i:START_THINKING)|<unused94>"
    r"|<\|channel\|>\s*(?:analysis|commentary)|\A\s*analysis(?-i:[A-Z])",
    re.IGNORECASE,
)


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
    words = lexicon()["words"]
    forms = {word: place for place, each in enumerate(wanted) for word in words.get(each, ())}
    masses = [0.0] * len(wanted)
    for token, logprob in top_logprobs:
        bare = _bare(token)
        index = _begun(bare, wanted)
        index = forms.get(fold(bare)) if index is None else index
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
    letters = plain(token.replace("▁", " ").replace("Ġ", " ").replace("Ċ", " "))
    return re.sub(r"^\W+|\W+$", "", letters).casefold()


def plain(text: str) -> str:
    """Return text without markdown, invisible characters and differences of spelling and space."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(re.sub(r"[*_`~#\\]", " ", text).split())

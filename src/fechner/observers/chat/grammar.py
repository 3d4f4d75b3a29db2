"""What a sentence claims: that something is there, that nothing is, or neither.

A clause is a list of folded words. It has a sign: +1 where it says that there is something ("a
faint pattern is visible"), -1 where it says that there is nothing ("I see no pattern", "the image
is uniform"), 0 where it claims neither, hedges, or claims both.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

#: Marks of the Latin script that `fold` takes away; those of kana stay.
_ACCENTS = re.compile("[\u0300-\u036f]")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
#: Clauses end here; a full stop within a number does not.
_ENDS = re.compile(r"[.!?,;:()\[\]{}\"“”«»—–…|\n。！？、，；：（）「」]+|\s-+\s")
#: A reply as long as this that stops within a sentence was cut off.
_LONG_WORDS = 40

#: What stands for "not only", which denies that there is nothing.
_NOT_ONLY = "notonly"

Clause = list[str]


@cache
def lexicon() -> Mapping[str, Any]:
    """Return the word lists: sets of words, and tuples where the order matters or for phrases."""
    place = resources.files("fechner.observers.chat") / "lexicon.toml"

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: read(each) for key, each in value.items()}
        return frozenset(value.split()) if isinstance(value, str) else tuple(value)

    found: Mapping[str, Any] = read(tomllib.loads(place.read_text("utf-8")))
    return found


def fold(text: str) -> str:
    """Return text in lower case, without accents, markup, invisible signs and apostrophes.

    Examples
    --------
    >>> fold("**Sí**, I don't")
    'si , i do not'
    """
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if c == "\n" or unicodedata.category(c) not in ("Cf", "Cc"))
    text = unicodedata.normalize("NFD", text.casefold())
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
    text = re.sub(r"<\|[^|<>]*\|>|</?[a-z][^<>]*>", "\n", text)
    text = re.sub(r"[*_`~#\\$>]", " ", text)
    text = re.sub(r"\bcannot\b|\bcan[’']?t\b", "can not", text)
    text = re.sub(r"n[’']t\b", " not", text)
    text = re.sub(r"\bnon[- ](?=uniform|flat|homogen)", "non", text)
    text = re.sub(r"[’'‘]|(?<=\w)-(?=\w)", " ", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines()).strip()


@cache
def _tokens() -> re.Pattern[str]:
    """Return what finds words: known ones where a script has no spaces, else runs of letters."""

    def flat(value: Any) -> Collection[str]:
        if isinstance(value, dict):
            return [word for each in value.values() for word in flat(each)]
        return [word for word in value if re.search(f"[{_CJK}]", word)]

    known = sorted(set(flat(lexicon())), key=lambda word: (-len(word), word))
    return re.compile("|".join([*map(re.escape, known), f"[^\\W_{_CJK}]+", f"[{_CJK}]"]))


def tokens(text: str) -> Clause:
    """Return the words of a folded text.

    Examples
    --------
    >>> tokens("图片没有图案"), tokens("non-uniform")
    (['图片', '没有', '图案'], ['non', 'uniform'])
    """
    return _tokens().findall(text)


def clauses(folded: str) -> list[tuple[Clause, str]]:
    """Return the clauses between punctuation, each with the sign that ends it."""
    found: list[tuple[Clause, str]] = []
    start = 0
    for end in [*_ENDS.finditer(folded), None]:
        words = tokens(folded[start : end.start() if end else None])
        if words:
            found.append((words, end[0].strip(" ") if end else ""))
        elif found and end and "?" in end[0]:
            found[-1] = (found[-1][0], "?")
        start = end.end() if end else start
    return found


def without_phrases(folded: str) -> str:
    """Return text without phrases that only look like a no; those of doubt become a hedge.

    Examples
    --------
    >>> without_phrases("there is, no doubt, a pattern"), without_phrases("no idea")
    ('there is, , a pattern', 'perhaps')
    """
    hedges = lexicon()["hedges"]
    for kind, instead in (("certain", ""), ("not_only", _NOT_ONLY), ("unsure", "perhaps")):
        folded = _any_of(hedges[kind]).sub(instead, folded)
    return folded


def refuses(folded: str) -> bool:
    """Whether a reply is about what the model cannot do, or about a picture that is missing."""
    return bool(_any_of(lexicon()["hedges"]["refusals"]).search(folded))


def cut_off(folded: str) -> bool:
    """Whether a long reply stops within a sentence."""
    return len(tokens(folded)) >= _LONG_WORDS and not re.search(r"[.!?)\]}\"”。！？]\s*$", folded)


@cache
def _any_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted(phrases, key=len, reverse=True)
    return re.compile(
        "|".join(
            re.escape(p) if re.search(f"[{_CJK}]", p) else rf"\b{re.escape(p)}\b" for p in longest
        )
    )


def claims(folded: str, subjects: Collection[str] = ()) -> list[tuple[Clause, int]]:
    """Return the clauses of a text that claim something, with their signs.

    Questions are left out. A part without a verb goes on with what is before it: "no lines, dots or
    patterns". ``subjects`` are words for what is asked about, beside those always known.
    """
    words_of = lexicon()["clauses"]
    parts: list[Clause] = []
    closed = True
    for words, end in clauses(folded):
        if "?" in end:
            closed = True
            continue
        # Cut before each of some words.
        cuts = [i for i, w in enumerate(words) if w in ("and", "or", "with", *words_of["breaks"])]
        for start, stop in pairwise(sorted({0, *cuts, len(words)})):
            part = words[start:stop]
            goes_on = not closed and words_of["verbs"].isdisjoint(part)
            goes_on = goes_on and part[0] not in words_of["breaks"]
            if goes_on and parts:
                parts[-1] += part
            else:
                parts.append(part)
            closed = False
        closed = bool(re.search(r"[.!?\n。！？]", end))
    # A word by itself claims nothing.
    signs = [(part, sign(part, subjects)) for part in parts if len(part) > 1]
    return [(part, each) for part, each in signs if each]


def sign(words: Sequence[str], subjects: Collection[str] = ()) -> int:
    """Return what a clause claims.

    Examples
    --------
    >>> [sign(c.split()) for c in ("a faint pattern", "i see no pattern", "it is not uniform")]
    [1, -1, 1]
    >>> [sign(c.split()) for c in ("there might be a pattern", "a dog", "the pattern is not there")]
    [0, 0, -1]
    """
    known = lexicon()
    if not known["hedges"]["words"].isdisjoint(words):
        return 0
    # Places of words that stand for something, or nothing, with their values.
    named = {at: _value(word, subjects) for at, word in enumerate(words)}
    named = {at: value for at, value in named.items() if value}
    # "A uniform pattern" and "plain grey noise" are something.
    targets = {
        at: value
        for at, value in named.items()
        if value > 0 or 1 not in (named.get(at + 1), named.get(at + 2))
    }
    negation = known["negation"]
    before = negation["before"]
    if not negation["portuguese"].isdisjoint(words):
        before = before - {"no"}
    for place, word in enumerate(words):
        if word == _NOT_ONLY:
            targets |= dict.fromkeys((at for at in targets if at > place), 1)
        elif word in negation["absent"]:
            targets = dict.fromkeys(targets, -1) if len(set(targets.values())) == 1 else {}
        elif word in before:
            following = [at for at in targets if at > place]
            if following:
                targets |= {at: -_value(words[at], subjects) for at in following}
            elif targets and place not in targets:
                rest = words[place + 1 : place + 4]
                if rest and before.isdisjoint(rest) and negation["present"].isdisjoint(rest):
                    return 0  # "a pattern that is not regular"
                last = max(targets)
                targets[last] = -_value(words[last], subjects)
    found = set(targets.values())
    return found.pop() if len(found) == 1 else 0


def _value(word: str, subjects: Collection[str]) -> int:
    stems = {word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ly")}
    targets = lexicon()["targets"]
    if stems & targets["something"] or not stems.isdisjoint(subjects):
        return 1
    return -1 if stems & targets["nothing"] else 0


def asks_for(question: str) -> tuple[int, Collection[str]]:
    """Return the sign of what a question asks about, and words for it if it is of no known kind.

    Examples
    --------
    >>> asks_for("Is there a pattern?"), asks_for("Is the image uniform?")
    ((1, ()), (-1, ()))
    >>> asks_for("Does the image differ from uniform grey?")
    (1, ())
    >>> asks_for("Do you see a dog in the image?")
    (1, ('dog',))
    """
    asked = fold(question.partition("?")[0])
    words = [word for word in tokens(asked) if word not in ("if", "whether")]
    found = sign(words)
    named = {_value(word, ()) for word in words}
    # What something is told from, or lies on, is not what is asked for.
    apart = not lexicon()["clauses"]["apart"].isdisjoint(words)
    if named >= {1, -1} or (-1 in named and apart):
        found = 1
    if found or not question:
        return found or 1, ()
    known = lexicon()
    own = known["phrases"]["fillers"] | known["clauses"]["verbs"] | known["clauses"]["asking"]
    return 1, tuple(word for word in words if word not in own and len(word) > 2)

r"""From a reply in words to a choice, and from probabilities of tokens to those of choices.

What a model thought aloud is left out. What it marks as its answer counts first (``\boxed{Yes}``,
``Final answer: no``, ``{"answer": true}``); then a word that is an answer by itself, at the
beginning or as a clause of its own; then what sentences claim, if all claim the same ("There is no
pattern"). A reply that says nothing, or two things, is invalid: nothing is ever guessed.

Yes and no, and first and second, are read in several languages and by the same rules; of other
options the names themselves are looked for.
"""

from __future__ import annotations

import ast
import json
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from fechner.observers.chat import grammar
from fechner.observers.chat.grammar import Clause, claims, fold, lexicon

#: The version of these rules: raised when any reply is read otherwise, and stored with answers.
READER = 2

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

_CALLED = (
    r"(?:answer|response|verdict|respuesta|r[ée]ponse|antwort|resposta|risposta|答案|回答|答え)"
)
_IS = r"(?:\s*(?:would be|should be|is|es|ist|lautet|est|é|è|是|は)\b\s*:?|\s*[:：=]|\s*->)"
#: Where a reply says that its answer follows, the surest first.
_MARKS = (
    re.compile(
        r"boxed\s*\{\s*(?:\\?(?:text|mathrm|textbf|mathbf)\s*\{)?([^{}]*)\}"
        r"|<\s*(?:answer|conclusion|final_answer)\s*>(.*?)(?:<\s*/|$)"
        r"|<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|$)"
        r"|\[\[([^\[\]]*)\]\]",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        rf"(?:final\s+{_CALLED}|{_CALLED}\s+final|final(?=\s*:)|endg[üu]ltige\s+{_CALLED}"
        rf"|{_CALLED}\s+finale|最终{_CALLED}|in conclusion|conclusion(?=\s*:))"
        rf"[*_`\"'\s]*(?:{_IS}|,)?[*_`\s]*([^\n]+)",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<!\w){_CALLED}[*_`\"'\s]*{_IS}[*_`\s]*([^\n]+)", re.IGNORECASE),
)
#: Keys under which JSON holds an answer.
_KEYS = ("answer", "final_answer", "finalanswer", "response", "choice", "result", "label", "class")

#: Options that are words by themselves: "A pattern is there" does not choose the option "A", but
#: nothing except a name stands before these words.
_ARTICLES = ("a", "i")
_NAMED = r"(?:and|as|because|is|or|since)\b"
#: Neither within a word nor joined to one, as "no" is in "no-one".
_BEFORE, _AFTER = r"(?<!\w)(?<!\w[-'’])", r"(?!\w)(?![-'’]\w)"
_NEGATED = r"\b(?:not|isn['’]t|never|rather than|instead of|nor)\s+(?:(?:a|an|the|of)\s+)?$"

#: What stands between options that are only listed, and between those that are both meant.
_OR, _AND = ("/", "|", "or", "oder", "ou", "o", "或", "か"), ("and", "und", "et", "y", "e", "和")
#: Clauses that begin like this go on counting: "First, let me look".
_COUNTING = ("i", "let", "lets", "we")
#: A clause without a claim that names a picture is an answer if it is as short.
_SHORT = 8


def parse(reply: str, options: Sequence[str], question: str = "") -> int | None:
    """Return which option a reply chooses, or None if it chooses none or several.

    Sentences are read as claims about the question; without it, whether there is something.

    Examples
    --------
    >>> yes_no = ["yes", "no"]
    >>> parse("<think>Maybe no.</think> **Yes.**", yes_no), parse("I see no pattern.", yes_no)
    (0, 1)
    >>> parse("There is, no doubt, a visible pattern.", yes_no)
    0
    >>> parse("Yes and no.", yes_no) is None
    True
    """
    start = answer_start(reply)
    if start is None:
        return None
    text = reply[start:]
    own = tuple(fold(option) for option in options)
    reader: _Known | _Named
    if set(own) in ({"yes", "no"}, {"first", "second"}) and len(own) == 2:
        if grammar.refuses(fold(text)):
            return None
        reader = _known(own, question)
    else:
        reader = _Named(tuple(options))
    if chosen := _from_json(text, reader):
        return _only(chosen)
    for mark in _MARKS:
        contents = ["".join(filter(None, found.groups())) for found in mark.finditer(text)]
        if chosen := {reader.text(content) for content in contents} - {None}:
            return _only(chosen)
    return reader.text(text)


def _only(chosen: Collection[int | None]) -> int | None:
    """Return what was chosen if it is one thing."""
    found = set(chosen) - {None}
    return found.pop() if len(found) == 1 else None


def _from_json(text: str, reader: _Known | _Named) -> set[int | None]:
    """Return what the last object in a text chooses, written as JSON or as in Python."""
    found: dict[Any, Any] = {}
    for written in re.finditer(r"\{[^{}]*\}", text):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, TypeError):
                value = read(written[0])
                if isinstance(value, dict):
                    found = value or found
                    break
    pairs = {str(key).casefold(): value for key, value in found.items()}
    answers = {key: value for key, value in pairs.items() if key in _KEYS} or pairs
    return {
        reader.truth(key, value) if isinstance(value, bool) else reader.text(str(value))
        for key, value in answers.items()
        if isinstance(value, bool | str) or (isinstance(value, int) and key in _KEYS)
    } - {None}


class _Known:
    """Reads yes and no, or first and second; ``options`` are folded."""

    def __init__(self, options: tuple[str, ...], question: str) -> None:
        self.options = options
        self.is_yes_no = "yes" in options
        self.asked, self.subjects = grammar.asks_for(question) if self.is_yes_no else (1, ())
        self.words = {word: place for place, option in enumerate(options) for word in forms(option)}
        phrases = lexicon()["phrases"]
        self.phrases = {
            tuple(grammar.tokens(phrase)): place
            for place, option in enumerate(options)
            for phrase in phrases.get(option, ())
        }

    def truth(self, key: str, value: bool) -> int | None:
        if not self.is_yes_no:
            return None
        named = grammar.asks_for(key.replace("_", " "))[0]
        return self.options.index("yes" if value == (named == self.asked) else "no")

    def text(self, text: str) -> int | None:
        folded = _listed(self.options, *_OR).sub(" ", fold(text))
        both = _listed(self.options, *_AND)
        if self.is_yes_no and both.search(folded):
            return None
        folded = both.sub("both", folded)
        folded = re.sub(r"(?m)^\s*\d+[.)]\s+(?=\S+\s+\S)", "", folded)
        folded = grammar.without_phrases(folded)
        parts = grammar.clauses(folded)
        if not self.is_yes_no:
            following = [*(words[0] for words, _ in parts[1:]), ""]
            parts = [
                part
                for part, after in zip(parts, following, strict=False)
                if not (part[1] == "," and len(part[0]) == 1 and after in _COUNTING)
            ]
        # What clauses choose that are an answer by themselves.
        direct: set[int] = set()
        for number, (words, end) in enumerate(parts):
            if "?" not in end:
                direct |= self._whole(words) or self._at_an_end(words, first=number == 0)
        if direct:
            found = _only(direct)
            return None if found is None or self._contradicts(found, parts) else found
        if grammar.cut_off(folded):
            return None
        said = {self._claimed(part, value) for part, value in claims(folded, self.subjects)}
        if not self.is_yes_no:
            said |= {self._mentioned(words) for words, end in parts if "?" not in end}
        return _only(said)

    def _whole(self, words: Clause) -> set[int]:
        """Return what a clause chooses that holds nothing but answers."""
        fillers = lexicon()["phrases"]["fillers"]
        rest = [word for word in words if word in self.words or word not in fillers]
        for phrase in (tuple(words), tuple(rest)):
            if phrase in self.phrases:
                return {self.phrases[phrase]}
        return {self.words[word] for word in rest} if self.words.keys() >= set(rest) else set()

    def _at_an_end(self, words: Clause, *, first: bool) -> set[int]:
        """Return the answer with which a reply begins, or a clause ends."""
        known = lexicon()
        negation = known["negation"]["before"]
        if not self.is_yes_no or set(words) & known["hedges"]["words"]:
            return set()
        after_no = known["clauses"]["after_no"]
        begins = first and words[0] in self.words
        if begins and (words[0] not in negation or words[1] in after_no):
            return {self.words[words[0]]}
        if words[-1] in self.words and negation.isdisjoint(words[:-1]):
            return {self.words[words[-1]]}
        return set()

    def _contradicts(self, found: int, parts: Sequence[tuple[Clause, str]]) -> bool:
        """Whether an answer is followed at once by a claim of the opposite: "Yes, no pattern"."""
        if not self.is_yes_no or len(parts) < 2 or self._whole(parts[0][0]) != {found}:
            return False
        second, end = parts[1]
        if "?" in end or set(second) & lexicon()["clauses"]["concessions"]:
            return False
        said = {self._claimed(*claim) for claim in claims(" ".join(second), self.subjects)}
        return bool(said) and found not in said

    def _claimed(self, words: Clause, value: int) -> int | None:
        """Return what a clause with a sign chooses."""
        if self.is_yes_no:
            return self.options.index("yes" if value == self.asked else "no")
        one = _only([self.words[word] for word in words if word in self.words])
        return one if one is None or value > 0 else 1 - one

    def _mentioned(self, words: Clause) -> int | None:
        """Return the picture that a short clause names without a claim."""
        known = lexicon()
        other = known["negation"]["before"] | known["hedges"]["words"]
        if len(words) > _SHORT or set(words) & other or claims(" ".join(words)):
            return None
        return self._claimed(words, 1)


_known = lru_cache(1024)(_Known)


@cache
def forms(option: str) -> tuple[str, ...]:
    """Return words that are an option by themselves.

    Examples
    --------
    >>> forms("no")[:3], forms("tench")
    (('no', 'nope', 'nah'), ('tench',))
    """
    return tuple(dict.fromkeys((option, *lexicon()["words"].get(option, ()))))


@cache
def _listed(options: tuple[str, ...], *between: str) -> re.Pattern[str]:
    """Return what finds options that are only listed: "yes/no", "the first or the second"."""
    words = [re.escape(word) for option in options for word in forms(option)]
    one = "|".join(sorted(words, key=len, reverse=True))
    joined = "|".join(map(re.escape, between))
    return re.compile(rf"(?<!\w)(?:{one})\s*(?:{joined})\s*(?:the\s+)?(?:{one})(?!\w)")


class _Named:
    """Reads names: letters, classes, labels."""

    def __init__(self, options: tuple[str, ...]) -> None:
        wanted = [plain(option) for option in options]
        # A longer option goes first, for others may be part of it.
        self.wanted = sorted(
            ((index, option) for index, option in enumerate(wanted) if option),
            key=lambda each: -len(each[1]),
        )

    def text(self, text: str) -> int | None:
        text = plain(text)
        rest, found = text, set[int]()
        for index, option in self.wanted:
            pattern = _anywhere(option)
            for each in pattern.finditer(rest):
                if not re.search(_NEGATED, rest[: each.start()], re.IGNORECASE):
                    found.add(index)
            # As long as before, so that places stay.
            rest = pattern.sub(lambda each: "\0" * len(each[0]), rest)
        others = "|".join(re.escape(option) for _, option in self.wanted)
        listed = rf"\s*(?:or|and|/)\s+(?:an?\s+|the\s+)?(?:{others}){_AFTER}"
        for index, option in self.wanted:
            lead = re.match(rf"\W*{re.escape(option)}{_AFTER}", text, re.IGNORECASE)
            after = text[lead.end() :] if lead else ""
            if lead and not (len(option) == 1 and re.match(r"\s+\w", after)):
                return None if re.match(listed, after, re.IGNORECASE) else index
        return _only(found)

    def truth(self, key: str, value: bool) -> None:
        """Choose nothing: true and false are no names."""


def _anywhere(option: str) -> re.Pattern[str]:
    """Return where an option counts within a text; a letter only in its own case."""
    if len(option) > 1:
        plural = "(?:s|es)?" if len(option) > 2 and option[-1:].isalpha() else ""
        return re.compile(_BEFORE + re.escape(option) + plural + _AFTER, re.IGNORECASE)
    article = rf"(?!\s+(?!{_NAMED})[a-z])" if option.lower() in _ARTICLES else ""
    return re.compile(_BEFORE + re.escape(option) + _AFTER + article)


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


def plain(text: str) -> str:
    """Return text without markdown, invisible characters and differences of spelling and space."""
    text = unicodedata.normalize("NFKC", text)
    text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    return " ".join(re.sub(r"[*_`~#\\]", " ", text).split())


def first_token_probabilities(
    top_logprobs: Iterable[tuple[str, float]], options: Sequence[str]
) -> tuple[tuple[float, ...], float] | None:
    """Return the probability of each option, and that of any of them, from the first token.

    A token counts for the option that it is, or is another word for, or for the only one that it
    begins. ``top_logprobs`` are the likeliest tokens in the first place of an answer, with natural
    logarithms of their probabilities.

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

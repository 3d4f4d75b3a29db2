"""Questions about pictures in words, and the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What an observer makes of words: it answers ``questions``, finds which of several ``labels`` fits
#: best, or makes ``nothing`` of them, since it was lifted and judges pictures alone.
Reads = Literal["questions", "labels", "nothing"]


@dataclass(frozen=True)
class Prompt:
    """What is asked of a picture, and the answers to choose from.

    The text is empty where the options are labels. Where something is to be detected, the first
    option says that it is there.
    """

    text: str
    options: tuple[str, ...] = ("yes", "no")


@dataclass(frozen=True)
class Question:
    """A prompt about some of the frames: one, or several to choose from.

    ``repeat`` tells the same question asked again from the first time.
    """

    pictures: tuple[int, ...]
    prompt: Prompt
    repeat: int = 0


@dataclass(frozen=True)
class Usage:
    """What an answer took; the cost is in US dollars, NaN where nobody knows the price."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = float("nan")

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True)
class Answer:
    """What came back.

    Parameters
    ----------
    question
        Its place in the sequence of questions that were asked.
    choice
        Which option was chosen; None if the reply was none of them.
    probabilities, mass
        Of each option, adding up to 1, and that the reply begins with any of them, where known; low
        values mean that the probabilities say little.
    reply, second_reply
        The words as they came, and those to a second question, asked where the first could not be
        read.
    place
        Layer and read-out, of observers that are looked into.
    reader
        Version of the rules by which the choice was read from the words; None where it was not.
    finish
        Why the reply ended, in the server's word: ``stop``, or ``length`` where it was cut off.
    """

    question: int
    choice: int | None
    probabilities: tuple[float, ...] | None = None
    mass: float | None = None
    reply: str = ""
    usage: Usage = Usage()
    place: tuple[int, int] = (0, 0)
    second_reply: str = ""
    reader: int | None = None
    finish: str = ""

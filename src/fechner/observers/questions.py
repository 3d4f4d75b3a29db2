"""Questions about pictures in words, the answers, and the first questions to any observer."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fechner.observers.abilities import Answers
    from fechner.observers.validation import Validation
    from fechner.stimuli import Frames

#: What an observer makes of words: it answers ``questions``, finds which of several ``labels`` fits
#: best, or makes ``nothing`` of them, since it was lifted and judges pictures alone.
Reads = Literal["questions", "labels", "nothing"]


@dataclass(frozen=True)
class Prompt:
    """What is asked of a picture, and the answers to choose from.

    Parameters
    ----------
    text
        The question; empty where the options are labels.
    options
        The answers. Where something is to be detected, the first says that it is there.
    """

    text: str
    options: tuple[str, ...] = ("yes", "no")


@dataclass(frozen=True)
class Question:
    """A prompt about pictures.

    Parameters
    ----------
    pictures
        Which of the frames it is about: one, or several to choose from.
    repeat
        Tells the same question asked again from the first time.
    """

    pictures: tuple[int, ...]
    prompt: Prompt
    repeat: int = 0


@dataclass(frozen=True)
class Usage:
    """What an answer took.

    Parameters
    ----------
    cost
        In US dollars; NaN where nobody knows the price.
    """

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
    probabilities
        Of each option, adding up to 1, where known.
    mass
        Probability that the reply begins with any of the options, where known; low values mean that
        the probabilities say little.
    reply
        The words as they came.
    place
        Layer and read-out, of observers that are looked into.
    second_reply
        The words to a second question, asked where the first reply could not be read.
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


#: What is asked first, by what an observer makes of words.
_FIRST: dict[Reads, Prompt] = {
    "questions": Prompt("Is there a pattern in the image? Respond just yes or no"),
    "labels": Prompt("", ("a picture of a striped pattern", "a plain grey picture")),
    "nothing": Prompt(""),
}
_LONGEST = 60
#: Below this, words other than the options are likelier than them.
_LOW_MASS = 0.5


def ask_first(observer: Answers, frames: Frames, found: Validation) -> None:
    """Ask about a plain grey picture and one full of stripes, and note what comes of it.

    Parameters
    ----------
    frames
        The two pictures, in this order.
    """
    prompt = _FIRST[observer.reads]
    started = time.perf_counter()
    answers = {
        answer.question: answer
        for answer in observer.choose(frames, [Question((row,), prompt) for row in range(2)])
        if answer.place == (0, 0)
    }
    found.seconds_per_picture = (time.perf_counter() - started) / 2
    if len(answers) != 2:
        found.problems.append(f"it answered {len(answers)} of 2 questions")
        return
    found.facts["reads"] = observer.reads
    found.facts["read-outs"] = ", ".join(observer.readouts)
    grey, stripes = (answers[row] for row in range(2))
    for what, answer in (("plain grey", grey), ("stripes", stripes)):
        chosen = "invalid" if answer.choice is None else prompt.options[answer.choice]
        reply = f", by {_quoted(answer.reply)}" if answer.reply else ""
        graded = f", p = {answer.probabilities[0]:.3g}" if answer.probabilities else ""
        found.facts[f"answer to {what}"] = f"{chosen}{reply}{graded}"
        if answer.choice is None:
            found.warnings.append(
                f"its reply {_quoted(answer.reply)} is none of {', '.join(prompt.options)}"
            )
    if grey.choice is not None and grey.choice == stripes.choice:
        found.warnings.append(
            "it gives the same answer to plain grey and to stripes of full contrast "
            f"({prompt.options[grey.choice]})"
        )
    if "probability" in observer.readouts:
        if grey.probabilities is None or stripes.probabilities is None:
            found.warnings.append("it gives no probabilities, though they were asked for")
        else:
            mass = min(1.0 if each.mass is None else each.mass for each in (grey, stripes))
            found.facts["probability of any option"] = f"{mass:.3g}"
            if mass < _LOW_MASS:
                found.warnings.append(
                    f"its first word is one of the options with probability {mass:.2g}"
                )
    usage = grey.usage
    if usage.prompt_tokens:
        found.facts["tokens per question"] = f"{usage.prompt_tokens} + {usage.completion_tokens}"
    if not math.isnan(usage.cost):
        found.facts["cost per question"] = f"{usage.cost:.2g} USD"
    found.facts["time per question"] = f"{found.seconds_per_picture:.2g} s"


def _quoted(reply: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in reply).split())
    return f"'{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}'"

"""The first questions to an observer that answers: whether it replies with what it is asked for."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from fechner.observers.abilities import Answers
from fechner.observers.questions import Answer, Prompt, Question, Reads
from fechner.stimuli import Frames

if TYPE_CHECKING:
    from fechner.observers.validation import Validation

_PROMPTS: dict[Reads, Prompt] = {
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
    prompt = _PROMPTS[observer.reads]
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
    grey, stripes = (answers[row] for row in range(2))
    found.facts["reads"] = observer.reads
    found.facts["read-outs"] = ", ".join(observer.readouts)
    for what, answer in (("plain grey", grey), ("stripes", stripes)):
        found.facts[f"answer to {what}"] = _shown(answer, prompt)
        if answer.choice is None:
            found.warnings.append(
                f"its reply {_quoted(answer.reply)} is none of {', '.join(prompt.options)}"
            )
    if grey.choice is not None and grey.choice == stripes.choice:
        found.warnings.append(
            "it gives the same answer to plain grey and to stripes of full contrast "
            f"({prompt.options[grey.choice]})"
        )
    _look_at_probabilities(observer, (grey, stripes), found)
    usage = grey.usage
    if usage.prompt_tokens:
        found.facts["tokens per question"] = f"{usage.prompt_tokens} + {usage.completion_tokens}"
    if not math.isnan(usage.cost):
        found.facts["cost per question"] = f"{usage.cost:.2g} USD"
    found.facts["time per question"] = f"{found.seconds_per_picture:.2g} s"


def _look_at_probabilities(
    observer: Answers, answers: tuple[Answer, ...], found: Validation
) -> None:
    if "probability" not in observer.readouts:
        return
    if any(answer.probabilities is None for answer in answers):
        found.warnings.append("it gives no probabilities, though they were asked for")
        return
    mass = min(1.0 if answer.mass is None else answer.mass for answer in answers)
    found.facts["probability of any option"] = f"{mass:.3g}"
    if mass < _LOW_MASS:
        found.warnings.append(f"its first word is one of the options with probability {mass:.2g}")


def _shown(answer: Answer, prompt: Prompt) -> str:
    chosen = "invalid" if answer.choice is None else prompt.options[answer.choice]
    reply = f", by {_quoted(answer.reply)}" if answer.reply else ""
    graded = f", p = {answer.probabilities[0]:.3g}" if answer.probabilities else ""
    return f"{chosen}{reply}{graded}"


def _quoted(reply: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in reply).split())
    return f"'{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}'"

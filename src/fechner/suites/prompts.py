"""Prompts: those of a paper, and a user's own."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from fechner.errors import FechnerError
from fechner.observers.questions import Prompt

#: What follows every question.
_ONLY_THAT = "Respond just yes or no"

#: What stands between two labels in a user's list.
_OR = "|"

#: Two pictures, one of which shows something; no paper has these.
PAIRS = (
    Prompt(
        "One of these two images shows a pattern, the other is uniform. Which one shows the "
        "pattern? Respond just first or second",
        ("first", "second"),
    ),
)


class Prompts(NamedTuple):
    """Prompts for observers that answer questions, and for those that match labels."""

    questions: tuple[Prompt, ...]
    labels: tuple[Prompt, ...]


@cache
def published_prompts() -> Prompts:
    """Return the 25 questions and 20 pairs of labels of Hernández-Cámara et al. (2025).

    Examples
    --------
    >>> published_prompts().questions[0].text
    'Is there a pattern on the image? Respond just yes or no'
    >>> published_prompts().labels[0].options
    ('An image with a pattern', 'A flat image')
    """
    place = resources.files("fechner.suites") / "data/hernandez2025_prompts.csv"
    lines = (line for line in place.read_text("utf-8").splitlines() if line[0] != "#")
    rows = list(csv.DictReader(lines))
    return Prompts(
        tuple(_question(row["text"]) for row in rows if row["kind"] == "question"),
        tuple(Prompt("", (row["text"], row["other"])) for row in rows if row["kind"] == "label"),
    )


def read_prompts(path: Path | str) -> tuple[Prompt, ...]:
    """Read a user's list: a question to be answered yes or no, or ``one label | another``, a line.

    Questions are sent as they are. Of two labels the first says that there is something. Empty
    lines and those that begin with # are left out.
    """
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FechnerError(f"the prompts in {path} cannot be read: {why}.") from None
    found = list(parse_prompts(text.splitlines(), str(path)))
    if not found:
        raise FechnerError(f"{path} has no prompts: write one question a line.")
    return tuple(dict.fromkeys(found))


def parse_prompts(lines: Iterable[str], where: str) -> Iterable[Prompt]:
    """Turn lines into prompts.

    Examples
    --------
    >>> [one, two] = parse_prompts(["Do you see dots?", "dots | nothing"], "here")
    >>> one.text, two.options
    ('Do you see dots?', ('dots', 'nothing'))
    """
    for number, line in enumerate(lines, 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        if _OR not in words:
            yield Prompt(words)
            continue
        labels = tuple(part.strip() for part in words.split(_OR))
        if len(labels) != 2 or not all(labels) or labels[0] == labels[1]:
            raise FechnerError(
                f"line {number} of {where} is not two labels with {_OR} between them: '{words}'."
            )
        yield Prompt("", labels)


def open_prompts(given: Any) -> tuple[Prompt, ...]:
    """Return a user's prompts: from a file, from lines, or as they are."""
    if isinstance(given, str | Path):
        return read_prompts(given)
    if all(isinstance(each, Prompt) for each in given):
        return tuple(given)
    return tuple(parse_prompts(given, "the prompts"))


def restored_prompts(stored: Sequence[Mapping[str, Any]]) -> tuple[Prompt, ...]:
    """Return prompts from plain values."""
    return tuple(Prompt(each["text"], tuple(each["options"])) for each in stored)


def chosen_prompts(own: tuple[Prompt, ...] | None) -> Prompts:
    """Return a user's prompts by kind, or the published ones if there are none of their own."""
    if own is None:
        return published_prompts()
    return Prompts(
        tuple(prompt for prompt in own if prompt.text),
        tuple(prompt for prompt in own if not prompt.text),
    )


def _question(text: str) -> Prompt:
    return Prompt(f"{text} {_ONLY_THAT}")

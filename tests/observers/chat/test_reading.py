"""Replies become choices: a table of cases, and the symmetry of yes and no, first and second."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from fechner.observers.chat.reading import READER, parse

QUESTION = "Is there a pattern on the image? Respond just yes or no"

with (Path(__file__).parent / "data" / "replies.csv").open(newline="", encoding="utf-8") as _file:
    CASES = [
        (
            row["style"],
            row["language"],
            tuple(row["options"].split("|")),
            row["reply"],
            row["expected"],
        )
        for row in csv.DictReader(_file)
    ]
STYLES = list(dict.fromkeys(case[0] for case in CASES))


def read(reply: str, options: tuple[str, ...], question: str = QUESTION) -> str:
    found = parse(reply, options, question if "yes" in options else "")
    return "" if found is None else options[found]


def test_there_are_many_cases() -> None:
    languages = Counter(case[1] for case in CASES)
    assert len(CASES) > 700
    assert len(STYLES) >= 15
    assert sum(n >= 15 for n in languages.values()) >= 5
    for style in STYLES:
        mine = {case[4] for case in CASES if case[0] == style}
        # Whatever is to be read has both answers.
        assert mine == {""} or {"yes", "no"} <= mine or "yes" not in mine


@pytest.mark.parametrize("style", STYLES)
def test_cases(style: str) -> None:
    wrong = {
        reply: (read(reply, options), expected)
        for own, _, options, reply, expected in CASES
        if own == style and read(reply, options) != expected
    }
    assert wrong == {}


def test_the_version_is_raised_when_cases_change() -> None:
    assert READER == 2


PAIRS = {"yes": "no", "true": "false"}, {"first": "second", "1": "2"}
MARKED = ["one word", "labelled answer", "reasoning, final answer", "boxed", "thinking", "JSON"]


def swap(reply: str, options: tuple[str, ...]) -> str:
    """Exchange the English words for the two options."""
    pairs = PAIRS["first" in options]
    both = pairs | {other: one for one, other in pairs.items()}

    def other(word: re.Match[str]) -> str:
        found = both[word[0].lower()]
        if word[0].istitle():
            return found.capitalize()
        return found.upper() if word[0].isupper() else found

    return re.sub(rf"\b(?:{'|'.join(both)})\b", other, reply, flags=re.IGNORECASE)


@pytest.mark.parametrize("style", [*MARKED, "two pictures"])
def test_exchanging_the_options_exchanges_the_result(style: str) -> None:
    tried = 0
    for own, language, options, reply, expected in CASES:
        swapped = swap(reply, options)
        if own == style and language == "en" and swapped != reply and "there is" not in reply:
            tried += 1
            assert read(swapped, options) == swap(expected, options), (reply, swapped)
    assert tried > 10


def test_the_order_of_options_does_not_matter() -> None:
    for _, _, options, reply, expected in CASES:
        assert read(reply, options[::-1]) == expected, reply


NOUNS = ("pattern", "structure", "spatial variation", "motif", "noise", "contrast modulation")


@pytest.mark.parametrize(
    ("there", "not_there"),
    [
        ("There is a {}.", "There is no {}."),
        ("There is a {}", "There isn't a {}"),
        ("I see a faint {} on the image.", "I don't see a faint {} on the image."),
        ("A {} is visible.", "No {} is visible."),
        ("The {} is visible.", "The {} is not visible."),
        ("The image shows a {}.", "The image does not show a {}."),
        ("I can detect a {}.", "I cannot detect any {}."),
        ("The image is not uniform.", "The image is uniform."),
        ("Without a doubt, there is a {}.", "Without a doubt, there is no {}."),
    ],
)
@pytest.mark.parametrize("noun", NOUNS)
def test_claims_are_read_as_readily_as_denials(there: str, not_there: str, noun: str) -> None:
    question = f"Is there a {noun} on the image? Respond just yes or no"
    assert read(there.format(noun), ("yes", "no"), question) == "yes"
    assert read(not_there.format(noun), ("yes", "no"), question) == "no"


@pytest.mark.parametrize(
    "question",
    [
        "Does the image differ from uniform grey?",
        "Is this picture different from a blank gray screen?",
        "Can you tell this image apart from a blank one?",
        "Does the image contain more than a plain background?",
        "Is the image anything but a uniform field?",
        "Is there a pattern on the uniform gray background?",
        "Does the image deviate from a uniform field?",
        "Is something visible besides uniform gray?",
        "Is there anything other than uniform gray in the image?",
    ],
)
def test_what_something_is_told_from_is_not_asked_for(question: str) -> None:
    for reply, expected in {
        "I can see a faint texture.": "yes",
        "No pattern can be seen.": "no",
        "The image is uniform gray.": "no",
        "Yes, there is texture.": "yes",
        "No. The image is uniform gray.": "no",
        "There is no visible pattern in the image; it appears uniform gray.": "no",
        "**No**, the image looks completely uniform.": "no",
        "I can't rule out a faint pattern.": "",
        "Y": "yes",
        "N.": "no",
    }.items():
        asked = f"{question} Respond just yes or no."
        assert read(reply, ("yes", "no"), asked) == expected, reply
    assert read("Yes, it is uniform.", ("yes", "no"), "Is the image uniform?") == "yes"
    assert read("I see a pattern.", ("yes", "no"), "Is the image more or less uniform?") == "no"


def test_claims_are_about_the_question() -> None:
    uniform, dog = "Is the image uniform?", "Do you see a dog?"
    options = ("yes", "no")
    assert read("The image is uniform.", options, uniform) == "yes"
    assert read("There is a pattern.", options, uniform) == "no"
    assert read("There is a dog.", options, dog) == "yes"
    assert read("I see no dog.", options, dog) == "no"
    assert read("There is a cat.", options, dog) == ""
    assert read("I see no cat.", options, dog) == ""


def test_an_option_within_another() -> None:
    options = ("no", "no pattern", "")
    assert parse("No pattern.", options) == 1
    assert parse("No.", options) == 0
    assert parse("I see no pattern", options) == 1

"""Replies become choices: a table of cases, and the symmetry of yes and no, first and second."""

import csv
import re
from collections import Counter
from math import log
from pathlib import Path

import pytest

from fechner.observers.chat.reply_parser import (
    READER,
    answer_start,
    first_answer_token,
    first_token_probabilities,
    parse,
)

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


# Tokens

YES_NO = ("yes", "no")
LETTERS = ("A", "B", "C", "D")
CLASSES = ("tench", "golf ball", "French horn", "English springer", "ball")


def test_where_an_answer_begins() -> None:
    assert answer_start("yes") == 0
    assert answer_start("<think>x</think> yes") == 16
    assert answer_start("<think>x") is None
    assert first_answer_token(["\n", " **", "Yes", "**"]) == 2
    assert first_answer_token(["<think>", "no", "</think>\n", "yes"]) == 3
    assert first_answer_token(["<", "think", ">", "no", "</think> yes"]) == 4
    assert first_answer_token(["<think>", "no"]) is None
    assert first_answer_token([" ", "."]) is None
    channels = (
        "<|channel|>analysis<|message|>yes<|end|><|start|>assistant<|channel|>final<|message|>"
    )
    assert answer_start(f"{channels}no") == len(channels)
    assert answer_start("<|channel|>analysis<|message|>yes") is None
    assert answer_start("<seed:think>x</seed:think>no") == 26
    assert first_answer_token([]) is None


def logs(**probabilities: float) -> list[tuple[str, float]]:
    return [(token, log(p)) for token, p in probabilities.items()]


def test_probabilities_add_up_over_spellings() -> None:
    tokens = {"Yes": 0.3, " yes": 0.1, "▁YES": 0.05, "Ġyes": 0.05, "No": 0.2, "Ye": 0.05, "n": 0.05}
    probabilities, mass = first_token_probabilities(logs(**tokens, Perhaps=0.1), YES_NO)
    assert mass == pytest.approx(0.8)
    assert probabilities == pytest.approx((0.55 / 0.8, 0.25 / 0.8))
    assert sum(probabilities) == pytest.approx(1)


@pytest.mark.parametrize(
    ("token", "options", "expected"),
    [
        ("Not", YES_NO, None),
        ("yesterday", YES_NO, None),
        ("", YES_NO, None),
        (" ", YES_NO, None),
        ("**", YES_NO, None),
        ("**Yes", YES_NO, 0),
        ("Sí", YES_NO, 0),
        (" Nein", YES_NO, 1),
        ("是的", YES_NO, 0),
        ("no", ("noise", "no"), 1),  # it is an option
        ("n", ("noise", "no"), None),  # it begins two
        ("noi", ("noise", "no"), 0),
        ("(B", LETTERS, 1),
        ("b", LETTERS, 1),
        (" golf", CLASSES, 1),
        ("g", CLASSES, 1),
        ("b", CLASSES, 4),
    ],
)
def test_which_option_a_token_counts_for(
    token: str, options: tuple[str, ...], expected: int | None
) -> None:
    found = first_token_probabilities([(token, log(0.5))], options)
    if expected is None:
        assert found is None
    else:
        probabilities, mass = found
        assert probabilities[expected] == 1
        assert mass == pytest.approx(0.5)


def test_probabilities_that_are_no_numbers() -> None:
    assert first_token_probabilities([], YES_NO) is None
    assert first_token_probabilities([("yes", float("-inf"))], YES_NO) is None
    assert first_token_probabilities([("yes", float("nan"))], YES_NO) is None
    assert first_token_probabilities([("yes", -9999.0), ("no", 0.0)], YES_NO) == ((0.0, 1.0), 1.0)
    # Rounded up by the server.
    assert first_token_probabilities([("yes", 1e-4)], YES_NO) == ((1.0, 0.0), 1.0)

"""Replies become choices or nothing; probabilities of tokens become those of options."""

from math import log

import pytest

from fechner.observers.answering.words import (
    answer_start,
    first_answer_token,
    first_token_probabilities,
    parse,
)

YES_NO = ("yes", "no")
LETTERS = ("A", "B", "C", "D")
CLASSES = ("tench", "golf ball", "French horn", "English springer", "ball")


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("yes", 0),
        ("No", 1),
        ("YES.", 0),
        ("**Yes.**", 0),
        ("_no_", 1),
        ("`Yes`", 0),
        ("# No\n", 1),
        ("- yes", 0),
        ("“Yes”, there is.", 0),
        ("\u200bYes", 0),
        ("Ｙｅｓ", 0),
        ("\n\n  no  \n", 1),
        ("Yes, although no pattern is obvious.", 0),  # the first word counts
        ("No... yes?", 1),
        ("Answer: Yes", 0),
        ("The answer is **no**.", 1),
        (r"\boxed{yes}", 0),
        ('{"answer": "no"}', 1),
        ("There is no pattern on the image.", 1),
        ("I would say yes. Yes!", 0),
        ("It could be yes or no.", None),
        ("no-one can tell; yes", 0),  # a part of a word is none
        ("Yesterday I saw nothing.", None),
        ("Noise", None),
        ("maybe", None),
        ("", None),
        ("   ", None),
        ("...", None),
        ("Sí", None),
        ("I'm sorry, I can't help with that.", None),
    ],
)
def test_yes_and_no(reply: str, choice: int | None) -> None:
    assert parse(reply, YES_NO) == choice


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("<think>no no no</think>Yes", 0),
        ("<think>\nIs it yes?\n</think>\n\nNo.", 1),
        ("<THINKING>yes</THINKING> no", 1),
        ("<reasoning effort='low'>yes</reasoning> no", 1),
        ("[THINK]yes[/THINK]no", 1),
        ("◁think▷yes◁/think▷no", 1),
        ("the template opened it: yes </think> no", 1),
        ("<think>a</think>yes<think>b</think>no", 1),
        ("<think>Yes", None),  # cut off before the answer
        ("<think>a</think><think>no", None),
        ("<think>yes</think>", None),
        ("<thinking>yes</thinking> I cannot tell.", None),
    ],
)
def test_thinking_is_no_answer(reply: str, choice: int | None) -> None:
    assert parse(reply, YES_NO) == choice


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("A", 0),
        ("b", 1),
        ("(C)", 2),
        ("D.", 3),
        ("**B**", 1),
        ("B) tench", 1),
        ("A: tench", 0),
        ("a. tench", 0),
        ("The answer is B.", 1),
        ("Option D is right.", 3),
        ("A fish on a table.", None),  # an article
        ("It is a C.", 2),
        ("A fish, so B", 1),
        ("A or B", None),
        ("Not A and not B", None),
        ("I think A is right.", 0),
        ("Because", None),
        ("E", None),
    ],
)
def test_letters(reply: str, choice: int | None) -> None:
    assert parse(reply, LETTERS) == choice


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("tench", 0),
        ("A golf ball.", 1),
        ("golf\nball", 1),
        ("golf_ball", 1),
        ("a ball", 4),  # not of golf
        ("The image shows a french horn!", 2),
        ("An English  springer", 3),
        ("golf ball or ball", 1),  # the first words count
        ("either a golf ball or a ball", None),
        ("a horn", None),
        ("a tench and a French horn", None),
    ],
)
def test_names_of_several_words(reply: str, choice: int | None) -> None:
    assert parse(reply, CLASSES) == choice


def test_an_option_within_another() -> None:
    options = ("no", "no pattern", "")
    assert parse("No pattern.", options) == 1
    assert parse("No.", options) == 0
    assert parse("I see no pattern", options) == 1


def test_where_an_answer_begins() -> None:
    assert answer_start("yes") == 0
    assert answer_start("<think>x</think> yes") == 16
    assert answer_start("<think>x") is None
    assert first_answer_token(["\n", " **", "Yes", "**"]) == 2
    assert first_answer_token(["<think>", "no", "</think>\n", "yes"]) == 3
    assert first_answer_token(["<", "think", ">", "no", "</think> yes"]) == 4
    assert first_answer_token(["<think>", "no"]) is None
    assert first_answer_token([" ", "."]) is None
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

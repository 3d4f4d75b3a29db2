"""Where answers begin; probabilities of tokens become those of options."""

from math import log

import pytest

from fechner.observers.chat.reading import answer_start
from fechner.observers.chat.replies import first_answer_token, first_token_probabilities

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

"""Text is plain, fits, and still tells names apart."""

import math
import unicodedata

import pytest

from fechner.report.paper.lettering import fitted, number, plain, units, width_mm, wrapped
from fechner.suites import preset

NAMES = [row.observer for row in preset("cai2025")]
ODD = ["a_$x$^2", "<b>&amp;\\frac{1}{2}", "emoji 👁️‍🗨️ 模型", "line\nbreak\ttab", "x" * 300, "\ud800"]


@pytest.mark.parametrize("text", ODD)
def test_plain_text_has_one_line_and_known_glyphs_only(text: str) -> None:
    result = plain(text)
    assert "\n" not in result
    assert not {unicodedata.category(character) for character in result} & {"Cc", "Cf", "Cs"}
    assert plain(result) == result


def test_plain_text_keeps_what_the_font_has() -> None:
    for text in ("a_$x$^2", "<b>&amp;\\frac{1}{2}", "ελ é ☃ ↑ ²"):
        assert plain(text) == text
    assert plain("e\u0301") == "e\u0301"
    # What joins signs has no place of its own.
    assert plain("😀\ufe0f\u200d模") == "😀�"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-0.5, "−0.5"),
        (0.0001, "0.0001"),
        (1e-5, "10⁻⁵"),
        (99999.0, "99999"),
        (1e5, "10⁵"),
        (-2.5e-7, "−2.5×10⁻⁷"),
        (math.nan, "n/a"),
        (math.inf, "n/a"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(123.4, "123"), (0.0999, "0.1"), (9.99e-6, "10⁻⁵"), (4.857e-05, "4.9×10⁻⁵")]
)
def test_numbers_of_two_digits(value: float, text: str) -> None:
    assert number(value, 2) == text


def test_units_leave_other_words_alone() -> None:
    assert units("l2 of conv2") == "l2 of conv2"


@pytest.mark.parametrize("room", [20.0, 30.0, 45.0])
def test_shortened_names_fit_and_tell_apart(room: float) -> None:
    short = fitted(NAMES, room)
    assert len(set(short)) == len(NAMES)
    assert max(map(width_mm, short)) <= room
    for name, shown in zip(NAMES, short, strict=True):
        assert (shown == name) == (width_mm(name) <= room)
        if shown != name:
            assert "…" in shown


def test_what_is_left_of_a_name_belongs_to_no_other() -> None:
    for name, shown in zip(NAMES, fitted(NAMES, 35), strict=True):
        head, _, tail = shown.partition("…")
        fitting = [each for each in NAMES if each.startswith(head) and each.endswith(tail)]
        assert fitting == [name]


def test_names_are_cut_where_they_do_not_differ() -> None:
    long = "timm/a_very_long_name_patch{}_224.augreg_in21k_ft_in1k".format
    first, second = fitted([long(16), long(8)], 30)
    assert "patch16" in first
    assert "patch8_" in second


def test_same_names_are_numbered() -> None:
    assert fitted(["net", "net", "other"], 40) == ["net (1)", "net (2)", "other"]
    short = fitted(["x" * 300, "x" * 299 + "\N{ZERO WIDTH JOINER}x"], 40)
    assert len(set(short)) == 2
    assert max(map(width_mm, short)) <= 40


def test_two_lines_hold_more() -> None:
    (shown,) = fitted(["timm/vit_small_patch16_224.dino"], 30, lines=2)
    assert shown == "timm/vit_small_\npatch16_224.dino"
    assert fitted(["pixels"], 30, lines=2) == ["pixels"]
    for text in fitted(ODD, 25, lines=2):
        assert text.count("\n") <= 1
        assert all(width_mm(line) <= 25 for line in text.split("\n"))


def test_each_name_may_have_its_own_room() -> None:
    name = "timm/vit_small_patch16_224.dino"
    wide, narrow = fitted([name, name + "x"], [100, 20])
    assert wide == name
    assert width_mm(narrow) <= 20


def test_words_are_wrapped_and_none_is_lost() -> None:
    text = "sensitivity (1 / dkl contrast)"
    assert wrapped(text, 1000) == text
    lines = wrapped(text, 22).split("\n")
    assert " ".join(lines) == text
    assert max(map(width_mm, lines)) <= 22
    assert wrapped("masking-incoherent\N{NO-BREAK SPACE}↑", 20).split("\n")[-1].endswith("t\xa0↑")

"""Figures are written the same everywhere and always, with their fonts."""

import math
import os
import re
import subprocess
import sys
import threading
import unicodedata
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from PIL import Image

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.figures.grid import Cell, draw_grid
from fechner.report.figures.style import (
    CHARACTER_MM,
    check_columns,
    check_path,
    number,
    paper_style,
    plain,
    save,
    shortened,
    units,
    wrapped,
)
from fechner.scores.panels import Axis, Line, Panel
from fechner.suites import preset

X = np.arange(5.0)
PANEL = Panel("kind", "title", Axis("x"), Axis("y"), (Line(X, X, "a_$x$"), Line(X, -X, "b", 1)))

PROGRAM = """
import sys
from fechner.report.figures.style import save
sys.path.append(sys.argv[1])
import test_style
for path in sys.argv[2:]:
    save(test_style.figure(), path)
"""


def figure():
    with paper_style():
        return draw_grid([Cell("a_$x$ ελ", PANEL), Cell("b", PANEL)], 1, 150)


def test_the_same_figure_is_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    there = [tmp_path / f"there.{suffix}" for suffix in ("pdf", "png", "svg")]
    arguments = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), *map(str, there)]
    done = subprocess.run(
        arguments, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "7"}
    )
    assert done.returncode == 0, done.stderr
    for path in there:
        here = save(figure(), tmp_path / f"here{path.suffix}")
        assert here.read_bytes() == path.read_bytes()


def test_fonts_are_in_the_pdf(tmp_path: Path) -> None:
    content = save(figure(), tmp_path / "figure.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert b"DejaVuSans" in content
    assert b"CreationDate" not in content
    left, bottom, width, _ = map(float, re.search(rb"/MediaBox \[(.*?)\]", content)[1].split())
    assert (left, bottom) == (0, 0)
    assert width / 72 * 25.4 == pytest.approx(85, abs=0.01)


def test_an_svg_needs_no_fonts(tmp_path: Path) -> None:
    content = save(figure(), tmp_path / "figure.svg").read_text("utf-8")
    assert "<text" not in content
    assert "font-family" not in content
    assert "<dc:date>" not in content
    width = float(re.search(r'width="([\d.]+)pt"', content)[1])
    assert width / 72 * 25.4 == pytest.approx(85, abs=0.01)


def test_a_png_has_its_resolution(tmp_path: Path) -> None:
    with Image.open(save(figure(), tmp_path / "figure.PNG")) as picture:
        assert picture.width == int(85 / 25.4 * 150)
        assert picture.info["dpi"] == pytest.approx((150, 150), abs=0.1)


def test_settings_of_others_are_neither_used_nor_changed(tmp_path: Path) -> None:
    first = save(figure(), tmp_path / "first.svg").read_bytes()
    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9, "text.parse_math": True}):
        before = dict(matplotlib.rcParams)
        second = save(figure(), tmp_path / "second.svg").read_bytes()
        assert dict(matplotlib.rcParams) == before
    assert second == first
    assert "matplotlib.pyplot" not in sys.modules or not matplotlib.pyplot.get_fignums()


def test_threads_do_not_get_into_each_others_way(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    paths = [tmp_path / f"{number}.svg" for number in range(4)]
    threads = [threading.Thread(target=lambda p=path: save(figure(), p)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({path.read_bytes() for path in paths}) == 1
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["figure", "figure.jpg", "figure.pfd", ".pdf"])
def test_other_formats_are_refused(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"should end in \.pdf, \.png or \.svg"):
        check_path(name)


def test_near_formats_are_offered() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean '\.pdf'\?"):
        check_path("figure.pfd")


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FechnerError, match="cannot be written"):
        save(figure(), tmp_path / "no" / "such" / "figure.pdf")


def test_three_columns_are_refused() -> None:
    with pytest.raises(FechnerError, match="1 or 2 columns wide, not 3"):
        check_columns(3)


# Text

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
    short = shortened(NAMES, room)
    assert len(set(short)) == len(NAMES)
    assert max(map(len, short)) <= room / CHARACTER_MM
    for name, shown in zip(NAMES, short, strict=True):
        assert (shown == name) == ("…" not in shown)


def test_names_are_cut_where_they_do_not_differ() -> None:
    long = "timm/a_very_long_name_patch{}_224.augreg_in21k_ft_in1k".format
    first, second = shortened([long(16), long(8)], 30)
    assert "patch16" in first
    assert "patch8_" in second


def test_words_are_wrapped_and_none_is_lost() -> None:
    text = "sensitivity (1 / dkl contrast)"
    assert wrapped(text, 1000) == text
    lines = wrapped(text, 22).split("\n")
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= 22 / CHARACTER_MM
    assert wrapped("masking-incoherent\N{NO-BREAK SPACE}↑", 20).split("\n")[-1].endswith("t\xa0↑")

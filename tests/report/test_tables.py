"""Text keeps its characters in every format, and tables stand between what is said of them."""

import re
from dataclasses import replace

import pytest
from measured import HOSTILE

from fechner.report.tables import (
    Summary,
    Table,
    as_latex,
    as_markdown,
    latex_row,
    markdown_row,
)

#: What LaTeX prints for each command that may be in a table.
PRINTED = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"$\uparrow$": "↑",
    r"$\downarrow$": "↓",
    r"$\leftarrow$": "←",
    r"$\rightarrow$": "→",
    r"$\times$": "×",
    r"$-$": "−",
    **{f"\\{character}": character for character in "&%$#_{}"},
    "{}": "",
}
TOKEN = re.compile("|".join(re.escape(command) for command in PRINTED) + "|.", re.DOTALL)


def as_printed(latex: str) -> str:
    """Return what is on paper, from the longest commands on; anything that is active fails."""
    printed = ""
    for token in TOKEN.findall(latex):
        assert token in PRINTED or token not in "\\~^&%$#_{}", f"{token} is active in {latex}"
        printed += PRINTED.get(token, token)
    return printed


@pytest.mark.parametrize("character", "\\~^&%$#_{}<>|↑↓←→×−")
def test_every_special_character_is_printed(character: str) -> None:
    for text in (character, f"a{character}b", character * 3, f"{character}{{}}{character}"):
        assert as_printed(as_latex(text)) == text


def test_hostile_text_is_printed() -> None:
    assert as_printed(as_latex(HOSTILE)) == " ".join(HOSTILE.split())


def test_hyphens_stay_hyphens() -> None:
    assert "--" not in as_latex("a--b---c")
    assert as_printed(as_latex("a--b---c")) == "a--b---c"


@pytest.mark.parametrize("first", ["[x]", "*", "[", "*a"])
def test_a_row_does_not_start_with_an_argument_of_the_last(first: str) -> None:
    row = latex_row([first, "0.5 [0.4, 0.6]"])
    assert row == f"{{}}{first} & 0.5 [0.4, 0.6] \\\\"


def test_rows_have_one_line_and_as_many_cells_as_given() -> None:
    cells = [HOSTILE, "a\x00b\nc", "", "|", "\\", "\\|"]
    latex, markdown = latex_row(cells), markdown_row(cells)
    for row in (latex, markdown):
        assert len(row.splitlines()) == 1
        assert "\x00" not in row
    assert len(re.split(r"(?<!\\)&", latex)) == len(cells)
    # A bar that ends a cell has an even number of strokes before it.
    bars = [match for match in re.finditer(r"(\\*)\|", markdown) if len(match[1]) % 2 == 0]
    assert len(bars) == len(cells) + 1


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("vit_small_patch14", "vit_small_patch14"),  # no emphasis within words
        ("__init__", r"\_\_init\_\_"),
        ("blocks.*", r"blocks.\*"),
        ("<script>", r"\<script>"),
        ("[x](javascript:y)", r"[x]\(javascript:y)"),
        ("0.5 [0.4, 0.6]", "0.5 [0.4, 0.6]"),
        ("&lt;", r"\&lt;"),
        ("`a` ~~b~~", r"\`a\` \~\~b\~\~"),
    ],
)
def test_markdown_of(text: str, markdown: str) -> None:
    assert as_markdown(text) == markdown


# Several tables at once

FOUND = Summary(
    [
        Table(["x", "y"], [["1", "a|b"], ["22", "c_d & 5%"]], "First"),
        Table(["z"], [], "Second"),
    ],
    ["a is closer."],
    ["How to read it."],
)


def test_text_has_findings_tables_and_notes_apart() -> None:
    findings, first, second, notes = FOUND.write().strip().split("\n\n")
    assert findings == "- a is closer."
    assert first.splitlines() == ["First", "x   y", "--  --------", "1   a|b", "22  c_d & 5%"]
    assert second.splitlines() == ["Second", "z", "-"]
    assert notes == "How to read it."


def test_markdown() -> None:
    text = FOUND.write("md")
    assert "- a is closer.\n\n**First**\n\n| x | y |\n| --- | --- |\n| 1 | a\\|b |\n" in text
    assert text.endswith("\n\n- How to read it.\n")


def test_latex() -> None:
    text = FOUND.write("latex")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    assert r"\multicolumn{2}{l}{First} \\" in text
    assert r"22 & c\_d \& 5\% \\" in text
    assert r"{\footnotesize\noindent How to read it.\par}" in text


def test_warnings_come_before_everything() -> None:
    warned = replace(FOUND, warnings=["Beware of 5%."])
    assert warned.write() == "Beware of 5%.\n\n" + FOUND.write()
    assert warned.write("md") == "**Beware of 5%.**\n\n" + FOUND.write("md")
    first, rest = warned.write("latex").split("\n\n", 1)
    assert first == r"\noindent\textbf{Beware of 5\%.}\par"
    assert rest == FOUND.write("latex")


def test_nothing_at_all() -> None:
    for format in ("table", "md", "latex"):
        assert Summary([]).write(format) == "\n"


def test_names_on_several_lines_stay_in_their_row() -> None:
    table = Table(["x"], [["c\r\nd"]], "a\nb")
    assert Summary([table]).write() == "a b\nx\n---\nc d\n"

"""Several tables at once, in every way they are written."""

from dataclasses import replace

from fechner.report.comparing.sections import (
    Section,
    Sections,
    correction_note,
    goal_of,
    to_latex,
    to_markdown,
    to_text,
)

FOUND = Sections(
    ["a is closer."],
    [
        Section("First", ["x", "y"], [["1", "a|b"], ["22", "c_d & 5%"]]),
        Section("Second", ["z"], []),
    ],
    ["How to read it."],
)


def test_text_has_findings_tables_and_notes_apart() -> None:
    findings, first, second, notes = to_text(FOUND).strip().split("\n\n")
    assert findings == "- a is closer."
    assert first.splitlines() == ["First", "x   y", "--  --------", "1   a|b", "22  c_d & 5%"]
    assert second.splitlines() == ["Second", "z", "-"]
    assert notes == "How to read it."


def test_markdown() -> None:
    text = to_markdown(FOUND)
    assert "- a is closer.\n\n**First**\n\n| x | y |\n| --- | --- |\n| 1 | a\\|b |\n" in text
    assert text.endswith("\n\n- How to read it.\n")


def test_latex() -> None:
    text = to_latex(FOUND)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    assert r"\multicolumn{2}{l}{First} \\" in text
    assert r"22 & c\_d \& 5\% \\" in text
    assert r"{\footnotesize\noindent How to read it.\par}" in text


def test_warnings_come_before_everything() -> None:
    warned = replace(FOUND, warnings=["Beware of 5%."])
    assert to_text(warned) == "Beware of 5%.\n\n" + to_text(FOUND)
    assert to_markdown(warned) == "**Beware of 5%.**\n\n" + to_markdown(FOUND)
    first, rest = to_latex(warned).split("\n\n", 1)
    assert first == r"\noindent\textbf{Beware of 5\%.}\par"
    assert rest == to_latex(FOUND)


def test_nothing_at_all() -> None:
    for write in (to_text, to_markdown, to_latex):
        assert write(Sections([], [], [])) == "\n"


def test_names_on_several_lines_stay_in_their_row() -> None:
    table = Section("a\nb", ["x"], [["c\r\nd"]])
    assert to_text(Sections([], [table], [])) == "a b\nx\n---\nc d\n"


def test_what_is_said_of_corrections() -> None:
    assert correction_note("bh", 9, "trends") == (
        "p (Benjamini-Hochberg) is corrected for the 9 trends tested."
    )
    assert correction_note("holm", 0, "trends") == "No trends could be tested."
    assert correction_note("holm", 1, "trends").startswith("Only one of the trends")
    assert correction_note("none", 9, "trends") == (
        "The p-values of 9 trends are not corrected for being so many."
    )


def test_what_observers_are_close_to_is_their_suites_best() -> None:
    assert goal_of(["human", "human"]) == "people"
    assert goal_of(["no error", "no error"]) == "no error"
    assert goal_of(["human", "no error"]) == "the best"

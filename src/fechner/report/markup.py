"""Text as it is written in Markdown and LaTeX tables, whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        # In the fonts that LaTeX starts with, these three are other signs.
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "←": r"$\leftarrow$",
        "→": r"$\rightarrow$",
        "×": r"$\times$",
        "−": r"$-$",
    }
)


def as_latex(text: str) -> str:
    r"""Return text for LaTeX: every character stands for itself.

    Examples
    --------
    >>> print(as_latex("50%_~x^2 \\ ↑"))
    50\%\_\textasciitilde{}x\textasciicircum{}2 \textbackslash{} $\uparrow$
    """
    # Two hyphens would become a dash.
    return re.sub("-(?=-)", "-{}", _on_one_line(text).translate(_LATEX))


def latex_row(cells: Sequence[str]) -> str:
    r"""Return a row of a LaTeX table.

    Examples
    --------
    >>> print(latex_row(["a&b", "0.5"]))
    a\&b & 0.5 \\
    """
    text = " & ".join(map(as_latex, cells))
    # After the end of a row these would be an argument of it.
    return ("{}" if text.startswith(("[", "*")) else "") + text + r" \\"


def as_markdown(text: str) -> str:
    r"""Return text for Markdown: no character starts a cell, a tag, a link or an emphasis.

    Examples
    --------
    >>> print(as_markdown("a|b <i> *c* d_e"))
    a\|b \<i> \*c\* d_e
    """
    text = re.sub(r"([\\|<&`*~])", r"\\\1", _on_one_line(text))
    text = re.sub(r"(?<=\])([(\[:])", r"\\\1", text)
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def markdown_row(cells: Sequence[str]) -> str:
    r"""Return a row of a Markdown table.

    Examples
    --------
    >>> print(markdown_row(["a|b", "0.5"]))
    | a\|b | 0.5 |
    """
    return "| " + " | ".join(map(as_markdown, cells)) + " |"


def _on_one_line(text: str) -> str:
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())

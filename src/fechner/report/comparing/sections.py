"""Several tables with what they say: as text, Markdown or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fechner.report.markup import as_latex, as_markdown, latex_row, markdown_row
from fechner.report.tables import aligned, number
from fechner.scores.comparisons import NAMES, Correction

#: What stands where nothing is established.
NOTHING = "·"


@dataclass(frozen=True)
class Section:
    """A table with a heading."""

    heading: str
    header: Sequence[str]
    body: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Sections:
    """What was found in sentences, the tables behind it, and how to read them.

    Parameters
    ----------
    warnings
        What must be known before anything else is read.
    """

    findings: Sequence[str]
    sections: Sequence[Section]
    notes: Sequence[str]
    warnings: Sequence[str] = ()


def goal_of(each_best: Iterable[str]) -> str:
    """Return what observers come close to: people, or what else is best in their suites.

    Examples
    --------
    >>> goal_of(["human", "human"]), goal_of(["human", "no error"])
    ('people', 'the best')
    """
    best = set(each_best)
    return "people" if best <= {"human"} else best.pop() if len(best) == 1 else "the best"


def signed(value: float) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(0.25), signed(-0.25), signed(-0.0001), signed(math.nan)
    ('+0.250', '−0.250', '0.000', 'n/a')
    """
    text = number(value)
    if not text.strip("-0."):
        return text.strip("-")
    return text if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def bracketed(value: float, low: float, high: float, write: Callable[[float], str] = number) -> str:
    """Return a value with its interval, where it has one.

    Examples
    --------
    >>> bracketed(0.5, 0.4, 0.6), bracketed(0.5, math.nan, math.nan)
    ('0.500 [0.400, 0.600]', '0.500')
    """
    if math.isnan(low) or math.isnan(high):
        return write(value)
    return f"{write(value)} [{write(low)}, {write(high)}]"


def p_value(p: float) -> str:
    """Return a p-value as it is printed.

    Examples
    --------
    >>> p_value(0.0321), p_value(1e-5), p_value(1.0), p_value(math.nan)
    ('0.032', '<0.001', '1', 'n/a')
    """
    if math.isnan(p):
        return "n/a"
    if p < 0.001:
        return "<0.001"
    return "1" if p > 0.9995 else f"{p:.3f}"


def p_header(correction: Correction) -> list[str]:
    """Return the columns of p-values.

    Examples
    --------
    >>> p_header("holm"), p_header("none")
    (['p', 'p (Holm)'], ['p'])
    """
    return ["p", *([f"p ({NAMES[correction]})"] if NAMES[correction] else [])]


def p_values(p: float, corrected: float, correction: Correction) -> list[str]:
    """Return the cells of p-values."""
    return [p_value(p), *([p_value(corrected)] if NAMES[correction] else [])]


def correction_note(correction: Correction, tested: int, what: str) -> str:
    """Say how p-values were corrected.

    Parameters
    ----------
    what
        What was tested, in the plural.

    Examples
    --------
    >>> correction_note("holm", 27, "differences")
    'p (Holm) is corrected for the 27 differences tested.'
    """
    if tested == 0:
        return f"No {what} could be tested."
    if tested == 1:
        return f"Only one of the {what} could be tested, so there is nothing to correct for."
    if NAMES[correction]:
        return f"p ({NAMES[correction]}) is corrected for the {tested} {what} tested."
    return f"The p-values of {tested} {what} are not corrected for being so many."


def to_text(found: Sections) -> str:
    """Return everything as plain text."""
    parts = [[_on_one_line(each)] for each in found.warnings]
    parts.append([_on_one_line(f"- {each}") for each in found.findings])
    for section in found.sections:
        rows = [[_on_one_line(cell) for cell in row] for row in (section.header, *section.body)]
        parts.append([_on_one_line(section.heading), *aligned(rows[0], rows[1:])])
    parts.append([_on_one_line(note) for note in found.notes])
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def to_markdown(found: Sections) -> str:
    """Return everything as Markdown."""
    parts = [[f"**{as_markdown(each)}**"] for each in found.warnings]
    parts.append([f"- {as_markdown(each)}" for each in found.findings])
    for section in found.sections:
        rule = markdown_row(["---"] * len(section.header))
        rows = [markdown_row(section.header), rule, *map(markdown_row, section.body)]
        parts.append([f"**{as_markdown(section.heading)}**", "", *rows])
    parts.append([f"- {as_markdown(note)}" for note in found.notes])
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def to_latex(found: Sections) -> str:
    """Return everything as LaTeX (booktabs)."""
    parts = [[rf"\noindent\textbf{{{as_latex(each)}}}\par"] for each in found.warnings]
    parts.append([rf"\noindent {as_latex(each)}\par" for each in found.findings])
    for section in found.sections:
        columns = len(section.header)
        parts.append(
            [
                r"\par\smallskip\noindent",
                rf"\begin{{tabular}}{{{'l' * columns}}}",
                r"\toprule",
                rf"\multicolumn{{{columns}}}{{l}}{{{as_latex(section.heading)}}} \\",
                r"\midrule",
                latex_row(section.header),
                r"\midrule",
                *map(latex_row, section.body),
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )
    below = [rf"{{\footnotesize\noindent {as_latex(note)}\par}}" for note in found.notes]
    parts.append([r"\par\smallskip", *below] if below else [])
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"

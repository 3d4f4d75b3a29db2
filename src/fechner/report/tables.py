"""Tables: text, Markdown and LaTeX for people; CSV, JSON and Parquet for programs.

Whatever is found is a `Summary`: tables with sentences about them, and the rows behind them. Rows
too many for memory are written as frames, one after another (`WRITERS`).
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import IO, TYPE_CHECKING, Any

from fechner.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

#: Formats of a summary.
FORMATS = ("table", "csv", "json", "md", "latex")

#: Data types of columns by name.
Schema = dict[str, str]

#: Rows of a Parquet file that are compressed together.
_ROWS_OF_A_GROUP = 100_000

_ARROW = {
    "str": "string",
    "float64": "float64",
    "Int64": "int64",
    "int64": "int64",
    "boolean": "bool",
    "bool": "bool",
}

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


# Cells


def number(value: float) -> str:
    """Return a score as tables have it.

    Examples
    --------
    >>> number(0.52149), number(math.nan)
    ('0.521', 'n/a')
    """
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def interval(value: float, low: float, high: float, write: Callable[[float], str] = number) -> str:
    """Return a value with its interval, as far as it has one.

    Examples
    --------
    >>> interval(0.5, 0.4, 0.6), interval(0.5, math.nan, math.nan)
    ('0.500 [0.400, 0.600]', '0.500')
    """
    if math.isnan(low) or math.isnan(high):
        return write(value)
    return f"{write(value)} [{write(low)}, {write(high)}]"


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
    """Return a row of a LaTeX table."""
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
    """Return a row of a Markdown table."""
    return "| " + " | ".join(map(as_markdown, cells)) + " |"


def _on_one_line(text: str) -> str:
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())


# For people


@dataclass(frozen=True)
class Table:
    """Cells under a header, with a heading where there are several tables."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    heading: str = ""

    @property
    def text(self) -> list[str]:
        """Its lines, in columns."""
        cells = [[_on_one_line(cell) for cell in row] for row in (self.header, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        cells.insert(1, ["-" * width for width in widths])
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        return [_on_one_line(self.heading), *lines] if self.heading else lines

    @property
    def markdown(self) -> list[str]:
        """Its lines in Markdown."""
        above = [f"**{as_markdown(self.heading)}**", ""] if self.heading else []
        rule = ["---"] * len(self.header)
        return [*above, *map(markdown_row, (self.header, rule, *self.rows))]

    @property
    def latex(self) -> list[str]:
        """Its lines in LaTeX (booktabs)."""
        n = len(self.header)
        title = rf"\multicolumn{{{n}}}{{l}}{{{as_latex(self.heading)}}} \\"
        return [
            *([r"\par\smallskip\noindent"] if self.heading else []),
            rf"\begin{{tabular}}{{{'l' * n}}}",
            r"\toprule",
            *([title, r"\midrule"] if self.heading else []),
            latex_row(self.header),
            r"\midrule",
            *map(latex_row, self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]


@dataclass(frozen=True)
class Summary:
    """What was found: tables with sentences about them, and the rows behind them.

    Parameters
    ----------
    findings
        What the tables say, in sentences.
    notes
        How to read them.
    warnings
        What must be known before anything else is read.
    columns, rows
        Of the CSV.
    details
        What JSON holds, if that is more than the rows.
    """

    tables: Sequence[Table]
    findings: Sequence[str] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    details: Any = None

    def write(self, format: str = "table") -> str:
        """Return everything in one of `FORMATS`."""
        writers = (self._text, self._csv, self._json, self._markdown, self._latex)
        return dict(zip(FORMATS, writers, strict=True))[format]()

    def _text(self) -> str:
        return _paragraphs(
            *([_on_one_line(each)] for each in self.warnings),
            [_on_one_line(f"- {each}") for each in self.findings],
            *(table.text for table in self.tables),
            [_on_one_line(note) for note in self.notes],
        )

    def _markdown(self) -> str:
        return _paragraphs(
            *([f"**{as_markdown(each)}**"] for each in self.warnings),
            [f"- {as_markdown(each)}" for each in self.findings],
            *(table.markdown for table in self.tables),
            [f"- {as_markdown(note)}" for note in self.notes],
        )

    def _latex(self) -> str:
        below = [rf"{{\footnotesize\noindent {as_latex(note)}\par}}" for note in self.notes]
        return _paragraphs(
            *([rf"\noindent\textbf{{{as_latex(each)}}}\par"] for each in self.warnings),
            [rf"\noindent {as_latex(each)}\par" for each in self.findings],
            *(table.latex for table in self.tables),
            [r"\par\smallskip", *below] if below else [],
        )

    def _csv(self) -> str:
        """Return the rows; numbers keep six digits, what cannot be computed is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_cell(row.get(name)) for name in self.columns] for row in self.rows)
        return text.getvalue()

    def _json(self) -> str:
        found = self.rows if self.details is None else self.details
        return json.dumps(_plain(found), indent=2) + "\n"


def _paragraphs(*parts: Sequence[str]) -> str:
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _cell(value: Any) -> str:
    """Return a value as text, a number with six digits; what is missing is empty."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """Return what JSON holds; what cannot be computed is null."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


# For programs


def write_csv(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write CSV; numbers have the digits that read back as the same number, missing is empty."""
    import pandas as pd

    _write(file, [pd.DataFrame(columns=list(columns)).to_csv(index=False, lineterminator="\n")])
    texts = [name for name, kind in columns.items() if kind == "str"]
    flags = [name for name, kind in columns.items() if kind in ("bool", "boolean")]
    for frame in frames:
        words = frame.assign(
            **{name: frame[name].map({True: "true", False: "false"}) for name in flags}
        )
        # Python quotes what holds the end of a line, but other programs end lines otherwise.
        odd = any(frame[name].str.contains("\r", regex=False).any() for name in texts)
        quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
        text = words.to_csv(index=False, header=False, lineterminator="\n", quoting=quoting)
        _write(file, [text])


def write_json(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write a JSON list with a record on each line; missing is null."""
    # JSON has no infinity, but what reads numbers takes these words.
    infinite = {math.inf: "Infinity", -math.inf: "-Infinity"}
    before = "[\n"
    for row in _rows(frames):
        plain = [infinite.get(each, each) if isinstance(each, float) else each for each in row]
        _write(file, [before, json.dumps(dict(zip(columns, plain, strict=True)))])
        before = ",\n"
    _write(file, ["[]\n" if before == "[\n" else "\n]\n"])


def write_parquet(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write Parquet; pandas reads it back with the types it had."""
    import_pyarrow()
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    empty = pd.DataFrame({name: pd.Series([], dtype=kind) for name, kind in columns.items()})
    types = [(name, pa.type_for_alias(_ARROW[kind])) for name, kind in columns.items()]
    schema = pa.schema(types, pa.Schema.from_pandas(empty, preserve_index=False).metadata)
    waiting: list[pa.Table] = []

    def flush() -> None:
        writer.write_table(pa.concat_tables(waiting).combine_chunks())
        waiting.clear()

    with pq.ParquetWriter(file, schema) as writer:
        for frame in frames:
            table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            waiting.append(table.replace_schema_metadata(schema.metadata))
            if sum(map(len, waiting)) >= _ROWS_OF_A_GROUP:
                flush()
        if waiting:
            flush()


def import_pyarrow() -> None:
    """Say what to install if Parquet cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet", "pyarrow is not installed") from error


def write_markdown(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write a Markdown table; numbers have six digits."""
    rule = ["---" if kind == "str" else "---:" for kind in columns.values()]
    rows = ([_cell(value) for value in row] for row in _rows(frames))
    for cells in itertools.chain((list(columns), rule), rows):
        _write(file, [markdown_row(cells), "\n"])


def write_latex(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write a LaTeX table over pages (longtable, booktabs); numbers have six digits."""
    sides = "".join("l" if kind == "str" else "r" for kind in columns.values())
    head = [
        r"% \usepackage{booktabs,longtable}",
        rf"\begin{{longtable}}{{{sides}}}",
        r"\toprule",
        latex_row(list(columns)),
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
    ]
    _write(file, (line + "\n" for line in head))
    _write(file, (latex_row([_cell(value) for value in row]) + "\n" for row in _rows(frames)))
    _write(file, ["\\end{longtable}\n"])


def _rows(frames: Iterable[pd.DataFrame]) -> Iterator[tuple[Any, ...]]:
    """Go through rows as plain Python values, None for what is missing."""
    for frame in frames:
        columns = [frame[name].to_numpy(dtype=object, na_value=None) for name in frame]
        yield from zip(*columns, strict=True)


def _write(file: IO[bytes], texts: Iterable[str]) -> None:
    for text in texts:
        file.write(text.encode())


#: How frames of the same columns are written, by the suffix of the file. CSV, JSON and Parquet keep
#: every bit of every number.
WRITERS: dict[str, Callable[[IO[bytes], Schema, Iterable[pd.DataFrame]], None]] = {
    ".csv": write_csv,
    ".json": write_json,
    ".parquet": write_parquet,
    ".md": write_markdown,
    ".tex": write_latex,
}

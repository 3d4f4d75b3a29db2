"""Tables: text, Markdown and LaTeX for people; CSV, JSON and Parquet for programs.

Whatever is found is a `Summary`: tables with sentences about them, and the rows behind them. Rows
too many for memory are written as frames, one after another (`WRITERS`).
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import IO, Any, NamedTuple

from fechner.arrays import pd
from fechner.errors import MissingExtraError

#: Formats of a summary.
FORMATS = ("table", "csv", "json", "md", "latex")

#: Data types of columns by name.
Schema = dict[str, str]

_ARROW = {"str": "string", "Int64": "int64", "boolean": "bool"}

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


def signed(value: float, digits: str = ".3f") -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(0.25), signed(-0.25), signed(-0.0001), signed(math.nan)
    ('+0.250', '−0.250', '0.000', 'n/a')
    """
    text = f"{value:+{digits}}"
    if not text.strip("+-0."):
        return text[1:]
    return "n/a" if math.isnan(value) else text.replace("-", "−")


def p_value(p: float) -> str:
    """Return a p-value as it is printed.

    Examples
    --------
    >>> p_value(0.0321), p_value(1e-5), p_value(1.0), p_value(math.nan)
    ('0.032', '<0.001', '1', 'n/a')
    """
    if p < 0.001:
        return "<0.001"
    return "1" if p > 0.9995 else number(p)


def as_latex(text: str) -> str:
    r"""Return text for LaTeX: every character stands for itself.

    Examples
    --------
    >>> print(as_latex("50%_~x^2 \\ ↑"))
    50\%\_\textasciitilde{}x\textasciicircum{}2 \textbackslash{} $\uparrow$
    """
    # Two hyphens would become a dash.
    return re.sub("-(?=-)", "-{}", on_one_line(text).translate(_LATEX))


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
    text = re.sub(r"([\\|<&`*~])", r"\\\1", on_one_line(text))
    text = re.sub(r"(?<=\])([(\[:])", r"\\\1", text)
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def markdown_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return "| " + " | ".join(map(as_markdown, cells)) + " |"


def on_one_line(text: str) -> str:
    """Return text without control characters, a space for each run of white space."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())


# For people


@dataclass(frozen=True)
class Table:
    """Cells under a header, with a heading where there are several tables."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    heading: str = ""


def table_of(rows: Sequence[Mapping[str, str]], heading: str = "") -> Table:
    """Return a table with a column for whatever any row has.

    Examples
    --------
    >>> table_of([{"x": "1"}, {"x": "2", "note": "high"}])
    Table(header=['x', 'note'], rows=[['1', ''], ['2', 'high']], heading='')
    """
    header = list(dict.fromkeys(name for row in rows for name in row))
    return Table(header, [[row.get(name, "") for name in header] for row in rows], heading)


def crossed(
    header: Sequence[str], cells: Mapping[tuple[str, ...], Mapping[str, str]], heading: str = ""
) -> Table:
    """Return a table of named rows, with a column for whatever any row has.

    Examples
    --------
    >>> crossed(["who"], {("a",): {"x": "1"}, ("b",): {"y": "2"}}).rows
    [['a', '1', ''], ['b', '', '2']]
    """
    across = list(dict.fromkeys(name for row in cells.values() for name in row))
    rows = [[*names, *(row.get(name, "") for name in across)] for names, row in cells.items()]
    return Table([*header, *across], rows, heading)


def _text_table(table: Table) -> list[str]:
    cells = [[on_one_line(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return [on_one_line(table.heading), *lines] if table.heading else lines


def _markdown_table(table: Table) -> list[str]:
    above = [f"**{as_markdown(table.heading)}**", ""] if table.heading else []
    rule = ["---"] * len(table.header)
    return [*above, *map(markdown_row, (table.header, rule, *table.rows))]


def _latex_table(table: Table) -> list[str]:
    n = len(table.header)
    title = rf"\multicolumn{{{n}}}{{l}}{{{as_latex(table.heading)}}} \\"
    return [
        *([r"\par\smallskip\noindent"] if table.heading else []),
        rf"\begin{{tabular}}{{{'l' * n}}}",
        r"\toprule",
        *([title, r"\midrule"] if table.heading else []),
        latex_row(table.header),
        r"\midrule",
        *map(latex_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]


class _Style(NamedTuple):
    """How text is escaped, and how warnings, findings, notes and tables are written."""

    escape: Callable[[str], str]
    warning: str
    finding: str
    note: str
    table: Callable[[Table], list[str]]


_STYLES = {
    "table": _Style(on_one_line, "{}", "- {}", "{}", _text_table),
    "md": _Style(as_markdown, "**{}**", "- {}", "- {}", _markdown_table),
    "latex": _Style(
        as_latex,
        r"\noindent\textbf{{{}}}\par",
        r"\noindent {}\par",
        r"\par\smallskip{{\footnotesize\noindent {}\par}}",
        _latex_table,
    ),
}


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
        if format == "csv":
            return self._csv()
        if format == "json":
            found = self.rows if self.details is None else self.details
            return json.dumps(_plain(found), indent=2) + "\n"
        style = _STYLES[format]
        parts = [
            *([style.warning.format(style.escape(each))] for each in self.warnings),
            [style.finding.format(style.escape(each)) for each in self.findings],
            *map(style.table, self.tables),
            [style.note.format(style.escape(each)) for each in self.notes],
        ]
        return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"

    def _csv(self) -> str:
        """Return the rows; numbers keep six digits, what cannot be computed is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_cell(row.get(name)) for name in self.columns] for row in self.rows)
        return text.getvalue()


def _cell(value: Any) -> str:
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
    header = pd.DataFrame(columns=list(columns)).to_csv(index=False, lineterminator="\n")
    file.write(header.encode())
    texts = [name for name, kind in columns.items() if kind == "str"]
    flags = [name for name, kind in columns.items() if kind in ("bool", "boolean")]
    for frame in frames:
        words = {name: frame[name].map({True: "true", False: "false"}) for name in flags}
        # Python quotes what holds the end of a line, but other programs end lines otherwise.
        odd = any(frame[name].str.contains("\r", regex=False).any() for name in texts)
        quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
        text = frame.assign(**words).to_csv(
            index=False, header=False, lineterminator="\n", quoting=quoting
        )
        file.write(text.encode())


def write_json(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write a JSON list with a record on each line; missing is null."""
    # JSON has no infinity, but what reads numbers takes these words.
    infinite = {math.inf: "Infinity", -math.inf: "-Infinity"}
    before = "[\n"
    for frame in frames:
        cells = [frame[name].to_numpy(dtype=object, na_value=None) for name in columns]
        for row in zip(*cells, strict=True):
            plain = [infinite.get(each, each) if isinstance(each, float) else each for each in row]
            record = json.dumps(dict(zip(columns, plain, strict=True)))
            file.write((before + record).encode())
            before = ",\n"
    file.write(b"[]\n" if before == "[\n" else b"\n]\n")


def write_parquet(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write Parquet; pandas reads it back with the types it had."""
    import_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    empty = pd.DataFrame({name: pd.Series([], dtype=kind) for name, kind in columns.items()})
    types = [(name, pa.type_for_alias(_ARROW.get(kind, kind))) for name, kind in columns.items()]
    schema = pa.schema(types, pa.Schema.from_pandas(empty, preserve_index=False).metadata)
    with pq.ParquetWriter(file, schema) as writer:
        for frame in frames:
            table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def import_pyarrow() -> None:
    """Say what to install if Parquet cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet", "pyarrow is not installed") from error


#: How frames of the same columns are written, by the suffix of the file, with every bit of every
#: number.
WRITERS: dict[str, Callable[[IO[bytes], Schema, Iterable[pd.DataFrame]], None]] = {
    ".csv": write_csv,
    ".json": write_json,
    ".parquet": write_parquet,
}

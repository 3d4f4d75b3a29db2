"""Frames as files: CSV, JSON, Parquet, Markdown and LaTeX.

Each writer takes the types of the columns first and then frames, one after another, so that a file
may be larger than what fits into memory. CSV, JSON and Parquet keep every bit of every number.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from fechner.errors import MissingExtraError
from fechner.report.exporting.frames import Schema
from fechner.report.markup import latex_row, markdown_row

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are compressed together.
_ROWS_OF_A_GROUP = 100_000

#: JSON has no infinity, but what reads numbers takes these words.
_INFINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}

_ARROW = {
    "str": "string",
    "float64": "float64",
    "Int64": "int64",
    "int64": "int64",
    "boolean": "bool",
    "bool": "bool",
}


def write_csv(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write CSV; numbers have the digits that read back as the same number, missing is empty."""
    _write(file, _csv_lines(columns, frames))


def _csv_lines(columns: Schema, frames: Iterable[pd.DataFrame]) -> Iterator[str]:
    import pandas as pd

    yield pd.DataFrame(columns=list(columns)).to_csv(index=False, lineterminator="\n")
    texts = [name for name, kind in columns.items() if kind == "str"]
    for frame in frames:
        words = frame.copy(deep=False)
        for name, kind in columns.items():
            if kind in ("bool", "boolean"):  # as in the CSV of `fechner scores`
                words[name] = frame[name].map({True: "true", False: "false"})
        # Python quotes what holds the end of a line, but other programs end lines otherwise.
        odd = any(frame[name].str.contains("\r", regex=False).any() for name in texts)
        quoting = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
        yield words.to_csv(index=False, header=False, lineterminator="\n", quoting=quoting)


def write_json(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write a JSON list with a record on each line; missing is null."""
    _write(file, _json_lines(columns, frames))


def _json_lines(columns: Schema, frames: Iterable[pd.DataFrame]) -> Iterator[str]:
    names = list(columns)
    before = "[\n"
    for frame in frames:
        for row in _rows(frame, infinite=_INFINITE):
            yield before + json.dumps(dict(zip(names, row, strict=True)))
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _rows(
    frame: pd.DataFrame, infinite: Mapping[float, str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Go through rows as plain Python values, None for what is missing."""
    columns = []
    for name in frame:
        values = frame[name].to_numpy(dtype=object, na_value=None)
        if infinite and frame[name].isin(list(infinite)).any():
            values = [infinite.get(value, value) for value in values]
        columns.append(values)
    yield from zip(*columns, strict=True)


def write_parquet(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write Parquet; pandas reads it back with the types it had."""
    import_pyarrow()
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    empty = pd.DataFrame({name: pd.Series([], dtype=kind) for name, kind in columns.items()})
    types = [(name, pa.type_for_alias(_ARROW[kind])) for name, kind in columns.items()]
    schema = pa.schema(types, pa.Schema.from_pandas(empty, preserve_index=False).metadata)
    with pq.ParquetWriter(file, schema) as writer:
        for group in _gathered(frames):
            table = pa.Table.from_pandas(group, schema, preserve_index=False)
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def import_pyarrow() -> None:
    """Say what to install if Parquet cannot be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet", "pyarrow is not installed") from error


def _gathered(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Put small frames together."""
    import pandas as pd

    waiting: list[pd.DataFrame] = []
    for frame in frames:
        waiting.append(frame)
        if sum(map(len, waiting)) >= _ROWS_OF_A_GROUP:
            yield pd.concat(waiting, ignore_index=True)
            waiting = []
    if waiting:
        yield pd.concat(waiting, ignore_index=True)


def write_markdown(file: IO[bytes], columns: Schema, frames: Iterable[pd.DataFrame]) -> None:
    """Write a Markdown table; numbers have six digits."""
    rule = ["---" if kind == "str" else "---:" for kind in columns.values()]
    _write(file, (markdown_row(cells) + "\n" for cells in (list(columns), rule)))
    _write(file, (markdown_row(cells) + "\n" for cells in _cells(frames)))


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
    _write(file, (latex_row(cells) + "\n" for cells in _cells(frames)))
    _write(file, ["\\end{longtable}\n"])


def _cells(frames: Iterable[pd.DataFrame]) -> Iterator[list[str]]:
    for frame in frames:
        for row in _rows(frame):
            yield [_cell(value) for value in row]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _write(file: IO[bytes], texts: Iterable[str]) -> None:
    for text in texts:
        file.write(text.encode())


#: How a frame is written, by the suffix of the file.
WRITERS: dict[str, Callable[[IO[bytes], Schema, Iterable[pd.DataFrame]], None]] = {
    ".csv": write_csv,
    ".json": write_json,
    ".parquet": write_parquet,
    ".md": write_markdown,
    ".tex": write_latex,
}

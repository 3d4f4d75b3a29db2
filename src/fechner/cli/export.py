"""``fechner export``: scores and raw answers as files for other programs."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.names import split_names, split_observers


class What(StrEnum):
    """What is exported."""

    scores = "scores"
    responses = "responses"
    surfaces = "surfaces"
    trials = "trials"


def command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        str,
        typer.Option(
            help="File, whose suffix says the format: .csv, .json, .md, .parquet, .tex or .nc; a "
            "folder, for a netCDF file for each observer and test; or - for CSV on stdout."
        ),
    ],
    what: Annotated[
        What | None,
        typer.Option(
            help="`scores` if left out; `responses` are the raw answers that scores are computed "
            "from, `surfaces` those for figures only; netCDF files hold both of these. `trials` "
            "are answers in words: each reply with its test, frequency, contrast and prompt."
        ),
    ] = None,
    observers: Annotated[
        str | None, typer.Option(help="Comma-separated observers; all if left out.")
    ] = None,
    tests: Annotated[
        str | None, typer.Option(help="Comma-separated tests; all if left out.")
    ] = None,
) -> None:
    """Write scores or raw answers of runs as a file for other programs."""
    from fechner.report.export import export
    from fechner.runs import Run

    opened = [Run(folder) for folder in runs]
    written = export(
        opened,
        out,
        what.value if what else None,
        split_observers(observers, {name for run in opened for name in run.observers}),
        split_names(tests),
        tell=lambda line: typer.echo(line, err=True),
        # A bar would run through what is printed on the same terminal.
        progress=not (out == "-" and sys.stdout.isatty()),
    )
    if out != "-":
        typer.echo(written)

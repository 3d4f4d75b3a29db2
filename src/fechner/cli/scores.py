"""``fechner scores``: the scores of a run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Output formats."""

    table = "table"
    layers = "layers"
    checks = "checks"
    csv = "csv"
    json = "json"
    md = "md"
    latex = "latex"


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    format: Annotated[
        Format,
        typer.Option(
            help="Output format; `layers` is a table per observer with every layer in a row, "
            "`checks` what is asked by yes, partly or no."
        ),
    ] = Format.table,
) -> None:
    """Print the scores of a run."""
    from fechner.report.score_tables import format_scores
    from fechner.runs import Run

    found = Run(run)
    results, problems = found.assess(progress=True)
    typer.echo(format_scores(results, format.value), nl=False)
    for line in (*problems, *found.not_asked, *found.warnings):
        typer.echo(line, err=True)

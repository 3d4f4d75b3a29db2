"""``fechner consistency``: whether observers and people err on the same trials."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.names import split_names, split_observers


class Format(StrEnum):
    """Output formats."""

    table = "table"
    csv = "csv"
    json = "json"


def command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of suite `recognition`.")],
    observers: Annotated[
        str | None,
        typer.Option(help="Comma-separated observers, or people; all if left out."),
    ] = None,
    tests: Annotated[
        str | None, typer.Option(help="Comma-separated tests; all if left out.")
    ] = None,
    each_person: Annotated[
        bool,
        typer.Option("--each-person", help="Compare people one by one, too, not only together."),
    ] = False,
    format: Annotated[Format, typer.Option(help="Output format.")] = Format.table,
) -> None:
    """Say whether observers and people err on the same trials, by Cohen's kappa."""
    from fechner.report.consistency import PEOPLE, consistency, summarise_consistency
    from fechner.runs import Run

    opened = [Run(folder) for folder in runs]
    known = {PEOPLE, *(name for run in opened for name in run.observers)}
    found, problems = consistency(
        opened,
        split_names(tests),
        split_observers(observers, known),
        each_person=each_person,
        progress=True,
    )
    typer.echo(summarise_consistency(found).write(format.value), nl=False)
    for line in problems:
        typer.echo(line, err=True)

"""``fechner conditions``: pictures in conditions, all observers and people in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.consistency import Format
from fechner.cli.names import split_observers


def command(
    run: Annotated[
        Path, typer.Argument(help="Run folder of suite `recognition` on pictures in conditions.")
    ],
    observers: Annotated[
        str | None, typer.Option(help="Comma-separated observers; all if left out.")
    ] = None,
    each_person: Annotated[
        bool,
        typer.Option("--each-person", help="List people one by one, too, not only together."),
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw shape bias by category into this PDF, PNG or SVG, too."),
    ] = None,
    format: Annotated[Format, typer.Option(help="Output format.")] = Format.table,
) -> None:
    """Compare observers and people on pictures in conditions, as model-vs-human does."""
    from fechner.report.conditions import (
        condition_figures,
        draw_shape_bias,
        experiments_in,
        summarise_conditions,
    )
    from fechner.runs import Run

    opened = Run(run)
    found, problems = experiments_in(opened, split_observers(observers, opened.observers))
    undefined = 1.0 if opened.options.published else float("nan")
    rows = condition_figures(found, each_person=each_person, undefined=undefined)
    typer.echo(summarise_conditions(rows).write(format.value), nl=False)
    for line in problems:
        typer.echo(line, err=True)
    if figure is not None:
        typer.echo(f"{draw_shape_bias(found, figure)} is written.", err=True)

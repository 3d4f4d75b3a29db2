"""The command line. Every command lives in its own file and loads what it needs when it runs."""

from __future__ import annotations

import sys
from typing import Annotated, ClassVar

import typer

import fechner
from fechner.cli import (
    compare,
    conditions,
    consistency,
    doctor,
    export,
    export_trials,
    fields,
    figure,
    layers,
    listing,
    objects,
    people,
    redundancy,
    report,
    reread,
    run,
    scores,
    serve,
    show,
    validate,
)
from fechner.cli.options import Commands
from fechner.errors import FechnerError


class _Commands(Commands):
    """All commands."""

    of_suites: ClassVar = {"run": run.RUN, "show": show.SHOW}


app = typer.Typer(
    name="fechner",
    cls=_Commands,
    help="Psychophysics for machine vision: show a model what people were shown, "
    "and see how close its answers come.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"fechner {fechner.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take options that belong to no command."""


for _name, _command in _Commands.of_suites.items():
    app.command(_name)(_command.without_flags)
app.command("scores")(scores.command)
app.command("compare")(compare.command)
app.command("report")(report.command)
app.command("reread")(reread.command)
app.command("figure")(figure.command)
app.command("export")(export.command)
app.command("objects")(objects.command)
app.command("people")(people.command)
app.command("export-trials")(export_trials.command)
app.command("consistency")(consistency.command)
app.command("conditions")(conditions.command)
app.command("serve")(serve.command)
app.add_typer(listing.app, name="list")
app.command("layers")(layers.command)
app.command("fields")(fields.command)
app.command("redundancy")(redundancy.command)
app.command("validate")(validate.command)
app.command("doctor")(doctor.command)


def main() -> None:
    """Run the command line; mistakes of the user become one line."""
    try:
        app()
    except FechnerError as error:
        typer.echo(f"fechner: {error}", err=True)
        sys.exit(2)

"""The command line. A command is a module, loaded when it is called."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import fechner
from fechner.cli.commands import Commands
from fechner.errors import FechnerError

app = typer.Typer(
    name="fechner",
    cls=Commands,
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


def main() -> None:
    """Run the command line; mistakes of the user become one line."""
    try:
        app()
    except FechnerError as error:
        typer.echo(f"fechner: {error}", err=True)
        sys.exit(2)

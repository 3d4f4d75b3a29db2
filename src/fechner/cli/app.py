"""The command line. A command is loaded when it is called, or listed."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import fechner
from fechner.cli.options import FlagCommand, as_command
from fechner.errors import FechnerError

#: Where commands are, in the order in which help lists them: the module, and what it has for the
#: command, a function, a `FlagCommand` or a typer app.
COMMANDS = {
    "run": ("run", "run"),
    "scores": ("results", "scores"),
    "compare": ("results", "compare"),
    "report": ("results", "report"),
    "reread": ("results", "reread"),
    "figure": ("figure", "figure"),
    "export": ("results", "export"),
    "objects": ("listing", "objects"),
    "people": ("people", "people"),
    "export-trials": ("people", "export_trials"),
    "consistency": ("results", "consistency"),
    "conditions": ("results", "conditions"),
    "serve": ("serve", "serve"),
    "list": ("listing", "app"),
    "show": ("figure", "show"),
    "layers": ("models", "layers"),
    "fields": ("models", "fields"),
    "redundancy": ("models", "redundancy"),
    "validate": ("models", "validate"),
    "doctor": ("listing", "doctor"),
}


def load(name: str) -> Any:
    """Return what a module has for a command."""
    module, attribute = COMMANDS[name]
    return getattr(importlib.import_module(f"fechner.cli.{module}"), attribute)


class _Commands(TyperGroup):
    """All commands, each made when it is looked up; some take the options of a suite."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        self.commands: Any = dict.fromkeys(COMMANDS)  # their names, in order

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, None if there is none of that name."""
        command = load(cmd_name) if cmd_name in COMMANDS else None
        if isinstance(command, FlagCommand):
            return command.build(cmd_name)
        if isinstance(command, typer.Typer):
            return typer.main.get_command(command)
        return command and as_command(cmd_name, command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments name, with its own arguments."""
        name, *rest = args
        command = load(name) if name in COMMANDS else None
        if isinstance(command, FlagCommand):
            return name, command.for_arguments(name, rest), rest
        return super().resolve_command(ctx, args)


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


def main() -> None:
    """Run the command line; mistakes of the user become one line."""
    try:
        app()
    except FechnerError as error:
        typer.echo(f"fechner: {error}", err=True)
        sys.exit(2)

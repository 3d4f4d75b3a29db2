"""All commands by name, each loaded when it is called or listed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from fechner.cli.options import SuiteCommand, as_command

#: Modules by the names of their commands, in the order in which help lists them. A module has a
#: function, a `SuiteCommand` or a typer app, called ``command``.
MODULES = {
    "run": "run",
    "scores": "scores",
    "compare": "compare",
    "report": "report",
    "reread": "reread",
    "figure": "figure",
    "export": "export",
    "objects": "objects",
    "people": "people",
    "export-trials": "export_trials",
    "consistency": "consistency",
    "conditions": "conditions",
    "serve": "serve",
    "list": "listing",
    "show": "show",
    "layers": "layers",
    "fields": "fields",
    "redundancy": "redundancy",
    "validate": "validate",
    "doctor": "doctor",
}


def load(name: str) -> Any:
    """Return what a module has for a command."""
    return importlib.import_module(f"fechner.cli.{MODULES[name]}").command


class _Loaded(Mapping[str, Any]):
    """Commands by name, made when they are looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in MODULES:
            raise KeyError(name)
        command = load(name)
        if isinstance(command, SuiteCommand):
            return command.build(name)
        if isinstance(command, typer.Typer):
            return typer.main.get_command(command)
        return as_command(name, command)

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class Commands(TyperGroup):
    """All commands; those that take the options of a suite are built for it."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        self.commands: Any = _Loaded()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return their names."""
        return list(MODULES)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments name, with its own arguments."""
        name, *rest = args
        command = load(name) if name in MODULES else None
        if isinstance(command, SuiteCommand):
            return name, command.for_arguments(name, rest), rest
        return super().resolve_command(ctx, args)

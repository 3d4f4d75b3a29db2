"""Flags that derive from dataclasses of options: a suite's own, and those of every run.

Which flags a command has depends on its suite, so such a command is built when its arguments are
known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from fechner.suites.options import Option

#: The suite of commands that name none.
DEFAULT_SUITE = "encoders"


@dataclass(frozen=True)
class SuiteCommand:
    """A command with flags for the options of a suite.

    Parameters
    ----------
    function
        Its parameter ``given`` takes what was set by these flags.
    find
        Returns the suite that arguments name, None if they name none.
    settings
        Whether it has flags for the settings of a run, too.
    """

    function: Callable[..., None]
    find: Callable[[Sequence[str]], str | None]
    settings: bool = False

    def for_arguments(self, name: str, args: Sequence[str]) -> Any:
        """Return the command with the flags of the suite that arguments name."""
        suite_name = self.find(args)
        if suite_name is None and {"-h", "--help"}.isdisjoint(args):
            suite_name = DEFAULT_SUITE
        command = self.build(name, suite_name)
        if suite_name is not None:
            _check_flags(command, suite_name, args)
        return command

    def build(self, name: str, suite_name: str | None = None) -> Any:
        """Return the command with the flags of a suite, or those of every suite if it is None."""
        return as_command(name, _with_flags(self.function, self._flags(suite_name)))

    def _flags(self, suite_name: str | None) -> dict[str, inspect.Parameter]:
        from fechner.suites.base import suite
        from fechner.suites.options import Options, options_of

        found = {name: _parameter(each) for name, each in options_of(Options).items()}
        if suite_name is not None:
            own = suite(suite_name)
            panel = f"Options of suite {own.name}"
            every = options_of(own.options).items()
            found |= {name: _parameter(each, panel) for name, each in every if name not in found}
        if self.settings:
            from fechner.runs.manifest import Settings

            every = options_of(Settings).items()
            found |= {name: _parameter(each, "Computing") for name, each in every}
        return found


def as_command(name: str, function: Callable[..., None]) -> Any:
    """Return a function as a command of the command line."""
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command(name, context_settings={"help_option_names": ["-h", "--help"]})(function)
    return typer.main.get_command(app)


def _check_flags(command: Any, suite_name: str, args: Sequence[str]) -> None:
    """Refuse a flag that a command does not have; another suite may have it."""
    flags = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    names = [flag.removeprefix("--") for flag in flags if flag.startswith("--")]
    for word in args[: args.index("--") if "--" in args else None]:
        flag = word.partition("=")[0]
        if flag.startswith("--") and flag not in (*flags, "--help"):
            from fechner.suites.base import UnknownOptionError, suite

            raise UnknownOptionError(suite(suite_name), flag.removeprefix("--"), names)


def _with_flags(
    function: Callable[..., None], flags: Mapping[str, inspect.Parameter]
) -> Callable[..., None]:
    """Return a function with a parameter for each flag; values that were set are handed on."""
    hints = get_type_hints(function, include_extras=True)
    written = inspect.signature(function).parameters.values()
    own = [each.replace(annotation=hints[each.name]) for each in written if each.name != "given"]

    def command(**values: Any) -> None:
        given = {name: values.pop(name) for name in flags}
        function(**values, given={name: each for name, each in given.items() if each is not None})

    parameters = [*own, *flags.values()]
    command.__doc__ = function.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


def _parameter(option: Option, panel: str | None = None) -> inspect.Parameter:
    """Return a keyword parameter as typer reads them, None where nothing was set."""
    default = option.default
    said = "" if default is None or default is False else f" Default: {option.in_words(default)}."
    about: dict[str, Any] = {"help": option.help + said, "rich_help_panel": panel}
    if option.type is bool:
        kind: Any = bool | None
    else:
        kind = str | None
        words = {int: "INTEGER", float: "NUMBER"}
        about["metavar"] = "|".join(option.choices) or words.get(option.type, "TEXT")
    flag = typer.Option("/".join(option.flags), **about)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, flag],
    )

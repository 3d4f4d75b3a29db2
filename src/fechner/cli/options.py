"""What commands share: how a function becomes a command, arguments, lists of names, tables.

The docstring of a command says what its parameters are. Flags of `fechner run` and `fechner show`
also derive from dataclasses of options, a suite's own and those of every run; which flags such a
command has depends on its suite, so it is built when its arguments are known.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

if TYPE_CHECKING:
    from fechner.observers import Observer
    from fechner.suites.options import Option

#: The suite of commands that name none.
DEFAULT_SUITE = "encoders"

RUN = Annotated[Path, typer.Argument(help="Run folder.")]
OBSERVERS = Annotated[str | None, typer.Option(help="Comma-separated observers; all if left out.")]
TESTS = Annotated[str | None, typer.Option(help="Comma-separated tests; all if left out.")]
FORMAT = Annotated[
    Literal["table", "csv", "json", "md", "latex"], typer.Option(help="Output format.")
]
MODEL = Annotated[str, typer.Argument(help="An observer (`fechner list observers`).")]
LAYERS = Annotated[
    list[str] | None,
    typer.Option(
        "--layer",
        help="Layers like this (`fechner layers`): * stays within dots, ** does not; default: "
        "the observer's stages.",
    ),
]
PPD = Annotated[float, typer.Option(help="Pixels per degree.")]
DISPLAY = Annotated[str, typer.Option(help="Display (`fechner list displays`) or TOML file.")]

#: Flags of commands that look into a model: settings of runs, too.
MODEL_FLAGS = ("weights", "dtype", "trust_remote_code")


def load(name: str, given: dict[str, Any], device: str = "cpu") -> Observer:
    """Make the observer that a name and the flags of models stand for."""
    from fechner.observers.names import check_name, resolve, with_settings
    from fechner.runs.manifest import Settings

    check_name(name)
    given = Settings(**given).changed()
    trust = given.pop("trust_remote_code", False)
    with redirect_stdout(sys.stderr):  # libraries report downloads and more
        return resolve(with_settings(name, given), device=device, trust_remote_code=trust)


def split_names(text: str | None) -> list[str] | None:
    """Return the names in an option, None if it was left out.

    Examples
    --------
    >>> split_names("area, luminance")
    ['area', 'luminance']
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise typer.BadParameter("an empty list: name at least one, or leave the option out.")
    return parts


def split_observers(text: str | None) -> list[str] | None:
    """Return the observers in an option; commas between settings belong to a name.

    Examples
    --------
    >>> split_observers("pixels, timm/resnet50@size=96,normalise=none")
    ['pixels', 'timm/resnet50@size=96,normalise=none']
    """
    if split_names(text) is None or text is None:
        return None
    return [part.strip() for part in re.split(r",(?!\s*\w+=)", text) if part.strip()]


def info(*lines: str) -> None:
    """Print lines on stderr: stdout has only what was asked for."""
    for line in lines:
        typer.echo(line, err=True)


def print_table(rows: Iterable[Mapping[str, str]]) -> None:
    """Print rows, each a cell by the heading of its column."""
    from rich.console import Console
    from rich.table import Table

    # Off a terminal lines are long, so that grep finds whole ones.
    console = Console(width=None if sys.stdout.isatty() else 240)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for row in rows:
        if not table.columns:
            for number, heading in enumerate(row):
                table.add_column(heading, no_wrap=number == 0, overflow="fold")
        table.add_row(*(cell.replace("[", r"\[") for cell in row.values()))
    console.print(table)


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import large libraries without looking for garbage among what they create.

    What they create stays for good, so it is also kept out of every later collection, the one at
    exit included. Saves about half a second of CPU time per command.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def as_command(
    name: str, function: Callable[..., None], flags: Mapping[str, inspect.Parameter] | None = None
) -> Any:
    """Return a function as a command, with the help of its parameters from its docstring.

    Parameters
    ----------
    flags
        More parameters; those that were set are handed on together, as ``given``.
    """
    about, _, described = (inspect.getdoc(function) or "").partition("\n\nParameters\n----------\n")
    parts = re.findall(r"^(\w+)\n((?: .*\n?)+)", described, re.MULTILINE)
    helps = {each: " ".join(text.split()) for each, text in parts}
    hints = get_type_hints(function, include_extras=True)
    parameters = [
        each.replace(annotation=_with_help(each, hints[each.name], helps.get(each.name)))
        for each in inspect.signature(function).parameters.values()
        if each.name != "given"
    ]
    parameters += (flags or {}).values()

    def command(**values: Any) -> None:
        if flags is not None:
            given = {flag: values.pop(flag) for flag in flags}
            values["given"] = {flag: value for flag, value in given.items() if value is not None}
        function(**values)

    command.__doc__ = about
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(command)["__signature__"] = inspect.Signature(parameters)
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command(name, context_settings={"help_option_names": ["-h", "--help"]})(command)
    return typer.main.get_command(app)


def _with_help(parameter: inspect.Parameter, hint: Any, help: str | None) -> Any:
    """Return the type of a parameter with what typer needs to know; flags have no --no- form."""
    kind, *noted = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if noted:
        about = copy(noted[0])
    elif parameter.default is inspect.Parameter.empty:
        about = typer.Argument()
    else:
        name = f"--{parameter.name.replace('_', '-')}"
        about = typer.Option(name) if kind is bool else typer.Option()
    about.help = help or about.help
    return Annotated[kind, about]


@dataclass(frozen=True)
class FlagCommand:
    """A command with flags that derive from options of a suite, or of runs.

    Parameters
    ----------
    function
        Its parameter ``given`` takes what was set by these flags.
    settings
        Which settings of runs it has flags for; None is all.
    find_suite
        Returns the suite that arguments name, if the command has flags for its options.
    """

    function: Callable[..., None]
    settings: Sequence[str] | None = ()
    find_suite: Callable[[Sequence[str]], str | None] | None = None

    def build(self, name: str, suite_name: str | None = None) -> Any:
        """Return the command with the flags of a suite, or those of every suite if it is None."""
        from fechner.runs.manifest import Settings
        from fechner.suites.base import suite
        from fechner.suites.options import Options, options_of

        flags: dict[str, inspect.Parameter] = {}
        if self.find_suite is not None:
            flags |= {each.name: _parameter(each) for each in options_of(Options).values()}
        if suite_name is not None:
            own = suite(suite_name)
            panel = f"Options of suite {own.name}"
            for each in options_of(own.options).values():
                flags.setdefault(each.name, _parameter(each, panel))
        for each in options_of(Settings).values():
            if self.settings is None or each.name in self.settings:
                flags[each.name] = _parameter(each, "Computing" if self.find_suite else None)
        return as_command(name, self.function, flags)

    def for_arguments(self, name: str, args: Sequence[str]) -> Any:
        """Return the command with the flags of the suite that arguments name.

        A flag that it does not have is refused here, since another suite may have it.
        """
        if self.find_suite is None:
            return self.build(name)
        suite_name = self.find_suite(args)
        if suite_name is None and not {"-h", "--help"}.isdisjoint(args):
            return self.build(name)
        suite_name = suite_name or DEFAULT_SUITE
        command = self.build(name, suite_name)
        known = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
        for word in itertools.takewhile(lambda word: word != "--", args):
            flag = word.partition("=")[0]
            if flag.startswith("--") and flag not in (*known, "--help"):
                from fechner.suites.base import UnknownOptionError, suite

                names = [each.removeprefix("--") for each in known if each.startswith("--")]
                raise UnknownOptionError(suite(suite_name), flag.removeprefix("--"), names)
        return command


def _parameter(option: Option, panel: str | None = None) -> inspect.Parameter:
    """Return an option as a keyword parameter as typer reads them, None where nothing was set."""
    default = option.default
    bounds = f" {option.bounds[0].upper()}{option.bounds[1:]}." if option.bounds else ""
    said = "" if default is None or default is False else f" Default: {option.in_words(default)}."
    about: dict[str, Any] = {"help": option.help + bounds + said, "rich_help_panel": panel}
    kind: Any = bool
    if option.type is not bool:
        kind = str
        words = {int: "<int>", float: "<float>"}
        about["metavar"] = "|".join(option.choices) or words.get(option.type, "<str>")
    flag = typer.Option("/".join(option.flags), **about)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(
        option.name, keyword, default=None, annotation=Annotated[kind | None, flag]
    )

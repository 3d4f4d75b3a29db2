"""What commands share: arguments, names in lists, tables on the screen, options of suites.

Flags of `fechner run` and `fechner show` derive from dataclasses of options: a suite's own, and
those of every run. Which flags such a command has depends on its suite, so it is built when its
arguments are known.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from fechner.observers import Observer
    from fechner.suites.options import Option

#: The suite of commands that name none.
DEFAULT_SUITE = "encoders"

Format = StrEnum("Format", "table csv json md latex")
Precision = StrEnum("Precision", "float32 float64 bfloat16 float16")

RUN = Annotated[Path, typer.Argument(help="Run folder.")]
OBSERVERS = Annotated[str | None, typer.Option(help="Comma-separated observers; all if left out.")]
TESTS = Annotated[str | None, typer.Option(help="Comma-separated tests; all if left out.")]
FORMAT = Annotated[Format, typer.Option(help="Output format.")]
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
WEIGHTS = Annotated[
    Path | None,
    typer.Option(
        help="Weights for the observer named, instead of its own: safetensors, or a torch file "
        "that holds tensors only."
    ),
]
DTYPE = Annotated[
    Precision | None,
    typer.Option(help="Precision of networks; differences near threshold need float32."),
]
TRUST = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that comes with weights (torch.hub, hub)."),
]


def load(
    name: str, weights: Path | None, dtype: Precision | None, trust: bool, device: str = "cpu"
) -> Observer:
    """Make the observer that a name and the options stand for."""
    from fechner.observers.names import check_name, resolve, with_settings

    check_name(name)
    given = {"weights": weights, "dtype": dtype and dtype.value}
    settings = {key: str(value) for key, value in given.items() if value}
    with redirect_stdout(sys.stderr):  # libraries report downloads and more
        return resolve(with_settings(name, settings), device=device, trust_remote_code=trust)


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


def split_observers(text: str | None, known: Collection[str] = ()) -> list[str] | None:
    """Return the observers in an option, whose names may hold commas themselves.

    Commas belong to a name between its settings, and wherever they do in one that is ``known``.

    Examples
    --------
    >>> split_observers("pixels, timm/resnet50@size=96,normalise=none")
    ['pixels', 'timm/resnet50@size=96,normalise=none']
    >>> split_observers("mine, yours,pixels", known={"mine, yours"})
    ['mine, yours', 'pixels']
    """
    if split_names(text) is None or text is None:
        return None
    parts = text.split(",")
    names = []
    while parts:
        joined = [(",".join(parts[:end]), end) for end in range(len(parts), 0, -1)]
        spellings = ((name, end) for each, end in joined for name in (each, each.strip()))
        settings = itertools.takewhile(re.compile(r"\s*\w+=").match, parts[1:])
        last = 1 + len(list(settings))
        otherwise = (",".join(parts[:last]).strip(), last)
        name, end = next((found for found in spellings if found[0] in known), otherwise)
        names += [name] if name else []
        parts = parts[end:]
    return names


def info(*lines: str) -> None:
    """Print lines on stderr: stdout has only what was asked for."""
    for line in lines:
        typer.echo(line, err=True)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a header."""
    from rich.console import Console
    from rich.table import Table

    # Off a terminal lines are long, so that grep finds whole ones.
    console = Console(width=None if sys.stdout.isatty() else 240)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(header):
        table.add_column(name, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
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
    bounds = f" {option.bounds[0].upper()}{option.bounds[1:]}." if option.bounds else ""
    said = "" if default is None or default is False else f" Default: {option.in_words(default)}."
    about: dict[str, Any] = {"help": option.help + bounds + said, "rich_help_panel": panel}
    if option.type is bool:
        kind: Any = bool | None
    else:
        kind = str | None
        words = {int: "<int>", float: "<float>"}
        about["metavar"] = "|".join(option.choices) or words.get(option.type, "<str>")
    flag = typer.Option("/".join(option.flags), **about)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, flag],
    )

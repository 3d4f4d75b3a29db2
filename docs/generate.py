"""Write the pages that follow from the code: `python docs/generate.py`.

``cli.md`` is the help of every command, ``bibliography.md`` the references, ``manipulations.md``
what can be done to pictures. They are kept with the other pages, so that they can be read on a code
host; `tests/docs` says when they are out of date.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from fechner.cli.app import app
from fechner.cli.run import run
from fechner.references import reference, references
from fechner.stimuli.manipulations import MANIPULATIONS
from fechner.stimuli.objects import OBJECT_MANIPULATIONS
from fechner.suites import suites

HERE = Path(__file__).parent
COMMAND = "python docs/generate.py"
_NOTE = f"<!-- Written by `{COMMAND}`; do not edit. -->"


def cli_page() -> str:
    """Return the help of all commands as Markdown."""
    root = typer.main.get_command(app)
    lines = ["# Command line", "", _NOTE, "", _markdown(root.help), ""]
    lines += ["`fechner --version` shows the version; every command has `--help`.", ""]
    for words, command in _commands(("fechner",), root):
        lines += _command(" ".join(words), command)
        if words == ("fechner", "run"):
            for suite in suites():
                lines += _of_suite(suite, run.build("run", suite), command)
    return "\n".join(lines).rstrip() + "\n"


def _commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Go through the tree of commands, leaves only, in the order in which help lists them."""
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    for name in command.list_commands(None):
        yield from _commands((*words, name), command.get_command(None, name))


def _command(name: str, command: Any) -> Iterator[str]:
    kinds = inspect.signature(command.callback, eval_str=True).parameters
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.opts == [each.name]]
    options = [each for each in shown if each not in arguments and each.name != "help"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *map(_argument, arguments)])
    yield from (f"## `{name}`", "", _markdown(command.help), "")
    yield from ("```text", usage, "```", "")
    if arguments:
        yield from ("| argument | |", "|---|---|")
        yield from (f"| `{_argument(each)}` | {_help(each, kinds)} |" for each in arguments)
        yield ""
    if options:
        yield from ("| option | |", "|---|---|")
        yield from (f"| `{_option(each, kinds)}` | {_help(each, kinds)} |" for each in options)
        yield ""


def _of_suite(suite: str, command: Any, general: Any) -> Iterator[str]:
    """Go through the options that a command has for one suite only."""
    kinds = inspect.signature(command.callback, eval_str=True).parameters
    known = {each.name for each in general.params}
    own = [each for each in command.params if each.name not in known]
    yield from (f"### `fechner run --suite {suite}`", "", "| option | |", "|---|---|")
    yield from (f"| `{_option(each, kinds)}` | {_help(each, kinds)} |" for each in own)
    yield ""


def _argument(argument: Any) -> str:
    many = "..." if argument.nargs == -1 else ""
    word = (argument.metavar or argument.name.upper()).removesuffix("...") + many
    return word if argument.required else f"[{word}]"


def _kind(parameter: Any, kinds: Any) -> Any:
    """Return the type that an option's value has, without None, lists and typer's notes."""
    kind = kinds[parameter.name].annotation
    while get_args(kind) and get_origin(kind) is not Literal:
        (kind, *_) = [each for each in get_args(kind) if each is not type(None)]
    return kind


def _option(option: Any, kinds: Any) -> str:
    names = "/".join([*option.opts, *option.secondary_opts])
    kind = _kind(option, kinds)
    words = {int: "NUMBER", float: "NUMBER", Path: "PATH"}
    word = "CHOICE" if get_origin(kind) is Literal else option.metavar or words.get(kind, "TEXT")
    word = word.replace("|", r"\|")
    return names if kind is bool else f"{names} {word}"


def _markdown(text: str | None) -> str:
    """Return help on one line, its signs kept from being read as Markdown outside of code."""
    parts = inspect.cleandoc(text or "").replace("\n", " ").split("`")
    parts[::2] = [re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts).replace("|", r"\|")


def _help(parameter: Any, kinds: Any) -> str:
    kind, default = _kind(parameter, kinds), parameter.default
    parts = [_markdown(parameter.help)]
    if get_origin(kind) is Literal:
        parts.append("One of " + ", ".join(f"`{each}`" for each in get_args(kind)) + ".")
    if default not in (None, False, (), []) and not callable(default):
        parts.append(f"Default: `{default}`.")
    if parameter.required and parameter.opts != [parameter.name]:
        parts.append("Required.")
    if getattr(parameter, "multiple", False):
        parts.append("May be given several times.")
    return " ".join(part for part in parts if part)


def bibliography_page() -> str:
    """Return all references as Markdown; each has its key for a heading, to link to."""
    lines = ["# References", "", _NOTE, ""]
    lines += ["Every formula and every data set names its source by one of these keys.", ""]
    for key, work in references().items():
        text = work.text
        if work.doi:
            text = text.replace(f"doi:{work.doi}", f"[doi:{work.doi}](https://doi.org/{work.doi})")
        lines += [f"## {key}", "", text, ""]
    return "\n".join(lines).rstrip() + "\n"


def manipulations_page() -> str:
    """Return all manipulations as Markdown."""
    lines = ["# Manipulations", "", _NOTE, ""]
    lines += [
        "A manipulation takes a picture away from itself; its level is the distance, in a unit of "
        "its own, and level 0 is the picture itself to the bit. Tests of the suite "
        "[`recognition`](recognition.md) are named after it: `mafc-blur`, `2afc-blur`.",
        "",
    ]
    for title, every in (
        ("Of pictures", MANIPULATIONS.values()),
        ("Of 3D objects", OBJECT_MANIPULATIONS.values()),
    ):
        lines += [f"## {title}", "", "| name | level | from | to | a picture | source |"]
        lines += ["|---|---|---|---|---|---|"]
        lines += [
            f"| `{each.name}` | {each.axis} | {each.range[0]:g} | {each.range[1]:g} | "
            f"{_markdown(each.words)} | [{reference(each.reference).short}]"
            f"(bibliography.md#{each.reference}) |"
            for each in every
        ]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "bibliography.md": bibliography_page,
    "manipulations.md": manipulations_page,
}

if __name__ == "__main__":
    for page, make in PAGES.items():
        (HERE / page).write_text(make(), encoding="utf-8")

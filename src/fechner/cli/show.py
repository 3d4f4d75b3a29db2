"""``fechner show``: what a suite looks like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fechner.cli.names import split_names
from fechner.cli.options import SuiteCommand


def _show(
    suite: Annotated[str, typer.Argument(help="Suite, e.g. encoders, or path/to/file.py:NAME.")],
    tests: Annotated[
        str | None,
        typer.Option(help="Comma-separated tests of the suite, or patterns; all if left out."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="PNG to write; default: SUITE.png.")] = None,
    *,
    given: dict[str, Any],
) -> None:
    """Write a contact sheet of a suite's stimuli as a PNG."""
    from fechner.errors import FechnerError
    from fechner.report.contact_sheet import contact_sheet
    from fechner.suites.base import suite as find_suite

    own = find_suite(suite)
    chosen = own.find_tests(own.choose(given), split_names(tests))
    path = out or Path(f"{own.name}.png")
    if path.suffix.lower() != ".png":
        raise FechnerError(f"'{path.name}' should end in .png, which is what is written.")
    sheet = contact_sheet([test.gallery or test.experiment for test in chosen])
    try:
        sheet.save(path, format="PNG")
    except OSError as error:
        raise FechnerError(f"{path} cannot be written: {error}.") from error
    typer.echo(f"{path}: {sheet.width} x {sheet.height} px, {len(chosen)} tests")


def _suite_in(args: Sequence[str]) -> str | None:
    """Return the suite among arguments: the first word that is no flag and looks like one."""
    from fechner.python_files import is_python_file
    from fechner.suites.base import suites

    words = [word for word in args if not word.startswith("-")]
    known = (word for word in words if is_python_file(word) or word in suites())
    return next(known, words[0] if words else None)


command = SuiteCommand(_show, _suite_in)

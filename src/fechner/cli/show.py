"""``fechner show``: what a suite looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.asking import IMAGES
from fechner.cli.names import DISPLAY, split_names
from fechner.cli.pictures import OBJECTS


def command(
    suite: Annotated[str, typer.Argument(help="Suite, e.g. encoders.")],
    tests: Annotated[
        str | None,
        typer.Option(help="Comma-separated tests of the suite, or patterns; all if left out."),
    ] = None,
    published: Annotated[bool, typer.Option("--published", help="As published.")] = False,
    display: DISPLAY = None,
    images: IMAGES = None,
    objects: OBJECTS = None,
    out: Annotated[Path | None, typer.Option(help="PNG to write; default: SUITE.png.")] = None,
) -> None:
    """Write a contact sheet of a suite's stimuli as a PNG."""
    from fechner.errors import FechnerError
    from fechner.report.contact_sheet import contact_sheet
    from fechner.runs.choice import choose_tests
    from fechner.runs.options import choose_options

    options = choose_options(
        suite, published=published, images=images, objects=objects, display=display
    )
    chosen = choose_tests(suite, options, split_names(tests))
    path = out or Path(f"{suite}.png")
    if path.suffix.lower() != ".png":
        raise FechnerError(f"'{path.name}' should end in .png, which is what is written.")
    sheet = contact_sheet([test.gallery or test.experiment for test in chosen])
    try:
        sheet.save(path, format="PNG")
    except OSError as error:
        raise FechnerError(f"{path} cannot be written: {error}.") from error
    typer.echo(f"{path}: {sheet.width} x {sheet.height} px, {len(chosen)} tests")

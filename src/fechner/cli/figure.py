"""``fechner figure``: figures for papers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    test: Annotated[
        str | None, typer.Argument(help="Test to show; all if left out, in kinds that can.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="PDF, PNG or SVG to write; default: TEST-KIND.pdf.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="scores, layers, stimuli, or a panel of the test: surface, responses, matches; "
            "default: the first panel of the test, or all scores."
        ),
    ] = None,
    observers: Annotated[
        str | None, typer.Option(help="Comma-separated observers, in this order; default: all.")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="Layer to show; default: the last one measured.")
    ] = None,
    readout: Annotated[
        str | None, typer.Option(help="Read-out to show; default: the first one measured.")
    ] = None,
    columns: Annotated[int, typer.Option(help="Width: 1 column (85 mm) or 2 (178 mm).")] = 2,
    dpi: Annotated[
        float, typer.Option(help="Resolution of a PNG; stimuli are always shown pixel for pixel.")
    ] = 300.0,
    more: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="RUN", help="Another run to show too; may be repeated."),
    ] = None,
) -> None:
    """Draw a figure for a paper."""
    from fechner.report.figures import check_path, figure, save

    name = "-".join(part for part in (test, kind) if part) or "scores"
    path = check_path(out or f"{name}.pdf")
    drawn = figure(
        [run, *(more or ())],
        test,
        kind,
        observers=_observers(observers),
        layer=layer,
        readout=readout,
        columns=columns,
        dpi=dpi,
    )
    save(drawn, path)
    width, height = (round(float(side) * 25.4) for side in drawn.get_size_inches())
    typer.echo(f"{path}: {width} x {height} mm")


def _observers(text: str | None) -> list[str] | None:
    """Return the observers in a list; a name may hold commas between its settings.

    Examples
    --------
    >>> _observers("pixels, timm/resnet50@size=96,normalise=none")
    ['pixels', 'timm/resnet50@size=96,normalise=none']
    """
    if text is None:
        return None
    parts = [part.strip() for part in re.split(r",(?!\s*\w+=)", text)]
    if not all(parts):
        raise typer.BadParameter("an empty name: name at least one, or leave the option out.")
    return parts

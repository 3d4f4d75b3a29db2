"""``fechner figure``: figures for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.names import split_observers


def command(
    run: Annotated[
        str,
        typer.Argument(help="Run folder, or a published table such as @cai2025: scores alone."),
    ],
    test: Annotated[
        str | None, typer.Argument(help="Test to show; all if left out, in kinds that can.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="PDF, PNG or SVG to write; default: TEST-KIND.pdf, or TABLE-TEST.pdf."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="scores, layers, readouts, stimuli, or a panel of the test, in quotation marks if "
            "it has several words: surface, responses, matches, directions, curves, elevations, "
            "csf, csf of bands, psychometric functions, d-prime, wording, accuracy with noise, "
            "accuracy without a band, accuracy, classes by level, thresholds of classes, "
            "lost first, curves of classes, decision scores, preferred views, shape bias, "
            "error consistency, accuracy by category; "
            "default: the first panel of the test, or all scores."
        ),
    ] = None,
    observers: Annotated[
        str | None, typer.Option(help="Comma-separated observers, in this order; default: all.")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="Layer to show, or all; default: the last one measured.")
    ] = None,
    readout: Annotated[
        str | None, typer.Option(help="Read-out to show, or all; default: the first one measured.")
    ] = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Draw all observers on the same axes, with people's curves once; runs may differ "
            "in how they asked.",
        ),
    ] = False,
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
    from fechner.report.printed import is_table

    parts = (run[1:] if is_table(run) else "", test, kind)
    name = "-".join(part for part in parts if part) or "scores"
    path = check_path(out or f"{name}.pdf")
    drawn = figure(
        [run, *(more or ())],
        test,
        kind,
        observers=split_observers(observers),
        layer=layer,
        readout=readout,
        together=together,
        columns=columns,
        dpi=dpi,
    )
    save(drawn, path)
    width, height = (round(float(side) * 25.4) for side in drawn.get_size_inches())
    typer.echo(f"{path}: {width} x {height} mm")

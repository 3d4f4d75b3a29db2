"""``fechner figure`` and ``show``: figures for papers, and a contact sheet of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fechner.cli.options import SuiteCommand, split_names, split_observers


def figure(
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
    from fechner.report.figures import check_path, save
    from fechner.report.figures import figure as draw
    from fechner.report.figures.scores import is_table

    parts = (run[1:] if is_table(run) else "", test, kind)
    name = "-".join(part for part in parts if part) or "scores"
    path = check_path(out or f"{name}.pdf")
    drawn = draw(
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
    from fechner.report.figures import contact_sheet
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


show = SuiteCommand(_show, _suite_in)

"""``fechner figure`` and ``show``: figures for papers, and a contact sheet of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fechner.cli.options import FlagCommand, split_names, split_observers
from fechner.errors import FechnerError


def figure(
    run: str,
    test: Annotated[str | None, typer.Argument()] = None,
    out: Path | None = None,
    kind: str | None = None,
    observers: str | None = None,
    layer: str | None = None,
    readout: str | None = None,
    together: bool = False,
    columns: int = 2,
    dpi: float = 300.0,
    more: Annotated[list[Path] | None, typer.Option("--with", metavar="RUN")] = None,
) -> None:
    """Draw a figure for a paper.

    Parameters
    ----------
    run
        Run folder, or a published table such as @cai2025: scores alone.
    test
        Test to show; all if left out, in kinds that can.
    out
        PDF, PNG or SVG to write; default: TEST-KIND.pdf, or TABLE-TEST.pdf.
    kind
        scores, layers, readouts, stimuli, or a panel of the test, in quotation marks if it has
        several words: surface, responses, matches, directions, curves, elevations, csf, csf of
        bands, psychometric functions, d-prime, wording, accuracy with noise, accuracy without a
        band, accuracy, classes by level, thresholds of classes, lost first, curves of classes,
        decision scores, preferred views, shape bias, error consistency, accuracy by category;
        default: the first panel of the test, or all scores.
    observers
        Comma-separated observers, in this order; default: all.
    layer
        Layer to show, or all; default: the last one measured.
    readout
        Read-out to show, or all; default: the first one measured.
    together
        Draw all observers on the same axes, with people's curves once; runs may differ in how they
        asked.
    columns
        Width: 1 column (85 mm) or 2 (178 mm).
    dpi
        Resolution of a PNG; stimuli are always shown pixel for pixel.
    more
        Another run to show too; may be repeated.
    """
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
    suite: str, tests: str | None = None, out: Path | None = None, *, given: dict[str, Any]
) -> None:
    """Write a contact sheet of a suite's stimuli as a PNG.

    Parameters
    ----------
    suite
        Suite, e.g. encoders, or path/to/file.py:NAME.
    tests
        Comma-separated tests of the suite, or patterns; all if left out.
    out
        PNG to write; default: SUITE.png.
    """
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


show = FlagCommand(_show, find_suite=_suite_in)

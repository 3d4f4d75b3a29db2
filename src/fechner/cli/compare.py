"""``fechner compare``: which differences between observers are significant."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fechner.cli.names import split_names, split_observers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Format(StrEnum):
    """Output formats."""

    table = "table"
    csv = "csv"
    json = "json"
    md = "md"
    latex = "latex"


class Correction(StrEnum):
    """Corrections of p-values."""

    holm = "holm"
    bh = "bh"
    none = "none"


def command(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Run folders, or published tables such as @cai2025."),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(help="Observer to compare all others with; all pairs if left out."),
    ] = None,
    observers: Annotated[
        str | None, typer.Option(help="Comma-separated observers; all if left out.")
    ] = None,
    tests: Annotated[
        str | None, typer.Option(help="Comma-separated tests; all if left out.")
    ] = None,
    correction: Annotated[
        Correction,
        typer.Option(
            help="Correction of p-values for multiple comparisons: Holm, Benjamini & Hochberg "
            "(bh), or none."
        ),
    ] = Correction.holm,
    format: Annotated[Format, typer.Option(help="Output format.")] = Format.table,
    against: Annotated[
        str | None,
        typer.Option(
            help="Regress scores on figures, instead of comparing pairs: a CSV with a column "
            "`observer` and figures such as accuracies, or parameters or gflops (or both, with a "
            "comma), which runs count of networks."
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated columns of the CSV to regress on; also parameters and gflops."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="PDF, PNG or SVG to draw: differences with their intervals or, with --against, "
            "scores over figures."
        ),
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="Layer to compare at; the last one measured if left out.")
    ] = None,
    readout: Annotated[
        str | None, typer.Option(help="Read-out to compare by; the suite's own if left out.")
    ] = None,
) -> None:
    """Say which differences between observers are significant, and in which direction."""
    from fechner.report.paper.style import check_path, save

    if column is not None and against is None:
        raise typer.BadParameter("--column names a column of a CSV: give that by --against.")
    if baseline is not None and against is not None:
        raise typer.BadParameter("--baseline is for pairs, --against for trends: choose one.")
    if out is not None:
        check_path(out)
    chosen = {
        "observers": split_observers(observers),
        "tests": split_names(tests),
        "correction": correction.value,
        "layer": layer,
        "readout": readout,
        "progress": True,
    }
    drawn = out is not None
    if against is None:
        text, problems, figure = _pairs(runs, baseline, format.value, drawn, chosen)
    else:
        columns = split_names(column)
        text, problems, figure = _trends(runs, against, columns, format.value, drawn, chosen)
    typer.echo(text, nl=False)
    for problem in problems:
        typer.echo(problem, err=True)
    if out is not None and figure is not None:
        save(figure, out)
        typer.echo(f"The figure is in {out}.", err=True)


def _pairs(
    runs: list[str], baseline: str | None, format: str, drawn: bool, chosen: dict[str, Any]
) -> tuple[str, list[str], Figure | None]:
    from fechner.report.comparing.comparison import compare, summarise_comparison
    from fechner.report.comparing.figures import difference_figure

    found = compare(*runs, baseline=baseline, **chosen)
    text = summarise_comparison(found).write(format)
    return text, list(found.problems), difference_figure(found) if drawn else None


def _trends(
    runs: list[str],
    file: str,
    columns: list[str] | None,
    format: str,
    drawn: bool,
    chosen: dict[str, Any],
) -> tuple[str, list[str], Figure | None]:
    from fechner.report.comparing.figures import trend_figure
    from fechner.report.comparing.trends import find_trends, summarise_trends

    found, problems = find_trends(runs, file, columns, **chosen)
    text = summarise_trends(found).write(format)
    return text, problems, trend_figure(found) if drawn else None

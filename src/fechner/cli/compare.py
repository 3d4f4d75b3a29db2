"""``fechner compare``, ``consistency``, ``conditions``: observers beside others and people."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fechner.cli.options import FORMAT, OBSERVERS, TESTS, Format, info, split_names, split_observers

Correction = StrEnum("Correction", "holm bh none")


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Run folders, or published tables such as @cai2025."),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(help="Observer to compare all others with; all pairs if left out."),
    ] = None,
    observers: OBSERVERS = None,
    tests: TESTS = None,
    correction: Annotated[
        Correction,
        typer.Option(
            help="Correction of p-values for multiple comparisons: Holm, Benjamini & Hochberg "
            "(bh), or none."
        ),
    ] = Correction.holm,
    format: FORMAT = Format.table,
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
    from fechner.report.figures.style import check_path, save

    if column is not None and against is None:
        raise typer.BadParameter("--column names a column of a CSV: give that by --against.")
    if baseline is not None and against is not None:
        raise typer.BadParameter("--baseline is for pairs, --against for trends: choose one.")
    if out is not None:
        check_path(out)
    chosen: dict[str, Any] = {
        "observers": split_observers(observers),
        "tests": split_names(tests),
        "correction": correction.value,
        "layer": layer,
        "readout": readout,
        "progress": True,
    }
    if against is None:
        from fechner.report.comparing.comparison import compare as compare_pairs
        from fechner.report.comparing.comparison import summarise_comparison

        pairs = compare_pairs(*runs, baseline=baseline, **chosen)
        summary, problems = summarise_comparison(pairs), list(pairs.problems)
    else:
        from fechner.report.comparing.trends import find_trends, summarise_trends

        trends, problems = find_trends(runs, against, split_names(column), **chosen)
        summary = summarise_trends(trends)
    typer.echo(summary.write(format.value), nl=False)
    info(*problems)
    if out is not None:
        from fechner.report.figures.compare import difference_figure, trend_figure

        save(difference_figure(pairs) if against is None else trend_figure(trends), out)
        info(f"The figure is in {out}.")


def consistency(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of suite `recognition`.")],
    observers: Annotated[
        str | None,
        typer.Option(help="Comma-separated observers, or people; all if left out."),
    ] = None,
    tests: TESTS = None,
    each_person: Annotated[
        bool,
        typer.Option("--each-person", help="Compare people one by one, too, not only together."),
    ] = False,
    format: FORMAT = Format.table,
) -> None:
    """Say whether observers and people err on the same trials, by Cohen's kappa."""
    from fechner.report.consistency import PEOPLE, summarise_consistency
    from fechner.report.consistency import consistency as find_consistency
    from fechner.runs import Run

    opened = [Run(folder) for folder in runs]
    known = {PEOPLE, *(name for run in opened for name in run.observers)}
    found, problems = find_consistency(
        opened,
        split_names(tests),
        split_observers(observers, known),
        each_person=each_person,
        progress=True,
    )
    typer.echo(summarise_consistency(found).write(format.value), nl=False)
    info(*problems)


def conditions(
    run: Annotated[
        Path, typer.Argument(help="Run folder of suite `recognition` on pictures in conditions.")
    ],
    observers: OBSERVERS = None,
    each_person: Annotated[
        bool,
        typer.Option("--each-person", help="List people one by one, too, not only together."),
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw shape bias by category into this PDF, PNG or SVG, too."),
    ] = None,
    format: FORMAT = Format.table,
) -> None:
    """Compare observers and people on pictures in conditions, as model-vs-human does."""
    from fechner.report.conditions import (
        condition_figures,
        draw_shape_bias,
        experiments_in,
        summarise_conditions,
    )
    from fechner.runs import Run

    opened = Run(run)
    found, problems = experiments_in(opened, split_observers(observers, opened.observers))
    undefined = 1.0 if opened.options.published else float("nan")
    rows = condition_figures(found, each_person=each_person, undefined=undefined)
    typer.echo(summarise_conditions(rows).write(format.value), nl=False)
    info(*problems)
    if figure is not None:
        info(f"{draw_shape_bias(found, figure)} is written.")

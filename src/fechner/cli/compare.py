"""``fechner compare``, ``consistency``, ``conditions``: observers beside others and people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import fechner
from fechner.cli.options import FORMAT, OBSERVERS, TESTS, info, split_names, split_observers


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...")],
    baseline: str | None = None,
    observers: OBSERVERS = None,
    tests: TESTS = None,
    correction: Literal["holm", "bh", "none"] = "holm",
    format: FORMAT = "table",
    against: str | None = None,
    column: str | None = None,
    out: Path | None = None,
    layer: str | None = None,
    readout: str | None = None,
) -> None:
    """Say which differences between observers are significant, and in which direction.

    Parameters
    ----------
    runs
        Run folders, or published tables such as @cai2025.
    baseline
        Observer to compare all others with; all pairs if left out.
    correction
        Correction of p-values for multiple comparisons: Holm, Benjamini & Hochberg (bh), or none.
    against
        Regress scores on figures, instead of comparing pairs: a CSV with a column `observer` and
        figures such as accuracies, or parameters or gflops (or both, with a comma), which runs
        count of networks.
    column
        Comma-separated columns of the CSV to regress on; also parameters and gflops.
    out
        PDF, PNG or SVG to draw: differences with their intervals or, with --against, scores over
        figures.
    layer
        Layer to compare at; the last one measured if left out.
    readout
        Read-out to compare by; the suite's own if left out.
    """
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
        "correction": correction,
        "layer": layer,
        "readout": readout,
        "progress": True,
    }
    if against is None:
        from fechner.report.comparing.comparison import summarise_comparison

        pairs = fechner.compare(*runs, baseline=baseline, **chosen)
        summary, problems = summarise_comparison(pairs), list(pairs.problems)
    else:
        from fechner.report.comparing.trends import find_trends, summarise_trends

        trends, problems = find_trends(runs, against, split_names(column), **chosen)
        summary = summarise_trends(trends)
    typer.echo(summary.write(format), nl=False)
    info(*problems)
    if out is not None:
        from fechner.report.figures.compare import difference_figure, trend_figure

        save(difference_figure(pairs) if against is None else trend_figure(trends), out)
        info(f"The figure is in {out}.")


def consistency(
    runs: list[Path],
    observers: str | None = None,
    tests: TESTS = None,
    each_person: bool = False,
    format: FORMAT = "table",
) -> None:
    """Say whether observers and people err on the same trials, by Cohen's kappa.

    Parameters
    ----------
    runs
        Run folders of suite `recognition`.
    observers
        Comma-separated observers, or people; all if left out.
    each_person
        Compare people one by one, too, not only together.
    """
    from fechner.report import consistency as report

    opened = [fechner.Run(folder) for folder in runs]
    known = {report.PEOPLE, *(name for run in opened for name in run.observers)}
    found, problems = report.consistency(
        opened,
        split_names(tests),
        split_observers(observers, known),
        each_person=each_person,
        progress=True,
    )
    typer.echo(report.summarise_consistency(found).write(format), nl=False)
    info(*problems)


def conditions(
    run: Path,
    observers: OBSERVERS = None,
    each_person: bool = False,
    figure: Path | None = None,
    format: FORMAT = "table",
) -> None:
    """Compare observers and people on pictures in conditions, as model-vs-human does.

    Parameters
    ----------
    run
        Run folder of suite `recognition` on pictures in conditions.
    each_person
        List people one by one, too, not only together.
    figure
        Draw shape bias by category into this PDF, PNG or SVG, too.
    """
    from fechner.report import conditions as report

    opened = fechner.Run(run)
    found, problems = report.experiments_in(opened, split_observers(observers, opened.observers))
    undefined = 1.0 if opened.options.published else float("nan")
    rows = report.condition_figures(found, each_person=each_person, undefined=undefined)
    typer.echo(report.summarise_conditions(rows).write(format), nl=False)
    info(*problems)
    if figure is not None:
        info(f"{report.draw_shape_bias(found, figure)} is written.")

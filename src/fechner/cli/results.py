"""What runs found: ``fechner scores``, ``compare``, ``consistency``, ``report``, ``export``..."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import fechner
from fechner.cli.options import (
    FORMAT,
    OBSERVERS,
    RUN,
    TESTS,
    info,
    print_table,
    quick_imports,
    split_names,
    split_observers,
)
from fechner.errors import FechnerError

#: The longest example of a reply that is shown.
_LONGEST = 60


def scores(
    run: RUN,
    format: Literal["table", "layers", "checks", "csv", "json", "md", "latex"] = "table",
) -> None:
    """Print the scores of a run.

    Parameters
    ----------
    format
        Output format; `layers` is a table per observer with every layer in a row, `checks` what
        is asked by yes, partly or no.
    """
    from fechner.report.score_tables import format_scores

    found = fechner.Run(run)
    results, problems = found.assess(progress=True)
    typer.echo(format_scores(results, format), nl=False)
    info(*problems, *found.not_asked, *found.warnings)


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

    found, problems = report.consistency(
        [fechner.Run(folder) for folder in runs],
        split_names(tests),
        split_observers(observers),
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
    found, problems = report.experiments_in(opened, split_observers(observers))
    undefined = 1.0 if opened.options.published else float("nan")
    rows = report.condition_figures(found, each_person=each_person, undefined=undefined)
    typer.echo(report.summarise_conditions(rows).write(format), nl=False)
    info(*problems)
    if figure is not None:
        info(f"{report.draw_shape_bias(found, figure)} is written.")


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...")], out: Path | None = None
) -> None:
    """Write one self-contained HTML page with scores, plots, stimuli, methods and provenance.

    Parameters
    ----------
    runs
        Run folders.
    out
        HTML file to write; default: report.html in the first run.
    """
    with quick_imports():
        from fechner.report.page import write_page

    path = out or runs[0] / "report.html"
    if path.is_dir():
        raise FechnerError(f"{path} is a folder; name a file with --out, as in report.html.")
    if path.suffix.lower() not in (".html", ".htm"):
        raise FechnerError(f"'{path.name}' should end in .html, which is what is written.")
    size = write_page([fechner.Run(folder) for folder in runs], path, progress=True)
    typer.echo(f"{path}: {size / 1e6:.1f} MB, opens in any browser, offline")


def export(
    runs: list[Path],
    out: Annotated[str, typer.Option()],
    what: Literal["scores", "responses", "surfaces", "trials"] | None = None,
    observers: OBSERVERS = None,
    tests: TESTS = None,
) -> None:
    """Write scores or raw answers of runs as a file for other programs.

    Parameters
    ----------
    runs
        Run folders.
    out
        File, whose suffix says the format: .csv, .json or .parquet; .md or .tex for scores; .nc
        for raw answers. Or a folder, for a netCDF file for each observer and test; or - for CSV on
        stdout.
    what
        `scores` if left out; `responses` are the raw answers that scores are computed from,
        `surfaces` those for figures only; netCDF files hold both of these. `trials` are answers
        in words: each reply with its test, frequency, contrast and prompt.
    """
    from fechner.report.export import export as write

    written = write(
        [fechner.Run(folder) for folder in runs],
        out,
        what,
        split_observers(observers),
        split_names(tests),
        tell=info,
        # A bar would run through what is printed on the same terminal.
        progress=not (out == "-" and sys.stdout.isatty()),
    )
    if out != "-":
        typer.echo(written)


def reread(run: RUN, dry_run: bool = False) -> None:
    """Read stored replies again with the present reader and update results; asks nothing.

    Parameters
    ----------
    dry_run
        Show what would change, and write nothing.
    """
    from fechner.runs import reread as read_again

    found = read_again(run, dry_run=dry_run)
    if found.changes:
        print_table(
            {
                "observer": each.observer,
                "was": each.before or "invalid",
                "is": each.now or "invalid",
                "replies": f"{each.replies:,}",
                "example": _short(each.example),
            }
            for each in found.changes
        )
    changed = sum(each.replies for each in found.changes)
    done = "nothing was written" if dry_run else f"{found.updated:,} result files were updated"
    typer.echo(f"{changed:,} of {sum(found.read.values()):,} replies changed; {done}.")
    info(*found.problems)
    if found.problems:
        raise typer.Exit(1)


def _short(reply: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in reply).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

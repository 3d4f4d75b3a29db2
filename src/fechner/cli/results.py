"""``fechner scores``, ``report``, ``export`` and ``reread``: what a run found."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from fechner.cli.options import (
    OBSERVERS,
    RUN,
    TESTS,
    info,
    print_table,
    quick_imports,
    split_names,
    split_observers,
)

ScoreFormat = StrEnum("ScoreFormat", "table layers checks csv json md latex")
What = StrEnum("What", "scores responses surfaces trials")

#: The longest example of a reply that is shown.
_LONGEST = 60


def scores(
    run: RUN,
    format: Annotated[
        ScoreFormat,
        typer.Option(
            help="Output format; `layers` is a table per observer with every layer in a row, "
            "`checks` what is asked by yes, partly or no."
        ),
    ] = ScoreFormat.table,
) -> None:
    """Print the scores of a run."""
    from fechner.report.score_tables import format_scores
    from fechner.runs import Run

    found = Run(run)
    results, problems = found.assess(progress=True)
    typer.echo(format_scores(results, format.value), nl=False)
    info(*problems, *found.not_asked, *found.warnings)


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write; default: report.html in the first run.")
    ] = None,
) -> None:
    """Write one self-contained HTML page with scores, plots, stimuli, methods and provenance."""
    from fechner.errors import FechnerError

    with quick_imports():
        from fechner.report.page import write_page
        from fechner.runs import Run

    path = out or runs[0] / "report.html"
    if path.is_dir():
        raise FechnerError(f"{path} is a folder; name a file with --out, as in report.html.")
    if path.suffix.lower() not in (".html", ".htm"):
        raise FechnerError(f"'{path.name}' should end in .html, which is what is written.")
    size = write_page([Run(folder) for folder in runs], path, progress=True)
    typer.echo(f"{path}: {size / 1e6:.1f} MB, opens in any browser, offline")


def export(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        str,
        typer.Option(
            help="File, whose suffix says the format: .csv, .json, .md, .parquet, .tex or .nc; a "
            "folder, for a netCDF file for each observer and test; or - for CSV on stdout."
        ),
    ],
    what: Annotated[
        What | None,
        typer.Option(
            help="`scores` if left out; `responses` are the raw answers that scores are computed "
            "from, `surfaces` those for figures only; netCDF files hold both of these. `trials` "
            "are answers in words: each reply with its test, frequency, contrast and prompt."
        ),
    ] = None,
    observers: OBSERVERS = None,
    tests: TESTS = None,
) -> None:
    """Write scores or raw answers of runs as a file for other programs."""
    from fechner.report.export import export as write
    from fechner.runs import Run

    opened = [Run(folder) for folder in runs]
    written = write(
        opened,
        out,
        cast("Any", what.value if what else None),
        split_observers(observers, {name for run in opened for name in run.observers}),
        split_names(tests),
        tell=info,
        # A bar would run through what is printed on the same terminal.
        progress=not (out == "-" and sys.stdout.isatty()),
    )
    if out != "-":
        typer.echo(written)


def reread(
    run: RUN,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
) -> None:
    """Read stored replies again with the present reader and update results; asks nothing."""
    from fechner.runs import reread as read_again

    found = read_again(run, dry_run=dry_run)
    if found.changes:
        print_table(
            ("observer", "was", "is", "replies", "example"),
            (
                (
                    each.observer,
                    each.before or "invalid",
                    each.now or "invalid",
                    f"{each.replies:,}",
                    _short(each.example),
                )
                for each in found.changes
            ),
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

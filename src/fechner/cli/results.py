"""``fechner scores``, ``report``, ``export`` and ``reread``: what a run found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

import fechner
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
        File, whose suffix says the format: .csv, .json, .md, .parquet, .tex or .nc; a folder, for
        a netCDF file for each observer and test; or - for CSV on stdout.
    what
        `scores` if left out; `responses` are the raw answers that scores are computed from,
        `surfaces` those for figures only; netCDF files hold both of these. `trials` are answers
        in words: each reply with its test, frequency, contrast and prompt.
    """
    from fechner.report.export import export as write

    opened = [fechner.Run(folder) for folder in runs]
    written = write(
        opened,
        out,
        what,
        split_observers(observers, {name for run in opened for name in run.observers}),
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

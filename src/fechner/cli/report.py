"""``fechner report``: one page about some runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write; default: report.html in the first run.")
    ] = None,
) -> None:
    """Write one self-contained HTML page with scores, plots, stimuli, methods and provenance."""
    from fechner.cli.start import quick_imports
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

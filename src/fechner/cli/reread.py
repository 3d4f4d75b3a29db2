"""``fechner reread``: the replies of a run, read again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

#: The longest example that is shown.
_LONGEST = 60


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
) -> None:
    """Read stored replies again with the present reader and update results; asks nothing."""
    from fechner.cli.listing import print_table
    from fechner.runs import reread

    found = reread(run, dry_run=dry_run)
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
    for line in found.problems:
        typer.echo(line, err=True)
    if found.problems:
        raise typer.Exit(1)


def _short(reply: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in reply).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

"""``fechner people``: answers of people beside those of observers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[CSV]...",
            help="Files with a row for each trial: observer, test, class, level, response, "
            "correct, chance and, if it is known, picture; or the folder `raw-data` of "
            "model-vs-human. They take the place of those that are kept.",
        ),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove what is kept of people.")
    ] = False,
) -> None:
    """Keep trials of people in a run, or print what is kept: accuracy at every level."""
    from fechner.human.trials import read_all_trials
    from fechner.report.consistency import summarise_people
    from fechner.runs import Run
    from fechner.runs.people import keep_people, people_of, remove_people

    found = Run(run)
    if remove and files:
        raise typer.BadParameter("--remove removes what is kept: give it without files.")
    if remove:
        there = remove_people(found.folder)
        typer.echo(f"{run} has no trials of people{' any more' if there else ''}.", err=True)
        return
    before = people_of(found.folder)
    said: list[str] = []
    kept = keep_people(found, read_all_trials(files), said.append) if files else before
    if kept is None:
        typer.echo(f"{run} has no trials of people; name files to keep some.", err=True)
        return
    typer.echo(summarise_people(kept).write(), nl=False)
    for line in said:
        typer.echo(line, err=True)
    if files and before is not None:
        typer.echo(f"The {len(before)} trials that were kept before are gone.", err=True)

"""``fechner export-trials``: an experiment for people, with the pictures an observer was shown."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.names import split_names


def command(
    run: Annotated[Path, typer.Argument(help="Run folder of suite `recognition`.")],
    observer: Annotated[
        str,
        typer.Option(
            help="Whose preferred views are shown, and whose thresholds choose the levels."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write, new or empty.")],
    people: Annotated[int, typer.Option(help="Lists of trials, one for each person.")] = 24,
    trials: Annotated[int, typer.Option(help="Trials of each test in a list.")] = 5,
    tests: Annotated[
        str | None, typer.Option(help="Comma-separated tests; all if left out.")
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            help="Level of all tests, such as 2.5, or of some: mafc-blur=2.5,2afc-blur=4. If left "
            "out, what the observer was shown nearest to its threshold."
        ),
    ] = None,
    choices: Annotated[
        int, typer.Option(help="Names to choose from in mafc tests; pictures are two.")
    ] = 3,
    duration_ms: Annotated[
        float, typer.Option("--duration-ms", help="How long a sample is shown, in ms.")
    ] = 50.0,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn for whom.")] = 0,
    repeat_classes: Annotated[
        bool,
        typer.Option(
            "--repeat-classes",
            help="Let classes come again to a person, as seldom as can be, if they are too few.",
        ),
    ] = False,
) -> None:
    """Write an experiment for people: lists of trials, pictures, a jsPsych page, PsychoPy."""
    from fechner.report.trial_lists import export_trials
    from fechner.runs import Run

    written = export_trials(
        Run(run),
        observer,
        out,
        people=people,
        trials=trials,
        tests=split_names(tests),
        levels=read_levels(level),
        choices=choices,
        duration_ms=duration_ms,
        seed=seed,
        repeat=repeat_classes,
        progress=True,
    )
    typer.echo(written)
    for each in written.asked:
        typer.echo(
            f"{each.condition.test}: level {each.condition.level:.4g} (threshold of {observer}: "
            f"{each.threshold})",
            err=True,
        )


def read_levels(text: str | None) -> dict[str, float] | float | None:
    """Return one level for all tests, or levels by test; None if the option was left out.

    Examples
    --------
    >>> read_levels("2.5"), read_levels("mafc-blur=2.5, 2afc-blur=4")
    (2.5, {'mafc-blur': 2.5, '2afc-blur': 4.0})
    """
    parts = split_names(text)
    if parts is None:
        return None
    if len(parts) == 1 and "=" not in parts[0]:
        return _number(parts[0])
    found = {}
    for part in parts:
        test, sign, value = part.rpartition("=")
        if not sign:
            raise typer.BadParameter(f"--level takes a number, or TEST=NUMBER, not '{part}'.")
        found[test.strip()] = _number(value)
    return found


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise typer.BadParameter(f"a level is a number, 0 or above, not '{text.strip()}'.")
    return value

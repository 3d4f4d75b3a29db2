"""``fechner people`` and ``export-trials``: what people answer, and what they are asked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from fechner.cli.options import RUN, TESTS, info, split_names


def people(
    run: RUN,
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
        info(f"{run} has no trials of people{' any more' if there else ''}.")
        return
    before = people_of(found.folder)
    said: list[str] = []
    kept = keep_people(found, read_all_trials(files), said.append) if files else before
    if kept is None:
        info(f"{run} has no trials of people; name files to keep some.")
        return
    typer.echo(summarise_people(kept).write(), nl=False)
    info(*said)
    if files and before is not None:
        info(f"The {len(before)} trials that were kept before are gone.")


def export_trials(
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
    tests: TESTS = None,
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
    from fechner.report.trial_lists import export_trials as write
    from fechner.runs import Run

    written = write(
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
        info(
            f"{each.condition.test}: level {each.condition.level:.4g} (threshold of {observer}: "
            f"{each.threshold})",
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

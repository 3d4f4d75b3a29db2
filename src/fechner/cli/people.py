"""``fechner people`` and ``export-trials``: what people answer, and what they are asked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

import fechner
from fechner.cli.options import RUN, TESTS, info, split_names


def people(
    run: RUN,
    files: Annotated[list[Path] | None, typer.Argument(metavar="[CSV]...")] = None,
    remove: bool = False,
) -> None:
    """Keep trials of people in a run, or print what is kept: accuracy at every level.

    Parameters
    ----------
    files
        Files with a row for each trial: observer, test, class, level, response, correct, chance
        and, if it is known, picture; or the folder `raw-data` of model-vs-human. They take the
        place of those that are kept.
    remove
        Remove what is kept of people.
    """
    from fechner.human.trials import read_all_trials
    from fechner.report.consistency import summarise_people
    from fechner.runs.people import keep_people, remove_people
    from fechner.runs.run import people_of

    found = fechner.Run(run)
    if remove and files:
        raise typer.BadParameter("--remove removes what is kept: give it without files.")
    if remove:
        there = remove_people(found.folder)
        info(f"{run} has no trials of people{' any more' if there else ''}.")
        return
    before = people_of(found.folder)
    messages: list[str] = []
    kept = keep_people(found, read_all_trials(files), messages.append) if files else before
    if kept is None:
        info(f"{run} has no trials of people; name files to keep some.")
        return
    typer.echo(summarise_people(kept).write(), nl=False)
    info(*messages)
    if files and before is not None:
        info(f"The {len(before)} trials that were kept before are gone.")


def export_trials(
    run: Path,
    observer: Annotated[str, typer.Option()],
    out: Annotated[Path, typer.Option()],
    people: int = 24,
    trials: int = 5,
    tests: TESTS = None,
    level: str | None = None,
    choices: int = 3,
    duration_ms: float = 50.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    repeat_classes: bool = False,
) -> None:
    """Write an experiment for people: lists of trials, pictures, a jsPsych page, PsychoPy.

    Parameters
    ----------
    run
        Run folder of suite `recognition`.
    observer
        Whose preferred views are shown, and whose thresholds choose the levels.
    out
        Folder to write, new or empty.
    people
        Lists of trials, one for each person.
    trials
        Trials of each test in a list.
    level
        Level of all tests, such as 2.5, or of some: mafc-blur=2.5,2afc-blur=4. If left out, what
        the observer was shown nearest to its threshold.
    choices
        Names to choose from in mafc tests; pictures are two.
    duration_ms
        How long a sample is shown, in ms.
    seed
        Of what is drawn for whom.
    repeat_classes
        Let classes come again to a person, as seldom as can be, if they are too few.
    """
    from fechner.report.trial_lists import export_trials as write

    written = write(
        fechner.Run(run),
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
    for each in written.conditions:
        info(f"{each.test}: level {each.level:.4g} (threshold of {observer}: {each.threshold})")


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
    levels = {}
    for part in parts:
        test, _, value = part.rpartition("=")
        try:
            level = float(value)
        except ValueError:
            level = math.nan
        if not 0 <= level < math.inf or (not test and len(parts) > 1):
            raise typer.BadParameter(f"--level takes a number, or TEST=NUMBER, not '{part}'.")
        levels[test.strip()] = level
    return levels.get("", levels)

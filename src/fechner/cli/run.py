"""``fechner run``: a suite on observers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fechner.cli.asking import (
    ACCEPT_INVALID,
    ADAPTIVE,
    DITHER,
    IMAGES,
    MAX_COST,
    MAX_TRIALS,
    PROMPTS,
    STIMULI,
    TRIALS,
    WIDTH,
    Kind,
    say_what_would_be_done,
)
from fechner.cli.models import DTYPE, TRUST, WEIGHTS
from fechner.cli.names import DISPLAY, split_names
from fechner.cli.pictures import (
    AMONG,
    CATEGORIES,
    DROPOUT,
    DROPOUT_RUNS,
    DROPOUT_SHARE,
    LEVELS,
    OBJECTS,
    PER_CLASS,
    SHOW,
    VIEWS,
    AmongWhat,
    Which,
    dropped,
)
from fechner.cli.start import quick_imports


class Match(StrEnum):
    """How gratings are matched."""

    response = "response"
    direct = "direct"


def command(
    observers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names (`fechner list observers`), path/to/file.py:name, or a preset such as "
            "@cai2025. Without any: a tour of those that come with fechner.",
        ),
    ] = None,
    suite: Annotated[str, typer.Option(help="Suite to run.")] = "encoders",
    tests: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated tests of the suite, or patterns as in 'masking-*', with those "
            "that they come after; all that it has by default if left out."
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Rebuild the published numbers.")
    ] = False,
    scores_only: Annotated[
        bool,
        typer.Option(
            "--scores-only",
            help="Leave out what only figures need: response surfaces and curves of matches.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Run folder; one that exists is resumed. Default: runs/SUITE[-published]."
        ),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda...; an accelerator if there is one.")
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="CPU threads, of each worker if there are several.", min=1)
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Processes that measure; results are the same to the bit with as many --threads, "
            "which are the cores, shared out, if left out.",
            min=1,
        ),
    ] = 1,
    batch_size: Annotated[
        int | None, typer.Option(help="Pictures at a time; as many as fit if left out.", min=1)
    ] = None,
    seed: Annotated[
        str,
        typer.Option(
            help="Seed of noise in the stimuli; several, as in 0,1,2 or 0-9, have a run folder "
            "each, and the spread of scores is printed."
        ),
    ] = "0",
    ppd: Annotated[
        str | None,
        typer.Option(
            help="Pixels per degree; left out, those an observer is made for, or the suite's own. "
            "Several, comma-separated, are a sweep with a run folder each."
        ),
    ] = None,
    display: DISPLAY = None,
    resize: Annotated[
        bool | None,
        typer.Option(
            "--resize/--no-resize",
            help="Draw at the suite's size and resample for models that want another size.",
        ),
    ] = None,
    readout: Annotated[
        str | None,
        typer.Option(
            help="How encoders are read out: angle, l2, l1, minkowski4, linf, energy or "
            "correlation; several, comma-separated, at once."
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            help="Where encoders are read out: comma-separated names or patterns, as in "
            "'blocks.*,output'; their natural stages if left out (`fechner layers NAME`)."
        ),
    ] = None,
    match: Annotated[
        Match,
        typer.Option(
            help="Match contrast across frequency by equal responses against a uniform field, or "
            "by direct comparison of the gratings (suites encoders and metrics)."
        ),
    ] = Match.response,
    weights: WEIGHTS = None,
    dtype: DTYPE = None,
    trust_remote_code: TRUST = False,
    adaptive: ADAPTIVE = None,
    trials: TRIALS = None,
    width: WIDTH = None,
    prompts: PROMPTS = None,
    dither: DITHER = False,
    images: IMAGES = None,
    stimuli: STIMULI = Kind.noise,
    objects: OBJECTS = None,
    views: VIEWS = None,
    levels: LEVELS = None,
    per_class: PER_CLASS = 1,
    among: AMONG = AmongWhat.own,
    categories: CATEGORIES = None,
    show: SHOW = Which.preferred,
    dropout: DROPOUT = None,
    dropout_share: DROPOUT_SHARE = 0.5,
    dropout_runs: DROPOUT_RUNS = 5,
    max_trials: MAX_TRIALS = None,
    max_cost: MAX_COST = None,
    accept_invalid: ACCEPT_INVALID = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be shown and asked, and do nothing."),
    ] = False,
) -> None:
    """Run a suite on observers; a run that was stopped goes on where it was."""
    with quick_imports():
        import torch  # noqa: F401
        import xarray  # noqa: F401

        from fechner.observers import catalogue
        from fechner.observers.memory import keep_freed_memory
        from fechner.report.tables import to_spread, to_text
        from fechner.runs import evaluate, preview

    keep_freed_memory()
    tour = not observers
    if not observers:
        observers = [n for n, entry in catalogue().items() if entry.tour and entry.installed]
    folder = out or Path("runs") / (
        suite + ("-published" if published else "") + ("-tour" if tour else "")
    )
    sweep = [(each, value) for each in _seeds(seed) for value in _numbers(ppd)]
    places = [_place(folder, each, value, len(_seeds(seed)) > 1) for each, value in sweep]
    settings: dict[str, Any] = {
        "suite": suite,
        "tests": split_names(tests),
        "published": published,
        "scores_only": scores_only or tour,
        "device": device,
        "threads": threads,
        "batch_size": batch_size,
        "display": display,
        "resize": resize,
        "readouts": split_names(readout),
        "layers": split_names(layers),
        "match": match.value,
        "weights": weights,
        "dtype": dtype.value if dtype else None,
        "adaptive": adaptive,
        "trials": trials,
        "width": width,
        "prompts": prompts,
        "dither": dither,
        "images": images,
        "stimuli": stimuli.value,
        "objects": objects,
        "views": views,
        "levels": levels,
        "per_class": per_class,
        "among": among.value,
        "categories": categories,
        "show": show.value,
        "dropout": dropped(dropout, dropout_share, dropout_runs),
    }
    if dry_run:
        say_what_would_be_done(
            [
                preview(*observers, out=place, seed=each, ppd=value, **settings)
                for place, (each, value) in zip(places, sweep, strict=True)
            ]
        )
        return
    runs = []
    failed = False
    for place, (each, value) in zip(places, sweep, strict=True):
        try:
            done = evaluate(
                *observers,
                out=place,
                seed=each,
                ppd=value,
                trust_remote_code=trust_remote_code,
                max_trials=max_trials,
                max_cost=max_cost,
                accept_invalid=accept_invalid,
                workers=workers,
                **settings,
            )
        except KeyboardInterrupt:
            typer.echo("stopped; run the same command again to go on.", err=True)
            raise typer.Exit(130) from None
        results, problems = done.assess(progress=True)
        runs.append(results)
        if results:
            typer.echo(to_text(results))
        for line in (*problems, *done.not_asked, *done.warnings):
            if line not in done.told:
                typer.echo(line, err=True)
        if (spent := done.spent()).trials:
            typer.echo(f"{spent}.", err=True)
        if results:
            ways = f"`fechner report {place}` makes a page of them, `fechner scores` prints them"
            typer.echo(f"Results are in {place}; {ways}.", err=True)
        elif not problems:
            typer.echo(
                "nothing was measured: no observer can be asked any of these tests.", err=True
            )
        failed = failed or bool(problems) or not results
    if len(_seeds(seed)) > 1:
        typer.echo(to_spread(runs))
    if failed:
        raise typer.Exit(1)


def _place(folder: Path, seed: int, ppd: float | None, several_seeds: bool) -> Path:
    """Return the run folder of one point of a sweep."""
    place = folder if ppd is None else folder.with_name(f"{folder.name}-{ppd:g}ppd")
    return place.with_name(f"{place.name}-seed{seed}") if several_seeds else place


def _seeds(text: str) -> list[int]:
    """Return seeds: a number, a comma-separated list, or a range such as 0-9."""
    seeds: list[int] = []
    for part in split_names(text) or ():
        ends = part.split("-")
        numbers = [int(end) for end in ends if end.isascii() and end.isdecimal()]
        if len(numbers) != len(ends) or len(ends) > 2 or numbers[-1] < numbers[0]:
            raise typer.BadParameter(f"'{text}' is not a list of seeds, as in 0,1,2 or 0-9.")
        seeds += range(numbers[0], numbers[-1] + 1)
    return list(dict.fromkeys(seeds))


def _numbers(text: str | None) -> list[float | None]:
    try:
        return [float(part) for part in split_names(text) or ()] or [None]
    except ValueError:
        raise typer.BadParameter(f"--ppd '{text}' is not a number or a list of numbers.") from None

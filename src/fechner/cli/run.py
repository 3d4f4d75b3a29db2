"""``fechner run``: a suite on observers."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fechner.cli.options import (
    DEFAULT_SUITE,
    SuiteCommand,
    info,
    print_table,
    quick_imports,
    split_names,
)
from fechner.errors import FechnerError

if TYPE_CHECKING:
    from fechner.runs.dry_run import Preview
    from fechner.suites.options import Option


def _run(
    observers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names (`fechner list observers`), path/to/file.py:name, or a preset such as "
            "@cai2025. Without any: a tour of those that come with fechner.",
        ),
    ] = None,
    observers_file: Annotated[
        Path | None,
        typer.Option(
            "--observers", help="Text file with more observers, one a line; # begins a comment."
        ),
    ] = None,
    suite: Annotated[
        str,
        typer.Option(
            help="Suite to run: encoders, metrics, decalogue, verbal, recognition, that of a "
            "package, or path/to/file.py:NAME. `fechner run --suite NAME --help` shows its options."
        ),
    ] = DEFAULT_SUITE,
    tests: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated tests of the suite, or patterns as in 'masking-*', with those "
            "that they come after; all that it has by default if left out."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Run folder; one that exists is resumed. Default: runs/SUITE and what was set, "
            "as in runs/encoders-published."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be shown and asked, and do nothing."),
    ] = False,
    *,
    given: dict[str, Any],
) -> None:
    """Run a suite on observers; a run that was stopped goes on where it was.

    Numbers of a suite may be lists, as in 30,60, and whole numbers ranges,
    as in 0-9: each value has a run folder of its own.
    """
    with quick_imports():
        import torch  # noqa: F401
        import xarray  # noqa: F401

        from fechner.observers import catalogue
        from fechner.observers.devices import keep_freed_memory
        from fechner.report.score_tables import compare_seeds, format_scores
        from fechner.runs.evaluation import evaluate
        from fechner.suites.base import suite as find_suite
        from fechner.suites.options import options_of

    keep_freed_memory()
    own = find_suite(suite)
    named = [*(observers or ()), *(_listed(observers_file) if observers_file else ())]
    tour = not named
    if tour:
        named = [name for name, entry in catalogue().items() if entry.tour and entry.installed]
        given["scores_only"] = True
    options = options_of(own.options)
    sweep = _sweep(given, options)
    swept = [name for name in sweep[0] if len({each[name] for each in sweep}) > 1]
    base = out or Path("runs") / "-".join([own.name, *(["tour"] if tour else [])])
    folders = []
    for each in sweep:
        told = {k: v for k, v in each.items() if k in swept} if out else {**given, **each}
        folders.append(base.with_name("-".join([base.name, *_marks(told, options, swept)])))
    asked = {"suite": own, "tests": split_names(tests), **given}
    if dry_run:
        from fechner.runs.dry_run import preview

        _say_what_would_be_done(
            [
                preview(*named, **{**asked, **each, "out": folder})
                for each, folder in zip(sweep, folders, strict=True)
            ]
        )
        return
    runs = []
    failed = False
    for each, folder in zip(sweep, folders, strict=True):
        try:
            done = evaluate(*named, **{**asked, **each, "out": folder})
        except KeyboardInterrupt:
            info("stopped; run the same command again to go on.")
            raise typer.Exit(130) from None
        results, problems = done.assess(progress=True)
        runs.append(results)
        if results:
            typer.echo(format_scores(results))
        for line in (*problems, *done.not_asked, *done.warnings):
            if line not in done.told:
                info(line)
        if (spent := done.spent()).trials:
            info(f"{spent}.")
        if results:
            ways = f"`fechner report {folder}` makes a page of them, `fechner scores` prints them"
            info(f"Results are in {folder}; {ways}.")
        measured = bool(results) or any(entry.status == "done" for entry in done.entries())
        if measured and not results and not problems:
            info(
                "Nothing is scored: these tests have no human data to compare with. `fechner "
                f"report {folder}` shows what was measured.",
            )
        elif not problems and not results:
            info("nothing was measured: no observer can be asked any of these tests.")
        failed = failed or bool(problems) or not measured
    if "seed" in swept:
        of_seeds: dict[str, list[Any]] = {}
        for each, results in zip(sweep, runs, strict=True):
            others = {name: each[name] for name in swept if name != "seed"}
            of_seeds.setdefault(", ".join(_marks(others, options, swept)), []).append(results)
        for heading, same in of_seeds.items():
            typer.echo(f"{heading}:\n{compare_seeds(same)}" if heading else compare_seeds(same))
    if failed:
        raise typer.Exit(1)


def _suite_in(args: Sequence[str]) -> str | None:
    """Return what ``--suite`` names.

    Examples
    --------
    >>> _suite_in(["pixels", "--suite", "verbal"]), _suite_in(["--suite=mine.py:SUITE"])
    ('verbal', 'mine.py:SUITE')
    """
    found = None
    for word, following in itertools.pairwise([*args, ""]):
        if word == "--":
            break
        if word == "--suite":
            found = following
        elif word.startswith("--suite="):
            found = word.partition("=")[2]
    return found


run = SuiteCommand(_run, _suite_in, settings=True)


def _listed(path: Path) -> list[str]:
    """Return the observers in a text file, one a line."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FechnerError(f"the observers in {path} cannot be read: {why}.") from None
    # A # inside a name is that of a model behind an address.
    named = [re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip() for line in lines]
    found = [line for line in named if line]
    if not found:
        raise FechnerError(f"{path} names no observer: write one a line.")
    return found


def _sweep(given: Mapping[str, Any], options: Mapping[str, Option]) -> list[dict[str, Any]]:
    """Return every combination of values where numbers of a suite have several."""
    numbers = {
        name: _numbers(options[name], text)
        for name, text in given.items()
        if name in options and options[name].type in (int, float)
    }
    return [
        dict(zip(numbers, values, strict=True)) for values in itertools.product(*numbers.values())
    ]


def _numbers(option: Option, text: str) -> list[float]:
    """Return the values of a number: one, a comma-separated list, or whole numbers as in 0-9.

    Examples
    --------
    >>> from fechner.suites.options import Option
    >>> _numbers(Option("Seed.", "seed", int), "0-2,7")
    [0, 1, 2, 7]
    """
    found: list[float] = []
    for part in split_names(text) or ():
        ends = part.split("-")
        if option.type is int and len(ends) == 2 and all(end.isdecimal() for end in ends):
            first, last = (option.convert(end) for end in ends)
            if last < first:
                raise FechnerError(f"{option.flags[0]} {part} goes from a number to a lower one.")
            found += range(first, last + 1)
        else:
            found.append(option.convert(part))
    return list(dict.fromkeys(found))


def _marks(
    values: Mapping[str, Any], options: Mapping[str, Option], swept: Sequence[str] = ()
) -> list[str]:
    """Return what tells a run folder from others of its suite: a word for each option that is set.

    Those that are swept have one at their default, too.

    Examples
    --------
    >>> from fechner.suites.options import Options, options_of
    >>> _marks({"published": True, "ppd": 30.0, "seed": 0}, options_of(Options))
    ['published', 'ppd30']
    """
    found = []
    for name, value in values.items():
        known = options.get(name)
        if known is None or (value == known.default and name not in swept):
            continue
        if known.type is bool:
            word = known.as_flag(value)
        elif isinstance(value, int | float):
            word = f"{known.flags[0]}{value:g}"
        else:  # a few words, or the name of a file
            word = f"{known.flags[0]}-{re.sub(r'[^A-Za-z0-9._-]+', '-', Path(value).stem)}"
        found.append(word.removeprefix("--"))
    return found


def _say_what_would_be_done(plans: Sequence[Sequence[Preview]]) -> None:
    """Print how many pictures would be shown and how many questions asked.

    Parameters
    ----------
    plans
        Of every run folder; they differ in what is answered already.
    """
    if not plans[0]:
        raise FechnerError(
            "none of these tests can be asked of these observers; `fechner list tests` says what "
            "each asks, and `fechner list observers` what each can do."
        )
    priced = any(not math.isnan(row.cost) for row in plans[0])
    print_table(
        (
            *("observer", "test", "pictures, at most", "questions in words, at most", "answered"),
            *(("cost, about", "cost, at most") if priced else ()),
        ),
        (
            (
                row.observer,
                row.test,
                f"{row.pictures:,}",
                f"{row.questions:,}",
                _number(sum(each.answered for each in same)),
                *((_dollars(row.cost), _dollars(row.most)) if priced else ()),
            )
            for same in zip(*plans, strict=True)
            for row in same[:1]
        ),
    )
    several = f" in each of {len(plans)} run folders" if len(plans) > 1 else ""
    pictures = sum(row.pictures for row in plans[0])
    questions = sum(row.questions for row in plans[0])
    typer.echo(
        f"At most {pictures:,} pictures and {questions:,} questions{several}; nothing was shown, "
        "sent or stored."
    )
    if priced:
        known = [row for row in plans[0] if not math.isnan(row.cost)]
        cost, most = sum(row.cost for row in known), sum(row.most for row in known)
        typer.echo(
            f"About {cost:,.2f} dollars{several} with short replies, {most:,.2f} if all are as "
            "long as max_tokens. This is an estimate: 4/3 tokens a word, 85 a picture and 170 for "
            "each 512 x 512 pixels of it, 5 a short reply."
        )


def _dollars(cost: float) -> str:
    return "" if math.isnan(cost) else f"{cost:,.2f}"


def _number(n: int) -> str:
    return f"{n:,}" if n else ""

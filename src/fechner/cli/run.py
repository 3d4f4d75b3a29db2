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
    FlagCommand,
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
    observers: Annotated[list[str] | None, typer.Argument()] = None,
    observers_file: Annotated[Path | None, typer.Option("--observers")] = None,
    suite: str = DEFAULT_SUITE,
    tests: str | None = None,
    out: Path | None = None,
    dry_run: bool = False,
    *,
    given: dict[str, Any],
) -> None:
    """Run a suite on observers; a run that was stopped goes on where it was.

    Numbers of a suite may be lists, as in 30,60, and whole numbers ranges,
    as in 0-9: each value has a run folder of its own.

    Parameters
    ----------
    observers
        Names (`fechner list observers`), path/to/file.py:name, or a preset such as @cai2025.
        Without any: a tour of those that come with fechner.
    observers_file
        Text file with more observers, one a line; # begins a comment.
    suite
        Suite to run: encoders, metrics, decalogue, verbal, recognition, that of a package, or
        path/to/file.py:NAME. `fechner run --suite NAME --help` shows its options.
    tests
        Comma-separated tests of the suite, or patterns as in 'masking-*', with those that they
        come after; all that it has by default if left out.
    out
        Run folder; one that exists is resumed. Default: runs/SUITE and what was set, as in
        runs/encoders-published.
    dry_run
        Say what would be shown and asked, and do nothing.
    """
    with quick_imports():
        import xarray  # noqa: F401

        from fechner.observers import catalogue
        from fechner.observers.devices import keep_freed_memory
        from fechner.report.score_tables import compare_seeds, format_scores
        from fechner.runs.dry_run import preview
        from fechner.runs.evaluation import evaluate
        from fechner.suites.base import suite as find_suite
        from fechner.suites.options import options_of

    keep_freed_memory()
    own = find_suite(suite)
    named = [*(observers or ()), *(_listed(observers_file) if observers_file else ())]
    base = out or Path("runs", own.name)
    if not named:
        named = [name for name, entry in catalogue().items() if entry.tour and entry.installed]
        given["scores_only"] = True
        base = out or Path("runs", f"{own.name}-tour")
    options = options_of(own.options)
    numbers = {
        name: _numbers(options[name], text)
        for name, text in given.items()
        if name in options and options[name].type in (int, float)
    }
    swept = [name for name, values in numbers.items() if len(values) > 1]
    sweep: dict[Path, dict[str, Any]] = {}
    for values in itertools.product(*numbers.values()):
        each = dict(zip(numbers, values, strict=True))
        told_apart_by = {k: each[k] for k in swept} if out else {**given, **each}
        marks = _marks(told_apart_by, options, swept)
        sweep[base.with_name("-".join([base.name, *marks]))] = each
    asked = {"suite": own, "tests": split_names(tests), **given}
    if dry_run:
        _print_previews([preview(*named, **asked | each, out=path) for path, each in sweep.items()])
        return
    of_seeds: dict[str, list[Any]] = {}
    failed = False
    for folder, each in sweep.items():
        try:
            done = evaluate(*named, **asked | each, out=folder)
        except KeyboardInterrupt:
            info("stopped; run the same command again to go on.")
            raise typer.Exit(130) from None
        results, problems = done.assess(progress=True)
        others = {name: each[name] for name in swept if name != "seed"}
        of_seeds.setdefault(", ".join(_marks(others, options, swept)), []).append(results)
        measured = bool(results) or any(entry.status == "done" for entry in done.entries())
        failed = failed or bool(problems) or not measured
        if results:
            typer.echo(format_scores(results))
        lines = (*problems, *done.not_asked, *done.warnings)
        info(*(line for line in lines if line not in done.told))
        if (spent := done.spent()).trials:
            info(f"{spent}.")
        if results:
            ways = f"`fechner report {folder}` makes a page of them, `fechner scores` prints them"
            info(f"Results are in {folder}; {ways}.")
        elif measured and not problems:
            info(
                "Nothing is scored: these tests have no human data to compare with. `fechner "
                f"report {folder}` shows what was measured.",
            )
        elif not problems:
            info("nothing was measured: no observer can be asked any of these tests.")
    if "seed" in swept:
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


run = FlagCommand(_run, settings=None, find_suite=_suite_in)


def _listed(path: Path) -> list[str]:
    """Return the observers in a text file, one a line."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FechnerError(f"the observers in {path} cannot be read: {why}.") from None
    # A # inside a name is that of a model behind an address.
    names = [re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip() for line in lines]
    if not any(names):
        raise FechnerError(f"{path} names no observer: write one a line.")
    return list(filter(None, names))


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


def _print_previews(plans: Sequence[Sequence[Preview]]) -> None:
    """Print how many pictures would be shown and how many questions asked.

    Parameters
    ----------
    plans
        Of every run folder; they differ in what is answered already.
    """
    first = plans[0]
    if not first:
        raise FechnerError(
            "none of these tests can be asked of these observers; `fechner list tests` says what "
            "each asks, and `fechner list observers` what each can do."
        )
    priced = [row for row in first if not math.isnan(row.cost)]
    rows = []
    for row, *others in zip(*plans, strict=True):
        answered = sum(each.answered for each in (row, *others))
        cells = {
            "observer": row.observer,
            "test": row.test,
            "pictures, at most": f"{row.pictures:,}",
            "questions in words, at most": f"{row.questions:,}",
            "answered": f"{answered:,}" if answered else "",
        }
        if priced:
            known = not math.isnan(row.cost)
            cells["cost, about"] = f"{row.cost:,.2f}" if known else ""
            cells["cost, at most"] = f"{row.most:,.2f}" if known else ""
        rows.append(cells)
    print_table(rows)
    several = f" in each of {len(plans)} run folders" if len(plans) > 1 else ""
    pictures, questions = (sum(getattr(row, n) for row in first) for n in ("pictures", "questions"))
    typer.echo(
        f"At most {pictures:,} pictures and {questions:,} questions{several}; nothing was shown, "
        "sent or stored."
    )
    if priced:
        cost, most = sum(row.cost for row in priced), sum(row.most for row in priced)
        typer.echo(
            f"About {cost:,.2f} dollars{several} with short replies, {most:,.2f} if all are as "
            "long as max_tokens. This is an estimate: 4/3 tokens a word, 85 a picture and 170 for "
            "each 512 x 512 pixels of it, 5 a short reply."
        )

"""Exports: scores and raw answers of runs as files for other programs."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from fechner.errors import FechnerError, UnknownNameError
from fechner.report.contenders import groups
from fechner.report.frames import (
    FOR_SCORES,
    OF_ANSWERS,
    OF_SCORES,
    OF_TRIALS,
    What,
    answers,
    answers_frame,
    check_what,
    fitted,
    merged,
    schema,
    scores_frame,
    trials_frame,
)
from fechner.report.score_tables import format_scores
from fechner.report.tables import WRITERS, Schema, as_latex, as_markdown, import_pyarrow
from fechner.runs import Result, Run
from fechner.runs.manifest import FILE
from fechner.runs.progress import followed
from fechner.runs.store import slug, write_dataset
from fechner.suites import Test
from fechner.suites.base import not_asked

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

#: Scores for people to read have tables of their own, with a title where there are several.
_TABLES: dict[str, tuple[str, Callable[[str], str]]] = {
    ".md": ("md", lambda title: f"**{as_markdown(title)}**\n\n"),
    ".tex": ("latex", lambda title: rf"\noindent\textbf{{{as_latex(title)}}}\par" + "\n"),
}


def export(
    runs: Sequence[Run],
    out: str,
    what: What | None = None,
    observers: Sequence[str] | None = None,
    tests: Sequence[str] | None = None,
    *,
    tell: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> str:
    """Write scores or raw answers of runs, and say in a line what was written.

    Parameters
    ----------
    out
        File, whose suffix says the format: .csv, .json, .md, .parquet, .tex or .nc; a folder, for a
        netCDF file for each observer and test; or - for CSV on stdout.
    what
        ``"scores"`` if None; netCDF files hold raw answers, all that there are if None.
    observers, tests
        All if None.
    tell
        Takes a line about each observer that is not complete.
    """
    if what is not None:
        check_what(what)
    suffix = ".csv" if out == "-" else _suffix(out, [*WRITERS, ".nc"])
    chosen = _Export(runs, what, observers, tests, tell, progress)
    if suffix in WRITERS:
        if suffix == ".parquet":
            import_pyarrow()
        stream: AbstractContextManager[IO[bytes]] = (
            # Taken before there is a progress bar, which turns stdout to the terminal.
            nullcontext(sys.stdout.buffer) if out == "-" else _whole_file(out, chosen.runs)
        )
        with stream as file:
            return f"{out}: {_write(chosen, file, suffix)}"
    if what in ("scores", "trials"):
        raise FechnerError(
            f"netCDF files hold raw answers, not {what}; choose responses or surfaces, or a file "
            f"that ends in {', '.join(WRITERS)}."
        )
    return _write_datasets(chosen, out, single=suffix == ".nc")


def _suffix(out: str, known: Sequence[str]) -> str:
    """Return the suffix of a file, empty for a folder."""
    if not out:
        raise FechnerError(f"name a file to write, ending in one of {', '.join(known)}.")
    path = Path(out)
    suffix = path.suffix.lower()
    if suffix in known and not out.endswith(("/", os.sep)):
        return suffix
    if not suffix or out.endswith(("/", os.sep)) or path.is_dir():
        return ""
    raise FechnerError(
        f"'{path.name}' ends in none of {', '.join(known)}; a folder, for netCDF files, has a name "
        "without a suffix."
    )


@dataclass(frozen=True)
class _Place:
    """An observer in a test of a run; ``label`` tells runs apart."""

    run: Run
    label: str
    observer: str
    test: Test

    def answers(self, what: What) -> xr.Dataset | str:
        """Return its raw answers, or why there are none."""
        return answers(self.run, self.observer, self.test, FOR_SCORES[what])

    def frame(self, data: xr.Dataset) -> pd.DataFrame:
        """Return raw answers, one per row."""
        return answers_frame(self.run, self.observer, self.test, data)


class _Export:
    """What is taken from runs, and how much of it there is."""

    def __init__(
        self,
        runs: Sequence[Run],
        what: What | None,
        observers: Sequence[str] | None,
        tests: Sequence[str] | None,
        tell: Callable[[str], None],
        progress: bool,
    ) -> None:
        self.runs = list({run.folder.resolve(): run for run in runs}.values())
        self.what: What = what or "scores"
        self.tests = tests
        for run in self.runs:
            run.entries()  # a damaged ledger is told once, and not of each observer
        every = _places(self.runs, observers, tests)
        self.places = [place for place in every if place.run.asked(place.observer, place.test)]
        self.several = len(self.runs) > 1
        self._not_asked = _not_asked(every)
        self._left_out = [line for run in self.runs for line in run.left_out if not observers]
        self._tell = tell
        self._progress = progress

    def found(self, doing: str) -> Iterator[tuple[_Place, xr.Dataset]]:
        """Go through what is complete; at the end, tell what is not."""
        missing: dict[tuple[str, str], list[str]] = {}
        anything = False
        for place in self.followed(self.places, doing):
            data = place.answers(self.what)
            if not isinstance(data, str):
                anything = True
                yield place, data
            elif data:
                whose = f"{place.observer} of {place.label}" if self.several else place.observer
                missing.setdefault((whose, data), []).append(place.test.id)
        lines = [
            f"{who} is left out of {', '.join(of)}: {why}" for (who, why), of in missing.items()
        ]
        for line in (*self._left_out, *lines, *self._not_asked):
            self._tell(" ".join(line.split()))  # names may hold ends of lines
        if not anything:
            none_at_all = self.places and not missing
            reason = f"these tests have no {self.what}" if none_at_all else "nothing is there yet"
            if not self.places and self._not_asked:
                reason = self._not_asked[0].rstrip(".")
            raise FechnerError(f"there is nothing to export: {reason}.")

    def followed(self, places: Sequence[_Place], doing: str) -> Iterable[_Place]:
        """Go through places, with a progress bar if one is wanted."""
        return followed(places, doing) if self._progress else places


def _places(
    runs: Sequence[Run], observers: Sequence[str] | None, tests: Sequence[str] | None
) -> list[_Place]:
    names = [run.folder.resolve().name for run in runs]
    every = [
        _Place(run, name if names.count(name) == 1 else str(run.folder), observer, test)
        for name, run in zip(names, runs, strict=True)
        for observer in run.observers
        for test in run.tests
    ]
    known = {
        "observer": (observers, [name for run in runs for name in run.observers]),
        "test": (tests, [test.id for run in runs for test in run.tests]),
    }
    for kind, (chosen, there) in known.items():
        for name in chosen or ():
            if name not in there:
                listed = f"there are {', '.join(dict.fromkeys(there))}"
                raise UnknownNameError(kind, name, there, listed)
    return [
        place
        for place in every
        if (observers is None or place.observer in observers)
        and (tests is None or place.test.id in tests)
    ]


def _not_asked(places: Sequence[_Place]) -> list[str]:
    """Say which tests need what observers lack, in a line for each reason."""
    whose: dict[tuple[str, str], list[_Place]] = {}
    for place in places:
        whose.setdefault((place.label, place.observer), []).append(place)
    lines = [
        line
        for (_, observer), own in whose.items()
        for line in not_asked(
            observer,
            [place.test for place in own],
            own[0].run.manifest.observers[observer].lacks,
        )
    ]
    return list(dict.fromkeys(lines))


def _write(chosen: _Export, file: IO[bytes], suffix: str) -> str:
    """Write what was chosen, and say how much it was."""
    if chosen.what == "scores" and suffix in _TABLES:
        scored = _scored(chosen)
        file.write(_score_tables(chosen.runs, scored, suffix).encode())
        observers = {(place.label, place.observer) for place, _ in scored}
        tests = {place.test.id for place, _ in scored}
        return f"{len(observers)} observers, {len(tests)} tests"
    own: Schema
    parts: Iterable[tuple[_Place, pd.DataFrame]]
    if chosen.what == "scores":
        own, parts = OF_SCORES, [(place, scores_frame(found)) for place, found in _scored(chosen)]
    elif chosen.what == "trials":
        own, parts = OF_TRIALS, _trials(chosen)
    else:
        own, parts = _answers(chosen)
    columns = {**({"run": "str"} if chosen.several else {}), **own}
    rows = 0

    def frames() -> Iterator[pd.DataFrame]:
        nonlocal rows
        for place, frame in parts:
            rows += len(frame)
            if chosen.several:
                frame.insert(0, "run", place.label)
            yield fitted(frame, columns)

    WRITERS[suffix](file, columns, frames())
    kind = {"scores": "scores", "trials": "answers"}.get(chosen.what, "rows")
    return f"{rows} {kind}, {len(columns)} columns"


def _scored(chosen: _Export) -> list[tuple[_Place, list[Result]]]:
    return [
        (place, place.run.score(place.observer, place.test, data))
        for place, data in chosen.found("scoring")
    ]


def _trials(chosen: _Export) -> list[tuple[_Place, pd.DataFrame]]:
    """Return answers in words, those of unfinished tests included."""
    parts = []
    for run in chosen.runs:
        own = [place for place in chosen.places if place.run is run]
        if own:
            observers = list(dict.fromkeys(place.observer for place in own))
            parts.append((own[0], trials_frame(run, observers, chosen.tests)))
    if not any(len(frame) for _, frame in parts):
        raise FechnerError("there is nothing to export: no observer answered in words.")
    return parts


def _answers(chosen: _Export) -> tuple[Schema, Iterator[tuple[_Place, pd.DataFrame]]]:
    # A look at all of it first: the columns of a file must be known before its first row.
    schemas, complete = [], []
    for place, data in chosen.found("looking"):
        schemas.append(schema(place.frame(data.isel({dim: slice(1) for dim in data.dims}))))
        complete.append(place)

    def parts() -> Iterator[tuple[_Place, pd.DataFrame]]:
        for place in chosen.followed(complete, "writing"):
            data = place.answers(chosen.what)
            if isinstance(data, str):
                raise FechnerError(f"{place.run.folder} was changed while it was read: {data}")
            yield place, place.frame(data)

    return merged([OF_ANSWERS, *schemas]), parts()


def _score_tables(
    runs: Sequence[Run], scored: Sequence[tuple[_Place, list[Result]]], suffix: str
) -> str:
    """Return a table for each set of questions, with observers under names that tell them apart."""
    format, titled = _TABLES[suffix]
    tables = []
    for group in groups(runs):
        results = [
            replace(result, observer=contender.label)
            for contender in group.contenders
            for place, found in scored
            if place.run is contender.run and place.observer == contender.observer
            for result in found
        ]
        if results:
            tables.append((group.title, format_scores(results, format)))
    if len(tables) == 1:
        return tables[0][1]
    return "\n".join(titled(title) + table for title, table in tables)


def _write_datasets(chosen: _Export, out: str, single: bool) -> str:
    if single:
        if len(chosen.places) > 1:
            raise FechnerError(
                f"a .nc file holds one observer in one test, not {len(chosen.places)}; choose "
                "with --observers and --tests, or name a folder instead of a file."
            )
        path = _checked_file(out, chosen.runs)
        ((place, data),) = chosen.found("writing")
        write_dataset(path, _signed(place, data))
        return f"{out}: {place.observer} in {place.test.id}"

    def name(place: _Place) -> Path:
        run = [slug(place.label)] if chosen.several else []
        return Path(*run, slug(place.observer), f"{slug(place.test.id)}.nc")

    files = 0
    with whole_folder(out, chosen.runs, [name(place) for place in chosen.places]) as folder:
        for place, data in chosen.found("writing"):
            write_dataset(folder / name(place), _signed(place, data))
            files += 1
    return f"{out}: {files} files"


def _signed(place: _Place, data: xr.Dataset) -> xr.Dataset:
    """Return answers with attributes that say whose they are.

    They have names of their own: a bare ``mode`` would change how scipy writes the file.
    """
    manifest = place.run.manifest
    return data.assign_attrs(
        fechner_observer=place.observer,
        fechner_suite=manifest.suite,
        fechner_mode=manifest.mode,
        fechner_test=place.test.id,
        fechner_fingerprint=manifest.observers[place.observer].fingerprint_for(
            place.test.experiment.asks
        ),
        fechner_version=manifest.versions["fechner"],
    )


# Files and folders that are there whole or not at all


def _checked_file(out: str, runs: Sequence[Run]) -> Path:
    """Return where a file is to be written, or say why it is not."""
    path = _checked(out, runs)
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "no ordinary file"
        raise FechnerError(f"{out} is {kind}; choose another name.")
    return path


def _checked(out: str, runs: Sequence[Run]) -> Path:
    """Keep away from what a run has written, and ask for a place that is there."""
    path = Path(out).resolve()  # a link stays one
    for run in runs:
        own = run.folder.resolve()
        if path == own / FILE or own / "results" in (path, *path.parents):
            raise FechnerError(f"{out} belongs to the run in {run.folder}; choose another place.")
    if not path.parent.is_dir():
        raise FechnerError(f"{out} cannot be written: there is no folder {path.parent}.")
    return path


@contextmanager
def _whole_file(out: str, runs: Sequence[Run]) -> Iterator[IO[bytes]]:
    """Give a file to write, which takes its place when it is complete."""
    path = _checked_file(out, runs)
    temporary = path.with_name(f".export.{os.getpid()}.tmp")
    with _errors_in_a_sentence(out):
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(out: str, runs: Sequence[Run], names: Sequence[Path] = ()) -> Iterator[Path]:
    """Give a folder to fill, which takes its place when it is complete.

    Parameters
    ----------
    runs
        Whose own files are not written over.
    names
        What one that exists may hold, from an earlier export of the same: it is replaced.
    """
    path = _checked(out, runs)
    if path.exists() and not path.is_dir():
        raise FechnerError(f"{out} is a file; a folder is needed.")
    inside = [each.relative_to(path) for each in path.rglob("*") if not each.is_dir()]
    others = sorted(str(name) for name in set(inside) - set(names))
    if others:
        raise FechnerError(
            f"{out} holds other things ({others[0]}); choose a folder that is new or empty."
        )
    temporary = (path if path.is_dir() else path.parent) / f".export.{os.getpid()}.tmp"
    with _errors_in_a_sentence(out):
        try:
            temporary.mkdir()
            yield temporary
            if path.is_dir():
                for name in names:  # complete when it was exported before, and perhaps no longer
                    (path / name).unlink(missing_ok=True)
                for each in sorted(temporary.rglob("*")):
                    target = path / each.relative_to(temporary)
                    if each.is_dir():
                        target.mkdir(exist_ok=True)
                    else:
                        each.replace(target)
            else:
                temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _errors_in_a_sentence(out: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full" if full else error.strerror or error
        raise FechnerError(f"{out} cannot be written: {why}.") from error

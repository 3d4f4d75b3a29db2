"""Exports: scores and raw answers of runs as files for other programs."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, get_args

from fechner.errors import FechnerError, check_names
from fechner.report import frames
from fechner.report.contenders import groups, run_names
from fechner.report.frames import What
from fechner.report.score_tables import summarise_scores
from fechner.report.tables import WRITERS, Schema, import_pyarrow, on_one_line
from fechner.runs import Result, Run
from fechner.runs.manifest import FILE
from fechner.runs.progress import followed
from fechner.runs.store import slug, write_dataset
from fechner.suites import Test
from fechner.suites.base import not_asked

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

#: Formats of scores as people read them.
_TABLES = {".md": "md", ".tex": "latex"}


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
        File, whose suffix says the format: .csv, .json or .parquet; .md or .tex for scores; .nc for
        raw answers. Or a folder, for a netCDF file for each observer and test; or - for CSV on
        stdout.
    what
        ``"scores"`` if None; netCDF files hold raw answers, all that there are if None.
    observers, tests
        All if None.
    tell
        Takes a line about each observer that is not complete.
    """
    if what is not None:
        check_names("frame", [what], get_args(What))
    suffix = ".csv" if out == "-" else _suffix(out)
    if suffix == ".parquet":
        import_pyarrow()
    if suffix in _TABLES and what not in (None, "scores"):
        raise FechnerError(f"{suffix} files hold scores; choose {', '.join(WRITERS)} for {what}.")
    if suffix in (".nc", "") and what in ("scores", "trials"):
        raise FechnerError(
            f"netCDF files hold raw answers, not {what}; choose responses or surfaces, or a file "
            f"that ends in {', '.join(WRITERS)}."
        )
    chosen = _Chosen(runs, what or "scores", observers, tests, tell, progress)
    if suffix in (".nc", ""):
        return _write_datasets(chosen, out, single=suffix == ".nc")
    stream: AbstractContextManager[IO[bytes]] = (
        # Taken before there is a progress bar, which turns stdout to the terminal.
        nullcontext(sys.stdout.buffer) if out == "-" else _whole_file(out, chosen.runs)
    )
    with stream as file:
        write = _write_tables if suffix in _TABLES else _write_frames
        return f"{out}: {write(chosen, file, suffix)}"


def _suffix(out: str) -> str:
    """Return the suffix of a file, empty for a folder."""
    path, known = Path(out), (*WRITERS, *_TABLES, ".nc")
    if not out:
        raise FechnerError(f"name a file to write, ending in one of {', '.join(known)}.")
    if not path.suffix or out.endswith(("/", os.sep)):
        return ""
    if path.suffix.lower() in known:
        return path.suffix.lower()
    raise FechnerError(
        f"'{path.name}' ends in none of {', '.join(known)}; a folder, for netCDF files, has a name "
        "without a suffix."
    )


class _Place(NamedTuple):
    """An observer in a test of a run, and what the run is called."""

    run: Run
    run_name: str
    observer: str
    test: Test


class _Chosen:
    """What is taken from runs."""

    def __init__(
        self,
        runs: Sequence[Run],
        what: What,
        observers: Sequence[str] | None,
        tests: Sequence[str] | None,
        tell: Callable[[str], None],
        progress: bool,
    ) -> None:
        self.runs = list({run.folder.resolve(): run for run in runs}.values())
        self.several = len(self.runs) > 1
        self.what, self.tests, self.tell, self.progress = what, tests, tell, progress
        check_names("observer", observers, [name for run in self.runs for name in run.observers])
        check_names("test", tests, [test.id for run in self.runs for test in run.tests])
        self.places: list[_Place] = []
        #: Lines about whom nothing is taken from.
        self.left_out = [line for run in self.runs for line in run.left_out if not observers]
        self.not_asked: list[str] = []
        for run, name in zip(self.runs, run_names(self.runs), strict=True):
            run.entries()  # a damaged ledger is told once, and not of each observer
            own = [test for test in run.tests if tests is None or test.id in tests]
            for observer in run.observers:
                if observers is None or observer in observers:
                    asked = [test for test in own if run.asked(observer, test)]
                    self.places += [_Place(run, name, observer, test) for test in asked]
                    lacks = run.manifest.observers[observer].lacks
                    self.not_asked += not_asked(observer, own, lacks)

    def complete(self, doing: str) -> Iterator[tuple[_Place, xr.Dataset]]:
        """Go through what is complete; at the end, tell what is not."""
        missing: dict[tuple[str, str], list[str]] = {}
        anything = False
        for place in self.followed(self.places, doing):
            data = self.answers(place)
            if not isinstance(data, str):
                anything = True
                yield place, data
            elif data:
                of_run = f" of {place.run_name}" if self.several else ""
                missing.setdefault((place.observer + of_run, data), []).append(place.test.id)
        lines = [
            f"{who} is left out of {', '.join(of)}: {why}" for (who, why), of in missing.items()
        ]
        for line in (*self.left_out, *lines, *dict.fromkeys(self.not_asked)):
            self.tell(on_one_line(line))
        if not anything:
            reason = "nothing is there yet"
            if self.places and not missing:
                reason = f"these tests have no {self.what}"
            elif not self.places and self.not_asked:
                reason = self.not_asked[0].rstrip(".")
            raise FechnerError(f"there is nothing to export: {reason}.")

    def answers(self, place: _Place) -> xr.Dataset | str:
        """Return raw answers, or why there are none."""
        return frames.answers(place.run, place.observer, place.test, frames.FOR_SCORES[self.what])

    def followed(self, places: Sequence[_Place], doing: str) -> Iterable[_Place]:
        """Go through places, with a progress bar if one is wanted."""
        return followed(places, doing) if self.progress else places

    def scored(self) -> list[tuple[_Place, list[Result]]]:
        """Return the scores of what is complete."""
        return [
            (place, place.run.score(place.observer, place.test, data))
            for place, data in self.complete("scoring")
        ]


def _write_tables(chosen: _Chosen, file: IO[bytes], suffix: str) -> str:
    """Write a table for each set of questions, with observers under names that tell them apart."""
    scored = chosen.scored()
    tables = {}
    for group in groups(chosen.runs):
        results = [
            replace(result, observer=contender.label)
            for contender in group.contenders
            for place, found in scored
            if place.run is contender.run and place.observer == contender.observer
            for result in found
        ]
        if results:
            tables[group.title] = results
    texts = [
        summarise_scores(results, title if len(tables) > 1 else "").write(_TABLES[suffix])
        for title, results in tables.items()
    ]
    file.write("\n".join(texts).encode())
    observers = {(place.run_name, place.observer) for place, _ in scored}
    return f"{len(observers)} observers, {len({place.test.id for place, _ in scored})} tests"


def _write_frames(chosen: _Chosen, file: IO[bytes], suffix: str) -> str:
    """Write what was chosen, and say how much it was."""
    columns, parts = _frames(chosen)
    if chosen.several:
        columns = {"run": "str", **columns}
    rows = 0

    def fitted() -> Iterator[pd.DataFrame]:
        nonlocal rows
        for place, frame in parts:
            rows += len(frame)
            if chosen.several:
                frame.insert(0, "run", place.run_name)
            yield frames.fitted(frame, columns)

    WRITERS[suffix](file, columns, fitted())
    kind = {"scores": "scores", "trials": "answers"}.get(chosen.what, "rows")
    return f"{rows} {kind}, {len(columns)} columns"


def _frames(chosen: _Chosen) -> tuple[Schema, Iterable[tuple[_Place, pd.DataFrame]]]:
    """Return the columns of what was chosen, and frames that are made when their turn comes."""
    if chosen.what == "scores":
        scored = chosen.scored()
        return frames.OF_SCORES, [(place, frames.scores_frame(found)) for place, found in scored]
    if chosen.what == "trials":  # those of unfinished tests included
        trials = []
        for run in chosen.runs:
            if own := [place for place in chosen.places if place.run is run]:
                observers = [place.observer for place in own]
                trials.append((own[0], frames.trials_frame(run, observers, chosen.tests)))
        if not any(len(frame) for _, frame in trials):
            raise FechnerError("there is nothing to export: no observer answered in words.")
        return frames.OF_TRIALS, trials

    def framed(place: _Place, data: xr.Dataset) -> pd.DataFrame:
        return frames.answers_frame(place.run, place.observer, place.test, data)

    # A look at all of it first: the columns of a file must be known before its first row.
    schemas, complete = [], []
    for place, data in chosen.complete("looking"):
        schemas.append(frames.schema(framed(place, data.isel({d: slice(1) for d in data.dims}))))
        complete.append(place)

    def parts() -> Iterator[tuple[_Place, pd.DataFrame]]:
        for place in chosen.followed(complete, "writing"):
            data = chosen.answers(place)
            if isinstance(data, str):
                raise FechnerError(f"{place.run.folder} was changed while it was read: {data}")
            yield place, framed(place, data)

    return frames.merged([frames.OF_ANSWERS, *schemas]), parts()


def _write_datasets(chosen: _Chosen, out: str, single: bool) -> str:
    if single:
        if len(chosen.places) > 1:
            raise FechnerError(
                f"a .nc file holds one observer in one test, not {len(chosen.places)}; choose "
                "with --observers and --tests, or name a folder instead of a file."
            )
        path = _checked(out, chosen.runs)
        ((place, data),) = chosen.complete("writing")
        write_dataset(path, _signed(place, data))
        return f"{out}: {place.observer} in {place.test.id}"

    def name(place: _Place) -> Path:
        run = [slug(place.run_name)] if chosen.several else []
        return Path(*run, slug(place.observer), f"{slug(place.test.id)}.nc")

    files = 0
    with whole_folder(out, chosen.runs, [name(place) for place in chosen.places]) as folder:
        for place, data in chosen.complete("writing"):
            write_dataset(folder / name(place), _signed(place, data))
            files += 1
    return f"{out}: {files} files"


def _signed(place: _Place, data: xr.Dataset) -> xr.Dataset:
    """Return answers with attributes that say whose they are.

    They have names of their own: a bare ``mode`` would change how scipy writes the file.
    """
    manifest = place.run.manifest
    record = manifest.observers[place.observer]
    return data.assign_attrs(
        fechner_observer=place.observer,
        fechner_suite=manifest.suite,
        fechner_mode=manifest.mode,
        fechner_test=place.test.id,
        fechner_fingerprint=record.fingerprint_for(place.test.experiment.asks),
        fechner_version=manifest.versions["fechner"],
    )


# Files and folders that are there whole or not at all


def _checked(out: str, runs: Sequence[Run], folder: bool = False) -> Path:
    """Return where to write; keep away from what a run has written, and from other things."""
    path = Path(out).resolve()  # a link stays one
    for run in runs:
        own = run.folder.resolve()
        if path == own / FILE or own / "results" in (path, *path.parents):
            raise FechnerError(f"{out} belongs to the run in {run.folder}; choose another place.")
    if not path.parent.is_dir():
        raise FechnerError(f"{out} cannot be written: there is no folder {path.parent}.")
    if path.exists() and not (path.is_dir() if folder else path.is_file()):
        raise FechnerError(f"{out} is no {'folder' if folder else 'file'}; choose another name.")
    return path


@contextmanager
def _whole_file(out: str, runs: Sequence[Run]) -> Iterator[IO[bytes]]:
    """Give a file to write, which takes its place when it is complete."""
    path = _checked(out, runs)
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
    path = _checked(out, runs, folder=True)
    inside = {each.relative_to(path) for each in path.rglob("*") if not each.is_dir()}
    if others := sorted(map(str, inside - set(names))):
        raise FechnerError(
            f"{out} holds other things ({others[0]}); choose a folder that is new or empty."
        )
    temporary = (path if path.is_dir() else path.parent) / f".export.{os.getpid()}.tmp"
    with _errors_in_a_sentence(out):
        try:
            temporary.mkdir()
            yield temporary
            path.mkdir(exist_ok=True)
            for name in inside:  # complete when it was exported before, and perhaps no longer
                (path / name).unlink()
            for each in temporary.iterdir():
                shutil.rmtree(path / each.name, ignore_errors=True)  # its folders are empty
                each.replace(path / each.name)
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

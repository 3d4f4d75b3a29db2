"""Exports: scores and raw answers of runs as files for other programs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, get_args

from fechner.arrays import pd, xr
from fechner.errors import FechnerError, check_names
from fechner.report import frames
from fechner.report.contenders import Contender, contenders, groups, run_names
from fechner.report.frames import What
from fechner.report.score_tables import summarise_scores
from fechner.report.tables import WRITERS, Schema, import_pyarrow, on_one_line
from fechner.runs import Result, Run
from fechner.runs.manifest import FILE
from fechner.runs.progress import followed
from fechner.runs.store import slug, whole_file, write_dataset
from fechner.suites import Test
from fechner.suites.base import not_asked

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
    held = "scores" if suffix in _TABLES else "responses and surfaces"
    if what is not None and what not in held and suffix not in WRITERS:
        raise FechnerError(
            f"{suffix or '.nc'} files hold {held}, not {what}; choose one of {', '.join(WRITERS)}."
        )
    chosen = _Chosen(runs, what or "scores", observers, tests, tell, progress)
    if suffix in (".nc", ""):
        return _write_datasets(chosen, out, single=suffix == ".nc")
    stream: AbstractContextManager[IO[bytes]] = (
        # Taken before there is a progress bar, which turns stdout to the terminal.
        nullcontext(sys.stdout.buffer) if out == "-" else whole_file(_checked(out, chosen.runs))
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


#: An observer of a run, and a test that it was asked.
_Place = tuple[Contender, Test]


@dataclass
class _Chosen:
    """What is taken from runs, and lines about whom, and of what, nothing is taken."""

    runs: Sequence[Run]
    what: What
    observers: Sequence[str] | None
    tests: Sequence[str] | None
    tell: Callable[[str], None]
    progress: bool
    places: list[_Place] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runs = list({run.folder.resolve(): run for run in self.runs}.values())
        self.run_names = dict(zip(self.runs, run_names(self.runs), strict=True))
        self.several = len(self.runs) > 1
        every = contenders(self.runs)
        check_names("observer", self.observers, [each.observer for each in every])
        check_names("test", self.tests, [test.id for run in self.runs for test in run.tests])
        for run in self.runs:
            run.entries()  # a damaged ledger is told once, and not of each observer
            self.left_out += [] if self.observers else run.left_out
        for each in every:
            if self.observers is None or each.observer in self.observers:
                named = [t for t in each.run.tests if self.tests is None or t.id in self.tests]
                self.places += [(each, t) for t in named if each.run.asked(each.observer, t)]
                self.left_out += not_asked(each.observer, named, each.known.lacks)

    def complete(self, doing: str) -> Iterator[tuple[Contender, Test, xr.Dataset]]:
        """Go through what is complete; at the end, tell what is not."""
        problems: list[str] = []
        anything = False
        for each, test in followed(self.places, doing, self.progress):
            data = each.read(test, problems, frames.FOR_SCORES.get(self.what))
            if data is not None:
                anything = True
                yield each, test, data
        lines = list(dict.fromkeys([*problems, *self.left_out]))
        for line in lines:
            self.tell(on_one_line(line))
        if not anything:
            why = lines[0].rstrip(".") if lines else f"these tests have no {self.what}"
            raise FechnerError(f"there is nothing to export: {why}.")

    def scored(self) -> list[tuple[Contender, list[Result]]]:
        """Return the scores of what is complete."""
        return [
            (each, each.run.score(each.observer, test, data))
            for each, test, data in self.complete("scoring")
        ]


def _write_tables(chosen: _Chosen, file: IO[bytes], suffix: str) -> str:
    """Write a table for each set of questions, with observers under names that tell them apart."""
    results = [
        (each.run, replace(result, observer=each.label))
        for each, found in chosen.scored()
        for result in found
    ]
    tables = {}
    for group in groups(chosen.runs):
        if own := [result for run, result in results if run in group.runs]:
            tables[group.title] = own
    texts = [
        summarise_scores(own, title if len(tables) > 1 else "").write(_TABLES[suffix])
        for title, own in tables.items()
    ]
    file.write("\n".join(texts).encode())
    observers, tests = (
        {getattr(each, name) for _, each in results} for name in ("observer", "test")
    )
    return f"{len(observers)} observers, {len(tests)} tests"


def _write_frames(chosen: _Chosen, file: IO[bytes], suffix: str) -> str:
    """Write what was chosen, and say how much it was."""
    columns, parts = _frames(chosen)
    if chosen.several:
        columns = {"run": "str", **columns}
    rows = 0

    def fitted() -> Iterator[pd.DataFrame]:
        nonlocal rows
        for run, frame in parts:
            rows += len(frame)
            if chosen.several:
                frame.insert(0, "run", chosen.run_names[run])
            yield frames.fitted(frame, columns)

    WRITERS[suffix](file, columns, fitted())
    kind = {"scores": "scores", "trials": "answers"}.get(chosen.what, "rows")
    return f"{rows} {kind}, {len(columns)} columns"


def _frames(chosen: _Chosen) -> tuple[Schema, Iterable[tuple[Run, pd.DataFrame]]]:
    """Return the columns of what was chosen, and frames that are made when their turn comes."""
    if chosen.what == "scores":
        scored = chosen.scored()
        return frames.OF_SCORES, [(each.run, frames.scores_frame(found)) for each, found in scored]
    if chosen.what == "trials":  # those of unfinished tests included
        trials = []
        for run in chosen.runs:
            observers = [each.observer for each, _ in chosen.places if each.run is run]
            trials.append((run, frames.trials_frame(run, observers, chosen.tests)))
        if not any(len(frame) for _, frame in trials):
            raise FechnerError("there is nothing to export: no observer answered in words.")
        return frames.OF_TRIALS, trials
    # A look at all of it first: the columns of a file must be known before its first row.
    schemas, complete = [], []
    for each, test, data in chosen.complete("looking"):
        first = data.isel({dim: slice(1) for dim in data.dims})
        schemas.append(frames.schema(frames.answers_frame(each, test, first)))
        complete.append((each, test))

    def parts() -> Iterator[tuple[Run, pd.DataFrame]]:
        for each, test in followed(complete, "writing", chosen.progress):
            data = each.read(test, [], frames.FOR_SCORES.get(chosen.what))
            if data is None:
                raise FechnerError(f"{each.run.folder} was changed while it was read.")
            yield each.run, frames.answers_frame(each, test, data)

    return frames.merged([frames.OF_ANSWERS, *schemas]), parts()


def _write_datasets(chosen: _Chosen, out: str, single: bool) -> str:
    if single:
        if len(chosen.places) > 1:
            raise FechnerError(
                f"a .nc file holds one observer in one test, not {len(chosen.places)}; choose "
                "with --observers and --tests, or name a folder instead of a file."
            )
        path = _checked(out, chosen.runs)
        ((each, test, data),) = chosen.complete("writing")
        write_dataset(path, _signed(each, test, data))
        return f"{out}: {each.observer} in {test.id}"

    def name(each: Contender, test: Test) -> Path:
        run = [slug(chosen.run_names[each.run])] if chosen.several else []
        return Path(*run, slug(each.observer), f"{slug(test.id)}.nc")

    files = 0
    with whole_folder(out, chosen.runs, [name(*place) for place in chosen.places]) as folder:
        for each, test, data in chosen.complete("writing"):
            write_dataset(folder / name(each, test), _signed(each, test, data))
            files += 1
    return f"{out}: {files} files"


def _signed(each: Contender, test: Test, data: xr.Dataset) -> xr.Dataset:
    """Return answers with attributes that say whose they are.

    They have names of their own: a bare ``mode`` would change how scipy writes the file.
    """
    manifest = each.run.manifest
    return data.assign_attrs(
        fechner_observer=each.observer,
        fechner_suite=manifest.suite,
        fechner_mode=manifest.mode,
        fechner_test=test.id,
        fechner_fingerprint=each.known.fingerprint_for(test.experiment.asks),
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
def whole_folder(out: str, runs: Sequence[Run], names: Sequence[Path] = ()) -> Iterator[Path]:
    """Give a folder to fill, which takes its place when it is complete.

    One that exists may hold files of these names, from an earlier export: they are replaced.
    """
    path = _checked(out, runs, folder=True)
    inside = {each.relative_to(path) for each in path.rglob("*") if not each.is_dir()}
    if others := sorted(map(str, inside - set(names))):
        raise FechnerError(
            f"{out} holds other things ({others[0]}); choose a folder that is new or empty."
        )
    temporary = (path if path.is_dir() else path.parent) / f".export.{os.getpid()}.tmp"
    try:
        temporary.mkdir()
        yield temporary
        path.mkdir(exist_ok=True)
        for name in inside:  # complete when it was exported before, and perhaps no longer
            (path / name).unlink()
        for each in temporary.iterdir():
            shutil.rmtree(path / each.name, ignore_errors=True)  # its folders are empty
            each.replace(path / each.name)
    except OSError as error:
        raise FechnerError(f"{out} cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)

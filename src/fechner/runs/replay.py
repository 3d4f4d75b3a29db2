"""Read the stored replies of a run again with the present reader, without asking anything.

Results are updated by replaying each piece with an observer that answers from the log only. The
replay follows the choices that were made when the trials were asked, so an adaptive test shows the
same contrasts; the new readings replace the old ones in the result, and nothing else changes. A
piece that cannot be replayed from the log stays as it is and is named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fechner.arrays import xr
from fechner.errors import FechnerError, ObserverError, RunFolderError
from fechner.experiments import Presenter
from fechner.experiments.interview import GRADED
from fechner.experiments.recognition import NOT_SHOWN
from fechner.observers.abilities import Wants
from fechner.observers.chat.reply_parser import READER, parse
from fechner.observers.devices import check_device
from fechner.observers.questions import Answer, Question, Reads
from fechner.runs.evaluation import computing_with
from fechner.runs.plan import jobs, piece_keys, read_answers
from fechner.runs.run import Run
from fechner.runs.store import Ledger, only_writer, read_dataset, write_dataset
from fechner.runs.trials import FILE, Trials

if TYPE_CHECKING:
    from fechner.stimuli import Frames

#: The read-out that holds choices.
_CHOICE = "choice"


@dataclass(frozen=True)
class Change:
    """Replies of an observer that are read otherwise than before; invalid ones have no option."""

    observer: str
    before: str
    now: str
    replies: int
    example: str


@dataclass
class Reread:
    """What came of reading again.

    Parameters
    ----------
    read
        How many replies were read, by observer.
    updated
        How many result files were written anew.
    problems
        Sentences about results that could not be updated.
    """

    read: dict[str, int] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    updated: int = 0
    problems: list[str] = field(default_factory=list)


class _Reading(NamedTuple):
    """One reply: the choice that trials were placed by, that of the log, and today's."""

    first: int | None
    before: int | None
    now: int | None
    options: int
    read: bool


def reread(folder: Path | str, *, dry_run: bool = False) -> Reread:
    """Read every stored reply of a run again, and update the results.

    Parameters
    ----------
    dry_run
        Say what would change, and write nothing.
    """
    run = Run(folder)
    found = Reread()
    trials = Trials(run.folder / FILE)
    with closing(trials):
        readings = {name: _read(trials, name, found) for name in run.observers}
    if dry_run:
        return found
    with only_writer(run.folder), closing(trials):
        total = 0
        for name, own in readings.items():
            changed = {key: each.now for key, each in own.items() if each.now != each.before}
            total += len(changed)
            if changed:
                _update(run, name, own, found)
            # Last, so that a process that is killed before does it all again.
            trials.reread(changed, READER, [key for key, each in own.items() if each.read])
        if total:
            run.manifest.notes.append(f"{total} replies were read otherwise by reader {READER}")
            run.manifest.write(run.folder)
    return found


def _read(trials: Trials, observer: str, found: Reread) -> dict[str, _Reading]:
    """Read the replies of an observer."""
    readings: dict[str, _Reading] = {}
    changes: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for row in trials.rows(observer):
        options = json.loads(row["options"])
        # What was refused, or never in words, stays as it is.
        read = row["reader"] is not None and bool(row["reply"] or row["second_reply"])
        now = None if read else row["choice"]
        for reply in (row["reply"], row["second_reply"]) if read else ():
            now = parse(reply, options, row["prompt"]) if now is None and reply else now
        first = row["choice"] if row["first_reader"] is None else row["first_choice"]
        readings[row["key"]] = _Reading(first, row["choice"], now, len(options), read)
        if now != row["choice"]:
            change = tuple("" if c is None else options[c] for c in (row["choice"], now))
            changes[change] += 1  # type: ignore[index]
            examples.setdefault(change, row["reply"])  # type: ignore[arg-type]
    found.read[observer] = sum(each.read for each in readings.values())
    found.changes += [
        Change(observer, *change, n, examples[change]) for change, n in sorted(changes.items())
    ]
    return readings


def _update(run: Run, name: str, readings: Mapping[str, _Reading], found: Reread) -> None:
    """Put today's readings into the result files of an observer."""
    record = run.manifest.observers[name]
    every = run.all_tests
    ledger = Ledger(run.folder)
    entries = ledger.entries()
    done = {entry.key: entry for entry in entries if entry.status == "done"}
    # Those that follow from others first, as long as the others are as they were.
    for job in reversed(jobs(name, run.tests, scores_only=False)):
        entry = done.get(piece_keys(job.test, every, record)[job.piece.name])
        if entry is None or job.experiment.asks == "compares":
            continue
        try:
            stored = read_dataset(run.folder / entry.file, entry.sha256)
            earlier = [
                read_answers(run.folder, every[other], every, record, entries)
                for other in job.test.after
            ]
            if record.wants is None:
                raise ObserverError("the manifest does not say how it was asked.")
            size = record.wants["size_px"]
            observer = _Replayed(
                name,
                record.fingerprint_for(job.experiment.asks),
                Wants(**{**record.wants, "size_px": tuple(size) if size else None}),
                [str(layer) for layer in stored["layer"].values],
                record.samples,
            )
            presenter = Presenter(
                observer,
                batch_size=record.batch_size,
                device=check_device(run.manifest.device),
                log=_Log(readings),
            )
            with computing_with(run.manifest.threads):
                replayed = job.experiment.measure(job.piece, presenter, *earlier)
            updated = _with_readings(stored, replayed)
        except FechnerError as error:
            found.problems.append(
                f"{name} {job.test.id}, piece {job.piece.name}, is left as it is: {error}"
            )
            continue
        if not updated.identical(stored):
            digest = write_dataset(run.folder / entry.file, updated)
            ledger.record(replace(entry, sha256=digest))
            found.updated += 1


@dataclass(frozen=True)
class _Replayed:
    """An observer that was asked before; it answers nothing by itself."""

    name: str
    fingerprint: str
    wants: Wants
    layers: Sequence[str]
    samples: bool
    readouts: Sequence[str] = (_CHOICE, GRADED)
    reads: Reads = "questions"

    def choose(self, frames: Frames, questions: Sequence[Question]) -> Iterator[Answer]:
        """Refuse to answer."""
        raise ObserverError("questions are needed that were not asked then.")


@dataclass(frozen=True)
class _Log:
    """Answers with the choice of old, and that of today as their probability."""

    readings: Mapping[str, _Reading]

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        """Return the answers that are there."""
        found = {}
        for key in keys:
            if (each := self.readings.get(key)) is not None:
                certain = tuple(float(option == each.now) for option in range(each.options))
                found[key] = Answer(0, each.first, None if each.now is None else certain)
        return found

    def allow(self, questions: int) -> int:
        """Allow nothing."""
        raise ObserverError(f"{questions} of its answers are not in the log.")

    def record(self, *_: Any) -> None:
        """Keep nothing."""


def _with_readings(stored: xr.Dataset, replayed: xr.Dataset) -> xr.Dataset:
    """Return a stored result with today's readings, if the replay is what is stored."""
    then, now = (replayed.isel(readout=place, drop=True) for place in (0, 1))
    at = [str(name) for name in stored["readout"].values].index(_CHOICE)
    own = stored.isel(readout=at, drop=True)
    shown = [name for name in ("level", "problem") if name in stored]
    if not all(np.array_equal(own[name], then[name]) for name in shown):
        raise RunFolderError("what would be shown now is not what was shown then.")
    updated = stored.copy(deep=True)
    if "yes" in stored:
        values = {"yes": now["yes"].values}
    else:
        chosen = now["chosen"].values
        wrong = np.where(chosen == NOT_SHOWN, np.nan, 0.0)
        right = np.where(chosen < 0, wrong, now["right"])
        values = {"chosen": chosen, "right": right}
        if "score" in stored:
            values["score"] = np.where(right > 0, 1, -1) * np.abs(own["score"].values)
    for name, found in values.items():
        updated[name][{"readout": at}] = found
    return updated

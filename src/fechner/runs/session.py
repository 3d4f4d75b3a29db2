"""One observer and its plan: every piece that is not there yet is measured and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fechner.observers.weights import hash_file
from fechner.runs.answers import answers
from fechner.runs.keys import piece_keys
from fechner.runs.ledger import Entry, Ledger
from fechner.runs.log import add_to_log
from fechner.runs.manifest import Manifest
from fechner.runs.measuring import Measures, Outcome
from fechner.runs.plan import Job
from fechner.runs.progress import Listener
from fechner.runs.schedule import Schedule
from fechner.runs.store import write_content
from fechner.suites import Test

if TYPE_CHECKING:
    import xarray as xr


class Session:
    """Measures what is missing of a plan, and is the only one who writes.

    Parameters
    ----------
    plan
        What the observer can be asked, in order; the manifest knows the observer.
    every
        All tests by name, with those that the observer cannot be asked.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        ledger: Ledger,
        listener: Listener,
        plan: list[Job],
        every: dict[str, Test],
    ) -> None:
        self._folder = folder
        self._manifest = manifest
        self._ledger = ledger
        self._listener = listener
        self._plan = plan
        self._every = every
        self._tests = {job.test.id: job.test for job in plan}
        self._known = manifest.observers[plan[0].observer]
        self._keys = {
            name: piece_keys(test, every, self._known) for name, test in self._tests.items()
        }
        self._recorded = {entry.key: entry for entry in ledger.entries()}
        self._schedule = Schedule(plan)
        self._batch_sizes: dict[int, int] = {}
        self._failures: dict[str, dict[int, Outcome]] = {}
        self._earlier: dict[str, xr.Dataset | None] = {}
        #: Lines that the observer printed in other processes.
        self.printed = 0

    @property
    def missing(self) -> bool:
        """Whether there is anything to measure, as far as the ledger knows."""
        keys = [self._key(job) for job in self._plan]
        return any(k not in self._recorded or self._recorded[k].status != "done" for k in keys)

    def run(self, measures: Measures) -> None:
        """Go through the plan."""
        while True:
            while measures.free and (number := self._next()) is not None:
                job = self._plan[number]
                self._listener.piece(job.observer, job.test.id)
                self._batch_sizes[number] = self._known["batch_size"]
                earlier = tuple(self._answers(name) for name in job.test.after)
                measures.begin(number, job, earlier, self._batch_sizes[number])
            if not measures.busy:
                return
            for number, outcome in measures.finished():
                self._settle(number, outcome)

    def _next(self) -> int | None:
        """Return the next piece that is not there yet and can be measured."""
        while (number := self._schedule.next()) is not None:
            job = self._plan[number]
            if self._is_done(self._recorded.get(self._key(job))):
                self._listener.images(job.piece.work)
                self._schedule.settle(number, complete=True)
                continue
            missing = [name for name in job.test.after if name in self._schedule.incomplete]
            if not missing:
                return number
            self._schedule.settle(number, complete=False)
            self._drop(job, number)
            self._listener.say(
                f"{job.observer} {job.test.id} is not measured: it comes after {missing[0]}, which "
                "is not complete."
            )
        return None

    def _drop(self, job: Job, *numbers: int) -> None:
        """Leave the rest of a test alone."""
        for number in (*numbers, *self._schedule.drop(job.test.id)):
            self._listener.images(self._plan[number].piece.work)

    def _answers(self, test: str) -> xr.Dataset | None:
        """Return all answers to an earlier test, read once; None if it cannot be asked."""
        if test not in self._earlier:
            self._earlier[test] = (
                answers(
                    self._folder,
                    self._tests[test],
                    self._every,
                    self._known,
                    self._ledger.entries(),
                )
                if test in self._tests
                else None
            )
        return self._earlier[test]

    def _key(self, job: Job) -> str:
        return self._keys[job.test.id][job.piece.name]

    def _is_done(self, entry: Entry | None) -> bool:
        if entry is None or entry.status != "done":
            return False
        path = self._folder / entry.file
        if path.is_file() and hash_file(path) == entry.sha256:
            return True
        state = "damaged" if path.is_file() else "missing"
        self._listener.say(f"result file {path} is {state} and is measured anew.")
        return False

    def _settle(self, number: int, outcome: Outcome) -> None:
        """Record what came of a piece."""
        job = self._plan[number]
        add_to_log(self._folder, outcome.log)
        self.printed += outcome.printed
        if outcome.status == "too large":
            self._listener.images(-outcome.images)
            self._schedule.again(number)
            self._lower_batch_size(job, self._batch_sizes[number])
            return
        # Plans count tests only; references and points left out are settled here.
        self._listener.images(job.piece.work - outcome.images)
        self._schedule.settle(number, complete=outcome.status == "done")
        if outcome.status == "done":
            digest = write_content(self._folder / job.file, outcome.content)
            self._ledger.record(
                Entry(
                    self._key(job),
                    job.observer,
                    job.test.id,
                    job.piece.name,
                    "done",
                    job.file,
                    digest,
                    outcome.images,
                    seconds=outcome.seconds,
                )
            )
        elif outcome.status == "failed":
            self._failures.setdefault(job.test.id, {})[number] = outcome
            self._drop(job)
        else:
            self._listener.say(
                f"{job.observer} {job.test.id}: {outcome.message}; piece {job.piece.name} is lost, "
                "and the same command measures it again."
            )
        self._record_failure(job.test.id)

    def _record_failure(self, test: str) -> None:
        """Record the first failure of a test, in the order of the plan, when none can follow."""
        if test not in self._failures or self._schedule.under_way(test):
            return
        number, outcome = min(self._failures.pop(test).items())
        job = self._plan[number]
        self._ledger.record(
            Entry(
                self._key(job),
                job.observer,
                test,
                job.piece.name,
                "failed",
                job.file,
                message=outcome.message,
            )
        )
        self._listener.say(f"{job.observer} {test}: {outcome.message}")

    def _lower_batch_size(self, job: Job, used: int) -> None:
        if self._known["batch_size"] != used:
            return  # another piece has met the same
        self._known["batch_size"] = used // 2
        note = (
            f"out of memory at {job.observer} {job.test.id}: batch size lowered to {used // 2}; "
            "results are no longer the same to the bit as in one go"
        )
        self._manifest.notes.append(note)
        self._manifest.write(self._folder)
        self._listener.say(note)

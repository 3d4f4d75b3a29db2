"""The engine of a run: every observer, every test, every piece that is not there yet."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from logging import FileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import BudgetError, FechnerError, RunFolderError, WorkerError
from fechner.observers.abilities import Ability
from fechner.observers.devices import limited_memory
from fechner.observers.weights import hash_file
from fechner.runs.backends import LOG, Backend, Lines, LocalBackend, Outcome, add_to_log, logged
from fechner.runs.ledger import Entry, Ledger, read_answers
from fechner.runs.manifest import Manifest
from fechner.runs.plan import Job, Schedule, jobs, piece_keys
from fechner.runs.progress import Listener
from fechner.runs.setup import Setup, record_observer
from fechner.runs.store import write_content
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.trials import Budget, Trials
from fechner.suites import Test
from fechner.suites.base import may_ask, not_asked

if TYPE_CHECKING:
    import xarray as xr

    from fechner.runs.workers import WorkerPool


def execute(
    folder: Path,
    manifest: Manifest,
    observers: dict[str, Any],
    tests: Sequence[Test],
    *,
    scores_only: bool,
    listener: Listener,
    trust_remote_code: bool = False,
    budget: Budget | None = None,
    workers: int = 1,
    executor: Executor | None = None,
) -> None:
    """Measure whatever is missing. Killing it anywhere loses at most the pieces under way.

    Observers that cannot be measured are left out, and the manifest says why.

    Parameters
    ----------
    observers
        By the name under which results are kept: the observer, or the name to make it from.
    budget
        What answers in words may take; the run stops where it is spent.
    workers, executor
        How many processes measure; a user's executor instead of processes of our own.
    """
    for name in observers:
        manifest.left_out.pop(name, None)
    plans = {name: jobs(name, tests, scores_only) for name in observers}
    listener.start(sum(job.piece.work for plan in plans.values() for job in plan))
    several = workers > 1 or executor is not None
    with _pool(workers, folder, executor) if several else nullcontext() as pool:
        setup = Setup.of(manifest, trust_remote_code)
        engine = _Engine(folder, manifest, setup, tests, listener, pool, budget)
        for name, plan in plans.items():
            with (
                logged(FileHandler(folder / LOG, encoding="utf-8", delay=True), name) as printed,
                limited_memory(manifest.device),
            ):
                try:
                    engine.measure(name, observers[name], plan, printed)
                except (RunFolderError, WorkerError):
                    raise
                except BudgetError as error:
                    listener.say(str(error))
                    return
                except FechnerError as error:
                    manifest.left_out[name] = str(error)
                    manifest.write(folder)
                    listener.say(f"{name} was left out: {error}")


def _pool(number: int, folder: Path, executor: Executor | None) -> WorkerPool:
    from fechner.runs.workers import WorkerPool

    return WorkerPool(number, folder, executor)


@dataclass(frozen=True)
class _Engine:
    """What all observers of a run have in common."""

    folder: Path
    manifest: Manifest
    setup: Setup
    tests: Sequence[Test]
    listener: Listener
    pool: WorkerPool | None
    budget: Budget | None

    def measure(self, name: str, given: Any, plan: list[Job], printed: Lines) -> None:
        """Measure what is missing of one observer.

        Parameters
        ----------
        given
            The observer, or the name to make it from.
        printed
            Counts the lines that it prints.
        """
        self.listener.doing(f"{name}  loading")
        observer = self.setup.made(given)
        printed.lines = 0  # what it prints while it is loaded does not count
        wanted = dict.fromkeys(job.experiment.asks for job in plan)
        lifted, cannot = self.setup.with_abilities(name, observer, wanted)
        among = self.pool.number if self.pool else 1
        record_observer(
            self.folder,
            self.manifest,
            name,
            observer,
            lifted,
            cannot,
            self.tests,
            self.listener,
            among,
        )
        plan = self._can_be_asked(name, plan)
        if not plan:
            return
        every = {test.id: test for test in self.tests}
        ledger = Ledger(self.folder)
        session = _Session(self.folder, self.manifest, ledger, self.listener, plan, every)
        with closing(Trials(self.folder / TRIALS, name, self.budget)) as trials:
            images = self.listener.images
            backend: Backend = LocalBackend(lifted, self.manifest.device, images, trials)
            if self.pool is not None and session.missing:
                backend = self._remote(name, given, lifted, plan) or backend
            del observer, lifted  # measured in other processes, it is not needed here
            session.run(backend)
        if printed.lines or session.printed:
            self._say_it_printed(name)

    def _can_be_asked(self, name: str, plan: list[Job]) -> list[Job]:
        """Return what is left of a plan, and say what an observer cannot be asked."""
        lacking = self.manifest.observers[name].lacks
        for line in not_asked(name, self.tests, lacking):
            self.listener.say(line)
        self.listener.images(sum(job.piece.work for job in plan if not may_ask(job.test, lacking)))
        return [job for job in plan if may_ask(job.test, lacking)]

    def _remote(
        self, name: str, given: Any, lifted: dict[Ability, Any], plan: list[Job]
    ) -> Backend | None:
        """Return a backend of other processes, or say why an observer is measured in this one."""
        from fechner.runs.workers import NotRemoteError, RemoteBackend

        assert self.pool is not None
        threads, images = self.manifest.threads, self.listener.images
        try:
            return RemoteBackend(self.pool, self.setup, name, given, lifted, plan, threads, images)
        except NotRemoteError as error:
            self.listener.say(f"{name} is measured by one process: {error}.")
            return None

    def _say_it_printed(self, name: str) -> None:
        warning = f"it prints while it looks; that is in {LOG}"
        warnings = self.manifest.observers[name].warnings
        if warning not in warnings:
            warnings.append(warning)
            self.manifest.write(self.folder)
            self.listener.say(f"{name}: {warning}.")


class _Session:
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
        self._observer = manifest.observers[plan[0].observer]
        self._keys = {
            name: piece_keys(test, every, self._observer) for name, test in self._tests.items()
        }
        self._entries = {entry.key: entry for entry in ledger.entries()}
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
        return any(k not in self._entries or self._entries[k].status != "done" for k in keys)

    def run(self, backend: Backend) -> None:
        """Go through the plan."""
        while True:
            while backend.free and (number := self._next()) is not None:
                job = self._plan[number]
                self._listener.piece(job.observer, job.test.id)
                self._batch_sizes[number] = self._observer.batch_size
                earlier = tuple(self._answers(name) for name in job.test.after)
                backend.submit(number, job, earlier, self._batch_sizes[number])
            if not backend.busy:
                return
            for number, outcome in backend.outcomes():
                self._record(number, outcome)

    def _next(self) -> int | None:
        """Return the next piece that is not there yet and can be measured."""
        while (number := self._schedule.next()) is not None:
            job = self._plan[number]
            if self._is_done(self._entries.get(self._key(job))):
                self._listener.images(job.piece.work)
                self._schedule.finish(number, complete=True)
                continue
            missing = [name for name in job.test.after if name in self._schedule.incomplete]
            if not missing:
                return number
            self._schedule.finish(number, complete=False)
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
                read_answers(
                    self._folder,
                    self._tests[test],
                    self._every,
                    self._observer,
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

    def _record(self, number: int, outcome: Outcome) -> None:
        """Record the outcome of a piece."""
        job = self._plan[number]
        add_to_log(self._folder, outcome.log)
        self.printed += outcome.printed
        if outcome.status == "too large":
            self._listener.images(-outcome.images)
            self._schedule.retry(number)
            self._lower_batch_size(job, self._batch_sizes[number])
            return
        # Plans count tests only; references and points left out are counted here.
        self._listener.images(job.piece.work - outcome.images)
        self._schedule.finish(number, complete=outcome.status == "done")
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
        if test not in self._failures or self._schedule.is_running(test):
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
        if self._observer.batch_size != used:
            return  # another piece has met the same
        self._observer.batch_size = used // 2
        note = (
            f"out of memory at {job.observer} {job.test.id}: batch size lowered to {used // 2}; "
            "results are no longer the same to the bit as in one go"
        )
        self._manifest.notes.append(note)
        self._manifest.write(self._folder)
        self._listener.say(note)

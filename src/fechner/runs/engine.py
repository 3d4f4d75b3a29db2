"""The engine of a run: every observer, every test, every piece that is not there yet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from logging import FileHandler
from pathlib import Path
from typing import Any

from fechner.arrays import xr
from fechner.errors import BudgetError, FechnerError, ObserverError, RunFolderError, WorkerError
from fechner.observers import LIFTS, abilities
from fechner.observers.abilities import Ability, lacks
from fechner.observers.devices import fitting_batch_size, free_memory, limited_memory
from fechner.observers.validation import Validation, validate
from fechner.observers.weights import hash_file
from fechner.runs.backends import LOG, Backend, Lines, LocalBackend, Outcome, Setup, logged
from fechner.runs.manifest import Manifest, ObserverRecord, Settings, parameters
from fechner.runs.plan import Job, Schedule, jobs, piece_keys, read_answers
from fechner.runs.progress import Bar
from fechner.runs.store import Entry, Ledger, write_atomically
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.trials import Budget, Trials
from fechner.suites import Test
from fechner.suites.base import may_ask, not_asked

#: Pictures per forward pass, on a CPU and on an accelerator: enough to keep them busy.
_LARGEST_BATCH, _LARGEST_BATCH_ACCELERATOR = 8, 64

#: Marks the fingerprint of a bare Python object.
_BARE = "/process-"


def execute(
    folder: Path,
    manifest: Manifest,
    observers: Mapping[str, Any],
    tests: Sequence[Test],
    settings: Settings,
    bar: Bar,
    executor: Executor | None = None,
) -> None:
    """Measure whatever is missing. Killing it anywhere loses at most the pieces under way.

    Observers that cannot be measured are left out, and the manifest says why.

    Parameters
    ----------
    observers
        By the name under which results are kept: the observer, or the name to make it from.
    executor
        A user's, instead of processes of our own.
    """
    for name in observers:
        manifest.left_out.pop(name, None)
    plans = {name: jobs(name, tests, settings.scores_only) for name in observers}
    bar.start(sum(job.piece.work for plan in plans.values() for job in plan))
    with ExitStack() as stack:
        if settings.workers > 1 and executor is None:
            from fechner.runs.workers import WorkerPool

            executor = stack.enter_context(WorkerPool())
        for name, plan in plans.items():
            session = _Session(folder, manifest, name, plan, {t.id: t for t in tests}, bar)
            handler = FileHandler(folder / LOG, encoding="utf-8", delay=True)
            with logged(handler, name) as printed, limited_memory(manifest.device):
                try:
                    with session.begin(observers[name], settings, executor, printed) as backend:
                        while session.submit_next(backend):
                            for number, outcome in backend.outcomes():
                                session.record(number, outcome)
                except (RunFolderError, WorkerError):
                    raise
                except BudgetError as error:
                    bar.say(str(error))
                    return
                except FechnerError as error:
                    manifest.left_out[name] = str(error)
                    manifest.write(folder)
                    bar.say(f"{name} was left out: {error}")


@dataclass
class _Session:
    """Measures what is missing of one observer, and is the only one who writes."""

    folder: Path
    manifest: Manifest
    name: str
    plan: list[Job]
    tests: dict[str, Test]
    bar: Bar

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.folder)
        self._batch_sizes: dict[int, int] = {}  # of the pieces under way
        self._failures: dict[str, dict[int, Outcome]] = {}
        self._earlier: dict[str, xr.Dataset | None] = {}
        self._printed = 0
        self._observer: ObserverRecord
        self._keys: dict[str, dict[str, str]]  # by test and piece

    @contextmanager
    def begin(
        self, given: Any, settings: Settings, executor: Executor | None, printed: Lines
    ) -> Iterator[Backend]:
        """Make an observer, put it into the manifest, and lend the backend that measures it.

        Parameters
        ----------
        given
            The observer, or the name to make it from.
        printed
            Counts the lines that it prints.
        """
        manifest, bar = self.manifest, self.bar
        bar.doing(f"{self.name}  loading")
        setup = Setup.of(manifest, settings.trust_remote_code)
        observer = setup.make(given)
        printed.lines = 0  # what it prints while it is loaded does not count
        lifted, cannot = setup.lift_all(
            observer, dict.fromkeys(job.experiment.asks for job in self.plan)
        )
        processes = 1 if executor is None else settings.workers
        bare = f"{self.name}{_BARE}{time.time_ns()}"  # its answers hold for this process only
        fingerprints = {str(asked): each.fingerprint or bare for asked, each in lifted.items()}
        record = self._known_record(fingerprints)
        if record is None:
            bar.doing(f"{self.name}  first look")
            if notice := getattr(observer, "notice", ""):
                bar.say(notice)
            found = validate(
                observer,
                readouts=manifest.readouts,
                layers=manifest.layers,
                device=manifest.device,
                asks=next(iter(lifted)),
                at_a_time=manifest.batch_size,
            )
            record = self._new_record(found, processes)
        self._observer = manifest.observers[self.name] = record
        record.fingerprints |= fingerprints
        _describe(record, observer, lifted, cannot)
        self._record_tests()
        with ExitStack() as stack:
            trials = None
            if any(getattr(each, "reads", "nothing") != "nothing" for each in lifted.values()):
                budget = Budget(settings.max_trials, settings.max_cost, settings.accept_invalid)
                trials = Trials(self.folder / TRIALS, self.name, budget)
                stack.enter_context(closing(trials))
            backend: Backend = LocalBackend(lifted, manifest.device, bar.images, trials)
            if executor is not None and not all(map(self._is_recorded, self.plan)):
                backend = self._remote(executor, processes, setup, given, lifted) or backend
            del observer, lifted  # measured in other processes, it is not needed here
            with closing(backend):
                yield backend
        warning = f"it prints while it looks; that is in {LOG}"
        if (printed.lines or self._printed) and warning not in self._observer.warnings:
            self._observer.warnings.append(warning)
            manifest.write(self.folder)
            bar.say(f"{self.name}: {warning}.")

    def _known_record(self, fingerprints: Mapping[str, str]) -> ObserverRecord | None:
        """Return what the manifest says of the observer, None if it is new or has changed."""
        record = self.manifest.observers.get(self.name)
        if record is None:
            return None
        if all(record.fingerprints.get(k, v) == v for k, v in fingerprints.items()):
            return record
        if _BARE not in record.fingerprint:
            self.bar.say(
                f"{self.name} has changed since it was measured here, so it is measured anew."
            )
        return None

    def _new_record(self, found: Validation, processes: int) -> ObserverRecord:
        """Return the record of an observer that was validated; ``processes`` share the memory."""
        if found.problems:
            raise ObserverError(f"{'; '.join(found.problems)}.")
        if found.warnings:
            self.bar.say(found.verdict)
        device = self.manifest.device
        fits = fitting_batch_size(
            found.bytes_per_picture,
            free_memory(device) // processes,
            _LARGEST_BATCH if device.startswith("cpu") else _LARGEST_BATCH_ACCELERATOR,
        )
        record = ObserverRecord(self.manifest.batch_size or fits, {}, "", warnings=found.warnings)
        if (counted := found.complexity) is not None:
            record.complexity = {"parameters": counted.parameters, "gflops": counted.gflops}
        return record

    def _record_tests(self) -> None:
        """Put the tests into the manifest, and leave out what the observer cannot be asked."""
        lacking, tests = self._observer.lacks, self.manifest.tests
        for name, test in self.tests.items():
            now = parameters(test.experiment)
            if tests.get(name, now) != now:
                self.bar.say(
                    f"test '{name}' has changed since it was measured here: measured anew."
                )
            tests[name] = now
        self.manifest.write(self.folder)
        for line in not_asked(self.name, list(self.tests.values()), lacking):
            self.bar.say(line)
        left = [job for job in self.plan if may_ask(job.test, lacking)]
        work = [sum(job.piece.work for job in jobs) for jobs in (self.plan, left)]
        self.bar.images(work[0] - work[1])
        self.plan, self._schedule = left, Schedule(left)
        self._keys = {
            name: piece_keys(test, self.tests, self._observer)
            for name, test in self.tests.items()
            if may_ask(test, lacking)
        }
        self._done = {e.key: e for e in self._ledger.entries() if e.status == "done"}

    def _remote(
        self,
        executor: Executor,
        slots: int,
        setup: Setup,
        given: Any,
        lifted: dict[Ability, Any],
    ) -> Backend | None:
        """Return a backend of other processes, or say why an observer is measured in this one."""
        from fechner.runs.workers import NotRemoteError, RemoteBackend

        images = self.bar.images
        try:
            return RemoteBackend(
                executor, slots, self.folder, setup, self.name, given, lifted, self.plan, images
            )
        except NotRemoteError as error:
            self.bar.say(f"{self.name} is measured by one process: {error}.")
            return None

    def submit_next(self, backend: Backend) -> bool:
        """Submit as many pieces as a backend takes; return whether any is under way."""
        running = self._batch_sizes
        while len(running) < backend.slots and (number := self._next()) is not None:
            job, running[number] = self.plan[number], self._observer.batch_size
            self.bar.piece(self.name, job.test.id)
            answers = tuple(self._answers(name) for name in job.test.after)
            backend.submit(number, job, answers, running[number])
        return bool(running)

    def _next(self) -> int | None:
        """Return the next piece that is not there yet and can be measured."""
        while (number := self._schedule.next()) is not None:
            job = self.plan[number]
            missing = [name for name in job.test.after if name in self._schedule.incomplete]
            if self._is_done(job):
                self.bar.images(job.piece.work)
                self._schedule.finish(number, complete=True)
            elif not missing:
                return number
            else:
                self._schedule.finish(number, complete=False)
                self.bar.images(job.piece.work)
                self._drop(job.test.id)
                self.bar.say(
                    f"{self.name} {job.test.id} is not measured: it comes after {missing[0]}, "
                    "which is not complete."
                )
        return None

    def _drop(self, test: str) -> None:
        """Leave the rest of a test alone."""
        for number in self._schedule.drop(test):
            self.bar.images(self.plan[number].piece.work)

    def _answers(self, test: str) -> xr.Dataset | None:
        """Return all answers to an earlier test, read once; None if it cannot be asked."""
        if test not in self._earlier:
            self._earlier[test] = (
                read_answers(
                    self.folder,
                    self.tests[test],
                    self.tests,
                    self._observer,
                    self._ledger.entries(),
                )
                if test in self._keys
                else None
            )
        return self._earlier[test]

    def _is_recorded(self, job: Job) -> bool:
        return self._keys[job.test.id][job.piece.name] in self._done

    def _is_done(self, job: Job) -> bool:
        """Whether a piece has its result file, as it was written."""
        entry = self._done.get(self._keys[job.test.id][job.piece.name])
        if entry is None:
            return False
        path = self.folder / entry.file
        if path.is_file() and hash_file(path) == entry.sha256:
            return True
        state = "damaged" if path.is_file() else "missing"
        self.bar.say(f"result file {path} is {state} and is measured anew.")
        return False

    def record(self, number: int, outcome: Outcome) -> None:
        """Write down what came of a piece."""
        job, batch_size = self.plan[number], self._batch_sizes.pop(number)
        test = job.test.id
        if outcome.log:
            with (self.folder / LOG).open("a", encoding="utf-8") as file:
                file.write(outcome.log)
        self._printed += outcome.printed
        if outcome.status == "too large":
            self.bar.images(-outcome.images)
            self._schedule.retry(number)
            self._lower_batch_size(test, batch_size)
            return
        # Plans count tests only; references and points left out are counted here.
        self.bar.images(job.piece.work - outcome.images)
        self._schedule.finish(number, complete=outcome.status == "done")
        if outcome.status == "done":
            digest = write_atomically(self.folder / job.file, outcome.content)
            self._ledger.record(
                replace(
                    self._entry(job),
                    sha256=digest,
                    images=outcome.images,
                    seconds=outcome.seconds,
                )
            )
        elif outcome.status == "failed":
            self._failures.setdefault(test, {})[number] = outcome
            self._drop(test)
        else:
            self.bar.say(
                f"{self.name} {test}: {outcome.message}; piece {job.piece.name} is lost, "
                "and the same command measures it again."
            )
        if test in self._failures and not self._schedule.is_running(test):
            # Of several failures, the first in the order of the plan, when none can follow.
            number, failure = min(self._failures.pop(test).items())
            entry = self._entry(self.plan[number])
            self._ledger.record(replace(entry, status="failed", message=failure.message))
            self.bar.say(f"{self.name} {test}: {failure.message}")

    def _entry(self, job: Job) -> Entry:
        key = self._keys[job.test.id][job.piece.name]
        return Entry(key, self.name, job.test.id, job.piece.name, "done", job.file)

    def _lower_batch_size(self, test: str, used: int) -> None:
        if self._observer.batch_size != used:
            return  # another piece has met the same
        self._observer.batch_size = used // 2
        note = (
            f"out of memory at {self.name} {test}: batch size lowered to {used // 2}; results "
            "are no longer the same to the bit as in one go"
        )
        self.manifest.notes.append(note)
        self.manifest.write(self.folder)
        self.bar.say(note)


def _describe(
    record: ObserverRecord, observer: Any, lifted: Mapping[Ability, Any], cannot: Sequence[Ability]
) -> None:
    """Note what an observer hands on, lacks and declares of itself.

    Parameters
    ----------
    lifted, cannot
        The observer with every ability that is asked, and the abilities it cannot have.
    """
    first = next(iter(lifted.values()))
    reads = getattr(first, "reads", "nothing")
    # One that answers by itself is not looked into, and may never load what it encodes with.
    inside = "encodes" in abilities(observer) and reads == "nothing"
    record.output = str((observer if inside else first).layers[-1])
    # What earlier starts found out about abilities that nobody asks for now.
    before = [need for need in record.lacks if need in LIFTS and need not in lifted]
    record.lacks = list(dict.fromkeys([*lacks(first.wants), *before, *cannot]))
    if (about := getattr(observer, "about", None)) is not None:  # what a metric declares of itself
        record.about = {"kind": about.kind, "csf_based": about.csf_based}
    record.ppd = first.wants.ppd
    if reads == "questions":  # so that `reread` can replay it
        record.wants = asdict(first.wants)
        record.samples = bool(getattr(first, "samples", False))

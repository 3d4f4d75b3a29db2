"""Doing a run: every observer, every test, every piece that is not there yet."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fechner.errors import BudgetError, FechnerError, RunFolderError, WorkerError
from fechner.observers.abilities import Ability
from fechner.observers.memory import limited_memory
from fechner.runs.ledger import Ledger
from fechner.runs.log import FILE as LOG
from fechner.runs.log import Lines, log_of, logged
from fechner.runs.manifest import Manifest
from fechner.runs.measuring import Here, Measures
from fechner.runs.plan import Job, jobs
from fechner.runs.preparing import Setup, enter
from fechner.runs.progress import Listener
from fechner.runs.session import Session
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.trials import Budget, Trials
from fechner.suites import Test
from fechner.suites.base import may_ask, not_asked

if TYPE_CHECKING:
    from fechner.runs.elsewhere import Elsewhere
    from fechner.runs.workers import Workers


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
    with _workers(workers, folder, executor) if several else nullcontext() as others:
        setup = Setup.of(manifest, trust_remote_code)
        run = _Run(folder, manifest, setup, tests, listener, others, budget)
        for name, plan in plans.items():
            with logged(log_of(folder), name) as printed, limited_memory(manifest.device):
                try:
                    run.measure(name, observers[name], plan, printed)
                except (RunFolderError, WorkerError):
                    raise
                except BudgetError as error:
                    listener.say(str(error))
                    return
                except FechnerError as error:
                    manifest.left_out[name] = str(error)
                    manifest.write(folder)
                    listener.say(f"{name} was left out: {error}")


def _workers(number: int, folder: Path, executor: Executor | None) -> Workers:
    from fechner.runs.workers import Workers

    return Workers(number, folder, executor)


@dataclass(frozen=True)
class _Run:
    """What all observers of a run have in common."""

    folder: Path
    manifest: Manifest
    setup: Setup
    tests: Sequence[Test]
    listener: Listener
    workers: Workers | None
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
        printed.lines = 0  # what it says while it is loaded is nobody's business
        wanted = dict.fromkeys(job.experiment.asks for job in plan)
        lifted, cannot = self.setup.with_abilities(name, observer, wanted)
        among = self.workers.number if self.workers else 1
        enter(
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
        session = Session(self.folder, self.manifest, ledger, self.listener, plan, every)
        with closing(Trials(self.folder / TRIALS, name, self.budget)) as trials:
            measures: Measures = Here(lifted, self.manifest.device, self.listener.images, trials)
            if self.workers is not None and session.missing:
                measures = self._elsewhere(name, given, lifted, plan) or measures
            del observer, lifted  # measured elsewhere, it is not needed here
            session.run(measures)
        if printed.lines or session.printed:
            self._say_it_printed(name)

    def _can_be_asked(self, name: str, plan: list[Job]) -> list[Job]:
        """Return what is left of a plan, and say what an observer cannot be asked."""
        lacking = self.manifest.observers[name]["lacks"]
        for line in not_asked(name, self.tests, lacking):
            self.listener.say(line)
        self.listener.images(sum(job.piece.work for job in plan if not may_ask(job.test, lacking)))
        return [job for job in plan if may_ask(job.test, lacking)]

    def _elsewhere(
        self, name: str, given: Any, lifted: dict[Ability, Any], plan: list[Job]
    ) -> Elsewhere | None:
        """Return other processes that measure an observer, or say why they do not."""
        from fechner.runs.elsewhere import Elsewhere, send

        assert self.workers is not None
        threads = self.manifest.threads
        sent = send(self.workers, self.setup, name, given, lifted, plan, threads)
        if not isinstance(sent, str):
            return Elsewhere(self.workers, sent, self.listener.images)
        self.listener.say(f"{name} is measured by one process: {sent}.")
        return None

    def _say_it_printed(self, name: str) -> None:
        warning = f"it prints while it looks; that is in {LOG}"
        warnings_so_far = self.manifest.observers[name]["warnings"]
        if warning not in warnings_so_far:
            warnings_so_far.append(warning)
            self.manifest.write(self.folder)
            self.listener.say(f"{name}: {warning}.")

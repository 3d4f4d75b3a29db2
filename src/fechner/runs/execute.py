"""Doing a run: every observer, every test, every piece that is not there yet."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fechner.errors import (
    BudgetError,
    FechnerError,
    ObserverError,
    PictureError,
    RunFolderError,
    UnansweredError,
)
from fechner.experiments import SHOWN_BY, Experiment, Piece
from fechner.observers import LIFTS, abilities, lift, resolve
from fechner.observers.abilities import Ability, lacks
from fechner.observers.memory import (
    fitting_batch_size,
    free_memory,
    is_out_of_memory,
    no_more_than_there_is,
)
from fechner.observers.validation import validate
from fechner.observers.weights import hash_file
from fechner.runs.keys import parameters, piece_key
from fechner.runs.ledger import Entry, Ledger
from fechner.runs.manifest import Manifest
from fechner.runs.progress import Listener
from fechner.runs.store import slug, write_dataset
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.trials import Budget, Trials
from fechner.suites import Test
from fechner.suites.suite import may_ask, not_asked


@dataclass(frozen=True)
class Job:
    """One piece of one experiment for one observer."""

    observer: str
    test: Test
    piece: Piece

    @property
    def experiment(self) -> Experiment:
        """The experiment."""
        return self.test.experiment

    @property
    def file(self) -> str:
        """Path of its result inside the run folder."""
        return f"results/{slug(self.observer)}/{self.test.id}/{self.piece.name}.nc"


def jobs(observer: str, tests: Sequence[Test], scores_only: bool) -> list[Job]:
    """List the work for one observer: what scores need first, then what figures need."""
    return [
        Job(observer, test, piece)
        for for_scores in ((True,) if scores_only else (True, False))
        for test in tests
        for piece in test.experiment.pieces()
        if piece.for_scores == for_scores
    ]


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
) -> None:
    """Measure whatever is missing. Killing it anywhere loses at most the piece under way.

    Observers that cannot be measured are left out, and the manifest says why.

    Parameters
    ----------
    observers
        By the name under which results are kept: the observer, or the name to make it from.
    budget
        What answers in words may take; the run stops where it is spent.
    """
    ledger = Ledger(folder / "ledger.sqlite")
    for name in observers:
        manifest.left_out.pop(name, None)
    plans = {name: jobs(name, tests, scores_only) for name in observers}
    listener.start(sum(job.piece.work for plan in plans.values() for job in plan))
    for name, plan in plans.items():
        with _log(folder / "log.txt", name) as printed, no_more_than_there_is(manifest.device):
            try:
                listener.doing(f"{name}  loading")
                given = observers[name]
                observer = (
                    _resolve(given, manifest, trust_remote_code)
                    if isinstance(given, str)
                    else given
                )
                printed.lines = 0  # what it says while it is loaded is nobody's business
                with closing(Trials(folder / TRIALS, name, budget)) as trials:
                    _execute_observer(folder, manifest, ledger, observer, plan, listener, trials)
                if printed.lines:
                    _say_it_printed(folder, manifest, name, listener)
            except RunFolderError:
                raise
            except BudgetError as error:
                listener.say(str(error))
                return
            except FechnerError as error:
                manifest.left_out[name] = str(error)
                manifest.write(folder)
                listener.say(f"{name} was left out: {error}")


def _say_it_printed(folder: Path, manifest: Manifest, name: str, listener: Listener) -> None:
    warning = "it prints while it looks; that is in log.txt"
    warnings_so_far = manifest.observers[name]["warnings"]
    if warning not in warnings_so_far:
        warnings_so_far.append(warning)
        manifest.write(folder)
        listener.say(f"{name}: {warning}.")


def _resolve(name: str, manifest: Manifest, trust_remote_code: bool) -> Any:
    with _in_words(name, "it could not be made"):
        return resolve(
            name,
            device=manifest.device,
            suite=manifest.suite,
            published=manifest.mode == "published",
            trust_remote_code=trust_remote_code,
        )


@contextmanager
def _in_words(name: str, what: str) -> Iterator[None]:
    """Turn whatever an observer's own code does into one sentence: the other observers go on."""
    try:
        yield
    except FechnerError:
        raise
    except (Exception, SystemExit) as error:
        logging.getLogger("fechner").error("%s", name, exc_info=error)
        why = f"{type(error).__name__}: {error}"
        raise ObserverError(f"{what}: {why} (see log.txt).") from error


def _execute_observer(
    folder: Path,
    manifest: Manifest,
    ledger: Ledger,
    observer: Any,
    plan: list[Job],
    listener: Listener,
    trials: Trials,
) -> None:
    name = plan[0].observer
    lifted, cannot = _lift(name, observer, plan, manifest)
    bare = f"{name}{_BARE}{time.time_ns()}"  # its answers hold for this process only
    fingerprints = {asked: each.fingerprint or bare for asked, each in lifted.items()}
    known = manifest.observers.get(name, {})
    own = known.get("fingerprints", {})
    if known and any(own.get(asked, each) != each for asked, each in fingerprints.items()):
        if _BARE not in known["fingerprint"]:
            listener.say(f"{name} has changed since it was measured here, so it is measured anew.")
        known, own = {}, {}
    known = known or _examine(observer, manifest, listener, next(iter(lifted)))
    lacking = [*lacks(next(iter(lifted.values())).wants), *cannot]
    manifest.observers[name] = {
        **known,
        "fingerprint": "; ".join(dict.fromkeys(fingerprints.values())),
        "fingerprints": {**own, **fingerprints},
        "output": _output(observer, lifted),
        "lacks": lacking,
        "about": _about(observer),
    }
    for job in plan:
        manifest.tests.setdefault(job.test.id, parameters(job.experiment))
    manifest.write(folder)
    for line in not_asked(name, [job.test for job in plan], lacking):
        listener.say(line)
    listener.images(sum(job.piece.work for job in plan if not may_ask(job.test, lacking)))
    plan = [job for job in plan if may_ask(job.test, lacking)]
    recorded = {entry.key: entry for entry in ledger.entries()}
    failed: set[str] = set()
    for job in plan:
        key = piece_key(job.experiment, job.piece, fingerprints[job.experiment.asks])
        if _is_done(folder, recorded.get(key), listener):
            listener.images(job.piece.work)
            continue
        if job.test.id in failed:
            listener.images(job.piece.work)
            continue
        listener.piece(name, job.test.id)
        asked = lifted[job.experiment.asks]
        entry = _measure(folder, manifest, job, key, asked, listener, trials)
        ledger.record(entry)
        if entry.status == "failed":
            failed.add(job.test.id)
            listener.say(f"{name} {job.test.id}: {entry.message}")


def _about(observer: Any) -> dict[str, Any]:
    """Return what a metric declares of itself, for tables; nothing for other observers."""
    about = getattr(observer, "about", None)
    return {} if about is None else {"kind": about.kind, "csf_based": about.csf_based}


def _output(observer: Any, lifted: dict[Ability, Any]) -> str:
    """Return the layer that an observer hands on."""
    first = next(iter(lifted.values()))
    # One that answers by itself is not looked into, and may never load what it encodes with.
    inside = "encodes" in abilities(observer) and getattr(first, "reads", "nothing") == "nothing"
    return str((observer.layers if inside else first.layers)[-1])


def _examine(
    observer: Any, manifest: Manifest, listener: Listener, asks: Ability
) -> dict[str, Any]:
    """Show an observer a few pictures before thousands, and find how many to show at a time."""
    listener.doing(f"{observer.name}  first look")
    if notice := getattr(observer, "notice", ""):
        listener.say(notice)
    found = validate(
        observer,
        readouts=manifest.readouts,
        layers=manifest.layers,
        device=manifest.device,
        asks=asks,
        at_a_time=manifest.batch_size,
    )
    if found.problems:
        raise ObserverError(f"{'; '.join(found.problems)}.")
    if found.warnings:
        listener.say(found.verdict)
    fits = fitting_batch_size(
        found.bytes_per_picture,
        free_memory(manifest.device),
        _LARGEST_BATCH.get(manifest.device.partition(":")[0], _LARGEST_BATCH_ACCELERATOR),
    )
    return {
        "batch_size": manifest.batch_size or fits,
        "warnings": found.warnings,
    }


#: Pictures per forward pass: enough to keep a CPU or a GPU busy.
_LARGEST_BATCH = {"cpu": 8}
_LARGEST_BATCH_ACCELERATOR = 64

#: Marks the fingerprint of a bare Python object.
_BARE = "/process-"


def _lift(
    name: str, observer: Any, plan: list[Job], manifest: Manifest
) -> tuple[dict[Ability, Any], list[Ability]]:
    """Return the observer with every ability that is asked, and the abilities it cannot have.

    An observer that can be asked nothing at all is left out, and told why.
    """
    lifted: dict[Ability, Any] = {}
    cannot: dict[Ability, ObserverError] = {}
    with _in_words(name, "it could not be looked into"):
        for asked in dict.fromkeys(job.experiment.asks for job in plan):
            if any(LIFTS[has][asked].make is not None for has in abilities(observer)):
                lifted[asked] = lift(observer, asked, manifest.readouts, manifest.layers)
                continue
            try:
                lift(observer, asked, manifest.readouts, manifest.layers)
            except ObserverError as error:
                cannot[asked] = error
    if not lifted:
        raise next(iter(cannot.values()))
    return lifted, list(cannot)


def _is_done(folder: Path, entry: Entry | None, listener: Listener) -> bool:
    if entry is None or entry.status != "done":
        return False
    path = folder / entry.file
    if path.is_file() and hash_file(path) == entry.sha256:
        return True
    state = "damaged" if path.is_file() else "missing"
    listener.say(f"result file {path} is {state} and is measured anew.")
    return False


def _measure(
    folder: Path,
    manifest: Manifest,
    job: Job,
    key: str,
    observer: Any,
    listener: Listener,
    trials: Trials,
) -> Entry:
    shown = 0

    def count(images: int) -> None:
        nonlocal shown
        shown += images
        listener.images(images)

    started = time.perf_counter()
    own = manifest.observers[job.observer]
    while True:
        presenter = SHOWN_BY[job.experiment.asks](
            observer,
            batch_size=own["batch_size"],
            device=manifest.device,
            on_images=count,
            log=trials,
        )
        try:
            data = job.experiment.measure(job.piece, presenter)
            break
        except (BudgetError, RunFolderError):
            raise
        except (Exception, SystemExit) as error:
            if is_out_of_memory(error) and own["batch_size"] > 1:
                shown = 0
                own["batch_size"] //= 2
                _say_smaller_batch(folder, manifest, job, listener)
                continue
            return _failure(job, key, error)
    # Plans count tests only; references and points left out are settled here.
    listener.images(job.piece.work - shown)
    digest = write_dataset(folder / job.file, data)
    return Entry(
        key,
        job.observer,
        job.test.id,
        job.piece.name,
        "done",
        job.file,
        digest,
        shown,
        seconds=time.perf_counter() - started,
    )


def _failure(job: Job, key: str, error: BaseException) -> Entry:
    logging.getLogger("fechner").error("%s %s", job.observer, job.test.id, exc_info=error)
    message = (
        str(error)
        if isinstance(error, ObserverError | PictureError)
        else f"observer '{job.observer}' raised {type(error).__name__}: {error} (see log.txt)"
    )
    if isinstance(error, UnansweredError):
        message = f"{message.rstrip('.')}; answers are kept, and the same command asks the rest."
    return Entry(
        key, job.observer, job.test.id, job.piece.name, "failed", job.file, message=message
    )


def _say_smaller_batch(folder: Path, manifest: Manifest, job: Job, listener: Listener) -> None:
    note = (
        f"out of memory at {job.observer} {job.test.id}: batch size lowered to "
        f"{manifest.observers[job.observer]['batch_size']}; results are no longer the same to the "
        "bit as in one go"
    )
    manifest.notes.append(note)
    manifest.write(folder)
    listener.say(note)


@contextmanager
def _log(path: Path, observer: str) -> Iterator[_Lines]:
    """Send whatever a model prints, logs or warns to the run's log."""
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter(f"{observer.replace('%', '%%')}: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    printed = _Lines(logging.getLogger("stdout"))
    try:
        with redirect_stdout(printed), warnings.catch_warnings():
            logging.captureWarnings(True)
            yield printed
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        handler.close()


class _Lines:
    """A stream that logs complete lines, and counts them."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._begun = ""
        self.lines = 0

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        self.lines += len(lines)
        for line in lines:
            self._logger.warning("%s", line)
        return len(text)

    def flush(self) -> None:
        """Wait for the end of the line."""

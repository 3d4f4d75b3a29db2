"""`evaluate`: start a run, or resume one."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fechner.arrays import torch
from fechner.errors import FechnerError, RunFolderError
from fechner.observers import observe
from fechner.observers.abilities import Dtype
from fechner.observers.devices import best_device, check_device
from fechner.observers.names import check_name, is_file, kept_name, with_settings
from fechner.observers.network import check_dtype
from fechner.runs.engine import execute
from fechner.runs.manifest import (
    FILE,
    Manifest,
    Settings,
    machine,
    origin_of,
    stored_options,
    versions,
)
from fechner.runs.progress import Bar
from fechner.runs.run import Run
from fechner.runs.store import LOCK, Ledger, Plan, only_writer
from fechner.runs.trials import FILE as TRIALS
from fechner.suites import Options, Suite, Test, expand
from fechner.suites import suite as find_suite
from fechner.suites.options import options_of

#: Folder of pictures that came from an iterator, inside a run's own.
SPOOL = "pictures"


def evaluate(
    *observers: Any,
    suite: Suite | str = "encoders",
    tests: str | Sequence[str] | None = None,
    published: bool = False,
    seed: int = 0,
    ppd: float | None = None,
    resize: bool | None = None,
    out: Path | str | None = None,
    scores_only: bool = False,
    device: str | None = None,
    threads: int | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    batch_size: int | None = None,
    readouts: str | Sequence[str] | None = None,
    layers: str | Sequence[str] | None = None,
    weights: Path | str | None = None,
    dtype: Dtype | None = None,
    trust_remote_code: bool = False,
    max_trials: int | None = None,
    max_cost: float | None = None,
    accept_invalid: bool = False,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Run a suite on observers and return the results.

    Parameters
    ----------
    observers
        Names (see ``fechner list observers``), ``path/to/file.py:name``, torch modules, functions
        of one batch of pictures (encoders) or two (comparers), or objects with an ability.
    suite, tests
        Which suite: a name, ``path/to/file.py:NAME`` or a `fechner.Suite`; and which of its tests
        (those it has by default if None).
    published
        Rebuild the published numbers instead of the corrected protocol.
    seed
        Seed of everything random in the stimuli.
    ppd
        Pixels per degree at which the suite is shown; None is what an observer is made for, or the
        suite's own.
    resize
        Draw at the suite's size and resample for observers that want another size.
    out
        Run folder; an existing one of the same settings is resumed and extended. None uses a
        temporary folder that lives as long as the result.
    scores_only
        Leave out what only figures need: response surfaces and curves of matches.
    device, threads, batch_size
        Where and how to compute; fixed at the first start of a run folder. By default an
        accelerator if there is one, and as many pictures at a time as fit into memory.
    workers
        How many processes measure. Results are bit-identical for a given number of ``threads`` of
        each process; by default they share the cores. Scripts need a line
        ``if __name__ == "__main__":`` before.
    executor
        Measure by a `concurrent.futures.Executor` of your own instead, as Dask has one for many
        machines, with as many pieces under way as there are ``workers``.
    readouts
        How encoders are read out; the suite's own if None.
    layers
        Where encoders are read out: names or patterns as `fechner layers` lists them; the natural
        stages of each if None.
    weights
        A file or folder of weights for the one observer named, instead of its own.
    dtype
        Precision of networks given by name; differences near threshold need float32.
    trust_remote_code
        Whether code that comes with weights may be run.
    max_trials, max_cost
        Stop after this many answers in words, or once this many dollars are spent, earlier starts
        of the same run folder included.
    accept_invalid
        Whether to go on with an observer even if 20 of its first 25 replies are none of the
        options; it is stopped otherwise.
    progress
        Whether to show a progress bar on stderr; what went wrong is said there in any case.
    options
        Options of the suite, as ``fechner run --suite NAME --help`` lists them: ``display`` and
        ``match`` of ``encoders``, ``trials`` and ``prompts`` of ``verbal``, ``images`` of
        ``recognition``, and more.

    Examples
    --------
    >>> run = evaluate("pixels", tests=["masking-coherent"], published=True, scores_only=True,
    ...                progress=False)
    >>> [round(result.score.value, 3) for result in run.scores()]
    [0.503]
    """
    given = {**locals(), **options}
    from torch import nn

    if not observers:
        raise FechnerError("name at least one observer; `fechner list observers` shows them.")
    modules = [thing for thing in observers if isinstance(thing, nn.Module)]
    training = [(part, part.training) for module in modules for part in module.modules()]
    try:
        prepared = prepare(**{k: v for k, v in given.items() if k not in _NOT_PREPARED})
        names, tests = list(prepared.observers), [test.id for test in prepared.tests]
        folder = Path(tempfile.mkdtemp(prefix="fechner-") if out is None else out)
        with (
            only_writer(folder, Plan(names, tests, scores_only)),
            Bar(visible=progress) as bar,
        ):
            manifest = prepared.manifest(folder, bar.say)
            manifest.write(folder)
            for note in prepared.options.notes:
                bar.say(note)
            with computing_with(manifest.threads):
                execute(
                    folder,
                    manifest,
                    prepared.observers,
                    prepared.tests,
                    prepared.settings,
                    bar,
                    executor,
                )
    finally:
        for part, mode in training:
            part.training = mode  # as it came
    run = Run(folder, suite=prepared.suite)
    run.told = bar.told
    run.asked_for = (names, tests)
    if out is None:
        weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return run


#: What `evaluate` is given that is no setting of a run.
_NOT_PREPARED = ("options", "executor", "progress")


@dataclass(frozen=True)
class Prepared:
    """Everything that can be checked before an observer is made or a file is written.

    Parameters
    ----------
    observers
        Observers, or the names to make them from, by the names of their results.
    """

    observers: dict[str, Any]
    suite: Suite
    options: Options
    settings: Settings
    tests: list[Test]

    def manifest(self, folder: Path, say: Callable[[str], None] = lambda line: None) -> Manifest:
        """Return the manifest of the folder's run, or of a new one; nothing is written."""
        own, settings = self.suite, self.settings
        device = settings.device or best_device()
        wanted = Manifest(
            suite=own.name,
            origin=origin_of(own),
            options=stored_options(self.options),
            readouts=list(settings.readouts or own.readouts),
            layers=None if settings.layers is None else list(settings.layers),
            device=device,
            threads=settings.threads or max(1, torch.get_num_threads() // settings.workers),
            batch_size=settings.batch_size,
            versions=versions(),
            machine=machine(device),
            folder=folder,
        )
        if not (folder / FILE).exists():
            return wanted
        found = Manifest.read(folder)
        if differences := self._differences(found, wanted):
            measured = any(entry.status == "done" for entry in Ledger(folder).entries())
            if not measured and not (folder / TRIALS).exists():
                return wanted  # nothing came of what it was started with
            raise RunFolderError(
                f"{folder} holds another run ({'; '.join(differences)}); give the same options to "
                "go on, or choose another folder with --out."
            )
        if found.origin != wanted.origin:
            before, now = (replace(own, **each.origin).fingerprint for each in (found, wanted))
            if before != now:
                say(f"suite '{own.name}' has changed since it was measured here: measured anew.")
                found.tests.clear()
            found.origin = wanted.origin
        changed = [k for k, v in found.versions.items() if wanted.versions.get(k) != v]
        note = "resumed with " + ", ".join(f"{k} {wanted.versions.get(k)}" for k in changed)
        if changed and note not in found.notes:
            found.notes.append(note)
        return found

    def _differences(self, found: Manifest, wanted: Manifest) -> list[str]:
        """Say in which options two runs differ, as flags of the command line."""
        if found.suite != wanted.suite:
            return [f"--suite {found.suite}, not --suite {wanted.suite}"]
        before = dict(vars(found.suite_options(self.suite)))
        now = dict(vars(self.options))
        del before["people"], now["people"]
        for name in ("readouts", "layers"):
            before[name], now[name] = getattr(found, name), getattr(wanted, name)
        for name in ("device", "threads", "batch_size"):
            if (value := getattr(self.settings, name)) is not None:
                before[name], now[name] = getattr(found, name), value
        known = {**options_of(type(self.options)), **options_of(Settings)}
        differences = []
        for name in now:
            if before[name] != now[name]:
                was, new = (known[name].as_flag(values[name]) for values in (before, now))
                differences.append(f"{was}, {'with other content' if new == was else f'not {new}'}")
        return differences


def prepare(
    observers: Sequence[Any],
    *,
    suite: Suite | str = "encoders",
    tests: str | Sequence[str] | None = None,
    out: Path | str | None = None,
    **given: Any,
) -> Prepared:
    """Check what a user asks for; takes the settings of a run and the options of its suite."""
    own = find_suite(suite)
    folder = None if out is None else Path(out)
    if folder is not None and _holds_other_things(folder):
        raise RunFolderError(f"{folder} exists and is not a run folder; choose another with --out.")
    known = options_of(Settings)
    settings = Settings(**{name: value for name, value in given.items() if name in known})
    if settings.device is not None:
        check_device(settings.device)
    of_suite = {name: value for name, value in given.items() if name not in known}
    options = own.choose(of_suite, folder and folder / SPOOL, also=known)
    chosen = own.find_tests(options, tests)
    return Prepared(_named(expand(observers), settings), own, options, settings, chosen)


def _holds_other_things(folder: Path) -> bool:
    """Whether a folder has files, and they are not those of a run."""
    if not folder.exists() or (folder / FILE).exists():
        return False
    # A run that was killed before its manifest leaves these only.
    return not folder.is_dir() or any(
        path.name not in (LOCK, SPOOL) and path.suffix != ".tmp" for path in folder.iterdir()
    )


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Compute with this many CPU threads, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _named(observers: Sequence[Any], settings: Settings) -> dict[str, Any]:
    """Return observers, or the names to make them from, by the names of their results."""
    weights, dtype = settings.weights, settings.dtype
    if weights is not None and len(observers) != 1:
        raise FechnerError(
            "--weights belongs to one observer; with several, write NAME@weights=PATH for each."
        )
    if dtype is not None:
        check_dtype(dtype)
    given = {"weights": weights and str(weights), "dtype": dtype}
    named: dict[str, Any] = {}
    observer: Any
    for thing in observers:
        if isinstance(thing, str):
            check_name(thing)
            observer = with_settings(thing, {key: value for key, value in given.items() if value})
            name = kept_name(observer)
            if named.get(name, observer) != observer:
                raise FechnerError(f"two observers have results as '{name}': name one of them.")
        else:
            observer = observe(thing, device=settings.device or best_device())
            numbers = (f"-{number}" for number in itertools.count(2))
            candidates = (observer.name + end for end in itertools.chain([""], numbers))
            name = next(each for each in candidates if each not in named)
        if dtype is not None and not (isinstance(thing, str) and not is_file(thing)):
            raise FechnerError(
                f"--dtype is for networks given by name; set the precision of '{name}' where it "
                "is made."
            )
        if weights is not None and not (isinstance(thing, str) and "weights=" in observer):
            raise FechnerError(f"observer '{name}' takes no weights.")
        named[name] = observer
    return named

"""`evaluate`: start a run, or resume one."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fechner.errors import FechnerError, RunFolderError
from fechner.observers import observe
from fechner.observers.abilities import Dtype
from fechner.observers.devices import best_device, check_device
from fechner.observers.names import check_name, is_file, kept_name, with_settings
from fechner.observers.network import check_dtype
from fechner.runs.engine import execute
from fechner.runs.ledger import Ledger
from fechner.runs.manifest import (
    FILE,
    Manifest,
    Settings,
    machine,
    origin_of,
    stored_options,
    versions,
)
from fechner.runs.progress import Bar, Listener
from fechner.runs.run import Run
from fechner.runs.store import LOCK, Plan, only_writer
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.trials import Budget
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
    if not observers:
        raise FechnerError("name at least one observer; `fechner list observers` shows them.")
    prepared = prepare(observers, **{k: v for k, v in given.items() if k not in _NOT_PREPARED})
    settings = prepared.settings
    with _as_they_were(observers):
        named = prepared.named_observers()
        folder = Path(tempfile.mkdtemp(prefix="fechner-") if out is None else out)
        plan = Plan(list(named), [test.id for test in prepared.tests], settings.scores_only)
        with only_writer(folder, plan), Bar() if progress else Listener() as listener:
            manifest = prepared.manifest(folder, listener.say)
            manifest.write(folder)
            for note in prepared.options.notes:
                listener.say(note)
            with computing_with(manifest.threads):
                execute(
                    folder,
                    manifest,
                    named,
                    prepared.tests,
                    scores_only=settings.scores_only,
                    listener=listener,
                    trust_remote_code=settings.trust_remote_code,
                    budget=Budget(settings.max_trials, settings.max_cost, settings.accept_invalid),
                    workers=settings.workers,
                    executor=executor,
                )
    run = Run(folder, suite=prepared.suite)
    run.told = listener.told
    run.asked_for = (list(named), [test.id for test in prepared.tests])
    if out is None:
        weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return run


#: What `evaluate` is given that is no setting of a run.
_NOT_PREPARED = ("observers", "options", "executor", "progress")


@dataclass(frozen=True)
class Prepared:
    """Everything that can be checked before an observer is made or a file is written."""

    observers: tuple[Any, ...]
    suite: Suite
    options: Options
    settings: Settings
    tests: list[Test]

    def named_observers(self) -> dict[str, Any]:
        """Return observers, or the names to make them from, by the names of their results."""
        device = self.settings.device or best_device()
        return named_observers(
            expand(self.observers), device, self.settings.weights, self.settings.dtype
        )

    def manifest(self, folder: Path, say: Callable[[str], None] = lambda line: None) -> Manifest:
        """Return the manifest of a run folder, or say why the folder cannot be used."""
        return resolve_manifest(folder, self.suite, self.options, self.settings, say)


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
    if out is not None:
        refuse_other_things(Path(out))
    known = options_of(Settings)
    settings = Settings(**{name: value for name, value in given.items() if name in known})
    if settings.device is not None:
        check_device(settings.device)
    of_suite = {name: value for name, value in given.items() if name not in known}
    spool = None if out is None else Path(out) / SPOOL
    options = own.choose(of_suite, spool, also=known)
    return Prepared(tuple(observers), own, options, settings, own.find_tests(options, tests))


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Compute with so many CPU threads, and afterwards with as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def named_observers(
    observers: Sequence[Any], device: str, weights: Path | str | None, dtype: Dtype | None
) -> dict[str, Any]:
    """Return observers, or the names to make them from, by the names of their results.

    Names are checked before anything is computed.
    """
    given = {"weights": weights and str(weights), "dtype": dtype}
    settings = {key: value for key, value in given.items() if value}
    if weights is not None and len(observers) != 1:
        raise FechnerError(
            "--weights belongs to one observer; with several, write NAME@weights=PATH for each."
        )
    if dtype is not None:
        check_dtype(dtype)
    named: dict[str, Any] = {}
    for thing in observers:
        if isinstance(thing, str):
            check_name(thing)
            name = with_settings(thing, settings)
            if dtype is not None and is_file(thing):
                raise FechnerError(_OWN_PRECISION.format(thing))
            if weights is not None and "weights=" not in name:
                raise FechnerError(f"observer '{thing}' takes no weights.")
            kept = kept_name(name)
            if named.get(kept, name) != name:
                raise FechnerError(f"two observers have results as '{kept}': name one of them.")
            named[kept] = name
        else:
            observer = observe(thing, device=device)
            if dtype is not None:
                raise FechnerError(_OWN_PRECISION.format(observer.name))
            if weights is not None:
                raise FechnerError(f"observer '{observer.name}' takes no weights.")
            named[_unused(observer.name, named)] = observer
    return named


_OWN_PRECISION = (
    "--dtype is for networks given by name; set the precision of '{}' where it is made."
)


@contextmanager
def _as_they_were(things: Sequence[Any]) -> Iterator[None]:
    """Put modules back into the mode, training or not, that they came in."""
    from torch import nn

    modules = [part for thing in things if isinstance(thing, nn.Module) for part in thing.modules()]
    modes = [part.training for part in modules]
    try:
        yield
    finally:
        for part, mode in zip(modules, modes, strict=True):
            part.training = mode


def _unused(name: str, taken: dict[str, Any]) -> str:
    def candidates() -> Iterator[str]:
        yield name
        number = 2
        while True:
            yield f"{name}-{number}"
            number += 1

    return next(candidate for candidate in candidates() if candidate not in taken)


def refuse_other_things(folder: Path) -> None:
    """Do not write into a folder that holds something other than a run."""
    if not folder.exists() or (folder / FILE).exists():
        return
    # A run that was killed before its manifest leaves these only.
    if not folder.is_dir() or any(
        path.name not in (LOCK, SPOOL) and path.suffix != ".tmp" for path in folder.iterdir()
    ):
        raise RunFolderError(f"{folder} exists and is not a run folder; choose another with --out.")


def resolve_manifest(
    folder: Path, own: Suite, options: Options, settings: Settings, say: Callable[[str], None]
) -> Manifest:
    """Return the manifest of the folder's run, or of a new one; nothing is written."""
    import torch

    device = settings.device or best_device()
    wanted = Manifest(
        suite=own.name,
        origin=origin_of(own),
        options=stored_options(options),
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
    differences = _differences(found, wanted, own, options)
    if differences and not _has_answers(folder):
        return wanted  # nothing came of what it was started with
    if differences:
        raise RunFolderError(
            f"{folder} holds another run ({'; '.join(differences)}); choose another folder with "
            "--out."
        )
    for name in ("device", "threads", "batch_size"):
        value, before = getattr(settings, name), getattr(found, name)
        if value is not None and value != before:
            how = options_of(Settings)[name]
            was = how.as_flag(before)
            raise RunFolderError(
                f"{folder} was started {was if before is None else f'with {was}'}, not with "
                f"{how.as_flag(value)}; leave that option out to go on, or choose another folder "
                "with --out."
            )
    if found.origin != wanted.origin:
        before, now = (replace(own, **each.origin).fingerprint for each in (found, wanted))
        if before != now:
            say(f"suite '{own.name}' has changed since it was measured here: measured anew.")
            found.tests.clear()
        found.origin = wanted.origin
    changed = {k: v for k, v in found.versions.items() if wanted.versions.get(k) != v}
    if changed:
        note = "resumed with " + ", ".join(f"{k} {wanted.versions.get(k)}" for k in changed)
        if note not in found.notes:
            found.notes.append(note)
    return found


def _has_answers(folder: Path) -> bool:
    if (folder / TRIALS).exists():
        return True
    return any(entry.status == "done" for entry in Ledger(folder).entries())


def _differences(found: Manifest, wanted: Manifest, own: Suite, options: Options) -> list[str]:
    """Say in which options two runs differ, as flags of the command line."""
    if found.suite != wanted.suite:
        return [_difference(f"--suite {found.suite}", f"--suite {wanted.suite}")]
    before: dict[str, Any] = {**vars(found.suite_options(own)), **_read_out(found)}
    now: dict[str, Any] = {**vars(options), **_read_out(wanted)}
    known = {**options_of(own.options), **options_of(Settings)}
    return [
        _difference(known[name].as_flag(before[name]), known[name].as_flag(now[name]))
        for name in now
        if name in known and before[name] != now[name]
    ]


def _read_out(manifest: Manifest) -> dict[str, Any]:
    """Return what is read out, and where."""
    layers = manifest.layers
    return {
        "readouts": tuple(manifest.readouts),
        "layers": None if layers is None else tuple(layers),
    }


def _difference(before: str, now: str) -> str:
    if before != now:
        return f"{before}, not {now}"
    return f"{before}, but {'others' if before.endswith('s') else 'another'}"

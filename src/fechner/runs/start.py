"""Starting a run, or going on with one."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Unpack

from fechner.errors import FechnerError
from fechner.observers import observe
from fechner.observers.abilities import Dtype
from fechner.observers.devices import best_device, check_device
from fechner.observers.names import check_name, is_file, kept_name, with_settings
from fechner.observers.network import check_dtype
from fechner.observers.readouts import check_readouts
from fechner.runs.choice import choose_tests
from fechner.runs.execute import execute
from fechner.runs.folder import SPOOL, refuse_other_things, settled
from fechner.runs.options import QuestionOptions, choose_options
from fechner.runs.progress import Bar, Notes
from fechner.runs.run import Run
from fechner.runs.store import only_writer
from fechner.runs.trials import Budget
from fechner.runs.writer import Plan
from fechner.suites import expand


def evaluate(
    *observers: Any,
    suite: str = "encoders",
    tests: str | Sequence[str] | None = None,
    published: bool = False,
    scores_only: bool = False,
    out: Path | str | None = None,
    device: str | None = None,
    threads: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    ppd: float | None = None,
    resize: bool | None = None,
    readouts: str | Sequence[str] | None = None,
    layers: str | Sequence[str] | None = None,
    weights: Path | str | None = None,
    dtype: Dtype | None = None,
    trust_remote_code: bool = False,
    max_trials: int | None = None,
    max_cost: float | None = None,
    accept_invalid: bool = False,
    workers: int = 1,
    executor: Executor | None = None,
    progress: bool = True,
    **asking: Unpack[QuestionOptions],
) -> Run:
    """Run a suite on observers and return the results.

    Parameters
    ----------
    observers
        Names (see ``fechner list observers``), ``path/to/file.py:name``, torch modules, functions
        of one batch of pictures (encoders) or two (comparers), or objects with an ability.
    suite, tests
        Which suite, and which of its tests (all if None).
    published
        Rebuild the published numbers instead of the corrected protocol.
    scores_only
        Leave out what only figures need: response surfaces and curves of matches.
    out
        Run folder; an existing one of the same settings is resumed and extended. None uses a
        temporary folder that lives as long as the result.
    device, threads, batch_size
        Where and how to compute; fixed at the first start of a run folder. By default an
        accelerator if there is one, and as many pictures at a time as fit into memory.
    seed
        Seed of everything random in the stimuli.
    ppd
        Pixels per degree at which the suite is shown; None is what an observer is made for, or the
        suite's own.
    resize
        Draw at the suite's size and resample for observers that want another size.
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
        Stop after so many answers in words, or when so many dollars are spent, earlier starts of
        the same run folder included.
    accept_invalid
        Whether to go on with an observer even if 20 of its first 25 replies are none of the
        options; it is stopped otherwise.
    workers
        How many processes measure; results are the same to the bit as long as ``threads``, of each
        process, are. By default they share the cores. Scripts need a line
        ``if __name__ == "__main__":`` before.
    executor
        Measure by a `concurrent.futures.Executor` of your own instead, as Dask has one for many
        machines, with as many pieces under way as there are ``workers``.
    progress
        Whether to show a progress bar on stderr; what went wrong is said there in any case.
    adaptive, trials, width
        Whether contrasts or levels are chosen trial by trial; trials of each prompt or class, or
        draws of each contrast otherwise; stop where the 95 % interval of a threshold is as narrow,
        in log10.
    prompts
        Your own: a list, or a file with one a line; ``"this | that"`` is a pair of labels.
    dither
        Whether pictures of few grey levels are dithered.
    images
        Pictures in classes: a folder or a CSV file; in suite ``recognition`` also a sequence or an
        iterator of pairs of a picture and its class (see `fechner.stimuli.open_pictures`).
    stimuli
        What is to be detected in suites that ask in words: a band of ``"noise"``, or of the
        ``"photographs"`` in ``images``.
    objects, views
        Folder of 3D objects in classes, instead of ``images``, and random views of each class.
    levels, per_class
        Levels of each manipulation beside the original; pictures of each class that are shown.
    among, categories
        What classifiers choose from: all their ``"own"`` classes or those that are ``"shown"``;
        or categories, ``"16-class"`` or a CSV file with the columns ``class`` and ``category``.
    dropout
        Names of layers in which half of the activations are dropped, or a `Dropout`.
    show
        The pictures that each observer knows best (``"preferred"``), or some ``"drawn"`` by seed,
        the same for all.
    match
        Whether gratings match where responses against a uniform field are equal (``"response"``),
        or where the gratings differ least from each other (``"direct"``); suites ``encoders`` and
        ``metrics``.
    display
        What stimuli are shown on, in suites that show light: a name (``fechner list displays``), a
        TOML file, or a `fechner.stimuli.Display`.

    Examples
    --------
    >>> run = evaluate("pixels", tests=["masking-coherent"], published=True, scores_only=True,
    ...                progress=False)
    >>> [round(result.score.value, 3) for result in run.scores()]
    [0.503]
    """
    if not observers:
        raise FechnerError("name at least one observer; `fechner list observers` shows them.")
    if workers < 1:
        raise FechnerError(f"there is at least one worker, not {workers}.")
    spool = None
    if out is not None:
        refuse_other_things(Path(out))
        spool = Path(out) / SPOOL
    options = choose_options(
        suite, published=published, seed=seed, ppd=ppd, resize=resize, spool=spool, **asking
    )
    chosen = choose_tests(suite, options, tests)
    readouts = check_readouts([readouts] if isinstance(readouts, str) else readouts or ())
    patterns = [layers] if isinstance(layers, str) else list(layers) if layers else None
    place = check_device(device) if device else None
    with _as_they_were(observers):
        named = named_observers(expand(observers), place or best_device(), weights, dtype)
        folder = Path(tempfile.mkdtemp(prefix="fechner-") if out is None else out)
        plan = Plan(list(named), [test.id for test in chosen], scores_only)
        with only_writer(folder, plan), Bar() if progress else nullcontext(Notes()) as listener:
            manifest = settled(
                folder, suite, options, readouts, patterns, place, threads, batch_size, workers
            )
            manifest.write(folder)
            if options.asked.pictures is not None:
                for note in options.asked.pictures.notes:
                    listener.say(note)
            with computing_with(manifest.threads):
                execute(
                    folder,
                    manifest,
                    named,
                    chosen,
                    scores_only=scores_only,
                    listener=listener,
                    trust_remote_code=trust_remote_code,
                    budget=Budget(max_trials, max_cost, accept_invalid),
                    workers=workers,
                    executor=executor,
                )
    run = Run(folder)
    run.told = listener.told
    run.asked_for = (list(named), [test.id for test in chosen])
    if out is None:
        weakref.finalize(run, shutil.rmtree, folder, ignore_errors=True)
    return run


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

"""Whether a folder may hold a run, and whether the run in it is the one that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fechner.errors import RunFolderError
from fechner.observers.devices import best_device
from fechner.runs.ledger import Ledger
from fechner.runs.manifest import FILE, Manifest, machine, origin_of, stored_options, versions
from fechner.runs.settings import Settings
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.writer import LOCK
from fechner.suites import Options, Suite
from fechner.suites.options import options_of

#: Folder of pictures that came from an iterator, inside a run's own.
SPOOL = "pictures"


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

"""Whether a folder may hold a run, and whether the run in it is the one that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from fechner.errors import RunFolderError
from fechner.observers.devices import best_device
from fechner.runs.ledger import Ledger
from fechner.runs.manifest import FILE, Manifest, asked_to, machine, versions
from fechner.runs.trials import FILE as TRIALS
from fechner.runs.writer import LOCK
from fechner.suites import Asked, Options, suite

#: Settings of a run as options of the command line, where their names differ.
_OPTIONS = {"readouts": "readout", "album": "images", "pictures": "images"}
#: Folder of pictures that came from an iterator, inside a run's own.
SPOOL = "pictures"
#: Options without a value, by the value that they stand for.
_SWITCHES: dict[str, dict[Any, str]] = {
    "mode": {"published": "--published", "default": "without --published"},
    "resize": {True: "--resize", False: "--no-resize"},
    "adaptive": {True: "--adaptive", False: "--constant", None: "without --adaptive or --constant"},
    "dither": {True: "--dither"},
}


def refuse_other_things(folder: Path) -> None:
    """Do not write into a folder that holds something other than a run."""
    if not folder.exists() or (folder / FILE).exists():
        return
    # A run that was killed before its manifest leaves these only.
    if not folder.is_dir() or any(
        path.name not in (LOCK, SPOOL) and path.suffix != ".tmp" for path in folder.iterdir()
    ):
        raise RunFolderError(f"{folder} exists and is not a run folder; choose another with --out.")


def settled(
    folder: Path,
    suite_name: str,
    options: Options,
    readouts: Sequence[str] | None = None,
    layers: list[str] | None = None,
    device: str | None = None,
    threads: int | None = None,
    batch_size: int | None = None,
    workers: int = 1,
) -> Manifest:
    """Return the manifest of the folder's run, or of a new one; nothing is written."""
    import torch

    wanted = Manifest(
        suite=suite_name,
        mode=options.mode,
        seed=options.seed,
        ppd=options.ppd,
        resize=options.resize,
        asked=asked_to(options.asked),
        readouts=list(readouts or suite(suite_name).readouts),
        layers=layers,
        device=device or best_device(),
        threads=threads or max(1, torch.get_num_threads() // workers),
        batch_size=batch_size,
        versions=versions(),
        machine=machine(device or best_device()),
        folder=folder,
    )
    if not (folder / FILE).exists():
        return wanted
    found = Manifest.read(folder)
    differences = list(_differences(found, wanted))
    if differences and not _has_answers(folder):
        return wanted  # nothing came of what it was started with
    if differences:
        raise RunFolderError(
            f"{folder} holds another run ({'; '.join(differences)}); choose another folder with "
            "--out."
        )
    asked = {"device": device, "threads": threads, "batch_size": batch_size}
    for name, value in asked.items():
        if value is not None and value != getattr(found, name):
            before = as_option(name, getattr(found, name))
            before = before if before.startswith("without") else f"with {before}"
            raise RunFolderError(
                f"{folder} was started {before}, not with {as_option(name, value)}; leave that "
                "option out to go on, or choose another folder with --out."
            )
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


def _differences(found: Manifest, wanted: Manifest) -> list[str]:
    """Say in which options two runs differ."""
    before, now = _flat(found), _flat(wanted)
    names = [name for name in now if before[name] != now[name]]
    # Another suite has other read-outs, too, which nobody asked for.
    return [
        _difference(as_option(name, before[name]), as_option(name, now[name]))
        for name in (["suite"] if "suite" in names else names)
    ]


def _difference(before: str, now: str) -> str:
    if before != now:
        return f"{before}, not {now}"
    return f"{before}, but {'others' if before.endswith('s') else 'another'}"


def _flat(manifest: Manifest) -> dict[str, Any]:
    """Return what says which run this is, with what concerns questions beside all else."""
    whole = manifest.identity()
    asked = whole.pop("asked")
    return whole | {each.name: asked.get(each.name, each.default) for each in fields(Asked)}


def asked_in_words(asked: Asked) -> list[str]:
    """Return what a user changed about questions, as options of the command line.

    Examples
    --------
    >>> asked_in_words(Asked(adaptive=False, trials=4))
    ['--constant', '--trials 4']
    """
    changed = asked_to(asked)
    return [as_option(e.name, changed[e.name]) for e in fields(Asked) if e.name in changed]


def as_option(name: str, value: Any) -> str:
    """Return a setting of a run as one would give it on the command line.

    Examples
    --------
    >>> as_option("seed", 3), as_option("adaptive", False), as_option("trials", None)
    ('--seed 3', '--constant', 'without --trials')
    """
    option = name_of_option(name, value)
    if _is_switch(name, value):
        return option
    if value is None or value is False:
        return f"without {option}"
    if isinstance(value, dict):
        return f"{option} {_in_words(value)}"
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return f"{option} with {_count(len(value), 'prompt')}"
    if isinstance(value, list):
        return f"{option} {','.join(map(str, value))}"
    return f"{option} {value:g}" if isinstance(value, float) else f"{option} {value}"


def _in_words(value: dict[str, Any]) -> str:
    """Return what is kept of pictures, categories or dropout, in a few words."""
    if "photographs" in value and "counts" not in value:
        return f"with {_count(len(value['photographs']), 'photograph')}"
    if "counts" in value:
        classes = _count(len(value["counts"]), "class", "es")
        return f"with {_count(sum(value['counts']), 'picture')} of {classes}"
    if "layers" in value:
        return f"{','.join(value['layers'])} ({value['share']:g}, {value['runs']} runs)"
    return str(value["name"])


def name_of_option(name: str, value: Any) -> str:
    """Return the option by which a setting is given on the command line, without its value.

    Examples
    --------
    >>> name_of_option("album", None), name_of_option("adaptive", False)
    ('--images', '--constant')
    """
    if _is_switch(name, value):
        return _SWITCHES[name][value]
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", "")
    if name == "pictures" and kind == "objects":
        return "--objects"
    return f"--{_OPTIONS.get(name, name.replace('_', '-'))}"


def _is_switch(name: str, value: Any) -> bool:
    return isinstance(value, bool | str | None) and value in _SWITCHES.get(name, {})


def _count(n: int, what: str, several: str = "s") -> str:
    return f"{n} {what}" if n == 1 else f"{n:,} {what}{several}"

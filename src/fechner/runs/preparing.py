"""An observer before it is measured: made, lifted, looked over, and entered into the manifest."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fechner.errors import ObserverError
from fechner.observers import LIFTS, abilities, lift, resolve
from fechner.observers.abilities import Ability, lacks
from fechner.observers.memory import fitting_batch_size, free_memory
from fechner.observers.validation import validate
from fechner.runs.keys import parameters
from fechner.runs.log import in_words
from fechner.runs.manifest import Manifest
from fechner.runs.progress import Listener
from fechner.suites import Test

#: Pictures per forward pass: enough to keep a CPU or a GPU busy.
_LARGEST_BATCH = {"cpu": 8}
_LARGEST_BATCH_ACCELERATOR = 64

#: Marks the fingerprint of a bare Python object.
_BARE = "/process-"


@dataclass(frozen=True)
class Setup:
    """How observers are made and read out in a run, here and in other processes."""

    device: str
    suite: str
    published: bool
    readouts: tuple[str, ...]
    layers: tuple[str, ...] | None
    trust_remote_code: bool

    @classmethod
    def of(cls, manifest: Manifest, trust_remote_code: bool) -> Setup:
        """Return what a manifest says."""
        return cls(
            manifest.device,
            manifest.suite,
            manifest.mode == "published",
            tuple(manifest.readouts),
            None if manifest.layers is None else tuple(manifest.layers),
            trust_remote_code,
        )

    def made(self, given: Any) -> Any:
        """Return the observer that a name stands for, or the observer itself."""
        if not isinstance(given, str):
            return given
        with in_words(given, "it could not be made"):
            return resolve(
                given,
                device=self.device,
                suite=self.suite,
                published=self.published,
                trust_remote_code=self.trust_remote_code,
            )

    def lifted(self, observer: Any, asked: Ability) -> Any:
        """Return the observer with an ability that is asked."""
        return lift(observer, asked, self.readouts, self.layers)

    def with_abilities(
        self, name: str, observer: Any, wanted: Iterable[Ability]
    ) -> tuple[dict[Ability, Any], list[Ability]]:
        """Return the observer with every ability that is asked, and the abilities it cannot have.

        An observer that can be asked nothing at all is left out, and told why.
        """
        found: dict[Ability, Any] = {}
        cannot: dict[Ability, ObserverError] = {}
        with in_words(name, "it could not be looked into"):
            for asked in wanted:
                if any(LIFTS[has][asked].make is not None for has in abilities(observer)):
                    found[asked] = self.lifted(observer, asked)
                    continue
                try:
                    self.lifted(observer, asked)
                except ObserverError as error:
                    cannot[asked] = error
        if not found:
            raise next(iter(cannot.values()))
        return found, list(cannot)


def enter(
    folder: Path,
    manifest: Manifest,
    name: str,
    observer: Any,
    lifted: dict[Ability, Any],
    cannot: Sequence[Ability],
    tests: Sequence[Test],
    listener: Listener,
    among: int,
) -> None:
    """Write an observer and its tests into the manifest; one that is new is looked over first.

    Parameters
    ----------
    lifted, cannot
        The observer with every ability that is asked, and the abilities it cannot have.
    among
        How many processes share the memory.
    """
    bare = f"{name}{_BARE}{time.time_ns()}"  # its answers hold for this process only
    fingerprints = {asked: each.fingerprint or bare for asked, each in lifted.items()}
    known = manifest.observers.get(name, {})
    own = known.get("fingerprints", {})
    if known and any(own.get(asked, each) != each for asked, each in fingerprints.items()):
        if _BARE not in known["fingerprint"]:
            listener.say(f"{name} has changed since it was measured here, so it is measured anew.")
        known, own = {}, {}
    # What earlier starts found out about abilities that nobody asks for now.
    before = [need for need in known.get("lacks", []) if need in LIFTS and need not in lifted]
    known = known or _look_over(observer, manifest, listener, next(iter(lifted)), among)
    manifest.observers[name] = {
        **known,
        "fingerprint": "; ".join(dict.fromkeys(fingerprints.values())),
        "fingerprints": {**own, **fingerprints},
        "output": _output(observer, lifted),
        "lacks": list(dict.fromkeys([*lacks(next(iter(lifted.values())).wants), *before, *cannot])),
        "about": _about(observer),
        **_ppd(lifted),
        **_how_it_is_asked(lifted),
    }
    for test in tests:
        manifest.tests.setdefault(test.id, parameters(test.experiment))
    manifest.write(folder)


def _ppd(lifted: dict[Ability, Any]) -> dict[str, float]:
    """Return the pixels per degree that an observer is made for, if it is."""
    ppd = next(iter(lifted.values())).wants.ppd
    return {} if ppd is None else {"ppd": ppd}


def _how_it_is_asked(lifted: dict[Ability, Any]) -> dict[str, Any]:
    """Return how an observer that replies in words is asked, so that `reread` can replay it."""
    found = next(iter(lifted.values()))
    if getattr(found, "reads", "") != "questions":
        return {}
    return {"wants": asdict(found.wants), "samples": bool(getattr(found, "samples", False))}


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


def _look_over(
    observer: Any, manifest: Manifest, listener: Listener, asks: Ability, among: int
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
        free_memory(manifest.device) // among,
        _LARGEST_BATCH.get(manifest.device.partition(":")[0], _LARGEST_BATCH_ACCELERATOR),
    )
    counted = found.complexity
    return {
        "batch_size": manifest.batch_size or fits,
        "warnings": found.warnings,
        "complexity": {}
        if counted is None
        else {"parameters": counted.parameters, "gflops": counted.gflops},
    }

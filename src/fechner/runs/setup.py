"""An observer before it is measured: made, lifted, validated, and recorded in the manifest."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fechner.errors import ObserverError
from fechner.observers import LIFTS, abilities, lift, resolve
from fechner.observers.abilities import Ability, lacks
from fechner.observers.devices import fitting_batch_size, free_memory
from fechner.observers.validation import validate
from fechner.runs.backends import in_words
from fechner.runs.manifest import Manifest, ObserverRecord
from fechner.runs.progress import Listener

#: Pictures per forward pass, on a CPU and on an accelerator: enough to keep them busy.
_LARGEST_BATCH, _LARGEST_BATCH_ACCELERATOR = 8, 64

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
    threads: int = 1

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
            manifest.threads,
        )

    def make(self, given: Any) -> Any:
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

    def lift(self, observer: Any, asked: Ability) -> Any:
        """Return the observer with an ability that is asked."""
        return lift(observer, asked, self.readouts, self.layers)

    def lift_all(
        self, observer: Any, wanted: Iterable[Ability]
    ) -> tuple[dict[Ability, Any], list[Ability]]:
        """Return the observer with every ability that is asked, and the abilities it cannot have.

        An observer that can be asked nothing at all is an error.
        """
        found: dict[Ability, Any] = {}
        cannot: dict[Ability, ObserverError] = {}
        with in_words(observer.name, "it could not be looked into"):
            for asked in wanted:
                can = any(LIFTS[has][asked].make is not None for has in abilities(observer))
                try:
                    found[asked] = self.lift(observer, asked)
                except ObserverError as error:
                    if can:
                        raise
                    cannot[asked] = error
        if not found:
            raise next(iter(cannot.values()))
        return found, list(cannot)


def record_observer(
    manifest: Manifest,
    name: str,
    observer: Any,
    lifted: Mapping[Ability, Any],
    cannot: Sequence[Ability],
    listener: Listener,
    processes: int,
) -> ObserverRecord:
    """Put an observer into the manifest; one that is new or has changed is validated first.

    Parameters
    ----------
    lifted, cannot
        The observer with every ability that is asked, and the abilities it cannot have.
    processes
        How many share the memory.
    """
    bare = f"{name}{_BARE}{time.time_ns()}"  # its answers hold for this process only
    fingerprints = {str(asked): each.fingerprint or bare for asked, each in lifted.items()}
    record = manifest.observers.get(name)
    if record and any(record.fingerprints.get(k, v) != v for k, v in fingerprints.items()):
        if _BARE not in record.fingerprint:
            listener.say(f"{name} has changed since it was measured here, so it is measured anew.")
        record = None
    # What earlier starts found out about abilities that nobody asks for now.
    before = [n for n in record.lacks if n in LIFTS and n not in lifted] if record else []
    asks, first = next(iter(lifted.items()))
    if record is None:
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
        on_cpu = manifest.device.partition(":")[0] == "cpu"
        fits = fitting_batch_size(
            found.bytes_per_picture,
            free_memory(manifest.device) // processes,
            _LARGEST_BATCH if on_cpu else _LARGEST_BATCH_ACCELERATOR,
        )
        record = ObserverRecord(manifest.batch_size or fits, {}, "", warnings=found.warnings)
        if (counted := found.complexity) is not None:
            record.complexity = {"parameters": counted.parameters, "gflops": counted.gflops}
    record.fingerprints |= fingerprints
    # One that answers by itself is not looked into, and may never load what it encodes with.
    inside = "encodes" in abilities(observer) and getattr(first, "reads", "nothing") == "nothing"
    record.output = str((observer if inside else first).layers[-1])
    record.lacks = list(dict.fromkeys([*lacks(first.wants), *before, *cannot]))
    if (about := getattr(observer, "about", None)) is not None:  # what a metric declares of itself
        record.about = {"kind": about.kind, "csf_based": about.csf_based}
    record.ppd = first.wants.ppd
    if getattr(first, "reads", "") == "questions":  # so that `reread` can replay it
        record.wants = asdict(first.wants)
        record.samples = bool(getattr(first, "samples", False))
    manifest.observers[name] = record
    return record

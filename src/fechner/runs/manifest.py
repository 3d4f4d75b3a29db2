"""The manifest of a run: its settings, fixed at the first start, and its observers."""

from __future__ import annotations

import json
import os
import platform
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import fechner
from fechner.arrays import torch
from fechner.errors import RunFolderError
from fechner.observers.abilities import Ability, Dtype, Need
from fechner.observers.readouts import check_readouts
from fechner.python_files import is_python_file
from fechner.runs.store import write_atomically
from fechner.suites import Mode, Options, Suite
from fechner.suites import suite as find_suite
from fechner.suites.options import Checked, option, options_of

FILE = "manifest.json"
FORMAT = 3


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """Where and how to compute, what to read out, and when to stop.

    Examples
    --------
    >>> Settings(readouts="angle,l2").readouts
    ('angle', 'l2')
    """

    scores_only: bool = option(
        False, help="Leave out what only figures need: response surfaces and curves of matches."
    )
    device: str | None = option(
        None, help="cpu, cuda...; an accelerator if there is one. Fixed at the first start."
    )
    threads: int | None = option(
        None, help="CPU threads, of each worker if there are several. Fixed at first.", low=1
    )
    workers: int = option(
        1,
        help="Processes that measure. Results are bit-identical for a given --threads; by default "
        "workers share the cores.",
        low=1,
    )
    batch_size: int | None = option(
        None, help="Pictures at a time; by default, all that fit into memory.", low=1
    )
    readouts: tuple[str, ...] | None = option(
        None,
        flag="readout",
        help="How encoders are read out: angle, l2, l1, minkowski4, linf, energy or correlation; "
        "several, comma-separated, at once.",
    )
    layers: tuple[str, ...] | None = option(
        None,
        help="Where encoders are read out: comma-separated names or patterns, as in "
        "'blocks.*,output'; their natural stages if left out (`fechner layers NAME`).",
    )
    weights: str | None = option(
        None,
        help="Weights for the observer named, instead of its own: safetensors, or a torch file "
        "that holds tensors only.",
    )
    dtype: Dtype | None = option(
        None, help="Precision of networks; differences near threshold need float32."
    )
    trust_remote_code: bool = option(
        False, help="Run code that comes with weights (torch.hub, hub)."
    )
    max_trials: int | None = option(
        None, help="Stop after this many answers in words, earlier starts included.", low=1
    )
    max_cost: float | None = option(
        None, help="Stop once this many dollars are spent, earlier starts included.", low=0
    )
    accept_invalid: bool = option(
        False,
        help="Go on with an observer even if 20 of its first 25 replies are none of the options.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_readouts(self.readouts or ())


@dataclass
class ObserverRecord:
    """What a run knows of an observer.

    Parameters
    ----------
    batch_size
        Pictures at a time that fit into memory.
    fingerprints
        What its answers depend on, by the ability that is asked.
    output
        The layer that it hands on.
    lacks
        Abilities, colour or video, which some tests need.
    warnings
        What to mind when its answers are read.
    complexity
        Parameters and GFLOPs of a network.
    about
        What a metric declares of itself.
    ppd
        Pixels per degree that it is made for.
    wants, samples
        How one that replies in words is shown pictures, and whether its replies are random.
    """

    batch_size: int
    fingerprints: dict[str, str]
    output: str
    lacks: list[Need | Ability] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    complexity: dict[str, float | None] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    ppd: float | None = None
    wants: dict[str, Any] | None = None
    samples: bool = False

    @property
    def fingerprint(self) -> str:
        """All its fingerprints, for people."""
        return "; ".join(dict.fromkeys(self.fingerprints.values()))

    def fingerprint_for(self, asks: Ability) -> str:
        """Return what its answers depend on when an ability is asked."""
        return self.fingerprints.get(asks, self.fingerprint)


@dataclass
class Manifest:
    """Settings that every piece of a run shares, and the versions it was started with.

    ``suite`` to ``readouts`` say which run this is; ``device`` to ``batch_size`` are reused on
    resume so that results stay bit-identical. ``origin`` says where the suite was found, its
    version and the hash of its file; ``options`` are all of the suite's, as JSON values. ``layers``
    are patterns, None for the natural stages of each encoder. ``batch_size`` is what was asked
    for, None for what fits; what each observer got stands with it in ``observers``. ``machine`` is
    the hardware it was started on; ``left_out`` are observers that could not be measured when it
    was last started, and why. ``folder`` is where it was read; it is not written.
    """

    suite: str
    origin: dict[str, Any]
    options: dict[str, Any]
    readouts: list[str]
    layers: list[str] | None
    device: str
    threads: int
    batch_size: int | None
    versions: dict[str, str]
    observers: dict[str, ObserverRecord] = field(default_factory=dict)
    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT
    folder: Path | None = field(default=None, compare=False)

    @property
    def mode(self) -> Mode:
        """Published, or the default."""
        return "published" if self.options["published"] else "default"

    def find_suite(self) -> Suite:
        """Return the suite, from where it was found when the run was started."""
        source, where = self.origin["source"], self.folder or "this run"
        if not source:
            raise RunFolderError(
                f"suite '{self.suite}' of {where} was given in Python: open the run there, with "
                "fechner.Run(folder, suite=...)."
            )
        if not is_python_file(source):
            return find_suite(self.suite)
        file, _, name = source.rpartition(":")
        # A run that was moved is read with the file beside it.
        folders = [] if self.folder is None else self.folder.resolve().parents[:2]
        places = [Path(file), *(each / Path(file).name for each in (*folders, Path.cwd()))]
        there = [place for place in places if place.is_file()]
        if not there:
            raise RunFolderError(
                f"suite '{self.suite}' of {where} was read from {file}, which is gone: put it "
                "back, or beside the run folder."
            )
        found = find_suite(f"{there[0]}:{name}")
        if found.sha256 != self.origin["sha256"]:
            raise RunFolderError(
                f"{there[0]} has changed since {where} was measured with it: run the same command "
                "again to measure anew, or undo the change."
            )
        return found

    def suite_options(self, own: Suite) -> Options:
        """Return the suite's options; pictures need not be there any more."""
        known = options_of(own.options)
        values = {}
        for name, stored in self.options.items():
            if name not in known:
                raise RunFolderError(
                    f"{self.folder} was measured with --{name.replace('_', '-')}, which suite "
                    f"'{own.name}' does not have any more."
                )
            restore = known[name].restore
            values[name] = restore(stored) if restore is not None and stored is not None else stored
        return own.options(**values)

    def write(self, folder: Path) -> None:
        """Write it into a run folder."""
        content = asdict(self)
        del content["folder"]
        text = json.dumps(content, indent=2) + "\n"
        write_atomically(folder / FILE, text.encode())

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it from a run folder."""
        path = folder / FILE
        if not folder.exists():
            raise RunFolderError(
                f"{folder} does not exist; `fechner run OBSERVER --out {folder}` would make it."
            )
        if not path.is_file():
            inside = sorted(str(each.parent) for each in folder.glob(f"*/{FILE}"))
            hint = f"; name one of the runs in it: {', '.join(inside)}" if inside else ""
            raise RunFolderError(f"{folder} is not a run folder: it has no {FILE}{hint}.")
        try:
            content = json.loads(path.read_text("utf-8"))
            written = content["format"]
            if written != FORMAT:
                by = content["versions"]["fechner"]
                raise RunFolderError(
                    f"{folder} was written by fechner {by}, in format {written}; this version, "
                    f"{fechner.__version__}, reads format {FORMAT}: install that one to read it, "
                    "or run it again in another folder."
                )
            records = {k: ObserverRecord(**v) for k, v in content.pop("observers").items()}
            return cls(**content, observers=records, folder=folder)
        except KeyError as error:
            raise RunFolderError(f"{path} cannot be read (it has no {error}).") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise RunFolderError(f"{path} cannot be read ({error}).") from error


def parameters(thing: Any) -> Any:
    """Return a dataclass as plain JSON values, with the names of its classes.

    Fields that are not compared are left out: nothing that is measured depends on them.

    Examples
    --------
    >>> from fechner.stimuli import Gabor
    >>> parameters(Gabor(4.0, sigma_deg=0.5))["kind"]
    'Gabor'
    """
    return json.loads(json.dumps(thing, default=_fields))


def _fields(thing: Any) -> dict[str, Any]:
    """Return the name of a dataclass and its fields."""
    if not is_dataclass(thing) or isinstance(thing, type):
        raise TypeError(f"{thing!r} cannot be written to a manifest.")
    values = {each.name: getattr(thing, each.name) for each in fields(thing) if each.compare}
    return {"kind": type(thing).__name__, **values}


def origin_of(own: Suite) -> dict[str, Any]:
    """Return where a suite was found, its version and the hash of its file."""
    return {"source": own.source, "version": own.version, "sha256": own.sha256}


def stored_options(options: Options) -> dict[str, Any]:
    """Return all options of a suite as JSON values."""
    stored = {}
    for name, each in options_of(type(options)).items():
        value = getattr(options, name)
        stored[name] = parameters(
            value if each.store is None or value is None else each.store(value)
        )
    return stored


def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    import numpy

    return {
        "fechner": fechner.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def machine(device: str) -> dict[str, str]:
    """Return the hardware that a run is started on, without anything that names the machine."""
    import psutil

    processor = platform.processor() or platform.machine()
    with suppress(OSError):  # Linux has its name in a file
        known = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text("utf-8"), re.M)
        processor = known[1].strip() if known else processor
    found = {
        "system": platform.system(),
        "processor": processor,
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
    }
    if device.startswith("cuda"):
        found["accelerator"] = torch.cuda.get_device_name(device)
    return found

"""The manifest of a run: what was fixed when it first started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fechner.errors import RunFolderError
from fechner.observers.categories import Categories
from fechner.observers.dropout import Dropout
from fechner.observers.questions import Prompt
from fechner.runs.keys import parameters
from fechner.runs.store import write_atomically
from fechner.stimuli import Album
from fechner.stimuli.display import make_display
from fechner.stimuli.picture_sets import known_pictures
from fechner.suites import Asked, Mode, Options

FILE = "manifest.json"
FORMAT = 2

#: Where photographs are.
_FOLDER = "images"

#: What says which pictures they are.
_PICTURES = ("classes", "counts", "digest", "kind")


@dataclass
class Manifest:
    """Settings that every piece of a run shares, and the versions it was started with.

    ``suite`` to ``readouts`` say which run this is; ``device`` to ``batch_size`` are reused on
    resume so that results stay the same to the bit. ``layers`` are patterns, None for the natural
    stages of each encoder. ``batch_size`` is what was asked for, None for what fits; what each
    observer got stands with it in ``observers``. ``machine`` is the hardware it was started on;
    ``left_out`` are observers that could not be measured when it was last started, and why;
    ``asked`` is what a user changed about questions in words. ``folder`` is where it was read; it
    is not written.
    """

    suite: str
    mode: Mode
    seed: int
    ppd: float | None
    resize: bool | None
    readouts: list[str]
    layers: list[str] | None
    device: str
    threads: int
    batch_size: int | None
    versions: dict[str, str]
    observers: dict[str, dict[str, Any]] = field(default_factory=dict)
    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT
    folder: Path | None = field(default=None, compare=False)

    @property
    def options(self) -> Options:
        """The suite's options, from what is in the run folder."""
        return Options(self.mode, self.seed, self.ppd, self.resize, asked_from(self.asked))

    def identity(self) -> dict[str, Any]:
        """Return what must agree for a run to be resumed or extended."""
        return {
            "suite": self.suite,
            "mode": self.mode,
            "seed": self.seed,
            "ppd": self.ppd,
            "resize": self.resize,
            "readouts": self.readouts,
            "layers": self.layers,
            # The same pictures may lie elsewhere, and be left out for other reasons.
            "asked": {
                key: {part: value[part] for part in _PICTURES} if key == "pictures" else value
                for key, value in self.asked.items()
                if key != _FOLDER
            },
        }

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
        if not path.is_file():
            raise RunFolderError(_no_run(folder))
        try:
            content = json.loads(path.read_text("utf-8"))
            found = cls(**content, folder=folder)
        except (ValueError, TypeError) as error:
            raise RunFolderError(f"{path} cannot be read ({error}).") from error
        if found.format != FORMAT:
            raise RunFolderError(
                f"{folder} was written in format {found.format}; this version of fechner reads "
                f"format {FORMAT}: install the version named in {path}."
            )
        return found


def asked_to(asked: Asked) -> dict[str, Any]:
    """Return what a user changed about questions, as JSON values."""
    stored = {
        each.name: parameters(getattr(asked, each.name))
        for each in fields(Asked)
        if getattr(asked, each.name) != each.default
    }
    if asked.album is not None:
        stored[_FOLDER] = asked.album.folder
    if asked.pictures is not None:
        stored["pictures"] = asked.pictures.plain()
        stored[_FOLDER] = asked.pictures.place
    return stored


def asked_from(stored: dict[str, Any]) -> Asked:
    """Read what a user changed about questions; photographs need not be there any more."""
    found = {key: value for key, value in stored.items() if key != _FOLDER}
    if "prompts" in found:
        own = found["prompts"]
        found["prompts"] = tuple(Prompt(each["text"], tuple(each["options"])) for each in own)
    if "album" in found:
        found["album"] = Album.known(found["album"], stored[_FOLDER])
    if "pictures" in found:
        found["pictures"] = known_pictures(found["pictures"], stored[_FOLDER])
    if "categories" in found:
        found["categories"] = Categories.known(found["categories"])
    if "dropout" in found:
        own = found["dropout"]
        found["dropout"] = Dropout(tuple(own["layers"]), own["share"], own["runs"])
    if "display" in found:
        own = {key: value for key, value in found["display"].items() if key != "kind"}
        found["display"] = make_display(own.pop("name"), own)
    return Asked(**found)


def _no_run(folder: Path) -> str:
    """Say why a folder is no run, and what to do."""
    if not folder.exists():
        return f"{folder} does not exist; `fechner run OBSERVER --out {folder}` would make it."
    inside = (
        sorted(str(path.parent) for path in folder.glob(f"*/{FILE}")) if folder.is_dir() else []
    )
    if inside:
        return f"{folder} is not a run folder but holds some; name them: {', '.join(inside)}."
    return f"{folder} is not a run folder: it has no {FILE}."


def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    import platform

    import numpy
    import torch

    import fechner

    return {
        "fechner": fechner.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def machine(device: str) -> dict[str, str]:
    """Return the hardware that a run is started on, without anything that names the machine."""
    import os
    import platform

    import psutil
    import torch

    found = {
        "system": platform.system(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
    }
    if device.startswith("cuda"):
        found["accelerator"] = torch.cuda.get_device_name(device)
    return found


def _processor() -> str:
    """Return the processor's name; Linux has it in a file, others in ``platform``."""
    import platform

    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return next(iter(names), platform.processor() or platform.machine())

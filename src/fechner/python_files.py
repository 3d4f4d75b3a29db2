"""Python files of users as modules that other processes can load, too.

The name of such a module holds the path of its file, so whatever is pickled here (an experiment
whose pattern a user wrote, say) can be read by a worker.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from fechner.errors import FechnerError, UnknownNameError, raised

_PREFIX = "fechner_file_"


class _Loader(SourceFileLoader):
    """Always reads the source: compiled code is out of date for a second after a change."""

    def path_stats(self, path: Any) -> Any:
        raise OSError(path)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds modules by the path in their name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(_PREFIX):
            return None
        file = Path(bytes.fromhex(name.removeprefix(_PREFIX)).decode())
        if str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))  # as `python file.py` does, for its neighbours
        return importlib.util.spec_from_file_location(name, file, loader=_Loader(name, str(file)))


sys.meta_path.append(_Finder())


def is_python_file(spec: str) -> bool:
    """Whether a name is ``path/to/file.py:name``, or forgets the name.

    Examples
    --------
    >>> is_python_file("mine.py:SUITE"), is_python_file("encoders")
    (True, False)
    """
    return spec.endswith(".py") or ".py:" in spec


def split_spec(spec: str, what: str, example: str) -> tuple[Path, str]:
    """Take ``path/to/file.py:name`` apart, or say what is wrong with it.

    Parameters
    ----------
    what, example
        What the name stands for, and a name as an example.
    """
    file, _, attribute = spec.rpartition(":")
    if spec.endswith(".py") or not attribute:
        raise FechnerError(
            f"'{spec}' is a file; name the {what} in it, as in {spec.rstrip(':')}:{example}."
        )
    if not Path(file).is_file():
        raise FechnerError(f"there is no file '{file}' (from '{spec}').")
    return Path(file), attribute


def load_from_file(spec: str, what: str, example: str) -> Any:
    """Return what ``path/to/file.py:name`` names; a file that stays the same is run once."""
    path, attribute = split_spec(spec, what, example)
    module = _load(path, spec, what)
    if not hasattr(module, attribute):
        own = [
            name
            for name, thing in vars(module).items()
            if not name.startswith("_")
            and not isinstance(thing, ModuleType)
            and (not callable(thing) or getattr(thing, "__module__", "") == module.__name__)
        ]
        there = f"{path.name} has {', '.join(own)}" if own else f"{path.name} defines nothing"
        raise UnknownNameError(what, spec, [f"{path}:{name}" for name in own], there)
    return getattr(module, attribute)


def _load(path: Path, spec: str, what: str) -> ModuleType:
    name = _PREFIX + str(path.resolve()).encode().hex()
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__sha256__", None) == content:
        return known
    sys.modules.pop(name, None)
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise FechnerError(
            f"{what} '{spec}': {path.name} could not be loaded: {raised(error)}."
        ) from error
    vars(module)["__sha256__"] = content
    return module

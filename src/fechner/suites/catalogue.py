"""Suites by name: our own, those of installed packages, and files of users."""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import replace
from functools import cache
from importlib import metadata

from fechner.errors import FechnerError, UnknownNameError
from fechner.python_files import is_python_file, load_from_file, split_spec
from fechner.suites.base import OURS, Suite

#: Our own, in the order in which they are listed; each is ``SUITE`` of a module of its name.
NAMES = ("encoders", "metrics", "decalogue", "verbal", "recognition")

#: Packages offer suites in this group of entry points.
GROUP = "fechner.suites"

#: What a name in a file stands for, and an example of one.
_IN_FILE = ("suite", "SUITE")


def suite(given: Suite | str) -> Suite:
    """Return a suite by name, from ``path/to/file.py:NAME``, or as it is.

    Examples
    --------
    >>> sum(test.by_default for test in suite("encoders").build())
    9
    """
    if isinstance(given, Suite):
        return given
    if is_python_file(given):
        return _from_file(given)
    if given in NAMES:
        return _own(given)
    found = suites()
    if given not in found:
        listed = "`fechner list suites` shows them, and path/to/file.py:NAME is your own"
        raise UnknownNameError("suite", given, found, listed)
    return found[given]


def suites() -> dict[str, Suite]:
    """Return our own suites, and those of installed packages, by name."""
    found = {name: _own(name) for name in NAMES}
    for point in metadata.entry_points(group=GROUP):
        there = f"package '{point.dist.name}'" if point.dist else f"entry point '{point.name}'"
        try:
            offered = point.load()
        except Exception as error:
            raise FechnerError(
                f"suite '{point.name}' of {there} could not be loaded: {error}; update or "
                "uninstall it."
            ) from error
        own = _checked(offered, f"{point.value} of {there}")
        source = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        found[own.name] = replace(own, source=source)
    return found


@cache
def _own(name: str) -> Suite:
    found: Suite = importlib.import_module(f"fechner.suites.{name}").SUITE
    return replace(found, source=OURS)


def _from_file(spec: str) -> Suite:
    path, name = split_spec(spec, *_IN_FILE)
    own = _checked(load_from_file(spec, *_IN_FILE), spec)
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return replace(own, source=f"{path.resolve()}:{name}", sha256=content)


def _checked(found: object, where: str) -> Suite:
    if not isinstance(found, Suite):
        raise FechnerError(f"{where} is a {type(found).__name__}, not a fechner.Suite.")
    if found.name in NAMES:
        raise FechnerError(
            f"{where} is called '{found.name}', as a suite of fechner is: choose another name."
        )
    return found

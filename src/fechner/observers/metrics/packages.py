"""Packages that hold metrics: imported quietly, with one sentence where they are missing."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import version
from typing import Any

from fechner.errors import MissingExtraError
from fechner.observers.torchvision_fix import import_torchvision


def import_package(module: str, observer: str, extra: str, *, torchvision: bool = True) -> Any:
    """Import a package.

    Parameters
    ----------
    observer, extra
        Who needs it, and the extra that brings it.
    torchvision
        Whether it is built on torchvision, which is then imported first.

    Examples
    --------
    >>> import_package("no_such_package", "piq/gmsd", "piq")
    Traceback (most recent call last):
    ...
    fechner.errors.MissingExtraError: observer 'piq/gmsd' needs an extra package (No module named \
'no_such_package'): pip install 'fechner[piq]'.
    """
    try:
        if torchvision:
            import_torchvision()
        with quietly():
            return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"observer '{observer}'", extra, str(error)) from None


@contextmanager
def quietly() -> Iterator[None]:
    """Keep what a library prints and warns about its own code away."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def release(package: str) -> str:
    """Return name and version of an installed package, for fingerprints."""
    return f"{package} {version(package)}"

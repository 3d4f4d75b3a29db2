"""The observers that have a name. A new one is one module and one entry here, or a plug-in.

A plug-in package declares an entry point in the group ``fechner.observers`` whose object is an
`Entry`.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata, util
from typing import Any

from fechner.errors import MissingExtraError, UnknownNameError
from fechner.observers.abilities import Ability, Observer
from fechner.observers.yours import file_and_name, from_file


@dataclass(frozen=True)
class Entry:
    """A named observer.

    Parameters
    ----------
    make
        ``"module:function"``; called with ``device`` and settings.
    needs
        Top-level packages beyond the core, and the extra that brings them.
    published
        Settings per suite under which published numbers were made.
    """

    name: str
    summary: str
    ability: Ability
    make: str
    reference: str | None = None
    needs: tuple[str, ...] = ()
    extra: str = ""
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def installed(self) -> bool:
        """Whether everything it needs can be imported."""
        return all(util.find_spec(package) is not None for package in self.needs)


_BUILT_IN = (
    Entry(
        "pixels",
        "no encoder: the display-encoded picture itself",
        "encodes",
        "fechner.observers.pixels:make",
    ),
    Entry(
        "standard-observer",
        "foveal contrast detection: filter, aperture, pooling",
        "compares",
        "fechner.observers.standard:make",
        reference="watson_ahumada2005",
    ),
    Entry(
        "cvvdp",
        "ColorVideoVDP, a metric that models human vision",
        "compares",
        "fechner.observers.cvvdp:make",
        reference="mantiuk2024_cvvdp",
        needs=("pycvvdp", "torchvision"),
        extra="cvvdp",
        # Cai et al. (2025) ran it at the geometry of its 4K display whatever was shown.
        published={"encoders": {"geometry": "standard_4k"}},
    ),
)


@lru_cache
def catalogue() -> dict[str, Entry]:
    """Return all named observers, plug-ins included."""
    return {entry.name: entry for entry in (*_BUILT_IN, *_plugins())}


def _plugins() -> Iterator[Entry]:
    for point in metadata.entry_points(group="fechner.observers"):
        try:
            yield point.load()
        except Exception as error:
            # One broken package must not take all observers away.
            logging.getLogger("fechner").warning("plug-in '%s' is left out: %s", point.name, error)


def check_name(spec: str) -> None:
    """Say what is wrong with a name, without making the observer."""
    if spec in catalogue():
        return
    if spec.endswith(".py") or ".py:" in spec:
        file_and_name(spec)
    else:
        raise UnknownNameError(
            "observer",
            spec,
            catalogue(),
            "`fechner list observers` shows them, and path/to/file.py:name is your own",
        )


def resolve(
    spec: str, *, device: str = "cpu", suite: str | None = None, published: bool = False
) -> Observer:
    """Make the observer that a name stands for.

    Examples
    --------
    >>> resolve("pixels").layers
    ('pixels',)
    """
    check_name(spec)
    entry = catalogue().get(spec)
    if entry is None:
        return from_file(spec, device)
    if not entry.installed:
        missing = next(need for need in entry.needs if util.find_spec(need) is None)
        raise MissingExtraError(f"observer '{spec}'", entry.extra, f"{missing} is not installed")
    settings = entry.published.get(suite or "", {}) if published else {}
    module, _, function = entry.make.partition(":")
    observer: Observer = getattr(importlib.import_module(module), function)(
        device=device, **settings
    )
    return observer

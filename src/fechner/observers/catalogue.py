"""The observers that have a name: those of ``catalogue.toml``, and plug-ins.

Some names stand for one observer (`Entry`), some begin or end like all models of a library
(`Family`). A plug-in package declares an entry point in the group ``fechner.observers`` whose
object is an `Entry` or a `Family`.
"""

from __future__ import annotations

import importlib
import logging
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata, resources, util
from typing import TYPE_CHECKING, Any

from fechner.observers.abilities import Ability

if TYPE_CHECKING:
    from fechner.observers.metrics.metric import About


def at(place: str) -> Any:
    """Return what stands at ``"module:name"``."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


class _Listed:
    """What can be listed whether or not everything it needs is installed."""

    needs: tuple[str, ...]

    @property
    def missing(self) -> str | None:
        """The first package that it needs and that is not installed."""
        return next((package for package in self.needs if util.find_spec(package) is None), None)

    @property
    def installed(self) -> bool:
        """Whether everything it needs can be imported."""
        return self.missing is None


@dataclass(frozen=True)
class Entry(_Listed):
    """A named observer.

    Parameters
    ----------
    make
        ``"module:function"``; called with ``device`` and settings.
    needs
        Top-level packages beyond the core, and the extra that brings them.
    published
        Settings per suite under which published numbers were made.
    declared
        Of a plug-in: ``"module:mapping"`` of names to what its metrics declare (`About`). Ours
        stand in ``metrics/declared.toml``.
    tour
        Whether it is shown to people who name no observer.
    operational
        Settings that cannot change an answer, such as how long to wait for it: results are kept
        under the name without them.
    also
        Abilities that it has beside the first.
    fetches
        The file in torch's cache that it fetches when it is first used, if it fetches one.
    """

    name: str
    summary: str
    ability: Ability
    make: str
    reference: str | None = None
    needs: tuple[str, ...] = ()
    extra: str = ""
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    declared: str = ""
    tour: bool = False
    operational: tuple[str, ...] = ()
    also: tuple[Ability, ...] = ()
    fetches: str = ""

    @property
    def abilities(self) -> tuple[Ability, ...]:
        """What it can do."""
        return (self.ability, *self.also)

    @property
    def label(self) -> str:
        """Its name."""
        return self.name


@dataclass(frozen=True)
class Family(_Listed):
    """All models of a library: names that begin or end alike, as its label shows.

    Parameters
    ----------
    load
        ``"module:function"``; called with the rest of the name, settings, and whatever it takes of
        ``spec`` (the name with its settings), ``device`` and ``trust_remote_code``. Returns a
        `Network`, or the observer itself.
    check
        ``"module:function"``; called with the name and settings, says what is wrong with them
        before anything is made or written down.
    reads
        What its models make of words, as far as it is known without loading one: ``questions``,
        ``labels``, ``nothing``, or ``"module:function"`` of the rest of the name; empty if unknown.
    """

    label: str
    summary: str
    load: str
    example: str
    needs: tuple[str, ...] = ()
    extra: str = ""
    prefix: str = ""
    suffix: str = ""
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ability: Ability = "encodes"
    declared: str = ""
    check: str = ""
    operational: tuple[str, ...] = ()
    reads: str = ""

    def takes(self, name: str) -> bool:
        """Whether a name belongs to it."""
        rest = name.removeprefix(self.prefix).removesuffix(self.suffix)
        return name.startswith(self.prefix) and name.endswith(self.suffix) and bool(rest)


def catalogue() -> dict[str, Entry]:
    """Return all named observers, plug-ins included."""
    return {entry.name: entry for entry in _entries() if isinstance(entry, Entry)}


def families() -> dict[str, Family]:
    """Return all families of observers, plug-ins included."""
    return {family.label: family for family in _entries() if isinstance(family, Family)}


def declared_metrics() -> dict[str, About]:
    """Return what metrics declare of themselves, by name; nothing has to be installed for that."""
    from fechner.observers.metrics.metric import declarations, declared

    found = {name: declared(name) for name in declarations()}
    for entry in _entries():
        if entry.declared:
            found |= at(entry.declared)
    return found


@lru_cache
def _entries() -> tuple[Entry | Family, ...]:
    text = resources.files("fechner.observers").joinpath("catalogue.toml").read_text("utf-8")
    found: list[Entry | Family] = []
    for kind, table in zip((Entry, Family), ("observers", "families"), strict=True):
        for name, keys in tomllib.loads(text)[table].items():
            fields = {key: tuple(v) if isinstance(v, list) else v for key, v in keys.items()}
            found.append(kind(name, **fields))
    for point in metadata.entry_points(group="fechner.observers"):
        try:
            found.append(point.load())
        except Exception as error:
            # One broken package must not take all observers away.
            logging.getLogger("fechner").warning("plug-in '%s' is left out: %s", point.name, error)
    return tuple(found)

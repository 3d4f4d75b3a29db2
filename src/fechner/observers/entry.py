"""What the catalogue holds: a named observer, or all the models of a library."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import util
from typing import Any

from fechner.observers.abilities import Ability


def at(place: str) -> Any:
    """Return what stands at ``"module:name"``."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


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
    declared
        ``"module:mapping"`` of names to what a metric declares (`About`); empty for others.
    tour
        Whether it is shown to people who name no observer.
    operational
        Settings that cannot change an answer, such as how long to wait for it: results are kept
        under the name without them.
    also
        Abilities that it has beside the first.
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

    @property
    def abilities(self) -> tuple[Ability, ...]:
        """What it can do."""
        return (self.ability, *self.also)

    @property
    def label(self) -> str:
        """Its name."""
        return self.name

    @property
    def installed(self) -> bool:
        """Whether everything it needs can be imported."""
        return self.missing is None

    @property
    def missing(self) -> str | None:
        """The first package that it needs and that is not installed."""
        return _missing(self.needs)


def _missing(packages: tuple[str, ...]) -> str | None:
    return next((package for package in packages if util.find_spec(package) is None), None)


@dataclass(frozen=True)
class Family:
    """All models of a library: names that begin or end alike.

    Parameters
    ----------
    label
        How its names look, for people.
    load
        ``"module:function"``; called with the rest of the name, settings, and whatever it takes of
        ``spec`` (the name with its settings), ``device`` and ``trust_remote_code``. Returns a
        `Network`, or the observer itself.
    check
        ``"module:function"``; called with the name and settings, says what is wrong with them
        before anything is made or written down.
    needs, extra, published, declared, operational
        As for an `Entry`.
    prefix, suffix
        How its names begin and end.
    reads
        What its models make of words, as far as it is known without loading one: ``questions``,
        ``labels``, ``nothing``, or ``"module:function"`` of the rest of the name; empty if unknown.
    """

    label: str
    summary: str
    load: str
    example: str
    needs: tuple[str, ...]
    extra: str
    prefix: str = ""
    suffix: str = ""
    published: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ability: Ability = "encodes"
    declared: str = ""
    check: str = ""
    operational: tuple[str, ...] = ()
    reads: str = ""

    @property
    def installed(self) -> bool:
        """Whether everything it needs can be imported."""
        return self.missing is None

    @property
    def missing(self) -> str | None:
        """The first package that it needs and that is not installed."""
        return _missing(self.needs)

    def takes(self, name: str) -> bool:
        """Whether a name belongs to it."""
        rest = name.removeprefix(self.prefix).removesuffix(self.suffix)
        return name.startswith(self.prefix) and name.endswith(self.suffix) and bool(rest)

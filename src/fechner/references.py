"""The bibliography: every formula and every data set of fechner points at a key in it.

The entries live in ``references.toml`` next to this module, so that a citation is corrected in
one place and the command line, the report page and the docstrings all show the same line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from fechner.errors import UnknownNameError

__all__ = ["Reference", "UnknownReferenceError", "reference", "references"]


@dataclass(frozen=True, slots=True)
class Reference:
    """One published work.

    Parameters
    ----------
    key
        How code and data name the work, such as ``"foley1994"``.
    authors
        Surnames with initials, separated by commas.
    where
        Journal with volume and pages, or proceedings.
    doi
        Without the resolver's address.
    """

    key: str
    authors: str
    year: int
    title: str
    where: str
    doi: str | None = None

    @property
    def text(self) -> str:
        """The citation on one line.

        Examples
        --------
        >>> reference("watson_ahumada2005").text[:30]
        'Watson AB, Ahumada AJ (2005). '
        """
        if not self.authors:
            return self.title
        mark = "" if self.title.endswith(("?", "!")) else "."
        tail = f" doi:{self.doi}" if self.doi else ""
        return f"{self.authors} ({self.year}). {self.title}{mark} {self.where}.{tail}"

    @property
    def short(self) -> str:
        """First authors and year.

        Examples
        --------
        >>> reference("ashraf2024").short
        'Ashraf et al. 2024'
        """
        if not self.authors:
            return self.title
        surnames = [author.rsplit(" ", 1)[0] for author in self.authors.split(", ")]
        if len(surnames) > 2:
            return f"{surnames[0]} et al. {self.year}"
        return f"{' & '.join(surnames)} {self.year}"


class UnknownReferenceError(UnknownNameError, KeyError):
    """A key that the bibliography does not have."""

    def __str__(self) -> str:
        # KeyError would show the sentence in quotes, with its own quotes escaped.
        return str(self.args[0])


@lru_cache(maxsize=1)
def references() -> Mapping[str, Reference]:
    """Read the whole bibliography, sorted by key.

    Examples
    --------
    >>> references()["mullen1985"].year
    1985
    """
    source = resources.files("fechner").joinpath("references.toml")
    entries = tomllib.loads(source.read_text(encoding="utf-8"))
    return MappingProxyType({key: Reference(key, **entries[key]) for key in sorted(entries)})


def reference(key: str) -> Reference:
    """Look up one work by its key, in small letters; anything else is a citation itself.

    Examples
    --------
    >>> reference("ashraf2024").doi
    '10.1167/jov.24.4.5'
    >>> reference("Doe & Roe 2026").short
    'Doe & Roe 2026'
    """
    known = references()
    if not re.fullmatch("[a-z][a-z0-9_]*", key):
        return Reference(key, "", 0, key, "")
    if key not in known:
        raise UnknownReferenceError("reference", key, known, "add the work to references.toml")
    return known[key]

"""Categories: classes of classifiers put together, such as all dogs, as people name them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from fechner.errors import FechnerError, ObserverError, UnknownNameError
from fechner.observers.classes import plain_name, synsets_of, synsets_of_numbers

#: Those that come with the package, and their files.
_BUILT_IN = {"16-class": "categories_16.csv"}

_COLUMNS = {"class", "category"}


@dataclass(frozen=True)
class Categories:
    """A map of classes to categories.

    Parameters
    ----------
    name
        What it is called.
    members
        Each category with its classes: synsets of ImageNet, or names.
    reference
        Key in the bibliography; empty for a user's own.
    """

    name: str
    members: tuple[tuple[str, tuple[str, ...]], ...]
    reference: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The categories."""
        return tuple(category for category, _ in self.members)

    def category_of(self, label: str) -> str:
        """Return the category of a class, by synset or name; of a category, itself; else nothing.

        Examples
        --------
        >>> sixteen = categories("16-class")
        >>> [sixteen.category_of(label) for label in ("n02123045", "tabby", "cat", "tench")]
        ['cat', 'cat', 'cat', '']
        """
        found = {self._lookup[key] for key in _keys(label) if key in self._lookup}
        own = self._lookup.get(plain_name(label))
        return own or (found.pop() if len(found) == 1 else "")

    def categories_of(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Return the category of each class; numbers are places among ImageNet's classes.

        Examples
        --------
        >>> categories("16-class").categories_of(["281", "404", "0"])
        ('cat', 'airplane', '')
        """
        return tuple(map(self.category_of, synsets_of_numbers(labels)))

    def indices(
        self, own: Sequence[str], asked: Iterable[str] | None = None
    ) -> dict[str, list[int]]:
        """Return which of an observer's own classes belong to each category.

        Parameters
        ----------
        own
            The observer's classes: synsets, names, numbers of ImageNet's, or categories.
        asked
            Categories that are asked about; None for all. Each needs a class.

        Examples
        --------
        >>> from fechner.observers.classes import class_names
        >>> categories("16-class").indices(class_names(1000))["bicycle"]
        [444, 671]
        """
        wanted = self.names if asked is None else tuple(asked)
        if unknown := [each for each in wanted if each not in self.names]:
            listed = f"there are {', '.join(self.names)}"
            raise UnknownNameError("category", unknown[0], self.names, listed)
        found: dict[str, list[int]] = {category: [] for category in wanted}
        for place, category in enumerate(self.categories_of(own)):
            if category in found:
                found[category].append(place)
        if missing := [category for category, places in found.items() if not places]:
            raise ObserverError(
                f"it has no class of {', '.join(missing)} in the categories '{self.name}'; ask "
                "about others, or give --categories FILE, a CSV of its classes (class,category)."
            )
        return found

    @classmethod
    def known(cls, plain: Mapping[str, Any]) -> Categories:
        """Return categories from their own fields as plain values, as a run keeps them."""
        members = tuple((category, tuple(classes)) for category, classes in plain["members"])
        return cls(plain["name"], members, plain["reference"])

    @cached_property
    def _lookup(self) -> dict[str, str]:
        """Categories by everything that a class of theirs may be called; categories go first."""
        found = {
            key: category
            for category, classes in self.members
            for label in classes
            for key in _keys(label)
        }
        return {**found, **{plain_name(category): category for category in self.names}}


def categories(name: Path | str) -> Categories:
    """Return categories that come with the package, or a user's own.

    Parameters
    ----------
    name
        ``"16-class"``: the basic categories of Geirhos et al. (2018), 207 classes of ImageNet; or
        the path of a CSV file (`read_categories`).

    Examples
    --------
    >>> len(categories("16-class").names)
    16
    """
    if name in _BUILT_IN:
        return _built_in(str(name))
    path = Path(name)
    if path.suffix or path.exists():
        return read_categories(path)
    listed = f"there are {', '.join(_BUILT_IN)}, or the path of a CSV file"
    raise UnknownNameError("set of categories", str(name), _BUILT_IN, listed)


@cache
def _built_in(name: str) -> Categories:
    text = (resources.files("fechner.observers") / "data" / _BUILT_IN[name]).read_text("utf-8")
    return Categories(name, _members(text, name), "geirhos2018")


def read_categories(path: Path | str) -> Categories:
    """Read categories from a CSV file with the columns ``class`` and ``category``.

    Classes are named by their ImageNet synset or as the observer or the pictures name them.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise FechnerError(f"the categories in {path} cannot be read: {why}.") from None
    return Categories(path.stem, _members(text, str(path)))


def _members(text: str, source: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    reader = csv.DictReader(lines)
    if not set(reader.fieldnames or ()) >= _COLUMNS:
        raise FechnerError(f"{source} needs the columns class and category in its first line.")
    category_of: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for number, row in enumerate(reader, 1):
        label, category = ((row[column] or "").strip() for column in ("class", "category"))
        if not label or not category:
            raise FechnerError(f"class {number} of {source} has no name or no category.")
        for key in _keys(label):
            if category_of.setdefault(key, category) != category:
                raise FechnerError(
                    f"{source} puts {label} into {category_of[key]} and into {category}; choose "
                    "one."
                )
        if label not in found.setdefault(category, []):
            found[category].append(label)
    if len(found) < 2:
        raise FechnerError(f"{source} has fewer than two categories to choose between.")
    return tuple((category, tuple(found[category])) for category in sorted(found))


def _keys(label: str) -> tuple[str, ...]:
    """Return what a class may be looked up by: its synset, or its name."""
    return (*synsets_of(label), plain_name(label))

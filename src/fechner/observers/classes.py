"""Classes: their names, categories of them, and what an observer chooses from.

Classifiers name classes by ImageNet synset, by words or by numbers, pictures in any of these ways;
categories put classes together as people name them, such as all dogs.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from fechner.arrays import Tensor, torch
from fechner.errors import FechnerError, ObserverError, UnknownNameError, nearest

#: All classes that a classifier knows, or those that are shown.
Among = Literal["own", "shown"]

#: Categories that come with the package, and their files.
_BUILT_IN = {"16-class": "categories_16.csv"}

#: Scores whose rows add up to 1 within this are probabilities already.
_ROUNDING = 1e-3


@cache
def imagenet() -> tuple[tuple[str, str], ...]:
    """Return synset and name of the 1,000 classes of ImageNet, in their usual order.

    Examples
    --------
    >>> imagenet()[281]
    ('n02123045', 'tabby')
    """
    return tuple((synset, names[0]) for synset, names in _synsets().items())


@cache
def _synsets() -> dict[str, tuple[str, ...]]:
    """Return all names of each of ImageNet's synsets."""
    rows = _rows(_data("imagenet_classes.csv"))
    return {row["synset"]: tuple(name.strip() for name in row["names"].split(",")) for row in rows}


def _data(file: str) -> str:
    return (resources.files("fechner.observers") / "data" / file).read_text("utf-8")


def _rows(text: str) -> csv.DictReader[str]:
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return csv.DictReader(lines)


@cache
def _synsets_by_name(whole: bool) -> dict[str, list[str]]:
    """Return the synsets that have a name, or whose names are those, with commas between them."""
    found: dict[str, list[str]] = defaultdict(list)
    for synset, names in _synsets().items():
        for name in {plain_name(name) for name in ([", ".join(names)] if whole else names)}:
            found[name].append(synset)
    return dict(found)


def class_names(count: int) -> tuple[str, ...]:
    """Return a name for each class: ImageNet's synsets where there are 1,000, else numbers.

    Examples
    --------
    >>> class_names(2)
    ('0', '1')
    """
    if count == len(imagenet()):
        return tuple(synset for synset, _ in imagenet())
    return tuple(str(number) for number in range(count))


def readable_names(labels: Sequence[str]) -> tuple[str, ...]:
    """Return names for people, no two the same: synsets by their words, no underscores.

    Examples
    --------
    >>> readable_names(["n01440764", "n02102040", "garbage_truck"])
    ('tench', 'English springer', 'garbage truck')
    >>> readable_names(["n02012849", "n03126707"])  # the bird and the machine
    ('crane (n02012849)', 'crane (n03126707)')
    """
    names = [_synsets().get(label, (label.replace("_", " ").strip(),)) for label in labels]
    found = [each[0] for each in names]
    every = [", ".join(each) for each in names]
    exact = [f"{name} ({label})" for name, label in zip(found, labels, strict=True)]
    for longer in (every, exact):
        times = Counter(map(plain_name, found))
        found = [
            long if times[plain_name(name)] > 1 else name
            for name, long in zip(found, longer, strict=True)
        ]
    return tuple(found)


def synsets_of_numbers(labels: Sequence[str]) -> tuple[str, ...]:
    """Return synsets for labels that are all places among ImageNet's classes; others as they are.

    Examples
    --------
    >>> synsets_of_numbers(["0", "281"]), synsets_of_numbers(["000", "cat"])
    (('n01440764', 'n02123045'), ('000', 'cat'))
    """
    places = _numbers(labels)
    if not places or max(places) >= len(imagenet()):
        return tuple(labels)
    return tuple(imagenet()[place][0] for place in places)


def matching_classes(own: Sequence[str], asked: Sequence[str]) -> tuple[int, ...]:
    """Return which of an observer's own classes stands for each that is asked about.

    Classes are the same if their names are, if they are the same synset of ImageNet, or if one is
    a name of it; names that several classes have stand for none. Where all that are asked about
    are numbers, they are the observer's own numbers, or else places among ImageNet's classes.

    Examples
    --------
    >>> matching_classes(["n02979186", "n01440764", "n03888257"], ["tench", "parachute"])
    (1, 2)
    >>> matching_classes(class_names(1000), ["000", "281"])
    (0, 281)
    """
    if not set(asked) <= set(own):
        asked = _named_as(own, asked)
    # Places of the observer's classes by exact name, by plain name and by synset, where unique.
    lookups = []
    for column in zip(*map(_ways_to_name, own), strict=True):
        times = Counter(column)
        lookups.append({key: place for place, key in enumerate(column) if times[key] == 1 and key})
    places = []
    for label in asked:
        named = zip(lookups, _ways_to_name(label), strict=False)
        places.append(next((known[key] for known, key in named if key in known), -1))
    missing = [label for label, place in zip(asked, places, strict=True) if place < 0]
    if missing:
        # Among a thousand names there is always one that is half alike.
        names = {each for label in own for each in (label, *_synsets().get(label, ()))}
        near = nearest(missing[0].replace("_", " "), names, alike=0.7)
        hint = f" (did you mean '{near}'?)" if near else ""
        raise ObserverError(
            f"it has no class for {_listed(missing)}{hint}; name classes as it does, such as "
            f"'{own[0] if own else ''}', or by their ImageNet synset, or all by their numbers."
        )
    twice = [label for label, place in zip(asked, places, strict=True) if places.count(place) > 1]
    if twice:
        both = " and ".join(map(repr, twice))
        raise ObserverError(f"it has one class for {both}; make them one.")
    return tuple(places)


def _ways_to_name(name: str) -> tuple[str, str, str]:
    return name, plain_name(name), synset_of(name)


def _named_as(own: Sequence[str], asked: Sequence[str]) -> Sequence[str]:
    """Return numbers as an observer writes them, or as synsets where it has those."""
    numbers, places = _numbers(own), _numbers(asked)
    if places and numbers:
        written = dict(zip(numbers, own, strict=True))
        return [written.get(place, label) for place, label in zip(places, asked, strict=True)]
    synsets = synsets_of_numbers(asked)
    return synsets if places and set(map(synset_of, own)).issuperset(synsets) else asked


def _numbers(labels: Sequence[str]) -> list[int]:
    """Return labels as numbers if all of them are, else nothing."""
    if not all(label.isascii() and label.isdecimal() for label in labels):
        return []
    return [int(label) for label in labels]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(f"'{name}'" for name in names[:5]) + more


def synset_of(name: str) -> str:
    """Return the synset that a name is, or the only one that it is a name of; else nothing."""
    if name in _synsets():
        return name
    for whole in (True, False):
        found = _synsets_by_name(whole).get(plain_name(name), [])
        if len(found) == 1:
            return found[0]
    return ""


def plain_name(name: str) -> str:
    """Return a name as it is compared: without underscores, hyphens and capitals.

    Examples
    --------
    >>> plain_name("English_Springer")
    'english springer'
    """
    return " ".join(name.replace("_", " ").replace("-", " ").split()).casefold()


@dataclass(frozen=True)
class Categories:
    """A map of classes to categories: each with its ImageNet synsets, or names.

    ``reference`` is a key in the bibliography; empty for a user's own.
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

    def indices(self, own: Sequence[str]) -> dict[str, list[int]]:
        """Return which of an observer's own classes belong to each category; each needs one.

        Examples
        --------
        >>> categories("16-class").indices(class_names(1000))["bicycle"]
        [444, 671]
        """
        found: dict[str, list[int]] = {category: [] for category in self.names}
        for place, category in enumerate(self.categories_of(own)):
            found.get(category, []).append(place)
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


@cache
def _built_in(name: str) -> Categories:
    return Categories(name, _members(_data(_BUILT_IN[name]), name), "geirhos2018")


def categories(name: Path | str) -> Categories:
    """Return categories that come with the package, or a user's own in a CSV file.

    ``"16-class"`` are the basic categories of Geirhos et al. (2018), 207 classes of ImageNet.

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
    reader = _rows(text)
    if not set(reader.fieldnames or ()) >= {"class", "category"}:
        raise FechnerError(f"{source} needs the columns class and category in its first line.")
    category_of: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for number, row in enumerate(reader, 1):
        label, category = ((row[column] or "").strip() for column in ("class", "category"))
        if not label or not category:
            raise FechnerError(f"class {number} of {source} has no name or no category.")
        for key in _keys(label):
            if category_of.setdefault(key, category) != category:
                both = f"{category_of[key]} and into {category}"
                raise FechnerError(f"{source} puts {label} into {both}; choose one.")
        if label not in found.setdefault(category, []):
            found[category].append(label)
    if len(found) < 2:
        raise FechnerError(f"{source} has fewer than two categories to choose between.")
    return tuple((category, tuple(found[category])) for category in sorted(found))


def _keys(label: str) -> tuple[str, ...]:
    """Return what a class may be looked up by: its synset, or its name."""
    return tuple(filter(None, (synset_of(label), plain_name(label))))


@dataclass(frozen=True)
class Choices:
    """Choices, and which of them is right for each class that is shown.

    ``groups`` are the places of a classifier's own classes that make up each choice; None where its
    own classes are the choices, or where it is asked in words.
    """

    names: tuple[str, ...]
    expected: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def chance(self) -> float:
        """Share that guessing gets right."""
        return 1 / len(self.names)

    def probabilities(self, scores: Tensor) -> Tensor:
        """Return how probable each choice is, [.., choices], by scores of a classifier's classes.

        A category is as probable as its classes are on average, as in Geirhos et al. (2018).

        Examples
        --------
        >>> import torch
        >>> two = Choices(("cat", "dog"), (0, 1), groups=((0, 2), (1,)))
        >>> [round(p, 3) for p in two.probabilities(torch.tensor([0.0, 1.0, 1.0])).tolist()]
        [0.406, 0.594]
        """
        shares, groups = scores.double(), self.groups
        only_one = groups is not None and all(len(group) == 1 for group in groups)
        if groups is not None and only_one:
            # Nothing else can be chosen, so nothing else takes a share.
            shares = shares[..., [group[0] for group in groups]]
        total = shares.sum(dim=-1)
        if not ((shares >= 0).all() and ((total - 1).abs() < _ROUNDING).all()):
            shares = shares.softmax(dim=-1)
        if groups is None or only_one:
            return shares
        means = torch.stack([shares[..., list(group)].mean(dim=-1) for group in groups], -1)
        return means / means.sum(dim=-1, keepdim=True)


def choices_for(
    own: Sequence[str] | None,
    shown: Sequence[str],
    among: Among = "own",
    categories: Categories | None = None,
) -> Choices:
    """Return what an observer chooses from.

    Parameters
    ----------
    own
        Names of all classes that a classifier knows; None for an observer that reads words and
        chooses among what is shown.
    categories
        Groups of classes to choose among instead.

    Examples
    --------
    >>> choices_for(["n02123045", "n01440764", "n03888257"], ["parachute", "tench"]).expected
    (2, 1)
    """
    if categories is not None:
        wanted = categories.categories_of(shown)
        if lost := [label for label, name in zip(shown, wanted, strict=True) if not name]:
            raise ObserverError(
                f"{_listed(lost)} belong to no category of '{categories.name}'; leave them out."
            )
        names = tuple(dict.fromkeys(wanted)) if own is None else categories.names
        groups = None if own is None else tuple(map(tuple, categories.indices(own).values()))
        return Choices(names, tuple(names.index(name) for name in wanted), groups)
    if own is None:
        return Choices(tuple(shown), tuple(range(len(shown))))
    places = matching_classes(own, shown)
    if among == "own":
        return Choices(tuple(own), places)
    return Choices(tuple(shown), tuple(range(len(shown))), tuple((place,) for place in places))

"""Names of the classes that classifiers were trained on."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources

from fechner.errors import ObserverError, nearest


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
    text = (resources.files("fechner.observers") / "data/imagenet_classes.csv").read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["synset"]: tuple(name.strip() for name in row["names"].split(",")) for row in rows}


@cache
def _synsets_by_name(whole: bool) -> dict[str, tuple[str, ...]]:
    """Return the synsets that have a name, or whose names are those, with commas between them."""
    found: dict[str, tuple[str, ...]] = {}
    for synset, names in _synsets().items():
        for name in {plain_name(name) for name in ([", ".join(names)] if whole else names)}:
            found[name] = (*found.get(name, ()), synset)
    return found


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
    every = [", ".join(each) for each in names]
    exact = [f"{each[0]} ({label})" for each, label in zip(names, labels, strict=True)]
    found = [each[0] for each in names]
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
    exact, plain, synsets = (_places(own, how) for how in (_as_it_is, _one_plain, synsets_of))
    found, missing = [], []
    for label in asked:
        candidates = (
            exact.get(label, []),
            plain.get(plain_name(label), []),
            [place for synset in synsets_of(label) for place in synsets.get(synset, [])],
        )
        unique = next((each[0] for each in candidates if len(set(each)) == 1), None)
        if unique is None:
            missing.append(label)
        else:
            found.append(unique)
    if missing:
        names = ", ".join(f"'{name}'{_suggestion(name, own)}" for name in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise ObserverError(
            f"it has no class for {names}{more}; name classes as it does, such as "
            f"'{own[0] if own else ''}', or by their ImageNet synset"
            + ("; numbers are known only where all are." if _numbers(missing) else ".")
        )
    twice = [label for label, place in zip(asked, found, strict=True) if found.count(place) > 1]
    if twice:
        raise ObserverError(
            f"it has one class for {' and '.join(repr(name) for name in twice)}; make them one."
        )
    return tuple(found)


def _named_as(own: Sequence[str], asked: Sequence[str]) -> Sequence[str]:
    """Return numbers as an observer writes them, or as synsets where it has those."""
    numbers, places = _numbers(own), _numbers(asked)
    if places and numbers:
        written = dict(zip(numbers, own, strict=True))
        return [written.get(place, label) for place, label in zip(places, asked, strict=True)]
    synsets = synsets_of_numbers(asked)
    has = {synset for name in own for synset in synsets_of(name)} if places else set()
    return synsets if has.issuperset(synsets) else asked


def _numbers(labels: Sequence[str]) -> list[int]:
    """Return labels as numbers if all of them are, else nothing."""
    if not all(label.isascii() and label.isdecimal() for label in labels):
        return []
    return [int(label) for label in labels]


def _suggestion(name: str, own: Sequence[str]) -> str:
    """Return which of an observer's classes may be meant, empty if none is spelt alike."""
    several = [each for each in _synsets_by_name(False).get(plain_name(name), ()) if each in own]
    if len(several) > 1:
        return f" (did you mean {' or '.join(several)}?)"
    known = {each for label in own for each in (label, *_synsets().get(label, ()))}
    # Among a thousand names there is always one that is half alike.
    near = nearest(name.replace("_", " "), known, alike=0.7)
    return f" (did you mean '{near}'?)" if near else ""


def _places(names: Sequence[str], keys: Callable[[str], Sequence[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        for key in keys(name):
            found.setdefault(key, []).append(place)
    return found


def _as_it_is(name: str) -> tuple[str, ...]:
    return (name,)


def _one_plain(name: str) -> tuple[str, ...]:
    return (plain_name(name),)


def synsets_of(name: str) -> tuple[str, ...]:
    """Return the synset that a name is, or the only one that it is a name of."""
    if name in _synsets():
        return (name,)
    for whole in (True, False):
        found = _synsets_by_name(whole).get(plain_name(name), ())
        if len(found) == 1:
            return found
    return ()


def plain_name(name: str) -> str:
    """Return a name as it is compared: without underscores, hyphens and capitals.

    Examples
    --------
    >>> plain_name("English_Springer")
    'english springer'
    """
    return " ".join(name.replace("_", " ").replace("-", " ").split()).casefold()

"""Parts of picture sets: so many pictures of each class, or some of the classes."""

from __future__ import annotations

import hashlib
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from fechner.errors import FechnerError
from fechner.stimuli.picture_sets.base import PictureSet
from fechner.stimuli.pictures import Picture

#: Classes of which the choice is remembered.
_KEPT = 1024


@dataclass(frozen=True, eq=False, repr=False)
class Part(PictureSet):
    """A part of a larger set.

    Parameters
    ----------
    of
        The whole set.
    """

    of: PictureSet | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self._of.kind)

    @property
    def _of(self) -> PictureSet:
        if self.of is None:
            raise ValueError("a part is a part of a set")
        return self.of

    @abstractmethod
    def _there(self, label: int, index: int) -> tuple[int, int]:
        """Return class and place of a picture in the whole set."""

    @classmethod
    @abstractmethod
    def known_part(cls, plain: dict[str, Any], of: PictureSet) -> PictureSet:
        """Return the part of a set from its plain values."""

    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of the whole set."""
        self._check(label, index)
        return self._of.picture(*self._there(label, index))

    def shown(self, label: int, index: int) -> Picture:
        """Return the picture that curves are measured with."""
        self._check(label, index)
        return self._of.shown(*self._there(label, index))

    def name(self, label: int, index: int) -> str:
        """Return what the whole set calls it."""
        self._check(label, index)
        return self._of.name(*self._there(label, index))

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values."""
        return {**super().plain(), "of": self._of.plain()}


@dataclass(frozen=True, eq=False, repr=False)
class SomePictures(Part):
    """So many pictures of each class, by a seed and the name of the class.

    Parameters
    ----------
    per_class
        At most so many of each class.
    seed
        Which: another class or another place changes nothing.
    """

    per_class: int = field(default=1, compare=False)
    seed: int = field(default=0, compare=False)

    def _there(self, label: int, index: int) -> tuple[int, int]:
        count = self._of.counts[label]
        return label, _drawn(self.seed, self.classes[label], count, self.counts[label])[index]

    @classmethod
    def known_part(cls, plain: dict[str, Any], of: PictureSet) -> PictureSet:
        """Return the part of a set from its plain values."""
        return some_of(of, plain["per_class"], plain["seed"])

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values."""
        return {**super().plain(), "per_class": self.per_class, "seed": self.seed}


@lru_cache(maxsize=_KEPT)
def _drawn(seed: int, label: str, count: int, some: int) -> tuple[int, ...]:
    """Return which pictures of a class are chosen, in order; more are a superset."""
    generator = np.random.default_rng((seed, zlib.crc32(label.encode("utf-8", "surrogateescape"))))
    return tuple(sorted(generator.permutation(count)[:some].tolist()))


@dataclass(frozen=True, eq=False, repr=False)
class SomeClasses(Part):
    """Some of the classes, with all their pictures.

    Parameters
    ----------
    labels
        Their places in the whole set.
    """

    labels: tuple[int, ...] = field(default=(), compare=False)

    def _there(self, label: int, index: int) -> tuple[int, int]:
        return self.labels[label], index

    @classmethod
    def known_part(cls, plain: dict[str, Any], of: PictureSet) -> PictureSet:
        """Return the part of a set from its plain values."""
        return classes_of(of, plain["classes"])


def some_of(pictures: PictureSet, per_class: int, seed: int = 0) -> PictureSet:
    """Return at most so many pictures of each class."""
    if per_class < 1:
        raise FechnerError(f"there is at least one picture of each class, not {per_class}.")
    if all(count <= per_class for count in pictures.counts):
        return pictures
    return SomePictures(
        _digest(pictures, per_class, seed),
        pictures.classes,
        tuple(min(count, per_class) for count in pictures.counts),
        pictures.place,
        pictures.notes,
        pictures.split,
        of=pictures,
        per_class=per_class,
        seed=seed,
    )


def classes_of(pictures: PictureSet, chosen: Sequence[str]) -> PictureSet:
    """Return the pictures of some classes, in the order of the whole set."""
    labels = [place for place, name in enumerate(pictures.classes) if name in set(chosen)]
    if len(labels) == len(pictures.classes):
        return pictures
    names = tuple(pictures.classes[place] for place in labels)
    return SomeClasses(
        _digest(pictures, *names),
        names,
        tuple(pictures.counts[place] for place in labels),
        pictures.place,
        pictures.notes,
        pictures.split,
        of=pictures,
        labels=tuple(labels),
    )


def _digest(pictures: PictureSet, *how: object) -> str:
    listed = " ".join(map(str, (pictures.digest, *how)))
    return hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()

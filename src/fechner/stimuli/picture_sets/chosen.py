"""Parts of picture sets: some pictures of an album, or so many of each class of a larger set."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np

from fechner.errors import FechnerError
from fechner.stimuli.albums import Album
from fechner.stimuli.photographs import Photograph
from fechner.stimuli.picture_sets.base import PictureSet, class_mark, need_two, set_digest
from fechner.stimuli.pictures import Picture

#: Classes of which the choice is remembered.
_KEPT = 1024


@dataclass(frozen=True, eq=False, repr=False)
class AlbumPictures(PictureSet):
    """The photographs of an album, whose contents are known.

    Parameters
    ----------
    photographs
        Class after class.
    """

    photographs: tuple[Photograph, ...] = field(default=(), compare=False)

    def picture(self, label: int, index: int) -> Picture:
        """Return a photograph of a class."""
        return self._photograph(label, index)

    def name(self, label: int, index: int) -> str:
        """Return the path of a photograph inside its folder."""
        return self._photograph(label, index).name

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values."""
        return {**super().plain(), "photographs": [[p.name, p.sha256] for p in self.photographs]}

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set from its plain values."""
        fields = cls._fields(plain)
        labels = np.repeat(fields["classes"], fields["counts"]).tolist()
        photographs = tuple(
            Photograph(name, label, sha256, place)
            for label, (name, sha256) in zip(labels, plain["photographs"], strict=True)
        )
        return cls(**fields, place=place, photographs=photographs)

    def _photograph(self, label: int, index: int) -> Photograph:
        self._check(label, index)
        return self.photographs[sum(self.counts[:label]) + index]


def of_album(album: Album) -> AlbumPictures:
    """Return the photographs of an album as a set; classes without any are none."""
    by_class: dict[str, list[Photograph]] = {}
    for photograph in album.photographs:
        by_class.setdefault(photograph.label, []).append(photograph)
    classes = sorted(by_class)
    need_two(classes, "the album", "choose pictures of another.")
    marks = [class_mark((each.name, each.sha256) for each in by_class[label]) for label in classes]
    return AlbumPictures(
        set_digest(classes, marks),
        tuple(classes),
        tuple(len(by_class[label]) for label in classes),
        album.folder,
        album.notes,
        photographs=tuple(each for label in classes for each in by_class[label]),
    )


@dataclass(frozen=True, eq=False, repr=False)
class SomePictures(PictureSet):
    """So many pictures of each class of a larger set, by a seed and the name of the class.

    Parameters
    ----------
    of
        The whole set.
    per_class
        At most so many of each class.
    seed
        Which: another class or another place changes nothing.
    """

    of: PictureSet | None = field(default=None, compare=False)
    per_class: int = field(default=1, compare=False)
    seed: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self._of.kind)

    @property
    def _of(self) -> PictureSet:
        if self.of is None:
            raise ValueError("a part is a part of a set")
        return self.of

    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of the whole set."""
        return self._of.picture(label, self._index(label, index))

    def shown(self, label: int, index: int) -> Picture:
        """Return the picture that curves are measured with."""
        return self._of.shown(label, self._index(label, index))

    def name(self, label: int, index: int) -> str:
        """Return what the whole set calls it."""
        return self._of.name(label, self._index(label, index))

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values."""
        own = {"per_class": self.per_class, "seed": self.seed, "of": self._of.plain()}
        return {**super().plain(), **own}

    def _index(self, label: int, index: int) -> int:
        self._check(label, index)
        count = self._of.counts[label]
        return _drawn(self.seed, self.classes[label], count, self.counts[label])[index]


@lru_cache(maxsize=_KEPT)
def _drawn(seed: int, label: str, count: int, some: int) -> tuple[int, ...]:
    """Return which pictures of a class are chosen, in order; more are a superset."""
    generator = np.random.default_rng((seed, zlib.crc32(label.encode("utf-8", "surrogateescape"))))
    return tuple(sorted(generator.permutation(count)[:some].tolist()))


def some_of(pictures: PictureSet, per_class: int, seed: int = 0) -> PictureSet:
    """Return at most so many pictures of each class."""
    if per_class < 1:
        raise FechnerError(f"there is at least one picture of each class, not {per_class}.")
    if all(count <= per_class for count in pictures.counts):
        return pictures
    listed = f"{pictures.digest} {per_class} {seed}".encode()
    return SomePictures(
        hashlib.sha256(listed).hexdigest(),
        pictures.classes,
        tuple(min(count, per_class) for count in pictures.counts),
        pictures.place,
        pictures.notes,
        pictures.split,
        of=pictures,
        per_class=per_class,
        seed=seed,
    )

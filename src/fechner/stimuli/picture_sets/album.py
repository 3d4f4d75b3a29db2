"""The photographs of an album as a set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fechner.stimuli.albums import Album
from fechner.stimuli.photographs import Photograph
from fechner.stimuli.picture_sets.base import PictureSet, class_mark, need_two, set_digest
from fechner.stimuli.pictures import Picture


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

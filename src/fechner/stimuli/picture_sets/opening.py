"""The one door to picture sets: from whatever a user has, and from what a run kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from fechner.errors import FechnerError
from fechner.stimuli.albums import Album
from fechner.stimuli.listing import SUFFIXES
from fechner.stimuli.picture_sets.album import of_album
from fechner.stimuli.picture_sets.base import Missing, PictureSet
from fechner.stimuli.picture_sets.conditions import open_experiments
from fechner.stimuli.picture_sets.folders import FolderPictures, open_folder
from fechner.stimuli.picture_sets.given import open_sequence
from fechner.stimuli.picture_sets.lists import open_list
from fechner.stimuli.picture_sets.parts import Part, SomeClasses, SomePictures, some_of
from fechner.stimuli.picture_sets.spooled import open_iterator
from fechner.stimuli.pictures import Picture

#: Sets that a run may have kept, and where they are; a new one is a line.
_KNOWN = {
    "AlbumPictures": "fechner.stimuli.picture_sets.album",
    "ExperimentPictures": "fechner.stimuli.picture_sets.conditions",
    "FolderPictures": "fechner.stimuli.picture_sets.folders",
    "GivenPictures": "fechner.stimuli.picture_sets.given",
    "ListPictures": "fechner.stimuli.picture_sets.lists",
    "NoPictures": "fechner.stimuli.picture_sets.opening",
    "ObjectSet": "fechner.stimuli.objects.sets",
    "SpooledPictures": "fechner.stimuli.picture_sets.spooled",
    "VirtualPictures": "fechner.stimuli.picture_sets.virtual",
}

#: Those that are a part of another one.
_PARTS: dict[str, type[Part]] = {each.__name__: each for each in (SomeClasses, SomePictures)}

_HOW = (
    "give a folder with one folder of pictures for each class, a CSV file with the columns path "
    "and class, or pairs of a picture and its class"
)


@dataclass(frozen=True, eq=False, repr=False)
class NoPictures(PictureSet):
    """A set without pictures, for lists of tests before anybody gives some."""

    def picture(self, label: int, index: int) -> Picture:
        """Return nothing to show."""
        return Missing("there are no pictures yet: give --images FOLDER.")

    def name(self, label: int, index: int) -> str:
        """Return that there is none."""
        return "no picture"


#: The set without pictures.
NO_PICTURES = NoPictures(hashlib.sha256(b"").hexdigest(), (), ())


def open_pictures(
    images: Any, *, per_class: int | None = None, seed: int = 0, spool: Path | None = None
) -> PictureSet:
    """Open a set of pictures in classes, of any size; nothing is decoded but what is given so.

    Parameters
    ----------
    images
        A folder with one folder for each class, as ImageNet's or Imagenette's ``train`` or
        ``val``; experiments as model-vs-human has them; a CSV file with the columns ``path`` (from
        its own folder on) and ``class``; an `Album`; a sequence of pairs of a picture and its
        class, such as a data set of torchvision; an iterator of such pairs, which are written to
        disk as they come; or a set itself.
        A picture is an image of Pillow, an array [h, w, 3], a tensor [3, h, w] or a path.
    per_class, seed
        At most so many of each class, drawn by the seed and the name of the class.
    spool
        Folder for the pictures of an iterator; None is a temporary one.
    """
    found = _opened(images, spool)
    return found if per_class is None else some_of(found, per_class, seed)


def known_pictures(plain: dict[str, Any], place: str) -> PictureSet:
    """Return a set from its plain values, as a run keeps them.

    Its pictures need not be there any more, as long as nobody has to see them.

    Parameters
    ----------
    plain
        What its `plain` returned.
    place
        Where its pictures were; empty if that is not known.
    """
    name = plain["set"]
    if name in _PARTS:
        part = _PARTS[name].known_part(plain, known_pictures(plain["of"], place))
        return replace(part, notes=tuple(plain["notes"]))
    if name not in _KNOWN:
        raise FechnerError(
            f"pictures of the kind '{name}' are not known to this version of fechner."
        )
    kind: type[PictureSet] = getattr(import_module(_KNOWN[name]), name)
    return kind.known(plain, place)


def _opened(images: Any, spool: Path | None) -> PictureSet:
    if isinstance(images, PictureSet):
        return images
    if isinstance(images, Album):
        return of_album(images)
    if isinstance(images, str | Path):
        return _at(Path(images).expanduser())
    if not isinstance(images, bytes | Mapping):
        if hasattr(images, "__len__") and hasattr(images, "__getitem__"):
            return open_sequence(images)
        if isinstance(images, Iterable):
            return open_iterator(images, spool)
    raise FechnerError(f"a {type(images).__name__} is no set of pictures; {_HOW}.")


def _at(place: Path) -> PictureSet:
    if place.is_dir():
        return open_experiments(place) or open_folder(place, FolderPictures)
    if not place.is_file():
        raise FechnerError(f"there is no {place}; {_HOW}.")
    if place.suffix.lower() in SUFFIXES:
        raise FechnerError(f"{place} is a single picture; {_HOW}.")
    return open_list(place)

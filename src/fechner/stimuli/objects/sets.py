"""Sets of objects: random views of meshes in classes, as a set of pictures."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from fechner.errors import FechnerError
from fechner.stimuli.listing import listed, rows
from fechner.stimuli.objects.mesh_files import SUFFIXES, hash_mesh, lacking
from fechner.stimuli.objects.views import SAMPLES, SCALES, STUDIO, View, random_view
from fechner.stimuli.picture_sets.base import Missing, PictureSet, need_two
from fechner.stimuli.pictures import Picture

#: Name of a list inside a folder, which `fechner objects` writes.
LIST = "objects.csv"

#: Random views of each class, unless others are asked for.
VIEWS = 1000

_HOW = (
    "give a folder with one folder of meshes (OBJ, PLY, GLB) for each class, a CSV file with the "
    "columns path and class, or get some objects with: fechner objects FOLDER"
)


@dataclass(frozen=True, eq=False, repr=False)
class ObjectSet(PictureSet):
    """Random views of 3D objects, in classes.

    Views are searched with the rasteriser (`picture`) and measured with Mitsuba (`shown`). If a
    class has several objects, its views are of one after the other in turn.

    Parameters
    ----------
    objects
        Of each class, (path of the mesh, sha256) of each object.
    seed
        Of the random views.
    """

    objects: tuple[tuple[tuple[str, str], ...], ...] = field(default=(), compare=False)
    seed: int = field(default=0, compare=False)

    kind: ClassVar[str] = "objects"
    fitted: ClassVar[str] = "At scale 1 an object fits the field, however it is turned."

    def picture(self, label: int, index: int) -> Picture:
        """Return a view as the rasteriser draws it."""
        self._check(label, index)
        if not self.place:
            return Missing(f"nobody knows where the objects of {self.classes[label]} are.")
        return self._view(label, index)

    def shown(self, label: int, index: int) -> Picture:
        """Return the same view as Mitsuba renders it."""
        found = self.picture(label, index)
        return found.seen(engine="mitsuba") if isinstance(found, View) else found

    def name(self, label: int, index: int) -> str:
        """Return the name of the mesh and how it is turned."""
        self._check(label, index)
        return str(self._view(label, index))

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as JSON values."""
        objects = [[list(each) for each in some] for some in self.objects]
        return {**super().plain(), "objects": objects, "seed": self.seed}

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set from its plain values."""
        objects = tuple(tuple((name, mark) for name, mark in some) for some in plain["objects"])
        return cls(**cls._fields(plain), place=place, objects=objects, seed=plain["seed"])

    def _view(self, label: int, index: int) -> View:
        some = self.objects[label]
        name, sha256 = some[index % len(some)]
        return random_view(View(name, sha256, folder=self.place), self.seed, index // len(some))


def open_objects(folder: Path | str, views: int = VIEWS, seed: int = 0) -> ObjectSet:
    """List meshes in classes; none is read, but their content is hashed.

    Parameters
    ----------
    folder
        With one folder for each class, in which there are meshes or folders of a mesh each; or a
        CSV file with the columns ``path`` (from its own folder on) and ``class``. A folder with
        such a file in it, named ``objects.csv``, is taken as that says.
    views
        Random views of each class.
    seed
        Of the views.
    """
    place = Path(folder).expanduser().absolute()
    if views < 1:
        raise FechnerError(f"an object is seen from at least one side, not {views}.")
    if place.is_dir() and (place / LIST).is_file():
        place = place / LIST
    if place.is_dir():
        found, notes = _in_folder(place)
    elif place.is_file():
        found, notes = _in_list(place), []
        place = place.parent
    else:
        raise FechnerError(f"there is no {place}; {_HOW}.")
    need_two(list(found), str(folder), f"{_HOW}.")
    classes = tuple(sorted(found))
    names = [sorted(set(found[label])) for label in classes]
    objects = tuple(tuple((name, hash_mesh(place / name)) for name in some) for some in names)
    for some in names:
        notes += [sentence for name in some for sentence in lacking(place / name, name)]
    return ObjectSet(
        _digest(classes, objects, views, seed),
        classes,
        (views,) * len(classes),
        str(place),
        tuple(notes),
        objects=objects,
        seed=seed,
    )


def _in_folder(folder: Path) -> tuple[dict[str, list[str]], list[str]]:
    found: dict[str, list[str]] = {}
    notes = []
    try:
        for label in listed(folder).folders:
            inside = listed(folder / label)
            paths = [f"{label}/{name}" for name in inside.files]
            for own in inside.folders:
                paths += [f"{label}/{own}/{name}" for name in listed(folder / label / own).files]
            meshes = [path for path in paths if path.lower().endswith(SUFFIXES)]
            if meshes:
                found[label] = meshes
            else:
                notes.append(f"{label} has no meshes and is no class.")
    except OSError as error:
        raise FechnerError(f"{folder} cannot be looked into: {error.strerror}.") from None
    return found, notes


def _in_list(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows(path):
        found.setdefault(row.label, []).append(row.name)
    return found


def _digest(
    classes: tuple[str, ...],
    objects: tuple[tuple[tuple[str, str], ...], ...],
    views: int,
    seed: int,
) -> str:
    """Hash all that views depend on."""
    content = (classes, objects, views, seed, SCALES, SAMPLES, STUDIO)
    return hashlib.sha256(repr(content).encode()).hexdigest()

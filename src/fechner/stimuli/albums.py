"""Albums: which photographs of a folder, or of a list, are shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from fechner.errors import FechnerError
from fechner.stimuli.listing import SUFFIXES, entries, files, rows, shuffled
from fechner.stimuli.photographs import Photograph, hash_content


@dataclass(frozen=True)
class Album:
    """Photographs to show, and the classes to choose from.

    Parameters
    ----------
    classes
        All that there are, sorted, as the folder or the list names them.
    photographs
        Those that were chosen, by class and name.
    notes
        What was left out, in sentences.
    """

    classes: tuple[str, ...]
    photographs: tuple[Photograph, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.photographs)

    @property
    def labels(self) -> tuple[int, ...]:
        """The place of each photograph's class."""
        places = {name: place for place, name in enumerate(self.classes)}
        return tuple(places[each.label] for each in self.photographs)

    @property
    def folder(self) -> str:
        """Where its files are."""
        return self.photographs[0].place if self.photographs else ""

    @classmethod
    def known(cls, plain: dict[str, Any], folder: str) -> Album:
        """Return an album from its own fields as plain values, as a run keeps them.

        Its pictures need not be there any more, as long as nobody has to see them.
        """
        photographs = tuple(
            Photograph(each["name"], each["label"], each["sha256"], folder)
            for each in plain["photographs"]
        )
        return cls(tuple(plain["classes"]), photographs, tuple(plain["notes"]))


def open_album(
    images: Path | str, *, per_class: int | None = None, most: int | None = None, seed: int = 0
) -> Album:
    """List a folder with one folder for each class, or a CSV file; choose among its pictures.

    Nothing is decoded. Which pictures are chosen depends on their names and the seed alone.

    Parameters
    ----------
    images
        A folder as ImageNet's or Imagenette's ``train`` or ``val``; or a CSV file with the columns
        ``path`` (from its own folder on) and ``class``.
    per_class, most
        At most so many of each class, and altogether, as evenly over classes as can be.
    """
    place = Path(images)
    if place.is_dir():
        return _of_folder(place, per_class, most, seed)
    if place.is_file():
        return _of_list(place, per_class, most, seed)
    raise FechnerError(
        f"there is no {place}; give a folder with one folder of pictures for each class, or a CSV "
        "file with the columns path and class."
    )


def _of_folder(folder: Path, per_class: int | None, most: int | None, seed: int) -> Album:
    names: dict[str, list[str]] = {}
    notes = []
    for label in entries(folder, folders=True):
        found = entries(folder / label, folders=False)
        pictures = [name for name in found if name.lower().endswith(SUFFIXES)]
        if not pictures:
            notes.append(f"{label} has no pictures and is no class.")
            continue
        if others := len(found) - len(pictures):
            notes.append(f"{label} has {files(others)} not named as pictures are.")
        # Of each class only what may be chosen is kept in memory.
        drawn = shuffled(pictures, seed, label)
        names[label] = drawn if per_class is None else drawn[:per_class]
    if len(names) < 2:
        inside = next((each for each in ("val", "train") if (folder / each).is_dir()), None)
        hint = f"; did you mean {folder / inside}?" if inside else "."
        raise FechnerError(
            f"{folder} has {len(names)} folders of pictures, and two are needed: give a folder "
            f"with one folder of pictures for each class, named after it{hint}"
        )
    chosen = _chosen(names, most, seed)
    photographs = tuple(
        Photograph(
            f"{label}/{name}", label, hash_content(folder / label / name), str(folder.absolute())
        )
        for label, name in chosen
    )
    return Album(tuple(sorted(names)), photographs, tuple(notes))


def _of_list(path: Path, per_class: int | None, most: int | None, seed: int) -> Album:
    names: dict[str, list[str]] = {}
    for row in rows(path):
        names.setdefault(row.label, []).append(row.name)
    if len(names) < 2:
        raise FechnerError(f"{path} has pictures of {len(names)} classes, and two are needed.")
    drawn = {
        label: shuffled(sorted(set(listed)), seed, label)[:per_class]
        for label, listed in names.items()
    }
    folder = path.absolute().parent
    photographs = tuple(
        Photograph(name, label, hash_content(folder / name), str(folder))
        for label, name in _chosen(drawn, most, seed)
    )
    return Album(tuple(sorted(names)), photographs)


def _chosen(names: dict[str, list[str]], most: int | None, seed: int) -> list[tuple[str, str]]:
    """Take one picture of each class after the other until there are enough; sort them."""
    order = shuffled(sorted(names), seed, "")
    longest = max(map(len, names.values()))
    rounds = (
        (label, names[label][turn])
        for turn in range(longest)
        for label in order
        if turn < len(names[label])
    )
    every = list(rounds) if most is None else list(islice(rounds, most))
    return sorted(every)

"""Pictures in conditions, as the data sets of model-vs-human have them (Geirhos et al. 2021).

An experiment is a folder: ``NAME/dnn/session-1/0001_cop_dnn_c50_dog_10_n02085936_5.png``, where the
name of a file holds condition and category, or ``NAME/dog/dog1-cat2.png`` for those of its
experiments that have no conditions. A folder of such folders is a set of experiments.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from fechner.stimuli.picture_files import FileSet, as_text, closed, files_of, list_folder
from fechner.stimuli.picture_sets import PictureSet, class_mark, first_names, need_two, set_digest
from fechner.stimuli.pictures import SUFFIXES, Picture

#: The condition of pictures that have none.
ONLY = "0"

_SYNSET = re.compile(r"n\d{8}")
#: Shape and texture: ``dog10-bird2``.
_CONFLICT = re.compile(r"([a-z]+)\d+-([a-z]+)\d+")
#: Number, experiment, person or network, condition, category, and at least one more.
_PARTS = 6


class PictureName(NamedTuple):
    """What the name of a picture tells.

    ``image`` is the same for the same picture in everybody's files; ``texture`` is the category of
    its texture, where that is another cue than its shape, or empty.
    """

    condition: str
    category: str
    image: str
    texture: str


def picture_name(name: str, category: str = "") -> PictureName | None:
    """Read condition, category and picture from the name of a file, None if it has none.

    Parameters
    ----------
    category
        Of pictures in a folder named after it.

    Examples
    --------
    >>> picture_name("0002_nse_s01_0.90_knife_10_n03041632_82878.png")
    PictureName(condition='0.9', category='knife', image='n03041632_82878', texture='')
    >>> picture_name("0002_s5n_s01_0_bird_00_bird2-clock3.png").texture
    'clock'
    >>> picture_name("bird2-clock3.png", "bird").image
    'bird2-clock3'
    """
    stem = Path(name).name
    stem = stem[: -len(Path(stem).suffix)] if Path(stem).suffix.lower() in SUFFIXES else stem
    parts = stem.split("_")
    condition = ONLY
    if len(parts) >= _PARTS and parts[0].isdecimal():
        condition, category = condition_name(parts[3]), parts[4]
    if not category:
        return None
    has_synset = len(parts) > 1 and _SYNSET.fullmatch(parts[-2])
    image = "_".join(parts[-2:]) if has_synset else parts[-1]
    found = _CONFLICT.fullmatch(image)
    return PictureName(condition, category, image, found[2] if found else "")


def condition_name(text: str) -> str:
    """Return a condition in one spelling; numbers are written in several.

    Examples
    --------
    >>> [condition_name(text) for text in ("c05", "0.90", "3.0", "inf", "")]
    ['c05', '0.9', '3', 'inf', '0']
    """
    try:
        value = float(text or ONLY)
    except ValueError:
        return text
    return ONLY if value != value else f"{value:g}"


class KnownExperiment(NamedTuple):
    """What varies in an experiment of Geirhos et al. (2021), in the order of its figures.

    Those that are left out do not enter the benchmark.
    """

    axis: str = "condition"
    conditions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@cache
def _known() -> dict[str, Any]:
    place = resources.files("fechner.stimuli") / "model_vs_human.toml"
    return tomllib.loads(place.read_text("utf-8"))


def known_categories() -> tuple[str, ...]:
    """Return the 16 categories of model-vs-human."""
    return tuple(_known()["categories"])


def known_experiment(name: str) -> KnownExperiment:
    """Return what is known of an experiment; of others, nothing is left out.

    Examples
    --------
    >>> known_experiment("colour").left_out, known_experiment("mine").left_out
    (('cr',), ())
    """
    found = _known()["experiments"].get(name, {})
    return KnownExperiment(
        found.get("axis", "condition"),
        tuple(found.get("conditions", ())),
        tuple(found.get("left_out", ())),
    )


@dataclass(frozen=True, eq=False, repr=False)
class ConditionPictures(FileSet):
    """The pictures of an experiment; classes are its categories."""

    experiment: str = field(default="", compare=False)
    conditions: tuple[str, ...] = field(default=(), compare=False)

    kept: ClassVar[tuple[str, ...]] = ("marks", "experiment", "conditions")

    @staticmethod
    def list_class(place: str, label: str) -> tuple[Path, str, Mapping[str, int]]:
        """Return the files of a category."""
        folder = Path(place)
        return folder, f"{folder.name}/", _listed(place)[0].get(label, {})

    def described(self, label: int, index: int) -> PictureName:
        """Return condition, category and picture; an error where the files are gone."""
        names = files_of(*self._class(label))[2]
        found = picture_name(names[index], self.classes[label])
        assert found is not None  # it is listed by its category
        return found


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentPictures(PictureSet):
    """The pictures of several experiments, one after the other within each class."""

    parts: tuple[ConditionPictures, ...] = field(default=(), compare=False)

    @property
    def experiments(self) -> tuple[ConditionPictures, ...]:
        """The experiments."""
        return self.parts

    def _picture(self, label: int, index: int) -> Picture:
        for part in self.parts:
            if self.classes[label] in part.classes:
                own = part.classes.index(self.classes[label])
                if index < part.counts[own]:
                    return part.picture(own, index)
                index -= part.counts[own]
        raise IndexError(index)

    def plain(self) -> dict[str, Any]:
        """Return what is known of it as plain values."""
        own = [[str(Path(part.place).relative_to(self.place)), part.plain()] for part in self.parts]
        return {**super().plain(), "parts": own}

    @classmethod
    def known(cls, plain: dict[str, Any], place: str) -> Self:
        """Return a set from its plain values."""
        parts = tuple(
            ConditionPictures.known(own, str(Path(place, under)) if place else "")
            for under, own in plain["parts"]
        )
        return replace(super().known(plain, place), parts=parts)


def open_experiments(folder: Path) -> ExperimentPictures | None:
    """List the experiments in a folder, or the one that it is; None if there is none."""
    folder = folder.absolute()
    try:
        inside = [folder / name for name in list_folder(folder, ()).folders]
    except OSError as error:
        raise closed(folder, error) from None
    places = (
        [folder] if _is_experiment(folder) else [each for each in inside if _is_experiment(each)]
    )
    if not places:
        return None
    parts = [_opened(each) for each in places]
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(dict(zip(part.classes, part.counts, strict=True)))
    classes = tuple(sorted(counts))
    return ExperimentPictures(
        set_digest([part.experiment for part in parts], [part.digest for part in parts]),
        classes,
        tuple(counts[label] for label in classes),
        str(folder),
        tuple(note for part in parts for note in part.notes),
        parts=tuple(parts),
    )


def _is_experiment(folder: Path) -> bool:
    """Whether it has sessions, or is named after an experiment and has folders of categories."""
    if _sessions(folder):
        return True
    names = _folders(folder)
    is_known = folder.name in _known()["experiments"]
    return is_known and len(names) > 1 and set(names) <= set(known_categories())


def _sessions(folder: Path) -> list[str]:
    return [f"dnn/{name}" for name in _folders(folder / "dnn") if name.startswith("session-")]


def _folders(folder: Path) -> Sequence[str]:
    try:
        return list_folder(folder, ()).folders
    except OSError:
        return ()


def _opened(folder: Path) -> ConditionPictures:
    _listed.cache_clear()
    by_class, lost = _listed(str(folder))
    need_two(list(by_class), str(folder), "add pictures of another category.")
    marks = tuple(class_mark(files) for files in by_class.values())
    names = [(name, label) for label, files in by_class.items() for name in files]
    there = {found.condition for each in names if (found := picture_name(*each))}
    known = known_experiment(folder.name).conditions
    untold = f"named without condition and category, and left out: {first_names(lost)}."
    return ConditionPictures(
        set_digest((folder.name, *by_class), ("", *marks)),
        tuple(by_class),
        tuple(len(files) for files in by_class.values()),
        str(folder),
        (untold,) if lost else (),
        marks=marks,
        experiment=folder.name,
        conditions=(*(each for each in known if each in there), *sorted(there - set(known))),
    )


@lru_cache(maxsize=64)
def _listed(place: str) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Return the files of each category, sorted, and names of files that tell none."""
    folder = Path(place)
    sessions = _sessions(folder)
    found: dict[str, dict[str, int]] = {}
    lost = []
    for under in sessions or _folders(folder):
        for name, size in list_folder(folder / under).files.items():
            read = picture_name(name, "" if sessions else under)
            if read is None or as_text(name) != name:
                lost.append(as_text(name))
            else:
                found.setdefault(read.category, {})[f"{under}/{name}"] = size
    return dict(sorted(found.items())), lost

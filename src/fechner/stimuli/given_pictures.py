"""Pictures given in Python: sequences, which are looked at when needed, iterators and functions.

A sequence has pairs of a picture and its class; a data set of torchvision is one, and so is a list
of arrays. An iterator gives each pair once, so that its pictures are written to disk as they come.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import math
import re
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

import numpy as np

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.decoding import fitted, stored, unreadable
from fechner.stimuli.field import Field
from fechner.stimuli.picture_files import FolderPictures, open_folder
from fechner.stimuli.picture_sets import PictureSet, need_two, set_digest
from fechner.stimuli.pictures import ARRAY, SUFFIXES, Missing, Picture, PictureFile, as_drawn

if TYPE_CHECKING:
    from PIL import Image
    from torch import Tensor

#: Of a data set that says which class each picture has, so many pictures are looked at to know it
#: again.
_LOOKED_AT = 16
#: Where data sets say which class each picture has.
_TARGETS = ("targets", "labels")

#: Modes of Pillow that PNG keeps as they are.
_KEPT_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
#: Modes that become one of those, without loss; others become RGB.
_BECOMES = {"La": "LA", "PA": "RGBA", "RGBa": "RGBA", "I": "I;16", "I;16B": "I;16"}
#: What names of folders cannot have, or would be hidden by.
_NOT_IN_NAMES = re.compile(r'[%/\\:*?"<>|\x00-\x1f]|^\.')
#: So many pictures that are left out are said why, one by one.
_SAID = 5
#: The longest name that a folder can have, in bytes.
_LONGEST = 255


@dataclass(frozen=True)
class GivenPicture(Picture):
    """A picture that Python has, or makes when it is asked.

    Parameters
    ----------
    digest, label, index
        Which it is: of which set, and of which class.
    name
        What it is called in sentences.
    get
        Returns it: an image of Pillow, an array, a tensor, the path of a file, or a `Picture`.
    """

    digest: str
    label: int
    index: int
    name: str = field(compare=False)
    get: Callable[[], Any] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Get it and scale it, [3, h, w]."""
        try:
            thing = self.get()
        except Exception as error:  # it is the user's code
            raise unreadable(self.name, _failed(error)) from None
        if (path := _path_of(thing)) is not None:
            thing = _as_file(path)
        if isinstance(thing, Picture):
            return thing.draw(field, bits, device)
        values = fitted(thing, self.name, (field.height_px, field.width_px))
        return as_drawn(values, bits, device)


@dataclass(frozen=True, eq=False, repr=False)
class GivenPictures(PictureSet):
    """The pictures of a sequence; it is kept as it is, and asked for one at a time.

    Parameters
    ----------
    source
        Gives a picture and its class for each number; None if it is gone.
    positions
        The numbers of the pictures of each class.
    """

    source: Any = field(default=None, compare=False)
    positions: tuple[array[int], ...] = field(default=(), compare=False)

    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of a class."""
        self._check(label, index)
        if self.source is None:
            return Missing(
                f"the pictures of {self.classes[label]} were given in Python and are gone; give "
                "them again."
            )
        get = partial(_picture_at, self.source, self.positions[label][index])
        return GivenPicture(self.digest, label, index, self.name(label, index), get)

    def name(self, label: int, index: int) -> str:
        """Return which picture of the sequence it is."""
        if self.source is None:
            return super().name(label, index)
        return _called(self.positions[label][index])


def _picture_at(source: Any, position: int) -> Any:
    return _pair(source[position], position)[0]


def open_sequence(source: Any) -> GivenPictures:
    """Sort the pictures of a sequence by class.

    Where it says itself which class each has (``targets``, as data sets of torchvision do), only a
    few pictures are looked at; otherwise each is, once, and none is kept.
    """
    count = len(source)
    targets = _targets(source, count)
    looked_at = range(0, count, 1 if targets is None else max(1, count // _LOOKED_AT))
    positions: dict[str, array[int]] = {}
    for position, target in enumerate(targets or ()):
        positions.setdefault(_class_name(target, source), array("q")).append(position)
    contents = hashlib.sha256()
    for position in looked_at:
        try:
            item = source[position]
        except Exception as error:  # it is the user's code
            raise FechnerError(f"{_called(position)} {_failed(error)}.") from error
        picture, target = _pair(item, position)
        contents.update(f"{position} {_content_mark(picture)}\n".encode())
        if targets is None:
            positions.setdefault(_class_name(target, source), array("q")).append(position)
    classes = sorted(positions)
    need_two(classes, "what was given", "give pictures of another.")
    marks = [hashlib.sha256(positions[label].tobytes()).hexdigest() for label in classes]
    return GivenPictures(
        set_digest([*classes, "contents"], [*marks, contents.hexdigest()]),
        tuple(classes),
        tuple(len(positions[label]) for label in classes),
        source=source,
        positions=tuple(positions[label] for label in classes),
    )


def _targets(source: Any, count: int) -> list[Any] | None:
    """Return the class of each picture where a data set says it."""
    for name in _TARGETS:
        found = getattr(source, name, None)
        if isinstance(found, Iterable) and isinstance(found, Sized) and len(found) == count:
            return list(found)
    return None


def _pair(item: Any, position: int) -> tuple[Any, Any]:
    """Return picture and class of an item, a pair or a mapping with ``image`` and ``label``."""
    if isinstance(item, Mapping) and {"image", "label"} <= set(item):
        return item["image"], item["label"]
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    raise FechnerError(
        f"{_called(position)} is a {type(item).__name__}; give pairs of a picture and the name or "
        "number of its class."
    )


def _class_name(target: Any, source: Any = None) -> str:
    """Return the name of a class: its own, or that which a data set has for a number."""
    if math.prod(getattr(target, "shape", ())) != 1:
        raise FechnerError("a class is a name or a number, not an array: give (picture, class).")
    if hasattr(target, "item"):  # of NumPy and torch
        target = target.item()
    if isinstance(target, str) and target.strip():
        return target.strip()
    if isinstance(target, bool) or not isinstance(target, int):
        raise FechnerError(f"a class is a name or a number, not {target!r}.")
    names = getattr(source, "classes", None)
    if isinstance(names, Sequence) and 0 <= target < len(names):
        name = names[target]
        return ", ".join(map(str, name)) if isinstance(name, tuple | list) else str(name)
    return str(target)


def _content_mark(thing: Any) -> str:
    """Return what a picture is known again by: a hash of its values, or name and size of a file."""
    from PIL import Image

    if (path := _path_of(thing)) is not None:
        found = _as_file(path)
        return f"{found.name} {found.size_bytes}"
    try:
        values = stored(np.asarray(thing) if isinstance(thing, Image.Image) else thing, "")
    except Exception as error:  # it is said when it is shown
        return type(error).__name__
    running = hashlib.sha256(f"{values.shape} {values.dtype}".encode())
    running.update(values.tobytes())
    return running.hexdigest()[:16]


def _path_of(thing: Any) -> Path | None:
    """Return the path of a picture that is a file; None if it is none.

    An image of Pillow that was opened and not decoded is read from its file, so that not all of
    them end up in memory.
    """
    if isinstance(thing, str | Path):
        return Path(thing)
    name = getattr(thing, "filename", "")
    if name and isinstance(name, str) and getattr(thing, "fp", None) is not None:
        return Path(name)
    return None


def _as_file(path: Path) -> PictureFile:
    """Return a file as it is now; one that is not there says so when it is drawn."""
    try:
        size_bytes = path.stat().st_size
    except OSError:
        size_bytes = -1
    return PictureFile(str(path), size_bytes, path.name)


def _called(position: int) -> str:
    return f"picture {position} of those given"


def _failed(error: Exception) -> str:
    """Say that the user's code failed, in a line."""
    said = (str(error).splitlines() or ["without a word"])[0][:200]
    return f"could not be had ({type(error).__name__}: {said})"


@dataclass(frozen=True, eq=False, repr=False)
class SpooledPictures(FolderPictures):
    """Pictures that were written to disk: a folder for each class, a hash in every name."""

    suffixes: ClassVar[tuple[str, ...]] = (*SUFFIXES, ARRAY)

    @staticmethod
    def folder_of(label: str) -> str:
        """Return the name of the folder of a class, without what folders cannot be named."""
        return _NOT_IN_NAMES.sub(lambda found: f"%{ord(found[0]):02X}", label)

    @staticmethod
    def label_of(folder: str) -> str:
        """Return the class that a folder is of."""
        return unquote(folder)


def open_iterator(pictures: Iterable[Any], spool: Path | None = None) -> SpooledPictures:
    """Write the pictures of an iterator to disk, losslessly, and list them.

    Parameters
    ----------
    pictures
        Gives pairs of a picture and its class: images of Pillow, arrays, tensors or paths.
    spool
        Folder to write into, in one that is named after what is in it; None is a temporary one
        that lives as long as Python does.
    """
    if spool is None:
        spool = Path(tempfile.mkdtemp(prefix="fechner-pictures-"))
        atexit.register(shutil.rmtree, spool, ignore_errors=True)
    spool.mkdir(parents=True, exist_ok=True)
    coming = Path(tempfile.mkdtemp(prefix=".coming-", dir=spool))
    try:
        notes = _write_all(pictures, coming)
        classes = sorted(each.name for each in coming.iterdir())
        need_two(classes, "what was given", "give pictures of another.")
        found = open_folder(coming, SpooledPictures)
        place = spool / found.digest[:16]
        if not place.exists():
            coming.rename(place)
    finally:
        shutil.rmtree(coming, ignore_errors=True)
    return replace(found, place=str(place.absolute()), notes=notes, split="")


def _write_all(pictures: Iterable[Any], folder: Path) -> tuple[str, ...]:
    """Write pictures as they come; return what was left out, in sentences."""
    why: list[str] = []
    left_out = 0
    for position, item in enumerate(_each(pictures)):
        picture, target = _pair(item, position)
        place = folder / SpooledPictures.folder_of(_class_name(target, pictures))
        if len(place.name.encode()) > _LONGEST:
            raise FechnerError(f"a class has the name '{place.name[:40]}…', which is too long.")
        try:
            suffix, content = _encoded(picture, _called(position))
        except PictureError as error:
            left_out += 1
            if left_out <= _SAID:
                why.append(str(error))
            continue
        mark = hashlib.sha256(content).hexdigest()[:16]
        place.mkdir(exist_ok=True)
        (place / f"{position:08d}-{mark}{suffix}").write_bytes(content)
    if left_out:
        why.append(f"{left_out:,} of the pictures given were left out.")
    return tuple(why)


def _each(pictures: Iterable[Any]) -> Iterator[Any]:
    """Go through an iterator; what goes wrong in it is said in a sentence."""
    position = 0
    try:
        for item in pictures:
            yield item
            position += 1
    except FechnerError:
        raise
    except Exception as error:  # it is the user's code
        raise FechnerError(f"{_called(position)} {_failed(error)}.") from error


def _encoded(picture: Any, name: str) -> tuple[str, bytes]:
    """Return a picture as the content of a lossless file, and how its name ends."""
    from PIL import Image

    if (path := _path_of(picture)) is not None:
        # What a file is, its content says; its name must end as pictures do.
        suffix = path.suffix.lower()
        try:
            return suffix if suffix in SpooledPictures.suffixes else ".png", path.read_bytes()
        except OSError as error:
            raise unreadable(path.name, f"cannot be read: {error.strerror or error}") from None
    buffer = io.BytesIO()
    if not isinstance(picture, Image.Image):
        values = stored(picture, name)
        if values.dtype != np.uint8:
            np.save(buffer, values.astype(np.float32))
            return ARRAY, buffer.getvalue()
        picture = Image.fromarray(values)
    try:
        _lossless(picture).save(buffer, "PNG", compress_level=1)
    except Exception as error:  # whatever a lazy image finds when it is decoded
        why = f"is damaged or of an unknown kind ({type(error).__name__})"
        raise unreadable(name, why) from None
    return ".png", buffer.getvalue()


def _lossless(image: Image.Image) -> Image.Image:
    """Return an image turned as its EXIF says, in a mode that PNG has."""
    from PIL import ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode == "F":
        raise ValueError("floating point has no known range")
    if image.mode in _KEPT_MODES:
        return image
    return image.convert(_BECOMES.get(image.mode, "RGB"))


@dataclass(frozen=True, eq=False, repr=False)
class VirtualPictures(PictureSet):
    """Pictures that a function makes.

    Parameters
    ----------
    make
        Of a class (its place among all) and a number within it; None if it is gone.
    called
        What the set is called.
    """

    make: Callable[[int, int], Any] | None = field(default=None, compare=False)
    called: str = field(default="", compare=False)

    kind: ClassVar[str] = "pictures"
    kept: ClassVar[tuple[str, ...]] = ("called",)

    def picture(self, label: int, index: int) -> Picture:
        """Return a picture of a class, made when it is drawn."""
        self._check(label, index)
        if self.make is None:
            return Missing(f"what makes the pictures of {self.called} is gone; give it again.")
        get = partial(self.make, label, index)
        return GivenPicture(self.digest, label, index, self.name(label, index), get)


def virtual_pictures(
    make: Callable[[int, int], Any], classes: Sequence[str], counts: int | Sequence[int], name: str
) -> VirtualPictures:
    """Return a set of pictures that a function makes when they are shown.

    Parameters
    ----------
    make
        Of a class (its place in ``classes``) and a number: an image of Pillow, an array, a tensor,
        a path or a `Picture`. The same numbers must give the same picture.
    classes
        Their names.
    counts
        Pictures of each class.
    name
        What the set is called, with a version: sets of one name, classes and counts are taken for
        the same.

    Examples
    --------
    >>> import numpy as np
    >>> virtual_pictures(lambda label, index: np.full((8, 8), label / 2), "abc", 1000, "grey 1")
    VirtualPictures(3,000 pictures in 3 classes, c4517dd9819c)
    """
    names = tuple(classes)
    numbers = (counts,) * len(names) if isinstance(counts, int) else tuple(counts)
    if len(numbers) != len(names) or min(numbers, default=0) < 1:
        raise FechnerError("each class of a virtual set has at least one picture: give counts.")
    if len(set(names)) < len(names):
        raise FechnerError("the classes of a virtual set have different names.")
    if not name:
        raise FechnerError("a virtual set needs a name, by which it is known again.")
    listed = json.dumps([name, names, numbers]).encode()
    digest = hashlib.sha256(listed).hexdigest()
    return VirtualPictures(digest, names, numbers, make=make, called=name)

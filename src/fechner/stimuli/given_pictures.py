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
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fechner.arrays import Tensor
from fechner.errors import FechnerError, PictureError, described
from fechner.stimuli.decoding import WITH_ALPHA, fitted, stored, unreadable
from fechner.stimuli.field import Field
from fechner.stimuli.picture_files import FileSet, list_folder
from fechner.stimuli.picture_sets import PictureSet, class_mark, need_two, set_digest
from fechner.stimuli.pictures import (
    ARRAY,
    SUFFIXES,
    Missing,
    Picture,
    PictureFile,
    as_drawn,
    file_size,
)

#: Of a data set that says which class each picture has, so many pictures are looked at to know it
#: again.
_LOOKED_AT = 16
#: What names of folders cannot have, or would be hidden by.
_NOT_IN_NAMES = re.compile(r'[%/\\:*?"<>|\x00-\x1f]|^\.')
#: So many pictures that are left out are said why, one by one.
_SAID = 5
#: The longest name that a folder can have, in bytes.
_LONGEST = 255


@dataclass(frozen=True)
class GivenPicture(Picture):
    """A picture that Python has, or makes when it is asked, of a set and a class.

    ``get`` returns an image of Pillow, an array, a tensor, the path of a file, or a `Picture`.
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
        thing = _file_of(thing) or thing
        if isinstance(thing, Picture):
            return thing.draw(field, bits, device)
        values = fitted(thing, self.name, (field.height_px, field.width_px))
        return as_drawn(values, bits, device)


@dataclass(frozen=True, eq=False, repr=False)
class GivenPictures(PictureSet):
    """The pictures of a sequence; it is kept as it is, and asked for one at a time.

    ``positions`` are the places of each class in it.
    """

    source: Any = field(default=None, compare=False)
    positions: tuple[array[int], ...] = field(default=(), compare=False)

    def _picture(self, label: int, index: int) -> Picture:
        if self.source is None:
            return Missing(
                f"the pictures of {self.classes[label]} were given in Python and are gone; give "
                "them again."
            )
        position = self.positions[label][index]
        get = partial(_picture_at, self.source, position)
        return GivenPicture(self.digest, label, index, _called(position), get)


def _picture_at(source: Any, position: int) -> Any:
    return _pair(source[position], position)[0]


def open_sequence(source: Any) -> GivenPictures:
    """Sort the pictures of a sequence by class.

    Where it says itself which class each has (``targets``, as data sets of torchvision do), only a
    few pictures are looked at; otherwise each is, once, and none is kept.
    """
    count = len(source)
    targets: list[Any] | None = None
    for name in ("labels", "targets"):
        found = getattr(source, name, None)
        if isinstance(found, Iterable) and isinstance(found, Sized) and len(found) == count:
            targets = list(found)
    positions: dict[str, array[int]] = {}
    for position, target in enumerate(targets or ()):
        positions.setdefault(_class_name(target, source), array("q")).append(position)
    contents = hashlib.sha256()
    for position in range(0, count, 1 if targets is None else max(1, count // _LOOKED_AT)):
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


def _pair(item: Any, position: int) -> tuple[Any, Any]:
    """Return picture and class of an item, a pair or a mapping with ``image`` and ``label``."""
    if isinstance(item, Mapping) and {"image", "label"} <= set(item):
        return item["image"], item["label"]
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    what = f"{_called(position)} is a {type(item).__name__}"
    raise FechnerError(f"{what}; give pairs of a picture and the name or number of its class.")


def _class_name(target: Any, source: Any) -> str:
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

    if file := _file_of(thing):
        return f"{file.name} {file.size_bytes}"
    try:
        values = stored(np.asarray(thing) if isinstance(thing, Image.Image) else thing, "")
    except Exception as error:  # it is said when it is shown
        return type(error).__name__
    running = hashlib.sha256(f"{values.shape} {values.dtype}".encode())
    running.update(values.tobytes())
    return running.hexdigest()[:16]


def _file_of(thing: Any) -> PictureFile | None:
    """Return a picture that is a file, as it is now; one that is not there says so when drawn.

    An image of Pillow that was opened and not decoded is read from its file, so that not all of
    them end up in memory.
    """
    name = getattr(thing, "filename", "") if getattr(thing, "fp", None) is not None else ""
    if not isinstance(thing, str | Path) and not (name and isinstance(name, str)):
        return None
    path = Path(thing if isinstance(thing, str | Path) else name)
    return PictureFile(str(path), file_size(path), path.name)


def _called(position: int) -> str:
    return f"picture {position} of those given"


def _failed(error: Exception) -> str:
    return f"could not be had ({described(error)})"


def _folder_name(label: str) -> str:
    """Return the name of the folder of a class, without what folders cannot be named."""
    return _NOT_IN_NAMES.sub(lambda found: f"%{ord(found[0]):02X}", label)


@dataclass(frozen=True, eq=False, repr=False)
class SpooledPictures(FileSet):
    """Pictures that were written to disk: a folder for each class, a hash in every name."""

    @staticmethod
    def list_class(place: str, label: str) -> tuple[Path, str, Mapping[str, int]]:
        """List the folder of a class."""
        folder = Path(place, _folder_name(label))
        return folder, f"{label}/", list_folder(folder, (*SUFFIXES, ARRAY)).files


def open_iterator(pictures: Iterable[Any], spool: Path | None = None) -> SpooledPictures:
    """Write the pictures of an iterator to disk, losslessly, and list them.

    They are put into a folder inside of ``spool`` that is named after what is in it; None is a
    temporary one that lives as long as Python does.
    """
    if spool is None:
        spool = Path(tempfile.mkdtemp(prefix="fechner-pictures-"))
        atexit.register(shutil.rmtree, spool, ignore_errors=True)
    spool.mkdir(parents=True, exist_ok=True)
    coming = Path(tempfile.mkdtemp(prefix=".coming-", dir=spool))
    try:
        classes, notes = _write_all(pictures, coming)
        need_two(classes, "what was given", "give pictures of another.")
        files = [SpooledPictures.list_class(str(coming), label)[2] for label in classes]
        counts = {label: len(each) for label, each in zip(classes, files, strict=True)}
        found = SpooledPictures.of(counts, [class_mark(each) for each in files], coming, notes)
        place = spool / found.digest[:16]
        if not place.exists():
            coming.rename(place)
    finally:
        shutil.rmtree(coming, ignore_errors=True)
    return replace(found, place=str(place.absolute()), split="")


def _write_all(pictures: Iterable[Any], folder: Path) -> tuple[list[str], list[str]]:
    """Write pictures as they come; return their classes, and what was left out in sentences."""
    classes: set[str] = set()
    why: list[str] = []
    left_out, position = 0, -1
    try:
        for position, item in enumerate(pictures):
            picture, target = _pair(item, position)
            label = _class_name(target, pictures)
            place = folder / _folder_name(label)
            if len(place.name.encode()) > _LONGEST:
                raise FechnerError(f"a class has the name '{label[:40]}…', which is too long.")
            try:
                suffix, content = _encoded(picture, _called(position))
            except PictureError as error:
                left_out += 1
                why += [str(error)] if left_out <= _SAID else []
                continue
            mark = hashlib.sha256(content).hexdigest()[:16]
            place.mkdir(exist_ok=True)
            (place / f"{position:08d}-{mark}{suffix}").write_bytes(content)
            classes.add(label)
    except FechnerError:
        raise
    except Exception as error:  # it is the user's code
        raise FechnerError(f"{_called(position + 1)} {_failed(error)}.") from error
    if left_out:
        why.append(f"{left_out:,} of the pictures given were left out.")
    return sorted(classes), why


def _encoded(picture: Any, name: str) -> tuple[str, bytes]:
    """Return a picture as the content of a lossless file, and how its name ends."""
    from PIL import Image, ImageOps

    if file := _file_of(picture):
        # What a file is, its content says; its name must end as pictures do.
        suffix = Path(file.path).suffix.lower()
        try:
            content = Path(file.path).read_bytes()
        except OSError as error:
            raise unreadable(file.name, f"cannot be read: {error.strerror or error}") from None
        return suffix if suffix in (*SUFFIXES, ARRAY) else ".png", content
    buffer = io.BytesIO()
    if not isinstance(picture, Image.Image):
        values = stored(picture, name)
        if values.dtype != np.uint8:
            np.save(buffer, values.astype(np.float32))
            return ARRAY, buffer.getvalue()
        picture = Image.fromarray(values)
    try:
        image = ImageOps.exif_transpose(picture)
        if image.mode == "F":
            raise ValueError("floating point has no known range")
        if image.mode in ("I", "I;16B"):
            image = image.convert("I;16")
        elif image.mode in WITH_ALPHA:
            image = image.convert("LA" if image.mode in ("La", "LA") else "RGBA")
        elif image.mode not in ("1", "L", "P", "I;16"):
            image = image.convert("RGB")
        image.save(buffer, "PNG", compress_level=1)
    except Exception as error:  # whatever a lazy image finds when it is decoded
        why = f"is damaged or of an unknown kind ({type(error).__name__})"
        raise unreadable(name, why) from None
    return ".png", buffer.getvalue()


@dataclass(frozen=True, eq=False, repr=False)
class VirtualPictures(PictureSet):
    """Pictures that a function makes of a class and a number within it, see `virtual_pictures`."""

    make: Callable[[int, int], Any] | None = field(default=None, compare=False)
    called: str = field(default="", compare=False)

    kind: ClassVar[str] = "pictures"
    kept: ClassVar[tuple[str, ...]] = ("called",)

    def _picture(self, label: int, index: int) -> Picture:
        if self.make is None:
            return Missing(f"what makes the pictures of {self.called} is gone; give it again.")
        name = f"{self.classes[label]}, picture {index}"
        return GivenPicture(self.digest, label, index, name, partial(self.make, label, index))


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
    if len(numbers) != len(names) or min(numbers, default=0) < 1 or not name:
        raise FechnerError("a virtual set needs a name, and at least one picture of each class.")
    if len(set(names)) < len(names):
        raise FechnerError("the classes of a virtual set have different names.")
    digest = hashlib.sha256(json.dumps([name, names, numbers]).encode()).hexdigest()
    return VirtualPictures(digest, names, numbers, make=make, called=name)

"""Pictures from an iterator, which gives each once: written to disk as they come.

Memory holds one at a time; what is shown later is read back.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

import numpy as np

from fechner.errors import FechnerError, PictureError
from fechner.stimuli.listing import SUFFIXES
from fechner.stimuli.picture_sets.base import need_two
from fechner.stimuli.picture_sets.files import ARRAY
from fechner.stimuli.picture_sets.folders import FolderPictures, open_folder
from fechner.stimuli.picture_sets.given import called, class_name, file_of, first_line, pair
from fechner.stimuli.picture_sets.pixels import stored

if TYPE_CHECKING:
    from PIL import Image

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
        picture, target = pair(item, position)
        place = folder / SpooledPictures.folder_of(class_name(target, pictures))
        if len(place.name.encode()) > _LONGEST:
            raise FechnerError(f"a class has the name '{place.name[:40]}…', which is too long.")
        try:
            place.mkdir(exist_ok=True)
            _write(picture, place, position)
        except PictureError as error:
            left_out += 1
            if left_out <= _SAID:
                why.append(str(error))
    if left_out:
        why.append(f"{left_out:,} of the pictures given were left out.")
    # A class of which every picture was left out is none.
    for place in list(folder.iterdir()):
        if not any(place.iterdir()):
            place.rmdir()
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
        raise FechnerError(
            f"{called(position)} could not be had ({type(error).__name__}: {first_line(error)})."
        ) from error


def _write(picture: Any, folder: Path, position: int) -> None:
    """Write a picture, named after its turn and its content."""
    path = file_of(picture)
    try:
        if path is not None:
            suffix = path.suffix.lower()
            content = path.read_bytes()
        else:
            suffix, content = _encoded(picture, called(position))
    except OSError as error:
        name = called(position) if path is None else path.name
        raise PictureError(
            f"{name} cannot be read: {error.strerror or error}.", "unreadable"
        ) from None
    mark = hashlib.sha256(content).hexdigest()[:16]
    # What a file is, its content says; its name must end as pictures do.
    suffix = suffix if suffix in SpooledPictures.suffixes else ".png"
    (folder / f"{position:08d}-{mark}{suffix}").write_bytes(content)


def _encoded(picture: Any, name: str) -> tuple[str, bytes]:
    """Return a picture as the content of a lossless file, and how its name ends."""
    from PIL import Image

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
        raise PictureError(
            f"{name} is damaged or of an unknown kind ({type(error).__name__}).", "unreadable"
        ) from None
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

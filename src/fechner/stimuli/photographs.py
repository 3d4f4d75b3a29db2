"""Photographs with the class of what they show, from a folder or a list.

A file is read when its picture is shown, and not before; what cannot be read is said in a sentence
and left out.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fechner.errors import PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.pictures import Picture, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image
    from torch import Tensor

#: Larger pictures are not decoded, since memory may not hold them: 2^26, as 8192 x 8192.
MOST_PIXELS = 1 << 26

#: Modes of Pillow whose values have 16 bits.
_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L", "I;16N")
#: Modes that say how much of a pixel is there.
_WITH_ALPHA = ("RGBA", "LA", "PA", "RGBa", "La")
#: What is seen through it.
_BEHIND = (255, 255, 255)


@dataclass(frozen=True)
class Photograph(Picture):
    """A picture file and the class of what it shows.

    It is turned as its EXIF says, and the middle of it, as large as can be in the shape of the
    field, is scaled to the field. Grey, CMYK and 16-bit pictures become RGB; behind what is
    transparent there is white. Colour profiles are not applied.

    Parameters
    ----------
    name
        Its path inside the folder, with ``/``.
    label
        The name of its class, as the folder or the list has it.
    sha256
        Of the file; a file that has changed since is not shown. Empty if it could not be read.
    folder
        Where the file is. Not a part of what it is: it may be moved.
    """

    name: str
    label: str
    sha256: str
    folder: InitVar[str] = ""

    _folder: ClassVar[str] = ""

    def __post_init__(self, folder: str) -> None:
        object.__setattr__(self, "_folder", folder)

    @property
    def place(self) -> str:
        """Where the folder is."""
        return self._folder

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path:
        """Where the file is."""
        return Path(self._folder) / self.name

    def draw(self, field: Field, bits: int | None, device: str) -> Tensor:
        """Decode it, [3, h, w]."""
        import torch

        values = decoded(self._content(), self.name, (field.height_px, field.width_px))
        pixels = torch.as_tensor(values, device=device).permute(2, 0, 1).contiguous()
        return rounded(pixels, bits)

    def _content(self) -> bytes:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise PictureError(
                f"{self.name} cannot be read: {error.strerror or error}.", "unreadable"
            ) from None
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise PictureError(f"{self.name} has changed since it was listed.", "unreadable")
        return content


def photograph(path: Path | str, label: str) -> Photograph:
    """Return a single file as a photograph."""
    path = Path(path)
    return Photograph(path.name, label, hash_content(path), str(path.parent))


def hash_content(path: Path) -> str:
    """Return the sha256 of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def decoded(content: bytes, name: str, size_px: tuple[int, int]) -> NDArray[np.float64]:
    """Decode a picture file and scale its middle to a size; values in 0..1, [h, w, 3].

    Parameters
    ----------
    size_px
        (height, width).
    """
    from PIL import Image, UnidentifiedImageError

    def refused(why: str) -> PictureError:
        return PictureError(f"{name} {why}.", "unreadable")

    try:
        with warnings.catch_warnings():
            # What Pillow has to say of odd files does not concern those who look at them; of large
            # ones we judge ourselves.
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(content)) as image:
                width, height = image.size
                if width * height > MOST_PIXELS:
                    raise refused(
                        f"has {width} x {height} pixels, more than the {MOST_PIXELS:,} that are "
                        "decoded; make it smaller"
                    )
                return _scaled(image, size_px)
    except PictureError:
        raise
    except UnidentifiedImageError:
        raise refused("is no picture in a format that is known") from None
    except Image.DecompressionBombError:
        raise refused(
            f"has more than the {MOST_PIXELS:,} pixels that are decoded; make it smaller"
        ) from None
    except Exception as error:  # decoders of broken files raise whatever they like
        why = "is cut off" if "truncated" in str(error) else "is damaged or of an unknown kind"
        raise refused(f"{why} ({type(error).__name__})") from None


def _scaled(image: Image.Image, size_px: tuple[int, int]) -> NDArray[np.float64]:
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    height, width = size_px
    share = min(image.width / width, image.height / height)
    left, top = (image.width - share * width) / 2, (image.height - share * height) / 2
    # Rounding may put the edge of a picture a little outside of it.
    left, top = max(left, 0.0), max(top, 0.0)
    right, bottom = left + share * width, top + share * height
    box = (left, top, min(right, image.width), min(bottom, image.height))

    def scale(part: Image.Image) -> NDArray[np.float64]:
        # The part is cut out and scaled at once: scaled whole, a thin picture would be huge.
        resized = part.resize((width, height), Image.Resampling.BICUBIC, box=box)
        return np.asarray(resized, dtype=np.float64)

    if image.mode in _SIXTEEN_BITS:
        grey = scale(image.convert("I").convert("F")) / (2**16 - 1)
        return np.repeat(grey.clip(0, 1)[..., None], 3, axis=2)
    if image.mode == "F":
        raise ValueError("floating point has no known range")
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, (*_BEHIND, 255)), layer)
    return scale(image.convert("RGB")) / 255

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
from typing import TYPE_CHECKING, BinaryIO, ClassVar

import numpy as np

from fechner.errors import PictureError
from fechner.stimuli.field import Field
from fechner.stimuli.pictures import Picture, rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image
    from torch import Tensor

    #: Left, top, right, bottom.
    Box = tuple[float, float, float, float]

#: Larger pictures are not decoded, since memory may not hold them: 2^26, as 8192 x 8192.
MOST_PIXELS = 1 << 26

#: Smaller pictures than this, each way, show nothing that could be recognised.
LEAST_PX = 8

#: Modes of Pillow whose values have 16 bits.
_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L", "I;16N")
#: Modes that say how much of a pixel is there.
_WITH_ALPHA = ("RGBA", "LA", "PA", "RGBa", "La")
#: What is seen through it.
_BEHIND = (255, 255, 255)
#: How files in JPEG begin.
_JPEG = b"\xff\xd8\xff"
#: A JPEG decoded at a part of its size keeps so many times the pixels that are shown, each way.
_SPARED = 2


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


def decoded(
    source: bytes | BinaryIO, name: str, size_px: tuple[int, int], *, sparing: bool = False
) -> NDArray[np.float64]:
    """Decode a picture file and scale its middle to a size; values in 0..1, [h, w, 3].

    Parameters
    ----------
    source
        Its content, or the open file.
    size_px
        (height, width).
    sparing
        Decode a JPEG at a half, a quarter or an eighth of its size if that has still twice the
        pixels each way that are asked for: quicker, in less memory, and not the same to the bit.
    """
    from PIL import Image, UnidentifiedImageError

    def refused(why: str) -> PictureError:
        return PictureError(f"{name} {why}.", "unreadable")

    file = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        with warnings.catch_warnings():
            # What Pillow has to say of odd files does not concern those who look at them; of large
            # ones we judge ourselves.
            warnings.simplefilter("ignore")
            with _opened(file, sparing) as image:
                width, height = image.size
                check_size(width, height, name)
                if image.mode == "F":
                    raise refused("has values in floating point; save it with 8 or 16 bits")
                if sparing:
                    # EXIF may turn it, so that its width becomes its height.
                    side = _SPARED * max(size_px)
                    image.draft(None, (side, side))
                # A progressive JPEG is held whole, whatever part of its size it is decoded at.
                held = (width, height) if image.info.get("progressive") else image.size
                if held[0] * held[1] > MOST_PIXELS:
                    raise refused(
                        f"has {width} x {height} pixels, more than the {MOST_PIXELS:,} that are "
                        "decoded; make it smaller"
                    )
                return scaled(image, size_px)
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


def check_size(width: int, height: int, name: str) -> None:
    """Refuse a picture that is too small to show anything."""
    if min(width, height) < LEAST_PX:
        raise PictureError(
            f"{name} has {width} x {height} pixels, and less than {LEAST_PX} each way show "
            "nothing.",
            "unreadable",
        )


def _opened(file: BinaryIO, sparing: bool) -> Image.Image:
    from PIL import Image, JpegImagePlugin

    begin = file.read(len(_JPEG))
    file.seek(0)
    if sparing and begin == _JPEG:
        # Opened as what it is, for `Image.open` refuses large ones whatever part is decoded.
        return JpegImagePlugin.JpegImageFile(file)
    return Image.open(file)


def fitting(width: float, height: float, size_px: tuple[int, int]) -> Box:
    """Return left, top, right and bottom of the largest middle part in the shape of a size.

    Examples
    --------
    >>> fitting(400, 300, (100, 100))
    (50.0, 0.0, 350.0, 300.0)
    """
    share = min(width / size_px[1], height / size_px[0])
    left, top = (width - share * size_px[1]) / 2, (height - share * size_px[0]) / 2
    # Rounding may put the edge of a picture a little outside of it.
    left, top = max(left, 0.0), max(top, 0.0)
    right, bottom = left + share * size_px[1], top + share * size_px[0]
    return left, top, min(right, width), min(bottom, height)


def scaled(image: Image.Image, size_px: tuple[int, int]) -> NDArray[np.float64]:
    """Scale the middle of a picture to a size, (height, width); values in 0..1, [h, w, 3]."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    height, width = size_px
    box = fitting(image.width, image.height, size_px)

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

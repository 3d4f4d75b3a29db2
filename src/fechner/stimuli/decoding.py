"""Decoding: files, images of Pillow, arrays and tensors become RGB of a size, or a sentence.

A picture is turned as its EXIF says, and the middle of it, as large as can be in the shape of the
field, is scaled to the field. Grey, CMYK and 16-bit pictures become RGB; behind what is transparent
there is white. Colour profiles are not applied.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import torch
from fechner.errors import PictureError

if TYPE_CHECKING:
    from PIL import Image

    #: Left, top, right, bottom.
    Box = tuple[float, float, float, float]

#: Larger pictures are not decoded, since memory may not hold them: 2^26, as 8192 x 8192.
MOST_PIXELS = 1 << 26

#: Smaller pictures than this, each way, show nothing that could be recognised.
LEAST_PX = 8

#: Modes of Pillow whose values have 16 bits.
_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L", "I;16N")
#: Modes that say how much of a pixel is there.
WITH_ALPHA = ("RGBA", "LA", "PA", "RGBa", "La")
#: A JPEG decoded at a part of its size keeps so many times the pixels that are shown, each way.
_SPARED = 2
#: How far values may be outside of 0..1, for rounding.
_ROUNDING = 1e-4


def unreadable(name: str, why: str) -> PictureError:
    """Return the error that says why a picture cannot be shown."""
    return PictureError(f"{name} {why}.", "unreadable")


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
    from PIL import Image, JpegImagePlugin, UnidentifiedImageError

    file = io.BytesIO(source) if isinstance(source, bytes) else source
    is_jpeg = file.read(3) == b"\xff\xd8\xff"
    file.seek(0)
    # A JPEG is opened as what it is, for `Image.open` refuses large ones whatever part is decoded.
    open_image: Any = JpegImagePlugin.JpegImageFile if sparing and is_jpeg else Image.open
    too_large = f"more than the {MOST_PIXELS:,} pixels that are decoded; make it smaller"
    try:
        # What Pillow has to say of odd files does not concern those who look at them.
        with warnings.catch_warnings(action="ignore"), open_image(file) as image:
            width, height = image.size
            check_size(width, height, name)
            if image.mode == "F":
                raise unreadable(name, "has values in floating point; save it with 8 or 16 bits")
            if sparing:
                # EXIF may turn it, so that its width becomes its height.
                image.draft(None, (_SPARED * max(size_px), _SPARED * max(size_px)))
            # A progressive JPEG is held whole, whatever part of its size it is decoded at.
            held = (width, height) if image.info.get("progressive") else image.size
            if held[0] * held[1] > MOST_PIXELS:
                raise unreadable(name, f"has {width} x {height} pixels, {too_large}")
            return scaled(image, size_px)
    except PictureError:
        raise
    except UnidentifiedImageError:
        raise unreadable(name, "is no picture in a format that is known") from None
    except Image.DecompressionBombError:
        raise unreadable(name, f"has {too_large}") from None
    except Exception as error:  # decoders of broken files raise whatever they like
        why = "is cut off" if "truncated" in str(error) else "is damaged or of an unknown kind"
        raise unreadable(name, f"{why} ({type(error).__name__})") from None


def check_size(width: int, height: int, name: str) -> None:
    """Refuse a picture that is too small to show anything."""
    if min(width, height) < LEAST_PX:
        why = f"has {width} x {height} pixels, and less than {LEAST_PX} each way show nothing"
        raise unreadable(name, why)


def fitting(width: float, height: float, size_px: tuple[int, int]) -> Box:
    """Return left, top, right and bottom of the largest middle part in the shape of a size.

    Examples
    --------
    >>> fitting(400, 300, (100, 100))
    (50.0, 0.0, 350.0, 300.0)
    """
    share = min(width / size_px[1], height / size_px[0])
    # Rounding may put the edge of a picture a little outside of it.
    left = max((width - share * size_px[1]) / 2, 0.0)
    top = max((height - share * size_px[0]) / 2, 0.0)
    return left, top, min(left + share * size_px[1], width), min(top + share * size_px[0], height)


def scaled(image: Image.Image, size_px: tuple[int, int]) -> NDArray[np.float64]:
    """Scale the middle of a picture to a size, (height, width); values in 0..1, [h, w, 3]."""
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode == "F":
        raise ValueError("floating point has no known range")
    if image.mode in _SIXTEEN_BITS:
        grey = _resized(image.convert("I").convert("F"), size_px) / (2**16 - 1)
        return np.repeat(grey.clip(0, 1)[..., None], 3, axis=2)
    if image.mode in WITH_ALPHA or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return _resized(image.convert("RGB"), size_px) / 255


def _resized(image: Image.Image, size_px: tuple[int, int]) -> NDArray[np.float64]:
    """Cut out the middle and scale it at once: scaled whole, a thin picture would be huge."""
    from PIL.Image import Resampling

    box = fitting(image.width, image.height, size_px)
    resized = image.resize((size_px[1], size_px[0]), Resampling.BICUBIC, box=box)
    return np.asarray(resized, dtype=np.float64)


def fitted(thing: Any, name: str, size_px: tuple[int, int]) -> NDArray[np.float64]:
    """Scale the middle of a picture in memory to a size; values in 0..1, [h, w, 3].

    What has 8 bits becomes to the bit what its lossless file would.

    Parameters
    ----------
    thing
        An image of Pillow; an array, [h, w] or [h, w, 1, 3 or 4]; a tensor, [1, 3 or 4, h, w].
        Whole numbers in 0..255, 16 bits without sign, or fractions in 0..1, encoded for a display.
    size_px
        (height, width).
    """
    from PIL import Image

    try:
        if isinstance(thing, Image.Image):
            check_size(*thing.size, name)
            return scaled(thing, size_px)
        values = stored(thing, name)
        check_size(values.shape[1], values.shape[0], name)
        if values.dtype == np.uint8:
            return scaled(Image.fromarray(values), size_px)
    except PictureError:
        raise
    except Exception as error:  # whatever a lazy image finds when it is decoded
        why = f"is damaged or of an unknown kind ({type(error).__name__})"
        raise unreadable(name, why) from None
    if values.shape[:2] == size_px:
        return values.astype(np.float64)
    planes = np.ascontiguousarray(np.moveaxis(values, 2, 0), np.float32)
    resized = [_resized(Image.fromarray(plane), size_px) for plane in planes]
    return np.stack(resized, axis=2).clip(0, 1)


def stored(thing: Any, name: str) -> NDArray[Any]:
    """Return an array or a tensor as it is kept: 8 bits as they are, any other as RGB in 0..1.

    [h, w] or [h, w, 3 or 4] in 8 bits, [h, w, 3] in single or double precision otherwise.
    """
    values = _channels_last(thing)
    if values is None:
        shape = getattr(thing, "shape", None)
        found = type(thing).__name__ + (f" of shape {tuple(shape)}" if shape is not None else "")
        what = "give an image, an array [h, w, 3] or a tensor [3, h, w]"
        raise unreadable(name, f"is a {found}; {what}")
    if 0 in values.shape:
        raise unreadable(name, "has no pixels")
    if values.dtype.kind not in "biuf":
        raise unreadable(name, f"has values of type {values.dtype}, which are no numbers of pixels")
    low, high = values.min(), values.max()
    if values.dtype.kind in "iu" and values.dtype != np.uint16:
        if low < 0 or high > 255:
            raise unreadable(name, f"has values from {low} to {high}, not in 0..255")
        values = values.astype(np.uint8)
        return np.ascontiguousarray(values[..., 0] if values.shape[-1] == 1 else values)
    if values.dtype == np.uint16:
        values = values / (2.0**16 - 1)
    elif not (low >= -_ROUNDING and high <= 1 + _ROUNDING):  # and not a number
        raise unreadable(
            name,
            f"has values from {low:.4g} to {high:.4g}; give values in 0..1 as a display shows "
            "them, before any normalisation",
        )
    values = values.astype(np.float64 if values.dtype == np.float64 else np.float32).clip(0, 1)
    if values.shape[-1] == 4:
        share = values[..., 3:]
        values = values[..., :3] * share + (1 - share)  # white behind it
    return np.ascontiguousarray(np.broadcast_to(values, (*values.shape[:2], 3)))


def _channels_last(thing: Any) -> NDArray[Any] | None:
    """Return [h, w, channels], None for what is no picture."""
    first = isinstance(thing, torch.Tensor)
    if first:
        thing = thing.detach().cpu()
        thing = (thing.float() if thing.dtype == torch.bfloat16 else thing).numpy()
    if not isinstance(thing, np.ndarray):
        return None
    if thing.ndim == 2:
        return thing[..., None]
    # As is usual for each, unless only the other way makes a picture of it.
    for axis in (0, 2) if first else (2, 0):
        if thing.ndim == 3 and thing.shape[axis] in (1, 3, 4):
            return np.moveaxis(thing, axis, 2)
    return None

"""Pixels of whatever Python has for a picture: images of Pillow, arrays, tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import PictureError
from fechner.stimuli.photographs import check_size, fitting, scaled

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: How far values may be outside of 0..1, for rounding.
_ROUNDING = 1e-4

_CHANNELS = (1, 3, 4)


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
        raise PictureError(
            f"{name} is damaged or of an unknown kind ({type(error).__name__}).", "unreadable"
        ) from None
    return _resampled(values, size_px)


def stored(thing: Any, name: str) -> NDArray[Any]:
    """Return an array or a tensor as it is kept: 8 bits as they are, any other as RGB in 0..1.

    [h, w] or [h, w, 3 or 4] in 8 bits, [h, w, 3] in single or double precision otherwise.
    """

    def refused(why: str) -> PictureError:
        return PictureError(f"{name} {why}.", "unreadable")

    values = _channels_last(thing)
    if values is None:
        raise refused(
            f"is a {type(thing).__name__}{_shape(thing)}; give an image, an array [h, w, 3] or a "
            "tensor [3, h, w]"
        )
    if 0 in values.shape:
        raise refused("has no pixels")
    if values.dtype.kind in "iu" and values.dtype not in (np.uint8, np.uint16):
        if values.min() < 0 or values.max() > 255:
            raise refused(f"has values from {values.min()} to {values.max()}, not in 0..255")
        values = values.astype(np.uint8)
    if values.dtype == np.uint8:
        return np.ascontiguousarray(values[..., 0] if values.shape[-1] == 1 else values)
    if values.dtype == np.uint16:
        values = values / (2.0**16 - 1)
    elif values.dtype.kind not in "bf":
        raise refused(f"has values of type {values.dtype}, which are no numbers of pixels")
    values = values.astype(np.float64 if values.dtype == np.float64 else np.float32)
    low, high = values.min(), values.max()
    if not (low >= -_ROUNDING and high <= 1 + _ROUNDING):  # and not a number
        raise refused(
            f"has values from {low:.4g} to {high:.4g}; give values in 0..1 as a display shows "
            "them, before any normalisation"
        )
    values = values.clip(0, 1)
    if values.shape[-1] == 4:
        share = values[..., 3:]
        values = values[..., :3] * share + (1 - share)  # white behind it
    return np.ascontiguousarray(np.broadcast_to(values, (*values.shape[:2], 3)))


def _channels_last(thing: Any) -> NDArray[Any] | None:
    """Return [h, w, channels], None for what is no picture."""
    import torch

    first = isinstance(thing, torch.Tensor)
    if first:
        thing = thing.detach().cpu()
        thing = (thing.float() if thing.dtype == torch.bfloat16 else thing).numpy()
    if not isinstance(thing, np.ndarray):
        return None
    if thing.ndim == 2:
        return thing[..., None]
    if thing.ndim != 3:
        return None
    # As is usual for each, unless only the other way makes a picture of it.
    for axis in (0, 2) if first else (2, 0):
        if thing.shape[axis] in _CHANNELS:
            return thing if axis == 2 else np.moveaxis(thing, 0, 2)
    return None


def _shape(thing: Any) -> str:
    shape = getattr(thing, "shape", None)
    return f" of shape {tuple(shape)}" if shape is not None else ""


def _resampled(values: NDArray[Any], size_px: tuple[int, int]) -> NDArray[np.float64]:
    """Scale the middle of [h, w, 3] in floating point."""
    from PIL import Image

    height, width = values.shape[:2]
    if (height, width) == size_px:
        return values.astype(np.float64)
    box = fitting(width, height, size_px)
    planes = [
        np.asarray(
            Image.fromarray(np.ascontiguousarray(plane, np.float32)).resize(
                (size_px[1], size_px[0]), Image.Resampling.BICUBIC, box=box
            ),
            dtype=np.float64,
        )
        for plane in np.moveaxis(values, 2, 0)
    ]
    return np.stack(planes, axis=2).clip(0, 1)

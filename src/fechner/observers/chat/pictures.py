"""Pictures as they travel: PNG files of 8 bits, written once however often they are asked about."""

from __future__ import annotations

import base64
import io
import threading
from collections import OrderedDict

import numpy as np

from fechner.errors import ObserverError
from fechner.stimuli import Frames


def png(frames: Frames, row: int) -> bytes:
    """Return one frame as a PNG file without anything but its pixels.

    The same pixels give the same bytes with the same version of Pillow.

    Examples
    --------
    >>> from fechner.stimuli import Field, Stimulus, display, paint
    >>> grey = Stimulus(background_xyz=(38.0, 40.0, 43.6))
    >>> png(paint([grey], Field(8, 8, 64.0), display("encoders")), 0)[1:4]
    b'PNG'
    """
    from PIL import Image

    if frames.light != "display" or frames.pixels.dim() != 4:
        raise ObserverError(
            "picture files hold still pictures as a display takes them; ask for them with "
            "Wants(light='display', bits=8)."
        )
    pixels = frames.pixels[row].detach().cpu().double().clamp(0, 1).numpy()
    levels = np.rint(pixels * 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(levels.transpose(1, 2, 0))).save(file, "PNG")
    return file.getvalue()


class Pictures:
    """Frames as data addresses, each made when it is first asked for; safe among threads."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._made: dict[int, str] = {}
        self._lock = threading.Lock()

    def __getitem__(self, row: int) -> str:
        with self._lock:
            if row not in self._made:
                text = base64.b64encode(png(self._frames, row)).decode("ascii")
                self._made[row] = f"data:image/png;base64,{text}"
            return self._made[row]


#: Frames whose files are remembered, for further questions about them.
_REMEMBERED = 64


class RecentPictures:
    """Pictures of the frames that were asked about last, so that each is encoded once."""

    def __init__(self) -> None:
        self._recent: OrderedDict[int, Pictures] = OrderedDict()

    def __call__(self, frames: Frames) -> Pictures:
        """Return the pictures of frames."""
        # What is remembered holds the frames, so that no others have their number.
        found = self._recent.setdefault(id(frames), Pictures(frames))
        if len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        return found

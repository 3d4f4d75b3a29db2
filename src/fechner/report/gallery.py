"""Pictures of a gallery: drawn as observers were shown them, each of them once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fechner.errors import PictureError
from fechner.experiments import Scene
from fechner.report.tiles import peak_time_s, visible
from fechner.scores.panels import Item
from fechner.stimuli import Picture, Stimulus, paint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

#: What stands in the place of a picture whose file is gone.
GONE = "picture cannot be drawn any more"


class Pictures:
    """Pictures of one scene as they are looked at.

    Parameters
    ----------
    side_px
        Longest side; larger pictures are resampled to it. None keeps every pixel.
    """

    def __init__(self, scene: Scene, side_px: int | None = None) -> None:
        self.scene = scene
        self.side_px = side_px
        self._drawn: dict[Picture | Stimulus, Pixels | None] = {}

    def __getitem__(self, picture: Picture | Stimulus) -> Pixels | None:
        """Return pixels, [h, w, 3]; None for what cannot be drawn any more."""
        if picture not in self._drawn:
            self._drawn[picture] = self._draw(picture)
        return self._drawn[picture]

    def of(self, items: Iterable[Item]) -> list[Pixels | None]:
        """Return the pixels of some items."""
        return [self[item.picture] for item in items]

    def _draw(self, picture: Picture | Stimulus) -> Pixels | None:
        import numpy as np
        from PIL import Image

        field = self.scene.field
        still = picture.at(peak_time_s(picture, field))
        try:
            frames = paint([still], field.still(), self.scene.display)
        except PictureError:
            return None
        pixels: Pixels = visible(frames, self.scene.space.white_xyz)[0]
        longest = max(pixels.shape[:2])
        if self.side_px is None or longest <= self.side_px:
            return pixels
        height, width = (max(1, round(n * self.side_px / longest)) for n in pixels.shape[:2])
        small: Pixels = np.asarray(
            Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS)
        )
        return small

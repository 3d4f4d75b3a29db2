"""Salt and pepper: pixels that are white or black."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fechner.stimuli.manipulations.base import OfPixels, over_pixels
from fechner.stimuli.manipulations.randomness import as_uniform, hashes
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class SaltPepper(OfPixels):
    """Pixels that are white or black, either as likely; the level is scikit-image's ``amount``.

    Pixels that are changed at one level are changed in the same way at all higher ones.

    Parameters
    ----------
    per_channel
        Whether each channel of a pixel has a chance of its own, which makes coloured dots, as
        scikit-image does with colour pictures.
    """

    name: str = "salt-pepper"
    title: str = "Salt and pepper"
    axis: str = "changed part of the pixels"
    reference: str = "richardwebster2018"
    range: tuple[float, float] = (0.002, 1.0)
    words: str = (
        "has white and black pixels, either as likely, in random places: the level is the part of "
        "all pixels"
    )
    random: bool = True
    most: float = 1.0
    per_channel: bool = False

    def change(self, pixels: Tensor, levels: Tensor, seeds: Sequence[Seed]) -> Tensor:
        """Change pixels here and there."""
        return salt_and_pepper(pixels, levels, seeds, self.per_channel)


def salt_and_pepper(
    pixels: Tensor, parts: Tensor, seeds: Sequence[Seed], per_channel: bool
) -> Tensor:
    """Make a part of all pixels, or of all values, white or black."""
    import torch

    channels, height, width = pixels.shape[1:]
    shape = (channels if per_channel else 1, height, width)
    bits = hashes(seeds, "salt and pepper", shape, pixels.device)
    changed = as_uniform(bits, pixels) < over_pixels(parts)
    salt = bits.bitwise_and_(1).to(pixels.dtype)
    return torch.where(changed, salt, pixels)


SALT_PEPPER = SaltPepper()

"""Normalisation: what a model's input was shifted and scaled by in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from fechner.errors import UnknownNameError

if TYPE_CHECKING:
    from torch import Tensor

#: One number for all channels, or one for each.
PerChannel: TypeAlias = float | tuple[float, ...]


NormalisationName = Literal["own", "none", "imagenet", "clip", "half"]


@dataclass(frozen=True)
class Normalisation:
    """(pixels - mean) / std, per channel, of pictures in 0..1.

    Examples
    --------
    >>> import torch
    >>> Normalisation(0.5, 0.5)(torch.full((1, 3, 1, 1), 0.75)).flatten().tolist()
    [0.5, 0.5, 0.5]
    """

    mean: PerChannel = 0.0
    std: PerChannel = 1.0

    def __call__(self, pixels: Tensor) -> Tensor:
        """Normalise [n, 3, h, w], or [n, 3, t, h, w]."""
        if self == NONE:
            return pixels
        shape = (-1, *(1 for _ in pixels.shape[2:]))
        mean, std = (pixels.new_tensor(v).reshape(shape) for v in (self.mean, self.std))
        return (pixels - mean) / std


NONE = Normalisation()

#: Those that have a name; ``own`` is the one a model came with.
NORMALISATIONS = {
    "none": NONE,
    "imagenet": Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "clip": Normalisation(
        (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    ),
    "half": Normalisation(0.5, 0.5),
}


def normalisation(name: str, own: Normalisation) -> Normalisation:
    """Return a normalisation by name."""
    if name == "own":
        return own
    if name not in NORMALISATIONS:
        known = ["own", *NORMALISATIONS]
        raise UnknownNameError("normalisation", name, known, f"there are {', '.join(known)}")
    return NORMALISATIONS[name]

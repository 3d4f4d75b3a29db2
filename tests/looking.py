"""Showing pictures to observers under test."""

import torch

from fechner.observers import Encodes
from fechner.stimuli import Field, Frames, display


def as_frames(pixels: torch.Tensor) -> Frames:
    """Return pixels, [n, 3, h, w] in 0..1, as frames on the display of the encoders suite."""
    height, width = pixels.shape[-2:]
    return Frames(pixels, Field(width, height, ppd=60), display("encoders"), "display")


def frames(side: int = 32, n: int = 3) -> Frames:
    """Return pictures of noise."""
    return as_frames(torch.rand(n, 3, side, side, generator=torch.Generator().manual_seed(1)))


def features(observer: Encodes, shown: Frames, layer: str = "output") -> torch.Tensor:
    """Return what one layer hands on."""
    seen: list[torch.Tensor] = []
    with torch.no_grad():
        observer.features(shown, {layer: seen.append})
    (output,) = seen
    return output

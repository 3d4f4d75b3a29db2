"""The observer without an encoder: the picture itself is the feature vector."""

from __future__ import annotations

from collections.abc import Mapping

from fechner.observers.abilities import Tap, Wants
from fechner.stimuli import Frames


class Pixels:
    """Encodes a picture as its display-encoded pixels ("No Encoder" in Cai et al. 2025)."""

    name = "pixels"
    wants = Wants()
    fingerprint: str | None = "pixels/1"
    layers = ("pixels",)

    def features(self, frames: Frames, taps: Mapping[str, Tap]) -> None:
        """Hand the pixels to the tap."""
        for tap in taps.values():
            tap(frames.pixels)


def make(device: str = "cpu") -> Pixels:
    """Return the observer."""
    return Pixels()

"""Detection of what a band of photographs holds, in the place of noise."""

from __future__ import annotations

from dataclasses import dataclass

from fechner.experiments.detection import Detection
from fechner.stimuli import NaturalBand, Pattern, Photograph


@dataclass(frozen=True)
class NaturalDetection(Detection):
    """Detect one octave of a photograph on a uniform field; all else is as with noise.

    Parameters
    ----------
    photographs
        Those to choose from.
    """

    photographs: tuple[Photograph, ...] = ()

    @property
    def _what(self) -> str:
        return f"One octave of the luminance of a photograph (of {len(self.photographs)})"

    def _pattern(self, index: int, x: float) -> Pattern:
        return NaturalBand.octaves(self._frequency(x), self.photographs)

"""Videos that are painted while they are looked at, so that a long one needs little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fechner.stimuli.display import Display
from fechner.stimuli.field import Field
from fechner.stimuli.painting import Frames, Light, paint
from fechner.stimuli.pictures import Picture
from fechner.stimuli.stimulus import Stimulus

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Clips:
    """Videos of the same size and length, not painted yet.

    Parameters
    ----------
    stimuli
        One for each video.
    field
        With how many frames there are, and how many per second.

    Examples
    --------
    >>> import torch
    >>> from fechner.stimuli import Stimulus, display
    >>> grey = Stimulus(background_xyz=(95.047, 100.0, 108.883))
    >>> clips = Clips((grey,), Field(8, 8, 60.0, frames=30), display("encoders"), "display",
    ...               torch.float32)
    >>> clips.whole().pixels.shape, clips.frame(29).pixels.shape
    (torch.Size([1, 3, 30, 8, 8]), torch.Size([1, 3, 8, 8]))
    """

    stimuli: tuple[Stimulus | Picture, ...]
    field: Field
    display: Display
    light: Light
    dtype: torch.dtype
    device: str = "cpu"

    def __len__(self) -> int:
        return len(self.stimuli)

    def frame(self, number: int) -> Frames:
        """Paint one frame of every video, [n, 3, h, w]."""
        time = self.field.times_s[number]
        return paint(
            [stimulus.at(time) for stimulus in self.stimuli],
            self.field.still(),
            self.display,
            light=self.light,
            dtype=self.dtype,
            device=self.device,
        )

    def __iter__(self) -> Iterator[Frames]:
        """Paint frame after frame."""
        return (self.frame(number) for number in range(self.field.frames))

    def whole(self) -> Frames:
        """Paint all frames, [n, 3, t, h, w]."""
        return paint(
            self.stimuli,
            self.field,
            self.display,
            light=self.light,
            dtype=self.dtype,
            device=self.device,
        )

    def rows(self, which: list[int]) -> Clips:
        """Return some of the videos, by number."""
        return replace(self, stimuli=tuple(self.stimuli[row] for row in which))

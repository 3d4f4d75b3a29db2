"""Painting stimuli as an observer wants them, as many at a time as its memory allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from fechner.errors import PictureError
from fechner.experiments.base import Scene
from fechner.experiments.trials import NoLog, TrialLog
from fechner.observers.abilities import ANY_SIZE, Observer
from fechner.stimuli import Clips, Display, Frames, Picture, Stimulus, paint
from fechner.stimuli.painting import resample
from fechner.stimuli.parts import Part
from fechner.stimuli.pictures import picture_drawn

#: Why a picture was not shown; stored as a flag of each.
PROBLEMS = ("shown", "unreadable", "unreachable", "clipped", "aliased")


class _Placed(Observer, Protocol):
    """An observer whose answers have layers and read-outs."""

    @property
    def layers(self) -> Sequence[str]: ...

    @property
    def readouts(self) -> Sequence[str]: ...


Someone = TypeVar("Someone", bound=_Placed)


class Showing(Generic[Someone]):
    """Shows stimuli to an observer.

    Parameters
    ----------
    on_images
        Called with the number of pictures, or of questions about them, after every batch.
    log, test
        Where answers in words go, and of which test they are.
    """

    def __init__(
        self,
        observer: Someone,
        *,
        batch_size: int,
        device: str = "cpu",
        on_images: Callable[[int], None] = lambda images: None,
        log: TrialLog | None = None,
        test: str = "",
    ) -> None:
        self.observer = observer
        self.batch_size = batch_size
        self.device = device
        self.on_images = on_images
        self.log: TrialLog = log or NoLog()
        self.test = test

    @property
    def layers(self) -> list[str]:
        """Names of the layers that answers have."""
        return list(self.observer.layers)

    @property
    def readouts(self) -> list[str]:
        """Names of the read-outs that answers have."""
        return list(self.observer.readouts)

    def at_a_time(self, scene: Scene) -> int:
        """Return how many pictures or videos of a scene make a batch.

        Batches are counted in pictures of the size at which their memory was measured; larger ones
        count for more.
        """
        wants = self.observer.wants
        field = scene.drawn_field(wants)
        height, width = wants.size_px or ANY_SIZE
        pixels = field.height_px * field.width_px * field.frames
        return max(1, min(self.batch_size, self.batch_size * height * width // pixels))

    def display(self, scene: Scene) -> Display:
        """Return a scene's display, with no more bits than the observer takes."""
        bits = self.observer.wants.bits
        if bits is None:
            return scene.display
        return replace(scene.display, bits=min(bits, scene.display.bits or bits))

    def unreadable(self, picture: Picture, scene: Scene) -> tuple[str, str]:
        """Read what a picture is made of, which is then remembered, or say what is wrong.

        In a word and in a sentence; both are empty for a picture that can be shown.
        """
        field = scene.drawn_field(self.observer.wants)
        try:
            picture_drawn(picture.source, field, self.display(scene).bits, self.device)
        except PictureError as error:
            return error.problem, str(error)
        return "", ""

    def shown(
        self, stimuli: Sequence[Stimulus | Picture], scene: Scene, part: Part | None = None
    ) -> Frames | Clips:
        """Paint stimuli for the observer."""
        import torch

        wants = self.observer.wants
        drawn, seen = scene.fields(wants)
        display = self.display(scene)
        dtype = getattr(torch, wants.dtype)
        if drawn.is_video:
            return Clips(tuple(stimuli), drawn, display, wants.light, dtype, self.device)
        frames = paint(
            stimuli,
            drawn,
            display,
            light=wants.light,
            dtype=dtype,
            device=self.device,
            part=part,
        )
        if seen == frames.field:
            return frames
        assert wants.size_px is not None
        pixels = resample(frames.pixels, wants.size_px)
        return Frames(pixels, seen, frames.display, frames.light)

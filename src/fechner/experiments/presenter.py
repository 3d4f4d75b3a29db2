"""Showing stimuli to an observer: painted as it wants them, as many at a time as memory allows.

How it is asked about them goes with the ability that an experiment asks: `comparing`, `interview`
and `recognition`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from fechner.errors import ObserverError, PictureError
from fechner.experiments.base import Scene
from fechner.observers.abilities import ANY_SIZE, Answers
from fechner.observers.questions import Answer, Question, Reads
from fechner.stimuli import Clips, Display, Frames, Picture, Stimulus, paint
from fechner.stimuli.painting import Part, resample
from fechner.stimuli.pictures import picture_drawn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor

#: Why a picture was not shown; stored as a flag of each.
PROBLEMS = ("shown", "unreadable", "unreachable", "clipped", "aliased")


class Trace(NamedTuple):
    """What a trial was about, for people who look into the log; NaN and -1 where it has none.

    Parameters
    ----------
    abscissa
        Such as the frequency; NaN for blanks, which have none.
    contrast
        As it was shown.
    prompt, draw
        Number of the prompt in the list of them, and of the draw of noise.
    """

    test: str = ""
    abscissa: float = math.nan
    contrast: float = math.nan
    prompt: int = -1
    draw: int = -1


class TrialLog(Protocol):
    """Where answers go; how many more may be asked for."""

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        """Return the answers that are there already."""
        ...

    def allow(self, questions: int) -> int:
        """Return how many of n questions may be asked; raises if none may."""
        ...

    def record(self, key: str, question: Question, answer: Answer, trace: Trace) -> None:
        """Keep an answer."""
        ...


class NoLog:
    """Knows nothing, allows everything, keeps nothing."""

    def known(self, keys: Sequence[str]) -> Mapping[str, Answer]:
        """Return nothing."""
        return {}

    def allow(self, questions: int) -> int:
        """Allow all."""
        return questions

    def record(self, key: str, question: Question, answer: Answer, trace: Trace) -> None:
        """Forget it."""


def _own(row: int) -> tuple[int]:
    return (row,)


@dataclass(eq=False)
class Presenter:
    """Shows stimuli to an observer.

    Parameters
    ----------
    observer
        With the ability that is asked.
    batch_size
        How many pictures of the observer's size are shown at a time.
    on_images
        Called with the number of pictures, or of questions about them, after every batch.
    log, test
        Where answers in words go, and of which test they are.
    """

    observer: Any
    _: KW_ONLY
    batch_size: int
    device: str = "cpu"
    on_images: Callable[[int], None] = lambda images: None
    log: TrialLog | None = None
    test: str = ""

    @property
    def layers(self) -> list[str]:
        """Names of the layers that answers have."""
        return list(self.observer.layers)

    @property
    def readouts(self) -> list[str]:
        """Names of the read-outs that answers have."""
        return list(self.observer.readouts)

    @property
    def reads(self) -> Reads:
        """What the observer makes of words: questions, labels, or nothing."""
        return self.observer.reads if isinstance(self.observer, Answers) else "nothing"

    @property
    def samples(self) -> bool:
        """Whether the observer may answer the same question in another way when asked again."""
        return bool(getattr(self.observer, "samples", False))

    @property
    def trial_log(self) -> TrialLog:
        """Where answers go, if they are worth keeping.

        Those of observers that were lifted are not, and those of bare Python objects hold for one
        process only.
        """
        kept = self.reads != "nothing" and self.observer.fingerprint is not None
        return self.log if kept and self.log is not None else NoLog()

    def display(self, scene: Scene) -> Display:
        """Return a scene's display, with no more bits than the observer takes."""
        bits = self.observer.wants.bits
        if bits is None:
            return scene.display
        return replace(scene.display, bits=min(bits, scene.display.bits or bits))

    def paint(
        self, stimuli: Sequence[Stimulus | Picture], scene: Scene, part: Part | None = None
    ) -> Frames | Clips:
        """Paint stimuli for the observer, the whole field or a part of it."""
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

    def frames(self, stimuli: Sequence[Stimulus | Picture], scene: Scene) -> Frames:
        """Paint stimuli that are no videos."""
        frames = self.paint(stimuli, scene)
        assert isinstance(frames, Frames)
        return frames

    def problem(
        self,
        picture: Picture,
        scene: Scene,
        look: Callable[[Tensor], None] = lambda pixels: None,
    ) -> tuple[str, str]:
        """Draw a picture, which is then remembered, or say what is wrong with it.

        In a word and in a sentence; both are empty for a picture that can be shown.

        Parameters
        ----------
        look
            Called with its pixels as drawn.
        """
        field = scene.drawn_field(self.observer.wants)
        try:
            look(picture_drawn(picture, field, self.display(scene).bits, self.device))
        except PictureError as error:
            return error.problem, str(error)
        return "", ""

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

    def batches(
        self,
        rows: Sequence[int],
        scene: Scene,
        *,
        stimuli: Callable[[int], Sequence[Hashable]] = _own,
        at_least: int = 1,
    ) -> Iterator[list[int]]:
        """Put rows together that show as many stimuli as fit into memory, in their order.

        Parameters
        ----------
        stimuli
            What a row shows: one of its own unless given. What several rows show counts once.
        at_least
            Stimuli that fit in any case.
        """
        size = max(self.at_a_time(scene), at_least)
        batch: list[int] = []
        shown: set[Hashable] = set()
        for row in rows:
            own = stimuli(row)
            if batch and len(shown.union(own)) > max(size, len(own)):
                yield batch
                batch, shown = [], set()
            batch.append(row)
            shown.update(own)
        if batch:
            yield batch

    def checked(
        self, answer: Any, shape: tuple[int, ...], undefined: ArrayLike = False
    ) -> NDArray[np.float64]:
        """Return what came back about a batch as an array, if it is of a shape and finite.

        Parameters
        ----------
        undefined
            Where NaN is an answer, too; like the last axis, or for all.
        """
        if tuple(answer.shape) != shape:
            raise ObserverError(
                f"observer '{self.observer.name}' answered with shape {tuple(answer.shape)} "
                f"where {shape} was expected."
            )
        values: NDArray[np.float64] = answer.double().cpu().numpy()
        bad = np.isinf(values) | (np.isnan(values) & ~np.asarray(undefined, bool))
        rows = bad.any(axis=tuple(range(1, bad.ndim)))
        if rows.any():
            raise ObserverError(
                f"observer '{self.observer.name}' answered NaN or infinity for {rows.sum()} of "
                f"{len(values)} pictures in a batch; check it with pictures of low contrast."
            )
        return values

"""Showing stimuli to an observer in batches, and checking what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import ObserverError
from fechner.experiments.base import Scene
from fechner.observers.abilities import Compares
from fechner.stimuli import Frames, Stimulus, paint

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Presenter:
    """Paints stimuli as an observer wants them and asks for differences, batch by batch.

    Parameters
    ----------
    on_images
        Called with the number of pictures after every batch.
    """

    def __init__(
        self,
        observer: Compares,
        *,
        batch_size: int,
        device: str = "cpu",
        on_images: Callable[[int], None] = lambda images: None,
    ) -> None:
        self.observer = observer
        self.batch_size = batch_size
        self.device = device
        self.on_images = on_images

    @property
    def layers(self) -> list[str]:
        """Names along the second axis of answers."""
        return list(self.observer.layers)

    @property
    def readouts(self) -> list[str]:
        """Names along the third axis of answers."""
        return list(self.observer.readouts)

    def differences(
        self, tests: Sequence[Stimulus], references: Sequence[Stimulus], scene: Scene
    ) -> NDArray[np.float64]:
        """Compare each test with its own reference, [n, layers, read-outs].

        Every distinct reference is looked at once; at most a batch of them is remembered at a time.
        """
        import torch

        answers = np.empty((len(tests), len(self.layers), len(self.readouts)))
        distinct = list(dict.fromkeys(references))
        with torch.no_grad():
            for first in range(0, len(distinct), self.batch_size):
                known = {
                    reference: index
                    for index, reference in enumerate(distinct[first : first + self.batch_size])
                }
                memory = self._look_at(list(known), scene)
                rows = [i for i, reference in enumerate(references) if reference in known]
                for start in range(0, len(rows), self.batch_size):
                    batch = rows[start : start + self.batch_size]
                    which = torch.tensor([known[references[i]] for i in batch], device=self.device)
                    frames = self._frames([tests[i] for i in batch], scene)
                    answer = self.observer.difference(frames, memory, which)
                    answers[batch] = self._checked(answer, len(batch))
                    self.on_images(len(batch))
        return answers

    def _look_at(self, references: Sequence[Stimulus], scene: Scene) -> Any:
        memory = self.observer.remember(self._frames(references, scene))
        self.on_images(len(references))
        return memory

    def _frames(self, stimuli: Sequence[Stimulus], scene: Scene) -> Frames:
        import torch

        wants = self.observer.wants
        seen = scene.seen_field(wants)
        frames = paint(
            stimuli,
            scene.drawn_field(wants),
            scene.display,
            light=wants.light,
            dtype=getattr(torch, wants.dtype),
            device=self.device,
        )
        if seen == frames.field:
            return frames
        pixels = torch.nn.functional.interpolate(
            frames.pixels, size=wants.size_px, mode="bilinear", align_corners=False
        )
        return Frames(pixels, seen, frames.display, frames.light)

    def _checked(self, answer: Any, n: int) -> NDArray[np.float64]:
        shape = (n, len(self.layers), len(self.readouts))
        if tuple(answer.shape) != shape:
            raise ObserverError(
                f"observer '{self.observer.name}' answered with shape {tuple(answer.shape)} "
                f"where {shape} was expected."
            )
        values: NDArray[np.float64] = answer.double().cpu().numpy()
        bad = ~np.isfinite(values).all(axis=(1, 2))
        if bad.any():
            raise ObserverError(
                f"observer '{self.observer.name}' answered NaN or infinity for {bad.sum()} of "
                f"{n} pictures in a batch; check it with pictures of low contrast."
            )
        return values

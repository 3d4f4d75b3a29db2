"""Showing stimuli to an observer that compares, in batches, and checking what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.errors import ObserverError
from fechner.experiments.base import Scene
from fechner.experiments.showing import Showing
from fechner.observers.abilities import Compares, ComparesWithSeveral, ReadsChannels
from fechner.observers.readouts import MAY_BE_UNDEFINED
from fechner.stimuli import Frames, Picture, Stimulus
from fechner.stimuli.painting import resample
from fechner.stimuli.parts import Part, part_that_differs
from fechner.stimuli.patterns import drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor


class Presenter(Showing[Compares]):
    """Asks for differences between stimuli, batch by batch."""

    def differences(
        self, tests: Sequence[Stimulus], references: Sequence[Stimulus], scene: Scene
    ) -> NDArray[np.float64]:
        """Compare each test with its own reference, [n, layers, read-outs].

        NaN where a read-out is undefined, such as the angle from a silent reference. Every distinct
        reference is looked at once; at most a batch of them is remembered at a time.
        """
        shape = (len(self.layers), len(self.readouts))
        return self._asked(self.observer.difference, shape, tests, references, scene)

    def channel_changes(
        self, tests: Sequence[Stimulus], references: Sequence[Stimulus], scene: Scene
    ) -> NDArray[np.float64] | None:
        """Return how each opponent channel changes where tests differ, [n, layers, 3].

        NaN at layers without such channels; None for observers that have none at all. All tests
        differ from their references in the same place.
        """
        if not isinstance(self.observer, ReadsChannels):
            return None
        shape = (len(self.layers), 3)
        where = self._where(tests[0], references[0], scene)
        ask = partial(self.observer.channel_changes, where=where)
        return self._asked(ask, shape, tests, references, scene, may_be_undefined=True)

    def _where(self, test: Stimulus, reference: Stimulus, scene: Scene) -> Tensor:
        """Return 1 at the pixels where a test differs from its reference, 0 elsewhere, [h, w]."""
        import torch

        drawn_field, seen = scene.fields(self.observer.wants)
        shape = (drawn_field.height_px, drawn_field.width_px)
        where = torch.full(shape, float(test.background_xyz != reference.background_xyz))
        for layer in test.layers:
            if layer not in reference.layers:
                where = where.maximum(drawn(layer.pattern, drawn_field).abs().clamp(max=1).float())
        return resample(where[None, None], (seen.height_px, seen.width_px))[0, 0].to(self.device)

    def matches(
        self,
        samples: Sequence[Stimulus | Picture],
        references: Sequence[Stimulus | Picture],
        which: Sequence[Sequence[int]],
        scene: Scene,
    ) -> NDArray[np.float64]:
        """Compare each sample with some of a few pictures, [n, k, layers, read-outs].

        NaN where a difference is undefined. An observer that can looks at each sample once.

        Parameters
        ----------
        which
            Which references, k for each sample.
        """
        import torch

        size = self.at_a_time(scene)
        shape = (len(self.layers), len(self.readouts))
        if not isinstance(self.observer, ComparesWithSeveral) or len(references) > size:
            columns = [
                self._asked(
                    self.observer.difference,
                    shape,
                    samples,
                    [references[place] for place in column],
                    scene,
                    may_be_undefined=True,
                )
                for column in zip(*which, strict=True)
            ]
            return np.stack(columns, axis=1)
        k = len(which[0])
        answers = np.empty((len(samples), k, *shape))
        with torch.no_grad():
            memory = self._look_at(references, scene, None)
            for start in range(0, len(samples), size):
                batch = slice(start, start + size)
                places = torch.tensor(list(which[batch]), device=self.device)
                shown = self.shown(samples[batch], scene)
                assert isinstance(shown, Frames)  # nobody is shown videos here
                found = self.observer.differences(shown, memory, places)
                n = len(places)
                flat = self._checked(found.flatten(0, 1), (n * k, *shape), True)
                answers[batch] = flat.reshape(n, k, *shape)
                self.on_images(n)
        return answers

    def _asked(
        self,
        ask: Callable[..., Any],
        shape: tuple[int, int],
        tests: Sequence[Stimulus | Picture],
        references: Sequence[Stimulus | Picture],
        scene: Scene,
        *,
        may_be_undefined: bool = False,
    ) -> NDArray[np.float64]:
        """Ask about each test with what is remembered of its reference, [n, *shape]."""
        import torch

        answers = np.empty((len(tests), *shape))
        size = self.at_a_time(scene)
        with torch.no_grad():
            for part, chosen in self._parts(tests, references, scene):
                distinct = list(dict.fromkeys(references[i] for i in chosen))
                for first in range(0, len(distinct), size):
                    known = {
                        reference: index
                        for index, reference in enumerate(distinct[first : first + size])
                    }
                    memory = self._look_at(list(known), scene, part)
                    rows = [i for i in chosen if references[i] in known]
                    for start in range(0, len(rows), size):
                        batch = rows[start : start + size]
                        which = torch.tensor(
                            [known[references[i]] for i in batch], device=self.device
                        )
                        shown = self.shown([tests[i] for i in batch], scene, part)
                        answer = ask(shown, memory, which)
                        answers[batch] = self._checked(
                            answer, (len(batch), *shape), may_be_undefined
                        )
                        self.on_images(len(batch))
        return answers

    def _parts(
        self,
        tests: Sequence[Stimulus | Picture],
        references: Sequence[Stimulus | Picture],
        scene: Scene,
    ) -> Iterable[tuple[Part | None, list[int]]]:
        """Put pairs together of which the same part of the field is shown; None is all of it."""
        if not self.observer.wants.pixelwise or any(isinstance(each, Picture) for each in tests):
            return [(None, list(range(len(tests))))]
        together: dict[Part | None, list[int]] = {}
        field = scene.drawn_field(self.observer.wants)
        for row, (test, reference) in enumerate(zip(tests, references, strict=True)):
            others = tuple(layer.pattern for layer in reference.layers)
            targets = tuple(layer.pattern for layer in test.layers if layer not in reference.layers)
            part = part_that_differs(targets, others, field, self.device)
            together.setdefault(part, []).append(row)
        return together.items()

    def _look_at(
        self, references: Sequence[Stimulus | Picture], scene: Scene, part: Part | None
    ) -> Any:
        memory = self.observer.remember(self.shown(references, scene, part))
        self.on_images(len(references))
        return memory

    def _checked(
        self, answer: Any, shape: tuple[int, int, int], may_be_undefined: bool
    ) -> NDArray[np.float64]:
        if tuple(answer.shape) != shape:
            raise ObserverError(
                f"observer '{self.observer.name}' answered with shape {tuple(answer.shape)} "
                f"where {shape} was expected."
            )
        values: NDArray[np.float64] = answer.double().cpu().numpy()
        bad = np.isinf(values)
        if not may_be_undefined:
            bad |= np.isnan(values) & [each not in MAY_BE_UNDEFINED for each in self.readouts]
        rows = bad.any(axis=(1, 2))
        if rows.any():
            raise ObserverError(
                f"observer '{self.observer.name}' answered NaN or infinity for {rows.sum()} of "
                f"{len(values)} pictures in a batch; check it with pictures of low contrast."
            )
        return values

"""Asking an observer that compares how different stimuli are, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fechner.experiments.base import Scene
from fechner.experiments.presenter import Presenter
from fechner.observers.abilities import ComparesWithSeveral, ReadsChannels
from fechner.observers.readouts import MAY_BE_UNDEFINED
from fechner.stimuli import Picture, Stimulus
from fechner.stimuli.painting import Part, part_that_differs, resample
from fechner.stimuli.patterns import drawn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from torch import Tensor


def differences(
    presenter: Presenter, tests: Sequence[Stimulus], references: Sequence[Stimulus], scene: Scene
) -> NDArray[np.float64]:
    """Compare each test with its own reference, [n, layers, read-outs].

    NaN where a read-out is undefined, such as the angle from a silent reference. Every distinct
    reference is looked at once; at most a batch of them is remembered at a time.
    """
    ask = presenter.observer.difference
    undefined = [name in MAY_BE_UNDEFINED for name in presenter.readouts]
    return _asked(presenter, ask, len(undefined), tests, references, scene, undefined)


def channel_changes(
    presenter: Presenter, tests: Sequence[Stimulus], references: Sequence[Stimulus], scene: Scene
) -> NDArray[np.float64] | None:
    """Return how each opponent channel changes where tests differ, [n, layers, 3].

    NaN at layers without such channels; None for observers that have none at all. All tests differ
    from their references in the same place.
    """
    if not isinstance(presenter.observer, ReadsChannels):
        return None
    where = _where(presenter, tests[0], references[0], scene)
    ask = partial(presenter.observer.channel_changes, where=where)
    return _asked(presenter, ask, 3, tests, references, scene, True)


def _where(presenter: Presenter, test: Stimulus, reference: Stimulus, scene: Scene) -> Tensor:
    """Return 1 at the pixels where a test differs from its reference, 0 elsewhere, [h, w]."""
    import torch

    drawn_field, seen = scene.fields(presenter.observer.wants)
    shape = (drawn_field.height_px, drawn_field.width_px)
    where = torch.full(shape, float(test.background_xyz != reference.background_xyz))
    for layer in test.layers:
        if layer not in reference.layers:
            where = where.maximum(drawn(layer.pattern, drawn_field).abs().clamp(max=1).float())
    return resample(where[None, None], (seen.height_px, seen.width_px))[0, 0].to(presenter.device)


def differences_from_several(
    presenter: Presenter,
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

    observer, outputs = presenter.observer, len(presenter.readouts)
    several = isinstance(observer, ComparesWithSeveral)
    if not several or len(references) > presenter.at_a_time(scene):
        columns = [
            _asked(
                presenter,
                observer.difference,
                outputs,
                samples,
                [references[place] for place in column],
                scene,
                True,
            )
            for column in zip(*which, strict=True)
        ]
        return np.stack(columns, axis=1)
    shape = (len(which[0]), len(presenter.layers), outputs)
    answers = np.empty((len(samples), *shape))
    with torch.no_grad():
        memory = _look_at(presenter, references, scene, None)
        for batch in presenter.batches(range(len(samples)), scene):
            places = torch.tensor([which[row] for row in batch], device=presenter.device)
            frames = presenter.frames([samples[row] for row in batch], scene)
            found = observer.differences(frames, memory, places)
            answers[batch] = presenter.checked(found, (len(batch), *shape), True)
            presenter.on_images(len(batch))
    return answers


def _asked(
    presenter: Presenter,
    ask: Callable[..., Any],
    outputs: int,
    tests: Sequence[Stimulus | Picture],
    references: Sequence[Stimulus | Picture],
    scene: Scene,
    undefined: ArrayLike,
) -> NDArray[np.float64]:
    """Ask about each test with what is remembered of its reference, [n, layers, outputs]."""
    import torch

    shape = (len(presenter.layers), outputs)
    answers = np.empty((len(tests), *shape))
    with torch.no_grad():
        for part, chosen in _parts(presenter, tests, references, scene):
            distinct = list(dict.fromkeys(references[row] for row in chosen))
            for some in presenter.batches(range(len(distinct)), scene):
                known = {distinct[place]: index for index, place in enumerate(some)}
                memory = _look_at(presenter, list(known), scene, part)
                rows = [row for row in chosen if references[row] in known]
                for batch in presenter.batches(rows, scene):
                    which = torch.tensor(
                        [known[references[row]] for row in batch], device=presenter.device
                    )
                    shown = presenter.paint([tests[row] for row in batch], scene, part)
                    answer = ask(shown, memory, which)
                    answers[batch] = presenter.checked(answer, (len(batch), *shape), undefined)
                    presenter.on_images(len(batch))
    return answers


def _parts(
    presenter: Presenter,
    tests: Sequence[Stimulus | Picture],
    references: Sequence[Stimulus | Picture],
    scene: Scene,
) -> Iterable[tuple[Part | None, list[int]]]:
    """Put pairs together of which the same part of the field is shown; None is all of it."""
    wants = presenter.observer.wants
    if not wants.pixelwise or any(isinstance(each, Picture) for each in tests):
        return [(None, list(range(len(tests))))]
    together: dict[Part | None, list[int]] = {}
    field = scene.drawn_field(wants)
    for row, (test, reference) in enumerate(zip(tests, references, strict=True)):
        others = tuple(layer.pattern for layer in reference.layers)
        targets = tuple(layer.pattern for layer in test.layers if layer not in reference.layers)
        part = part_that_differs(targets, others, field, presenter.device)
        together.setdefault(part, []).append(row)
    return together.items()


def _look_at(
    presenter: Presenter,
    references: Sequence[Stimulus | Picture],
    scene: Scene,
    part: Part | None,
) -> Any:
    memory = presenter.observer.remember(presenter.paint(references, scene, part))
    presenter.on_images(len(references))
    return memory

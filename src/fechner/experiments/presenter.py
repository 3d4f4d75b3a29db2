"""Showing stimuli to an observer: painted as it wants them, as many at a time as memory allows.

Observers that compare are asked here how different stimuli are; those that answer in `interview`,
those that name in `recognition`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fechner.arrays import Tensor, torch, xr
from fechner.errors import ObserverError, PictureError
from fechner.experiments.base import Scene
from fechner.observers.abilities import ANY_SIZE, Answers
from fechner.observers.questions import Answer, Question, Reads
from fechner.observers.readouts import MAY_BE_UNDEFINED
from fechner.stimuli import Clips, Display, Frames, Picture, Stimulus, paint
from fechner.stimuli.painting import Part, part_that_differs, resample
from fechner.stimuli.patterns import drawn
from fechner.stimuli.pictures import picture_drawn

#: Why a picture was not shown; stored as a flag of each.
PROBLEMS = ("shown", "unreadable", "unreachable", "clipped", "aliased")


def problems_as_flags(
    dims: Any, problems: Sequence[tuple[str, str]]
) -> tuple[Any, NDArray[np.uint8], dict[str, str]]:
    """Return why pictures were not shown as a variable of a result, which says what flags mean."""
    flags = [PROBLEMS.index(why or "shown") for why, _ in problems]
    return dims, np.array(flags, np.uint8), {"meanings": " ".join(PROBLEMS)}


class Trace(NamedTuple):
    """What a trial was about, for people who look into the log; NaN and -1 where it has none.

    The contrast is as it was shown; prompt and draw are numbers in the list of prompts, and of
    noise.
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

    def allow(self, questions: int) -> int:
        """Return how many of n questions may be asked; raises if none may."""

    def record(self, key: str, question: Question, answer: Answer, trace: Trace) -> None:
        """Keep an answer."""


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


@dataclass(eq=False)
class Presenter:
    """Shows stimuli to an observer with the ability that is asked.

    Parameters
    ----------
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
        """Where answers go; those of lifted observers and of bare Python objects are not kept."""
        kept = self.reads != "nothing" and self.observer.fingerprint is not None
        return self.log if kept and self.log is not None else NoLog()

    def unanswered(self, *shape: int) -> NDArray[np.float64]:
        """Return room for answers, NaN, of a shape by layers and read-outs."""
        return np.full((*shape, len(self.layers), len(self.readouts)), np.nan)

    def result(
        self, scene: Scene, data: Mapping[str, Any], coords: Mapping[str, Any], **attributes: Any
    ) -> xr.Dataset:
        """Return answers with what all results have: layers, read-outs, the field drawn and seen.

        Data and coordinates are those of `xarray.Dataset`; the attribute ``along`` names the
        dimension along which pieces are put together.
        """
        own = {"layer": ("layer", self.layers), "readout": ("readout", self.readouts)}
        for kind, field in zip(("drawn", "seen"), scene.fields(self.observer.wants), strict=True):
            for name in ("height_px", "ppd", "width_px"):
                attributes[f"{kind}_{name}"] = getattr(field, name)
        return xr.Dataset(data, {**coords, **own}, attributes)

    def display(self, scene: Scene) -> Display:
        """Return a scene's display, with no more bits than the observer takes."""
        bits = self.observer.wants.bits
        if bits is None:
            return scene.display
        return replace(scene.display, bits=min(bits, scene.display.bits or bits))

    def paint(
        self, stimuli: Sequence[Stimulus | Picture], scene: Scene, part: Part | None = None
    ) -> Any:
        """Paint stimuli for the observer, all or part of the field; videos are `Clips`."""
        wants, device = self.observer.wants, self.device
        drawn, seen = scene.fields(wants)
        display, dtype = self.display(scene), getattr(torch, wants.dtype)
        if drawn.is_video:
            return Clips(tuple(stimuli), drawn, display, wants.light, dtype, device)
        frames = paint(
            stimuli, drawn, display, light=wants.light, dtype=dtype, device=device, part=part
        )
        if seen == frames.field:
            return frames
        assert wants.size_px is not None
        pixels = resample(frames.pixels, wants.size_px)
        return Frames(pixels, seen, frames.display, frames.light)

    def problem(
        self, picture: Picture, scene: Scene, look: Callable[[Tensor], None] | None = None
    ) -> tuple[str, str]:
        """Draw a picture, which is then remembered, or say what is wrong with it.

        In a word and in a sentence; both are empty for a picture that can be shown, whose pixels
        are handed to ``look``.
        """
        field = scene.drawn_field(self.observer.wants)
        try:
            pixels = picture_drawn(picture, field, self.display(scene).bits, self.device)
            if look is not None:
                look(pixels)
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
        stimuli: Callable[[int], Sequence[Hashable]] = lambda row: (row,),
        at_least: int = 1,
    ) -> Iterator[list[int]]:
        """Put rows together that show as many stimuli as fit into memory, in their order.

        ``stimuli`` returns what a row shows, which counts once for several rows; a batch may hold
        ``at_least`` so many in any case.
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
        """Return an answer about a batch as an array, if it is of a shape and finite.

        NaN is an answer, too, where ``undefined``: like the last axis, or for all.
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


def differences(
    presenter: Presenter,
    tests: Sequence[Stimulus | Picture],
    references: Sequence[Stimulus | Picture],
    scene: Scene,
    *,
    kept: NDArray[np.bool_] | None = None,
    where: Tensor | None = None,
    may_be_undefined: bool = False,
) -> NDArray[np.float64]:
    """Compare each test with its own reference, [n, layers, read-outs].

    NaN where a read-out is undefined, such as the angle from a silent reference. Every distinct
    reference is looked at once; at most a batch of them is remembered at a time.

    Parameters
    ----------
    kept
        Which tests are shown, in the shape that answers have in the place of n; NaN for the others.
    where
        Pixels [h, w] whose opponent channels are compared instead; they stand for read-outs.
    """
    observer, layers = presenter.observer, len(presenter.layers)
    ask: Callable[..., Any] = observer.difference
    undefined = [may_be_undefined or name in MAY_BE_UNDEFINED for name in presenter.readouts]
    if where is not None:
        ask, undefined = partial(observer.channel_changes, where=where), [True] * 3
    outputs = len(undefined)
    answers = np.full((len(tests), layers, outputs), np.nan)
    wants, field = observer.wants, scene.drawn_field(observer.wants)
    # Pairs of which the same part of the field is shown are put together; None is all of it.
    parts: dict[Part | None, list[int]] = {}
    for row in range(len(tests)) if kept is None else np.flatnonzero(kept).tolist():
        test, reference, part = tests[row], references[row], None
        if wants.pixelwise and isinstance(test, Stimulus) and isinstance(reference, Stimulus):
            others = tuple(layer.pattern for layer in reference.layers)
            targets = tuple(layer.pattern for layer in test.layers if layer not in reference.layers)
            part = part_that_differs(targets, others, field, presenter.device)
        parts.setdefault(part, []).append(row)
    with torch.no_grad():
        for part, chosen in parts.items():
            distinct = list(dict.fromkeys(references[row] for row in chosen))
            for some in presenter.batches(range(len(distinct)), scene):
                known = {distinct[place]: index for index, place in enumerate(some)}
                memory = observer.remember(presenter.paint(list(known), scene, part))
                presenter.on_images(len(known))
                own = [row for row in chosen if references[row] in known]
                for batch in presenter.batches(own, scene):
                    at = [known[references[row]] for row in batch]
                    shown = presenter.paint([tests[row] for row in batch], scene, part)
                    answer = ask(shown, memory, torch.tensor(at, device=presenter.device))
                    expected = (len(batch), layers, outputs)
                    answers[batch] = presenter.checked(answer, expected, undefined)
                    presenter.on_images(len(batch))
    return answers if kept is None else answers.reshape(*kept.shape, layers, outputs)


def channel_changes(
    presenter: Presenter,
    tests: Sequence[Stimulus],
    references: Sequence[Stimulus],
    scene: Scene,
    kept: NDArray[np.bool_],
) -> NDArray[np.float64] | None:
    """Return how each opponent channel changes where tests differ, [n, layers, 3].

    NaN at layers without such channels; None for observers that have none at all. All tests differ
    from their references in the same place.
    """
    if not hasattr(presenter.observer, "channel_changes"):
        return None
    field, seen = scene.fields(presenter.observer.wants)
    test, reference = tests[0], references[0]
    other = float(test.background_xyz != reference.background_xyz)
    where = torch.full((field.height_px, field.width_px), other)
    for layer in test.layers:
        if layer not in reference.layers:
            where = where.maximum(drawn(layer.pattern, field).abs().clamp(max=1).float())
    where = resample(where[None, None], (seen.height_px, seen.width_px))[0, 0]
    where = where.to(presenter.device)
    return differences(presenter, tests, references, scene, kept=kept, where=where)


def differences_from_several(
    presenter: Presenter,
    samples: Sequence[Stimulus | Picture],
    references: Sequence[Stimulus | Picture],
    which: Sequence[Sequence[int]],
    scene: Scene,
) -> NDArray[np.float64]:
    """Compare each sample with some of a few pictures, [n, k, layers, read-outs].

    NaN where a difference is undefined. An observer that can looks at each sample once. ``which``
    are the places of references, k for each sample.
    """
    observer = presenter.observer
    if not hasattr(observer, "differences") or len(references) > presenter.at_a_time(scene):
        columns = [[references[place] for place in column] for column in zip(*which, strict=True)]
        found = [
            differences(presenter, samples, column, scene, may_be_undefined=True)
            for column in columns
        ]
        return np.stack(found, axis=1)
    answers = presenter.unanswered(len(samples), len(which[0]))
    with torch.no_grad():
        memory = observer.remember(presenter.paint(references, scene))
        presenter.on_images(len(references))
        for batch in presenter.batches(range(len(samples)), scene):
            places = torch.tensor([which[row] for row in batch], device=presenter.device)
            frames = presenter.paint([samples[row] for row in batch], scene)
            answer = observer.differences(frames, memory, places)
            answers[batch] = presenter.checked(answer, (len(batch), *answers.shape[1:]), True)
            presenter.on_images(len(batch))
    return answers

"""Asking whether there is something: detection in words, over contrast (Hernández-Cámara 2025).

At every abscissa a psychometric function is measured for each prompt. Observers that read nothing
(comparers and encoders, lifted) are asked the same of the same pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor, torch, xr
from fechner.errors import ObserverError, PictureError
from fechner.experiments.base import Piece, Sample, Scene, abscissa, sample_grid
from fechner.experiments.detection import Detection, flag_contrasts, flagged
from fechner.experiments.interview import GRADED, Chain, Interview, Request, hold
from fechner.experiments.placement import Placement, Trial, advance
from fechner.experiments.presenter import Presenter, Trace
from fechner.human import HumanReference, StandardSpatialObserver
from fechner.observers.abilities import Ability, Need
from fechner.observers.questions import Prompt, Reads
from fechner.stimuli import Field, Layer, Picture, Stimulus
from fechner.stimuli.painting import resample
from fechner.stimuli.patterns import drawn, with_seed

#: Draws of the anchor; its median is the criterion of observers that were lifted.
_ANCHORS = 10


@dataclass(frozen=True)
class Asking:
    """Measure psychometric functions by asking whether there is something.

    Parameters
    ----------
    questions, labels
        Prompts for observers that answer questions, and for those that match labels; of each, the
        first option says that there is something.
    pictures
        1: is there something? 2: which of two pictures, one of which shows nothing.
    human
        The human curve; thresholds of the task itself are a second one.
    anchor
        Abscissa whose human threshold is the criterion of observers that were lifted.
    """

    id: str
    title: str
    task: Detection
    scene: Scene
    placement: Placement
    questions: tuple[Prompt, ...]
    labels: tuple[Prompt, ...]
    pictures: int = 1
    human: HumanReference = StandardSpatialObserver()
    anchor: float = 4.0
    seed: int = 0
    drop: bool = True
    version: int = 2

    asks: ClassVar[Ability] = "answers"

    @property
    def reference(self) -> str:
        """Where the human curve comes from."""
        return self.human.citation

    @property
    def needs(self) -> tuple[Need, ...]:
        """What an observer must be able to see."""
        return (*self.task.needs, "several") if self.pictures > 1 else self.task.needs

    @property
    def axes(self) -> tuple[str, str]:
        """Abscissa and contrast, with units."""
        return abscissa(self.task.over).label, "RMS contrast"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        asked = (
            "The observer is shown one picture and asked whether there is something"
            if self.pictures == 1
            else "The observer is shown two pictures, one of them blank, and asked which it is"
        )
        return (
            f"{self.task.method} {asked}, in {len(self.questions)} wordings, or which of two "
            f"labels fits, in {len(self.labels)}. {self.placement.method('contrasts')} The "
            "contrast of a trial is what is left of the pattern in the picture as it was handed "
            "over. Observers that read nothing say yes where their response exceeds that to the "
            f"human threshold at {self.anchor:g}{abscissa(self.task.over).unit}. Thresholds of "
            f"the human curve are {self.human.words}. {self.scene.method}"
        )

    @property
    def abscissae(self) -> tuple[float, ...]:
        """What is asked about: all of the task's, or those that people were measured at."""
        return self.human.at or self.task.values

    def pieces(self) -> Sequence[Piece]:
        """List one piece for each abscissa."""
        prompts = max(len(self.questions), len(self.labels))
        questions = self.placement.most * prompts
        # With chosen contrasts, every prompt may come to pictures of its own.
        pictures = questions if self.placement.adaptive else self.placement.most
        return [
            Piece(f"point-{index:02d}", index, index + 1, pictures, questions=questions)
            for index in range(len(self.abscissae))
        ]

    def read_by(self, reads: Reads | None) -> Asking:
        """Return what is asked of observers by what they read; None where that is not known."""
        if reads == "questions":
            return replace(self, labels=())
        if reads == "labels":
            return replace(self, questions=())
        if reads == "nothing":  # one question for all
            return replace(self, questions=self.questions[:1], labels=self.labels[:1])
        return self

    @property
    def question_size(self) -> tuple[int, float]:
        """How many pictures a question is about, and how many words it has on average."""
        words = [len(prompt.text.split()) for prompt in self.questions]
        return self.pictures, sum(words) / max(1, len(words))

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Ask about one abscissa."""
        found: xr.Dataset = hold(presenter, self.interview(piece, presenter))
        return found

    def interview(self, piece: Piece, presenter: Presenter) -> Interview:
        """Return all questions about one abscissa."""
        index, observer = piece.start, presenter.observer
        if getattr(observer, "batch", False) and self.placement.adaptive:
            raise ObserverError(
                f"'{observer.name}' is asked by batches, which take hours, so "
                "contrasts cannot be chosen by its answers: use --constant, or leave batch out."
            )
        prompts = prompts_for(presenter, self.questions, self.labels)
        if hasattr(observer, "calibrate"):
            # Show an observer that judges by a criterion what just counts as something.
            at = int(np.abs(np.array(self.abscissae) - self.anchor).argmin())
            anchors = [self._shown(at, -1, draw, self._human(at)) for draw in range(_ANCHORS)]
            with torch.no_grad():
                nothing = presenter.paint([self._nothing(at)], self.scene)
                observer.calibrate(nothing, presenter.paint(anchors, self.scene))
        contrast, yes = presenter.unanswered(2, len(prompts), self.placement.most)
        # A level of -1 stands where fewer trials were needed.
        level = np.full_like(yes, -1, np.int16)
        record = {"contrast": contrast, "level": level, "yes": yes}
        layers, readouts = yes.shape[2:]
        samples, chooses = presenter.samples, [name != GRADED for name in presenter.readouts]

        def chain(asked: Sequence[int], place: tuple[int, int], along: NDArray[np.bool_]) -> Chain:
            """Ask some prompts to the end of a track.

            Answers of the layer and read-out ``place`` choose contrasts; all those of ``along`` are
            measured.
            """
            track = self.placement.track(blanks=None if samples else 1)
            trials, first = advance(track), 0
            while trials:
                shown = [(number, i, t) for number in asked for i, t in enumerate(trials, first)]
                requests = [
                    self._request(index, number, prompts[number], trial, samples)
                    for number, _, trial in shown
                ]
                heard = yield requests
                second = np.array([each.target for each in requests])[:, None, None]
                said = np.where(second, 1 - heard.yes, heard.yes)
                for (number, i, trial), found, own in zip(shown, heard.contrast, said, strict=True):
                    level[number, i][along] = trial.level
                    contrast[number, i][along] = found
                    yes[number, i][along] = own[along]
                first += len(trials)
                trials = advance(track, said[:, *place].tolist())

        def chains() -> Iterator[Chain]:
            """Go through chains: of every prompt, layer and read-out where contrasts are chosen.

            Read-outs of probabilities are measured along with the first choice of their layer.
            """
            if not self.placement.adaptive:  # all at once, so that prompts share pictures
                yield chain(range(len(prompts)), (0, 0), np.ones((layers, readouts), bool))
                return
            own = np.flatnonzero(chooses).tolist()
            for number, layer, readout in product(range(len(prompts)), range(layers), own):
                along = np.zeros((layers, readouts), bool)
                along[layer] = ~np.array(chooses) & (readout == own[0])
                along[layer, readout] = True
                yield chain([number], (layer, readout), along)

        return Interview(
            self.scene,
            chains(),
            partial(self._found, index, prompts, presenter, record),
            partial(_contrast_shown, self.scene.drawn_field(observer.wants)),
        )

    def _request(
        self, index: int, number: int, prompt: Prompt, trial: Trial, samples: bool
    ) -> Request:
        contrast, second = self.placement.levels[trial.level], 0
        stimuli = [self._shown(index, trial.level, trial.draw, contrast)]
        if self.pictures > 1:
            second = int(np.random.default_rng((self.seed, index, *trial)).integers(2))
            stimuli.insert(1 - second, self._nothing(index))
        # Nothing is the same picture however often it is drawn, and at every abscissa: another
        # trial for those only who may answer otherwise when they are asked again.
        again = samples and not contrast
        repeat = index * self.placement.most + trial.draw if again else 0
        x = self.abscissae[index] if contrast else math.nan
        trace = Trace("", x, contrast, number, trial.draw)
        return Request(tuple(stimuli), prompt, repeat, second, trace)

    def _found(
        self,
        index: int,
        prompts: Sequence[Prompt],
        presenter: Presenter,
        record: dict[str, NDArray[Any]],
    ) -> xr.Dataset:
        """Return what came of all trials about one abscissa."""
        wants, task, unit = presenter.observer.wants, self.task, {"unit": self.task.unit}
        x, fields = self.abscissae[index], self.scene.fields(wants)
        castle = task.threshold_of(task.human, x, fields[0], self.scene.space)
        dims = ("point", "prompt", "trial", "layer", "readout")
        return presenter.result(
            self.scene,
            {name: (dims, values[None]) for name, values in record.items()},
            {
                "abscissa": ("point", [x], {"name": task.over}),
                "castle_threshold": ("point", [castle], unit),
                "human_threshold": ("point", [self._human(index)], unit),
                "dropped": flagged("point", [self._flag(index, *fields)]),
                "prompt": ("prompt", [each.text or " | ".join(each.options) for each in prompts]),
            },
            along="point",
            blanks_once=int(not presenter.samples),
            grey_level=self._grey_level(wants.bits),
            reads=presenter.observer.reads,
        )

    def _shown(self, index: int, level: int, draw: int, contrast: float) -> Stimulus:
        """Return a picture; what is random is drawn afresh for every level and draw."""
        reference = self._nothing(index)
        target = self.task.target(index, self.abscissae[index], contrast, self.scene.space)
        pattern = with_seed(target.pattern, self.seed, index, level + 1, draw)
        return replace(reference, layers=(*reference.layers, replace(target, pattern=pattern)))

    def _nothing(self, index: int) -> Stimulus:
        return self.task.reference(index, self.abscissae[index], self.scene.space)

    def _human(self, index: int) -> float:
        field, space = self.scene.field, self.scene.space
        return self.task.threshold_of(self.human, self.abscissae[index], field, space)

    def _flag(self, index: int, drawn: Field, seen: Field) -> int:
        """Say why an abscissa cannot be shown as meant at any contrast; 0 if it can."""
        if not self.drop:
            return 0
        target = self._shown(index, 0, 0, 0.0).layers[-1]
        least = np.array([self.placement.levels[1]])
        nothing, display = self._nothing(index), self.scene.display
        return int(flag_contrasts(nothing, target, least, display, drawn, seen)[0])

    def _grey_level(self, bits: int | None) -> float:
        """Return the contrast of one step of the display at the background, 0 where none shows."""
        display = self.scene.display
        depths = [depth for depth in (bits, display.bits) if depth is not None]
        if not depths or display.dither:
            return 0.0
        background = torch.tensor([self._nothing(0).background_xyz[1]], dtype=torch.float64)
        exact = replace(display, bits=None)
        step = 1 / (2 ** min(depths) - 1)
        return float(exact.decode(exact.encode(background) + step) / background - 1)

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return stimuli over abscissa (columns) and contrast (rows, strongest on top)."""

        def shown(index: int, level: int) -> Stimulus:
            found = self._shown(index, level, 0, self.placement.levels[level])
            try:
                drawn(found.layers[-1].pattern, self.scene.field)
            except PictureError:  # made of photographs that are gone
                return self._nothing(index)
            return found

        return sample_grid(shown, self.abscissae, self.placement.levels)


def prompts_for(
    presenter: Presenter, questions: Sequence[Prompt], labels: Sequence[Prompt]
) -> list[Prompt]:
    """Return what an observer is asked: of what it reads, or one for those that read nothing."""
    reads = presenter.reads
    found = list(labels if reads == "labels" else questions)
    if reads == "nothing":
        return [*questions, *labels][:1]
    if not found:
        wanted = "pairs of labels, as 'a pattern | nothing'" if reads == "labels" else "questions"
        raise ObserverError(
            f"observer '{presenter.observer.name}' reads {reads}, and there are none among the "
            f"prompts: write {wanted}."
        )
    return found


def _contrast_shown(field: Field, stimulus: Stimulus | Picture, light: Tensor) -> float:
    """Return how much of a stimulus's pattern is in the picture of it."""
    assert isinstance(stimulus, Stimulus)
    layers = stimulus.layers
    return remaining_contrast(light, layers[-1], field) if layers and layers[-1].contrast else 0.0


def remaining_contrast(luminance: Tensor, target: Layer, field: Field) -> float:
    """Return the RMS contrast of a pattern in a picture [h, w]: its share of what varies there.

    Rounding to grey levels, dither and cut-off peaks add much that is not the pattern; the
    covariance with the pattern is what is left of it. Pictures of another size are compared with
    the pattern resampled in the same way.
    """
    pattern = drawn(target.pattern, field, str(luminance.device))
    if pattern.shape != luminance.shape:
        pattern = resample(pattern[None, None], luminance.shape)[0, 0]
    pattern = pattern - pattern.mean()
    relative = luminance / luminance.mean() - 1
    return float((relative * pattern).mean() / pattern.square().mean().sqrt())

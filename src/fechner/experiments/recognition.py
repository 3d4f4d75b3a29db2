"""Asking which of several classes pictures show: by scores, in words, or by labels.

Classifiers give scores to the experiment's classes; observers that read words are asked one
question about every picture, and their answers go through the log of trials as all others do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fechner.errors import ObserverError, PictureError
from fechner.experiments.base import Scene
from fechner.experiments.interview import GRADED, Interviewer
from fechner.experiments.showing import Showing
from fechner.observers.abilities import Answers, ScoresClasses
from fechner.observers.classes import readable_names
from fechner.observers.questions import Answer, Prompt, Question
from fechner.stimuli import Frames, Picture
from fechner.stimuli.pictures import picture_drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    Floats: TypeAlias = NDArray[np.float64]

#: What stands in the place of a choice where a reply was none of the classes, and where nothing was
#: shown.
NONE_OF_THEM, NOT_SHOWN = -1, -2


@dataclass(frozen=True)
class Recognised:
    """What came of pictures.

    Parameters
    ----------
    chosen
        Which class was chosen, `NONE_OF_THEM` or `NOT_SHOWN`; [n, layers, read-outs].
    scores
        Of every class, the highest the most likely, NaN where they are not known;
        [n, layers, classes].
    problems
        Why a picture was not shown, in a word and in a sentence; empty where it was, [n].
    """

    chosen: NDArray[np.int16]
    scores: Floats
    problems: list[tuple[str, str]]

    def right(self, labels: Sequence[int], readouts: Sequence[str]) -> Floats:
        """Return whether choices are right, 1 or 0; NaN where nothing was shown.

        A reply that is none of the classes is wrong. The read-out `GRADED` has the probability of
        the right class, NaN where it is not known.
        """
        wanted = np.asarray(labels)
        right: Floats = (self.chosen == wanted[:, None, None]).astype(float)
        if GRADED in readouts:
            right[..., list(readouts).index(GRADED)] = _of(self.scores, wanted)
        right[self.chosen == NOT_SHOWN] = np.nan
        return right

    def margin(self, labels: Sequence[int]) -> Floats:
        """Return by how much the score of the right class exceeds all others, [n, layers]."""
        wanted = np.asarray(labels)
        others = self.scores.copy()
        np.put_along_axis(others, _index(wanted, others), -np.inf, axis=2)
        return np.asarray(_of(self.scores, wanted) - others.max(axis=2))


def _index(wanted: NDArray[Any], scores: Floats) -> NDArray[Any]:
    return np.broadcast_to(wanted[:, None, None], (*scores.shape[:2], 1))


def _of(scores: Floats, wanted: NDArray[Any]) -> Floats:
    return np.asarray(np.take_along_axis(scores, _index(wanted, scores), axis=2)[..., 0])


class Recogniser(Showing[ScoresClasses | Answers]):
    """Asks an observer which of some classes pictures show; pictures are what it counts."""

    @property
    def reads(self) -> str:
        """What the observer makes of words: questions, labels, or nothing."""
        return self.observer.reads if isinstance(self.observer, Answers) else "nothing"

    def recognise(
        self,
        pictures: Sequence[Picture],
        classes: Sequence[str],
        scene: Scene,
        *,
        look: Callable[[int, Tensor], None] = lambda row, pixels: None,
    ) -> Recognised:
        """Show pictures, as many at a time as memory allows.

        A picture that cannot be drawn is not shown, and what is wrong with it is told.

        Parameters
        ----------
        classes
            Names as in an album: synsets of ImageNet, or words.
        look
            Called with the place of every picture that is shown, and its pixels as drawn.
        """
        import torch

        n, layers = len(pictures), len(self.layers)
        found = Recognised(
            np.full((n, layers, len(self.readouts)), NOT_SHOWN, np.int16),
            np.full((n, layers, len(classes)), np.nan),
            [],
        )
        size = self.at_a_time(scene)
        with torch.no_grad():
            for start in range(0, n, size):
                batch = pictures[start : start + size]
                problems = [
                    self._problem(start + i, picture, scene, look)
                    for i, picture in enumerate(batch)
                ]
                found.problems.extend(problems)
                rows = [start + i for i, (why, _) in enumerate(problems) if not why]
                if rows:
                    self._ask(rows, [pictures[row] for row in rows], classes, scene, found)
        return found

    def _problem(
        self, row: int, picture: Picture, scene: Scene, look: Callable[[int, Tensor], None]
    ) -> tuple[str, str]:
        """Draw a picture, which is then remembered, or say why that cannot be done."""
        field = scene.drawn_field(self.observer.wants)
        try:
            look(row, picture_drawn(picture, field, self.display(scene).bits, self.device))
        except PictureError as error:
            return error.problem, str(error)
        return "", ""

    def _ask(
        self,
        rows: Sequence[int],
        pictures: Sequence[Picture],
        classes: Sequence[str],
        scene: Scene,
        found: Recognised,
    ) -> None:
        if isinstance(self.observer, Answers):
            self._ask_in_words(rows, pictures, classes, scene, found)
            return
        frames = self.shown(pictures, scene)
        assert isinstance(frames, Frames)  # nobody is shown videos here
        scores = self._checked(self.observer.scores_of(frames, classes), len(rows), len(classes))
        found.scores[rows] = scores
        found.chosen[rows] = scores.argmax(axis=2)[:, :, None]
        self.on_images(len(rows))

    def _ask_in_words(
        self,
        rows: Sequence[int],
        pictures: Sequence[Picture],
        classes: Sequence[str],
        scene: Scene,
        found: Recognised,
    ) -> None:
        assert isinstance(self.observer, Answers)
        if self.observer.reads == "nothing":
            raise ObserverError(
                f"observer '{self.observer.name}' reads no words, so it cannot be asked what "
                "pictures show."
            )
        prompt = prompt_for(classes, labels=self.observer.reads == "labels")
        listener = _Listener(
            self.observer,
            batch_size=self.batch_size,
            device=self.device,
            on_images=self.on_images,
            log=self.log,
        )
        shown: Sequence[Any] = pictures
        listener.ask(shown, [Question((i,), prompt) for i in range(len(shown))], scene)
        for i, answer in listener.answers:
            layer, readout = answer.place
            row = rows[i]
            chosen = NONE_OF_THEM if answer.choice is None else answer.choice
            found.chosen[row, layer, readout] = chosen
            if answer.probabilities is not None:
                found.scores[row, layer] = answer.probabilities
            if GRADED in self.readouts:
                likely = found.scores[row, layer]
                found.chosen[row, layer, self.readouts.index(GRADED)] = (
                    NONE_OF_THEM if np.isnan(likely).any() else likely.argmax()
                )

    def _checked(self, scores: Any, n: int, classes: int) -> Floats:
        shape = (n, len(self.layers), classes)
        if tuple(scores.shape) != shape:
            raise ObserverError(
                f"observer '{self.observer.name}' gave scores of shape {tuple(scores.shape)} where "
                f"{shape} was expected."
            )
        values: Floats = scores.double().cpu().numpy()
        bad = ~np.isfinite(values).all(axis=(1, 2))
        if bad.any():
            raise ObserverError(
                f"observer '{self.observer.name}' gave scores of NaN or infinity to {bad.sum()} of "
                f"{n} pictures in a batch."
            )
        return values


class _Listener(Interviewer):
    """Keeps whole answers, not only whether they chose the first option."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.answers: list[tuple[int, Answer]] = []

    def _enter(self, found: Floats, place: int, answer: Answer) -> None:
        self.answers.append((place, answer))


def prompt_for(classes: Sequence[str], *, labels: bool) -> Prompt:
    """Return the question which of some classes is shown, or a label for each.

    The order is that of the classes, whatever the picture.

    Examples
    --------
    >>> prompt_for(["n01440764", "garbage_truck"], labels=False).text
    'Which of these is shown in the image: tench, garbage truck? Respond with one of them only'
    >>> prompt_for(["n01440764", "garbage_truck"], labels=True).options
    ('a photo of a tench', 'a photo of a garbage truck')
    """
    names = readable_names(classes)
    if labels:
        return Prompt("", tuple(f"a photo of a {name}" for name in names))
    # Names with commas in them would be taken for several.
    between = "; " if any("," in name for name in names) else ", "
    return Prompt(
        f"Which of these is shown in the image: {between.join(names)}? "
        "Respond with one of them only",
        names,
    )

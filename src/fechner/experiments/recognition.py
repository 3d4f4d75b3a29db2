"""Asking which of several classes pictures show: by scores, in words, or by labels.

Classifiers give scores to the experiment's classes; observers that read words are asked one
question about every picture, and their answers go through the log of trials as all others do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fechner.errors import ObserverError, PictureError
from fechner.experiments.base import Scene
from fechner.experiments.interview import GRADED, Interviewer
from fechner.experiments.showing import Showing
from fechner.experiments.trials import Request
from fechner.observers.abilities import Answers, AnswersStream, ScoresClasses
from fechner.observers.choices import Among, Choices, choices_for
from fechner.observers.classes import readable_names
from fechner.observers.dropout import Dropout, dropping
from fechner.observers.questions import Answer, Prompt
from fechner.stimuli import Frames, Picture
from fechner.stimuli.pictures import Seed, picture_drawn

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from fechner.observers.categories import Categories

    Floats: TypeAlias = NDArray[np.float64]

#: What stands in the place of a choice where a reply was none of the classes, and where nothing was
#: shown.
NONE_OF_THEM, NOT_SHOWN = -1, -2

#: Where many questions are under way, all are answered before the next pictures are drawn; this
#: many times as many are drawn together, so that few places are empty.
_ROUNDS = 8


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


@dataclass(frozen=True)
class Decided:
    """What an observer took pictures for.

    Parameters
    ----------
    chosen
        Which of the choices, `NONE_OF_THEM` or `NOT_SHOWN`; [n, layers, read-outs].
    right
        1 or 0, NaN where nothing was shown; of the same shape.
    score
        How probable the chosen class was, negative if it was the wrong one (RichardWebster et al.
        2018, section III); of the same shape.
    problems
        As those of `Recognised`.
    """

    chosen: NDArray[np.int16]
    right: Floats
    score: Floats
    problems: list[tuple[str, str]]


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
        if isinstance(self.observer, AnswersStream):
            size = max(size, _ROUNDS * self.observer.most_under_way)
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

    def choices(
        self, classes: Sequence[str], among: Among, categories: Categories | None
    ) -> Choices:
        """Return what the observer chooses from when pictures of these classes are shown."""
        own = None if isinstance(self.observer, Answers) else self.observer.vocabulary
        try:
            return choices_for(own, classes, among, categories)
        except ObserverError as error:
            raise ObserverError(
                f"observer '{self.observer.name}' cannot be asked: {error}"
            ) from None

    def decide(
        self,
        pictures: Sequence[Picture],
        labels: Sequence[int],
        choices: Choices,
        scene: Scene,
        *,
        dropout: Dropout | None = None,
        seeds: Sequence[Seed] = (),
    ) -> Decided:
        """Show pictures and see whether each is taken for what it shows.

        Pictures that cannot be read are not shown, and what is wrong with them is told.

        Parameters
        ----------
        labels
            The place of the class of each among those that choices were made for.
        dropout, seeds
            What is dropped in the observer's network while it looks, by a seed of each picture.
        """
        expected = [choices.expected[label] for label in labels]
        if isinstance(self.observer, Answers):
            if dropout is not None:
                raise ObserverError(
                    f"observer '{self.observer.name}' answers in words, so nothing in it can be "
                    "dropped; leave --dropout out."
                )
            return self._decide_in_words(pictures, expected, choices, scene)
        import torch

        shape = (len(pictures), len(self.layers), len(self.readouts))
        found = Decided(
            np.full(shape, NOT_SHOWN, np.int16), np.full(shape, np.nan), np.full(shape, np.nan), []
        )
        size = self.at_a_time(scene)
        with torch.no_grad():
            for start in range(0, len(pictures), size):
                batch = range(start, min(start + size, len(pictures)))
                problems = [self.unreadable(pictures[row], scene) for row in batch]
                found.problems.extend(problems)
                rows = [row for row, (why, _) in zip(batch, problems, strict=True) if not why]
                if not rows:
                    continue
                drop = (
                    nullcontext()
                    if dropout is None
                    else dropping(self.observer, dropout, [seeds[row] for row in rows])
                )
                with drop:
                    scores = self._all_scores([pictures[row] for row in rows], scene)
                best, chosen = choices.probabilities(scores).max(dim=2)
                wanted = torch.tensor([expected[row] for row in rows], device=chosen.device)
                hit = (chosen == wanted[:, None]).cpu().numpy()[..., None]
                sure = best.cpu().numpy()[..., None]
                found.chosen[rows] = chosen.cpu().numpy()[..., None]
                found.right[rows] = hit
                found.score[rows] = np.where(hit, sure, -sure)
                self.on_images(len(rows))
        return found

    def _all_scores(self, pictures: Sequence[Picture], scene: Scene) -> Tensor:
        assert isinstance(self.observer, ScoresClasses)
        frames = self.shown(pictures, scene)
        assert isinstance(frames, Frames)  # nobody is shown videos here
        scores = self.observer.all_scores(frames)
        self._checked(scores, len(pictures), len(self.observer.vocabulary))
        return scores

    def _decide_in_words(
        self, pictures: Sequence[Picture], expected: Sequence[int], choices: Choices, scene: Scene
    ) -> Decided:
        """Ask in words; where no probability is known, a choice counts as certain."""
        found = self.recognise(pictures, choices.names, scene)
        right = found.right(expected, self.readouts)
        hit = found.chosen == np.asarray(expected)[:, None, None]
        sure = np.where(np.isnan(found.scores).any(axis=2), 1.0, found.scores.max(axis=2))[
            ..., None
        ]
        score = np.where(np.isnan(right), np.nan, np.where(hit, sure, -sure))
        return Decided(found.chosen, right, score, found.problems)

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
            test=self.test,
        )
        listener.ask([Request((picture,), prompt) for picture in pictures], scene)
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

    def enter(self, yes: Floats, place: int, answer: Answer) -> None:
        """Keep it."""
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

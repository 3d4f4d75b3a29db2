"""Asking which of several classes pictures show: by scores, in words, or by labels.

Classifiers give scores to the experiment's classes; observers that read words are asked one
question about every picture, and their answers go through the log of trials as all others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from fechner.errors import ObserverError
from fechner.experiments.base import Scene
from fechner.experiments.interview import GRADED, Request, ask
from fechner.experiments.presenter import Presenter
from fechner.observers.abilities import Answers, AnswersStream
from fechner.observers.classes import Among, Choices, choices_for, readable_names
from fechner.observers.dropout import Dropout, dropping
from fechner.observers.questions import Prompt
from fechner.stimuli import Picture
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from fechner.observers.classes import Categories

    Flags: TypeAlias = NDArray[np.bool_]
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


class Decided(NamedTuple):
    """What an observer took pictures for.

    Parameters
    ----------
    chosen
        Which of the choices, `NONE_OF_THEM` or `NOT_SHOWN`; [n, layers, read-outs].
    right
        1 or 0, NaN where nothing was shown; of the same shape.
    score
        The decision score; of the same shape. Of classes, how probable the chosen one was, negative
        if it was the wrong one (RichardWebster et al. 2018, section III).
    undefined
        Where a decision could not be made and counts as wrong; of the same shape.
    problems
        As those of `Recognised`.
    others
        The picture of another class that stood beside the original in each trial, as its class and
        its place, None where nothing was shown; empty where there are no such pictures.
    """

    chosen: NDArray[np.int16]
    right: Floats
    score: Floats
    undefined: Flags
    problems: list[tuple[str, str]]
    others: Sequence[tuple[int, int] | None] = ()

    @classmethod
    def nothing(cls, presenter: Presenter, n: int) -> Decided:
        """Return room for n pictures, of which none is shown yet."""
        shape = (n, len(presenter.layers), len(presenter.readouts))
        right, score = np.full((2, *shape), np.nan)
        return cls(np.full(shape, NOT_SHOWN, np.int16), right, score, np.zeros(shape, bool), [])

    @classmethod
    def joined(cls, parts: Sequence[Decided]) -> Decided:
        """Put decisions one after the other."""
        chosen, right, score, undefined = (
            np.concatenate([part[i] for part in parts]) for i in range(4)
        )
        problems = [each for part in parts for each in part.problems]
        others = [each for part in parts for each in part.others]
        return cls(chosen, right, score, undefined, problems, others)


def choices_of(
    presenter: Presenter, classes: Sequence[str], among: Among, categories: Categories | None
) -> Choices:
    """Return what an observer chooses from when pictures of these classes are shown."""
    observer = presenter.observer
    own = None if isinstance(observer, Answers) else observer.vocabulary
    try:
        return choices_for(own, classes, among, categories)
    except ObserverError as error:
        raise ObserverError(f"observer '{observer.name}' cannot be asked: {error}") from None


def recognise(
    presenter: Presenter,
    pictures: Sequence[Picture],
    classes: Sequence[str],
    scene: Scene,
    *,
    look: Callable[[int, Tensor], None] = lambda row, pixels: None,
) -> Recognised:
    """Ask which of some classes pictures show; pictures are what is counted.

    A picture that cannot be drawn is not shown, and what is wrong with it is told.

    Parameters
    ----------
    classes
        Names as in an album: synsets of ImageNet, or words.
    look
        Called with the place of every picture that is shown, and its pixels as drawn.
    """
    import torch

    n, layers = len(pictures), len(presenter.layers)
    found = Recognised(
        np.full((n, layers, len(presenter.readouts)), NOT_SHOWN, np.int16),
        np.full((n, layers, len(classes)), np.nan),
        [],
    )
    observer = presenter.observer
    at_least = _ROUNDS * observer.most_under_way if isinstance(observer, AnswersStream) else 1
    with torch.no_grad():
        for rows in _batches(presenter, pictures, scene, found.problems, look, at_least):
            shown = [pictures[row] for row in rows]
            if isinstance(observer, Answers):
                _ask_in_words(presenter, rows, shown, classes, scene, found)
                continue
            scores = presenter.checked(
                observer.scores_of(presenter.frames(shown, scene), classes),
                (len(rows), layers, len(classes)),
            )
            found.scores[rows] = scores
            found.chosen[rows] = scores.argmax(axis=2)[:, :, None]
            presenter.on_images(len(rows))
    return found


def classify(
    presenter: Presenter,
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
    observer = presenter.observer
    if isinstance(observer, Answers):
        if dropout is not None:
            raise ObserverError(
                f"observer '{observer.name}' answers in words, so nothing in it can be dropped; "
                "leave --dropout out."
            )
        return _classify_in_words(presenter, pictures, expected, choices, scene)
    import torch

    found = Decided.nothing(presenter, len(pictures))
    sources = [picture.source for picture in pictures]
    with torch.no_grad():
        for rows in _batches(presenter, sources, scene, found.problems):
            drop = (
                nullcontext()
                if dropout is None
                else dropping(observer, dropout, [seeds[row] for row in rows])
            )
            with drop:
                scores = observer.all_scores(
                    presenter.frames([pictures[row] for row in rows], scene)
                )
            presenter.checked(scores, (len(rows), len(presenter.layers), len(observer.vocabulary)))
            best, chosen = choices.probabilities(scores).max(dim=2)
            wanted = torch.tensor([expected[row] for row in rows], device=chosen.device)
            hit = (chosen == wanted[:, None]).cpu().numpy()[..., None]
            sure = best.cpu().numpy()[..., None]
            found.chosen[rows] = chosen.cpu().numpy()[..., None]
            found.right[rows] = hit
            found.score[rows] = np.where(hit, sure, -sure)
            presenter.on_images(len(rows))
    return found


def _batches(
    presenter: Presenter,
    pictures: Sequence[Picture],
    scene: Scene,
    problems: list[tuple[str, str]],
    look: Callable[[int, Tensor], None] = lambda row, pixels: None,
    at_least: int = 1,
) -> Iterator[list[int]]:
    """Go through the places of pictures that can be drawn; add the problem of each of all."""
    for batch in presenter.batches(range(len(pictures)), scene, at_least=at_least):
        found = [presenter.problem(pictures[row], scene, partial(look, row)) for row in batch]
        problems += found
        if rows := [row for row, (why, _) in zip(batch, found, strict=True) if not why]:
            yield rows


def _classify_in_words(
    presenter: Presenter,
    pictures: Sequence[Picture],
    expected: Sequence[int],
    choices: Choices,
    scene: Scene,
) -> Decided:
    """Ask in words; where no probability is known, a choice counts as certain."""
    found = recognise(presenter, pictures, choices.names, scene)
    right = found.right(expected, presenter.readouts)
    hit = found.chosen == np.asarray(expected)[:, None, None]
    sure = np.where(np.isnan(found.scores).any(axis=2), 1.0, found.scores.max(axis=2))[..., None]
    score = np.where(np.isnan(right), np.nan, np.where(hit, sure, -sure))
    return Decided(found.chosen, right, score, np.zeros(hit.shape, bool), found.problems)


def _ask_in_words(
    presenter: Presenter,
    rows: Sequence[int],
    pictures: Sequence[Picture],
    classes: Sequence[str],
    scene: Scene,
    found: Recognised,
) -> None:
    if presenter.reads == "nothing":
        raise ObserverError(
            f"observer '{presenter.observer.name}' reads no words, so it cannot be asked what "
            "pictures show."
        )
    prompt = prompt_for(classes, labels=presenter.reads == "labels")
    heard = ask(presenter, [Request((picture,), prompt) for picture in pictures], scene)
    for row, answers in zip(rows, heard.answers, strict=True):
        for answer in answers:
            layer, readout = answer.place
            chosen = NONE_OF_THEM if answer.choice is None else answer.choice
            found.chosen[row, layer, readout] = chosen
            likely = found.scores[row, layer]
            if answer.probabilities is not None:
                likely[:] = answer.probabilities
            if GRADED in presenter.readouts:
                found.chosen[row, layer, presenter.readouts.index(GRADED)] = (
                    NONE_OF_THEM if np.isnan(likely).any() else likely.argmax()
                )


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

"""Asking which of several classes pictures show: by scores, in words, or by labels.

Classifiers give scores to the experiment's classes; observers that read words are asked one
question about every picture, and their answers go through the log of trials as all others do.

`BandRobustness` asks it of photographs in which a band of frequencies is suppressed, or filled with
noise, after Hernández-Cámara et al. (2025, section 5): whatever the band, pictures are changed by
the same RMSE, so that what differs between bands is how much the observer needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from textwrap import shorten
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Floats, Tensor, torch, xr
from fechner.errors import ObserverError, PictureError
from fechner.experiments.base import Piece, Sample, Scene, nothing, sample_grid
from fechner.experiments.interview import GRADED, Request, ask
from fechner.experiments.presenter import Presenter, problems_as_flags
from fechner.observers.abilities import Ability, Answers, AnswersStream, Need
from fechner.observers.classes import Among, Categories, Choices, choices_for, readable_names
from fechner.observers.dropout import Dropout, dropping
from fechner.observers.questions import Answer, Prompt
from fechner.stimuli import Album, Band, BandNoise, Manipulated, Photograph, Picture, Suppressed
from fechner.stimuli.manipulations.spectra import AtRmse, rmse_between
from fechner.stimuli.pictures import Seed, picture_drawn

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
        Of every class, NaN where they are not known; [n, layers, classes].
    problems
        Why a picture was not shown, in a word and in a sentence; empty where it was, [n].
    """

    chosen: NDArray[np.int16]
    scores: Floats
    problems: list[tuple[str, str]]

    @classmethod
    def nothing(cls, presenter: Presenter, n: int, classes: int) -> Recognised:
        """Return room for n pictures, of which none is shown yet."""
        chosen = np.full_like(presenter.unanswered(n), NOT_SHOWN, np.int16)
        return cls(chosen, np.full((n, len(presenter.layers), classes), np.nan), [])

    def right(self, labels: Sequence[int], readouts: Sequence[str]) -> Floats:
        """Return whether choices are right, 1 or 0; NaN where nothing was shown.

        A reply that is none of the classes is wrong. The read-out `GRADED` has the probability of
        the right class, NaN where it is not known.
        """
        right: Floats = (self.chosen == np.asarray(labels)[:, None, None]).astype(float)
        if GRADED in readouts:
            likely = self.scores[np.arange(len(labels)), :, labels]
            right[..., list(readouts).index(GRADED)] = likely
        right[self.chosen == NOT_SHOWN] = np.nan
        return right

    def enter(self, presenter: Presenter, row: int, answers: Sequence[Answer]) -> None:
        """Put answers in words about a picture in their places."""
        for answer in answers:
            layer, readout = answer.place
            chosen, likely = self.chosen[row, layer], self.scores[row, layer]
            chosen[readout] = NONE_OF_THEM if answer.choice is None else answer.choice
            if answer.probabilities is not None:
                likely[:] = answer.probabilities
            if GRADED in presenter.readouts:
                surest = NONE_OF_THEM if np.isnan(likely).any() else likely.argmax()
                chosen[presenter.readouts.index(GRADED)] = surest

    def decided(self, presenter: Presenter, choices: Choices, labels: Sequence[int]) -> Decided:
        """Return whether choices are right; one without a probability counts as certain."""
        expected = [choices.expected[label] for label in labels]
        right = self.right(expected, presenter.readouts)
        hit = self.chosen == np.asarray(expected)[:, None, None]
        sure = np.where(np.isnan(self.scores).any(axis=2), 1.0, self.scores.max(axis=2))[..., None]
        score = np.where(np.isnan(right), np.nan, np.where(hit, sure, -sure))
        return Decided(self.chosen, right, score, np.zeros(hit.shape, bool), self.problems)

    def margin(self, labels: Sequence[int]) -> Floats:
        """Return by how much the score of the right class exceeds all others, [n, layers]."""
        rows, others = np.arange(len(labels)), self.scores.copy()
        others[rows, :, labels] = -np.inf
        return np.asarray(self.scores[rows, :, labels] - others.max(axis=2))


class Decided(NamedTuple):
    """What an observer took pictures for; arrays are [n, layers, read-outs].

    Parameters
    ----------
    chosen, right
        Which of the choices, `NONE_OF_THEM` or `NOT_SHOWN`; 1 or 0, NaN where nothing was shown.
    score
        The decision score. Of classes, how probable the chosen one was, negative if it was the
        wrong one (RichardWebster et al. 2018, section III).
    undefined
        Where a decision could not be made and counts as wrong.
    problems
        As those of `Recognised`.
    others
        The class and place of the picture that stood beside the original in each trial, None where
        nothing was shown; empty where there are no such pictures.
    """

    chosen: NDArray[np.int16]
    right: Floats
    score: Floats
    undefined: NDArray[np.bool_]
    problems: list[tuple[str, str]]
    others: Sequence[tuple[int, int] | None] = ()

    @classmethod
    def nothing(cls, presenter: Presenter, n: int) -> Decided:
        """Return room for n pictures, of which none is shown yet."""
        right, score = presenter.unanswered(2, n)
        chosen = np.full_like(right, NOT_SHOWN, np.int16)
        return cls(chosen, right, score, np.zeros(right.shape, bool), [])

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
    look: Callable[[int, Tensor], None] | None = None,
    choices: Choices | None = None,
    dropout: Dropout | None = None,
    seeds: Sequence[Seed] = (),
) -> Recognised:
    """Ask which of some classes pictures show; pictures are what is counted.

    A picture that cannot be drawn is not shown, and what is wrong with it is told.

    Parameters
    ----------
    classes
        Names as in an album: synsets of ImageNet, or words.
    look
        Called with the place of every picture that is shown, and its pixels as drawn.
    choices
        Turns scores of all classes that a classifier knows into probabilities of these.
    dropout, seeds
        What is dropped in the observer's network while it looks, by a seed of each picture.
    """
    n, observer, layers = len(pictures), presenter.observer, len(presenter.layers)
    found = Recognised.nothing(presenter, n, len(classes))
    reads = isinstance(observer, Answers)
    if reads and presenter.reads == "nothing":
        raise ObserverError(
            f"observer '{observer.name}' reads no words, so it cannot be asked what pictures show."
        )
    if reads and dropout is not None:
        raise ObserverError(
            f"observer '{observer.name}' answers in words, so nothing in it can be dropped; "
            "leave --dropout out."
        )
    at_least = _ROUNDS * observer.most_under_way if isinstance(observer, AnswersStream) else 1
    with torch.no_grad():
        for batch in presenter.batches(range(n), scene, at_least=at_least):
            problems = [
                presenter.problem(pictures[row].source, scene, look and partial(look, row))
                for row in batch
            ]
            found.problems.extend(problems)
            rows = [row for row, (why, _) in zip(batch, problems, strict=True) if not why]
            if not rows:
                continue
            if reads:
                prompt = prompt_for(classes, labels=presenter.reads == "labels")
                heard = ask(presenter, [Request((pictures[row],), prompt) for row in rows], scene)
                for row, answers in zip(rows, heard.answers, strict=True):
                    found.enter(presenter, row, answers)
                continue
            frames = presenter.paint([pictures[row] for row in rows], scene)
            if choices is None:
                scores = observer.scores_of(frames, classes)
            else:
                own = [seeds[row] for row in rows] if dropout else []
                with dropping(observer, dropout, own) if dropout else nullcontext():
                    scores = observer.all_scores(frames)
                presenter.checked(scores, (len(rows), layers, len(observer.vocabulary)))
                scores = choices.probabilities(scores)
            found.scores[rows] = presenter.checked(scores, (len(rows), layers, len(classes)))
            found.chosen[rows] = found.scores[rows].argmax(axis=2)[:, :, None]
            presenter.on_images(len(rows))
    return found


def classify(
    presenter: Presenter,
    pictures: Sequence[Picture],
    labels: Sequence[int],
    choices: Choices,
    scene: Scene,
) -> Decided:
    """Show pictures and see whether each is taken for what it shows.

    Labels are places of classes among those that choices were made for.
    """
    found = recognise(presenter, pictures, choices.names, scene, choices=choices)
    return found.decided(presenter, choices, labels)


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
    shown = f"Which of these is shown in the image: {between.join(names)}?"
    return Prompt(f"{shown} Respond with one of them only", names)


def words_of(classes: Sequence[str]) -> tuple[int, float]:
    """Return how many pictures the question among classes is about, and how many words it has."""
    return 1, len(prompt_for(classes, labels=False).text.split())


Kind = Literal["suppressed", "noise"]

_MANIPULATIONS: dict[Kind, Callable[..., AtRmse]] = {"suppressed": Suppressed, "noise": BandNoise}
_IN_WORDS = {
    "suppressed": "suppressed in the Fourier domain",
    "noise": "filled with Gaussian noise, the same in all channels",
}


@dataclass(frozen=True)
class BandRobustness:
    """Measure whether photographs are still recognised when bands of them are changed.

    Parameters
    ----------
    album
        The photographs, and the classes to choose from.
    bands_cpd, octaves
        Centres of the bands, and their width.
    rmse
        Root mean squared differences from the original, in display-encoded values of 0..1.
    kind
        Whether a band is suppressed or filled with noise.
    """

    id: str
    title: str
    reference: str
    scene: Scene
    album: Album
    bands_cpd: tuple[float, ...]
    rmse: tuple[float, ...]
    kind: Kind
    octaves: float = 1.0
    seed: int = 0
    version: int = 1

    asks: ClassVar[Ability] = "recognises"
    needs: ClassVar[tuple[Need, ...]] = ()
    axes: ClassVar[tuple[str, str]] = ("spatial frequency (cpd)", "RMSE")

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        classes = self.album.classes
        text = prompt_for(classes, labels=False).text
        levels = ", ".join(f"{level:g}" for level in self.rmse)
        left_out = {
            "suppressed": "a band that has less than that in it is left out for that picture",
            "noise": "what leaves 0..1 is cut, and the noise made up to half as strong again",
        }[self.kind]
        return (
            f"{len(self.album)} photographs of {len(classes)} classes are shown as they are, and "
            f"with one band of {self.octaves:g} octaves around each of {len(self.bands_cpd)} "
            f"frequencies from {self.bands_cpd[0]:.3g} to {self.bands_cpd[-1]:.3g} cpd "
            f"{_IN_WORDS[self.kind]}, so that their RMSE to the original, in display-encoded "
            f"values of 0 to 1 as shown, is {levels} whatever the band; {left_out}. Classifiers "
            "choose the class with the highest score among these; observers that read are asked "
            f"'{shorten(text, 160, placeholder='…')}', or which label fits best, such as "
            f"'{prompt_for(classes, labels=True).options[0]}'. A reply that is none of the "
            f"classes is wrong. {self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List the unperturbed pictures and then one piece for each band."""
        n, levels = len(self.album), len(self.rmse)
        return [
            Piece("unperturbed", 0, 1, n, questions=n),
            *(
                Piece(f"band-{index:02d}", index + 1, index + 2, n * levels, questions=n * levels)
                for index in range(len(self.bands_cpd))
            ),
        ]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Show all pictures, unperturbed or with one band changed."""
        album, scene = self.album, self.scene
        field, bits = scene.drawn_field(presenter.observer.wants), presenter.display(scene).bits
        # Picture by picture, so that every file is decoded once.
        levels = self.rmse if piece.start else (0.0,)
        pictures = [
            self.picture(photograph, piece.start - 1, level)
            for photograph in album.photographs
            for level in levels
        ]
        labels = [label for label in album.labels for _ in levels]
        rmse_shown = np.full(len(pictures), np.nan)

        def look(row: int, pixels: Tensor) -> None:
            photograph = album.photographs[row // len(levels)]
            original = picture_drawn(photograph, field, bits, presenter.device)
            rmse_shown[row] = float(rmse_between(pixels[None], original[None]))

        if piece.start == 0 or self.band(piece.start - 1).fits(field):
            found = recognise(presenter, pictures, album.classes, scene, look=look)
        else:
            found = Recognised.nothing(presenter, len(pictures), len(album.classes))
            found.problems.extend([("aliased", "")] * len(pictures))
        dims = ("band", "rmse", "picture", "layer")

        def spread(values: Any) -> NDArray[Any]:
            """Put pictures after RMSE; what is unperturbed is the same at every RMSE."""
            each = np.asarray(values)
            ordered = np.moveaxis(each.reshape(len(album), len(levels), *each.shape[1:]), 0, 1)
            return np.broadcast_to(ordered, (len(self.rmse), *ordered.shape[1:]))[None].copy()

        unreadable = [words for why, words in found.problems if why == "unreadable"]
        _, problems, meanings = problems_as_flags(dims[:3], found.problems)
        return presenter.result(
            scene,
            {
                "chosen": ((*dims, "readout"), spread(found.chosen)),
                "margin": (dims, spread(found.margin(labels))),
                "problem": (dims[:3], spread(problems), meanings),
                "right": ((*dims, "readout"), spread(found.right(labels, presenter.readouts))),
                "rmse_shown": (dims[:3], spread(rmse_shown)),
            },
            {
                "band": ("band", [self.bands_cpd[piece.start - 1] if piece.start else 0.0]),
                "class_of": ("picture", np.array(album.labels, np.int16)),
                "picture": ("picture", [each.name for each in album.photographs]),
                "rmse": ("rmse", list(self.rmse)),
            },
            along="band",
            chance=1 / len(album.classes),
            classes="|".join(readable_names(album.classes)),
            kind=self.kind,
            reads=presenter.reads,
            unreadable=" ".join(dict.fromkeys(unreadable)),
        )

    @property
    def question_size(self) -> tuple[int, float]:
        """How many pictures a question is about, and how many words it has."""
        return words_of(self.album.classes)

    def band(self, index: int) -> Band:
        """Return a band."""
        return Band.octaves(self.bands_cpd[index], self.octaves)

    def picture(
        self, photograph: Photograph, band: int, rmse: float, nearest: bool = False
    ) -> Picture:
        """Return a photograph with one band changed; RMSE 0 is the photograph itself."""
        if rmse == 0:
            return photograph
        # The same noise whatever other pictures there are, and for every RMSE.
        own = int(photograph.sha256[:12] or "0", 16)
        manipulation = _MANIPULATIONS[self.kind](self.band(band), nearest=nearest)
        return Manipulated(photograph, manipulation, rmse, (self.seed, own))

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return one photograph over band (columns) and RMSE (rows, strongest on top).

        Where it cannot be changed as much, it is changed as much as it can be.
        """
        levels = (0.0, *self.rmse)
        photograph = next(filter(self._is_readable, self.album.photographs), None)

        def shown(x: int, y: int) -> Any:
            if photograph is None:
                return nothing(self.scene)
            return self.picture(photograph, x, levels[y], nearest=True)

        return sample_grid(shown, self.bands_cpd, levels, rows=len(levels))

    def _is_readable(self, photograph: Photograph) -> bool:
        try:
            picture_drawn(photograph, self.scene.field.still(), self.scene.display.bits)
        except PictureError:
            return False
        return True

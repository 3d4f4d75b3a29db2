"""Which picture of a class, or view of an object, an observer knows best.

The preferred view is the picture with the largest decision score for its class (RichardWebster et
al. 2018, Algorithm 1); scores of all pictures are kept, and so are ties. Pictures that are given in
conditions (Geirhos et al. 2021) are named in the same way.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fechner.arrays import xr
from fechner.errors import PictureError
from fechner.experiments.base import Piece, Sample, Scene, nothing, spread
from fechner.experiments.presenter import Presenter, problems_as_flags
from fechner.experiments.recognition import choices_of, classify, words_of
from fechner.observers.abilities import Ability, Need
from fechner.observers.classes import Among, Categories, readable_names
from fechner.stimuli import Picture
from fechner.stimuli.conditions import ConditionPictures, known_experiment
from fechner.stimuli.picture_sets import PictureSet

#: Pictures of a piece, about: seconds to a minute.
_PICTURES = 256

#: Classes and pictures of the samples.
_ROWS, _COLUMNS = 4, 6


class Item(NamedTuple):
    """A picture of a set: the place of its class, and its own place within the class."""

    label: int
    place: int


@dataclass(frozen=True)
class PreferredViews:
    """Score every picture of a set by how surely it is taken for what it shows.

    What is chosen from are all classes of an observer, those of the set (`among`), or categories.
    """

    id: str
    title: str
    reference: str
    scene: Scene
    pictures: PictureSet
    among: Among = "own"
    categories: Categories | None = None
    version: int = 1

    asks: ClassVar[Ability] = "recognises"
    needs: ClassVar[tuple[Need, ...]] = ()
    axes: ClassVar[tuple[str, str]] = ("picture", "class")

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        return (
            f"{len(self.pictures):,} {self.pictures.kind} of {len(self.pictures.classes):,} "
            f"classes are shown as they are. {choice_in_words(self.among, self.categories)} The "
            "decision score of a picture is the probability of the class that is chosen, negative "
            "if that is the wrong one; the picture of a class with the highest is its preferred "
            f"view. {origin_in_words(self.pictures)}{self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List runs of pictures, class after class."""
        total = len(self.pictures)
        return [
            Piece(f"pictures-{start:07d}", start, stop, stop - start, questions=stop - start)
            for start in range(0, total, _PICTURES)
            for stop in (min(start + _PICTURES, total),)
        ]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Show the pictures of a piece."""
        items = self._items(piece)
        return self.show(piece, presenter, items, [self.pictures.picture(*item) for item in items])

    def show(
        self, piece: Piece, presenter: Presenter, items: Sequence[Item], shown: Sequence[Picture]
    ) -> xr.Dataset:
        """Show pictures of the set, and return their decision scores."""
        own, dims = self.pictures.classes, ("picture", "layer", "readout")
        choices = choices_of(presenter, own, self.among, self.categories)
        found = classify(presenter, shown, [item.label for item in items], choices, self.scene)
        labels, places = np.array(items, np.int32).reshape(-1, 2).T
        coords, attributes = self._conditions(piece, items)
        return presenter.result(
            self.scene,
            {
                "chosen": (dims, found.chosen, with_names(choices.names, piece)),
                "problem": problems_as_flags("picture", found.problems),
                "right": (dims, found.right.astype(np.float32)),
                "score": (dims, found.score.astype(np.float32)),
            },
            {
                "class_of": ("picture", labels, with_names(own, piece)),
                "index": ("picture", places),
                **coords,
            },
            along="picture",
            chance=choices.chance,
            choices=len(choices),
            reads=presenter.reads,
            unreadable=unreadable_in_words(found.problems),
            **attributes,
        )

    def _conditions(
        self, piece: Piece, items: Sequence[Item]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return coordinates and attributes of the conditions that pictures are in."""
        return {}, {}

    @property
    def question_size(self) -> tuple[int, float]:
        """How many pictures a question is about, and how many words it has."""
        return words_of(self.categories.names if self.categories else self.pictures.classes)

    def _items(self, piece: Piece) -> list[Item]:
        """Return the pictures of a piece, class after class."""
        counts = self.pictures.counts
        places, ends = np.arange(piece.start, piece.stop), np.cumsum(counts)
        labels = np.searchsorted(ends, places, side="right")
        within = places - (ends - counts)[labels]
        return [Item(*pair) for pair in zip(labels.tolist(), within.tolist(), strict=True)]

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return the first pictures of some classes."""
        counts = self.pictures.counts
        names = readable_names(self.pictures.classes)
        picture = self.pictures.picture
        return [
            [
                Sample(picture(row, column), x=str(column + 1), y=names[row], at=column)
                for column in range(min(_COLUMNS, counts[row]))
            ]
            for row in spread(len(counts), _ROWS)
        ] or [[Sample(nothing(self.scene), x="", y="", at=0.0)]]


@dataclass(frozen=True)
class GivenConditions(PreferredViews):
    """Show every picture of an experiment once, in its condition (Geirhos et al. 2021)."""

    pictures: ConditionPictures

    for_people: ClassVar[str] = "conditions"

    @property
    def axes(self) -> tuple[str, str]:  # type: ignore[override]
        """What varies between conditions, and categories."""
        return known_experiment(self.pictures.experiment).axis, "category"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        conditions = len(self.pictures.conditions)
        return (
            f"{len(self.pictures):,} pictures of {len(self.pictures.classes):,} categories, in "
            f"{conditions} conditions, are shown once each, as given (Geirhos et al. 2021). "
            f"{choice_in_words(self.among, self.categories)} "
            f"{origin_in_words(self.pictures)}{self.scene.method}"
        )

    def _conditions(
        self, piece: Piece, items: Sequence[Item]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return coordinates and attributes of the conditions that pictures are in."""
        shown, names = [self.pictures.described(*i) for i in items], self.pictures.conditions
        conditions = np.array([names.index(each.condition) for each in shown], np.int16)
        said = {"names": "|".join(names)} if piece.start == 0 else {}
        images = np.array([each.image for each in shown], object)
        coords = {"condition": ("picture", conditions, said), "image": ("picture", images)}
        return coords, {"test": self.id, "experiment": self.pictures.experiment}

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return a picture in each condition, of the first category that has it."""
        first: dict[str, tuple[int, int]] = {}
        try:
            for label, count in enumerate(self.pictures.counts):
                for index in range(count):
                    named = self.pictures.described(label, index)
                    first.setdefault(named.condition, (label, index))
        except PictureError:  # the files are gone
            return [[Sample(nothing(self.scene), x="", y="", at=0.0)]]
        names = self.pictures.conditions
        shown = [self.pictures.picture(*first[name]) for name in names]
        return [[Sample(shown[i], x=name, y="", at=float(i)) for i, name in enumerate(names)]]


@dataclass(frozen=True)
class SecondLook:
    """Show the ``best`` pictures of each class once more, as curves will show them.

    Views of objects are sought in quick renders, and shown in careful ones: the best of one need
    not be the best of the other. Answers to ``views`` are needed.
    """

    id: str
    title: str
    views: PreferredViews
    best: int = 5
    seed: int = 0
    version: int = 1

    asks: ClassVar[Ability] = "recognises"
    needs: ClassVar[tuple[Need, ...]] = ()
    axes: ClassVar[tuple[str, str]] = PreferredViews.axes

    @property
    def reference(self) -> str:
        """Key of the work in the bibliography."""
        return self.views.reference

    @property
    def scene(self) -> Scene:
        """Where it takes place."""
        return self.views.scene

    @property
    def pictures(self) -> PictureSet:
        """The set whose pictures are shown."""
        return self.views.pictures

    @property
    def question_size(self) -> tuple[int, float]:
        """How many pictures a question is about, and how many words it has."""
        return self.views.question_size

    @property
    def method(self) -> str:
        """What is shown, made from the parameters."""
        return (
            f"The {self.best} pictures of each class with the highest decision scores in "
            f"'{self.views.id}' are shown again, rendered as they are for curves, and the best of "
            "them is the preferred view."
        )

    def pieces(self) -> Sequence[Piece]:
        """List a piece for each class."""
        shown = [min(self.best, count) for count in self.pictures.counts]
        return [
            Piece(f"class-{label:04d}", label, label + 1, n, questions=n)
            for label, n in enumerate(shown)
        ]

    def measure(
        self, piece: Piece, presenter: Presenter, views: xr.Dataset | None = None
    ) -> xr.Dataset:
        """Show the best pictures of a class."""
        items = sorted(preferred(self.pictures, piece.start, self.best, self.seed, views))
        shown = [self.pictures.shown(*item) for item in items]
        return self.views.show(piece, presenter, items, shown)

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return some pictures of some classes."""
        return self.views.samples()


def preferred(
    pictures: PictureSet, label: int, most: int, seed: int, views: xr.Dataset | None
) -> list[Item]:
    """Return the pictures of a class that an observer knows best by its `views`, from the best on.

    Those that are equally good are put in an order that follows from the seed, and so are all where
    the observer names nothing, so that there are no views.
    """
    order = np.random.default_rng((seed, zlib.crc32(pictures.classes[label].encode())))
    if views is None:
        return [Item(label, int(i)) for i in order.permutation(pictures.counts[label])[:most]]
    # Classes follow each other.
    first, last = np.searchsorted(views["class_of"].values, [label, label + 1])
    # What an observer hands on, by the first of its read-outs.
    score = views["score"].values[first:last, -1, 0].astype(float)
    shown = np.isfinite(score)
    index, score = views["index"].values[first:last][shown], score[shown]
    ranks = np.lexsort((order.random(len(index)), -score))
    return [Item(label, int(index[rank])) for rank in ranks[:most]]


def with_names(names: Sequence[str], piece: Piece) -> dict[str, str]:
    """Return the attribute that says what numbers stand for; the first piece has it for all."""
    return {"names": "|".join(readable_names(names))} if piece.start == 0 else {}


def choice_in_words(among: Among, categories: Categories | None) -> str:
    """Say what is chosen from."""
    if categories is not None:
        return (
            f"The observer chooses among the categories of '{categories.name}', of which each is "
            "as probable as its classes are on average."
        )
    what = "all classes that it knows" if among == "own" else "the classes that are shown"
    return (
        f"A classifier chooses the class with the highest score among {what}; observers that read "
        "are asked which of the classes that are shown it is."
    )


def origin_in_words(pictures: PictureSet) -> str:
    """Say how pictures are fitted, and which part of a data set they are of, if that is known."""
    split = f"They are of the split '{pictures.split}'. " if pictures.split else ""
    return f"{pictures.fitted} {split}"


def unreadable_in_words(problems: Sequence[tuple[str, str]], most: int = 20) -> str:
    """Return what is wrong with pictures, each sentence once, and how many more there are."""
    found = list(dict.fromkeys(words for why, words in problems if why))
    more = f" And {len(found) - most} more." if len(found) > most else ""
    return " ".join(found[:most]) + more

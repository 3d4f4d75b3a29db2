"""Item-response curves: whether a picture is still recognised as it gets farther from itself.

After RichardWebster et al. (2018): the preferred view of each class is shown at many levels of a
manipulation, level 0 being the picture itself. What is stored is a table of trials, whatever chose
their levels.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from fechner.arrays import xr
from fechner.experiments.base import Piece, Sample, Scene, nothing, spread
from fechner.experiments.item_tasks import ItemTask, Shown
from fechner.experiments.placement import Placement, advance
from fechner.experiments.preferred_views import (
    Item,
    origin_in_words,
    preferred,
    unreadable_in_words,
    with_names,
)
from fechner.experiments.presenter import Presenter, problems_as_flags
from fechner.experiments.recognition import Decided
from fechner.observers.abilities import Ability, Need
from fechner.stimuli import Manipulated, Picture, Stimulus
from fechner.stimuli.picture_sets import PictureSet
from fechner.stimuli.pictures import Seed

if TYPE_CHECKING:
    from fechner.stimuli.manipulations.base import Manipulation

#: Pictures of a piece, about: seconds to a minute.
_PICTURES = 256


@dataclass(frozen=True)
class ItemResponse:
    """Measure accuracy over the distance from the original.

    Parameters
    ----------
    manipulation, placement
        What is done to pictures, and at which levels.
    task
        What is asked: to name what is shown, or to find it among two pictures.
    per_class
        How many pictures of each class are shown.
    show
        The pictures that an observer knows best, or some that follow from the seed and are the same
        for all observers.
    """

    id: str
    title: str
    reference: str
    scene: Scene
    pictures: PictureSet
    manipulation: Manipulation
    placement: Placement
    task: ItemTask
    per_class: int = 1
    show: Literal["preferred", "drawn"] = "preferred"
    seed: int = 0
    #: 2 stores which picture of another class stood beside the original.
    version: int = 2

    needs: ClassVar[tuple[Need, ...]] = ()
    for_people: ClassVar[str] = "trials"

    @property
    def asks(self) -> Ability:
        """The ability that the task asks."""
        return self.task.asks

    @property
    def question_size(self) -> tuple[int, float]:
        """How many pictures a question is about, and how many words it has."""
        return self.task.question_size(self.pictures.classes)

    @property
    def axes(self) -> tuple[str, str]:
        """Level, and what is done in which direction."""
        return self.manipulation.axis, "manipulation"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        which = "that the observer knows best" if self.show == "preferred" else "drawn by seed"
        return (
            f"Of each of {len(self.pictures.classes):,} classes of {self.pictures.kind}, "
            f"{self.per_class} {which} are shown, level 0 being the original. A picture "
            f"{self.manipulation.words}. {self.placement.method('levels')} {self.task.method} "
            f"{origin_in_words(self.pictures)}{self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List runs of classes."""
        # Where levels are chosen, the pictures of a class share its trials.
        most = 1 if self.placement.adaptive else self.per_class
        each = [
            self.placement.most * min(most, count) * len(self.task.run_numbers)
            for count in self.pictures.counts
        ]
        at_once = max(1, _PICTURES // max(1, *each)) if each else 1
        return [
            Piece(f"classes-{start:04d}", start, min(start + at_once, len(each)), n, questions=n)
            for start in range(0, len(each), at_once)
            for n in (sum(each[start : start + at_once]),)
        ]

    def measure(
        self, piece: Piece, presenter: Presenter, views: xr.Dataset | None = None
    ) -> xr.Dataset:
        """Show some classes; ``views`` are the observer's answers to `PreferredViews`, if any."""
        known = views if self.show == "preferred" else None
        asker = self.task.asker(presenter, self, known)
        # Every picture has a track of its own; where levels are chosen, every class has, and its
        # pictures take turns.
        together: dict[int | Item, list[Item]] = {}
        for label in range(piece.start, piece.stop):
            for item in preferred(self.pictures, label, self.per_class, self.seed, known):
                together.setdefault(label if self.placement.adaptive else item, []).append(item)
        going = []
        for items in together.values():
            for run in self.task.run_numbers:
                # Being wrong becomes more frequent with the level, up to guessing.
                track = self.placement.track(lapse=asker.chance, seed=items[0].label)
                going.append((items, run, track, advance(track)))
        shown: list[Shown] = []
        parts: list[Decided] = []
        while going := [each for each in going if each[-1]]:
            now = [
                Shown(items[draw % len(items)], self.placement.levels[level], run, draw)
                for items, run, _, trials in going
                for level, draw in trials
            ]
            parts.append(asker.ask(now))
            shown += now
            # What an observer hands on chooses; all its layers are measured along.
            wrong = 1 - parts[-1].right[:, -1, 0]
            unreadable = {now[place].item.label for place in np.flatnonzero(np.isnan(wrong))}
            answers = iter(wrong.tolist())
            own = [list(islice(answers, len(trials))) for *_, trials in going]
            going = [
                (items, run, track, advance(track, each))
                for (items, run, track, _), each in zip(going, own, strict=True)
                if items[0].label not in unreadable
            ]
        found = Decided.joined(parts) if parts else asker.ask([])
        dims = ("trial", "layer", "readout")
        coords = {
            "class_of": (
                "trial",
                np.array([each.item.label for each in shown], np.int32),
                with_names(self.pictures.classes, piece),
            ),
            "index": ("trial", np.array([each.item.place for each in shown], np.int32)),
            "dropout_run": ("trial", np.array([each.run for each in shown], np.int16)),
            "level": ("trial", np.array([each.level for each in shown], np.float64)),
        }
        if len(found.others) == len(shown):
            others = np.array([each or (-1, -1) for each in found.others], np.int32)
            others = others.reshape(-1, 2).T
            coords["other_class"], coords["other_index"] = (("trial", each) for each in others)
        return presenter.result(
            self.scene,
            {
                "chosen": (dims, found.chosen, with_names(asker.choices, piece)),
                "problem": problems_as_flags("trial", found.problems),
                "right": (dims, found.right.astype(np.float32)),
                "score": (dims, found.score.astype(np.float32)),
                "undefined": (dims, found.undefined.astype(np.uint8)),
            },
            coords,
            along="trial",
            axis=self.manipulation.axis,
            chance=asker.chance,
            choices=len(asker.choices),
            decision=self.task.decision,
            manipulation=self.manipulation.name,
            most=self.manipulation.most,
            strongest=self.placement.levels[-1],
            task=self.task.name,
            test=self.id,
            unreadable=unreadable_in_words(found.problems),
            weakest=self.placement.levels[1],
        )

    def picture(self, shown: Shown) -> Picture:
        """Return what is shown in a trial."""
        original = self.pictures.shown(*shown.item)
        return Manipulated(original, self.manipulation, shown.level, self.seed_of(shown))

    def seed_of(self, shown: Shown) -> Seed:
        """Return the seed of a trial: another for each picture, level and draw.

        It does not depend on other pictures of the set.
        """
        own = zlib.crc32(self.pictures.name(*shown.item).encode("utf-8", "surrogateescape"))
        level = zlib.crc32(np.float64(shown.level).tobytes())
        return (self.seed, own, level, shown.run, shown.draw)

    @property
    def original_at(self) -> float:
        """Where the original stands on a logarithmic axis: a step before the weakest level."""
        first, second = self.placement.levels[1:3]
        return first * first / second

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return one picture over levels, the original first."""
        levels = self.placement.levels[1:]
        first = next((label for label, count in enumerate(self.pictures.counts) if count), None)

        def sample(level: float) -> Sample:
            shown: Picture | Stimulus = nothing(self.scene)
            if first is not None:
                shown = self.picture(Shown(Item(first, 0), level, 0))
            name = f"{level:.3g}" if level else "original"
            return Sample(shown, name, self.manipulation.title, level or self.original_at)

        return [[sample(level) for level in (0.0, *(levels[i] for i in spread(len(levels), 6)))]]

"""Which levels of a manipulation are shown: all of a list, or those that tell most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fechner.experiments.item_tasks import Answered, Ask, ItemTask, Shown
from fechner.experiments.items import Item


class ItemPlacement(Protocol):
    """A way to choose levels."""

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels that may be shown, ascending; the first is 0, the original."""
        ...

    @property
    def method(self) -> str:
        """How levels are chosen, in a sentence."""
        ...

    def trials(self, pictures: int) -> int:
        """Return the largest number of trials of a class of which so many pictures are shown."""
        ...

    def run(
        self, ask: Ask, items: Sequence[Item], task: ItemTask
    ) -> tuple[Sequence[Shown], Answered]:
        """Show pictures of some classes; return what was shown, and what came of it."""
        ...


@dataclass(frozen=True)
class EveryLevel:
    """Every picture at every level, once in each run."""

    levels: tuple[float, ...]

    @property
    def method(self) -> str:
        """How levels are chosen, in a sentence."""
        return (
            f"Every picture is shown as it is and at {len(self.levels) - 1} levels from "
            f"{self.levels[1]:.3g} to {self.levels[-1]:.3g}."
        )

    def trials(self, pictures: int) -> int:
        """Return the number of trials of a class."""
        return len(self.levels) * pictures

    def run(
        self, ask: Ask, items: Sequence[Item], task: ItemTask
    ) -> tuple[Sequence[Shown], Answered]:
        """Show all."""
        shown = [
            Shown(item, level, run)
            for item in items
            for run in task.run_numbers
            for level in self.levels
        ]
        return shown, ask(shown)


@dataclass(frozen=True)
class AdaptiveLevels:
    """The level that is expected to tell most of the threshold of a class, trial after trial.

    Parameters
    ----------
    each
        Trials of each class; its pictures take turns.
    originals
        So many more, before them, show the original: without them, a class that is not recognised
        at all passes for one that is lost at once.
    width
        Stop earlier when the 95 % interval of the threshold is as narrow, in log10; None never.
    """

    levels: tuple[float, ...]
    each: int = 40
    width: float | None = None
    originals: int = 4

    @property
    def method(self) -> str:
        """How levels are chosen, in a sentence."""
        earlier = (
            f", fewer once the 95 % interval of the threshold is below {self.width:g} in log10"
            if self.width is not None
            else ""
        )
        return (
            f"Levels are chosen trial by trial among the original and {len(self.levels) - 1} from "
            f"{self.levels[1]:.3g} to {self.levels[-1]:.3g}, where the answer is expected to tell "
            f"most of the threshold of a class (Watson 2017): {self.each} trials of each{earlier}, "
            f"after {self.originals} of the original."
        )

    def trials(self, pictures: int) -> int:
        """Return the number of trials of a class."""
        return self.originals + self.each if pictures else 0

    def run(
        self, ask: Ask, items: Sequence[Item], task: ItemTask
    ) -> tuple[Sequence[Shown], Answered]:
        """Show round by round: one trial of every class that is not done, in every run."""
        from fechner.psychometrics import Adaptive

        pictures: dict[int, list[Item]] = {}
        for item in items:
            pictures.setdefault(item.label, []).append(item)
        # Being wrong becomes more frequent with the level, up to guessing.
        tracks = {
            (label, run): Adaptive(
                self.levels,
                shape="logistic",
                lapse=ask.chance,
                stop_trials=self.originals + self.each,
                stop_width=self.width,
                seed=label,
            )
            for label in pictures
            for run in task.run_numbers
        }
        shown: list[Shown] = []
        parts: list[Answered] = []
        unreadable: set[int] = set()
        for number in range(self.originals + self.each):
            going = [
                key
                for key, track in tracks.items()
                if key[0] not in unreadable and not track.finished
            ]
            if not going:
                break
            chosen = [0 if number < self.originals else tracks[key].next() for key in going]
            now = [
                Shown(pictures[label][number % len(pictures[label])], self.levels[level], run)
                for (label, run), level in zip(going, chosen, strict=True)
            ]
            heard = ask(now, number)
            # What an observer hands on chooses; all its layers are measured along.
            for key, level, right in zip(going, chosen, heard.right[:, -1, 0], strict=True):
                if np.isnan(right):
                    unreadable.add(key[0])
                else:
                    tracks[key].update(level, 1 - float(right))
            shown += now
            parts.append(heard)
        return shown, Answered.joined(parts) if parts else ask([])

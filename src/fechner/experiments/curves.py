"""Curves of responses, one for each condition, over a series of tests.

What the ten properties of early vision have in common (Vila-Tomás et al. 2026): a test is shown in
steps of luminance, colour, frequency or contrast, on backgrounds that differ from curve to curve,
and an observer's response is how far it lies from its reference. People's curves, or at least
their order, are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np

from fechner.experiments.base import Piece, Sample, Scene, split
from fechner.experiments.detection import REASONS, flag_stimulus, flagged
from fechner.experiments.presenter import Presenter, channel_changes, differences
from fechner.observers.abilities import Ability, Need, lacks
from fechner.stimuli import OpponentSpace, Stimulus
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.stimuli.contrast import Floats

#: Pictures of one piece, about; a curve is never divided.
_IMAGES_PER_PIECE = 400


@dataclass(frozen=True)
class Curve:
    """One condition, under which a test is shown at every abscissa.

    Parameters
    ----------
    channel
        Direction of the test: ``ach``, ``rg`` or ``yb``.
    condition
        What is special about it, in words; and the number behind them.
    group
        Curves of one group have an order that is known.
    human
        Responses of people at each abscissa, up to a scale common to all curves; empty where these
        are not known.
    ideal
        Numbers whose order is that of the curves in their group, at each abscissa; empty for a
        curve that has no place in it.
    needs
        What an observer must be able to see to be asked this curve; others may still be.
    test
        What is special about its tests, in words, where it is not the abscissa.
    """

    channel: str
    condition: str
    level: float
    group: str = ""
    human: tuple[float, ...] = ()
    ideal: tuple[float, ...] = ()
    needs: tuple[Need, ...] = ()
    test: str = ""


class Shown(NamedTuple):
    """A test, what it is compared with, and on which side of it the test lies."""

    test: Stimulus
    reference: Stimulus
    sign: float = 1.0


class CurveTask(Protocol):
    """What is shown, and what people make of it."""

    @property
    def label(self) -> str:
        """The abscissa, with its unit."""
        ...

    @property
    def abscissae(self) -> tuple[float, ...]:
        """Where every curve is measured."""
        ...

    @property
    def seeds(self) -> int:
        """How many draws of a test are shown; 1 where nothing is random."""
        ...

    @property
    def by_channel(self) -> bool:
        """Whether curves are signed changes of an observer's opponent channels.

        Observers without such have the curve of the first channel only, by distance.
        """
        ...

    @property
    def needs(self) -> tuple[Need, ...]:
        """What an observer must be able to see to be asked any curve at all."""
        ...

    @property
    def method(self) -> str:
        """What is shown and what is known of people, in sentences."""
        ...

    def __len__(self) -> int:
        """Return how many curves there are."""
        ...

    def curves(self) -> Sequence[Curve]:
        """List the curves."""
        ...

    def shown(self, curve: int, x: float, seed: int, space: OpponentSpace) -> Shown:
        """Return what is shown at a point of a curve."""
        ...


@dataclass(frozen=True)
class Curves:
    """Measure the curves of a task.

    Parameters
    ----------
    cut
        Whether light that the display cannot show is cut; otherwise the point is left out.
    """

    id: str
    title: str
    reference: str
    task: CurveTask
    scene: Scene
    cut: bool = False
    version: int = 2

    asks: ClassVar[Ability] = "compares"

    @property
    def needs(self) -> tuple[Need, ...]:
        """What an observer must be able to see."""
        return self.task.needs

    @property
    def axes(self) -> tuple[str, str]:
        """The abscissa and the conditions."""
        return self.task.label, "condition"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        draws = f" Each is drawn {self.task.seeds} times." if self.task.seeds > 1 else ""
        return (
            f"{self.task.method}{draws} What the display cannot show is "
            f"{'cut' if self.cut else 'left out and named'}. {self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List pieces of a few curves each."""
        each = len(self.task.abscissae) * self.task.seeds
        # Channels are read in one go.
        if self.task.by_channel:
            return [Piece("curves-00", 0, len(self.task), 2 * each)]
        return split("curves", len(self.task), max(1, _IMAGES_PER_PIECE // each), each)

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure some of the curves."""
        task, wants = self.task, presenter.observer.wants
        curves = task.curves()[piece.start : piece.stop]
        # Abscissae within draws: patterns that differ in contrast only are drawn once.
        points = [
            task.shown(number, x, seed, self.scene.space)
            for number in range(piece.start, piece.stop)
            for seed in range(task.seeds)
            for x in task.abscissae
        ]
        shape = (len(curves), task.seeds, len(task.abscissae))
        display, fields = self.scene.display, self.scene.fields(wants)
        flags = [flag_stimulus(each.test, display, *fields, cut=self.cut) for each in points]
        # Where a draw cannot be shown, the point is left out.
        dropped = np.array(flags, np.uint8).reshape(shape).max(axis=1)
        unseen = [any(need in lacks(wants) for need in curve.needs) for curve in curves]
        dropped[np.array(unseen)] = REASONS.index("no-colour-seen")
        kept = np.broadcast_to(dropped[:, None] == 0, shape)
        places = ("seed", "x", "layer", "readout")
        if task.by_channel:
            # All curves show the same: the first stands for all of them.
            shown = points[: kept[0].size]
            distance = self._responses(shown, kept[0], presenter)
            response = self._by_channel(shown, kept[0], distance, len(curves), presenter)
            further = {"distance": (places, distance)}
        else:
            response, further = self._responses(points, kept, presenter), {}
        unknown = (np.nan,) * len(task.abscissae)
        return presenter.result(
            self.scene,
            {
                "response": (("curve", *places), response),
                **further,
                "dropped": flagged(("curve", "x"), dropped),
                "human": (("curve", "x"), np.array([each.human or unknown for each in curves])),
                "ideal": (("curve", "x"), np.array([each.ideal or unknown for each in curves])),
            },
            {
                "abscissa": ("x", np.array(task.abscissae)),
                **{
                    name: ("curve", [getattr(curve, name) for curve in curves])
                    for name in ("channel", "condition", "level", "group")
                },
            },
            along="curve",
        )

    def _responses(
        self, points: Sequence[Shown], kept: NDArray[np.bool_], presenter: Presenter
    ) -> Floats:
        """Show what can be shown; the rest stays NaN."""
        tests, references, signs = zip(*points, strict=True)
        found = differences(presenter, tests, references, self.scene, kept=kept)
        return np.reshape(signs, (*kept.shape, 1, 1)) * found

    def _by_channel(
        self,
        points: Sequence[Shown],
        kept: NDArray[np.bool_],
        distance: Floats,
        n: int,
        presenter: Presenter,
    ) -> Floats:
        """Return the change of each of n channels; some have the distance only."""
        found = np.full((n, *distance.shape), np.nan)
        found[0] = distance
        shown = [each for each, keep in zip(points, kept.ravel(), strict=True) if keep]
        tests, references = [each.test for each in shown], [each.reference for each in shown]
        changes = channel_changes(presenter, tests, references, self.scene) if shown else None
        if changes is not None:
            signed = np.moveaxis(changes, -1, 0)[..., None]
            has_channels = np.isfinite(signed).all(axis=(0, 1))
            found[:, kept] = np.where(has_channels, signed, found[:, kept])
        return found

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return a row of tests for each curve; curves that show the same have one row."""
        task = self.task
        at = [task.abscissae[column] for column in _spread(len(task.abscissae), 10)]
        curves = task.curves()
        rows = {
            tuple(task.shown(number, x, 0, self.scene.space).test for x in at): number
            for number in reversed(range(len(curves)))
        }
        several = len(rows) > 1
        return [
            [
                Sample(test, f"{x:.3g}", _in_words(curves, number) if several else "", x)
                for x, test in zip(at, tests, strict=True)
            ]
            for tests, number in sorted(rows.items(), key=lambda row: row[1])
        ]


def _in_words(curves: Sequence[Curve], number: int) -> str:
    """Return what is special about a curve among others."""
    curve = curves[number]
    several = len({each.channel for each in curves}) > 1
    channel = DIRECTION_NAMES[curve.channel] if several else ""
    group = "" if curve.group == curve.channel else curve.group
    return ", ".join(filter(None, (channel, group, curve.condition)))


def _spread(n: int, most: int) -> list[int]:
    """Return at most that many of n places, in equal steps if there are any."""
    equal = (count for count in range(min(n, most), 4, -1) if (n - 1) % (count - 1) == 0)
    return [round(i) for i in np.linspace(0, n - 1, next(equal, min(n, most - 2)))]

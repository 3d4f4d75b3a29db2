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

from fechner.experiments.base import Piece, Sample, Scene, geometry
from fechner.experiments.comparing import channel_changes, differences
from fechner.experiments.limits import REASONS, flag_stimulus
from fechner.experiments.presenter import Presenter
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


#: What is shown, by curve, draw and abscissa.
_Grid = Sequence[Sequence[Sequence[Shown]]]


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
        curves = len(self.task)
        few = max(1, _IMAGES_PER_PIECE // each)
        # Channels are read in one go.
        if self.task.by_channel:
            return [Piece("curves-00", 0, curves, 2 * each)]
        ends = [(start, min(start + few, curves)) for start in range(0, curves, few)]
        return [
            Piece(f"curves-{number:02d}", start, stop, each * (stop - start))
            for number, (start, stop) in enumerate(ends)
        ]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure some of the curves."""
        import xarray as xr

        curves = self.task.curves()[piece.start : piece.stop]
        abscissae = np.array(self.task.abscissae)
        # Abscissae within draws: patterns that differ in contrast only are drawn once.
        grid = [
            [
                [self.task.shown(number, x, seed, self.scene.space) for x in self.task.abscissae]
                for seed in range(self.task.seeds)
            ]
            for number in range(piece.start, piece.stop)
        ]
        dropped = self._dropped(grid, presenter)
        lacking = lacks(presenter.observer.wants)
        unseen = [any(need in lacking for need in curve.needs) for curve in curves]
        dropped[np.array(unseen)] = REASONS.index("no-colour-seen")
        kept = np.broadcast_to(dropped[:, None] == 0, (len(grid), self.task.seeds, len(abscissae)))
        points, places = ("curve", "x"), ("seed", "x", "layer", "readout")
        if self.task.by_channel:
            response, distance = self._by_channel(grid, kept, presenter)
            further = {"distance": (places, distance)}
        else:
            response, further = self._responses(grid, kept, presenter), {}
        return xr.Dataset(
            {
                "response": (("curve", *places), response),
                **further,
                "dropped": (points, dropped, {"meanings": " ".join(REASONS)}),
                "human": (points, _known([curve.human for curve in curves], len(abscissae))),
                "ideal": (points, _known([curve.ideal for curve in curves], len(abscissae))),
            },
            coords={
                "abscissa": ("x", abscissae),
                "channel": ("curve", [curve.channel for curve in curves]),
                "condition": ("curve", [curve.condition for curve in curves]),
                "level": ("curve", [curve.level for curve in curves]),
                "group": ("curve", [curve.group for curve in curves]),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs={"along": "curve", **geometry(self.scene, presenter.observer.wants)},
        )

    def _dropped(self, grid: _Grid, presenter: Presenter) -> NDArray[np.uint8]:
        """Flag points of which a draw cannot be shown, [curves, abscissae]."""
        wants, display = presenter.observer.wants, self.scene.display
        drawn, seen = self.scene.fields(wants)
        flags = np.array(
            [
                [
                    [flag_stimulus(s.test, display, drawn, seen, cut=self.cut) for s in draw]
                    for draw in draws
                ]
                for draws in grid
            ],
            dtype=np.uint8,
        )
        return np.asarray(flags.max(axis=1))

    def _responses(self, grid: _Grid, kept: NDArray[np.bool_], presenter: Presenter) -> Floats:
        """Show what can be shown; the rest stays NaN."""
        found = np.full((*kept.shape, len(presenter.layers), len(presenter.readouts)), np.nan)
        tests, references, signs = _chosen(grid, kept)
        if tests:
            distances = differences(presenter, tests, references, self.scene)
            found[kept] = np.array(signs)[:, None, None] * distances
        return found

    def _by_channel(
        self, grid: _Grid, kept: NDArray[np.bool_], presenter: Presenter
    ) -> tuple[Floats, Floats]:
        """Return the change of each channel, and the distance, which is all that some have.

        All curves show the same: the first stands for all of them.
        """
        distance = self._responses(grid[:1], kept[:1], presenter)[0]
        found = np.full((len(grid), *distance.shape), np.nan)
        found[0] = distance
        tests, references, _ = _chosen(grid[:1], kept[:1])
        changes = channel_changes(presenter, tests, references, self.scene) if tests else None
        if changes is not None:
            signed = np.moveaxis(changes, -1, 0)[..., None]
            has_channels = np.isfinite(signed).all(axis=(0, 1))
            found[:, kept[0]] = np.where(has_channels, signed, found[:, kept[0]])
        return found, distance

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


def _chosen(
    grid: _Grid, kept: NDArray[np.bool_]
) -> tuple[list[Stimulus], list[Stimulus], list[float]]:
    """Return tests, references and signs of the points that are kept, in order."""
    points = [each for draws in grid for draw in draws for each in draw]
    chosen = [each for each, keep in zip(points, kept.ravel(), strict=True) if keep]
    return [s.test for s in chosen], [s.reference for s in chosen], [s.sign for s in chosen]


def _known(rows: Sequence[tuple[float, ...]], n: int) -> Floats:
    """Return rows with NaN for those that are not known."""
    return np.array([row or (float("nan"),) * n for row in rows])


def _in_words(curves: Sequence[Curve], number: int) -> str:
    """Return what is special about a curve among others."""
    curve = curves[number]
    several = len({each.channel for each in curves}) > 1
    channel = DIRECTION_NAMES[curve.channel] if several else ""
    group = "" if curve.group == curve.channel else curve.group
    return ", ".join(filter(None, (channel, group, curve.condition)))


def _spread(n: int, most: int) -> list[int]:
    """Return so many of n places at most, in equal steps if there are any.

    Examples
    --------
    >>> _spread(10, 10), _spread(15, 10), _spread(12, 10)
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 2, 4, 6, 8, 10, 12, 14], [0, 2, 3, 5, 6, 8, 9, 11])
    """
    equal = (count for count in range(min(n, most), 4, -1) if (n - 1) % (count - 1) == 0)
    return [round(i) for i in np.linspace(0, n - 1, next(equal, min(n, most - 2)))]

"""Curves of responses, one for each condition, over a series of tests.

What the ten properties of early vision have in common (Vila-Tomás et al. 2026): a test is shown in
steps of luminance, colour, frequency or contrast, on backgrounds that differ from curve to curve,
and an observer's response is how far it lies from its reference. People's curves, or at least
their order, are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from fechner.arrays import xr
from fechner.experiments.base import Piece, Sample, Scene, split, spread
from fechner.experiments.detection import REASONS, flag_stimulus, flagged
from fechner.experiments.presenter import Presenter, channel_changes, differences
from fechner.observers.abilities import Ability, Need, lacks
from fechner.stimuli import Stimulus
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    from fechner.experiments.noise_curves import CurveTask

#: Pictures of one piece, about; a curve is never divided.
_IMAGES_PER_PIECE = 400


@dataclass(frozen=True)
class Curve:
    """One condition, under which a test is shown at every abscissa.

    Parameters
    ----------
    channel, test
        Direction of the test: ``ach``, ``rg`` or ``yb``; what else is special about it.
    condition, level
        What is special about the condition, and the number behind that.
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


@dataclass(frozen=True)
class Curves:
    """Measure the curves of a task.

    Parameters
    ----------
    task
        What is shown, and what people make of it: ``label`` names its ``abscissae``, ``seeds`` is
        how many draws of a test are shown, ``needs`` what an observer must see to be asked any
        curve at all, and ``method`` says so in sentences. ``curves()`` lists the curves, and
        ``shown(curve, x, seed, space)`` returns what is `Shown` at a point. With ``by_channel``
        curves are signed changes of an observer's opponent channels; observers without such have
        the curve of the first channel only, by distance.
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
        each, curves = len(self.task.abscissae) * self.task.seeds, len(self.task.curves())
        # Channels are read in one go.
        if self.task.by_channel:
            return [Piece("curves-00", 0, curves, 2 * each)]
        return split("curves", curves, max(1, _IMAGES_PER_PIECE // each), each)

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure some of the curves."""
        task, scene, wants = self.task, self.scene, presenter.observer.wants
        curves = task.curves()[piece.start : piece.stop]
        # Abscissae within draws: patterns that differ in contrast only are drawn once.
        points = [
            task.shown(number, x, seed, scene.space)
            for number in range(piece.start, piece.stop)
            for seed in range(task.seeds)
            for x in task.abscissae
        ]
        shape = (len(curves), task.seeds, len(task.abscissae))
        fields = scene.fields(wants)
        flags = [flag_stimulus(each.test, scene.display, *fields, cut=self.cut) for each in points]
        # Where a draw cannot be shown, the point is left out.
        dropped = np.array(flags, np.uint8).reshape(shape).max(axis=1)
        unseen = [any(need in lacks(wants) for need in curve.needs) for curve in curves]
        dropped[np.array(unseen)] = REASONS.index("no-colour-seen")
        kept = np.broadcast_to(dropped[:, None] == 0, shape)
        if task.by_channel:
            # All curves show the same: the first stands for all of them.
            kept = kept[0]
            points = points[: kept.size]
        tests, references, signs = zip(*points, strict=True)
        response = differences(presenter, tests, references, scene, kept=kept)
        response = np.reshape(signs, (*kept.shape, 1, 1)) * response
        dims = ("seed", "x", "layer", "readout")
        further = {}
        if task.by_channel:
            further["distance"] = (dims, response)
            response = np.stack([response, *[np.full_like(response, np.nan)] * (len(curves) - 1)])
            changes = channel_changes(presenter, tests, references, scene, kept)
            if changes is not None and kept.any():
                signed = np.moveaxis(changes, -1, 0)[..., None]
                has_channels = np.isfinite(signed[:, kept]).all(axis=(0, 1))
                response = np.where(has_channels, signed, response)
        unknown = (np.nan,) * len(task.abscissae)
        return presenter.result(
            scene,
            {
                "response": (("curve", *dims), response),
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

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return a row of tests for each curve; curves that show the same have one row."""
        task, curves = self.task, self.task.curves()
        at = [task.abscissae[column] for column in spread(len(task.abscissae), 10)]
        rows: dict[tuple[Stimulus, ...], str] = {}
        for number, curve in enumerate(curves):
            tests = tuple(task.shown(number, x, 0, self.scene.space).test for x in at)
            group = "" if curve.group == curve.channel else curve.group
            name = (DIRECTION_NAMES[curve.channel], group, curve.condition)
            rows.setdefault(tests, ", ".join(filter(None, name)))
        return [
            [Sample(test, f"{x:.3g}", name, x) for x, test in zip(at, tests, strict=True)]
            for tests, name in rows.items()
        ]

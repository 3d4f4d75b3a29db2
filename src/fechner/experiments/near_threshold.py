"""Responses around the human threshold.

At every abscissa the target is shown at multiples of the human threshold, from half to twice; an
observer that sees as people do gives the same response to the same multiple. For figures, the
response over the whole plane of abscissa and contrast is measured too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fechner.arrays import xr
from fechner.errors import FechnerError
from fechner.experiments.base import Piece, Sample, Scene, abscissa, sample_grid, split
from fechner.experiments.detection import (
    Detection,
    flag_contrasts,
    flagged,
    realised_contrasts,
    realised_mask,
)
from fechner.experiments.presenter import Presenter, differences
from fechner.observers.abilities import Ability, Need
from fechner.stimuli import Layer, Stimulus
from fechner.stimuli.contrast import UNIT_NAMES

#: Abscissae in a piece, of pictures of 224 x 224 pixels; larger ones and videos make more pieces.
_ABSCISSAE_PER_SCORE_PIECE = 10
_ABSCISSAE_PER_SURFACE_PIECE = 5
_PIXELS = 224 * 224

#: Contrasts that are scored, as multiples of the human threshold: ten from half to twice.
RATIOS = tuple(float(ratio) for ratio in np.geomspace(0.5, 2, 10))


@dataclass(frozen=True)
class NearThreshold:
    """Measure responses at multiples of the human threshold, and over the whole plane.

    Without human thresholds of the task, the plane alone is measured.

    Parameters
    ----------
    ratios
        Contrasts as multiples of the human threshold.
    drop
        Whether points that the display or the pixels cannot hold are left out (and named); the
        published protocol shows them clipped or aliased.
    """

    id: str
    title: str
    task: Detection
    scene: Scene
    ratios: tuple[float, ...] = RATIOS
    drop: bool = True
    version: int = 1

    asks: ClassVar[Ability] = "compares"

    def __post_init__(self) -> None:
        if not self.task.contrasts or self.task.contrasts[0] == 0:
            raise FechnerError(f"test '{self.id}' needs contrasts above 0: their axis is log.")

    @property
    def reference(self) -> str:
        """Where human thresholds come from; empty if there are none."""
        return "" if self.task.human is None else self.task.human.citation

    @property
    def needs(self) -> tuple[Need, ...]:
        """What an observer must be able to see."""
        return self.task.needs

    @property
    def axes(self) -> tuple[str, str]:
        """Abscissa and contrast, with units."""
        return abscissa(self.task.over).label, f"contrast ({self.unit_name})"

    @property
    def unit_name(self) -> str:
        """Unit of the contrast axis, as people call it.

        A DKL amplitude along the background itself is Michelson contrast.
        """
        reference, target = self._at(0, self.task.values[0])
        along = np.allclose(target.modulation_xyz, reference.background_xyz, rtol=1e-6)
        return UNIT_NAMES["michelson" if self.task.unit == "dkl" and along else self.task.unit]

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        task, scored = self.task, ""
        if task.human is not None:
            limits = "left out and named" if self.drop else "shown all the same"
            scored = (
                f"At each, the target is shown at {len(self.ratios)} multiples of the human "
                f"threshold from {self.ratios[0]:g} to {self.ratios[-1]:g}, equally spaced in log "
                f"contrast. Points that the display or the pixels cannot hold are {limits}. "
            )
        return (
            f"{task.method} {scored}The observer's response is its difference from the reference. "
            f"Response surfaces have {len(task.values)} x {len(task.contrasts)} stimuli over "
            f"abscissa and contrast ({self.unit_name}). {self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List score pieces, then surface pieces, which are all there is if nothing is scored."""
        n, m = len(self.task.score_abscissae), len(self.task.values)
        field = self.scene.field
        larger = max(1, field.width_px * field.height_px * field.frames / _PIXELS)
        in_score = max(1, int(_ABSCISSAE_PER_SCORE_PIECE / larger))
        in_surface = max(1, int(_ABSCISSAE_PER_SURFACE_PIECE / larger))
        return [
            *split("score", n, in_score, len(self.ratios)),
            *split("surface", m, in_surface, len(self.task.contrasts), n == 0),
        ]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure one piece: multiples of the human threshold, or a part of the plane."""
        task, scene, part = self.task, self.scene, slice(piece.start, piece.stop)
        scored = piece.for_scores and bool(task.score_abscissae)
        abscissae = task.score_abscissae if scored else task.values
        pairs = [self._at(index, abscissae[index]) for index in range(piece.start, piece.stop)]
        fields, display = scene.fields(presenter.observer.wants), scene.display
        if scored:
            thresholds = task.human_thresholds(fields[0], scene.space)[part]
            contrasts = thresholds[:, None] * np.array(self.ratios)
        else:
            contrasts = np.tile(task.contrasts, (len(pairs), 1))
        flags = np.stack(
            [
                flag_contrasts(*pair, row, display, *fields)
                for pair, row in zip(pairs, contrasts, strict=True)
            ]
        )
        if scored:
            flags = flags * self.drop
        tests = [
            _with(*pair, contrast)
            for pair, row in zip(pairs, contrasts.tolist(), strict=True)
            for contrast in row
        ]
        references = [reference for reference, _ in pairs for _ in contrasts[0]]
        kept = flags == 0 if scored else np.ones(flags.shape, bool)
        response = differences(presenter, tests, references, scene, kept=kept)
        outputs, unit, over = ("layer", "readout"), {"unit": task.unit}, {"name": task.over}
        masks = [realised_mask(reference, display, fields[0]) for reference, _ in pairs]
        own = np.array(abscissae)[part]
        if scored:
            return presenter.result(
                scene,
                {
                    "response": (("point", "ratio", *outputs), response),
                    "contrast": (("point", "ratio"), contrasts, unit),
                    "dropped": flagged(("point", "ratio"), flags),
                },
                {
                    "abscissa": ("point", own, over),
                    "human_error_db": ("point", task.human_errors_db[part], {"unit": "dB"}),
                    "human_threshold": ("point", thresholds, unit),
                    "realised_mask": ("point", masks),
                    "ratio": ("ratio", np.array(self.ratios)),
                },
                along="point",
            )
        axis = np.array(task.contrasts)
        realised = [realised_contrasts(*pair, axis, display, fields[0]) for pair in pairs]
        return presenter.result(
            scene,
            {
                "surface": (("x", "y", *outputs), response),
                "surface_flags": flagged(("x", "y"), flags),
                "realised_contrast": (("x", "y"), np.stack(realised), unit),
            },
            {
                "surface_abscissa": ("x", own, over),
                "surface_realised_mask": ("x", masks),
                "surface_contrast": ("y", axis, unit),
            },
            along="x",
        )

    def _at(self, index: int, x: float) -> tuple[Stimulus, Layer]:
        """Return the reference and the target of contrast 1."""
        space = self.scene.space
        return self.task.reference(index, x, space), self.task.target(index, x, 1.0, space)

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return stimuli over abscissa (columns) and contrast (rows, strongest on top)."""
        xs, contrasts = self.task.values, self.task.contrasts
        return sample_grid(lambda x, y: _with(*self._at(x, xs[x]), contrasts[y]), xs, contrasts)


def _with(reference: Stimulus, target: Layer, contrast: float) -> Stimulus:
    return replace(reference, layers=(*reference.layers, replace(target, contrast=contrast)))

"""Responses around the human threshold.

At every abscissa the target is shown at multiples of the human threshold, from half to twice; an
observer that sees as people do gives the same response to the same multiple. For figures, the
response over the whole plane of abscissa and contrast is measured too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

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
from fechner.stimuli import Field, Layer, Stimulus
from fechner.stimuli.contrast import UNIT_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.stimuli.contrast import Floats

#: A reference and the target that is added to it.
Pair = tuple[Stimulus, Layer]

#: Abscissae in a piece, of pictures of 224 x 224 pixels; larger ones and videos make more pieces.
_ABSCISSAE_PER_SCORE_PIECE = 10
_ABSCISSAE_PER_SURFACE_PIECE = 5
_PIXELS = 224 * 224


#: Contrasts that are scored, as multiples of the human threshold: ten from half to twice.
RATIOS = tuple(float(ratio) for ratio in np.geomspace(0.5, 2, 10))


@dataclass(frozen=True)
class NearThreshold:
    """Measure responses at multiples of the human threshold, and over the whole plane.

    Parameters
    ----------
    task
        What is to be seen, and how little of it people can see; without human thresholds, the plane
        alone is measured.
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
        reference, target = self._at(0, self.task.surface_abscissae[0])
        along = np.allclose(target.modulation_xyz, reference.background_xyz, rtol=1e-6)
        return UNIT_NAMES["michelson" if self.task.unit == "dkl" and along else self.task.unit]

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        low, high = self.ratios[0], self.ratios[-1]
        limits = (
            "Points that the display or the pixels cannot hold are left out and named."
            if self.drop
            else "Points that the display or the pixels cannot hold are shown all the same."
        )
        across, up = len(self.task.surface_abscissae), len(self.task.contrasts)
        plane = f"{across} x {up} stimuli span the plane"
        response = "the observer's response is its difference from the reference."
        shown = (
            f"In all, {plane} of abscissa and contrast ({self.unit_name}), and {response}"
            if self.task.human is None
            else f"At each, the target is shown at {len(self.ratios)} multiples of the human "
            f"threshold from {low:g} to {high:g}, equally spaced in log contrast "
            f"({self.unit_name}), and {response} {limits} Where the response surface is measured, "
            f"{plane}."
        )
        return f"{self.task.method} {shown} {self.scene.method}"

    def pieces(self) -> Sequence[Piece]:
        """List score pieces, then surface pieces, which are all there is if nothing is scored."""
        n, m = len(self.task.score_abscissae), len(self.task.surface_abscissae)
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
        if piece.for_scores and self.task.score_abscissae:
            return self._measure_score(piece, presenter)
        return self._measure_surface(piece, presenter)

    def _measure_score(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        task, part = self.task, slice(piece.start, piece.stop)
        pairs = self._pairs(piece, task.score_abscissae)
        field = self.scene.drawn_field(presenter.observer.wants)
        thresholds = task.human_thresholds(field, self.scene.space)[part]
        contrasts = thresholds[:, None] * np.array(self.ratios)
        flags = self._flags(pairs, contrasts, presenter) * self.drop
        return presenter.result(
            self.scene,
            {
                "response": (
                    ("point", "ratio", "layer", "readout"),
                    self._responses(pairs, contrasts, flags == 0, presenter),
                ),
                "contrast": (("point", "ratio"), contrasts, {"unit": task.unit}),
                "dropped": flagged(("point", "ratio"), flags),
            },
            {
                "abscissa": ("point", np.array(task.score_abscissae)[part], {"name": task.over}),
                "human_error_db": ("point", task.human_errors_db[part], {"unit": "dB"}),
                "human_threshold": ("point", thresholds, {"unit": task.unit}),
                "realised_mask": ("point", self._realised_masks(pairs, field)),
                "ratio": ("ratio", np.array(self.ratios)),
            },
            along="point",
        )

    def _measure_surface(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        task, part, axis = self.task, slice(piece.start, piece.stop), np.array(self.task.contrasts)
        pairs = self._pairs(piece, task.surface_abscissae)
        field, display = self.scene.drawn_field(presenter.observer.wants), self.scene.display
        contrasts = np.tile(axis, (len(pairs), 1))
        everywhere = np.ones(contrasts.shape, bool)
        realised = [realised_contrasts(*pair, axis, display, field) for pair in pairs]
        return presenter.result(
            self.scene,
            {
                "surface": (
                    ("x", "y", "layer", "readout"),
                    self._responses(pairs, contrasts, everywhere, presenter),
                ),
                "surface_flags": flagged(("x", "y"), self._flags(pairs, contrasts, presenter)),
                "realised_contrast": (("x", "y"), np.stack(realised), {"unit": task.unit}),
            },
            {
                "surface_abscissa": (
                    "x",
                    np.array(task.surface_abscissae)[part],
                    {"name": task.over},
                ),
                "surface_realised_mask": ("x", self._realised_masks(pairs, field)),
                "surface_contrast": ("y", axis, {"unit": task.unit}),
            },
            along="x",
        )

    def _pairs(self, piece: Piece, abscissae: Sequence[float]) -> list[Pair]:
        """Return what is shown in a piece: references, and targets of contrast 1."""
        return [self._at(index, abscissae[index]) for index in range(piece.start, piece.stop)]

    def _flags(
        self, pairs: Sequence[Pair], contrasts: Floats, presenter: Presenter
    ) -> NDArray[np.uint8]:
        display, fields = self.scene.display, self.scene.fields(presenter.observer.wants)
        rows = zip(pairs, contrasts, strict=True)
        return np.stack([flag_contrasts(*pair, row, display, *fields) for pair, row in rows])

    def _realised_masks(self, pairs: Sequence[Pair], field: Field) -> list[float]:
        return [realised_mask(reference, self.scene.display, field) for reference, _ in pairs]

    def _responses(
        self,
        pairs: Sequence[Pair],
        contrasts: Floats,
        shown: NDArray[np.bool_],
        presenter: Presenter,
    ) -> Floats:
        """Show the chosen cells; the others stay NaN."""
        tests = [
            _with(*pair, contrast)
            for pair, row in zip(pairs, contrasts, strict=True)
            for contrast in row.tolist()
        ]
        references = [reference for reference, _ in pairs for _ in range(contrasts.shape[1])]
        return differences(presenter, tests, references, self.scene, kept=shown)

    def _at(self, index: int, x: float) -> Pair:
        """Return the reference and the target of contrast 1."""
        space = self.scene.space
        return self.task.reference(index, x, space), self.task.target(index, x, 1.0, space)

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return stimuli over abscissa (columns) and contrast (rows, strongest on top)."""
        xs, contrasts = self.task.surface_abscissae, self.task.contrasts
        return sample_grid(lambda x, y: _with(*self._at(x, xs[x]), contrasts[y]), xs, contrasts)


def _with(reference: Stimulus, target: Layer, contrast: float) -> Stimulus:
    return replace(reference, layers=(*reference.layers, replace(target, contrast=contrast)))

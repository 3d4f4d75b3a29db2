"""Responses around the human threshold.

At every abscissa the target is shown at multiples of the human threshold, from half to twice; an
observer that sees as people do gives the same response to the same multiple. For figures, the
response over the whole plane of abscissa and contrast is measured too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from fechner.experiments.abscissae import abscissa
from fechner.experiments.base import Piece, Sample, Scene, geometry
from fechner.experiments.comparing import differences
from fechner.experiments.detection import Detection
from fechner.experiments.limits import (
    REASONS,
    flag_contrasts,
    realised_contrasts,
    realised_mask,
)
from fechner.experiments.presenter import Presenter
from fechner.observers.abilities import Ability, Need
from fechner.stimuli import Field, Layer, Stimulus
from fechner.stimuli.contrast import UNIT_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.stimuli.contrast import Floats

#: A reference and the target that is added to it.
Pair: TypeAlias = tuple[Stimulus, Layer]

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
            *_split("score", n, in_score, len(self.ratios), True),
            *_split("surface", m, in_surface, len(self.task.contrasts), n == 0),
        ]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure one piece."""
        if piece.for_scores and self.task.score_abscissae:
            return self._measure_score(piece, presenter)
        return self._measure_surface(piece, presenter)

    def _measure_score(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        import xarray as xr

        field = self.scene.drawn_field(presenter.observer.wants)
        part = slice(piece.start, piece.stop)
        abscissae = np.array(self.task.score_abscissae)[part]
        pairs = [self._at(piece.start + i, x) for i, x in enumerate(abscissae.tolist())]
        thresholds = self.task.human_thresholds(field, self.scene.space)[part]
        contrasts = thresholds[:, None] * np.array(self.ratios)
        dropped = np.zeros(contrasts.shape, dtype=np.uint8)
        if self.drop:
            dropped = self._flags(pairs, contrasts, presenter)
        responses = self._responses(pairs, contrasts, dropped == 0, presenter)
        return xr.Dataset(
            {
                "response": (("point", "ratio", "layer", "readout"), responses),
                "contrast": (("point", "ratio"), contrasts, {"unit": self.task.unit}),
                "dropped": (("point", "ratio"), dropped, {"meanings": " ".join(REASONS)}),
            },
            coords={
                "abscissa": ("point", abscissae, {"name": self.task.over}),
                "human_error_db": ("point", self.task.human_errors_db[part], {"unit": "dB"}),
                "human_threshold": ("point", thresholds, {"unit": self.task.unit}),
                "realised_mask": ("point", self._realised_masks(pairs, field)),
                "ratio": ("ratio", np.array(self.ratios)),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs={"along": "point", **geometry(self.scene, presenter.observer.wants)},
        )

    def _measure_surface(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        import xarray as xr

        field = self.scene.drawn_field(presenter.observer.wants)
        abscissae = np.array(self.task.surface_abscissae)[piece.start : piece.stop]
        pairs = [self._at(piece.start + i, x) for i, x in enumerate(abscissae.tolist())]
        axis = np.array(self.task.contrasts)
        contrasts = np.tile(axis, (len(pairs), 1))
        realised = np.stack(
            [realised_contrasts(*pair, axis, self.scene.display, field) for pair in pairs]
        )
        responses = self._responses(pairs, contrasts, np.ones(contrasts.shape, bool), presenter)
        return xr.Dataset(
            {
                "surface": (("x", "y", "layer", "readout"), responses),
                "surface_flags": (
                    ("x", "y"),
                    self._flags(pairs, contrasts, presenter),
                    {"meanings": " ".join(REASONS)},
                ),
                "realised_contrast": (("x", "y"), realised, {"unit": self.task.unit}),
            },
            coords={
                "surface_abscissa": ("x", abscissae, {"name": self.task.over}),
                "surface_realised_mask": ("x", self._realised_masks(pairs, field)),
                "surface_contrast": ("y", axis, {"unit": self.task.unit}),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs={"along": "x", **geometry(self.scene, presenter.observer.wants)},
        )

    def _flags(
        self, pairs: Sequence[Pair], contrasts: Floats, presenter: Presenter
    ) -> NDArray[np.uint8]:
        drawn, seen = self.scene.fields(presenter.observer.wants)
        return np.stack(
            [
                flag_contrasts(*pair, row, self.scene.display, drawn, seen)
                for pair, row in zip(pairs, contrasts, strict=True)
            ]
        )

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
        tests, references = [], []
        for (reference, target), row, chosen in zip(pairs, contrasts, shown, strict=True):
            for contrast in row[chosen].tolist():
                layers = (*reference.layers, replace(target, contrast=contrast))
                tests.append(Stimulus(reference.background_xyz, layers))
                references.append(reference)
        responses = np.full(
            (*contrasts.shape, len(presenter.layers), len(presenter.readouts)), np.nan
        )
        if tests:
            responses[shown] = differences(presenter, tests, references, self.scene)
        return responses

    def _at(self, index: int, x: float) -> tuple[Stimulus, Layer]:
        """Return the reference and the target of contrast 1."""
        space = self.scene.space
        return self.task.reference(index, x, space), self.task.target(index, x, 1.0, space)

    def _stimulus(self, column: int, row: int) -> Stimulus:
        """Return a cell of the surface."""
        reference, target = self._at(column, self.task.surface_abscissae[column])
        target = replace(target, contrast=self.task.contrasts[row])
        return replace(reference, layers=(*reference.layers, target))

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return stimuli over abscissa (columns) and contrast (rows, strongest on top)."""
        columns = _spread(len(self.task.surface_abscissae), 6)
        rows = _spread(len(self.task.contrasts), 4)[:0:-1]  # the faintest shows nothing
        return [
            [
                Sample(
                    self._stimulus(column, row),
                    x=f"{self.task.surface_abscissae[column]:.3g}",
                    y=f"{self.task.contrasts[row]:.3g}",
                    at=self.task.surface_abscissae[column],
                )
                for column in columns
            ]
            for row in rows
        ]


def _spread(n: int, count: int) -> list[int]:
    return sorted({round(i) for i in np.linspace(0, n - 1, count)})


def _split(kind: str, n: int, per_piece: int, contrasts: int, for_scores: bool) -> list[Piece]:
    return [
        Piece(
            f"{kind}-{number:02d}",
            start,
            min(start + per_piece, n),
            (min(start + per_piece, n) - start) * contrasts,
            for_scores,
        )
        for number, start in enumerate(range(0, n, per_piece))
    ]

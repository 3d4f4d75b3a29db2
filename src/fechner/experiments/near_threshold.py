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

from fechner.experiments.base import Piece, Sample, Scene, geometry
from fechner.experiments.presentation import Presenter
from fechner.experiments.tasks import ABSCISSAE, Task
from fechner.observers.abilities import Ability
from fechner.stimuli import Field, Layer, Noise, Stimulus, gamut_limit
from fechner.stimuli.stimulus import drawn

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

#: Why a point is left out of the score; stored as the flag of each point.
REASONS = ("kept", "aliased", "out-of-gamut", "contrast-above-1", "noise-clipped")

#: A noise stimulus whose pixels leave the display's range more often than this is left out.
_CLIPPED_SHARE = 0.01

_ABSCISSAE_PER_SCORE_PIECE = 10
_ABSCISSAE_PER_SURFACE_PIECE = 5


@dataclass(frozen=True)
class NearThreshold:
    """Measure responses at multiples of the human threshold, and over the whole plane.

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
    reference: str
    task: Task
    scene: Scene
    ratios: tuple[float, ...]
    drop: bool = True
    version: int = 1

    asks: ClassVar[Ability] = "compares"

    @property
    def axes(self) -> tuple[str, str]:
        """Abscissa and contrast, with units."""
        return ABSCISSAE[self.task.over], f"contrast ({self.task.unit})"

    def pieces(self) -> Sequence[Piece]:
        """List score pieces, then surface pieces."""
        n, m = len(self.task.score_abscissae), len(self.task.surface_abscissae)
        return [
            *_split("score", n, _ABSCISSAE_PER_SCORE_PIECE, len(self.ratios), True),
            *_split("surface", m, _ABSCISSAE_PER_SURFACE_PIECE, len(self.task.contrasts), False),
        ]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure one piece."""
        if piece.for_scores:
            return self._measure_score(piece, presenter)
        return self._measure_surface(piece, presenter)

    def _measure_score(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        import xarray as xr

        field = self.scene.drawn_field(presenter.observer.wants)
        part = slice(piece.start, piece.stop)
        abscissae = np.array(self.task.score_abscissae)[part]
        thresholds = self.task.human_thresholds(field, self.scene.space)[part]
        contrasts = thresholds[:, None] * np.array(self.ratios)
        dropped = np.zeros(contrasts.shape, dtype=np.uint8)
        if self.drop:
            for i, x in enumerate(abscissae):
                dropped[i] = self._flags(piece.start + i, float(x), contrasts[i], field)
        responses = self._responses(piece.start, abscissae, contrasts, dropped == 0, presenter)
        return xr.Dataset(
            {
                "response": (("point", "ratio", "layer", "readout"), responses),
                "contrast": (("point", "ratio"), contrasts, {"unit": self.task.unit}),
                "dropped": (("point", "ratio"), dropped, {"meanings": " ".join(REASONS)}),
            },
            coords={
                "abscissa": ("point", abscissae, {"name": self.task.over}),
                "human_threshold": ("point", thresholds, {"unit": self.task.unit}),
                "ratio": ("ratio", np.array(self.ratios)),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs=geometry(self.scene, presenter.observer.wants),
        )

    def _measure_surface(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        import xarray as xr

        field = self.scene.drawn_field(presenter.observer.wants)
        part = slice(piece.start, piece.stop)
        abscissae = np.array(self.task.surface_abscissae)[part]
        contrasts = np.tile(np.array(self.task.contrasts), (len(abscissae), 1))
        shown = np.ones(contrasts.shape, dtype=bool)
        responses = self._responses(piece.start, abscissae, contrasts, shown, presenter)
        flags = np.stack(
            [
                self._flags(piece.start + i, float(x), contrasts[i], field)
                for i, x in enumerate(abscissae)
            ]
        )
        realised = np.stack(
            [
                self._realised(piece.start + i, float(x), contrasts[i], field)
                for i, x in enumerate(abscissae)
            ]
        )
        return xr.Dataset(
            {
                "surface": (("x", "y", "layer", "readout"), responses),
                "surface_flags": (("x", "y"), flags, {"meanings": " ".join(REASONS)}),
                "realised_contrast": (("x", "y"), realised, {"unit": self.task.unit}),
            },
            coords={
                "surface_abscissa": ("x", abscissae, {"name": self.task.over}),
                "surface_contrast": ("y", contrasts[0], {"unit": self.task.unit}),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs=geometry(self.scene, presenter.observer.wants),
        )

    def _responses(
        self,
        first: int,
        abscissae: NDArray[np.float64],
        contrasts: NDArray[np.float64],
        shown: NDArray[np.bool_],
        presenter: Presenter,
    ) -> NDArray[np.float64]:
        """Show the chosen cells; the others stay NaN."""
        tests, references = [], []
        for i, x in enumerate(abscissae):
            reference = self.task.reference(first + i, float(x), self.scene.space)
            target = self.task.target(first + i, float(x), 1.0, self.scene.space)
            for contrast in contrasts[i][shown[i]].tolist():
                layers = (*reference.layers, replace(target, contrast=contrast))
                tests.append(Stimulus(reference.background_xyz, layers))
                references.append(reference)
        responses = np.full(
            (*contrasts.shape, len(presenter.layers), len(presenter.readouts)), np.nan
        )
        if tests:
            responses[shown] = presenter.differences(tests, references, self.scene)
        return responses

    def _stimulus(self, index: int, x: float, contrast: float) -> Stimulus:
        reference = self.task.reference(index, x, self.scene.space)
        target = self.task.target(index, x, contrast, self.scene.space)
        return replace(reference, layers=(*reference.layers, target))

    def _flags(
        self, index: int, x: float, contrasts: NDArray[np.float64], field: Field
    ) -> NDArray[np.uint8]:
        """Say of each contrast why it cannot be shown as meant, 0 if it can."""
        flags = np.zeros(len(contrasts), dtype=np.uint8)
        layers = self._stimulus(index, x, 1.0).layers
        if max(layer.pattern.highest_cpd for layer in layers) > field.nyquist_cpd:
            flags[:] = REASONS.index("aliased")
            return flags
        *masks, target = layers
        if _is_noise(target) or any(_is_noise(mask) for mask in masks):
            share = self._clipped_share(index, x, contrasts, field)
            flags[share > _CLIPPED_SHARE] = REASONS.index("noise-clipped")
            return flags
        total = contrasts + sum(mask.contrast for mask in masks)
        if target.modulation_xyz[1] > 0:
            flags[total > 1 + 1e-9] = REASONS.index("contrast-above-1")
        background = self._stimulus(index, x, 0.0).background_xyz
        limit = gamut_limit(self.scene.display, background, target.modulation_xyz)
        flags[(flags == 0) & (total > limit * (1 + 1e-9))] = REASONS.index("out-of-gamut")
        return flags

    def _luminances(
        self, index: int, x: float, contrasts: NDArray[np.float64], field: Field
    ) -> NDArray[np.float64]:
        """Return luminance over background as asked for, [contrasts, pixels]; achromatic only."""
        *masks, target = self._stimulus(index, x, 1.0).layers
        base: NDArray[np.float64] = np.ones(field.height_px * field.width_px)
        for mask in masks:
            base += mask.contrast * drawn(mask.pattern, field).numpy().reshape(-1)
        pixels: NDArray[np.float64] = drawn(target.pattern, field).numpy().reshape(-1)
        return base + contrasts[:, None] * pixels

    def _limits(self, index: int, x: float) -> tuple[float, float]:
        """Return the display's range over the background's luminance."""
        low, high = self.scene.display.limits_cdm2()
        background = self.task.reference(index, x, self.scene.space).background_xyz[1]
        return low / background, high / background

    def _clipped_share(
        self, index: int, x: float, contrasts: NDArray[np.float64], field: Field
    ) -> NDArray[np.float64]:
        low, high = self._limits(index, x)
        pixels = self._luminances(index, x, contrasts, field)
        share: NDArray[np.float64] = ((pixels < low) | (pixels > high)).mean(axis=1)
        return share

    def _realised(
        self, index: int, x: float, contrasts: NDArray[np.float64], field: Field
    ) -> NDArray[np.float64]:
        """Return the contrast that is left after the display has cut noise at its limits."""
        if not _is_noise(self._stimulus(index, x, 1.0).layers[-1]):
            return contrasts
        low, high = self._limits(index, x)
        shown = self._luminances(index, x, contrasts, field).clip(low, high)
        realised: NDArray[np.float64] = shown.std(axis=1) / shown.mean(axis=1)
        return realised

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return stimuli over abscissa (columns) and contrast (rows, strongest on top)."""
        columns = _spread(len(self.task.surface_abscissae), 6)
        rows = _spread(len(self.task.contrasts), 4)[:0:-1]  # the faintest shows nothing
        return [
            [
                Sample(
                    self._stimulus(
                        column, self.task.surface_abscissae[column], self.task.contrasts[row]
                    ),
                    x=f"{self.task.surface_abscissae[column]:.3g}",
                    y=f"{self.task.contrasts[row]:.3g}",
                )
                for column in columns
            ]
            for row in rows
        ]


def _is_noise(layer: Layer) -> bool:
    return isinstance(layer.pattern, Noise)


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

"""Matching contrast across colour directions.

Gratings along the three cardinal directions whose contrasts people find equal are shown against a
uniform field; an observer that sees contrast as people do gives the three the same response. To
find what an observer itself would match, its response is measured over the whole range of contrast
that the display has in each chromatic direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fechner import human
from fechner.experiments.base import Piece, Sample, Scene, geometry
from fechner.experiments.comparing import differences
from fechner.experiments.limits import REASONS, flag_contrasts
from fechner.experiments.presenter import Presenter
from fechner.observers.abilities import Ability, Need
from fechner.stimuli import Grating, Layer, Stimulus, gamut_limit
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.stimuli.contrast import Floats


@dataclass(frozen=True)
class ColourMatching:
    """Show square-wave gratings that people match in contrast across colour directions.

    Parameters
    ----------
    contrasts
        Achromatic contrasts; the others follow by the ratios that people set.
    phase_deg
        Phase of the gratings at the centre.
    levels
        Contrasts in each chromatic direction, in equal ratios from a tenth of the weakest match of
        people to the end of the gamut, among which matches are sought; 0 seeks none.
    drop
        Whether contrasts that the display cannot show in all directions are left out (and named).
    """

    id: str
    title: str
    reference: str
    scene: Scene
    contrasts: tuple[float, ...]
    frequency_cpd: float = 1.0
    luminance_cdm2: float = 21.4
    phase_deg: float = 0.0
    levels: int = 33
    drop: bool = True
    version: int = 2

    asks: ClassVar[Ability] = "compares"
    needs: ClassVar[tuple[Need, ...]] = ("colour",)

    @property
    def axes(self) -> tuple[str, str]:
        """Direction and contrast."""
        return "colour direction", "contrast of the achromatic grating (Michelson)"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        ratios = ", ".join(
            f"{DIRECTION_NAMES[name]} {ratio:.4g}" for name, ratio in self._ratios.items()
        )
        sought = (
            " The contrast that the observer matches is the one of the same response, found on a "
            f"grid of {self.levels} contrasts up to the end of the display's gamut."
            if self.levels
            else ""
        )
        limits = (
            " Contrasts that the display cannot show in all directions are left out and named."
            if self.drop
            else ""
        )
        return (
            f"Horizontal square-wave gratings of {self.frequency_cpd:g} cycles/degree on a uniform "
            f"field of {self.luminance_cdm2:g} cd/m2, at {len(self.contrasts)} achromatic "
            f"contrasts from {self.contrasts[0]:.3g} to {self.contrasts[-1]:.3g} and those along "
            f"red-green and yellow-violet that people match to them (DKL amplitudes in the ratio "
            f"{ratios}). The response is the difference from the uniform field; it should be the "
            f"same in the three directions.{sought}{limits} {self.scene.method}"
        )

    @property
    def _ratios(self) -> dict[str, float]:
        return human.colour_matching_ratios()

    def pieces(self) -> Sequence[Piece]:
        """Return one piece: responses are compared with each other."""
        sought = self.levels * (len(self._ratios) - 1)
        images = len(self.contrasts) * len(self._ratios) + sought
        return [Piece("match", 0, len(self.contrasts), images)]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure the response to every grating."""
        import xarray as xr

        directions, contrasts = list(self._ratios), np.array(self.contrasts)
        amplitudes = self.matched_amplitudes()
        flags = self._flags(presenter)
        shown = (flags == 0) if self.drop else np.ones(len(contrasts), bool)
        tests = [
            self._grating(direction, amplitude)
            for row in amplitudes[shown].tolist()
            for direction, amplitude in zip(directions, row, strict=True)
        ]
        sought = self.sought_amplitudes()
        grid = [
            self._grating(direction, amplitude)
            for direction, row in sought.items()
            for amplitude in row.tolist()
        ]
        outputs = (len(presenter.layers), len(presenter.readouts))
        responses = np.full((*amplitudes.shape, *outputs), np.nan)
        answers = np.empty((0, *outputs))
        if tests or grid:
            uniform = Stimulus(self._background)
            answers = differences(
                presenter, tests + grid, [uniform] * (len(tests) + len(grid)), self.scene
            )
            responses[shown] = answers[: len(tests)].reshape(-1, *responses.shape[1:])
        matched = (
            {
                "sought_response": (
                    ("chromatic", "level", "layer", "readout"),
                    answers[len(tests) :].reshape(len(sought), self.levels, *outputs),
                ),
                "sought_amplitude": (
                    ("chromatic", "level"),
                    np.stack(list(sought.values())),
                    {"unit": "dkl"},
                ),
                "human_matched": (("contrast", "chromatic"), amplitudes[:, 1:], {"unit": "dkl"}),
            }
            if self.levels
            else {}
        )
        return xr.Dataset(
            {
                **matched,
                "response": (("contrast", "direction", "layer", "readout"), responses),
                "amplitude": (("contrast", "direction"), amplitudes, {"unit": "dkl"}),
                "dropped": (
                    "contrast",
                    np.where(shown, 0, flags).astype(np.uint8),
                    {"meanings": " ".join(REASONS)},
                ),
            },
            coords={
                "contrast": ("contrast", contrasts, {"unit": "michelson"}),
                "direction": ("direction", directions),
                **({"chromatic": ("chromatic", directions[1:])} if self.levels else {}),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs=geometry(self.scene, presenter.observer.wants),
        )

    def _flags(self, presenter: Presenter) -> NDArray[np.uint8]:
        """Say of each contrast why it cannot be shown in one of the directions."""
        contrasts: Floats = np.array(self.contrasts)
        flags = [
            flag_contrasts(
                Stimulus(self._background),
                self._grating(direction, 1.0).layers[0],
                contrasts * ratio,
                self.scene.display,
                *self.scene.fields(presenter.observer.wants),
            )
            for direction, ratio in self._ratios.items()
        ]
        worst: NDArray[np.uint8] = np.max(flags, axis=0)
        return worst

    def matched_amplitudes(self) -> Floats:
        """Return the contrasts that people match, [contrast, direction]."""
        return np.outer(self.contrasts, list(self._ratios.values()))

    def sought_amplitudes(self) -> dict[str, Floats]:
        """Return the contrasts among which matches are sought, by chromatic direction."""
        if not self.levels:
            return {}
        space, found = self.scene.space, {}
        for direction, ratio in list(self._ratios.items())[1:]:
            modulation = space.modulation_xyz(direction, self.luminance_cdm2)
            most = gamut_limit(self.scene.display, self._background, modulation)
            found[direction] = np.geomspace(ratio * self.contrasts[0] / 10, most, self.levels)
        return found

    @property
    def _background(self) -> tuple[float, float, float]:
        return self.scene.space.background_xyz(self.luminance_cdm2)

    def _grating(self, direction: str, amplitude: float) -> Stimulus:
        modulation = self.scene.space.modulation_xyz(direction, self.luminance_cdm2)
        pattern = Grating(self.frequency_cpd, 90.0, self.phase_deg, wave="square")
        return Stimulus(self._background, (Layer(pattern, modulation, amplitude),))

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return rows of matched gratings, the strongest on top."""
        return [
            [
                Sample(
                    self._grating(direction, contrast * ratio),
                    x=DIRECTION_NAMES[direction],
                    y=f"{contrast:.3g}",
                    at=float(place),
                )
                for place, (direction, ratio) in enumerate(self._ratios.items())
            ]
            for contrast in self.contrasts[::-4]
        ]

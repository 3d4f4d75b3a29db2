"""Matching contrast across spatial frequency.

The response to a grating against a uniform field is measured over contrast at every test frequency,
and at the reference frequency for each reference contrast. Where the curves cross is the match
(`fechner.psychometrics`); all layers and read-outs are served by one pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fechner import human
from fechner.experiments.base import Piece, Sample, Scene, geometry
from fechner.experiments.presentation import Presenter
from fechner.observers.abilities import Ability, Need
from fechner.stimuli import Grating, Layer, Stimulus

if TYPE_CHECKING:
    import xarray as xr

    from fechner.stimuli.contrast import Floats


@dataclass(frozen=True)
class FrequencyMatching:
    """Match test gratings to a reference grating of another frequency.

    Parameters
    ----------
    data
        Human data set with reference contrasts, test frequencies and matched contrasts.
    contrasts
        The grid on which responses are measured; matches are found on it.
    by
        ``"response"``: equal response against a uniform field (Cai et al. 2025, eq. 2);
        ``"direct"``: least difference from the reference grating itself.
    """

    id: str
    title: str
    reference: str
    data: str
    scene: Scene
    contrasts: tuple[float, ...]
    reference_frequency_cpd: float = 5.0
    luminance_cdm2: float = 10.0
    by: Literal["response", "direct"] = "response"
    version: int = 1

    asks: ClassVar[Ability] = "compares"
    needs: ClassVar[tuple[Need, ...]] = ()

    @property
    def axes(self) -> tuple[str, str]:
        """Test frequency and reference contrast."""
        return "test frequency (cycles/degree)", "contrast of the reference (Michelson)"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        how = {
            "response": "to which the response, against a uniform field, is the same as to the "
            "reference grating",
            "direct": "that differs least from the reference grating",
        }[self.by]
        frequencies, references, _ = self.human_matches()
        return (
            f"Gratings of {len(frequencies)} frequencies from {frequencies[0]:g} to "
            f"{frequencies[-1]:g} cycles/degree at {self.luminance_cdm2:g} cd/m2 are matched to "
            f"one of {self.reference_frequency_cpd:g} cycles/degree at {len(references)} contrasts "
            f"from {references.min():.3g} to {references.max():.3g}. The match is the contrast "
            f"{how}, found on a grid of {len(self.contrasts)} contrasts. {self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """Return one piece: every match needs the reference's responses."""
        frequencies, references, _ = self.human_matches()
        tests = len(frequencies) * len(self.contrasts)
        images = tests + len(references) if self.by == "response" else tests * len(references)
        return [Piece("match", 0, len(frequencies), images)]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure responses over contrast at each test frequency."""
        import xarray as xr

        frequencies, references, matched = self.human_matches()
        grid = [self._grating(f, c) for f in frequencies for c in self.contrasts]
        reference_gratings = [self._grating(self.reference_frequency_cpd, c) for c in references]
        shape = (len(frequencies), len(self.contrasts), len(presenter.layers), -1)
        data: dict[str, Any] = {"human_matched": (("reference", "frequency"), matched)}
        outputs = ("layer", "readout")
        if self.by == "response":
            uniform = Stimulus(self._background)
            responses = presenter.differences(
                reference_gratings + grid,
                [uniform] * (len(references) + len(grid)),
                self.scene,
            )
            data["reference_response"] = (("reference", *outputs), responses[: len(references)])
            data["response"] = (
                ("frequency", "contrast", *outputs),
                responses[len(references) :].reshape(shape),
            )
        else:
            differences = [
                presenter.differences(grid, [grating] * len(grid), self.scene).reshape(shape)
                for grating in reference_gratings
            ]
            data["difference"] = (
                ("reference", "frequency", "contrast", *outputs),
                np.stack(differences),
            )
        return xr.Dataset(
            data,
            coords={
                "frequency": ("frequency", frequencies, {"unit": "cpd"}),
                "reference": ("reference", references, {"unit": "michelson"}),
                "contrast": ("contrast", np.array(self.contrasts), {"unit": "michelson"}),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs=geometry(self.scene, presenter.observer.wants),
        )

    @property
    def _background(self) -> tuple[float, float, float]:
        return self.scene.space.background_xyz(self.luminance_cdm2)

    def _grating(self, frequency_cpd: float, contrast: float) -> Stimulus:
        modulation = self.scene.space.modulation_xyz("ach", self.luminance_cdm2)
        return Stimulus(
            self._background, (Layer(Grating(float(frequency_cpd)), modulation, float(contrast)),)
        )

    def human_matches(self) -> tuple[Floats, Floats, Floats]:
        """Return test frequencies, reference contrasts, and matches [reference, frequency]."""
        data = human.load(self.data)
        frequencies = np.unique(data["test_frequency_cpd"])
        index = data["reference_index"]
        references = np.array([data["reference_contrast"][index == i][0] for i in np.unique(index)])
        matched = data["matched_contrast"].reshape(len(references), len(frequencies))
        return frequencies, references, matched

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return rows of matched gratings as people set them, the reference on the left."""
        frequencies, references, matched = self.human_matches()
        rows = []
        for contrast, matches in list(zip(references, matched, strict=True))[:6:2]:
            reference = Sample(
                self._grating(self.reference_frequency_cpd, contrast),
                x=f"reference {self.reference_frequency_cpd:g}",
                y=f"{contrast:.3g}",
                at=math.nan,
            )
            tests = [
                Sample(self._grating(f, match), x=f"{f:g}", y=f"{contrast:.3g}", at=float(f))
                for f, match in zip(frequencies, matches, strict=True)
            ]
            rows.append([reference, *tests[::2]])
        return rows

"""Matching contrast across spatial frequency.

The response to a grating against a uniform field is measured over contrast at every test frequency,
and at the reference frequency for each reference contrast. Where the curves cross is the match
(`fechner.psychometrics`); all layers and read-outs are served by one pass. For figures, the same is
measured at more frequencies than people were shown.
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

#: Whether responses against a uniform field are matched, or the gratings themselves.
MatchBy = Literal["response", "direct"]

#: Figures have this many frequencies between the lowest and the highest that people were shown.
_CURVE_FREQUENCIES, _CURVE_FREQUENCIES_PER_PIECE = 25, 5

_OUTPUTS = ("layer", "readout")


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
    by: MatchBy = "response"
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
            f"{how}, found on a grid of {len(self.contrasts)} contrasts. Where curves for figures "
            f"are measured, they have {_CURVE_FREQUENCIES} more frequencies. {self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List the piece that is scored, and those whose curves figures show."""
        frequencies, references, _ = self.human_matches()
        shown = self._images(len(frequencies))
        shown += len(references) if self.by == "response" else 0
        drawn = range(0, _CURVE_FREQUENCIES, _CURVE_FREQUENCIES_PER_PIECE)
        return [
            Piece("match", 0, len(frequencies), shown),
            *(
                Piece(
                    f"curves-{number:02d}",
                    start,
                    start + _CURVE_FREQUENCIES_PER_PIECE,
                    self._images(_CURVE_FREQUENCIES_PER_PIECE),
                    for_scores=False,
                )
                for number, start in enumerate(drawn)
            ),
        ]

    def _images(self, frequencies: int) -> int:
        """Return how many pictures test gratings of some frequencies make, at most."""
        times = 1 if self.by == "response" else len(self._references)
        return frequencies * len(self.contrasts) * times

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure responses over contrast at each test frequency."""
        import xarray as xr

        if not piece.for_scores:
            return self._measure_curves(piece, presenter)
        frequencies, references, matched = self.human_matches()
        grid = self._gratings(frequencies)
        shape = (len(frequencies), len(self.contrasts))
        data: dict[str, Any] = {"human_matched": (("reference", "frequency"), matched)}
        if self.by == "response":
            responses = self._responses([*self._references, *grid], presenter)
            data["reference_response"] = (("reference", *_OUTPUTS), responses[: len(references)])
            data["response"] = (
                ("frequency", "contrast", *_OUTPUTS),
                _folded(responses[len(references) :], shape, axis=0),
            )
        else:
            data["difference"] = (
                ("reference", "frequency", "contrast", *_OUTPUTS),
                _folded(self._differences(grid, presenter), shape, axis=1),
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

    def _measure_curves(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure the same at frequencies of figures; NaN where the pixels cannot hold them."""
        import xarray as xr

        tested, references, _ = self.human_matches()
        between = np.geomspace(tested[0], tested[-1], _CURVE_FREQUENCIES + 2)[1:-1]
        frequencies = between[piece.start : piece.stop]
        wants = presenter.observer.wants
        fields = self.scene.fields(wants)
        held = frequencies <= min(field.nyquist_cpd for field in fields)
        grid = self._gratings(frequencies[held])
        direct = self.by == "direct"
        shape = (len(references),) * direct + (len(frequencies), len(self.contrasts))
        answers = np.full((*shape, len(presenter.layers), len(presenter.readouts)), np.nan)
        if grid:
            show = self._differences if direct else self._responses
            shown = (int(held.sum()), len(self.contrasts))
            answers[..., held, :, :, :] = _folded(show(grid, presenter), shape=shown, axis=direct)
        dims = ("reference",) * direct + ("curve_frequency", "contrast", *_OUTPUTS)
        coords = {"reference": ("reference", references, {"unit": "michelson"})} if direct else {}
        return xr.Dataset(
            {"curve_difference" if direct else "curve_response": (dims, answers)},
            coords=coords
            | {
                "curve_frequency": ("curve_frequency", frequencies, {"unit": "cpd"}),
                "contrast": ("contrast", np.array(self.contrasts), {"unit": "michelson"}),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs={"along": "curve_frequency", **geometry(self.scene, wants)},
        )

    def _responses(self, gratings: Sequence[Stimulus], presenter: Presenter) -> Floats:
        """Compare gratings with a uniform field, [gratings, layers, read-outs]."""
        uniform = Stimulus(self._background)
        return presenter.differences(gratings, [uniform] * len(gratings), self.scene)

    def _differences(self, gratings: Sequence[Stimulus], presenter: Presenter) -> Floats:
        """Compare gratings with each reference, [references, gratings, layers, read-outs]."""
        references = self._references
        every = [range(len(references))] * len(gratings)
        return presenter.matches(gratings, references, every, self.scene).swapaxes(0, 1)

    @property
    def _references(self) -> list[Stimulus]:
        _, contrasts, _ = self.human_matches()
        return [self._grating(self.reference_frequency_cpd, contrast) for contrast in contrasts]

    def _gratings(self, frequencies: Floats) -> list[Stimulus]:
        return [self._grating(f, contrast) for f in frequencies for contrast in self.contrasts]

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


def _folded(answers: Floats, shape: tuple[int, int], axis: int) -> Floats:
    """Return answers to gratings, along one axis, by frequency and contrast."""
    return answers.reshape(*answers.shape[:axis], *shape, *answers.shape[axis + 1 :])

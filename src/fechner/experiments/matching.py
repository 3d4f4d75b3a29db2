"""Matching contrast across spatial frequency.

The response to a pattern against a uniform field is measured over contrast at every test frequency,
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
from fechner.errors import FechnerError
from fechner.experiments.base import Piece, Sample, Scene, geometry
from fechner.experiments.comparing import differences, differences_from_several
from fechner.experiments.limits import REASONS, flag_contrasts
from fechner.experiments.presenter import Presenter
from fechner.observers.abilities import Ability, Need, Wants
from fechner.stimuli import Grating, Layer, Pattern, Stimulus
from fechner.stimuli.contrast import UNIT_NAMES, Unit
from fechner.stimuli.patterns import (
    can_vary,
    contrast_of,
    in_words,
    seed_of,
    with_parameter,
    with_seed,
)

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from fechner.stimuli.contrast import Floats

#: Whether responses against a uniform field are matched, or the gratings themselves.
MatchBy = Literal["response", "direct"]

#: Figures have this many frequencies between the lowest and the highest that people were shown.
_CURVE_FREQUENCIES, _CURVE_FREQUENCIES_PER_PIECE = 25, 5

_OUTPUTS = ("layer", "readout")


@dataclass(frozen=True)
class FrequencyMatching:
    """Match test patterns to a reference of another frequency.

    Parameters
    ----------
    data
        Human data set with reference contrasts, test frequencies and matched contrasts.
    contrasts
        The grid on which responses are measured; matches are found on it.
    by
        ``"response"``: equal response against a uniform field (Cai et al. 2025, eq. 2);
        ``"direct"``: least difference from the reference itself.
    pattern
        The reference, any pattern with a ``frequency_cpd``; those that match it are the same at
        other frequencies. People matched gratings: their contrasts are converted to RMS for
        patterns whose contrast is that.
    drop
        Whether contrasts that the display or the pixels cannot hold are left out (and named).
    """

    id: str
    title: str
    reference: str
    data: str
    scene: Scene
    contrasts: tuple[float, ...]
    luminance_cdm2: float = 10.0
    by: MatchBy = "response"
    pattern: Pattern = Grating(5.0)
    drop: bool = True
    version: int = 1

    asks: ClassVar[Ability] = "compares"
    needs: ClassVar[tuple[Need, ...]] = ()

    def __post_init__(self) -> None:
        if not can_vary(self.pattern, "frequency_cpd"):
            raise FechnerError(
                f"{type(self.pattern).__name__} has no frequency_cpd across which contrast could "
                "be matched; choose a pattern that has, such as Grating or OctaveNoise."
            )

    @property
    def reference_frequency_cpd(self) -> float:
        """Frequency of the reference."""
        pattern: Any = self.pattern
        return float(pattern.frequency_cpd)

    @property
    def unit(self) -> Unit:
        """Unit of contrasts."""
        of = contrast_of(self.pattern)
        return "michelson" if of == "amplitude" else of

    @property
    def unit_name(self) -> str:
        """Unit of contrasts, for people."""
        return UNIT_NAMES[self.unit]

    @property
    def axes(self) -> tuple[str, str]:
        """Test frequency and reference contrast."""
        return "test frequency (cycles/degree)", f"contrast of the reference ({self.unit_name})"

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        how = {
            "response": "to which the response, against a uniform field, is the same as to the "
            "reference",
            "direct": "that differs least from the reference",
        }[self.by]
        what = in_words(self.pattern, without="frequency_cpd")
        frequencies, references, _ = self.human_matches()
        people = (
            " People matched gratings; their contrasts are converted to RMS."
            if self.unit == "rms"
            else ""
        )
        limits = (
            " Contrasts that the display or the pixels cannot hold are left out and named."
            if self.drop
            else ""
        )
        return (
            f"{what[0].upper()}{what[1:]} at {len(frequencies)} frequencies from "
            f"{frequencies[0]:g} to {frequencies[-1]:g} cycles/degree, on "
            f"{self.luminance_cdm2:g} cd/m2, is matched to one of "
            f"{self.reference_frequency_cpd:g} cycles/degree at {len(references)} contrasts from "
            f"{references.min():.3g} to {references.max():.3g}. The match is the contrast "
            f"{how}, found on a grid of {len(self.contrasts)} contrasts.{people}{limits} Where "
            f"curves for figures are measured, they have {_CURVE_FREQUENCIES} more frequencies. "
            f"{self.scene.method}"
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
        wants = presenter.observer.wants
        flags = self._flags(frequencies, wants)
        reference_flags = self._reference_flags(wants)
        grid = self._patterns(frequencies)
        shape = flags.shape
        data: dict[str, Any] = {"human_matched": (("reference", "frequency"), matched)}
        if self.by == "response":
            responses = self._responses(
                [*self._references, *grid],
                np.concatenate([reference_flags, flags.ravel()]),
                presenter,
            )
            data["reference_response"] = (("reference", *_OUTPUTS), responses[: len(references)])
            data["response"] = (
                ("frequency", "contrast", *_OUTPUTS),
                _folded(responses[len(references) :], shape, axis=0),
            )
        else:
            data["difference"] = (
                ("reference", "frequency", "contrast", *_OUTPUTS),
                _folded(self._differences(grid, flags.ravel(), presenter), shape, axis=1),
            )
        meanings = {"meanings": " ".join(REASONS)}
        data["dropped"] = (("frequency", "contrast"), flags, meanings)
        data["dropped_reference"] = ("reference", reference_flags, meanings)
        return xr.Dataset(
            data,
            coords={
                "frequency": ("frequency", frequencies, {"unit": "cpd"}),
                "reference": ("reference", references, {"unit": self.unit}),
                "contrast": ("contrast", np.array(self.contrasts), {"unit": self.unit}),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs=geometry(self.scene, presenter.observer.wants),
        )

    def _measure_curves(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure the same at frequencies of figures; NaN where they cannot be shown."""
        import xarray as xr

        tested, references, _ = self.human_matches()
        between = np.geomspace(tested[0], tested[-1], _CURVE_FREQUENCIES + 2)[1:-1]
        frequencies = between[piece.start : piece.stop]
        wants = presenter.observer.wants
        flags = self._flags(frequencies, wants)
        direct = self.by == "direct"
        show = self._differences if direct else self._responses
        answers = show(self._patterns(frequencies), flags.ravel(), presenter)
        dims = ("reference",) * direct + ("curve_frequency", "contrast", *_OUTPUTS)
        coords = {"reference": ("reference", references, {"unit": self.unit})} if direct else {}
        return xr.Dataset(
            {
                "curve_difference" if direct else "curve_response": (
                    dims,
                    _folded(answers, flags.shape, axis=int(direct)),
                )
            },
            coords=coords
            | {
                "curve_frequency": ("curve_frequency", frequencies, {"unit": "cpd"}),
                "contrast": ("contrast", np.array(self.contrasts), {"unit": self.unit}),
                "layer": ("layer", presenter.layers),
                "readout": ("readout", presenter.readouts),
            },
            attrs={"along": "curve_frequency", **geometry(self.scene, wants)},
        )

    def _responses(
        self, patterns: Sequence[Stimulus], flags: NDArray[np.uint8], presenter: Presenter
    ) -> Floats:
        """Compare patterns with a uniform field, [patterns, layers, read-outs].

        NaN for those that cannot be shown.
        """
        answers = np.full((len(patterns), len(presenter.layers), len(presenter.readouts)), np.nan)
        shown = [each for each, flag in zip(patterns, flags, strict=True) if not flag]
        if shown:
            uniform = [Stimulus(self._background)] * len(shown)
            answers[flags == 0] = differences(presenter, shown, uniform, self.scene)
        return answers

    def _differences(
        self, patterns: Sequence[Stimulus], flags: NDArray[np.uint8], presenter: Presenter
    ) -> Floats:
        """Compare patterns with each reference, [references, patterns, layers, read-outs]."""
        references = self._references
        outputs = (len(presenter.layers), len(presenter.readouts))
        answers = np.full((len(references), len(patterns), *outputs), np.nan)
        reference_flags = self._reference_flags(presenter.observer.wants)
        kept = np.flatnonzero(reference_flags == 0).tolist()
        shown = np.flatnonzero(flags == 0).tolist()
        if kept and shown:
            found = differences_from_several(
                presenter,
                [patterns[place] for place in shown],
                [references[place] for place in kept],
                [range(len(kept))] * len(shown),
                self.scene,
            )
            answers[np.ix_(kept, shown)] = found.swapaxes(0, 1)
        return answers

    def _flags(self, frequencies: Floats, wants: Wants) -> NDArray[np.uint8]:
        """Say of each frequency and contrast why it cannot be shown as meant; 0 if it can."""
        contrasts = np.array(self.contrasts)
        return np.stack([self._flag(frequency, contrasts, wants) for frequency in frequencies])

    def _reference_flags(self, wants: Wants) -> NDArray[np.uint8]:
        """Say the same of the references."""
        return self._flag(self.reference_frequency_cpd, self.human_matches()[1], wants)

    def _flag(self, frequency_cpd: float, contrasts: Floats, wants: Wants) -> NDArray[np.uint8]:
        if not self.drop:
            return np.zeros(len(contrasts), dtype=np.uint8)
        target = self._stimulus(frequency_cpd, 1.0).layers[0]
        uniform = Stimulus(self._background)
        drawn, seen = self.scene.fields(wants)
        return flag_contrasts(uniform, target, contrasts, self.scene.display, drawn, seen)

    @property
    def _references(self) -> list[Stimulus]:
        _, contrasts, _ = self.human_matches()
        return [self._stimulus(self.reference_frequency_cpd, contrast) for contrast in contrasts]

    def _patterns(self, frequencies: Floats) -> list[Stimulus]:
        return [self._stimulus(f, contrast) for f in frequencies for contrast in self.contrasts]

    @property
    def _background(self) -> tuple[float, float, float]:
        return self.scene.space.background_xyz(self.luminance_cdm2)

    def _stimulus(self, frequency_cpd: float, contrast: float) -> Stimulus:
        frequency = float(frequency_cpd)
        pattern = with_parameter(self.pattern, "frequency_cpd", frequency)
        # If it is random, every frequency has a draw of its own.
        pattern = with_seed(pattern, *seed_of(pattern), round(1000 * frequency))
        modulation = self.scene.space.modulation_xyz("ach", self.luminance_cdm2)
        return Stimulus(self._background, (Layer(pattern, modulation, float(contrast)),))

    def human_matches(self) -> tuple[Floats, Floats, Floats]:
        """Return test frequencies, reference contrasts, and matches [reference, frequency]."""
        data = human.load(self.data)
        frequencies = np.unique(data["test_frequency_cpd"])
        index = data["reference_index"]
        references = np.array([data["reference_contrast"][index == i][0] for i in np.unique(index)])
        matched = data["matched_contrast"].reshape(len(references), len(frequencies))
        if self.unit != "rms":
            return frequencies, references, matched
        # A grating's RMS contrast is its Michelson contrast over the root of 2.
        return frequencies, references / math.sqrt(2), matched / math.sqrt(2)

    def samples(self) -> Sequence[Sequence[Sample]]:
        """Return rows of matches as people set them, the reference on the left."""
        frequencies, references, matched = self.human_matches()
        rows = []
        for contrast, matches in list(zip(references, matched, strict=True))[:6:2]:
            reference = Sample(
                self._stimulus(self.reference_frequency_cpd, contrast),
                x=f"reference {self.reference_frequency_cpd:g}",
                y=f"{contrast:.3g}",
                at=math.nan,
            )
            tests = [
                Sample(self._stimulus(f, match), x=f"{f:g}", y=f"{contrast:.3g}", at=float(f))
                for f, match in zip(frequencies, matches, strict=True)
            ]
            rows.append([reference, *tests[::2]])
        return rows


def _folded(answers: Floats, shape: tuple[int, int], axis: int) -> Floats:
    """Return answers to gratings, along one axis, by frequency and contrast."""
    return answers.reshape(*answers.shape[:axis], *shape, *answers.shape[axis + 1 :])

"""Matching contrast across spatial frequency, and across colour directions.

The response to a pattern against a uniform field is measured over contrast at every test frequency,
and at the reference frequency for each reference contrast. Where the curves cross is the match
(`fechner.psychometrics`). Gratings along the three cardinal directions whose contrasts people find
equal should have equal responses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fechner import human
from fechner.arrays import Floats, xr
from fechner.errors import FechnerError
from fechner.experiments.base import Piece, Sample, Scene, split
from fechner.experiments.detection import flag_contrasts, flagged
from fechner.experiments.presenter import Presenter, differences, differences_from_several
from fechner.observers.abilities import Ability, Need, Wants
from fechner.stimuli import Grating, Layer, Pattern, Stimulus, gamut_limit, patterns
from fechner.stimuli.colour import DIRECTION_NAMES
from fechner.stimuli.contrast import UNIT_NAMES, Unit

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
        if not patterns.can_vary(self.pattern, "frequency_cpd"):
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
        of = patterns.contrast_of(self.pattern)
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
        what = patterns.in_words(self.pattern, without="frequency_cpd")
        frequencies, references, _ = self.human_matches()
        notes = ""
        if self.unit == "rms":
            notes += " People matched gratings; their contrasts are converted to RMS."
        if self.drop:
            notes += " Contrasts that the display or the pixels cannot hold are left out and named."
        return (
            f"{what[0].upper()}{what[1:]} at {len(frequencies)} frequencies from "
            f"{frequencies[0]:g} to {frequencies[-1]:g} cycles/degree, on "
            f"{self.luminance_cdm2:g} cd/m2, is matched to one of "
            f"{self.reference_frequency_cpd:g} cycles/degree at {len(references)} contrasts from "
            f"{references.min():.3g} to {references.max():.3g}. The match is the contrast "
            f"{how}, found on a grid of {len(self.contrasts)} contrasts.{notes} Curves for figures "
            f"have {_CURVE_FREQUENCIES} more frequencies. {self.scene.method}"
        )

    def pieces(self) -> Sequence[Piece]:
        """List the piece that is scored, and those whose curves figures show."""
        frequencies, references, _ = self.human_matches()
        response = self.by == "response"
        each = len(self.contrasts) * (1 if response else len(references))
        shown = len(frequencies) * each + len(references) * response
        few = _CURVE_FREQUENCIES_PER_PIECE
        curves = split("curves", _CURVE_FREQUENCIES, few, each, for_scores=False)
        return [Piece("match", 0, len(frequencies), shown), *curves]

    def measure(self, piece: Piece, presenter: Presenter) -> xr.Dataset:
        """Measure responses over contrast at each test frequency, or at those of figures."""
        frequencies, references, matched = self.human_matches()
        axis, prefix = "frequency", ""
        if not piece.for_scores:
            between = np.geomspace(frequencies[0], frequencies[-1], _CURVE_FREQUENCIES + 2)[1:-1]
            frequencies = between[piece.start : piece.stop]
            axis, prefix = "curve_frequency", "curve_"
        wants, scene, own = presenter.observer.wants, self.scene, self.reference_frequency_cpd
        contrasts = np.array(self.contrasts)
        flags = np.stack([self._flag(frequency, contrasts, wants) for frequency in frequencies])
        reference_flags = self._flag(own, references, wants)
        shown_references = [self._stimulus(own, contrast) for contrast in references]
        grid = [self._stimulus(f, contrast) for f in frequencies for contrast in self.contrasts]
        data: dict[str, Any] = {}
        coords: dict[str, Any] = {
            axis: (axis, frequencies, {"unit": "cpd"}),
            "contrast": ("contrast", contrasts, {"unit": self.unit}),
        }
        dims = (axis, "contrast", *_OUTPUTS)
        if self.by == "response":
            first = shown_references if piece.for_scores else []
            kept = np.concatenate([reference_flags[: len(first)], flags.ravel()]) == 0
            tests, uniform = [*first, *grid], Stimulus(self._background)
            found = differences(presenter, tests, [uniform] * len(tests), scene, kept=kept)
            responses = found[len(first) :].reshape(*flags.shape, *found.shape[1:])
            data[f"{prefix}response"] = (dims, responses)
            if first:
                data["reference_response"] = (("reference", *_OUTPUTS), found[: len(first)])
        else:
            found = presenter.unanswered(len(references), len(grid))
            of, shown = (
                np.flatnonzero(each == 0).tolist() for each in (reference_flags, flags.ravel())
            )
            if of and shown:
                each = differences_from_several(
                    presenter,
                    [grid[place] for place in shown],
                    [shown_references[place] for place in of],
                    [range(len(of))] * len(shown),
                    scene,
                )
                found[np.ix_(of, shown)] = each.swapaxes(0, 1)
            found = found.reshape(len(references), *flags.shape, *found.shape[2:])
            data[f"{prefix}difference"] = (("reference", *dims), found)
        if piece.for_scores or self.by == "direct":
            coords["reference"] = ("reference", references, {"unit": self.unit})
        if not piece.for_scores:
            return presenter.result(scene, data, coords, along=axis)
        data["human_matched"] = (("reference", "frequency"), matched)
        data["dropped"] = flagged(("frequency", "contrast"), flags)
        data["dropped_reference"] = flagged("reference", reference_flags)
        return presenter.result(scene, data, coords)

    def _flag(self, frequency_cpd: float, contrasts: Floats, wants: Wants) -> NDArray[np.uint8]:
        """Say of each contrast why it cannot be shown as meant; 0 if it can."""
        if not self.drop:
            return np.zeros(len(contrasts), dtype=np.uint8)
        target = self._stimulus(frequency_cpd, 1.0).layers[0]
        fields, uniform = self.scene.fields(wants), Stimulus(self._background)
        return flag_contrasts(uniform, target, contrasts, self.scene.display, *fields)

    @property
    def _background(self) -> tuple[float, float, float]:
        return self.scene.space.background_xyz(self.luminance_cdm2)

    def _stimulus(self, frequency_cpd: float, contrast: float) -> Stimulus:
        frequency = float(frequency_cpd)
        pattern = patterns.with_parameter(self.pattern, "frequency_cpd", frequency)
        # If it is random, every frequency has a draw of its own.
        pattern = patterns.with_seed(pattern, *patterns.seed_of(pattern), round(1000 * frequency))
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
        own = self.reference_frequency_cpd
        rows = []
        for contrast, matches in list(zip(references, matched, strict=True))[:6:2]:
            row, name = f"{contrast:.3g}", f"reference {own:g}"
            tests = [
                Sample(self._stimulus(f, match), f"{f:g}", row, float(f))
                for f, match in zip(frequencies, matches, strict=True)
            ]
            rows.append([Sample(self._stimulus(own, contrast), name, row, math.nan), *tests[::2]])
        return rows


@dataclass(frozen=True)
class ColourMatching:
    """Show square-wave gratings that people match in contrast across colour directions.

    Parameters
    ----------
    contrasts
        Achromatic contrasts; the others follow by the ratios that people set.
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
    axes: ClassVar[tuple[str, str]] = (
        "colour direction",
        "contrast of the achromatic grating (Michelson)",
    )

    @property
    def method(self) -> str:
        """What is shown and asked, made from the parameters."""
        names = [f"{DIRECTION_NAMES[name]} {ratio:.4g}" for name, ratio in self._ratios.items()]
        notes = ""
        if self.levels:
            notes += (
                " The contrast that the observer matches is the one of the same response, found on "
                f"a grid of {self.levels} contrasts up to the end of the display's gamut."
            )
        if self.drop:
            notes += (
                " Contrasts that the display cannot show in all directions are left out and named."
            )
        return (
            f"Horizontal square-wave gratings of {self.frequency_cpd:g} cycles/degree on a uniform "
            f"field of {self.luminance_cdm2:g} cd/m2, at {len(self.contrasts)} achromatic "
            f"contrasts from {self.contrasts[0]:.3g} to {self.contrasts[-1]:.3g} and those along "
            f"red-green and yellow-violet that people match to them (DKL amplitudes in the ratio "
            f"{', '.join(names)}). The response is the difference from the uniform field; it "
            f"should be the same in the three directions.{notes} {self.scene.method}"
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
        scene, directions, amplitudes = self.scene, list(self._ratios), self.matched_amplitudes()
        uniform, fields = (
            Stimulus(self._background),
            scene.fields(presenter.observer.wants),
        )
        flags = np.zeros(len(self.contrasts), np.uint8)
        for direction, own in zip(directions, amplitudes.T, strict=True):
            target = self._grating(direction, 1.0).layers[0]
            found = flag_contrasts(uniform, target, own, scene.display, *fields)
            flags = np.maximum(flags, found * self.drop)
        sought = self.sought_amplitudes()
        shown = [
            (direction, amplitude)
            for row in amplitudes.tolist()
            for direction, amplitude in zip(directions, row, strict=True)
        ]
        n = len(shown)
        shown += [(direction, each) for direction in sought for each in sought[direction].tolist()]
        kept = np.ones(len(shown), bool)
        kept[:n] = np.repeat(flags == 0, len(directions))
        tests = [self._grating(*each) for each in shown]
        answers = differences(presenter, tests, [uniform] * len(tests), scene, kept=kept)
        responses = answers[:n].reshape(*amplitudes.shape, *answers.shape[1:])
        data: dict[str, Any] = {
            "response": (("contrast", "direction", *_OUTPUTS), responses),
            "amplitude": (("contrast", "direction"), amplitudes, {"unit": "dkl"}),
            "dropped": flagged("contrast", flags),
        }
        coords: dict[str, Any] = {
            "contrast": ("contrast", np.array(self.contrasts), {"unit": "michelson"}),
            "direction": ("direction", directions),
        }
        if self.levels:
            grid, unit = ("chromatic", "level"), {"unit": "dkl"}
            matches = answers[n:].reshape(len(sought), self.levels, *answers.shape[1:])
            data["sought_response"] = ((*grid, *_OUTPUTS), matches)
            data["sought_amplitude"] = (grid, np.stack(list(sought.values())), unit)
            data["human_matched"] = (("contrast", "chromatic"), amplitudes[:, 1:], unit)
            coords["chromatic"] = ("chromatic", directions[1:])
        return presenter.result(scene, data, coords)

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
                    self._grating(name, contrast * ratio),
                    DIRECTION_NAMES[name],
                    f"{contrast:.3g}",
                    float(place),
                )
                for place, (name, ratio) in enumerate(self._ratios.items())
            ]
            for contrast in self.contrasts[::-4]
        ]

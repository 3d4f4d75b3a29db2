"""Curves of noise patches: what is seen of a band of frequencies, alone and on other noise.

Sensitivity over frequency and its change by an adaptor, responses over contrast and their
attenuation by masks: properties 3 to 10 of Vila-Tomás et al. (2026).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from fechner import human
from fechner.experiments.curves import Curve, Shown
from fechner.experiments.tasks import ABSCISSAE
from fechner.observers.abilities import Need
from fechner.stimuli import Gabor, Layer, OpponentSpace, OrientedNoise, Pattern, Stimulus
from fechner.stimuli.colour import DIRECTION_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from fechner.stimuli.contrast import Floats

_CSF: dict[str, Callable[..., Floats]] = {
    "ach": human.standard_spatial_observer,
    "rg": human.chromatic_rg_csf,
    "yb": human.chromatic_yb_csf,
}


def _listed(values: Iterable[float | str]) -> str:
    """Return values in words, each once."""
    words = list(dict.fromkeys(v if isinstance(v, str) else f"{v:g}" for v in values))
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


@dataclass(frozen=True)
class Condition:
    """A test of noise, and the mask it is shown on.

    Parameters
    ----------
    frequency_cpd
        Of the test; not used where frequency is the abscissa.
    mask_frequency_cpd, mask_contrast, mask_angle_deg
        The mask, turned by an angle against the test; a contrast of 0 is none.
    label, level
        What is special about it, and the number behind it.
    group
        Conditions of one group are ordered.
    place
        Its place in that order, the same at every abscissa; None follows people's responses.
    known
        Whether people's curve is compared with.
    """

    channel: str = "ach"
    frequency_cpd: float = 0.0
    mask_frequency_cpd: float = 0.0
    mask_contrast: float = 0.0
    mask_angle_deg: float = 0.0
    label: str = ""
    level: float = 0.0
    group: str = ""
    place: float | None = None
    known: bool = True


@dataclass(frozen=True)
class NoiseCurves:
    """Show noise patches over frequency or contrast.

    Parameters
    ----------
    contrast
        Contrast of all tests where frequency is the abscissa; its unit is ``rms_sqrt2``.
    seeds, seed
        How many draws there are of each test and of its mask, and where they begin.
    size_deg, mask_size_deg
        Sides of the squares in which test and mask are windowed.
    test
        Noise, or a Gabor patch in its place.
    """

    over: Literal["frequency_cpd", "contrast"]
    abscissae: tuple[float, ...]
    conditions: tuple[Condition, ...]
    contrast: float = 0.05
    luminance_cdm2: float = 40.0
    seeds: int = 10
    seed: int = 0
    size_deg: float = 2.0
    mask_size_deg: float = 2.0
    orientation_deg: float = 0.0
    test: Literal["noise", "gabor"] = "noise"

    by_channel = False

    @property
    def label(self) -> str:
        """The abscissa, with its unit."""
        return ABSCISSAE[self.over].label

    @property
    def needs(self) -> tuple[Need, ...]:
        """Colour, if every channel is chromatic."""
        return ("colour",) if all(each.channel != "ach" for each in self.conditions) else ()

    @property
    def method(self) -> str:
        """What is shown and what is known of people."""
        channels = dict.fromkeys(DIRECTION_NAMES[each.channel] for each in self.conditions)
        low, high = self.abscissae[0], self.abscissae[-1]
        what = f"Noise patches ({', '.join(channels)}) of {self.size_deg:g} degree at "
        if self.over == "frequency_cpd":
            what += (
                f"{self.luminance_cdm2:g} cd/m2 and a contrast of {self.contrast:g} (the root of 2 "
                f"times RMS) at {len(self.abscissae)} spatial frequencies from {low:g} to "
                f"{high:g} cycles/degree"
            )
        else:
            what += (
                f"{self.luminance_cdm2:g} cd/m2 and {self._frequencies} cycles/degree at "
                f"{len(self.abscissae)} contrasts from {low:g} to {high:g} (the root of 2 times "
                "RMS)"
            )
        known = (
            "Human curves are the contrast sensitivity functions of the Standard Spatial Observer "
            "and its chromatic companions"
            if self.over == "frequency_cpd"
            else "Human responses add up 1/threshold over contrast"
        )
        response = "The response is the difference from what it is shown on"
        return f"{what}{self._masks}. {response}. {known}."

    @property
    def _frequencies(self) -> str:
        """Frequencies of tests, with the groups that they are called by."""
        named = {each.frequency_cpd: each.group for each in self.conditions}
        groups = [group for group in named.values() if group and group not in DIRECTION_NAMES]
        told = len(set(groups)) == len(named)
        return _listed(f"{cpd:g} ({group})" if told else cpd for cpd, group in named.items())

    @property
    def _masks(self) -> str:
        """What tests are shown on, as far as masks differ from them."""
        masks = [each for each in self.conditions if each.mask_contrast]
        if not masks:
            return ""
        words = f", alone and on noise of a contrast of {_listed(m.mask_contrast for m in masks)}"
        if any(each.mask_frequency_cpd != each.frequency_cpd for each in masks):
            words += f" at {_listed(each.mask_frequency_cpd for each in masks)} cycles/degree"
        else:
            words += " at the same frequency"
        if any(each.mask_angle_deg for each in masks):
            words += f", turned by {_listed(each.mask_angle_deg for each in masks)} degrees"
        return words

    def __len__(self) -> int:
        return len(self.conditions)

    def curves(self) -> Sequence[Curve]:
        """List a curve for each condition."""
        return self._curves

    @cached_property
    def _curves(self) -> tuple[Curve, ...]:
        return tuple(self._curve(each) for each in self.conditions)

    def _curve(self, condition: Condition) -> Curve:
        response = tuple(float(value) for value in self._human(condition))
        return Curve(
            condition.channel,
            condition.label,
            condition.level,
            condition.group,
            response if condition.known else (),
            response if condition.place is None else (condition.place,) * len(self.abscissae),
            ("colour",) if condition.channel != "ach" else (),
        )

    def _human(self, condition: Condition) -> Floats:
        at = np.array(self.abscissae)
        mask: dict[str, float] = {}
        if condition.mask_contrast:
            mask = {
                "mask_frequency_cpd": condition.mask_frequency_cpd,
                "mask_contrast": condition.mask_contrast,
                "mask_angle_deg": condition.mask_angle_deg,
            }
        if self.over == "contrast":
            return human.contrast_response(at, condition.frequency_cpd, condition.channel, **mask)
        sensitivity = _CSF[condition.channel](at)
        return sensitivity / human.threshold_elevation(at, **mask) if mask else sensitivity

    def shown(self, curve: int, x: float, seed: int, space: OpponentSpace) -> Shown:
        """Return a patch on its mask, and the mask alone."""
        condition = self.conditions[curve]
        frequency = x if self.over == "frequency_cpd" else condition.frequency_cpd
        contrast = x if self.over == "contrast" else self.contrast
        background = space.background_xyz(self.luminance_cdm2)
        masks: tuple[Layer, ...] = ()
        if condition.mask_contrast:
            mask = OrientedNoise(
                condition.mask_frequency_cpd,
                self.orientation_deg + condition.mask_angle_deg,
                size_deg=self.mask_size_deg,
                seed=(self.seed, seed, 1),
            )
            luminance = space.modulation_xyz("ach", self.luminance_cdm2)
            masks = (Layer(mask, luminance, condition.mask_contrast),)
        along = space.modulation_xyz(condition.channel, self.luminance_cdm2)
        test = Layer(self._pattern(frequency, seed), along, contrast)
        return Shown(Stimulus(background, (*masks, test)), Stimulus(background, masks))

    def _pattern(self, frequency_cpd: float, seed: int) -> Pattern:
        if self.test == "gabor":
            return Gabor(frequency_cpd, self.size_deg / 6, self.orientation_deg, phase_deg=90.0)
        return OrientedNoise(
            frequency_cpd,
            self.orientation_deg,
            size_deg=self.size_deg,
            seed=(self.seed, seed, 0),
        )

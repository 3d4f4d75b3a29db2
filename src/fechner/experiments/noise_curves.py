"""Curves of noise or gratings: what is seen of a band of frequencies, alone and on noise.

Sensitivity over frequency and its change by an adaptor, responses over contrast and their
attenuation by masks: properties 3 to 10 of Vila-Tomás et al. (2026).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from fechner import human, stimuli
from fechner.arrays import Floats
from fechner.experiments.base import abscissa, between
from fechner.experiments.curves import Curve, Shown
from fechner.experiments.patches import Brightness, Colour, SpectralSensitivity
from fechner.observers.abilities import Need
from fechner.stimuli import ATD, Layer, OpponentSpace, Pattern, Stimulus
from fechner.stimuli.colour import DIRECTION_NAMES, Triple

_CSF: dict[str, Callable[..., Floats]] = {
    "ach": human.standard_spatial_observer,
    "rg": human.chromatic_rg_csf,
    "yb": human.chromatic_yb_csf,
}

_KINDS = {
    "noise": ("Noise patches", "the root of 2 times RMS"),
    "grating": ("Patches of gratings of random phase", "Michelson"),
    "gabor": ("Gabor patches", "Michelson"),
}


def _listed(values: Iterable[float | str]) -> str:
    """Return values in words, each once."""
    return ", ".join(dict.fromkeys(v if isinstance(v, str) else f"{v:g}" for v in values))


@dataclass(frozen=True)
class Condition:
    """A test of noise, and the mask it is shown on.

    Parameters
    ----------
    frequency_cpd
        Of the test; not used where frequency is the abscissa.
    mask_frequency_cpd, mask_contrast, mask_angle_deg
        The mask, of the test's channel and turned by an angle against it; a contrast of 0 is none.
    label, level
        What is special about it, and the number behind it.
    group, place
        Conditions of one group are ordered by their place, the same at every abscissa; None follows
        people's responses.
    known, ranked
        Whether people's curve is compared with, and whether it has a place in the order at all.
    white_xyz
        The light that background and achromatic patterns have the colour of, at Y = 1; None is the
        white of the scene. Chromatic patterns are the same in every light.
    transmission
        Share of the light of the scene that reaches the observer through fog, which fills up the
        rest with light of the mean: contrasts of test and mask are multiplied by it.
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
    ranked: bool = True
    white_xyz: Triple | None = None
    transmission: float = 1.0


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
        Noise, gratings of a random phase in the same window, whose peaks are lower, or a Gabor
        patch.
    chromatic_unit
        What the human formulas take chromatic contrasts for. ``"cone"`` converts them to the
        contrast of Mullen's gratings by cone contrast; ``"opponent"`` takes the amplitude of T or D
        over luminance for it, as Vila-Tomás et al. (2026) do.
    rings
        Noise of other kinds for tests and masks, of which frequency, orientation and seed are set;
        None is `OrientedNoise`.
    masks
        Whether masks are added as light, or to encoded values (`Stimulus.overlay`).
    draws
        Whether all conditions and abscissae share their draws, and each draw of a test has a mask
        of its own; or every point has draws of its own, all on one mask for each condition.
    step
        As in `human.contrast_response`.
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
    test: Literal["noise", "grating", "gabor"] = "noise"
    chromatic_unit: Literal["cone", "opponent"] = "cone"
    rings: tuple[stimuli.RingNoise, stimuli.RingNoise] | None = None
    masks: Literal["light", "encoded"] = "light"
    draws: Literal["shared", "own"] = "shared"
    step: float | None = None

    by_channel: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """The abscissa, with its unit."""
        return abscissa(self.over).label

    @property
    def needs(self) -> tuple[Need, ...]:
        """Colour, if every channel is chromatic."""
        return ("colour",) if all(each.channel != "ach" for each in self.conditions) else ()

    @property
    def method(self) -> str:
        """What is shown and what is known of people."""
        conditions = self.conditions
        channels = _listed(DIRECTION_NAMES[each.channel] for each in conditions)
        kind, unit = _KINDS[self.test]
        size_deg = self.size_deg if self.rings is None else 2 * (self.rings[0].window_deg or 1)
        if self.over == "frequency_cpd":
            held = f"a contrast of {self.contrast:g}"
            people = (
                "Human curves are the contrast sensitivity functions of the Standard Spatial "
                "Observer and its chromatic companions."
            )
        else:
            held = f"{_listed(each.frequency_cpd for each in conditions)} cycles/degree"
            people = "Human responses add up 1/threshold over contrast."
        text = (
            f"{kind} ({channels}) of {size_deg:g} degree at {self.luminance_cdm2:g} cd/m2 and "
            f"{held}, at {between(self.over, self.abscissae)}; contrasts are {unit}"
        )
        if masks := [each for each in conditions if each.mask_contrast]:
            alone = "alone and " if len(masks) < len(conditions) else ""
            text += (
                f", {alone}on noise of a contrast of {_listed(m.mask_contrast for m in masks)} at "
                f"{_listed(m.mask_frequency_cpd for m in masks)} cycles/degree, turned by "
                f"{_listed(m.mask_angle_deg for m in masks)} degrees and added to "
                f"{'light' if self.masks == 'light' else 'encoded values'}"
            )
        if lights := [each.group for each in conditions if each.white_xyz is not None]:
            named = _listed(lights).replace("-", " ")
            text += f", also in {named}, which people adapt to cone by cone (von Kries)"
        if foggy := [each.transmission for each in conditions if each.transmission != 1]:
            text += f", in clear air and in fog that lets {_listed(foggy)} of all contrast through"
        text += f". The response is the difference from what it is shown on. {people}"
        chromatic = [each.channel for each in conditions if each.channel != "ach"]
        if chromatic and self.chromatic_unit == "cone":
            factors = _listed(
                f"{self._unit(each):.3g} ({DIRECTION_NAMES[each]})" for each in chromatic
            )
            text += (
                " Chromatic contrasts are amplitudes of T or D over luminance; for the human "
                f"formulas they are multiplied by {factors}, the contrast of Mullen's gratings of "
                "equal cone contrast."
            )
        return text

    def curves(self) -> Sequence[Curve]:
        """List a curve for each condition."""
        return self._curves

    @cached_property
    def _curves(self) -> tuple[Curve, ...]:
        found = []
        for each in self.conditions:
            known = tuple(float(value) for value in self._human(each))
            place = known if each.place is None else (each.place,) * len(self.abscissae)
            curve = Curve(
                each.channel,
                each.label,
                each.level,
                each.group,
                known if each.known else (),
                place if each.ranked else (),
                ("colour",) if each.channel != "ach" else (),
                "" if self.over == "frequency_cpd" else f"{each.frequency_cpd:g} cpd",
            )
            found.append(curve)
        return tuple(found)

    def _human(self, condition: Condition) -> Floats:
        at = np.array(self.abscissae)
        gain = self._unit(condition.channel) * condition.transmission
        mask: dict[str, float] = {}
        if condition.mask_contrast:
            mask = {
                "mask_frequency_cpd": condition.mask_frequency_cpd,
                "mask_contrast": gain * condition.mask_contrast,
                "mask_angle_deg": condition.mask_angle_deg,
            }
        if condition.white_xyz is not None:
            gain *= human.von_kries_gain(condition.channel, condition.white_xyz)
        if self.over == "contrast":
            return human.contrast_response(
                gain * at, condition.frequency_cpd, condition.channel, step=self.step, **mask
            )
        sensitivity = gain * _CSF[condition.channel](at)
        return sensitivity / human.threshold_elevation(at, **mask) if mask else sensitivity

    def _unit(self, channel: str) -> float:
        """Return what one unit of contrast is in the unit of the human formulas."""
        if channel == "ach" or self.chromatic_unit == "opponent":
            return 1.0
        modulation = ATD.modulation_lms(channel, self.luminance_cdm2)
        return human.mullen_contrast(modulation, ATD.background_lms(self.luminance_cdm2), channel)

    def shown(self, curve: int, x: float, seed: int, space: OpponentSpace) -> Shown:
        """Return a patch on its mask, and the mask alone."""
        condition = self.conditions[curve]
        frequency = x if self.over == "frequency_cpd" else condition.frequency_cpd
        contrast = condition.transmission * (x if self.over == "contrast" else self.contrast)
        own = self.draws == "own"
        if condition.white_xyz is not None:
            space = replace(space, white_xyz=condition.white_xyz)
        background = space.background_xyz(self.luminance_cdm2)
        along = space.modulation_xyz(condition.channel, self.luminance_cdm2)
        if condition.white_xyz is not None and condition.channel == "ach":
            along = background
        masks: tuple[Layer, ...] = ()
        if condition.mask_contrast:
            angle = self.orientation_deg + condition.mask_angle_deg
            seeds: tuple[int, ...] = (0, 1, curve) if own else (seed, 1)
            mask = self._noise(1, condition.mask_frequency_cpd, angle, seeds)
            masks = (Layer(mask, along, condition.transmission * condition.mask_contrast),)
        seeds = (seed, 0, curve, self.abscissae.index(x)) if own else (seed, 0)
        test = Layer(self._pattern(frequency, seeds), along, contrast)
        if self.masks == "light":
            return Shown(Stimulus(background, (*masks, test)), Stimulus(background, masks))
        overlay = Stimulus(background, masks) if masks else None
        return Shown(Stimulus(background, (test,), overlay), Stimulus(background, (), overlay))

    def _pattern(self, frequency_cpd: float, seeds: tuple[int, ...]) -> Pattern:
        if self.test == "gabor":
            return stimuli.Gabor(
                frequency_cpd, self.size_deg / 6, self.orientation_deg, phase_deg=90.0
            )
        if self.test == "grating":
            phase = 360 * np.random.default_rng((self.seed, *seeds)).random()
            carrier = stimuli.Grating(frequency_cpd, self.orientation_deg, float(phase))
            return stimuli.Product(carrier, stimuli.RoundWindow(self.size_deg))
        return self._noise(0, frequency_cpd, self.orientation_deg, seeds)

    def _noise(self, of: Literal[0, 1], cpd: float, deg: float, seeds: tuple[int, ...]) -> Pattern:
        """Return the noise of a test (0) or a mask (1)."""
        seed = (self.seed, *seeds)
        if self.rings is not None:
            return replace(self.rings[of], frequency_cpd=cpd, orientation_deg=deg, seed=seed)
        size_deg = (self.size_deg, self.mask_size_deg)[of]
        return stimuli.OrientedNoise(cpd, deg, size_deg=size_deg, seed=seed)


#: What `Curves` measures.
CurveTask: TypeAlias = NoiseCurves | Brightness | Colour | SpectralSensitivity

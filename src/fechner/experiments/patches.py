"""Curves of uniform patches: brightness, colour, and quasi-monochromatic light.

Properties 1 and 2 of Vila-Tomás et al. (2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fechner import human
from fechner.arrays import Floats
from fechner.experiments.curves import Curve, Shown
from fechner.human.spectral import SpectralFields
from fechner.observers.abilities import Need
from fechner.stimuli import ATD, Layer, OpponentSpace, Square, Stimulus
from fechner.stimuli.colour import DIRECTION_NAMES, Triple, as_triple

_FORMULAE = {
    "whittle": "Human curves count Whittle's steps of equal brightness",
    "ciede2000": (
        "The human curve is the CIEDE2000 difference with the background as white, on the darkest "
        "background; on lighter ones a square looks darker"
    ),
}


def _numbers(values: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


@dataclass(frozen=True)
class Brightness:
    """Show grey squares of rising luminance on backgrounds of several luminances.

    The response is the distance to the darkest square on the same background, which counts in the
    order only if ``ranks_darkest``.

    Parameters
    ----------
    formula
        What people's curves are. Whittle's formula holds on any background. CIEDE2000, as in the
        public code of Vila-Tomás et al. (2026), is used on the darkest one only; their order is
        that a square looks darker the lighter its background.
    """

    abscissae: tuple[float, ...]
    backgrounds_cdm2: tuple[float, ...]
    side_deg: float = 1.0
    formula: Literal["whittle", "ciede2000"] = "whittle"
    ranks_darkest: bool = False

    label: ClassVar[str] = "luminance (cd/m2)"
    seeds: ClassVar[int] = 1
    by_channel: ClassVar[bool] = False
    needs: ClassVar[tuple[Need, ...]] = ()

    @property
    def method(self) -> str:
        """What is shown and what is known of people."""
        backgrounds = self.backgrounds_cdm2
        return (
            f"A grey square of {self.side_deg:g} degree at {len(self.abscissae)} luminances from "
            f"{self.abscissae[0]:g} to {self.abscissae[-1]:g} cd/m2, on {len(backgrounds)} "
            f"backgrounds from {backgrounds[0]:g} to {backgrounds[-1]:g} cd/m2. The response is "
            "the difference from the darkest square on the same background. "
            f"{_FORMULAE[self.formula]}."
        )

    def curves(self) -> Sequence[Curve]:
        """List a curve for each background."""
        known = np.array(
            [
                human.brightness(self.abscissae, background, formula=self.formula)
                for background in self.backgrounds_cdm2
            ]
        )
        place = np.repeat(-np.array(self.backgrounds_cdm2)[:, None], len(self.abscissae), axis=1)
        everywhere = self.formula == "whittle"
        if everywhere:
            # Curves on the darkest backgrounds cross: they are ordered only where they lie above
            # all on lighter ones.
            lighter = place[:, None] > place[None, :]
            above = known[:, None] > known[None, :]
            place = np.where((above | ~lighter).all(axis=1), place, np.nan)
        # The darkest square is what all are compared with.
        if not self.ranks_darkest:
            place[:, 0] = np.nan
        darkest = min(self.backgrounds_cdm2)
        return [
            Curve(
                "ach",
                f"on {background:.3g} cd/m2",
                background,
                human=_numbers(responses) if everywhere or background == darkest else (),
                ideal=_numbers(places),
            )
            for background, responses, places in zip(
                self.backgrounds_cdm2, known, place, strict=True
            )
        ]

    def shown(self, curve: int, x: float, seed: int, space: OpponentSpace) -> Shown:
        """Return a square, and the darkest one."""
        background, test, darkest = (
            space.background_xyz(luminance)
            for luminance in (self.backgrounds_cdm2[curve], x, self.abscissae[0])
        )
        square = Square(self.side_deg)
        return Shown(_on(background, test, square), _on(background, darkest, square))


@dataclass(frozen=True)
class Colour:
    """Show squares of one luminance in steps of red-green or yellow-blue, on coloured backgrounds.

    The response is the distance to the square of the background's chromaticity, negative where the
    square is greener or bluer than that. People's curves on grey are compared with; a square looks
    less red on red.

    Parameters
    ----------
    abscissae, backgrounds
        T or D of squares and backgrounds, in cd/m2.
    luminance_cdm2, background_cdm2
        Luminance of squares and backgrounds; None is that of the squares.
    """

    abscissae: tuple[float, ...]
    backgrounds: tuple[float, ...]
    luminance_cdm2: float = 70.0
    background_cdm2: float | None = None
    side_deg: float = 1.0
    channels: tuple[str, ...] = ("rg", "yb")

    label: ClassVar[str] = "T or D of the test (cd/m2)"
    seeds: ClassVar[int] = 1
    by_channel: ClassVar[bool] = False
    needs: ClassVar[tuple[Need, ...]] = ("colour",)

    @property
    def method(self) -> str:
        """What is shown and what is known of people."""
        names = " or ".join(DIRECTION_NAMES[channel] for channel in self.channels)
        on = ", ".join(f"{value:.3g}" for value in self.backgrounds)
        return (
            f"A square of {self.side_deg:g} degree and {self.luminance_cdm2:g} cd/m2 that is "
            f"{names} by {len(self.abscissae)} steps from {self.abscissae[0]:g} to "
            f"{self.abscissae[-1]:g} cd/m2, on backgrounds of {self._around_cdm2:g} cd/m2 at {on} "
            "cd/m2 of the same direction. The response is the difference from the square of the "
            "background's chromaticity, negative on the green or blue side of it. Human curves are "
            "CIEDE2000 differences with the background as white, on grey; on a redder background a "
            "square looks greener."
        )

    @property
    def _around_cdm2(self) -> float:
        return self.luminance_cdm2 if self.background_cdm2 is None else self.background_cdm2

    def curves(self) -> Sequence[Curve]:
        """List a curve for each direction and background."""
        grey, known = ATD.background_xyz(self._around_cdm2), {}
        for channel in self.channels:
            tests = [self._xyz(channel, x, self.luminance_cdm2, ATD) for x in self.abscissae]
            known[channel] = _numbers(human.colour_response(tests, grey, channel))
        return [
            Curve(
                channel,
                f"on {background:+.3g}" if background else "on grey",
                background,
                channel,
                () if background else known[channel],
                (-background,) * len(self.abscissae),
            )
            for channel, background in self._conditions
        ]

    def _xyz(
        self, channel: str, value: float, luminance_cdm2: float, space: OpponentSpace
    ) -> Triple:
        grey = np.array(space.background_xyz(luminance_cdm2))
        return as_triple(grey + value * np.array(space.modulation_xyz(channel, 1.0)))

    @property
    def _conditions(self) -> list[tuple[str, float]]:
        return [(channel, each) for channel in self.channels for each in self.backgrounds]

    def shown(self, curve: int, x: float, seed: int, space: OpponentSpace) -> Shown:
        """Return a square on its background, and the square of the background's chromaticity."""
        channel, background = self._conditions[curve]
        on = self._xyz(channel, background, self._around_cdm2, space)
        same = background * self.luminance_cdm2 / self._around_cdm2
        square = Square(self.side_deg)
        test, reference = (
            _on(on, self._xyz(channel, value, self.luminance_cdm2, space), square)
            for value in (x, same)
        )
        return Shown(test, reference, float(np.sign(round(x - same, 9))))


@dataclass(frozen=True)
class SpectralSensitivity:
    """Show a square of nearly one wavelength on a field of a flat spectrum.

    Curves are changes of an observer's own opponent channels at the square, with sign, from the
    flat spectrum alone; where it has none, the distance from that stands for the first.
    """

    fields: SpectralFields
    side_deg: float = 1.0

    label: ClassVar[str] = "wavelength (nm)"
    seeds: ClassVar[int] = 1
    by_channel: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("colour",)

    @property
    def abscissae(self) -> tuple[float, ...]:
        """Wavelengths in nm."""
        return self.fields.wavelengths_nm

    @property
    def method(self) -> str:
        """What is shown and what is known of people."""
        return (
            f"A square of {self.side_deg:g} degree of {len(self.abscissae)} wavelengths from "
            f"{self.abscissae[0]:.0f} to {self.abscissae[-1]:.0f} nm, narrow bands of constant "
            f"energy, the highest that the display can show on a field of a flat spectrum of "
            f"{self.fields.flat_xyz[1]:.3g} cd/m2. The response is the change of the mean of each "
            "opponent channel over the square from the flat spectrum; of observers without "
            "opponent channels it is the difference from that, which only the luminosity function "
            "is compared with. Human curves are the luminosity function and the opponent functions "
            "of Jameson and Hurvich."
        )

    def curves(self) -> Sequence[Curve]:
        """List the three channels."""
        known = [_numbers(each) for each in human.jameson_hurvich(np.array(self.abscissae)).T]
        return [
            Curve(channel, "", float(number), "", known[number], known[number])
            for number, channel in enumerate(("ach", "rg", "yb"))
        ]

    def shown(self, curve: int, x: float, seed: int, space: OpponentSpace) -> Shown:
        """Return a square, and the flat spectrum."""
        square, flat = self.fields.fields_xyz[self.abscissae.index(x)], self.fields.flat_xyz
        return Shown(_on(flat, square, Square(self.side_deg)), Stimulus(flat))


def _on(background_xyz: Triple, patch_xyz: Triple, pattern: Square) -> Stimulus:
    """Return a patch of one colour on a background of another."""
    step = as_triple(np.array(patch_xyz) - np.array(background_xyz))
    return Stimulus(background_xyz, (Layer(pattern, step, 1.0),))

"""Displays: from light in cd/m2 to the numbers a picture file holds, and back."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fechner.errors import UnknownNameError
from fechner.stimuli.colour import (
    SRGB_TO_XYZ,
    Matrix,
    Triple,
    as_matrix,
    as_triple,
    inverse,
    transform,
)

if TYPE_CHECKING:
    from torch import Tensor

Eotf = Literal["srgb", "gamma", "linear"]

#: Below this linear value sRGB is a straight line (IEC 61966-2-1).
_SRGB_TOE = 0.0031308


@dataclass(frozen=True)
class Display:
    """A display with physical properties. Linear RGB is in cd/m2: equal R, G, B is white.

    Parameters
    ----------
    peak_cdm2, black_cdm2
        Luminance of white and of black.
    eotf
        ``"srgb"`` (IEC 61966-2-1), ``"gamma"`` with one exponent per channel, or ``"linear"``.
    rgb_to_xyz
        Linear RGB to XYZ, scaled so that R = G = B = 1 has Y = 1.
    xyz_to_rgb
        Its inverse, unless a paper printed another one.
    bits
        Quantisation of the encoded values; None keeps floating point.
    dither
        Whether quantisation is preceded by noise of one step (noisy-bit), which keeps contrasts
        below one grey level visible on average.
    floor_cdm2
        The lowest light a pixel can be asked for.
    clips
        Whether light above the peak is cut, as any real display does.
    compensates_black
        Whether encoding takes the black level off, as a calibrated display does. Without, light of
        0 to the peak is asked for, and black to the peak is shown: all is a little lighter.

    Examples
    --------
    >>> import torch
    >>> desk = Display("desk", peak_cdm2=100)
    >>> round(float(desk.encode(torch.tensor([21.4]))), 4)
    0.5
    """

    name: str
    peak_cdm2: float
    black_cdm2: float = 0.0
    eotf: Eotf = "srgb"
    gamma: Triple = (2.2, 2.2, 2.2)
    rgb_to_xyz: Matrix = SRGB_TO_XYZ
    xyz_to_rgb: Matrix | None = None
    bits: int | None = None
    dither: bool = False
    floor_cdm2: float = 0.0
    clips: bool = True
    compensates_black: bool = True

    def __post_init__(self) -> None:
        if not self.peak_cdm2 > self.black_cdm2 >= 0:
            raise ValueError(
                f"display '{self.name}' needs peak > black >= 0 cd/m2, "
                f"not {self.peak_cdm2} and {self.black_cdm2}."
            )
        if self.bits is not None and not 1 <= self.bits <= 16:
            raise ValueError(f"display '{self.name}' can have 1 to 16 bits, not {self.bits}.")

    def linear_rgb(self, xyz: Any) -> Any:
        """Return linear RGB in cd/m2 for colours in XYZ (last axis)."""
        return transform(self.xyz_to_rgb or inverse(self.rgb_to_xyz), xyz)

    @property
    def white_xyz(self) -> Triple:
        """XYZ of R = G = B = 1."""
        rgb_to_xyz = inverse(self.xyz_to_rgb) if self.xyz_to_rgb else self.rgb_to_xyz
        return as_triple(transform(rgb_to_xyz, (1.0, 1.0, 1.0)))

    def limits_cdm2(self) -> tuple[float, float]:
        """Return the lowest and highest light that can be asked for, of one channel."""
        return max(self._taken_off_cdm2, self.floor_cdm2), self.peak_cdm2

    @property
    def _taken_off_cdm2(self) -> float:
        return self.black_cdm2 if self.compensates_black else 0.0

    def show(self, rgb_cdm2: Tensor) -> Tensor:
        """Return the light that leaves the screen when ``rgb_cdm2`` is asked for."""
        low, high = self.limits_cdm2()
        shown = rgb_cdm2.clamp(min=low, max=high if self.clips else None)
        if self.compensates_black:
            return shown
        return shown * (1 - self.black_cdm2 / self.peak_cdm2) + self.black_cdm2

    def encode(self, rgb_cdm2: Tensor, *, dither_seed: int = 0) -> Tensor:
        """Turn light, [..., 3, h, w] or one channel, into encoded values in 0..1."""
        return self.encode_(rgb_cdm2.clone(), dither_seed=dither_seed)

    def encode_(self, rgb_cdm2: Tensor, *, dither_seed: int = 0) -> Tensor:
        """Turn light into encoded values, in the memory of what is given."""
        low, high = self.limits_cdm2()
        linear = rgb_cdm2.clamp_(min=low, max=high if self.clips else None)
        black = self._taken_off_cdm2
        if black:
            linear = linear.sub_(black)
        linear = linear.div_(self.peak_cdm2 - black)
        if self.eotf == "srgb":
            encoded = _srgb_encode_(linear)
        elif self.eotf == "gamma":
            encoded = linear.pow(1 / self._exponents(linear))
        else:
            encoded = linear
        return encoded if self.bits is None else self._quantise(encoded, dither_seed)

    def decode(self, encoded: Tensor) -> Tensor:
        """Turn encoded values into light in cd/m2."""
        if self.eotf == "srgb":
            toe = encoded <= 12.92 * _SRGB_TOE
            curve = encoded.masked_fill(toe, 1.0).add(0.055).div(1.055).pow(2.4)
            linear = (encoded / 12.92).where(toe, curve)
        elif self.eotf == "gamma":
            linear = encoded.pow(self._exponents(encoded))
        else:
            linear = encoded
        return linear * (self.peak_cdm2 - self.black_cdm2) + self.black_cdm2

    def _exponents(self, values: Tensor) -> Tensor:
        exponents = values.new_tensor(self.gamma)
        one_channel = values.ndim < 3 or values.shape[-3] != 3
        return exponents[1] if one_channel else exponents[:, None, None]

    def _quantise(self, encoded: Tensor, seed: int) -> Tensor:
        steps = 2.0 ** (self.bits or 0) - 1
        scaled = encoded * steps
        if self.dither:
            noise = np.random.default_rng(seed).random(tuple(encoded.shape[-2:])) - 0.5
            scaled = scaled + scaled.new_tensor(noise)
        return scaled.round().clamp(0, steps) / steps


def _srgb_encode_(linear: Tensor) -> Tensor:
    """Encode 0..1 by the sRGB curve; exp(log) is more than twice as fast as pow here."""
    low, high = (float(end) for end in linear.detach().aminmax())
    if high <= _SRGB_TOE:
        return linear.mul_(12.92)
    toe = low <= _SRGB_TOE
    curve = linear.clamp(min=_SRGB_TOE).log_() if toe else linear.log_()
    # 1.055 x^(1/2.4) with the factor inside the exponent: one pass less.
    curve = curve.mul_(1 / 2.4).add_(math.log(1.055)).exp_()
    # exp keeps its result for the gradient, so it may only be overwritten without one.
    curve = curve - 0.055 if curve.requires_grad else curve.sub_(0.055)
    return curve.where(linear > _SRGB_TOE, 12.92 * linear) if toe else curve


def gamut_limit(display: Display, background_xyz: Triple, modulation_xyz: Triple) -> float:
    """Return the largest contrast of a pattern between -1 and 1 that the display can show.

    Examples
    --------
    >>> from fechner.stimuli.colour import OPPONENT
    >>> desk = Display("desk", peak_cdm2=400)
    >>> yv = OPPONENT.modulation_xyz("yv", 100.0)
    >>> round(gamut_limit(desk, OPPONENT.background_xyz(100.0), yv), 3)
    0.872
    """
    background = display.linear_rgb(background_xyz)
    modulation = np.abs(display.linear_rgb(modulation_xyz))
    low, high = display.limits_cdm2()
    room = np.minimum(background - low, high - background)
    return float(np.min(room / np.maximum(modulation, 1e-12)))


@lru_cache
def displays() -> dict[str, Display]:
    """Return the named displays of ``displays.toml``."""
    text = resources.files("fechner.stimuli").joinpath("displays.toml").read_text("utf-8")
    return {
        name: Display(name, **{key: _hashable(value) for key, value in fields.items()})
        for name, fields in tomllib.loads(text).items()
    }


def display(name: str) -> Display:
    """Return a named display.

    Examples
    --------
    >>> display("encoders").peak_cdm2
    400.0
    """
    try:
        return displays()[name]
    except KeyError:
        raise UnknownNameError(
            "display", name, displays(), "`fechner list displays` shows them"
        ) from None


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return as_matrix(value) if isinstance(value[0], list) else tuple(value)
    return value

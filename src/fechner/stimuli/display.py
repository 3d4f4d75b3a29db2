"""Displays: from light in cd/m2 to the numbers a picture file holds, and back."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from fechner.arrays import Tensor
from fechner.errors import FechnerError, UnknownNameError
from fechner.stimuli import colour
from fechner.stimuli.colour import Matrix, Triple, as_matrix, as_triple, inverse, transform

Eotf = Literal["srgb", "gamma", "linear", "pq", "hlg"]

#: Matrices printed with four digits are the same primaries.
_SAME_PRIMARIES = 5e-4


@dataclass(frozen=True)
class Display:
    """A display with physical properties. Linear RGB is in cd/m2: equal R, G, B is white.

    Parameters
    ----------
    peak_cdm2, black_cdm2
        Luminance of white and of black in a dark room.
    eotf
        ``"srgb"`` (IEC 61966-2-1), ``"gamma"`` with one exponent per channel, ``"linear"``,
        ``"pq"`` (SMPTE ST 2084) or ``"hlg"`` (ITU-R BT.2100, with the system gamma of the peak).
        PQ values stand for light in cd/m2, which is cut at the black level and the peak; all others
        span the range from black to peak.
    rgb_to_xyz
        Linear RGB to XYZ, scaled so that R = G = B = 1 has Y = 1; `colour.PRIMARIES` has some.
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
        Whether encoding takes the black level and reflected light off, as a calibrated display
        does, so that what is asked for is what is seen. Without, light of 0 to the peak is asked
        for, and black to the peak with the reflection on top is seen: all is a little lighter.
    ambient_lux, reflectivity
        Illuminance of the screen by the room, and the share of it that the screen reflects
        diffusely. The reflection, E / pi x reflectivity in cd/m2, is white and adds to all that is
        shown (Mantiuk et al. 2024, mantiuk2024_cvvdp).

    Examples
    --------
    >>> import torch
    >>> desk = Display("desk", peak_cdm2=100)
    >>> round(float(desk.encode(torch.tensor([21.4]))), 4)
    0.5
    >>> round(Display("office", 100, ambient_lux=250, reflectivity=0.01).reflected_cdm2, 3)
    0.796
    """

    name: str
    peak_cdm2: float
    black_cdm2: float = 0.0
    eotf: Eotf = "srgb"
    gamma: Triple = (2.2, 2.2, 2.2)
    rgb_to_xyz: Matrix = colour.SRGB_TO_XYZ
    xyz_to_rgb: Matrix | None = None
    bits: int | None = None
    dither: bool = False
    floor_cdm2: float = 0.0
    clips: bool = True
    compensates_black: bool = True
    ambient_lux: float = 0.0
    reflectivity: float = 0.0

    def __post_init__(self) -> None:
        needs, row = "", sum(self.rgb_to_xyz[1])
        if not self.peak_cdm2 > self.black_cdm2 >= 0:
            needs = f"peak > black >= 0 cd/m2, not {self.peak_cdm2} and {self.black_cdm2}"
        elif self.eotf not in get_args(Eotf):
            needs = f"an eotf of {', '.join(get_args(Eotf))}, not '{self.eotf}'"
        elif self.eotf == "pq" and self.peak_cdm2 > colour.PQ_PEAK_CDM2:
            highest = colour.PQ_PEAK_CDM2
            needs = f"a peak of at most {highest:g} cd/m2 in PQ, not {self.peak_cdm2:g}"
        elif self.bits is not None and not 1 <= self.bits <= 16:
            needs = f"1 to 16 bits, not {self.bits}"
        elif not (0 <= self.ambient_lux < math.inf and 0 <= self.reflectivity <= 1):
            given = f"{self.ambient_lux} and {self.reflectivity}"
            needs = f"ambient light >= 0 lux and a reflectivity of 0 to 1, not {given}"
        elif abs(row - 1) > _SAME_PRIMARIES:
            needs = f"an rgb_to_xyz whose second row adds up to 1, not {row:g}"
        if needs:
            raise ValueError(f"display '{self.name}' needs {needs}.")

    def linear_rgb(self, xyz: Any) -> Any:
        """Return linear RGB in cd/m2 for colours in XYZ (last axis)."""
        return transform(self.xyz_to_rgb or inverse(self.rgb_to_xyz), xyz)

    @property
    def white_xyz(self) -> Triple:
        """XYZ of R = G = B = 1."""
        rgb_to_xyz = inverse(self.xyz_to_rgb) if self.xyz_to_rgb else self.rgb_to_xyz
        return as_triple(transform(rgb_to_xyz, (1.0, 1.0, 1.0)))

    @property
    def primaries(self) -> str | None:
        """Name of its primaries in `colour.PRIMARIES`, None for others.

        Examples
        --------
        >>> display("encoders-published").primaries, display("decalogue").primaries
        ('bt709', None)
        """
        for name, matrix in colour.PRIMARIES.items():
            if np.abs(np.subtract(matrix, self.rgb_to_xyz)).max() < _SAME_PRIMARIES:
                return name
        return None

    @property
    def is_hdr(self) -> bool:
        """Whether its values are those of HDR television."""
        return self.eotf in ("pq", "hlg")

    @property
    def reflected_cdm2(self) -> float:
        """Luminance of the room's reflection."""
        return self.ambient_lux / math.pi * self.reflectivity

    def limits_cdm2(self) -> tuple[float, float]:
        """Return the lowest and highest light that can be asked for, of one channel."""
        offset = self.reflected_cdm2 if self.compensates_black else 0.0
        black = self.black_cdm2 if self.compensates_black or self.eotf == "pq" else 0.0
        return max(black + offset, self.floor_cdm2), self.peak_cdm2 + offset

    def show(self, rgb_cdm2: Tensor) -> Tensor:
        """Return the light that comes from the screen when ``rgb_cdm2`` is asked for."""
        low, high = self.limits_cdm2()
        shown = rgb_cdm2.clamp(min=low, max=high if self.clips else None)
        if self.compensates_black:
            return shown
        if self.eotf == "pq":
            return shown + self.reflected_cdm2
        rest = self.black_cdm2 + self.reflected_cdm2
        return shown * (1 - self.black_cdm2 / self.peak_cdm2) + rest

    def encode(self, rgb_cdm2: Tensor, *, dither_seed: int = 0) -> Tensor:
        """Turn light, [..., 3, h, w] or one channel, into encoded values in 0..1."""
        return self.encode_(rgb_cdm2.clone(), dither_seed=dither_seed)

    def encode_(self, rgb_cdm2: Tensor, *, dither_seed: int = 0) -> Tensor:
        """Turn light into encoded values, in the memory of what is given."""
        low, high = self.limits_cdm2()
        light = rgb_cdm2.clamp_(min=low, max=high if self.clips else None)
        # The black level counts in what is relative to the range of the display; PQ is not.
        black = self.black_cdm2 if self.compensates_black and self.eotf != "pq" else 0.0
        if taken_off := black + (self.reflected_cdm2 if self.compensates_black else 0.0):
            light = light.sub_(taken_off)
        if self.eotf == "pq":
            encoded = colour.pq_encode(light)
        else:
            encoded = light.div_(self.peak_cdm2 - black)
        if self.eotf == "srgb":
            encoded = colour.srgb_encode_(encoded)
        elif self.eotf == "gamma":
            encoded = encoded.pow(1 / self._exponents(encoded))
        elif self.eotf == "hlg":
            gamma = colour.hlg_gamma(self.peak_cdm2)
            encoded = colour.hlg_encode(encoded, self._luminance(encoded), gamma)
        if self.bits is None:
            return encoded
        steps = 2.0**self.bits - 1
        scaled = encoded * steps
        if self.dither:
            noise = np.random.default_rng(dither_seed).random(tuple(encoded.shape[-2:])) - 0.5
            scaled = scaled + scaled.new_tensor(noise)
        return scaled.round().clamp(0, steps) / steps

    def decode(self, encoded: Tensor) -> Tensor:
        """Turn encoded values into the light in cd/m2 that comes from the screen."""
        if self.eotf == "pq":
            light = colour.pq_decode(encoded)
            light = light.clamp(self.black_cdm2, self.peak_cdm2 if self.clips else None)
            return light + self.reflected_cdm2
        linear = encoded
        if self.eotf == "srgb":
            linear = colour.srgb_decode(encoded)
        elif self.eotf == "gamma":
            linear = encoded.pow(self._exponents(encoded))
        elif self.eotf == "hlg":
            scene = colour.hlg_scene(encoded)
            gamma = colour.hlg_gamma(self.peak_cdm2)
            linear = colour.hlg_show(scene, self._luminance(scene), gamma)
        rest = self.black_cdm2 + self.reflected_cdm2
        return linear * (self.peak_cdm2 - self.black_cdm2) + rest

    def _luminance(self, linear: Tensor) -> Tensor:
        """Return relative luminance, to be broadcast; one channel is grey."""
        if _is_one_channel(linear):
            return linear
        weights = linear.new_tensor(self.rgb_to_xyz[1])[:, None, None]
        return (linear * weights).sum(dim=-3, keepdim=True)

    def _exponents(self, values: Tensor) -> Tensor:
        exponents = values.new_tensor(self.gamma)
        return exponents[1] if _is_one_channel(values) else exponents[:, None, None]


def _is_one_channel(values: Tensor) -> bool:
    return values.ndim < 3 or values.shape[-3] != 3


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
    return {name: make_display(name, values) for name, values in tomllib.loads(text).items()}


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
        hint = "`fechner list displays` shows them"
        raise UnknownNameError("display", name, displays(), hint) from None


def open_display(given: Display | Path | str) -> Display:
    """Return a display by its name or from a TOML file with its properties.

    A file has the fields of `Display`, ``name`` if it is not that of the file, and may name its
    ``primaries`` (bt709, p3-d65 or bt2020) instead of giving a matrix.

    Examples
    --------
    >>> open_display("office").ambient_lux
    250.0
    """
    if isinstance(given, Display):  # whose numbers may be whole, which keys of results tell apart
        return make_display(given.name, {k: v for k, v in vars(given).items() if k != "name"})
    path = Path(given)
    if path.suffix.lower() != ".toml":
        return display(str(given))
    try:
        values = tomllib.loads(path.read_text("utf-8"))
        return make_display(str(values.pop("name", path.stem)), values)
    except (OSError, ValueError) as error:
        raise FechnerError(f"display file {path} cannot be used: {error}") from error


def make_display(name: str, values: Mapping[str, Any]) -> Display:
    """Return a display from plain values, as files have them."""
    plain = dict(values)
    if "primaries" in plain:
        primaries = plain.pop("primaries")
        if "rgb_to_xyz" in plain:
            raise ValueError("it has both primaries and rgb_to_xyz; give one of the two.")
        if primaries not in colour.PRIMARIES:
            raise ValueError(f"primaries are {', '.join(colour.PRIMARIES)}, not '{primaries}'.")
        plain["rgb_to_xyz"] = colour.PRIMARIES[primaries]
    checked = {key: _checked(key, value) for key, value in plain.items()}
    if "peak_cdm2" not in plain:
        raise ValueError("peak_cdm2 is missing.")
    return Display(name, **checked)


def _checked(key: str, value: Any) -> Any:
    """Return a property in the type that `Display` has it in."""
    types = {each.name: str(each.type) for each in fields(Display)}
    if key not in types:
        near = get_close_matches(key, types, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"it has primaries, {', '.join(types)}."
        raise ValueError(f"a display has no '{key}'; {hint}")
    kind, *optional = types[key].split(" | ")
    if value is None and optional:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    kinds: dict[str, tuple[bool, Callable[[Any], Any], str]] = {
        "float": (number, float, "a finite number, without quotes"),
        "int": (number and value == int(value), int, "a whole number, without quotes"),
        "bool": (isinstance(value, bool), bool, "true or false"),
        "Eotf": (isinstance(value, str), str, f"one of {', '.join(get_args(Eotf))}"),
        "Triple": (np.shape(value) == (3,), as_triple, "a list of three numbers"),
        "Matrix": (np.shape(value) == (3, 3), as_matrix, "three lists of three numbers"),
    }
    is_right, convert, wanted = kinds[kind]
    if not is_right:
        raise ValueError(f"{key} cannot be {value!r}; it is {wanted}.")
    return convert(value)

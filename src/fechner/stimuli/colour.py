"""Colour spaces (XYZ, LMS, DKL, Jameson-Hurvich, CIELAB) and transfer functions (sRGB, PQ, HLG).

Colour spaces take colours along the last axis, NumPy arrays or torch tensors. Matrices are
row-major tuples, so that whatever holds one stays hashable. Transfer functions turn encoded values
into light and back. All are differentiable, with finite gradients everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fechner.arrays import Tensor

Pair: TypeAlias = tuple[float, float]
Triple: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[Triple, Triple, Triple]

#: Chromaticity of D65 scaled to Y = 1 (CIE 015).
D65_XYZ: Triple = (0.95047, 1.0, 1.08883)

#: Linear sRGB to XYZ, from the primaries of IEC 61966-2-1.
SRGB_TO_XYZ: Matrix = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)

#: CIE 2006 cone fundamentals (2 deg) from XYZ, for LED-LCD spectra; approximate, because CIE 1931
#: and 2006 observers differ (Mantiuk et al. 2024, ColorVideoVDP). On D65, L + M = 1.0510 Y.
XYZ_TO_LMS2006: Matrix = (
    (0.187596268556126, 0.585168649077728, -0.026384263306304),
    (-0.133397430663221, 0.405505777260049, 0.034502127690364),
    (0.000244379021663, -0.000542995890619, 0.019406849066323),
)

#: Smith & Pokorny (1975) cone fundamentals from Judd-Vos XYZ, smith_pokorny1975; L + M is luminance
#: (to 4e-5), and X alone or Z alone does not change it.
XYZ_TO_LMS1975: Matrix = (
    (0.15514, 0.54312, -0.03286),
    (-0.15514, 0.45684, 0.03286),
    (0.0, 0.0, 0.01608),
)

#: Jameson & Hurvich (1957): A = Y, T = X - Y (red-green), D = 0.4 (Y - Z) (yellow-blue).
XYZ_TO_ATD: Matrix = ((0.0, 1.0, 0.0), (1.0, -1.0, 0.0), (0.0, 0.4, -0.4))


def transform(matrix: Matrix, colours: Any) -> Any:
    """Multiply colours along the last axis by a matrix.

    Examples
    --------
    >>> transform(XYZ_TO_ATD, np.array([0.9, 1.0, 0.5])).round(3).tolist()
    [1.0, -0.1, 0.2]
    """
    if isinstance(colours, np.ndarray | tuple | list):
        return np.asarray(colours, dtype=np.float64) @ np.asarray(matrix).T
    return colours @ colours.new_tensor(matrix).T


def inverse(matrix: Matrix) -> Matrix:
    """Invert a matrix."""
    return tuple(map(tuple, np.linalg.inv(matrix).tolist()))  # type: ignore[return-value]


def as_matrix(array: Any) -> Matrix:
    """Turn a 3 x 3 array into a hashable matrix."""
    return tuple(map(tuple, np.asarray(array, float).tolist()))  # type: ignore[return-value]


def as_triple(array: Any) -> Triple:
    """Turn three numbers into a hashable triple."""
    first, second, third = np.asarray(array, float).tolist()
    return first, second, third


def daylight_xyz(kelvin: float) -> Triple:
    """Return XYZ of daylight of a correlated colour temperature, at Y = 1.

    References
    ----------
    CIE 015 (2018), key ``cie015_2018``: the locus of daylight, from 4000 to 25,000 K.

    Examples
    --------
    >>> [round(value, 3) for value in daylight_xyz(6504.0)]
    [0.95, 1.0, 1.088]
    """
    if not 4000 <= kelvin <= 25000:
        raise ValueError(f"daylight has 4000 to 25000 K, not {kelvin:g}.")
    t = 1000 / kelvin
    x = (
        0.244063 + 0.09911 * t + 2.9678 * t**2 - 4.6070 * t**3
        if kelvin <= 7000
        else 0.237040 + 0.24748 * t + 1.9018 * t**2 - 2.0064 * t**3
    )
    y = -3.0 * x**2 + 2.870 * x - 0.275
    return x / y, 1.0, (1 - x - y) / y


def primary_matrix(red_xy: Pair, green_xy: Pair, blue_xy: Pair, white_xyz: Triple) -> Matrix:
    """Return linear RGB to XYZ for the chromaticities of three primaries (smpte1993_rp177).

    Examples
    --------
    >>> bt709 = primary_matrix((0.64, 0.33), (0.30, 0.60), (0.15, 0.06), D65_XYZ)
    >>> np.array(bt709[1]).round(4).tolist()
    [0.2127, 0.7152, 0.0722]
    """
    columns = np.array([(x / y, 1.0, (1 - x - y) / y) for x, y in (red_xy, green_xy, blue_xy)]).T
    return as_matrix(columns * np.linalg.solve(columns, np.asarray(white_xyz)))


#: Linear RGB to XYZ by the names of primaries, all with white D65: those of sRGB and HDTV, of
#: Display P3 (smpte2010_eg432), and of UHDTV and HDR television (itu2015_bt2020).
PRIMARIES: dict[str, Matrix] = {
    "bt709": SRGB_TO_XYZ,
    "p3-d65": primary_matrix((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), D65_XYZ),
    "bt2020": primary_matrix((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), D65_XYZ),
}


def dkl_matrix(grey_lms: Triple) -> Matrix:
    """Return LMS to DKL (luminance, red-green, yellow-violet) for an adapting grey.

    Derrington, Krauskopf & Lennie (1984): the second axis keeps L + M and S, the third
    keeps L and M; both are silent to the grey itself.

    Examples
    --------
    >>> (transform(dkl_matrix((0.7, 0.3, 0.02)), (0.75, 0.25, 0.02)) * 3).round(3).tolist()
    [3.0, 0.5, 0.0]
    """
    long, medium, short = grey_lms
    return (
        (1.0, 1.0, 0.0),
        (1.0, -long / medium, 0.0),
        (-1.0, -1.0, (long + medium) / short),
    )


def xyz_to_lab(xyz: Any, white_xyz: Triple = D65_XYZ) -> Any:
    """Return CIELAB (CIE 015) for a given white.

    Examples
    --------
    >>> xyz_to_lab(np.array([0.4, 0.5, 0.3])).round(3).tolist()
    [76.069, -22.156, 28.598]
    """
    if isinstance(xyz, np.ndarray | tuple | list):
        ratio = np.asarray(xyz, dtype=np.float64) / np.asarray(white_xyz)
        low = ratio <= (6 / 29) ** 3
        f = np.where(low, ratio / (3 * (6 / 29) ** 2) + 4 / 29, np.cbrt(np.where(low, 1.0, ratio)))
        return np.stack(
            [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])],
            axis=-1,
        )
    ratio = xyz / xyz.new_tensor(white_xyz)
    low = ratio <= (6 / 29) ** 3
    cube_root = ratio.masked_fill(low, 1.0).pow(1 / 3)  # no infinite gradient at black
    f = cube_root.where(~low, ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    scale = xyz.new_tensor(((0.0, 116.0, 0.0), (500.0, -500.0, 0.0), (0.0, 200.0, -200.0)))
    return f @ scale.T - xyz.new_tensor((16.0, 0.0, 0.0))


@dataclass(frozen=True)
class OpponentSpace:
    """The cardinal colour directions around a grey background of a given luminance.

    A modulation of contrast 1 along a direction is one background luminance along that axis. Unless
    other axes are given, they are those of DKL: contrasts of this kind are called DKL amplitudes.

    Parameters
    ----------
    white_xyz
        Chromaticity of the background at luminance 1.
    xyz_to_lms
        Cone space.
    grey_lms
        The grey that defines the DKL axes; None takes the background itself, which makes ``ach``
        exactly proportional to it, so that its amplitude is Michelson contrast.
    axes
        XYZ to the three axes; None takes DKL.
    directions
        What the three axes are called.

    Examples
    --------
    What red-green contrast 1 adds at 40 cd/m2: X alone, so luminance stays.

    >>> ATD.modulation_xyz("rg", 40.0)
    (40.0, 0.0, 0.0)
    """

    white_xyz: Triple
    xyz_to_lms: Matrix
    grey_lms: Triple | None = None
    axes: Matrix | None = None
    directions: tuple[str, str, str] = ("ach", "rg", "yv")

    @property
    def dkl(self) -> Matrix:
        """LMS to DKL."""
        grey = self.grey_lms or as_triple(transform(self.xyz_to_lms, self.white_xyz))
        return dkl_matrix(grey)

    def background_xyz(self, luminance_cdm2: float) -> Triple:
        """Return XYZ of the background."""
        return as_triple(luminance_cdm2 * np.asarray(self.white_xyz))

    def background_lms(self, luminance_cdm2: float) -> Triple:
        """Return the cone responses to the background."""
        return as_triple(transform(self.xyz_to_lms, self.background_xyz(luminance_cdm2)))

    def modulation_lms(self, direction: str, luminance_cdm2: float) -> Triple:
        """Return the cone increments of a modulation of contrast 1."""
        if self.axes is None:
            return as_triple(luminance_cdm2 * self._unit(self.dkl, direction))
        xyz = self.modulation_xyz(direction, luminance_cdm2)
        return as_triple(transform(self.xyz_to_lms, xyz))

    def modulation_xyz(self, direction: str, luminance_cdm2: float) -> Triple:
        """Return the XYZ increments of a modulation of contrast 1."""
        if self.axes is not None:
            return as_triple(luminance_cdm2 * self._unit(self.axes, direction))
        lms = self.modulation_lms(direction, luminance_cdm2)
        return as_triple(transform(inverse(self.xyz_to_lms), lms))

    def _unit(self, axes: Matrix, direction: str) -> NDArray[np.float64]:
        """Return what is 1 along one axis and silent to the others."""
        if direction not in self.directions:
            known = ", ".join(self.directions)
            raise ValueError(f"a direction is one of {known}, not '{direction}'.")
        unit = np.linalg.inv(np.asarray(axes))[:, self.directions.index(direction)]
        return np.asarray(unit + 0.0, dtype=np.float64)  # no negative zeros


#: Directions as people call them.
DIRECTION_NAMES = {
    "ach": "achromatic",
    "rg": "red-green",
    "yb": "yellow-blue",
    "yv": "yellow-violet",
}

_D65_LMS = transform(XYZ_TO_LMS2006, D65_XYZ)

#: The default: cone responses scaled so that L + M is the luminance of D65, axes around D65.
OPPONENT = OpponentSpace(
    D65_XYZ, as_matrix(np.asarray(XYZ_TO_LMS2006) / (_D65_LMS[0] + _D65_LMS[1]))
)

#: The grey of both papers below.
_GREY_LMS = (0.739876529525622, 0.320136241543338, 0.020793708751515)

#: As in the public code of Cai et al. (2025): cone responses not scaled (L + M = 1.051 Y), axes
#: around another grey, so nominal contrasts are about 5 % too high.
OPPONENT_CAI2025 = OpponentSpace((0.9505, 1.0, 1.0888), XYZ_TO_LMS2006, _GREY_LMS)

#: The same as in that of Hammou et al. (2025), whose white has more digits.
OPPONENT_HAMMOU2025 = OpponentSpace(D65_XYZ, XYZ_TO_LMS2006, _GREY_LMS)

#: Jameson & Hurvich's opponent axes around the equal-energy white, as in Vila-Tomás et al. (2026):
#: contrast 1 is A, T or D of one background luminance, and T and D leave luminance as it is.
ATD = OpponentSpace(
    (1.0, 1.0, 1.0), XYZ_TO_LMS1975, axes=XYZ_TO_ATD, directions=("ach", "rg", "yb")
)

#: The same as in their public code, where chromatic patterns modulate luminance as well: contrast 1
#: of red-green is A = T of one background luminance, of yellow-blue A = D.
ATD_VILA_TOMAS2026 = replace(
    ATD, axes=inverse(((1.0, 2.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, -1.5)))
)


#: Below this linear value sRGB is a straight line (IEC 61966-2-1).
_SRGB_TOE = 0.0031308

#: The light that PQ encodes as 1, and its constants (SMPTE ST 2084; BT.2100, Table 4).
PQ_PEAK_CDM2 = 10_000.0
_M1, _M2 = 2610 / 16384, 2523 / 32
_C1, _C2, _C3 = 3424 / 4096, 2413 / 128, 2392 / 128

#: Constants of HLG (BT.2100, Table 5).
_A = 0.17883277
_B = 1 - 4 * _A
_C = 0.5 - _A * math.log(4 * _A)

#: The least light of which a logarithm is taken; single precision holds it.
_TINY = 1e-37


def root(square: Tensor) -> Tensor:
    """Return the square root, with gradient 0 at 0, where that of `torch.sqrt` is infinite.

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> root(x).sum().backward()
    >>> x.grad.tolist()
    [0.0, 0.25]
    """
    zero = square == 0
    return square.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


def srgb_encode_(linear: Tensor) -> Tensor:
    """Encode 0..1 by the sRGB curve (IEC 61966-2-1), in the memory of what is given.

    exp(log) is more than twice as fast as pow here.

    Examples
    --------
    >>> import torch
    >>> round(float(srgb_encode_(torch.tensor([0.214], dtype=torch.float64))), 4)
    0.5
    """
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


def srgb_decode(encoded: Tensor) -> Tensor:
    """Return linear values in 0..1 of sRGB-encoded ones (IEC 61966-2-1).

    Examples
    --------
    >>> import torch
    >>> round(float(srgb_decode(torch.tensor([0.5], dtype=torch.float64))), 4)
    0.214
    """
    toe = encoded <= 12.92 * _SRGB_TOE
    curve = encoded.masked_fill(toe, 1.0).add(0.055).div(1.055).pow(2.4)
    return (encoded / 12.92).where(toe, curve)


def pq_encode(light_cdm2: Tensor) -> Tensor:
    """Return light encoded by PQ (SMPTE ST 2084, smpte2014_st2084): 0..10000 cd/m2 to 0..1.

    With p = (L / 10000)^m1, the standard raises r = (c1 + c2 p) / (1 + c3 p), which is near 1, to a
    power of 79; in single precision that leaves five digits. Here r - 1 is computed instead,
    (c2 - c3) (p - 1) / (1 + c3 p), which is the same since c1 = 1 + c3 - c2.

    Examples
    --------
    >>> import torch
    >>> encoded = pq_encode(torch.tensor([0.0, 100.0, 1e4], dtype=torch.float64))
    >>> [round(value, 4) for value in encoded.tolist()]
    [0.0, 0.5081, 1.0]
    """
    power_less_1 = (light_cdm2 / PQ_PEAK_CDM2).clamp(min=_TINY).log().mul(_M1).expm1()
    ratio_less_1 = (_C2 - _C3) * power_less_1 / (_C3 * power_less_1 + (1 + _C3))
    return ratio_less_1.log1p().mul(_M2).exp()


def pq_decode(encoded: Tensor) -> Tensor:
    """Return light in cd/m2 of values encoded by PQ (SMPTE ST 2084, smpte2014_st2084).

    Examples
    --------
    >>> import torch
    >>> light = pq_decode(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64))
    >>> [round(value, 3) for value in light.tolist()]
    [0.0, 92.246, 10000.0]
    """
    # Values up to c1^m2 = 7e-7 are black.
    ratio_less_1 = encoded.clamp(min=_C1**_M2).log().div(_M2).expm1()
    power = (ratio_less_1 + (1 - _C1)).clamp(min=0) / ((_C2 - _C3) - _C3 * ratio_less_1)
    return PQ_PEAK_CDM2 * power.pow(1 / _M1)


def hlg_gamma(peak_cdm2: float) -> float:
    """Return the system gamma of HLG for a display's peak (BT.2100, itu2018_bt2100, Table 5).

    1.2 + 0.42 log10(L / 1000) from 400 to 2000 cd/m2, and 1.2 x 1.111^log2(L / 1000) beyond
    (BT.2390, itu2021_bt2390).

    Examples
    --------
    >>> hlg_gamma(1000), round(hlg_gamma(2000), 3), round(hlg_gamma(4000), 3)
    (1.2, 1.326, 1.481)
    """
    if 400 <= peak_cdm2 <= 2000:
        return 1.2 + 0.42 * math.log10(peak_cdm2 / 1000)
    return 1.2 * math.pow(1.111, math.log2(peak_cdm2 / 1000))


def hlg_encode(linear: Tensor, luminance: Tensor, gamma: float) -> Tensor:
    """Return HLG values of light relative to the peak (BT.2100, itu2018_bt2100, Table 5).

    The inverse OOTF turns light of the display into light of the scene, the OETF encodes that.
    Saturated colours near the peak give values above 1.

    Parameters
    ----------
    luminance
        Relative luminance of each pixel, to be broadcast.
    gamma
        System gamma of the display.

    Examples
    --------
    >>> import torch
    >>> grey = torch.tensor([0.0, 0.05, 1.0], dtype=torch.float64)
    >>> [round(value, 4) for value in hlg_encode(grey, grey, 1.2).tolist()]
    [0.0, 0.4971, 1.0]
    """
    scene = linear * luminance.clamp(min=_TINY).pow((1 - gamma) / gamma)
    bright = (12 * scene.clamp(min=1 / 12) - _B).log().mul(_A).add(_C)
    return root(3 * scene.clamp(min=0)).where(scene <= 1 / 12, bright)


def hlg_scene(encoded: Tensor) -> Tensor:
    """Return relative light of the scene for HLG values: the inverse OETF (BT.2100, Table 5).

    Examples
    --------
    >>> import torch
    >>> scene = hlg_scene(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64))
    >>> [round(value, 4) for value in scene.tolist()]
    [0.0, 0.0833, 1.0]
    """
    bright = (((encoded.clamp(min=0.5) - _C) / _A).exp() + _B) / 12
    return (encoded.square() / 3).where(encoded <= 0.5, bright)


def hlg_show(scene: Tensor, luminance: Tensor, gamma: float) -> Tensor:
    """Return light relative to the peak for light of the scene: the OOTF (BT.2100, Table 5).

    Examples
    --------
    >>> import torch
    >>> grey = torch.tensor([0.1], dtype=torch.float64)
    >>> round(float(hlg_show(grey, grey, 1.2)), 5)
    0.0631
    """
    return scene * luminance.clamp(min=_TINY).pow(gamma - 1)

"""Transfer functions: encoded values to light and back, for sRGB, PQ and HLG.

Each pair is an inverse of the other and differentiable; gradients are finite everywhere, 0 where
the slope of the function is infinite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fechner.stimuli.gradients import root

if TYPE_CHECKING:
    from torch import Tensor

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

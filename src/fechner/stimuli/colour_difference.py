"""Colour differences pixel by pixel: CIELAB 1976, CIEDE2000, HyAB and Delta E ITP.

Colours lie along dimension 1, [n, 3, h, w]; maps are [n, h, w]. Gradients are finite everywhere: 0
where two colours are the same, and no infinity on the grey axis.
"""

from __future__ import annotations

import math

from fechner.arrays import Tensor
from fechner.stimuli.colour import D65_XYZ, Matrix, Triple, pq_encode, root, transform, xyz_to_lab

#: Linear RGB of BT.709 to that of BT.2020, from the chromaticities of both (BT.2087 prints four
#: digits of it).
BT709_TO_BT2020: Matrix = (
    (0.627403895935, 0.329283038378, 0.043313065687),
    (0.069097289358, 0.919540395075, 0.011362315566),
    (0.016391438875, 0.088013307877, 0.895595253248),
)

#: Linear RGB of BT.2020 to LMS (BT.2100, itu2018_bt2100, Table 7).
BT2020_TO_LMS: Matrix = (
    (1688 / 4096, 2146 / 4096, 262 / 4096),
    (683 / 4096, 2951 / 4096, 462 / 4096),
    (99 / 4096, 309 / 4096, 3688 / 4096),
)

#: PQ-encoded LMS to ICtCp (BT.2100, itu2018_bt2100, Table 7).
LMS_TO_ICTCP: Matrix = (
    (0.5, 0.5, 0.0),
    (6610 / 4096, -13613 / 4096, 7003 / 4096),
    (17933 / 4096, -17390 / 4096, -543 / 4096),
)


def recolour(matrix: Matrix, pictures: Tensor) -> Tensor:
    """Multiply colours along dimension 1 by a matrix."""
    found: Tensor = transform(matrix, pictures.movedim(1, -1)).movedim(-1, 1)
    return found


def lab(xyz: Tensor, white_xyz: Triple = D65_XYZ) -> Tensor:
    """Return CIELAB of XYZ pictures, in the unit of the white.

    Examples
    --------
    >>> import torch
    >>> xyz = torch.tensor([0.4, 0.5, 0.3], dtype=torch.float64).reshape(1, 3, 1, 1)
    >>> [round(value, 3) for value in lab(xyz).flatten().tolist()]
    [76.069, -22.156, 28.598]
    """
    found: Tensor = xyz_to_lab(xyz.movedim(1, -1), white_xyz).movedim(-1, 1)
    return found


def delta_e_1976(lab1: Tensor, lab2: Tensor) -> Tensor:
    """Return the distance in CIELAB (CIE 015, cie015_2018).

    Examples
    --------
    >>> import torch
    >>> one, other = torch.zeros(1, 3, 1, 1), torch.tensor([2.0, 3.0, 6.0]).reshape(1, 3, 1, 1)
    >>> float(delta_e_1976(one, other))
    7.0
    """
    return root((lab1 - lab2).square().sum(dim=1))


def hyab(lab1: Tensor, lab2: Tensor) -> Tensor:
    """Return the hybrid distance |dL| + sqrt(da^2 + db^2) (Abasi et al. 2020, abasi2020).

    Examples
    --------
    >>> import torch
    >>> one, other = torch.zeros(1, 3, 1, 1), torch.tensor([2.0, 3.0, 4.0]).reshape(1, 3, 1, 1)
    >>> float(hyab(one, other))
    7.0
    """
    lightness, a, b = (lab1 - lab2).unbind(dim=1)
    return lightness.abs() + length(a, b)


def delta_e_2000(lab1: Tensor, lab2: Tensor) -> Tensor:
    """Return CIEDE2000 (CIE 142, cie142_2001) with all parametric factors 1.

    Differences of chroma and of hue are found from differences of a and b, where the printed
    formula subtracts lengths and angles: the same number, with all its digits for small ones.
    Special cases of the hue are those of Sharma, Wu & Dalal (2005, sharma2005).

    Examples
    --------
    >>> import torch
    >>> one = torch.tensor([50.0, 2.6772, -79.7751], dtype=torch.float64).reshape(1, 3, 1, 1)
    >>> other = torch.tensor([50.0, 0.0, -82.7485], dtype=torch.float64).reshape(1, 3, 1, 1)
    >>> round(float(delta_e_2000(one, other)), 4)
    2.0425
    """
    lightness1, a1, b1 = lab1.unbind(dim=1)
    lightness2, a2, b2 = lab2.unbind(dim=1)
    stretch = 1.5 - 0.5 * _saturation((length(a1, b1) + length(a2, b2)) / 2)
    da, db = stretch * (a2 - a1), b2 - b1
    a1, a2 = stretch * a1, stretch * a2
    chroma1, chroma2 = length(a1, b1), length(a2, b2)
    chroma_sum = chroma1 + chroma2
    grey = (chroma1 == 0) | (chroma2 == 0)

    safe = chroma_sum.masked_fill(chroma_sum == 0, 1.0)
    chroma = (da * (a1 + a2) + db * (b1 + b2)) / safe
    turn = angle(a1 * db - b1 * da, a1 * a2 + b1 * b2)
    # Opposite hues: the way from one to the other that does not pass 0 degrees.
    upper = (b1 > 0) | ((b1 == 0) & (a1 > 0))
    turn = turn.where(upper | (turn < math.pi), -turn).masked_fill(grey, 0.0)
    hue = 2 * root(chroma1 * chroma2) * (turn / 2).sin()
    # The hue of a grey is that of the other colour.
    first = chroma1 > 0
    middle_rad = angle(b1.where(first, b2), a1.where(first, a2)) + turn / 2

    middle_chroma = chroma_sum / 2
    from_50 = ((lightness1 + lightness2) / 2 - 50).square()
    lightness = (lightness2 - lightness1) / (1 + 0.015 * from_50 / (20 + from_50).sqrt())
    chroma = chroma / (1 + 0.045 * middle_chroma)
    weight = (
        1
        - 0.17 * (middle_rad - math.radians(30)).cos()
        + 0.24 * (2 * middle_rad).cos()
        + 0.32 * (3 * middle_rad + math.radians(6)).cos()
        - 0.20 * (4 * middle_rad - math.radians(63)).cos()
    )
    hue = hue / (1 + 0.015 * middle_chroma * weight)
    # A bump of 25 degrees around the blue at 275 degrees.
    from_blue = (middle_rad.rad2deg() % 360 - 275) / 25
    blue = (2 * math.radians(30) * (-from_blue.square()).exp()).sin()
    rotation = -2 * _saturation(middle_chroma) * blue
    square = lightness.square() + chroma.square() + hue.square() + rotation * chroma * hue
    return root(square)


def ictcp(rgb_cdm2: Tensor) -> Tensor:
    """Return ICtCp of linear RGB of BT.709 primaries in cd/m2 (BT.2100 with PQ, itu2018_bt2100).

    Examples
    --------
    >>> import torch
    >>> white = torch.full((1, 3, 1, 1), 100.0, dtype=torch.float64)
    >>> [round(abs(value), 6) for value in ictcp(white).flatten().tolist()]
    [0.508078, 0.0, 0.0]
    """
    lms = recolour(BT2020_TO_LMS, recolour(BT709_TO_BT2020, rgb_cdm2))
    return recolour(LMS_TO_ICTCP, pq_encode(lms))


def delta_itp(ictcp1: Tensor, ictcp2: Tensor, tritan: float = 0.5) -> Tensor:
    """Return Delta E ITP (BT.2124, itu2019_bt2124): 1 is just noticeable at best adaptation.

    Parameters
    ----------
    tritan
        What Ct is multiplied by. The recommendation says 1/2; numbers made with half its square
        instead of the square of its half need the square root of 1/2.

    Examples
    --------
    >>> import torch
    >>> one, other = torch.zeros(1, 3, 1, 1), torch.tensor([0.0, 0.01, 0.0]).reshape(1, 3, 1, 1)
    >>> round(float(delta_itp(one, other)), 4)
    3.6
    """
    intensity, ct, cp = (ictcp1 - ictcp2).unbind(dim=1)
    return 720 * root(intensity.square() + (tritan * ct).square() + cp.square())


def _saturation(chroma: Tensor) -> Tensor:
    """Return sqrt(C^7 / (C^7 + 25^7)), from 0 for greys to 1."""
    power = (chroma / 25).pow(7)
    return root(power / (power + 1))


def length(x: Tensor, y: Tensor) -> Tensor:
    """Return the length of (x, y), with gradient 0 at the origin."""
    return root(x.square() + y.square())


def angle(y: Tensor, x: Tensor) -> Tensor:
    """Return the angle of (x, y) in radians, from -pi to pi; at the origin 0 with gradient 0.

    Examples
    --------
    >>> import torch
    >>> point = torch.zeros(2, requires_grad=True)
    >>> angle(point[0], point[1]).backward()
    >>> point.grad.tolist()
    [0.0, 0.0]
    """
    origin = (x == 0) & (y == 0)
    return y.masked_fill(origin, 0.0).atan2(x.masked_fill(origin, 1.0))

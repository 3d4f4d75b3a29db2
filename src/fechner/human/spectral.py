"""How people see single wavelengths: colour matching, opponent curves, and fields to test them.

The functions are those of Judd (1951) and Vos (1978), interpolated along straight lines between
their points at every 5 nm; outside of 380-780 nm nothing is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from fechner.arrays import Floats
from fechner.human.datasets import read_columns
from fechner.human.inputs import checked
from fechner.stimuli.colour import XYZ_TO_ATD, XYZ_TO_LMS1975, Triple, as_triple, transform
from fechner.stimuli.contrast import cone_contrasts
from fechner.stimuli.display import Display

#: Spectra are summed up in steps of 1 nm.
_STEP_NM = 1.0

#: Wavelengths of the two lights of Mullen's gratings, nm, which are modulated in antiphase.
_MULLEN_NM = {"rg": (602.0, 526.0), "yb": (577.0, 470.0)}

#: How cone contrasts make the signal of an opponent mechanism.
_MECHANISMS = {"rg": (1.0, -1.0, 0.0), "yb": (0.5, 0.5, -1.0)}


@cache
def _judd_vos() -> tuple[Floats, Floats]:
    columns = read_columns(
        "judd_vos1978", (("wavelength_nm", "nm"), ("x_bar", "1"), ("y_bar", "1"), ("z_bar", "1"))
    )
    wavelength, *functions = columns.values()
    return wavelength, np.stack(functions)


def colour_matching(wavelength_nm: ArrayLike) -> Floats:
    """Colour-matching functions of the 2 deg observer, after Judd and Vos.

    x, y and z along one more axis; y is the luminous efficiency. References: Judd (1951,
    ``judd1951``); Vos (1978, ``vos1978``).

    Examples
    --------
    >>> colour_matching(555.0).round(5).tolist()
    [0.51513, 1.0001, 0.00586]
    """
    wavelength = checked("wavelength_nm", wavelength_nm)
    at, functions = _judd_vos()
    return np.stack([np.interp(wavelength, at, each, 0.0, 0.0) for each in functions], axis=-1)


def jameson_hurvich(wavelength_nm: ArrayLike) -> Floats:
    """Achromatic, red-green and yellow-blue response to equal energy at each wavelength.

    A = y, T = x - y and D = 0.4 (y - z): the opponent curves in their linear form. The zeros of T
    are unique blue (476.5 nm) and yellow (578.0 nm), that of D is unique green (497.9 nm). A, T and
    D along one more axis. References: Hurvich & Jameson (1957, ``jameson_hurvich1957``), as in
    Vila-Tomás et al. (2026, ``vila_tomas2026``), with the functions of Vos (1978, ``vos1978``).

    Examples
    --------
    >>> jameson_hurvich([440.0, 530.0, 610.0]).round(3).tolist()
    [[0.038, 0.295, -0.631], [0.862, -0.695, 0.328], [0.503, 0.489, 0.201]]
    """
    opponent: Floats = transform(XYZ_TO_ATD, colour_matching(wavelength_nm))
    return opponent


@dataclass(frozen=True)
class SpectralFields:
    """Quasi-monochromatic fields that a display can show.

    Parameters
    ----------
    wavelengths_nm
        Centres of the Gaussians.
    fields_xyz
        XYZ of each field, cd/m2: a Gaussian on the flat spectrum.
    flat_xyz
        XYZ of the flat spectrum alone; the second is its luminance.
    """

    wavelengths_nm: tuple[float, ...]
    fields_xyz: tuple[Triple, ...]
    flat_xyz: Triple


def spectral_fields(
    display: Display,
    wavelengths_nm: ArrayLike | None = None,
    *,
    sd_nm: float = 5.0,
    flat_cdm2: float | None = None,
) -> SpectralFields:
    """Return spectrally narrow fields of equal energy, as pure as a display can show them.

    Each is a Gaussian on a flat spectrum. No display shows pure wavelengths, so the flat spectrum
    is the weakest that makes all of them possible, unless its luminance is given; their common
    energy is the highest that is possible then. After Vila-Tomás et al. (2026,
    ``vila_tomas2026``), footnote 10.

    Parameters
    ----------
    wavelengths_nm : array_like or None
        Centres of the Gaussians; None is 30 from 380 to 720.
    sd_nm : float
        Standard deviation of the Gaussians.
    flat_cdm2 : float or None
        Luminance of the flat spectrum; None is the weakest for the brightest fields.

    Examples
    --------
    >>> from fechner.stimuli import display
    >>> fields = spectral_fields(display("decalogue"))
    >>> round(fields.flat_xyz[1], 1), round(max(y for _, y, _ in fields.fields_xyz), 1)
    (36.6, 86.7)
    >>> fields = spectral_fields(display("decalogue"), flat_cdm2=18.1)
    >>> round(fields.flat_xyz[1], 1), round(max(y for _, y, _ in fields.fields_xyz), 1)
    (18.1, 42.8)
    """
    default = np.linspace(380.0, 720.0, 30)
    asked = default if wavelengths_nm is None else np.atleast_1d(wavelengths_nm)
    centres = checked("wavelengths_nm", asked)[:, None]
    width = float(checked("sd_nm", sd_nm))
    at = np.arange(380.0, 780.0 + _STEP_NM / 2, _STEP_NM)
    functions = colour_matching(at)
    gaussians = np.exp(-(((at - centres) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
    narrow_xyz, flat_xyz = gaussians @ functions * _STEP_NM, functions.sum(axis=0) * _STEP_NM
    narrow_rgb = display.linear_rgb(narrow_xyz).reshape(-1)
    flat_rgb = np.broadcast_to(display.linear_rgb(flat_xyz), (len(centres), 3)).reshape(-1)
    low, high = display.limits_cdm2()
    # Light = narrow + share x flat, then all scaled until the brightest channel is at the peak: the
    # darkest must then be at least low / high of the brightest, whichever these are.
    part = low / high
    share = np.max(
        (part * narrow_rgb[None, :] - narrow_rgb[:, None])
        / (flat_rgb[:, None] - part * flat_rgb[None, :])
    ).clip(0.0)
    scale = high / float((narrow_rgb + share * flat_rgb).max())
    if flat_cdm2 is not None:
        luminance = float(checked("flat_cdm2", flat_cdm2))
        flat = luminance / flat_xyz[1] * flat_rgb
        if flat.min() < low or flat.max() > high:
            raise ValueError(
                f"display '{display.name}' cannot show a flat spectrum of {luminance:g} cd/m2."
            )
        room = np.where(narrow_rgb > 0, high - flat, flat - low)
        scale = float(np.min(room / np.maximum(np.abs(narrow_rgb), 1e-12)))
        share = luminance / (flat_xyz[1] * scale)
    fields = scale * (narrow_xyz + share * flat_xyz)
    return SpectralFields(
        tuple(centres[:, 0].tolist()),
        tuple(as_triple(xyz) for xyz in fields),
        as_triple(scale * share * flat_xyz),
    )


def mullen_contrast(modulation_lms: Triple, background_lms: Triple, channel: str) -> float:
    """Return the contrast of Mullen's gratings that is worth a chromatic modulation.

    Mullen's gratings add two lights of equal luminance in antiphase (602 and 526 nm, or 577 and 470
    nm), and their contrast is that of either light. Two stimuli are worth the same if their cone
    contrasts make the same signal in the opponent mechanism: L - M, or (L + M) / 2 - S. References:
    Mullen (1985, ``mullen1985``); cone fundamentals of Smith & Pokorny (1975,
    ``smith_pokorny1975``).

    Examples
    --------
    >>> from fechner.stimuli import ATD
    >>> [
    ...     round(mullen_contrast(ATD.modulation_lms(c, 40.0), ATD.background_lms(40.0), c), 3)
    ...     for c in ("rg", "yb")
    ... ]
    [1.21, 2.527]
    """
    lights = colour_matching(_MULLEN_NM[channel])
    # Equal luminance of both: y is 1.
    one, other = transform(XYZ_TO_LMS1975, lights / lights[:, 1:2])
    of_mullen = cone_contrasts(as_triple((one - other) / 2), as_triple((one + other) / 2))
    of_this = cone_contrasts(modulation_lms, background_lms)
    weights = np.array(_MECHANISMS[channel])
    return float(weights @ of_this / (weights @ of_mullen))

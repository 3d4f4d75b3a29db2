"""Colour matching and opponent curves against their published values; fields a display can show."""

from importlib import resources

import numpy as np
import pytest
from scipy.optimize import brentq

from fechner.human import colour_matching, jameson_hurvich, spectral_fields
from fechner.references import reference
from fechner.stimuli import Display, Stimulus, display, fits_gamut, paint
from fechner.stimuli.field import Field

with np.printoptions():  # it changes how NumPy prints, for everybody
    import colour

#: Wavelength, A, T and D.
OPPONENT_CURVES = np.array(
    [
        [400, 0.0028, 0.035181, -0.068516],
        [440, 0.0379, 0.29546, -0.63148],
        [475, 0.11284, 0.02003, -0.331744],
        [500, 0.323, -0.318151, 0.023452],
        [530, 0.862, -0.69508, 0.328254],
        [555, 1.0001, -0.48497, 0.397697],
        [580, 0.87, 0.04635, 0.347277],
        [610, 0.503, 0.48939, 0.201028],
        [650, 0.107, 0.17162, 0.0427903],
        [700, 0.004102, 0.006996, 0.00164054],
    ]
)
SCREEN = display("decalogue")


def test_opponent_curves() -> None:
    found = jameson_hurvich(OPPONENT_CURVES[:, 0])
    np.testing.assert_allclose(found, OPPONENT_CURVES[:, 1:], rtol=6e-6)


def test_unique_hues_and_extremes() -> None:
    def red_green(wavelength: float) -> float:
        return float(jameson_hurvich(wavelength)[1])

    def yellow_blue(wavelength: float) -> float:
        return float(jameson_hurvich(wavelength)[2])

    assert brentq(red_green, 460, 490) == pytest.approx(476.5, abs=0.05)
    assert brentq(red_green, 560, 600) == pytest.approx(578.0, abs=0.05)
    assert brentq(yellow_blue, 480, 520) == pytest.approx(497.9, abs=0.05)
    wavelength = np.arange(380, 781.0)
    _, t, d = jameson_hurvich(wavelength).T
    for curve, top, top_nm, bottom, bottom_nm in (
        (t, 0.489, 610, -0.695, 530),
        (d, 0.398, 555, -0.631, 440),
    ):
        assert curve.max() == pytest.approx(top, abs=5.1e-4)
        assert wavelength[curve.argmax()] == top_nm
        assert curve.min() == pytest.approx(bottom, abs=5.1e-4)
        assert wavelength[curve.argmin()] == bottom_nm


def test_judd_and_vos_differ_from_the_cie_in_the_blue_only() -> None:
    wavelength = np.arange(380, 781, 5.0)
    cie = colour.MSDS_CMFS["CIE 1931 2 Degree Standard Observer"].copy()
    official = cie.align(colour.SpectralShape(380, 780, 5)).values
    found = colour_matching(wavelength)
    assert np.abs(found - official)[:, 2].max() == pytest.approx(0.42, abs=0.005)
    red = wavelength >= 530
    assert np.abs(found - official)[red].max() < 0.012
    assert found.argmax(axis=0).tolist() == [44, 35, 12]


def test_between_the_points_and_beyond_them() -> None:
    middle = colour_matching(502.5)
    np.testing.assert_allclose(middle, colour_matching([500, 505]).mean(axis=0), rtol=1e-12)
    assert np.all(colour_matching([100.0, 379.0, 781.0, 2000.0]) == 0)
    assert colour_matching([[500.0], [600.0]]).shape == (2, 1, 3)


def test_the_file_names_its_source() -> None:
    path = resources.files("fechner.human").joinpath("data", "judd_vos1978.csv")
    header = [line for line in path.read_text("utf-8").splitlines() if line.startswith("#")]
    text = "\n".join(header)
    assert f"doi:{reference('vos1978').doi}" in text
    for word in ("Measured:", "Columns:", "Obtained:", "Uncertainty:", "wavelength_nm", "z_bar"):
        assert word in text


def test_spectral_fields_fill_the_gamut_and_stay_inside() -> None:
    fields = spectral_fields(SCREEN)
    assert len(fields.fields_xyz) == 30
    assert fields.wavelengths_nm[0] == 380
    assert fields.wavelengths_nm[-1] == 720
    field = Field.of(pixels=2, ppd=64)
    assert all(fits_gamut(Stimulus(xyz), field, SCREEN) for xyz in fields.fields_xyz)
    rgb = SCREEN.linear_rgb(np.array(fields.fields_xyz))
    # The weakest flat spectrum: one field has a channel at black; the highest energy: one at peak.
    assert rgb.min() == pytest.approx(0, abs=1e-9 * SCREEN.peak_cdm2)
    assert rgb.max() == pytest.approx(SCREEN.peak_cdm2, rel=1e-9)
    # Painted, and measured back.
    stimuli = [Stimulus(xyz) for xyz in fields.fields_xyz]
    shown = paint(stimuli, field, SCREEN, strict=True).luminance()[:, 0, 0].numpy()
    np.testing.assert_allclose(shown, np.array(fields.fields_xyz)[:, 1], rtol=1e-4)


def test_what_spectral_fields_add_is_the_opponent_curves() -> None:
    """Smoothed over 5 nm: a linear observer is given V, RG and YB to see."""
    fields = spectral_fields(SCREEN)
    added = np.array(fields.fields_xyz) - np.array(fields.flat_xyz)
    opponent = np.stack([added[:, 1], added[:, 0] - added[:, 1], 0.4 * (added[:, 1] - added[:, 2])])
    curves = jameson_hurvich(np.array(fields.wavelengths_nm)).T
    for found, curve in zip(opponent, curves, strict=True):
        assert np.corrcoef(found, curve)[0, 1] > 0.998
    wide = np.linspace(450, 620, 18)
    fields = spectral_fields(SCREEN, wide.tolist(), sd_nm=0.8)
    narrow = np.array(fields.fields_xyz) - np.array(fields.flat_xyz)
    ratio = narrow[:, 1] / colour_matching(wide)[:, 1]
    np.testing.assert_allclose(ratio, ratio[0], rtol=0.03)


def test_a_display_with_a_black_needs_a_stronger_flat_spectrum() -> None:
    dark, grey = (
        spectral_fields(Display("grey", peak_cdm2=100.0, black_cdm2=black)) for black in (0.0, 1.0)
    )
    rgb = Display("grey", peak_cdm2=100.0).linear_rgb(np.array(grey.fields_xyz))
    assert rgb.min() == pytest.approx(1.0, rel=1e-9)
    assert rgb.max() == pytest.approx(100.0, rel=1e-9)
    assert grey.flat_xyz[1] > dark.flat_xyz[1]


def test_the_flat_spectrum_can_be_given() -> None:
    fields = spectral_fields(SCREEN, flat_cdm2=18.1)
    assert fields.flat_xyz[1] == pytest.approx(18.1)
    rgb = SCREEN.linear_rgb(np.array(fields.fields_xyz))
    # The highest energy: one channel is at black, since a flat spectrum this weak leaves less room
    # below it than above.
    assert rgb.min() == pytest.approx(0, abs=1e-9 * SCREEN.peak_cdm2)
    assert rgb.max() < SCREEN.peak_cdm2
    with pytest.raises(ValueError, match="cannot show a flat spectrum of 900 cd/m2"):
        spectral_fields(SCREEN, flat_cdm2=900)
